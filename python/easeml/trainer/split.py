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
    n, count = len(strata), len(shares)
    fixed = fixed or {}
    s = int(max(strata.max(initial=-1) + 1, 0 if counts is None else len(counts)))
    have = np.zeros((s, count)) if counts is None else np.vstack([counts, np.zeros((s - len(counts), count))]).astype(float)
    totals = have.sum(axis=1) + np.bincount(strata, minlength=s)
    lacks = np.outer(totals, shares) - have
    sorted_rows = np.argsort(units, kind="stable")
    held = units[sorted_rows]
    begins = np.flatnonzero(np.concatenate([[n > 0], held[1:] != held[:-1]]))
    held, ends = held[begins], np.append(begins[1:], n)
    # Units are mostly 0, 1, 2 …: then their spans need no table.
    place = None if len(held) and held[-1] == len(held) - 1 and held[0] == 0 else {u: i for i, u in enumerate(held.tolist())}

    def span(u: int) -> tuple[int, int] | None:
        i = (u if u < len(held) else None) if place is None else place.get(u)
        return None if i is None else (int(begins[i]), int(ends[i]))

    lack = lacks.tolist()
    overall = lacks.sum(axis=0).tolist()
    strata_list = strata.tolist()
    out = np.empty(n, dtype=np.int64)
    buckets = range(count)

    def give(rows: list[int], bucket: int) -> None:
        for r in rows:
            out[r] = bucket
            lack[strata_list[r]][bucket] -= 1
        overall[bucket] -= len(rows)

    for u, bucket in fixed.items():
        if (held_by := span(u)) is not None:
            give(sorted_rows[slice(*held_by)].tolist(), bucket)
    for u in order:
        if u in fixed or (held_by := span(u)) is None:
            continue
        a, b = held_by
        rows = [int(sorted_rows[a])] if b == a + 1 else sorted_rows[a:b].tolist()
        if len(rows) == 1:
            mine = lack[strata_list[rows[0]]]
        else:
            mine = [sum(lack[strata_list[r]][k] for r in rows) for k in buckets]
        best = 0
        for k in range(1, count):  # a billionth: shares such as 0.7 must not decide ties by their last binary digit
            more = mine[k] - mine[best]
            if more > 1e-9 or more > -1e-9 and overall[k] - overall[best] > 1e-9:
                best = k
        give(rows, best)
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
