"""Random convolution kernels: what thousands of random filters see in a series, then a linear model (ROCKET)."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..estimator import DecidingCandidate, EstimatorCandidate, dump, load
from ..program import Program
from ..size import estimate, size_of
from . import SERIES


def draw(count: int, size: int, steps: int, seed: int) -> list[tuple[np.ndarray, int, float, bool]]:
    """Kernels as Dempster, Petitjean and Webb (2020) draw them: weights [length, size], dilation, bias, whether padded.

    Each kernel sees one dimension, or a few at once where there are several.
    """
    rng, kernels = np.random.default_rng(seed), []
    for _ in range(count):
        length = int(rng.choice([k for k in (7, 9, 11) if k <= steps] or [max(2, steps // 2)]))
        weights = rng.normal(size=(length, size))
        weights -= weights.mean(axis=0)
        keep = rng.permutation(size)[: int(2 ** rng.uniform(0, np.log2(min(size, length) + 1)))]
        weights[:, [k for k in range(size) if k not in keep]] = 0.0
        dilation = int(2 ** rng.uniform(0, max(0.0, np.log2((steps - 1) / max(1, length - 1)))))
        kernels.append((weights, dilation, float(rng.uniform(-1, 1)), bool(rng.integers(2))))
    return kernels


def apply(kernels, x: np.ndarray) -> np.ndarray:
    """Each kernel's largest value and its share of positive ones, for series [n, size, steps]: [n, 2 · kernels]."""
    n, _, steps = x.shape
    out = np.empty((n, 2 * len(kernels)), dtype=np.float32)
    step = max(1, 2_000_000 // max(1, steps))
    for begin in range(0, n, step):
        part = x[begin:begin + step].astype(np.float32)
        for k, (weights, dilation, bias, padded) in enumerate(kernels):
            reach = (len(weights) - 1) * dilation
            pad = reach // 2 if padded or reach >= steps else 0
            width = steps + 2 * pad - reach
            seen = np.full((len(part), width), bias, dtype=np.float32)
            for d in np.flatnonzero(np.any(weights != 0, axis=0)):
                row = np.pad(part[:, d], ((0, 0), (pad, pad))) if pad else part[:, d]
                for j in range(len(weights)):
                    seen += np.float32(weights[j, d]) * row[:, j * dilation:j * dilation + width]
            out[begin:begin + step, 2 * k] = seen.max(axis=1)
            out[begin:begin + step, 2 * k + 1] = (seen > 0).mean(axis=1)
    return out


class _Kernels(EstimatorCandidate):
    """Sees series through random kernels drawn from the seed; settings: ``kernels``."""

    def view(self, batch: Batch) -> np.ndarray:
        x = batch.resampled
        # Made anew from the seed and the shape: nothing of them need be saved.
        return apply(draw(self.info.settings["kernels"], x.shape[1], x.shape[2], self.seed), x)

    def save(self, folder: Path) -> None:
        dump({"estimator": self.estimator, "seed": self.seed}, folder / "model.skops")

    @classmethod
    def load(cls, folder: Path) -> "_Kernels":
        loaded = cls.described(folder)
        saved = load(folder / "model.skops", cls.trusted)
        loaded.estimator, loaded.seed = saved["estimator"], saved["seed"]
        return loaded


class KernelRidgeClassifier(DecidingCandidate, _Kernels):
    """Ridge classification on what kernels see, the penalty by leave-one-out."""

    def make(self, train: Batch):
        from sklearn.linear_model import RidgeClassifierCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        return make_pipeline(StandardScaler(), RidgeClassifierCV(alphas=np.logspace(-2, 4, 7)))


class KernelRidge(_Kernels):
    """Ridge regression on what kernels see, the penalty by leave-one-out."""

    def make(self, train: Batch):
        from sklearn.linear_model import RidgeCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        return make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-2, 4, 7)))


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """A few hundred kernels, and some thousands."""
    size = size_of(program, profile)
    for count in (500, 2000):
        seconds = 1.6 * size.rows * size.features * count * 9 * 1.2e-9 * size.fits + 4e-9 * size.fits * min(size.rows, 2 * count) ** 2 * max(size.rows, 2 * count)
        for kind, kinds, slug in ((KernelRidgeClassifier, ("classes",), "rocket"), (KernelRidge, ("numbers",), "rocket-ridge")):
            yield kind(CandidateInfo(
                f"{slug}.{count}", "series_kernels", f"random kernels, {count:,}, and a linear model", templates=SERIES, kinds=kinds, settings={"kernels": count},
                year=2020, citations=1200, needs={"min_examples": 10, "max_examples": 50000},
                estimate=estimate(0.2 + seconds, size, memory=24.0 * size.rows * 2 * count)))
