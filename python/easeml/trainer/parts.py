"""Parts: which examples train, which compare candidates, which are kept for the final test.

Given once, at acceptance. Test 20 % below 1,000 examples, else 15 %; below 60 none. Validation 15 %
from 1,000 examples, below that folds: of 300 examples a validation part has 45, which tell candidates apart to
within 10 % of right answers at best, and which the served model would not learn from. Where the order of the rows
counts, folds would look ahead: there validation is 15 % from 300 examples.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Sequence

import numpy as np

from .examples import PARTS
from .split import deal

FOLDS = 5
FOLDED = 1000
"""Below so many examples candidates are compared in folds."""

ORDERED = 300
"""The same where rows have an order."""


@dataclass(frozen=True)
class Plan:
    """The shares of train, validation and test among `n` examples; ``folds``: k, or 0 for a holdout."""

    shares: tuple[float, float, float]
    folds: int


def plan(n: int, folds: int | None = None, test: float | None = None, ordered: bool = False) -> Plan:
    """The rule above; `folds` and `test` of the task's options override it. `ordered`: the rows have an order."""
    if test is None:
        test = 0.0 if n < 60 else 0.20 if n < 1000 else 0.15
    k = folds if folds else (0 if n >= (ORDERED if ordered else FOLDED) else FOLDS)
    validation = 0.0 if k else 0.15
    return Plan((1.0 - validation - test, validation, test), k)


def group_hash(values: Sequence[str | None]) -> str | None:
    """One short hash for a row's group values; None where all are missing."""
    if all(v is None for v in values):
        return None
    return hashlib.sha256("\0".join("" if v is None else v for v in values).encode()).hexdigest()[:32]


def give_parts(strata: np.ndarray, inputs: np.ndarray, groups: np.ndarray, shares: Sequence[float], known_strata: np.ndarray,
               known_parts: np.ndarray, known: np.ndarray, order: list[float] | None = None) -> np.ndarray:
    """A part (index into `PARTS`) for each new example.

    `inputs` [n]: the place of a row's inputs among the different ones, in the order of their hashes. `groups` [n]: ints, −1 for none. `known` [n]: the part of what a row belongs to among
    all examples that were accepted before, −1 for none; `known_strata` and `known_parts` are theirs.
    `order`, where given, is a rank for each row, later ones larger: the latest rows are tested.
    """
    units, dealt = inputs, range(int(inputs.max()) + 1)
    if (groups >= 0).any():
        units, dealt = _connected(units, groups)
    fixed: dict[int, int] = {}
    for row in np.flatnonzero(known >= 0).tolist():
        fixed.setdefault(int(units[row]), int(known[row]))
    s = int(max(strata.max(initial=0), known_strata.max(initial=0))) + 1
    counts = np.zeros((s, len(PARTS)))
    np.add.at(counts, (known_strata, known_parts), 1)
    if order is not None:
        return _by_order(units, order, shares, fixed, counts)
    return deal(strata, units, dealt, shares, fixed=fixed, counts=counts)


def _connected(inputs: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Each row's unit where there are groups, and the units in the order of dealing."""
    # Rows that are alike by group or by input belong together, also in chains (a group's row that
    # equals another group's): the smallest unit that keeps both promises is the connected set.
    first = np.unique(inputs, return_index=True)[1]
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    of_row = place[inputs].tolist()  # counted as they come
    unit_of_group: dict[int, int] = {}
    parent = list(range(len(first)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, g in zip(of_row, groups.tolist()):
        if g >= 0:
            j = unit_of_group.setdefault(g, i)
            parent[root(i)] = root(j)
    units = np.array([root(i) for i in of_row], dtype=np.int64)
    # A unit's turn is that of its smallest hash.
    there, at = np.unique(units[np.argsort(inputs, kind="stable")], return_index=True)
    return units, there[np.argsort(at)].tolist()


def _by_order(units: np.ndarray, order: list[float], shares: Sequence[float], fixed: dict[int, int], counts: np.ndarray) -> np.ndarray:
    """The latest units are tested, those before them validate, the rest trains."""
    n = len(units) + counts.sum()
    latest: dict[int, float] = {}
    size: dict[int, int] = {}
    for u, t in zip(units.tolist(), order):
        latest[u] = max(t, latest.get(u, -np.inf))
        size[u] = size.get(u, 0) + 1
    have = counts.sum(axis=0)
    part_of = dict(fixed)
    for u, part in fixed.items():
        have[part] += size.get(u, 0)
    for u in sorted((u for u in latest if u not in part_of), key=lambda u: (-latest[u], u)):
        part = next((p for p in (2, 1) if have[p] + size[u] / 2 <= shares[p] * n and shares[p] > 0), 0)
        part_of[u] = part
        have[part] += size[u]
    return np.array([part_of[u] for u in units.tolist()], dtype=np.int8)
