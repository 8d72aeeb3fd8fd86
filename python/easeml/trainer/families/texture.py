"""Textures and colours: local binary patterns and statistics of each channel, then a support vector machine or trees.

Where a picture shows a surface rather than a thing, *where* a pixel lies says little and *how* it
differs from its neighbours much. So each picture becomes some dozens of numbers that don't change
when it is shifted, whatever its size.
"""

from __future__ import annotations

import math
from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..estimator import EstimatorCandidate, StandardizedCandidate
from ..program import Program
from ..size import estimate, size_of
from .forest import Forest
from .svm import SVM

BINS = 16
"""Bins of a channel's histogram."""

SCALES = 3
"""How often a channel is halved to see how much contrast is left."""

_GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)


def radii(height: int, width: int) -> list[int]:
    """The radii of the circles that patterns are read on: at most an eighth of the smaller side, 3 at most."""
    return [r for r in (1, 2, 3) if min(height, width) >= 8 * r]


def width_of(height: int, width: int, channels: int) -> int:
    """How many numbers `describe` makes of a picture."""
    return sum(8 * r + 2 for r in radii(height, width)) + channels * (BINS + 15 + SCALES)


def describe(picture: np.ndarray) -> np.ndarray:
    """The numbers of one picture [h, w, c] with values in [0, 1].

    First the histograms of uniform local binary patterns of the grey picture (Ojala, Pietikäinen,
    Mäenpää 2002), 8 r points on a circle of radius r; then of each channel the histogram, moments,
    quantiles, strength of edges, and the contrast left at half, quarter and eighth of the size.
    Histograms are square roots of shares, so that their distances are Hellinger's.
    """
    from skimage.feature import local_binary_pattern
    height, width, channels = picture.shape
    grey = picture @ _GREY if channels == 3 else picture.mean(axis=-1)
    levels = np.clip(np.rint(grey * 255), 0, 255).astype(np.uint8)
    out = []
    for r in radii(height, width):
        codes = local_binary_pattern(levels, 8 * r, r, "uniform").astype(np.int64)
        out.append(np.sqrt(np.bincount(codes.ravel(), minlength=8 * r + 2) / codes.size))
    for k in range(channels):
        out += _channel(np.clip(picture[..., k].astype(np.float64), 0, 1))
    return np.concatenate(out)


def _channel(v: np.ndarray) -> list:
    shares = np.bincount(np.minimum((v * BINS).astype(np.int64), BINS - 1).ravel(), minlength=BINS) / v.size
    mean, deviation = v.mean(), v.std()
    z = (v - mean) / (deviation + 1e-6)
    down, across = np.diff(v, axis=0), np.diff(v, axis=1)
    left, half = [], v
    for _ in range(SCALES):
        h, w = half.shape[0] // 2 * 2, half.shape[1] // 2 * 2
        if min(h, w) < 2:
            left.append(0.0)
            continue
        whole = half[:h, :w]
        half = (whole[::2, ::2] + whole[1::2, ::2] + whole[::2, 1::2] + whole[1::2, 1::2]) / 4
        left.append(half.std())
    return [np.sqrt(shares), [mean, deviation, (z**3).mean(), (z**4).mean()], np.quantile(v, (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)),
            [np.abs(down).mean(), np.abs(across).mean(), down.std(), across.std()], left]


class _Described(EstimatorCandidate):
    """Sees pictures as `describe` does."""

    def view(self, batch: Batch) -> np.ndarray:
        return np.stack([describe(p) for p in batch.pictures])


class TextureSVM(_Described, StandardizedCandidate, SVM):
    """An RBF SVM on standardized descriptions; settings: ``C``, ``kernel``."""


class TextureForest(_Described, Forest):
    """Trees on descriptions; settings as those of `Forest`."""


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """One support vector machine, a random forest, extra trees."""
    size = size_of(program, profile)
    height, width, channels = size.side or (8, 8, 1)
    features = width_of(height, width, channels)
    describing = 2.2 * size.fits * size.rows * (3e-4 + 2e-7 * height * width * (1 + channels))
    needs = {"min_examples": 20, "max_examples": 20000, "min_side": 8, "max_side": 512}
    outputs = 1 if size.classes > 1 else sum(f.size for f in program.outputs)
    yield TextureSVM(CandidateInfo(
        "lbp-svm.c10", "texture", "textures and colours, SVM, C = 10", templates=("image_classification",),
        settings={"kernel": "rbf", "C": 10.0}, year=2002, citations=17000, needs=needs, requires=("skimage",),
        estimate=estimate(describing + 1.2e-9 * size.fits * size.rows**2 * features * outputs, size, memory=2e8)))
    for extra, slug, name in ((False, "lbp-forest.300", "random forest"), (True, "lbp-extra-trees.300", "extra trees")):
        growing = 300 * size.fits * size.rows * math.log2(size.rows + 2) * (1e-7 + math.sqrt(features) * (2e-8 if extra else 5e-8))
        yield TextureForest(CandidateInfo(
            slug, "texture", f"textures and colours, {name}, 300", templates=("image_classification",),
            settings={"trees": 300, "features": "sqrt", "leaf": 1, "extra": extra}, year=2002, citations=17000,
            needs={**needs, "max_examples": 100000}, requires=("skimage",),
            estimate=estimate(0.5 + describing + growing, size, memory=300.0 * size.rows * (200 + 20 * size.classes))))
