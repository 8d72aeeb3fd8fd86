"""Forests: random forests and extremely randomized trees."""

from __future__ import annotations

import math
from typing import Iterator

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..estimator import EstimatorCandidate
from ..program import Program
from ..size import estimate, size_of
from . import FLAT


class Forest(EstimatorCandidate):
    """Averaged trees; settings: ``trees``, ``features`` (share tried at a split, or "sqrt"), ``leaf``, ``extra``."""

    trusted = ("sklearn.tree._tree.Tree",)

    def make(self, train: Batch):
        from sklearn import ensemble
        s = self.info.settings
        kind = getattr(ensemble, ("ExtraTrees" if s["extra"] else "RandomForest") + ("Classifier" if train.classes else "Regressor"))
        return kind(n_estimators=s["trees"], max_features=s["features"], min_samples_leaf=s["leaf"],
                    random_state=self.seed, n_jobs=self.threads)


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """Two random forests and two of extra trees."""
    size = size_of(program, profile)
    numbers = (profile.get("target") or {}).get("kind") == "numbers"
    plain: float | str = 0.33 if numbers else "sqrt"
    for extra, features, leaf, slug in ((False, plain, 1, "forest.300"), (True, plain, 1, "extra-trees.300"),
                                        (False, 0.5, 3, "forest.300.leaf3"), (True, 0.5, 3, "extra-trees.300.leaf3")):
        tried = math.sqrt(size.features) if features == "sqrt" else features * size.features
        seconds = 300 * size.fits * size.rows * math.log2(size.rows + 2) * (1e-7 + max(1.0, tried) * (2e-8 if extra else 5e-8))
        yield Forest(CandidateInfo(
            slug, "forest", ("extra trees" if extra else "random forest") + ", 300" + (", at least 3 in a leaf" if leaf > 1 else ""),
            templates=FLAT, settings={"trees": 300, "features": features, "leaf": leaf, "extra": extra},
            year=2006 if extra else 2001, citations=9000 if extra else 130000, needs={"min_examples": 20, "max_examples": 500000},
            estimate=estimate(0.5 + seconds, size, memory=300.0 * size.rows * (200 + 20 * size.classes))))
