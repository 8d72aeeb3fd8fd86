"""Nearest neighbours: answers what the most alike training rows were."""

from __future__ import annotations

from typing import Iterator

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..estimator import EstimatorCandidate
from ..program import Program
from ..size import estimate, size_of
from . import FLAT, GENERAL


class KNN(EstimatorCandidate):
    """k nearest neighbours by Euclidean distance; settings: ``k``, ``weights``."""

    def make(self, train: Batch):
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
        kind = KNeighborsClassifier if train.classes else KNeighborsRegressor
        return kind(n_neighbors=min(self.info.settings["k"], train.n), weights=self.info.settings["weights"],
                    algorithm="brute", n_jobs=1)


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """1, 5 and 15 neighbours."""
    size = size_of(program, profile)
    for k, weights in ((5, "uniform"), (1, "uniform"), (15, "distance")):
        yield KNN(CandidateInfo(
            f"knn.{k}", "knn", f"kNN, k = {k}" + (", nearer ones count more" if weights == "distance" else ""), templates=FLAT + GENERAL,
            settings={"k": k, "weights": weights}, year=1967, citations=18000,
            needs={"min_examples": max(10, 2 * k), "max_examples": 100000, "max_features": 20000},
            estimate=estimate(3e-10 * size.work * size.rows, size)))
