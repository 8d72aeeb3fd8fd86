"""Histograms of oriented gradients, then a support vector machine: pictures without a network."""

from __future__ import annotations

from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..program import Program
from ..size import estimate, size_of
from .svm import SVM


def cell_of(height: int, width: int) -> int:
    """The side of a HOG cell in pixels: about an eighth of the picture, 2 at least."""
    return max(2, min(height, width) // 8)


class HOG(SVM):
    """HOG features (Dalal and Triggs 2005) into an RBF SVM; settings: ``C``, ``kernel``, ``orientations``."""

    def view(self, batch: Batch) -> np.ndarray:
        from skimage.feature import hog
        height, width, channels = batch.picture_shape
        side = cell_of(height, width)
        blocks = min(2, height // side, width // side)
        pictures = batch.pictures.astype(np.float64)
        if channels == 1:
            pictures = pictures[..., 0]
        rows = [hog(p, orientations=self.info.settings["orientations"], pixels_per_cell=(side, side), cells_per_block=(blocks, blocks),
                    block_norm="L2-Hys", channel_axis=None if channels == 1 else -1) for p in pictures]
        return np.ascontiguousarray(rows)


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """Two strengths."""
    size = size_of(program, profile)
    pixels = size.side[0] * size.side[1] if size.side else 64
    for c in (10.0, 1.0):
        seconds = 2.2 * size.fits * size.rows * (3e-4 + 2e-7 * pixels) + 1e-9 * size.work * size.rows
        yield HOG(CandidateInfo(
            f"hog-svm.c{c:g}", "hog", f"HOG and SVM, C = {c:g}", templates=("image_classification",),
            settings={"kernel": "rbf", "C": c, "orientations": 9}, year=2005, citations=45000,
            needs={"min_examples": 20, "max_examples": 20000, "min_side": 6, "max_side": 256}, requires=("skimage",),
            estimate=estimate(seconds, size, memory=2e8)))
