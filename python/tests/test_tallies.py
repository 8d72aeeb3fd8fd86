"""Overlap, token accuracy and the errors of series: against scikit-learn, by hand, and what must hold whatever the answers are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn import metrics as reference

from easeml.trainer.fault import Fault
from easeml.trainer.metrics import REGISTRY, Guess, find_metric, quality, score
from easeml.trainer.outputs import objects


def masks(rng, n: int = 30, pixels: int = 50, k: int = 4, wrong: float = 0.3):
    truth = rng.integers(0, k, (n, pixels))
    return truth, np.where(rng.random(truth.shape) < wrong, rng.integers(0, k, truth.shape), truth)


def tokens(rng, n: int = 30, k: int = 5):
    """Truths and answers of unequal length."""
    truth = objects(rng.integers(0, k, int(rng.integers(1, 9))) for _ in range(n))
    return truth, objects(np.column_stack([np.where(rng.random(m) < 0.3, rng.integers(0, k, m), np.resize(t, m)), np.full(m, 0.9)])
                          for t in truth for m in [max(1, len(t) + int(rng.integers(-2, 3)))])


def series(rng, n: int = 30, d: int = 2):
    truth = objects(rng.normal(50, 10, (int(rng.integers(1, 9)), d)) for _ in range(n))
    return truth, objects(t + rng.normal(0, 3, t.shape) for t in truth)


@pytest.mark.parametrize("k", [2, 5])
def test_overlap_as_scikit_learn_has_it(k):
    truth, answers = masks(np.random.default_rng(k), k=k)
    iou = find_metric(None, "masks")
    assert iou.name == "iou"
    assert iou.value(truth, answers, Guess((0.0,))) == pytest.approx(reference.jaccard_score(truth.ravel(), answers.ravel(), average="macro"))
    # A class that neither is there nor was answered counts for nothing; one that only was answered counts as 0.
    truth, answers = np.array([[0, 0, 1, 1]]), np.array([[0, 0, 1, 3]])
    assert iou.value(truth, answers, Guess((0.0,))) == pytest.approx((1 + 0.5 + 0) / 3) == pytest.approx(reference.jaccard_score(truth[0], answers[0], average="macro"))
    # A class that the model doesn't know is never right.
    assert iou.value(np.array([[0, -1, -1]]), np.array([[0, 0, 0]]), Guess((0.0,))) == pytest.approx((1 / 3 + 0) / 2)


def test_token_accuracy_by_hand():
    metric = find_metric(None, "tokens")
    said = lambda *codes: np.column_stack([codes, np.ones(len(codes))])  # noqa: E731
    truth = objects([np.array([1, 2, 3]), np.array([1, 2]), np.array([4])])
    answers = objects([said(1, 2, 0), said(1, 2, 3, 3), said(4)])
    s = score(metric, truth, answers, Guess.learn_series(truth, "tokens", False))
    assert s.quality == pytest.approx((2 + 2 + 1) / (3 + 4 + 1)) and s.n == 3  # what is too much is wrong
    assert s.metrics["whole"] == pytest.approx(1 / 3) and s.metrics["length"] == pytest.approx(2 / 3)
    assert s.metrics["guess"] == pytest.approx(2 / 7)  # always the first most frequent label, two steps: the median length
    equal = objects([np.array([1, 2, 3]), np.array([1, 2])])
    flat = np.concatenate(list(equal))
    answers = objects([said(1, 0, 3), said(1, 1)])
    assert metric.value(equal, answers, Guess((0.0, 1.0), kind="tokens")) == pytest.approx(reference.accuracy_score(flat, [1, 0, 3, 1, 1]))


def test_errors_of_series_as_scikit_learn_has_them():
    truth, answers = series(np.random.default_rng(0))
    t, a = np.concatenate(list(truth)), np.concatenate(list(answers))
    guess = Guess.learn_series(truth, "series", True)
    assert guess.answer == pytest.approx(tuple(t.mean(axis=0)))
    s = score(find_metric(None, "series"), truth, answers, guess)
    assert s.metrics["mae"] == pytest.approx(reference.mean_absolute_error(t, a)) and s.metrics["r2"] == pytest.approx(reference.r2_score(t, a))
    assert s.metrics["rmse"] == pytest.approx(math.sqrt(reference.mean_squared_error(t, a)))
    assert s.quality == pytest.approx(1 - s.metrics["mae"] / s.metrics["mae_guess"]) and s.metrics["mae_low"] < s.metrics["mae"] < s.metrics["mae_high"]
    # Where one of the two has no step, the mean stands in for it.
    one = score(find_metric("mae", "series"), objects([np.array([[10.0], [20.0]])]), objects([np.array([[10.0]])]), Guess((15.0,), kind="series"))
    assert one.metrics["mae"] == pytest.approx(2.5)


MAKE = {"masks": masks, "tokens": tokens, "series": series}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("metric", [m for m in REGISTRY if m.compute is None], ids=lambda m: f"{m.kind}.{m.name}")
def test_what_holds_whatever_the_answers_are(metric, seed):
    """Perfect answers have quality 1, the order of examples plays no part, quality is in [0, 1] and in its interval, and the guess is no better than told."""
    rng = np.random.default_rng(seed)
    truth, answers = MAKE[metric.kind](rng)
    guess = Guess.learn_masks(truth, 4) if metric.kind == "masks" else Guess.learn_series(truth, metric.kind, bool(seed % 2))
    perfect = truth if metric.kind != "tokens" else objects(np.column_stack([t, np.ones(len(t))]) for t in truth)
    assert quality(metric, truth, perfect, guess) == pytest.approx(1) and score(metric, truth, perfect, guess).interval == pytest.approx((1, 1))
    s = score(metric, truth, answers, guess)
    assert 0 <= s.interval[0] <= s.quality <= s.interval[1] <= 1 and s.quality == pytest.approx(quality(metric, truth, answers, guess))
    assert metric.low <= s.metrics[metric.name] <= metric.high
    order = rng.permutation(len(truth))
    assert score(metric, truth[order], answers[order], guess).quality == pytest.approx(s.quality)
    of_guess = score(metric, truth, guess.beside(truth), guess)
    assert of_guess.quality == pytest.approx(of_guess.metrics["guess"], abs=1e-12)
    # Mending one answer never makes it worse, but for overlap, where a class may vanish.
    better = answers.copy()
    better[0] = perfect[0]
    if metric.name != "iou":
        assert quality(metric, truth, better, guess) >= s.quality - 1e-12


def test_no_answer_is_no_quality():
    truth, answers = series(np.random.default_rng(0))
    answers[3] = np.full_like(answers[3], np.nan)
    assert math.isnan(score(find_metric(None, "series"), truth, answers, Guess((0.0, 0.0), kind="series")).quality)
    assert math.isnan(score(find_metric(None, "series"), truth[:0], answers[:0], Guess((0.0, 0.0), kind="series")).quality)


@pytest.mark.parametrize("name,kind,says", [
    ("iou", "classes", "The metric iou is for masks, but classes are predicted here; there are accuracy"),
    ("accuracy", "tokens", "The metric accuracy is for classes, but series of labels are predicted here; there is token_accuracy."),
    ("mae", "masks", "The metric mae is for numbers and series of numbers, but masks are predicted here; there is iou."),
    ("overlap", "series", "There is no metric overlap; for series of numbers there are mae, rmse, r2.")])
def test_the_metric_must_fit(name, kind, says):
    with pytest.raises(Fault) as fault:
        find_metric(name, kind)
    assert fault.value.message.startswith(says)
