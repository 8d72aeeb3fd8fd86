"""Multi-layer perceptrons by scikit-learn, one epoch at a time."""

from __future__ import annotations

from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo, Stop
from ..estimator import EstimatorCandidate
from ..program import Program
from ..report import Report
from ..size import estimate, size_of
from . import FLAT


class MLP(EstimatorCandidate):
    """Dense layers, Adam; settings: ``layers``, ``rate``, ``epochs`` (at most), ``decay``."""

    unit = "epoch"

    def make(self, train: Batch):
        from sklearn.neural_network import MLPClassifier, MLPRegressor
        s = self.info.settings
        kind = MLPClassifier if train.classes else MLPRegressor
        return kind(hidden_layer_sizes=tuple(s["layers"]), learning_rate_init=s["rate"], alpha=s["decay"],
                    batch_size=min(64, train.n), random_state=self.seed)

    def fit(self, train: Batch, valid: Batch | None, report: Report) -> None:
        self.estimator = self.make(train)
        epochs = self.info.settings["epochs"]
        if report.limit:
            epochs = min(epochs, report.limit)
        if valid is None and self.hints.get("steps"):
            epochs = max(1, round(self.hints["steps"]))
        y = train.y if train.classes or train.outputs > 1 else train.y[:, 0]
        # All labels are named, so that a part without one still gives a column for it.
        first = {"classes": np.arange(train.classes)} if train.classes else {}
        best: list = []

        def keep() -> None:
            best[:] = [[w.copy() for w in self.estimator.coefs_], [b.copy() for b in self.estimator.intercepts_], report.steps]

        try:
            for epoch in range(1, epochs + 1):
                self.estimator.partial_fit(train.matrix, y, **(first if epoch == 1 else {}))
                quality = report.quality(self.predict(valid)) if valid is not None else None
                report.step(epoch, epochs, quality, float(self.estimator.loss_), keep=keep)
        except Stop:
            pass
        self.estimator._optimizer = None  # its moments are of no use any more, and skops would have to trust its type
        if best:
            self.estimator.coefs_, self.estimator.intercepts_ = best[0], best[1]
            if valid is not None:
                self.learned["steps"] = float(best[2])


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """One and two hidden layers."""
    size = size_of(program, profile)
    for layers, decay, slug in (((64,), 1e-4, "mlp.64"), ((128, 128), 1e-3, "mlp.128x2")):
        weights = size.features * layers[0] + sum(a * b for a, b in zip(layers, layers[1:])) + layers[-1] * size.classes
        yield MLP(CandidateInfo(
            slug, "mlp", "MLP, " + " and ".join(map(str, layers)), templates=FLAT,
            settings={"layers": list(layers), "rate": 2e-3, "epochs": 80, "decay": decay}, iterative=True, year=1986, citations=40000,
            needs={"min_examples": 50, "max_features": 20000},
            estimate=estimate(40 * size.fits * size.rows * (1.5e-5 + 4e-10 * weights), size, memory=30.0 * weights)))
