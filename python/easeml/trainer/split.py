"""Dealing rows out into buckets, fairly within each stratum: parts at acceptance, folds at a fit.

One splitter for every path. Rows of one unit (equal inputs, or one value of ``group``) stay together.
"""

from __future__ import annotations

import hashlib
from typing import Iterator, Sequence

import numpy as np


_UNITS = 20_000


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
    rows = np.argsort(units, kind="stable").astype(np.int32)
    held = units[rows]
    begins = np.flatnonzero(np.concatenate([[n > 0], held[1:] != held[:-1]])).astype(np.int32)
    held, ends = held[begins], np.append(begins[1:], np.int32(n))
    lack = lacks.tolist()
    overall = lacks.sum(axis=0).tolist()
    out = np.empty(n, dtype=np.int16)
    buckets = range(count)

    def give(to: list[int], of: list[int], bucket: int) -> None:
        for r, stratum in zip(to, of):
            out[r] = bucket
            lack[stratum][bucket] -= 1
        overall[bucket] -= len(to)

    def spans(some: Sequence[int]) -> Iterator[tuple[int, list[int], list[int]]]:
        """Of each unit that has any, in order, its rows and their strata; some at a time, so that few are lists."""
        for at in range(0, len(some), _UNITS):
            these = np.asarray(some[at:at + _UNITS], dtype=np.int64)
            places = np.minimum(np.searchsorted(held, these), max(0, len(held) - 1))
            there = np.flatnonzero(held[places] == these) if len(held) else np.zeros(0, dtype=np.int64)
            a, b = begins[places[there]], ends[places[there]]
            first = rows[a]
            for u, begin, end, row, stratum in zip(these[there].tolist(), a.tolist(), b.tolist(), first.tolist(), strata[first].tolist()):
                if end == begin + 1:
                    yield u, [row], [stratum]
                else:
                    yield u, rows[begin:end].tolist(), strata[rows[begin:end]].tolist()

    for u, mine, of in spans(list(fixed)):
        give(mine, of, fixed[u])
    for u, mine, of in spans(order):
        if u in fixed:
            continue
        if len(mine) == 1:
            lacking = lack[of[0]]
        else:
            lacking = [sum(lack[stratum][k] for stratum in of) for k in buckets]
        best = 0
        for k in range(1, count):  # a billionth: shares such as 0.7 must not decide ties by their last binary digit
            more = lacking[k] - lacking[best]
            if more > 1e-9 or more > -1e-9 and overall[k] - overall[best] > 1e-9:
                best = k
        give(mine, of, best)
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
