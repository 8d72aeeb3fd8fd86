"""Boosted trees by LightGBM: missing values and categories as they are, early stopping on the validation rows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo, Stop
from ..program import Program
from ..report import Report
from ..size import estimate, size_of
from . import FLAT

_EVERY = 10
"""Trees between two looks at the validation rows."""


class LightGBM(Candidate):
    """One booster (one an output for several numbers); settings: ``leaves``, ``rate``, ``trees`` (at most)."""

    unit = "tree"
    boosters: list

    def _parameters(self, train: Batch) -> dict:
        s = self.info.settings
        parameters = {
            "num_leaves": s["leaves"], "learning_rate": s["rate"], "min_data_in_leaf": max(2, min(20, train.n // 50)),
            "feature_fraction": 0.8, "bagging_fraction": 0.8, "bagging_freq": 1, "max_bin": 255, "verbosity": -1,
            "seed": self.seed, "deterministic": True, "force_row_wise": True, "num_threads": self.threads,
        }
        if train.classes == 0:
            return parameters | {"objective": "regression"}
        if train.classes == 2:
            return parameters | {"objective": "binary"}
        return parameters | {"objective": "multiclass", "num_class": train.classes}

    def fit(self, train: Batch, valid: Batch | None, report: Report) -> None:
        import lightgbm
        parameters = self._parameters(train)
        targets = [train.y] if train.classes else [train.y[:, d] for d in range(train.outputs)]
        self.boosters = [lightgbm.Booster(parameters, lightgbm.Dataset(
            train.table, y, categorical_feature=train.category_columns, params={"verbosity": -1, "max_bin": 255, "min_data_in_bin": 1}))
            for y in targets]
        most = self.info.settings["trees"]
        if report.limit:
            most = min(most, report.limit * _EVERY)
        if valid is None and self.hints.get("steps"):
            most = max(1, round(self.hints["steps"]))
        self._best = 0

        def keep() -> None:
            self._best = self.boosters[0].current_iteration()

        try:
            for i in range(1, most + 1):
                for booster in self.boosters:
                    booster.update()
                if i % _EVERY == 0 or i == most:
                    quality = report.quality(self._predict(valid, i)) if valid is not None else None
                    report.step(math.ceil(i / _EVERY), math.ceil(most / _EVERY), quality, keep=keep)
        except Stop:
            pass
        self._best = self._best or self.boosters[0].current_iteration()
        if valid is not None:
            self.learned["steps"] = float(self._best)
        texts = [b.model_to_string(num_iteration=self._best) for b in self.boosters]
        self.boosters = [lightgbm.Booster(model_str=t) for t in texts]

    def _predict(self, inputs: Batch, trees: int | None = None) -> np.ndarray:
        answers = [b.predict(inputs.table, num_iteration=trees, num_threads=self.threads) for b in self.boosters]
        if inputs.classes == 0:
            return np.column_stack(answers)
        return np.column_stack([1 - answers[0], answers[0]]) if inputs.classes == 2 else answers[0]

    def predict(self, inputs: Batch) -> np.ndarray:
        return self._predict(inputs)

    def save(self, folder: Path) -> None:
        from ..estimator import dump
        # LightGBM's own text form, as plain text in the skops file: no object of its is stored.
        dump({"boosters": [b.model_to_string() for b in self.boosters]}, folder / "model.skops")

    @classmethod
    def load(cls, folder: Path) -> "LightGBM":
        import lightgbm

        from ..estimator import load
        loaded = cls.described(folder)
        loaded.boosters = [lightgbm.Booster(model_str=t) for t in load(folder / "model.skops", ())["boosters"]]
        return loaded


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """Small and larger trees, quick and slow learning."""
    size = size_of(program, profile)
    boosters = size.classes if size.classes > 2 else 1
    for leaves, rate, trees, slug in ((15, 0.1, 300, "lightgbm.15"), (31, 0.1, 300, "lightgbm.31"), (31, 0.03, 800, "lightgbm.31.slow")):
        seconds = 0.5 * trees * size.fits * boosters * (size.rows * size.features * 1.5e-8 + leaves * 3e-5)
        yield LightGBM(CandidateInfo(
            slug, "lightgbm", f"LightGBM, {leaves} leaves" + (", slow" if rate < 0.1 else ""), templates=FLAT,
            settings={"leaves": leaves, "rate": rate, "trees": trees}, iterative=True, year=2017, citations=17000,
            needs={"min_examples": 30, "max_features": 5000}, requires=("lightgbm",),
            estimate=estimate(seconds, size, memory=1e8)))
