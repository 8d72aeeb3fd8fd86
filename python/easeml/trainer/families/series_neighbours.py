"""Series by their nearest neighbours: all brought to one length, compared step by step."""

from __future__ import annotations

from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..estimator import EstimatorCandidate
from ..program import Program
from ..size import estimate, size_of
from . import SERIES


class SeriesNeighbours(EstimatorCandidate):
    """k nearest series; settings: ``k``, ``shape`` (each series brought to mean 0 and deviation 1 first, so that only its shape counts)."""

    trusted = ("sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree")

    def make(self, train: Batch):
        from sklearn import neighbors
        kind = getattr(neighbors, "KNeighborsClassifier" if train.classes else "KNeighborsRegressor")
        return kind(n_neighbors=min(self.info.settings["k"], train.n), weights="distance", algorithm="brute", n_jobs=self.threads)

    def view(self, batch: Batch) -> np.ndarray:
        x = batch.resampled
        if self.info.settings["shape"]:
            x = (x - x.mean(axis=2, keepdims=True)) / (x.std(axis=2, keepdims=True) + 1e-9)
        return np.ascontiguousarray(x.reshape(batch.n, -1))


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """One and five neighbours, by level and by shape."""
    size = size_of(program, profile)
    for k in (1, 5):
        for shape in (False, True):
            yield SeriesNeighbours(CandidateInfo(
                f"series-knn.k{k}" + (".shape" if shape else ""), "series_neighbours", f"nearest series, k = {k}" + (", by shape" if shape else ""), templates=SERIES,
                settings={"k": k, "shape": shape}, year=1967, citations=17000, needs={"min_examples": 5, "max_examples": 50000},
                estimate=estimate(1e-4 * size.rows + 1e-9 * size.work * size.rows, size)))
