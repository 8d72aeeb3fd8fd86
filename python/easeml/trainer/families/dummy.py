"""Guessing: the most frequent class, or the mean; of a series at every step. The line that every other candidate is measured against."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..outputs import objects
from ..program import Program
from ..report import Report
from ..size import estimate, size_of
from . import FLAT, GENERAL, RECOVERY, SERIES, TRANSLATION, TREES


class Dummy(Candidate):
    """Answers the training rows' class shares, or their mean, whatever the input."""

    answer: list[float]
    series: dict | None = None
    """Of series as output: ``aligned`` and the usual ``length``, as `Batch.answer` has them."""

    def fit(self, train: Batch, valid: Batch | None, report: Report) -> None:
        y = train.y
        if y.dtype == object:
            self.series = {k: train.answer[k] for k in ("aligned", "length")}
            y = np.concatenate(list(y))
        if train.classes:
            counts = np.bincount(y, minlength=train.classes)
            self.answer = (counts / counts.sum()).tolist()
        else:
            self.answer = y.mean(axis=0).tolist()

    def predict(self, inputs: Batch) -> np.ndarray:
        if self.series:
            lengths = inputs.lengths if self.series["aligned"] else [self.series["length"]] * inputs.n
            return objects(np.tile(np.asarray(self.answer), (int(n), 1)) for n in lengths)
        return np.tile(np.asarray(self.answer), (inputs.n, 1))

    def save(self, folder: Path) -> None:
        from ..estimator import dump
        dump({"answer": self.answer, "series": self.series}, folder / "model.skops")

    @classmethod
    def load(cls, folder: Path) -> "Dummy":
        from ..estimator import load
        loaded = cls.described(folder)
        saved = load(folder / "model.skops", ())
        loaded.answer, loaded.series = saved["answer"], saved.get("series")
        return loaded


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """The one dummy."""
    size = size_of(program, profile)
    yield Dummy(CandidateInfo("dummy", "dummy", "guessing", templates=FLAT + SERIES + TREES + RECOVERY + TRANSLATION + GENERAL, kinds=("classes", "numbers", "tokens", "series"), baseline=True,
                              estimate=estimate(1e-8 * size.work, size)))
