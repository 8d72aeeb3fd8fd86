"""Support vector machines: an RBF kernel, and a linear one where there are many features."""

from __future__ import annotations

from typing import Iterator

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..estimator import DecidingCandidate
from ..program import Program
from ..size import estimate, size_of
from . import FLAT


class SVM(DecidingCandidate):
    """SVC or SVR; settings: ``kernel``, ``C``. One SVR an output where there are several numbers."""

    def make(self, train: Batch):
        from sklearn.svm import SVC, SVR
        kernel, c = self.info.settings["kernel"], self.info.settings["C"]
        if train.classes:
            return SVC(C=c, kernel=kernel, cache_size=200, random_state=self.seed)
        one = SVR(C=c, kernel=kernel, cache_size=200)
        if train.outputs == 1:
            return one
        from sklearn.multioutput import MultiOutputRegressor
        return MultiOutputRegressor(one)


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """RBF in three strengths, and one linear."""
    size = size_of(program, profile)
    outputs = 1 if size.classes > 1 else sum(f.size for f in program.outputs)
    for kernel, c, name in (("rbf", 10.0, "SVM, rbf"), ("rbf", 1.0, "SVM, rbf"), ("rbf", 100.0, "SVM, rbf"), ("linear", 0.1, "SVM, linear")):
        yield SVM(CandidateInfo(
            f"svm-{kernel}.c{c:g}", "svm", f"{name}, C = {c:g}", templates=FLAT, settings={"kernel": kernel, "C": c},
            year=1995, citations=60000, needs={"min_examples": 20, "max_examples": 20000, "max_features": 20000},
            estimate=estimate((1.2e-9 if c <= 10 else 2e-9) * size.work * size.rows * outputs, size, memory=2e8)))
