"""Linear models: logistic regression for classes, ridge regression for numbers."""

from __future__ import annotations

from typing import Iterator

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..estimator import EstimatorCandidate
from ..program import Program
from ..size import estimate, size_of
from . import FLAT, GENERAL


class Logistic(EstimatorCandidate):
    """Multinomial logistic regression with an L2 penalty; settings: ``C``."""

    def make(self, train: Batch):
        from sklearn.linear_model import LogisticRegression
        return LogisticRegression(C=self.info.settings["C"], max_iter=500, random_state=self.seed)


class Ridge(EstimatorCandidate):
    """Least squares with an L2 penalty; settings: ``alpha``."""

    def make(self, train: Batch):
        from sklearn.linear_model import Ridge as Estimator
        return Estimator(alpha=self.info.settings["alpha"], random_state=self.seed)


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """Three strengths of each."""
    size = size_of(program, profile)
    for c in (1.0, 0.1, 10.0):
        yield Logistic(CandidateInfo(
            f"logistic.c{c:g}", "linear", f"logistic regression, C = {c:g}", templates=FLAT, kinds=("classes",),
            settings={"C": c}, year=1958, citations=5000, needs={"min_examples": 3, "max_features": 20000},
            estimate=estimate(2e-7 * size.work * size.classes, size)))
    for alpha in (1.0, 100.0, 0.01):
        yield Ridge(CandidateInfo(
            f"ridge.a{alpha:g}", "linear", f"ridge regression, alpha = {alpha:g}", templates=FLAT + GENERAL, kinds=("numbers",),
            settings={"alpha": alpha}, year=1970, citations=16000, needs={"min_examples": 3, "max_features": 10000},
            estimate=estimate(1e-9 * size.work * size.features, size)))
