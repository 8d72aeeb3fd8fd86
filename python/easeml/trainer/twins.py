"""Rows that are the same, or nearly: copies, contradictions, and near duplicates that a fair split has to keep together."""

from __future__ import annotations

import hashlib

import numpy as np

from .program import Field
from .stored import BATCH_BYTES, Stored, Worded

MOST_ROWS = 20_000
MOST_NUMBERS = 20_000_000
SIDE = 8
"""Pictures are compared by the means of so many blocks a side, in `LEVELS` levels of what there is."""

LEVELS = 32
LARGE = 8
"""A longer vector is no row of a table: its rows are not compared."""

FEWEST_NUMBERS = 4
"""With fewer numbers, rows that agree in three digits are no surprise."""


def copies(told: np.ndarray, labels: np.ndarray) -> tuple[int, int]:
    """How many rows have the very input of an earlier row, and how many rows share their input with another label.

    `told` are ints, equal where inputs are; `labels` ints, equal where labels are.
    """
    seen = np.bincount(told)
    said: dict[int, set] = {}
    for i in np.flatnonzero(seen[told] > 1).tolist():
        said.setdefault(int(told[i]), set()).add(int(labels[i]))
    return int(len(told) - np.count_nonzero(seen)), sum(int(seen[u]) for u, those in said.items() if len(those) > 1)


def near(inputs: list[tuple[Field, Stored | Worded]], n: int, told: np.ndarray) -> int:
    """How many of the first `MOST_ROWS` rows are nearly another row: equal when rounded, but not in truth."""
    n = min(n, MOST_ROWS)
    width = numbers = 0
    for f, _ in inputs:
        blocks = f.rank >= 2 and min(f.shape[:2]) >= 2 * SIDE
        if f.ragged or not blocks and (f.rank >= 2 or f.size >= LARGE):
            return 0  # so small a picture that rounding would make different ones equal, or no picture
        width += SIDE * SIDE if blocks else f.size
        numbers += 0 if f.is_class else SIDE * SIDE if blocks else f.size
    if numbers < FEWEST_NUMBERS or n * width > MOST_NUMBERS:
        return 0
    exact: dict[bytes, set] = {}
    rows: list[bytes] = []
    largest = max(v.row_bytes for _, v in inputs)
    step = max(1, min(1000, BATCH_BYTES // largest))
    for begin in range(0, n, step):
        end = min(n, begin + step)
        parts = [v.codes(begin, end)[:, None] if f.is_class else _blocks(f, v.rows(begin, end)) if f.rank >= 2 else _rounded(v.rows(begin, end).astype(np.float64))
                 for f, v in inputs]
        whole = np.ascontiguousarray(np.concatenate([p.astype(np.float64) for p in parts], axis=1))
        for row, u in zip(whole, told[begin:end].tolist()):
            rows.append(hashlib.blake2b(row.tobytes(), digest_size=16).digest())
            exact.setdefault(rows[-1], set()).add(u)
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
