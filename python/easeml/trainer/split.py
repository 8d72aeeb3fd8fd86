"""Dealing rows out into buckets, fairly within each stratum: parts at acceptance, folds at a fit.

One splitter for every path. Rows of one unit (equal inputs, or one value of ``group``) stay together.
"""

from __future__ import annotations

import hashlib
from typing import Sequence

import numpy as np


def deal(strata: np.ndarray, units: np.ndarray, order: Sequence[int], shares: Sequence[float],
         *, fixed: dict[int, int] | None = None, counts: np.ndarray | None = None) -> np.ndarray:
    """A bucket for each row.

    `strata` [n]: ints, the class or quantile of a row. `units` [n]: ints, rows of one unit share a
    bucket. `order`: the units in the order of dealing. `shares` [b]: the buckets' shares, of sum 1.
    `fixed`: units that have their bucket already. `counts` [s, b]: rows dealt out earlier.

    Each unit goes to the bucket with the largest deficit in the unit's strata, a deficit being
    share × rows of the stratum (earlier ones included) − rows the bucket has; ties to the bucket
    that lacks most over all strata, then to the first.
    """
    n, b = len(strata), len(shares)
    fixed = fixed or {}
    s = int(max(strata.max(initial=-1) + 1, 0 if counts is None else len(counts)))
    have = np.zeros((s, b)) if counts is None else np.vstack([counts, np.zeros((s - len(counts), b))]).astype(float)
    totals = have.sum(axis=1) + np.bincount(strata, minlength=s)
    lacks = np.outer(totals, shares) - have
    rows_of: dict[int, list[int]] = {}
    for i, u in enumerate(units.tolist()):
        rows_of.setdefault(u, []).append(i)
    lack = lacks.tolist()
    overall = lacks.sum(axis=0).tolist()
    strata_list = strata.tolist()
    out = np.empty(n, dtype=np.int64)
    buckets = range(b)

    def give(rows: list[int], bucket: int) -> None:
        for r in rows:
            out[r] = bucket
            lack[strata_list[r]][bucket] -= 1
        overall[bucket] -= len(rows)

    for u, bucket in fixed.items():
        if u in rows_of:
            give(rows_of[u], bucket)
    for u in order:
        if u in fixed or u not in rows_of:
            continue
        rows = rows_of[u]
        if len(rows) == 1:
            mine = lack[strata_list[rows[0]]]
        else:
            mine = [sum(lack[strata_list[r]][k] for r in rows) for k in buckets]
        # Rounded: shares such as 0.7 must not decide ties by their last binary digit.
        give(rows, max(buckets, key=lambda k: (round(mine[k], 9), round(overall[k], 9), -k)))
    return out


def strata_of_numbers(values: np.ndarray, edges: Sequence[float]) -> np.ndarray:
    """The quantile of each number between frozen edges: 0 below the first, len(edges) above the last."""
    return np.searchsorted(np.asarray(edges, dtype=float), values, side="right").astype(np.int64)


def quantile_edges(values: np.ndarray, most: int = 10) -> list[float]:
    """Inner edges of at most `most` quantiles with 5 rows or more each, rounded apart; empty for few rows."""
    bins = min(most, len(values) // 5)
    if bins < 2:
        return []
    return sorted(set(np.quantile(values, np.linspace(0, 1, bins + 1)[1:-1]).tolist()))


def folds(strata: np.ndarray, groups: np.ndarray, numbers: np.ndarray, k: int, salt: str) -> np.ndarray:
    """The fold of each row, derived from the version (`salt`) and the examples' numbers alone.

    At most as many folds as there are groups, at least 2.
    """
    first: dict[int, int] = {}
    for g, number in zip(groups.tolist(), numbers.tolist()):
        first[g] = min(number, first.get(g, number))
    k = max(2, min(k, len(first)))
    order = sorted(first, key=lambda g: hashlib.sha256(f"{salt}/{first[g]}".encode()).digest())
    return deal(strata, groups, order, [1.0 / k] * k)
