"""Hashes as arrays, texts in files and codes: what ingest keeps of each example says the same as plain Python would."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from easeml.trainer.hashing import LENGTH, as_text, occurrences, of_text, told_apart
from easeml.trainer.stored import Codes, Texts


def some_hashes(n: int, kinds: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    those = rng.integers(0, 256, (kinds, LENGTH), dtype=np.uint8)
    those[::2, :24] = 7  # different only in the last bytes, and with zeros at the end
    those[1::3, 30:] = 0
    return those[rng.integers(0, kinds, n)]


@pytest.mark.parametrize("n", [0, 1, 2, 500])
def test_hashes_are_told_apart_in_their_order(n):
    those = some_hashes(n, 60)
    texts = as_text(those)
    assert texts == [bytes(h).hex() for h in those] and np.array_equal(of_text(texts), those)
    place = {h: i for i, h in enumerate(sorted(set(texts)))}
    told = told_apart(those)
    assert told.tolist() == [place[h] for h in texts]
    seen: Counter = Counter()
    for h, before in zip(texts, occurrences(told).tolist()):
        assert before == seen[h]
        seen[h] += 1


def test_texts_come_back(tmp_path):
    given = ["a/ä.png", None, "", "b", "a/ä.png", "\udcff.png"]
    texts, codes = Texts(tmp_path), Codes()
    texts.extend(given)
    codes.extend(given)
    assert [texts[i] for i in (5, 0, 1, 2, 3, 4)] == ["\udcff.png", "a/ä.png", None, None, "b", "a/ä.png"]
    assert list(codes) == given and codes.codes.tolist() == [0, -1, 1, 2, 0, 3] and not list(tmp_path.iterdir())
