"""Metrics: name, direction, range, how a value becomes a quality in [0, 1], and the interval.

Shares (accuracy) get the Wilson 95 % interval (Wilson 1927, J. Am. Stat. Assoc. 22); the rest a
percentile bootstrap over rows, drawn from a fixed seed. R² becomes clip(R², 0, 1); errors become
clip(1 − x / x_guess, 0, 1), x_guess being what guessing from the training rows costs. What is answered in many
places at once (masks, series) is counted by `tallies`; the bootstrap draws whole examples there too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable

import numpy as np

from .fault import Fault
from .tallies import TALLIES


@dataclass(frozen=True)
class Metric:
    """One metric of one kind of target; ``higher`` tells the direction.

    ``compute(truth, predicted, positive)``: for classes truth is [n] ints (−1: a label the model
    doesn't know, never right) and predicted [n, k] probabilities; for numbers both are [n, d]. None for the kinds that
    `tallies` counts; their truths and answers are those of `outputs`.
    NaN where the metric is undefined on such rows. ``relative``: mapped against guessing.
    """

    name: str
    kind: str
    higher: bool
    low: float
    high: float
    compute: Callable[[np.ndarray, np.ndarray, int], float] | None = None
    relative: bool = False
    says: str = ""

    def value(self, truth: np.ndarray, predicted: np.ndarray, guess: "Guess") -> float:
        """The metric in its own unit."""
        if self.compute is not None:
            return self.compute(truth, predicted, guess.positive)
        tally = TALLIES[self.kind]
        return tally.figures[self.name](tally.count(truth, predicted, guess).sum(axis=0)) if len(truth) else math.nan


@dataclass(frozen=True)
class Guess:
    """What guessing from the training rows answers: class shares [k], or means [d]; of a mask each pixel's most frequent
    class; of a series the most frequent label, or the means [d], at every step. ``positive``: the rarer class.
    ``length``: steps of a series, 0 where each is as long as its input.
    """

    answer: tuple[float, ...]
    positive: int = 1
    kind: str = "classes"
    length: int = 0

    def beside(self, truth: np.ndarray) -> np.ndarray:
        """The guess for rows of which this is the truth, in the form of a model's answers.

        Of the truth only the length of series counts, and that only where it is the input's.
        """
        answer = np.asarray(self.answer, dtype=np.float64)
        if self.kind not in ("tokens", "series"):
            return np.tile(answer, (len(truth), 1))
        out = np.empty(len(truth), dtype=object)
        for i, t in enumerate(truth):
            out[i] = np.tile(answer, (self.length or len(t), 1))
        return out

    @classmethod
    def learn_classes(cls, y: np.ndarray, k: int) -> "Guess":
        """From label codes; the positive class is the rarest one that occurs, ties to the later."""
        counts = np.bincount(y[y >= 0], minlength=k).astype(np.float64)
        present = np.flatnonzero(counts)
        positive = int(present[::-1][np.argmin(counts[present[::-1]])]) if present.size else max(0, k - 1)
        return cls(tuple(counts / max(1.0, counts.sum())), positive)

    @classmethod
    def learn_numbers(cls, y: np.ndarray) -> "Guess":
        """From numbers [n, d] in their own unit."""
        return cls(tuple(y.mean(axis=0)), kind="numbers")

    @classmethod
    def learn_masks(cls, y: np.ndarray, k: int) -> "Guess":
        """From the classes of pixels [n, p]; ties to the earlier class."""
        counts = np.stack([(y == c).sum(axis=0) for c in range(k)])
        return cls(tuple(float(c) for c in counts.argmax(axis=0)), kind="masks")

    @classmethod
    def learn_series(cls, y: np.ndarray, kind: str, aligned: bool) -> "Guess":
        """From series [n], each labels [m] or numbers [m, d]; `aligned`: each is as long as its input."""
        length = 0 if aligned else max(1, round(float(np.median([len(v) for v in y]))))
        whole = np.concatenate(list(y))
        if kind == "series":
            return cls(tuple(whole.mean(axis=0)), kind=kind, length=length)
        counts = np.bincount(whole[whole >= 0], minlength=1)
        return cls((float(counts.argmax()), float(counts.max() / max(1, counts.sum()))), kind=kind, length=length)


def _chosen(predicted: np.ndarray) -> np.ndarray:
    return predicted.argmax(axis=1)


def _accuracy(truth, predicted, positive):
    return float(np.mean(_chosen(predicted) == truth))


def _balanced_accuracy(truth, predicted, positive):
    chosen = _chosen(predicted)
    return float(np.mean([np.mean(chosen[truth == c] == c) for c in np.unique(truth)]))


def _f1(truth, predicted, positive):
    """With two classes the positive one's, as is usual; else the mean over the classes that occur or are answered."""
    chosen, scores = _chosen(predicted), []
    occur = np.unique(np.concatenate([truth, chosen]))
    if predicted.shape[1] == 2:
        occur = occur[occur == positive]
    for c in occur:
        both = np.sum((chosen == c) & (truth == c))
        total = np.sum(chosen == c) + np.sum(truth == c)
        scores.append(2.0 * both / total)
    return float(np.mean(scores)) if scores else math.nan


def _one_against_rest(truth, predicted, positive, score):
    """The positive class's score with two classes, else the mean over classes that occur and aren't all."""
    wanted = [positive] if predicted.shape[1] == 2 else range(predicted.shape[1])
    scores = [score(truth == c, predicted[:, c]) for c in wanted if 0 < np.sum(truth == c) < len(truth)]
    return float(np.mean(scores)) if scores else math.nan


def _average_precision(truth, predicted, positive):
    def score(hit, p):
        # Ties share one threshold, as in scikit-learn's average_precision_score.
        order = np.argsort(-p, kind="stable")
        hit, p = hit[order], p[order]
        last = np.flatnonzero(np.append(p[1:] != p[:-1], True))
        found = np.cumsum(hit)[last].astype(np.float64)
        precision = found / (last + 1)
        return float(np.sum(np.diff(np.append(0.0, found)) * precision) / found[-1])
    return _one_against_rest(truth, predicted, positive, score)


def _roc_auc(truth, predicted, positive):
    def score(hit, p):
        _, place, counts = np.unique(p, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[place]  # ties get their mean rank
        ones = hit.sum()
        return float((ranks[hit].sum() - ones * (ones + 1) / 2.0) / (ones * (len(hit) - ones)))
    return _one_against_rest(truth, predicted, positive, score)


def _log_loss(truth, predicted, positive):
    p = np.where(truth >= 0, predicted[np.arange(len(truth)), np.maximum(truth, 0)], 0.0)
    return float(np.mean(-np.log(np.clip(p, 1e-15, 1.0))))


def _r2(truth, predicted, positive):
    total = np.sum((truth - truth.mean(axis=0)) ** 2, axis=0)
    if np.all(total == 0):
        return math.nan
    rest = np.sum((truth - predicted) ** 2, axis=0)
    return float(np.mean(1.0 - rest[total > 0] / total[total > 0]))


def _mae(truth, predicted, positive):
    return float(np.mean(np.abs(truth - predicted)))


def _rmse(truth, predicted, positive):
    return float(np.sqrt(np.mean((truth - predicted) ** 2)))


REGISTRY: tuple[Metric, ...] = (
    Metric("accuracy", "classes", True, 0, 1, _accuracy, says="share of right answers"),
    Metric("balanced_accuracy", "classes", True, 0, 1, _balanced_accuracy, says="share of right answers, each class counting alike"),
    Metric("average_precision", "classes", True, 0, 1, _average_precision, says="average precision for the rarer class"),
    Metric("roc_auc", "classes", True, 0, 1, _roc_auc, says="area under the ROC curve"),
    Metric("f1", "classes", True, 0, 1, _f1, says="F1: of two classes the rarer one's, of more their mean"),
    Metric("log_loss", "classes", False, 0, math.inf, _log_loss, relative=True, says="log loss"),
    Metric("r2", "numbers", True, -math.inf, 1, _r2, says="share of the variation explained (R²)"),
    Metric("mae", "numbers", False, 0, math.inf, _mae, relative=True, says="how far off on average"),
    Metric("rmse", "numbers", False, 0, math.inf, _rmse, relative=True, says="root of the mean squared error"),
    Metric("iou", "masks", True, 0, 1, says="overlap: the mean over the classes of intersection over union"),
    Metric("token_accuracy", "tokens", True, 0, 1, says="share of right labels, what is missing or too much counting as wrong"),
    Metric("mae", "series", False, 0, math.inf, relative=True, says="how far off on average"),
    Metric("rmse", "series", False, 0, math.inf, relative=True, says="root of the mean squared error"),
    Metric("r2", "series", True, -math.inf, 1, says="share of the variation explained (R²)"),
)

METRICS: dict[str, Metric] = {m.name: m for m in reversed(REGISTRY)}
"""By name; of those that several kinds have, the first one's."""

DEFAULTS = {"classes": "accuracy", "numbers": "r2", "masks": "iou", "tokens": "token_accuracy", "series": "mae"}
KINDS = {"classes": "classes", "numbers": "numbers", "masks": "masks", "tokens": "series of labels", "series": "series of numbers"}
"""The kinds of targets, in words."""


def find_metric(name: str | None, kind: str) -> Metric:
    """The metric of that name, for targets of `kind`; the default of the kind for None.

    Raises `Fault` that lists the ones there are.
    """
    name = {"f1_macro": "f1", "auc": "roc_auc"}.get(name, name) or DEFAULTS[kind]
    fitting = [m for m in REGISTRY if m.kind == kind]
    for m in fitting:
        if m.name == name:
            return m
    there = ", ".join(m.name for m in fitting)
    if name not in METRICS:
        raise Fault(f"There is no metric {name}; for {KINDS[kind]} there are {there}.", kind="unsupported")
    of = " and ".join(KINDS[m.kind] for m in REGISTRY if m.name == name)
    raise Fault(f"The metric {name} is for {of}, but {KINDS[kind]} are predicted here; there {'is' if len(fitting) == 1 else 'are'} {there}.",
                kind="unsupported")


def quality_of(metric: Metric, value: float, guessed: float) -> float:
    """A metric's value as a quality in [0, 1]; NaN stays NaN. `guessed` is the guess's value on the same rows."""
    if not math.isfinite(value):
        return math.nan
    if metric.relative:
        if guessed <= 0:  # guessing is perfect already: only a perfect answer is as good
            return 1.0 if value <= 0 else 0.0
        value = 1.0 - value / guessed
    return float(min(1.0, max(0.0, value)))


def wilson(right: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """The Wilson 95 % interval for a share of `right` out of `n`."""
    if n == 0:
        return 0.0, 1.0
    p = right / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # The ends are exact by the formula; rounding must not leave 0.9999….
    return 0.0 if right == 0 else middle - half, 1.0 if right == n else middle + half


def _resamples(n: int) -> int:
    """How many bootstrap draws: fewer for many rows, where fewer do and more would cost seconds."""
    return int(min(500, max(60, 1_000_000 // max(1, n))))


@dataclass(frozen=True)
class Score:
    """A metric on some rows: quality, its 95 % interval, the number of rows, and figures in their own unit."""

    quality: float
    interval: tuple[float, float]
    n: int
    metrics: dict[str, float]

    def as_json(self) -> dict:
        """As result.json holds it under ``test``."""
        return {"quality": self.quality, "interval": list(self.interval), "n": self.n, "metrics": self.metrics}


def quality(metric: Metric, truth: np.ndarray, predicted: np.ndarray, guess: Guess) -> float:
    """Only the quality: what a progress report needs."""
    value = metric.value(truth, predicted, guess)
    guessed = metric.value(truth, guess.beside(truth), guess) if metric.relative else 0.0
    return quality_of(metric, value, guessed)


def score(metric: Metric, truth: np.ndarray, predicted: np.ndarray, guess: Guess) -> Score:
    """Everything about `predicted` on rows whose `truth` is known.

    ``metrics`` holds the metric itself, the kind's usual ones, ``guess`` (what guessing would have
    as quality on these rows) and, for numbers, ``mae_low``, ``mae_high``, ``mae_guess`` in the target's unit.
    """
    n = len(truth)
    if n == 0:
        return Score(math.nan, (math.nan, math.nan), 0, {})
    if not all(np.isfinite(p).all() for p in (predicted if predicted.dtype == object else (predicted,))):
        return Score(math.nan, (math.nan, math.nan), n, {metric.name: math.nan})
    if metric.compute is None:
        return _tallied(metric, truth, predicted, guess)
    guessed_rows = guess.beside(truth)

    def figure(m: Metric, rows=slice(None)) -> float:
        return m.compute(truth[rows], predicted[rows], guess.positive)

    def figure_of_guess(m: Metric, rows=slice(None)) -> float:
        return m.compute(truth[rows], guessed_rows[rows], guess.positive)

    value, guessed = figure(metric), figure_of_guess(metric)
    q = quality_of(metric, value, guessed)
    usual = ("accuracy", "balanced_accuracy", "log_loss") if metric.kind == "classes" else ("r2", "mae", "rmse")
    figures = {name: figure(METRICS[name]) for name in usual}
    figures[metric.name] = value
    figures["guess"] = quality_of(metric, guessed, guessed)
    if metric.kind == "classes":
        figures["right"] = int(np.sum(_chosen(predicted) == truth))
    else:
        figures["mae_guess"] = figure_of_guess(METRICS["mae"])

    if metric.name == "accuracy":
        interval = wilson(figures["right"], n)
    else:
        rng = np.random.default_rng(0)
        drawn, off = [], []
        for _ in range(_resamples(n)):
            rows = rng.integers(0, n, n)
            with np.errstate(all="ignore"):
                drawn.append(quality_of(metric, figure(metric, rows), figure_of_guess(metric, rows) if metric.relative else 0.0))
                if metric.kind == "numbers":
                    off.append(figure(METRICS["mae"], rows))
        drawn = [d for d in drawn if math.isfinite(d)]
        interval = tuple(float(x) for x in np.percentile(drawn, [2.5, 97.5])) if drawn and math.isfinite(q) else (math.nan, math.nan)
        if off:
            figures["mae_low"], figures["mae_high"] = (float(x) for x in np.percentile(off, [2.5, 97.5]))
    return Score(q, interval, n, figures)


def _tallied(metric: Metric, truth: np.ndarray, predicted: np.ndarray, guess: Guess) -> Score:
    """`score` for the kinds that are counted place by place; the bootstrap draws whole examples."""
    n, tally = len(truth), TALLIES[metric.kind]
    rows, rows_of_guess = tally.count(truth, predicted, guess), tally.count(truth, guess.beside(truth), guess)
    measure = tally.figures[metric.name]

    def measured(total: np.ndarray, total_of_guess: np.ndarray) -> float:
        return quality_of(metric, measure(total), measure(total_of_guess) if metric.relative else 0.0)

    total, total_of_guess = rows.sum(axis=0), rows_of_guess.sum(axis=0)
    q, guessed = measured(total, total_of_guess), measure(total_of_guess)
    figures = {name: f(total) for name, f in tally.figures.items()}
    figures["guess"] = quality_of(metric, guessed, guessed)
    times = np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), size=_resamples(n)).astype(np.float64)
    draws, draws_of_guess = times @ rows, times @ rows_of_guess
    with np.errstate(all="ignore"):
        drawn = [d for d in map(measured, draws, draws_of_guess) if math.isfinite(d)]
    interval = tuple(float(x) for x in np.percentile(drawn, [2.5, 97.5])) if drawn and math.isfinite(q) else (math.nan, math.nan)
    if "mae" in figures:
        off = tally.figures["mae"]
        figures["mae_guess"] = off(total_of_guess)
        figures["mae_low"], figures["mae_high"] = (float(x) for x in np.percentile([off(d) for d in draws], [2.5, 97.5]))
    return Score(q, interval, n, figures)
