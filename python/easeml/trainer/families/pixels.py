"""Pictures from pictures, pixel by pixel: each pixel of the output from what lies around it in the input."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..estimator import dump, load
from ..fault import Fault
from ..program import Program
from ..report import Report
from ..size import estimate, size_of
from . import RECOVERY

MOST_PIXELS = 60_000
"""Pixels that are learned from, drawn evenly from all pictures."""
BLURS = (1.0, 2.0, 4.0)


def around(pictures: np.ndarray, reach: int) -> np.ndarray:
    """What lies around each pixel of pictures [n, h, w, c]: its neighbours within `reach`, each channel blurred at some
    scales, and its place; [n, h, w, features]."""
    from scipy.ndimage import gaussian_filter
    n, h, w, c = pictures.shape
    padded = np.pad(pictures, ((0, 0), (reach, reach), (reach, reach), (0, 0)), mode="reflect" if min(h, w) > reach else "edge")
    views = [padded[:, i:i + h, j:j + w] for i in range(2 * reach + 1) for j in range(2 * reach + 1)]
    views += [gaussian_filter(pictures, (0, s, s, 0)) for s in BLURS]
    place = np.stack(np.meshgrid(np.linspace(-1, 1, h), np.linspace(-1, 1, w), indexing="ij"), axis=-1).astype(np.float32)
    views.append(np.broadcast_to(place, (n, h, w, 2)))
    return np.concatenate(views, axis=-1)


class Pixels(Candidate):
    """A model of pixels; settings: ``model`` (ridge or trees), ``reach``."""

    def make(self):
        from sklearn.ensemble import ExtraTreesRegressor
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        if self.info.settings["model"] == "ridge":
            return make_pipeline(StandardScaler(), Ridge(alpha=1.0))
        return ExtraTreesRegressor(n_estimators=50, min_samples_leaf=5, random_state=self.seed, n_jobs=self.threads)

    def fit(self, train: Batch, valid: Batch | None, report: Report) -> None:
        height, width, channels = train.output_shape
        if train.picture_shape[:2] != (height, width):
            raise Fault(f"It needs an output as high and wide as the input, {train.picture_shape[0]}×{train.picture_shape[1]}.", kind="unsupported")
        mean, deviation = train.scale
        wanted = (train.y * deviation + mean).reshape(train.n, height, width, channels)
        rng = np.random.default_rng(self.seed)
        each = max(1, MOST_PIXELS // train.n)
        xs, ys = [], []
        for i in range(train.n):
            at = rng.permutation(height * width)[:each]
            xs.append(around(train.pictures[i:i + 1], self.info.settings["reach"]).reshape(height * width, -1)[at])
            ys.append(wanted[i].reshape(height * width, channels)[at])
        y = np.concatenate(ys)
        self.estimator = self.make()
        self.estimator.fit(np.concatenate(xs), y if channels > 1 else y[:, 0])

    def predict(self, inputs: Batch) -> np.ndarray:
        height, width, channels = inputs.output_shape
        mean, deviation = inputs.scale
        out = np.empty((inputs.n, height * width * channels))
        for i in range(inputs.n):
            out[i] = np.asarray(self.estimator.predict(around(inputs.pictures[i:i + 1], self.info.settings["reach"]).reshape(height * width, -1))).reshape(-1)
        return (out - mean) / deviation

    def save(self, folder: Path) -> None:
        dump(self.estimator, folder / "model.skops")

    @classmethod
    def load(cls, folder: Path) -> "Pixels":
        loaded = cls.described(folder)
        loaded.estimator = load(folder / "model.skops", ("sklearn.tree._tree.Tree",))
        return loaded


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """A linear one and trees, where output and input are equally high and wide."""
    size = size_of(program, profile)
    shape, side = program.outputs[0].shape or (), size.side
    if len(shape) not in (2, 3) or side is None or tuple(shape[:2]) != tuple(side[:2]):
        return
    pixels = min(MOST_PIXELS, size.rows * side[0] * side[1])
    seeing = 2e-7 * size.rows * size.features * 30 * size.fits
    for model, name, each in (("ridge", "linear", 1e-6), ("trees", "extra trees, 50", 4e-4)):
        yield Pixels(CandidateInfo(
            f"pixels.{model}", "pixels", f"pixel by pixel, {name}", templates=RECOVERY, kinds=("numbers",), settings={"model": model, "reach": 2}, year=2006, citations=9000,
            needs={"min_examples": 3, "max_examples": 20000, "max_side": 512},
            estimate=estimate(0.3 + seeing + each * pixels * size.fits, size, memory=8e3 * pixels)))
