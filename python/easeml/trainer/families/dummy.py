"""Guessing: the most frequent class, or the mean. The line that every other candidate is measured against."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..program import Program
from ..report import Report
from ..size import estimate, size_of
from . import FLAT, RECOVERY, SERIES, TREES


class Dummy(Candidate):
    """Answers the training rows' class shares, or their mean, whatever the input."""

    answer: list[float]

    def fit(self, train: Batch, valid: Batch | None, report: Report) -> None:
        if train.classes:
            counts = np.bincount(train.y, minlength=train.classes)
            self.answer = (counts / counts.sum()).tolist()
        else:
            self.answer = train.y.mean(axis=0).tolist()

    def predict(self, inputs: Batch) -> np.ndarray:
        return np.tile(np.asarray(self.answer), (inputs.n, 1))

    def save(self, folder: Path) -> None:
        from ..estimator import dump
        dump({"answer": self.answer}, folder / "model.skops")

    @classmethod
    def load(cls, folder: Path) -> "Dummy":
        from ..estimator import load
        loaded = cls.described(folder)
        loaded.answer = load(folder / "model.skops", ())["answer"]
        return loaded


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """The one dummy."""
    size = size_of(program, profile)
    yield Dummy(CandidateInfo("dummy", "dummy", "guessing", templates=FLAT + SERIES + TREES + RECOVERY, baseline=True,
                              estimate=estimate(1e-8 * size.work, size)))
