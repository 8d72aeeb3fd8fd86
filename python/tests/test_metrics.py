"""Metrics against scikit-learn and by hand; quality's mapping; intervals; what NaN does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn import metrics as reference

from easeml.trainer.fault import Fault
from easeml.trainer.metrics import METRICS, Guess, find_metric, quality_of, score, wilson

RNG = np.random.default_rng(0)


def _classes(n: int, k: int):
    truth = RNG.integers(0, k, n)
    predicted = RNG.random((n, k)).round(2) + 0.01 + 0.6 * np.eye(k)[truth]  # rounded: with ties
    return truth, predicted / predicted.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("k", [2, 4])
def test_classes_as_scikit_learn_has_them(k):
    truth, p = _classes(300, k)
    chosen = p.argmax(axis=1)
    hot = np.eye(k)[truth]
    pick = slice(1, 2) if k == 2 else slice(None)
    expected = {
        "accuracy": reference.accuracy_score(truth, chosen),
        "balanced_accuracy": reference.balanced_accuracy_score(truth, chosen),
        "f1": reference.f1_score(truth, chosen, average="binary" if k == 2 else "macro"),
        "log_loss": reference.log_loss(truth, p),
        "average_precision": reference.average_precision_score(hot[:, pick], p[:, pick], average="macro"),
        "roc_auc": reference.roc_auc_score(hot[:, pick], p[:, pick], average="macro"),
    }
    for name, value in expected.items():
        assert METRICS[name].compute(truth, p, 1) == pytest.approx(value), name


def test_numbers_as_scikit_learn_has_them():
    truth = RNG.normal(size=(100, 2))
    p = truth + RNG.normal(size=(100, 2)) * 0.3
    assert METRICS["r2"].compute(truth, p, 0) == pytest.approx(reference.r2_score(truth, p))
    assert METRICS["mae"].compute(truth, p, 0) == pytest.approx(reference.mean_absolute_error(truth, p))
    assert METRICS["rmse"].compute(truth, p, 0) == pytest.approx(math.sqrt(reference.mean_squared_error(truth, p)))


@pytest.mark.parametrize("name,value,guess,quality", [
    ("accuracy", 0.4, 0, 0.4), ("r2", -3, 0, 0), ("r2", 0.3, 0, 0.3), ("mae", 10, 40, 0.75), ("mae", 50, 40, 0),
    ("log_loss", math.inf, 1, math.nan), ("r2", math.nan, 0, math.nan), ("rmse", 0, 0, 1), ("rmse", 1, 0, 0)])
def test_quality(name, value, guess, quality):
    assert quality_of(METRICS[name], value, guess) == pytest.approx(quality, nan_ok=True)


def test_wilson_by_the_book():
    low, high = wilson(212, 216)
    assert (round(low, 3), round(high, 3)) == (0.953, 0.993)
    assert wilson(0, 10)[0] == 0 and wilson(10, 10)[1] == 1 and wilson(0, 0) == (0, 1)


def test_score_tells_figures_in_their_own_unit():
    truth = RNG.normal(150, 70, size=(90, 1))
    s = score(METRICS["r2"], truth, truth + RNG.normal(0, 40, size=(90, 1)), Guess((150.0,)))
    assert s.metrics["mae_low"] < s.metrics["mae"] < s.metrics["mae_high"] < s.metrics["mae_guess"]
    assert s.interval[0] < s.quality < s.interval[1]
    assert score(METRICS["r2"], truth, np.full((90, 1), np.nan), Guess((0.0,))).quality != s.quality


def test_a_label_that_the_model_does_not_know_is_never_right():
    s = score(METRICS["accuracy"], np.array([0, -1, 1]), np.eye(3)[[0, 1, 1]], Guess((0.5, 0.5, 0)))
    assert s.metrics["right"] == 2


def test_one_class_leaves_the_metric_undefined_not_the_program():
    truth, p = np.zeros(20, dtype=int), np.tile([0.7, 0.3], (20, 1))
    assert math.isnan(score(METRICS["roc_auc"], truth, p, Guess((1, 0))).quality)
    assert score(METRICS["accuracy"], truth, p, Guess((1, 0))).quality == 1


@pytest.mark.parametrize("positive", [0, 1])
def test_f1_of_two_classes_is_the_rarer_ones(positive):
    truth = np.where(RNG.random(200) < 0.1, positive, 1 - positive)
    p = np.eye(2)[np.where(RNG.random(200) < 0.8, truth, 1 - truth)]
    guess = Guess.learn_classes(truth, 2)
    assert guess.positive == positive
    assert score(METRICS["f1"], truth, p, guess).quality == pytest.approx(reference.f1_score(truth, p.argmax(axis=1), pos_label=positive))
    # Never found, it is worth nothing; where it neither occurs nor is answered there is no F1.
    never = np.eye(2)[np.full(200, 1 - positive)]
    assert score(METRICS["f1"], truth, never, guess).quality == 0
    assert math.isnan(score(METRICS["f1"], np.full(200, 1 - positive), never, guess).quality)


def test_an_unknown_metric_names_those_there_are():
    with pytest.raises(Fault, match="There is no metric val_f1; for classes there are accuracy"):
        find_metric("val_f1", "classes")
    with pytest.raises(Fault, match="is for numbers"):
        find_metric("mae", "classes")
    assert find_metric(None, "numbers").name == "r2"
