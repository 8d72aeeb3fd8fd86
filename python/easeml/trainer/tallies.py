"""Tallies: metrics of answers with many places (masks, series), by counts of each example that add up.

Every example gives a row of counts, and a metric is a function of their sum. So all pixels or steps of a part count
alike, wherever they stand, and a bootstrap over examples only adds rows anew.

* Masks: ``iou``, intersection over union (Jaccard 1912), of each class that occurs in the truth or in the answers, over
  all pixels; their mean. It is scikit-learn's ``jaccard_score(..., average="macro")`` of all pixels in a row.
* Series of labels: ``token_accuracy``, the share of places that bear the right label. A series has as many places as the
  longer one of truth and answer, so that what is missing, and what is too much, is wrong.
* Series of numbers: ``mae``, ``rmse``, ``r2`` over all places. Where one of the two has none, the mean of what was learned
  from stands in for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable

import numpy as np

if TYPE_CHECKING:
    from .metrics import Guess


@dataclass(frozen=True)
class Tally:
    """How one kind of target is counted: ``count(truth, predicted, guess)`` gives [n, s]; ``figures`` are functions of a sum [s]."""

    count: Callable[[np.ndarray, np.ndarray, "Guess"], np.ndarray]
    figures: dict[str, Callable[[np.ndarray], float]]


def _count_masks(truth: np.ndarray, predicted: np.ndarray, guess: "Guess") -> np.ndarray:
    """Of each class the pixels that are right, those that bear it, and those that are answered so; −1, a class not known, is one more."""
    k = int(max(truth.max(initial=0), predicted.max(initial=0))) + 2
    out = np.zeros((len(truth), 3, k))
    for row, t, p in zip(out, truth.astype(np.int64), predicted.astype(np.int64)):
        t = np.where(t < 0, k - 1, t)
        row[0], row[1], row[2] = (np.bincount(v, minlength=k) for v in (t[t == p], t, p))
    return out.reshape(len(truth), -1)


def _iou(total: np.ndarray) -> float:
    both, borne, answered = total.reshape(3, -1)
    either = borne + answered - both
    return float(np.mean(both[either > 0] / either[either > 0])) if either.any() else math.nan


def _right_pixels(total: np.ndarray) -> float:
    both, borne, _ = total.reshape(3, -1)
    return float(both.sum() / borne.sum()) if borne.any() else math.nan


def _count_tokens(truth: np.ndarray, predicted: np.ndarray, guess: "Guess") -> np.ndarray:
    """Places that are right, places, whether all is right, whether the length is, 1."""
    out = np.empty((len(truth), 5))
    for row, t, p in zip(out, truth, predicted):
        chosen, m = p[:, 0].astype(np.int64), min(len(t), len(p))
        right, places = int(np.sum(t[:m] == chosen[:m])), max(len(t), len(p))
        row[:] = right, places, right == places, len(t) == len(p), 1
    return out


def _share(of: int, all_: int) -> Callable[[np.ndarray], float]:
    return lambda total: float(total[of] / total[all_]) if total[all_] else math.nan


def _count_series(truth: np.ndarray, predicted: np.ndarray, guess: "Guess") -> np.ndarray:
    """Absolute errors, their count, and of each number of a step: squared errors, values, squared values, their count."""
    mean = np.asarray(guess.answer, dtype=np.float64)
    d = len(mean)
    out = np.zeros((len(truth), 2 + 4 * d))
    for row, t, p in zip(out, truth, predicted):
        places = max(len(t), len(p))
        y, a = np.zeros((places, d)), np.zeros((places, d))  # from the mean, so that squares stay small
        y[:len(t)], a[:len(p)] = t - mean, p - mean
        off, y = y - a, y[:len(t)]
        row[0], row[1] = np.abs(off).sum(), off.size
        row[2:] = np.concatenate([(off**2).sum(axis=0), y.sum(axis=0), (y**2).sum(axis=0), np.full(d, len(t))])
    return out


def _series_r2(total: np.ndarray) -> float:
    off, y, squares, n = total[2:].reshape(4, -1)
    spread = squares - y**2 / np.maximum(1, n)
    told = spread > 1e-12 * np.maximum(1e-300, squares)
    return float(np.mean(1.0 - off[told] / spread[told])) if told.any() else math.nan


def _series_rmse(total: np.ndarray) -> float:
    return float(math.sqrt(total[2:].reshape(4, -1)[0].sum() / total[1])) if total[1] else math.nan


TALLIES: dict[str, Tally] = {
    "masks": Tally(_count_masks, {"iou": _iou, "pixel_accuracy": _right_pixels}),
    "tokens": Tally(_count_tokens, {"token_accuracy": _share(0, 1), "whole": _share(2, 4), "length": _share(3, 4)}),
    "series": Tally(_count_series, {"mae": _share(0, 1), "rmse": _series_rmse, "r2": _series_r2}),
}
"""By kind of target. ``whole`` and ``length``: shares of series that are right from end to end, and that are as long as they ought to be."""
