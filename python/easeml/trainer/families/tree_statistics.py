"""Trees by their statistics: how many nodes, how deep, what they hold at each depth and behind each pointer, then a forest."""

from __future__ import annotations

import math
from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..estimator import StandardizedCandidate
from ..program import Program
from ..size import estimate, size_of
from . import TREES
from .forest import Forest
from .linear import Logistic, Ridge

DEPTHS = 6
"""Depths that are told apart; deeper nodes count as the last."""


def depths_of(tree: np.ndarray) -> np.ndarray:
    """The depth of each node, the root's 0. Parents stand before their children."""
    depth = np.zeros(len(tree), dtype=np.int64)
    for i, parent in enumerate(tree[:, 0].astype(np.int64).tolist()):
        if parent >= 0:
            depth[i] = depth[parent] + 1
    return depth


def describe(tree: np.ndarray, pointers: int) -> np.ndarray:
    """The numbers of one tree as `Batch.trees` gives them: its form; and of each number of a node the root's, mean, spread
    and ends, the means over leaves, inner nodes and each depth, and behind each pointer."""
    parent, pointer, values = tree[:, 0].astype(np.int64), tree[:, 1].astype(np.int64), tree[:, 2:]
    depth, n = depths_of(tree), len(tree)
    children = np.bincount(parent[parent >= 0], minlength=n)
    leaf = children == 0
    at = np.minimum(depth, DEPTHS - 1)
    behind = [pointer[1:] == p for p in range(pointers)]
    sizes = np.ones(n)
    for i in range(n - 1, 0, -1):
        sizes[parent[i]] += sizes[i]
    below = [sizes[1:][(parent[1:] == 0) & b].sum() for b in behind]
    form = [math.log1p(n), depth.max(), depth.mean(), leaf.mean(), depth[leaf].mean(), children.mean(), (below[0] - below[-1]) / n,
            *(b.mean() if n > 1 else 0.0 for b in behind), *(math.log1p(b) for b in below)]
    out = [np.array(form), np.bincount(at, minlength=DEPTHS) / n]
    mean = lambda rows: values[rows].mean(axis=0) if rows.any() else np.zeros(values.shape[1])  # noqa: E731
    out += [values[0], values.mean(axis=0), values.std(axis=0), values.min(axis=0), values.max(axis=0), values.sum(axis=0) / 10, mean(leaf), mean(~leaf)]
    out += [mean(at == d) for d in range(DEPTHS)] + [mean(np.concatenate([[False], b])) for b in behind]
    first = np.zeros((pointers, values.shape[1]))
    for i in range(1, n):
        if parent[i] == 0:
            first[pointer[i]] = values[i]
    return np.concatenate([*out, first.reshape(-1)])


def described(batch: Batch) -> np.ndarray:
    """All trees of a batch."""
    return np.stack([describe(t, batch.pointers) for t in batch.trees])


class TreeForest(Forest):
    """Trees on trees' statistics; settings as those of `Forest`."""

    def view(self, batch: Batch) -> np.ndarray:
        return described(batch)


class _Standardized(StandardizedCandidate):
    """A linear model on standardized statistics."""

    def view(self, batch: Batch) -> np.ndarray:
        return described(batch)


class TreeLogistic(_Standardized, Logistic):
    """Logistic regression on trees' statistics; settings as those of `Logistic`."""


class TreeRidge(_Standardized, Ridge):
    """Ridge regression on trees' statistics; settings as those of `Ridge`."""


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """A random forest, extra trees, a linear model."""
    size = size_of(program, profile)
    features = 30 + 20 * (program.inputs[0].size if program.inputs[0].shape else 1)
    describing = 2.0 * size.rows * (1e-4 + 2e-6 * size.features)
    for extra, slug, name in ((False, "tree-forest.300", "random forest"), (True, "tree-extra-trees.300", "extra trees")):
        growing = 300 * size.fits * size.rows * math.log2(size.rows + 2) * (1e-7 + math.sqrt(features) * (2e-8 if extra else 5e-8))
        yield TreeForest(CandidateInfo(
            slug, "tree_statistics", f"statistics of the trees, {name}, 300", templates=TREES, settings={"trees": 300, "features": "sqrt", "leaf": 1, "extra": extra},
            year=2001, citations=130000, needs={"min_examples": 10},
            estimate=estimate(0.5 + describing + growing, size, memory=300.0 * size.rows * (200 + 20 * size.classes))))
    yield TreeLogistic(CandidateInfo(
        "tree-logistic.c1", "tree_statistics", "statistics of the trees, logistic regression", templates=TREES, kinds=("classes",), settings={"C": 1.0},
        year=1958, citations=5000, needs={"min_examples": 10}, estimate=estimate(describing + 2e-7 * size.rows * features * size.classes * size.fits, size)))
    yield TreeRidge(CandidateInfo(
        "tree-ridge.a1", "tree_statistics", "statistics of the trees, ridge regression", templates=TREES, kinds=("numbers",), settings={"alpha": 1.0},
        year=1970, citations=16000, needs={"min_examples": 10}, estimate=estimate(describing + 1e-8 * size.rows * features * size.fits, size)))
