"""Hashes as arrays, texts in files and codes: what ingest keeps of each example says the same as plain Python would."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from easeml.trainer.hashing import LENGTH, Hashes, as_text, occurrences, of_text, told_apart
from easeml.trainer.stored import Codes, Nodes, Numbers, Spill, Texts, Words, seen


def some_hashes(n: int, kinds: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    those = rng.integers(0, 256, (kinds, LENGTH), dtype=np.uint8)
    those[::2, :24] = 7  # different only in the last bytes, and with zeros at the end
    those[1::3, 30:] = 0
    return those[rng.integers(0, kinds, n)]


def in_file(spill: Spill, those: np.ndarray) -> Hashes:
    """Hashes that came in two pieces."""
    out = Hashes(spill)
    out.append(those[:len(those) // 3])
    out.append(those[len(those) // 3:])
    return out


@pytest.mark.parametrize("n", [0, 1, 2, 500])
def test_hashes_are_told_apart_in_their_order(n, tmp_path):
    those = some_hashes(n, 60)
    texts = as_text(those)
    assert texts == [bytes(h).hex() for h in those] and np.array_equal(of_text(texts), those)
    place = {h: i for i, h in enumerate(sorted(set(texts)))}
    spill = Spill(tmp_path)
    told = told_apart(in_file(spill, those))
    assert told.tolist() == [place[h] for h in texts]
    assert told_apart(in_file(spill, those[:n // 4]), in_file(spill, those[n // 4:])).tolist() == told.tolist()
    seen: Counter = Counter()
    for h, before in zip(texts, occurrences(told).tolist()):
        assert before == seen[h]
        seen[h] += 1


def test_texts_come_back(tmp_path):
    given = ["a/ä.png", None, "", "b", "a/ä.png", "\udcff.png"]
    texts, codes = Texts(Spill(tmp_path)), Codes()
    texts.extend(given[:2])
    texts.extend(given[2:])
    codes.extend(given)
    assert [texts[i] for i in (5, 0, 1, 2, 3, 4)] == ["\udcff.png", "a/ä.png", None, None, "b", "a/ä.png"]
    assert texts.take(np.array([0, 2, 5])) == ["a/ä.png", None, "\udcff.png"]
    assert list(codes) == given and codes.codes.tolist() == [0, -1, 1, 2, 0, 3] and not list(tmp_path.iterdir())


@pytest.mark.parametrize("seed", range(5))
def test_columns_in_a_file_are_as_arrays(tmp_path, seed):
    rng = np.random.default_rng(seed)
    spill = Spill(tmp_path)
    numbers, words, nodes = Numbers(spill, 3), Words(spill), Nodes(spill, 2)
    plain: list = []
    levels = ["a", "b", None, "ü"]
    for _ in range(6):  # pieces of any length, of two types
        m = int(rng.integers(0, 40))
        values = rng.normal(size=(m, 3)).astype(rng.choice(["f4", "f8"]))
        texts = [levels[i] for i in rng.integers(0, 4, m)]
        series = [rng.normal(size=(int(rng.integers(1, 5)), 2)) for _ in range(m)]
        numbers.append(values)
        words.append(texts)
        nodes.append(np.array([*series, None], dtype=object)[:-1])
        plain += zip(values.astype(float).tolist(), texts, [s.tolist() for s in series])
    rows = np.flatnonzero(rng.random(len(plain)) < rng.choice([0.1, 0.9]))
    for chosen, want in ((slice(None), plain), (rows, [plain[i] for i in rows])):
        columns = [c if isinstance(chosen, slice) else c[chosen] for c in map(seen, (numbers, words, nodes))]
        n = len(want)
        assert [len(c) for c in columns] == [n, n, n]
        for begin, end in ((0, n), (n // 3, n // 2), (n, n)):
            got = [c.rows(begin, end) for c in columns]
            assert list(zip(got[0].tolist(), got[1].tolist(), [s.tolist() for s in got[2]])) == want[begin:end]
        assert columns[1].counts() == Counter(w[1] for w in want if w[1] is not None) and columns[1].missing == sum(w[1] is None for w in want)
        assert columns[2].lengths().tolist() == [len(w[2]) for w in want]
        assert np.concatenate([*columns[0].batches(), np.zeros((0, 3))]).tolist() == [w[0] for w in want]
