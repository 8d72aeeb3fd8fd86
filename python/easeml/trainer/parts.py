"""Parts: which examples train, which compare candidates, which are kept for the final test.

Given once, at acceptance. Test 20 % below 1,000 examples, else 15 %; validation 15 % from 300
examples, below that folds; below 60 examples no test part.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Sequence

import numpy as np

from .examples import PARTS
from .split import deal

FOLDS = 5


@dataclass(frozen=True)
class Plan:
    """The shares of train, validation and test among `n` examples; ``folds``: k, or 0 for a holdout."""

    shares: tuple[float, float, float]
    folds: int


def plan(n: int, folds: int | None = None, test: float | None = None) -> Plan:
    """The rule above; `folds` and `test` of the task's options override it."""
    if test is None:
        test = 0.0 if n < 60 else 0.20 if n < 1000 else 0.15
    k = folds if folds else (0 if n >= 300 else FOLDS)
    validation = 0.0 if k else 0.15
    return Plan((1.0 - validation - test, validation, test), k)


def unit_of(group: str | None, input_hash: str) -> str:
    """What stays in one part: rows of one group, else rows with equal inputs."""
    return input_hash if group is None else "g:" + group


def group_hash(values: Sequence[str | None]) -> str | None:
    """One short hash for a row's group values; None where all are missing."""
    if all(v is None for v in values):
        return None
    return hashlib.sha256("\0".join("" if v is None else v for v in values).encode()).hexdigest()[:32]


def give_parts(strata: np.ndarray, input_hashes: list[str], groups: list[str | None], shares: Sequence[float],
               known_strata: np.ndarray, known_parts: np.ndarray, known_units: dict[str, int], order: list[float] | None = None) -> np.ndarray:
    """A part (index into `PARTS`) for each new example.

    `known_*`: strata and parts of all examples accepted before, and the part of each unit among them.
    `order`, where given, is a rank for each row, later ones larger: the latest rows are tested.
    """
    if any(g is not None for g in groups):
        units, dealt, fixed = _connected(input_hashes, groups, known_units)
    else:  # units are inputs; in the order of their hashes
        found, units = np.unique(np.array(input_hashes, dtype="S64"), return_inverse=True)
        dealt = range(len(found))
        fixed = {i: known_units[h] for i, h in enumerate(map(bytes.decode, found.tolist())) if h in known_units} if known_units else {}
    s = int(max(strata.max(initial=0), known_strata.max(initial=0))) + 1
    counts = np.zeros((s, len(PARTS)))
    np.add.at(counts, (known_strata, known_parts), 1)
    if order is not None:
        return _by_order(units, order, shares, fixed, counts)
    return deal(strata, units, dealt, shares, fixed=fixed, counts=counts)


def _connected(input_hashes: list[str], groups: list[str | None], known_units: dict[str, int]) -> tuple[np.ndarray, list[int], dict[int, int]]:
    """Each row's unit where there are groups, the units in the order of dealing, and the parts of those that have one."""
    # Rows that are alike by group or by input belong together, also in chains (a group's row that
    # equals another group's): the smallest unit that keeps both promises is the connected set.
    unit_of_input: dict[str, int] = {}
    unit_of_group: dict[str, int] = {}
    parent: list[int] = []

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    of_row = []
    for h, g in zip(input_hashes, groups):
        i = unit_of_input.get(h)
        if i is None:
            i = unit_of_input[h] = len(parent)
            parent.append(i)
        if g is not None:
            j = unit_of_group.setdefault(g, i)
            parent[root(i)] = root(j)
        of_row.append(i)
    units = np.array([root(i) for i in of_row], dtype=np.int64)
    fixed: dict[int, int] = {}
    for row, (h, g) in enumerate(zip(input_hashes, groups)):
        part = known_units.get(unit_of(g, h), known_units.get(h)) if g is not None else known_units.get(h)
        if part is not None:
            fixed.setdefault(int(units[row]), part)
    smallest: dict[int, str] = {}
    for u, h in zip(units.tolist(), input_hashes):
        if u not in smallest or h < smallest[u]:
            smallest[u] = h
    dealt = sorted(smallest, key=lambda u: smallest[u])
    return units, dealt, fixed


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
    return np.array([part_of[u] for u in units.tolist()], dtype=np.int64)
