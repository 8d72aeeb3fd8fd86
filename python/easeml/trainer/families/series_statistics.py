"""Series by their statistics: some dozens of numbers a dimension, whatever the length, then trees or a linear model."""

from __future__ import annotations

import math
from typing import Iterator

import numpy as np

from ..batch import MOST_LEVELS, Batch
from ..candidate import Candidate, CandidateInfo
from ..estimator import StandardizedCandidate
from ..program import Program
from ..size import estimate, size_of
from . import SERIES
from .forest import Forest
from .linear import Logistic, Ridge

LAGS = (1, 2, 3, 5, 8)
BANDS = 6
PIECES = 8
WIDTH = 23 + len(LAGS) + BANDS + PIECES


def describe(steps: np.ndarray) -> np.ndarray:
    """The numbers of one series [steps, size]: `WIDTH` for each of its numbers, and the count of steps.

    Level and spread (moments, quantiles, first and last step), shape (slope, means of eight pieces, steps above the
    mean, crossings, longest run), memory (autocorrelation at some lags), roughness (differences), and the share of
    the variance in octaves of the spectrum: in the spirit of catch22 (Lubba et al. 2019), plain and quick.
    """
    return np.concatenate([[math.log1p(len(steps))], *(_one(steps[:, k]) for k in range(steps.shape[1]))])


def _one(v: np.ndarray) -> np.ndarray:
    n, mean, deviation = len(v), v.mean(), v.std()
    z = (v - mean) / (deviation + 1e-9)
    steps = np.diff(v) if n > 1 else np.zeros(1)
    above = v > mean
    changes = np.flatnonzero(np.diff(above)) if n > 1 else np.zeros(0, int)
    runs = np.diff(np.concatenate([[-1], changes, [n - 1]]))
    time = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
    slope = float((time * (v - mean)).sum() / max((time**2).sum(), 1e-9))
    rest = v - mean - slope * time
    lags = [float((z[lag:] * z[:-lag]).mean()) if n > lag + 1 else 0.0 for lag in LAGS]
    power = np.abs(np.fft.rfft(z))[1:] ** 2
    power = power / (power.sum() + 1e-12)
    edges = np.unique(np.geomspace(1, len(power) + 1, BANDS + 1).astype(int)) if len(power) else np.ones(1, int)
    bands = [float(power[a - 1:b - 1].sum()) for a, b in zip(edges, edges[1:])]
    bands += [0.0] * (BANDS - len(bands))
    pieces = [float(p.mean()) if len(p) else float(mean) for p in np.array_split(v, PIECES)]
    quantiles = np.quantile(v, (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1))
    return np.array([mean, deviation, (z**3).mean(), (z**4).mean(), *quantiles, v[0], v[-1], slope, rest.std(), float(np.argmax(v)) / n, float(np.argmin(v)) / n,
                     above.mean(), len(changes) / n, runs.max() / n, np.abs(steps).mean(), steps.std(), np.abs(np.diff(steps)).mean() if n > 2 else 0.0,
                     *lags, *bands, *pieces])


def described(batch: Batch) -> np.ndarray:
    """All series of a batch, [n, 1 + size · WIDTH]."""
    return np.nan_to_num(np.stack([describe(s) for s in batch.series]), posinf=0.0, neginf=0.0)


class StatisticsForest(Forest):
    """Trees on statistics; settings as those of `Forest`."""

    def view(self, batch: Batch) -> np.ndarray:
        return described(batch)


class _Standardized(StandardizedCandidate):
    """A linear model on standardized statistics."""

    def view(self, batch: Batch) -> np.ndarray:
        return described(batch)


class StatisticsLogistic(_Standardized, Logistic):
    """Logistic regression on statistics; settings as those of `Logistic`."""


class StatisticsRidge(_Standardized, Ridge):
    """Ridge regression on statistics; settings as those of `Ridge`."""


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """A random forest, extra trees, a linear model."""
    size = size_of(program, profile)
    dimensions = program.inputs[0].size if program.inputs[0].shape else 1 + min(MOST_LEVELS, program.inputs[0].class_count or 0)
    features = 1 + dimensions * WIDTH
    describing = 2.0 * size.rows * (2e-4 * dimensions + 2e-8 * size.features)
    for extra, slug, name in ((False, "series-forest.300", "random forest"), (True, "series-extra-trees.300", "extra trees")):
        growing = 300 * size.fits * size.rows * math.log2(size.rows + 2) * (1e-7 + math.sqrt(features) * (2e-8 if extra else 5e-8))
        yield StatisticsForest(CandidateInfo(
            slug, "series_statistics", f"statistics of the series, {name}, 300", templates=SERIES,
            settings={"trees": 300, "features": "sqrt", "leaf": 1, "extra": extra}, year=2019, citations=900, needs={"min_examples": 10},
            estimate=estimate(0.5 + describing + growing, size, memory=300.0 * size.rows * (200 + 20 * size.classes))))
    yield StatisticsLogistic(CandidateInfo(
        "series-logistic.c1", "series_statistics", "statistics of the series, logistic regression", templates=SERIES, kinds=("classes",),
        settings={"C": 1.0}, year=2019, citations=900, needs={"min_examples": 10}, estimate=estimate(describing + 2e-7 * size.rows * features * size.classes * size.fits, size)))
    yield StatisticsRidge(CandidateInfo(
        "series-ridge.a1", "series_statistics", "statistics of the series, ridge regression", templates=SERIES, kinds=("numbers",),
        settings={"alpha": 1.0}, year=2019, citations=900, needs={"min_examples": 10}, estimate=estimate(describing + 1e-8 * size.rows * features * size.fits, size)))
