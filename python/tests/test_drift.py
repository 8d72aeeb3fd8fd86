"""Drift: rows that lie otherwise than what a model learned from are said, rows that don't are not."""

from __future__ import annotations

import numpy as np
import pytest

from easeml.trainer.drift import compare, summarize
from easeml.trainer.examples import Examples
from easeml.trainer.program import Field

NUMBER, KIND, PICTURE = Field("size", (1,)), Field("color", None, None, 3), Field("image", (4, 4, 1))


def rows(n: int, seed: int, *, shift: float = 0.0, colors=(0.5, 0.3, 0.2), missing: float = 0.0, light: float = 0.0) -> Examples:
    rng = np.random.default_rng(seed)
    size = rng.normal(10 + shift, 2, (n, 1))
    size[rng.random(n) < missing] = np.nan
    color = np.array(rng.choice(["red", "green", "blue", "mauve"][:len(colors)], n, p=colors), dtype=object)
    return Examples({"size": size, "color": color, "image": rng.normal(100 + light, 10, (n, 16)).clip(0, 255).astype(np.uint8)}, np.arange(n))


FIELDS = (NUMBER, KIND, PICTURE)


def said(new: Examples, learned: int = 400) -> list[str]:
    return [d["message"] for d in compare(FIELDS, summarize(FIELDS, rows(learned, 0)), new.columns)]


@pytest.mark.parametrize("n", [30, 100, 1000])
def test_like_rows_are_not_accused(n):
    assert sum(bool(said(rows(n, seed))) for seed in range(1, 101)) <= 2


@pytest.mark.parametrize("change,says", [
    ({"shift": 2.5}, "size is mostly 1"), ({"colors": (0.05, 0.9, 0.05)}, "color is green in"), ({"colors": (0.4, 0.3, 0.1, 0.2)}, "color has values that were never fed, in"),
    ({"missing": 0.5}, "size is missing in"), ({"light": 40}, "image's mean is mostly")])
def test_what_differs_is_named(change, says):
    for seed in range(1, 6):
        found = said(rows(200, seed, **change))
        assert found and found[0].startswith(says), found
    assert not said(rows(20, 1, **change))  # few rows may be anything


@pytest.mark.parametrize("learned", [60, 150, 400])
def test_values_that_are_never_the_same_are_not_told_as_new(learned):
    """Texts and names: nearly each row's is its own, in the rows that were fed too."""
    text = Field("remark", None, None, 1000)

    def some(n: int, seed: int, own: float) -> Examples:
        rng = np.random.default_rng(seed)
        values = np.array([f"row {i} of {seed}" if rng.random() < own else str(rng.choice(["yes", "no"])) for i in range(n)], dtype=object)
        return Examples({"remark": values}, np.arange(n))

    for own in (1.0, 0.5):
        known = summarize((text,), some(learned, 0, own))
        assert sum(bool(compare((text,), known, some(100, seed, own).columns)) for seed in range(1, 21)) <= 1
    assert compare((text,), summarize((text,), some(learned, 0, 0.05)), some(100, 1, 0.6).columns)
