"""Rows that are the same, or nearly: copies, contradictions, and near duplicates that a fair split has to keep together."""

from __future__ import annotations

from typing import Sequence

import numpy as np

from .program import Field
from .stored import Stored

MOST_ROWS = 20_000
MOST_NUMBERS = 20_000_000
SIDE = 8
"""Pictures are compared by the means of so many blocks a side, in `LEVELS` levels of what there is."""

LEVELS = 32
FEWEST_NUMBERS = 4
"""With fewer numbers, rows that agree in three digits are no surprise."""


def copies(told: np.ndarray, labels: Sequence[str | None]) -> tuple[int, int]:
    """How many rows have the very input of an earlier row, and how many rows share their input with another label.

    `told` are ints, equal where inputs are.
    """
    seen = np.bincount(told)
    said: dict[int, set] = {}
    for i in np.flatnonzero(seen[told] > 1).tolist():
        said.setdefault(int(told[i]), set()).add(labels[i])
    return int(len(told) - np.count_nonzero(seen)), sum(int(seen[u]) for u, those in said.items() if len(those) > 1)


def near(inputs: list[tuple[Field, np.ndarray]], n: int, told: np.ndarray) -> int:
    """How many of the first `MOST_ROWS` rows are nearly another row: equal when rounded, but not in truth."""
    n = min(n, MOST_ROWS)
    parts, numbers = [], 0
    for f, values in inputs:
        if f.ragged:
            return 0
        if f.is_class:
            _, codes = np.unique(np.array([v if v is not None else "" for v in values[:n]], dtype=str), return_inverse=True)
            parts.append(codes.reshape(n, 1))
            continue
        if isinstance(values, Stored):
            if f.rank < 2 or min(f.shape[:2]) < 2 * SIDE:
                return 0  # no picture, or one so small that rounding would make different ones equal
            some = values[np.arange(n)]
            parts.append(np.concatenate([_blocks(f, b) for b in some.batches()]) if n else np.zeros((0, 1)))
            numbers += SIDE * SIDE
            continue
        values = np.asarray(values[:n], dtype=np.float64)
        if f.rank >= 2 and min(f.shape[:2]) >= 2 * SIDE:
            parts.append(_blocks(f, values))
            numbers += SIDE * SIDE
        elif f.rank >= 2:
            return 0  # so small that rounding would make different pictures equal
        else:
            numbers += f.size
            parts.append(_rounded(values))
    if not parts or numbers < FEWEST_NUMBERS or n * sum(p.shape[1] for p in parts) > MOST_NUMBERS:
        return 0
    whole = np.ascontiguousarray(np.concatenate([p.astype(np.float64) for p in parts], axis=1))
    rows = [whole[i].tobytes() for i in range(n)]
    exact: dict[bytes, set] = {}
    for row, u in zip(rows, told[:n].tolist()):
        exact.setdefault(row, set()).add(u)
    return sum(len(exact[row]) > 1 for row in rows)


def _rounded(values: np.ndarray) -> np.ndarray:
    """To three significant digits; what is missing as one number."""
    values = np.where(np.isfinite(values), values, -9.99e99)
    with np.errstate(divide="ignore"):
        scale = np.where(values == 0, 1.0, 10.0 ** (2 - np.floor(np.log10(np.abs(values) + (values == 0)))))
    return np.round(values * scale) / scale


def _blocks(f: Field, values: np.ndarray) -> np.ndarray:
    """The means of a picture's blocks, coarsely."""
    height, width = f.shape[:2]
    pictures = values.reshape(len(values), height, width, -1).astype(np.float32).mean(axis=3)
    rows, columns = np.linspace(0, height, SIDE + 1).astype(int), np.linspace(0, width, SIDE + 1).astype(int)
    means = np.stack([pictures[:, a:b, c:d].mean(axis=(1, 2)) for a, b in zip(rows, rows[1:]) for c, d in zip(columns, columns[1:])], axis=1)
    low, high = means.min(axis=1, keepdims=True), means.max(axis=1, keepdims=True)
    return np.round((means - low) / np.maximum(high - low, 1e-9) * (LEVELS - 1))
