"""Histogram boosting by scikit-learn: boosted trees where LightGBM isn't installed, and a second opinion where it is."""

from __future__ import annotations

from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..estimator import EstimatorCandidate
from ..program import Program
from ..size import estimate, size_of
from . import FLAT


class Boosting(EstimatorCandidate):
    """One model (one an output for several numbers); settings: ``leaves``, ``rate``, ``trees``. Missing numbers stay missing."""

    trusted = ("sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",)

    def make(self, train: Batch):
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        s = self.info.settings
        kind = HistGradientBoostingClassifier if train.classes else HistGradientBoostingRegressor
        one = kind(max_iter=s["trees"], learning_rate=s["rate"], max_leaf_nodes=s["leaves"], early_stopping=False,
                   min_samples_leaf=max(2, min(20, train.n // 50)), random_state=self.seed)
        if train.outputs == 1 or train.classes:
            return one
        from sklearn.multioutput import MultiOutputRegressor
        return MultiOutputRegressor(one)

    def view(self, batch: Batch) -> np.ndarray:
        return batch.table


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """One of middling size."""
    size = size_of(program, profile)
    boosters = size.classes if size.classes > 2 else 1
    seconds = 100 * size.fits * boosters * (size.rows * size.features * 3e-8 + 2e-3)
    yield Boosting(CandidateInfo(
        "hist-boosting", "boosting", "histogram boosting, 15 leaves", templates=FLAT, settings={"leaves": 15, "rate": 0.1, "trees": 100},
        year=2001, citations=25000, needs={"min_examples": 30, "max_features": 2000}, estimate=estimate(seconds, size, memory=1e8)))
