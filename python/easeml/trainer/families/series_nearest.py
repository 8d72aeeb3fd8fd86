"""Series from series by retrieval: the answers of the series that are most alike, all brought to one length."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..estimator import dump, load
from ..outputs import objects
from ..program import Program
from ..report import Report
from ..size import estimate, size_of
from ..windows import fitted
from . import TRANSLATION


class Nearest(Candidate):
    """The mean, or of labels the vote, of the k nearest series' answers, step by step; settings: ``k``.

    An answer is as long as the nearest one's, or, where all are as long as their inputs, as its input.
    """

    def fit(self, train: Batch, valid: Batch | None, report: Report) -> None:
        from sklearn.neighbors import NearestNeighbors
        self.index = NearestNeighbors(n_neighbors=min(self.info.settings["k"], train.n), algorithm="brute", n_jobs=self.threads)
        self.index.fit(train.resampled.reshape(train.n, -1))
        self.aligned = bool(train.answer["aligned"])
        self.answers = [v if train.classes == 0 else np.asarray(v, dtype=np.int64) for v in train.y]

    def predict(self, inputs: Batch) -> np.ndarray:
        if not inputs.n:
            return objects([])
        distances, found = self.index.kneighbors(inputs.resampled.reshape(inputs.n, -1))
        out = []
        for i in range(inputs.n):
            length = np.array([inputs.lengths[i] if self.aligned else len(self.answers[found[i, 0]])])
            weights = 1.0 / (distances[i] + 1e-6)
            weights /= weights.sum()
            whole = 0.0
            for w, j in zip(weights, found[i].tolist()):
                answer = self.answers[j]
                whole = whole + w * fitted([np.eye(inputs.classes)[answer] if inputs.classes else answer], length)[0]
            out.append(whole)
        return objects(out)

    def save(self, folder: Path) -> None:
        dump({"index": self.index, "aligned": self.aligned, "ends": np.cumsum([len(a) for a in self.answers]), "answers": np.concatenate(self.answers)}, folder / "model.skops")

    @classmethod
    def load(cls, folder: Path) -> "Nearest":
        loaded = cls.described(folder)
        saved = load(folder / "model.skops", ("sklearn.metrics._dist_metrics.EuclideanDistance64",))
        loaded.index, loaded.aligned = saved["index"], saved["aligned"]
        loaded.answers = np.split(saved["answers"], saved["ends"][:-1])
        return loaded


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """One neighbour, and five."""
    size = size_of(program, profile)
    for k in (1, 5):
        yield Nearest(CandidateInfo(
            f"series-nearest.k{k}", "series_nearest", f"the nearest series' answer, k = {k}", templates=TRANSLATION, kinds=("tokens", "series"), settings={"k": k}, year=1967,
            citations=17000, needs={"min_examples": 2, "max_examples": 50000}, estimate=estimate(2e-4 * size.rows + 1e-9 * size.work * size.rows, size)))
