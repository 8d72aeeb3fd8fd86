"""Preparation: the one path from examples to what families see, the same for training and answering.

`Preparation.learn` looks at training rows only and its state is JSON, kept in the model's spec.
A `Batch` offers views that are computed when a family asks for them.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import numpy as np

from . import normalization as norm
from .drift import summarize
from .examples import Examples
from .outputs import RAGGED, aligned, objects, truth_of
from .program import Field, Program, Target

MOST_LEVELS = 50
"""A category's most frequent levels get a column each; the others share one."""

TEXT_COLUMNS = 256
"""A text's words are hashed into so many columns."""

MOST_STEPS = 512
"""The most steps that series are brought to, where all must have the same length."""

MOST_TOKENS = 2000
"""Labels of a series' steps that are told apart, the most frequent ones; the others count as never seen."""


def field_kind(f: Field) -> str:
    """``category``, ``number`` (rank ≤ 1), ``picture`` (rank ≥ 2), ``series`` or ``tree``: how a field is prepared."""
    if f.ragged:
        return "series" if len(f.pointers) == 1 else "tree"
    if f.is_class:
        return "category"
    return "picture" if f.rank >= 2 else "number"


def _learn_numbers(f: Field, values: np.ndarray, normalization) -> dict:
    values = values.astype(np.float64, copy=False)
    state: dict = {"kind": "number", "range": _range(values)}
    if normalization is not None and f.size >= 8:
        state["normalization"] = {"name": normalization, **norm.learn(values)}
        values = norm.apply(normalization, values, state["normalization"])
    missing = np.isnan(values)
    empty = missing.all(axis=0) if len(values) else np.ones(f.size, bool)
    median = np.zeros(f.size)
    if not empty.all():
        median[~empty] = np.nanmedian(values[:, ~empty], axis=0)
    filled = np.where(missing, median, values)
    std = filled.std(axis=0) if len(filled) else np.ones(f.size)
    mean = filled.mean(axis=0) if len(filled) else np.zeros(f.size)
    state |= {"median": median.tolist(), "mean": mean.tolist(),
              "std": np.where(std > 1e-12 * np.maximum(1.0, np.abs(mean)), std, 1.0).tolist(),
              "missing": np.flatnonzero(missing.any(axis=0) & ~empty).tolist()}
    return state


def _learn_picture(values: np.ndarray, normalization) -> dict:
    state: dict = {"kind": "picture", "range": _range(values)}
    if normalization is not None:
        state["normalization"] = {"name": normalization, **norm.learn(values)}
        values = norm.apply(normalization, values, state["normalization"])
    # One scale for the whole picture: a corner that is almost always dark must not be blown up.
    state |= {"lo": float(values.min()), "hi": float(values.max()),
              "mean": float(values.mean(dtype=np.float64)), "std": float(values.std(dtype=np.float64)) or 1.0}
    return state


def looks_like_text(f: Field, values: np.ndarray) -> bool:
    """Whether a category's values are text that people wrote: three words and more, and hardly one like another."""
    some = [v for v in values[:2000] if v is not None]
    return not f.classes and len(some) >= 5 and len(set(some)) > 0.5 * len(some) and sum(len(v.split()) for v in some) >= 3 * len(some)


def _hashed(values: np.ndarray) -> np.ndarray:
    """Texts as counts of their words, hashed (Weinberger et al. 2009), square roots, of length 1: [n, TEXT_COLUMNS]."""
    import re
    import zlib
    out = np.zeros((len(values), TEXT_COLUMNS))
    for i, v in enumerate(values):
        for word in re.findall(r"\w+", (v or "").lower()):
            out[i, zlib.crc32(word.encode()) % TEXT_COLUMNS] += 1
    out = np.sqrt(out)
    return out / np.maximum(1e-12, np.linalg.norm(out, axis=1, keepdims=True))


def _learn_category(f: Field, values: np.ndarray) -> dict:
    if looks_like_text(f, values):
        return {"kind": "text"}
    levels: list[str] = list(f.classes or ())
    counts: dict[str, int] = {}
    for v in values:
        if v is not None:
            counts[v] = counts.get(v, 0) + 1
    seen = sorted((v for v in counts if v not in levels), key=lambda v: (-counts[v], v))
    levels += sorted(seen[:max(0, MOST_LEVELS - len(levels))])
    return {"kind": "category", "levels": levels, "missing": any(v is None for v in values)}


def _learn_tokens(f: Field, values: np.ndarray) -> dict:
    """The labels of a series' steps, the most frequent first; the usual and the largest count of steps."""
    counts = Counter(t for v in values for t in v if t is not None)
    levels = sorted(counts, key=lambda t: (-counts[t], t))[:MOST_TOKENS]
    lengths = [len(v) for v in values] or [1]
    return {"kind": "series", "levels": levels, "length": int(min(MOST_STEPS, max(4, np.median(lengths)))), "longest": int(max(lengths))}


def _learn_nodes(f: Field, values: np.ndarray) -> dict:
    """Range, mean and deviation of each of a node's numbers; the usual and the largest count of nodes."""
    whole = np.concatenate([v[:, f.width - f.size:] for v in values]) if len(values) else np.zeros((0, f.size))
    seen = np.isfinite(whole)
    count = np.maximum(1, seen.sum(axis=0))
    mean = np.where(seen, whole, 0).sum(axis=0) / count
    std = np.sqrt(np.where(seen, (whole - mean) ** 2, 0).sum(axis=0) / count)
    lengths = [len(v) for v in values] or [1]
    return {"kind": field_kind(f), "range": _range(whole), "mean": mean.tolist(), "std": np.where(std > 1e-12 * np.maximum(1, np.abs(mean)), std, 1.0).tolist(),
            "length": int(min(MOST_STEPS, max(4, np.median(lengths)))), "longest": int(max(lengths))}


def _range(values: np.ndarray) -> list[float]:
    finite = values[np.isfinite(values)]
    return [float(finite.min()), float(finite.max())] if finite.size else [0.0, 0.0]


class Preparation:
    """What was learned about the inputs (and the scale of number targets) from training rows.

    ``state`` is plain JSON. Number targets are standardized for families and brought back after.
    """

    def __init__(self, program: Program, target: Target, state: dict):
        self.program, self.target, self.state = program, target, state

    @classmethod
    def learn(cls, program: Program, target: Target, train: Examples, normalization=None) -> "Preparation":
        """Learn medians, scales, ranges and levels from `train`."""
        fields = {}
        for f in program.inputs:
            values, kind = train.columns[f.name], field_kind(f)
            if kind == "category":
                fields[f.name] = _learn_category(f, values)
            elif kind in ("series", "tree"):
                fields[f.name] = (_learn_tokens if f.is_class else _learn_nodes)(f, values)
            elif kind == "number":
                fields[f.name] = _learn_numbers(f, values, normalization)
            else:
                fields[f.name] = _learn_picture(values, normalization)
        state: dict = {"fields": fields, "drift": summarize(program.inputs, train)}
        if target.kind in RAGGED:
            y = truth_of(program, target, train)
            lengths = [len(v) for v in y]
            state["target"] = {"aligned": aligned(program, train), "length": max(1, round(float(np.median(lengths)))), "longest": max(lengths)}
            if target.kind == "series":
                state["target"] |= _scale_of(np.concatenate(list(y)))
        elif not target.is_classes:
            state["target"] = _scale_of(_plain_targets(program, target, train))
        return cls(program, target, state)

    def batch(self, examples: Examples, *, with_target: bool) -> "Batch":
        """Examples as families see them; with `with_target` also ``y``."""
        y = None
        if with_target:
            if self.target.kind in ("classes", "tokens"):
                y = truth_of(self.program, self.target, examples)
            elif self.target.kind == "series":
                y = objects((v - self._mean) / self._deviation for v in truth_of(self.program, self.target, examples))
            else:
                y = (_plain_targets(self.program, self.target, examples) - self._mean) / self._deviation
        return Batch(self, examples, y)

    @property
    def _mean(self) -> np.ndarray:
        return np.asarray(self.state["target"]["mean"])

    @property
    def _deviation(self) -> np.ndarray:
        return np.asarray(self.state["target"]["std"])

    def answers(self, predicted: np.ndarray) -> np.ndarray:
        """Predictions on the target's own scale, as `outputs` has them: probabilities cleaned up, numbers brought back."""
        kind = self.target.kind
        if kind == "tokens":
            return objects(np.column_stack([p.argmax(axis=1), p.max(axis=1)]).astype(np.float64) for p in predicted)
        if kind == "series":
            return objects(np.asarray(p, dtype=np.float64) * self._deviation + self._mean for p in predicted)
        predicted = np.asarray(predicted, dtype=np.float64)
        if kind == "classes":
            return predicted
        if predicted.ndim == 1:
            predicted = predicted[:, None]
        predicted = predicted * self._deviation + self._mean
        if kind == "masks":
            planes = predicted.reshape(len(predicted), self.target.size, self.target.planes)
            return (planes[..., 0] > 0.5 if self.target.planes == 1 else planes.argmax(axis=2)).astype(np.int16)
        return predicted


def _scale_of(y: np.ndarray) -> dict:
    std = y.std(axis=0)
    return {"mean": y.mean(axis=0).tolist(), "std": np.where(std > 0, std, 1.0).tolist()}


def _plain_targets(program: Program, target: Target, examples: Examples) -> np.ndarray:
    """What families learn where they answer numbers [n, d]: the outputs side by side; of a mask whether a pixel bears a class, `Target.planes`
    numbers for each pixel."""
    y = truth_of(program, target, examples)
    if target.kind != "masks":
        return y
    classes = np.array([1]) if target.planes == 1 else np.arange(target.planes)
    return (y[..., None] == classes).reshape(len(y), -1).astype(np.float32)


class Batch:
    """Rows as families see them. All views have ``n`` rows, in the same order.

    ``y``: ints in 0..k−1 for classes; floats [n, d] of mean 0 and deviation 1 (on the training
    rows) for numbers, and for masks, which families learn as numbers; for series an array of either for each row;
    None where there is nothing to learn from.
    ``classes``: k, the number of labels, 0 for numbers. ``outputs``: d, or k.
    """

    def __init__(self, preparation: Preparation, examples: Examples, y: np.ndarray | None):
        self._preparation, self._examples = preparation, examples
        self.y = y
        self.n = len(examples)
        target = preparation.target
        self.classes = len(target.labels) if target.kind in ("classes", "tokens") else 0
        self.outputs = self.classes or target.size * (target.planes if target.kind == "masks" else 1)

    def rows(self, which: np.ndarray) -> "Batch":
        """Some of the rows, by position."""
        return Batch(self._preparation, self._examples.take(which), None if self.y is None else self.y[which])

    def _values(self, f: Field) -> np.ndarray:
        """A tensor field's values [n, size], normalized."""
        values = self._examples.columns[f.name]
        known = self._preparation.state["fields"][f.name].get("normalization")
        if known:
            values = norm.apply(known["name"], values, known)
        return values

    @cached_property
    def matrix(self) -> np.ndarray:
        """Floats [n, p] for methods that measure distances: everything filled in and scaled.

        Numbers are standardized, with one more column for each that was missing in training;
        pictures share one scale; categories have a column for each level, one for missing.
        """
        blocks = []
        for f in self._preparation.program.inputs:
            state = self._preparation.state["fields"][f.name]
            if state["kind"] == "series":
                blocks.append(self.resampled.reshape(self.n, -1))
                continue
            if state["kind"] == "text":
                blocks.append(_hashed(self._examples.columns[f.name]))
                continue
            if state["kind"] == "category":
                codes = self._codes(f)
                width = len(state["levels"]) + 1
                block = np.zeros((self.n, width))
                hit = codes < width
                block[np.flatnonzero(hit), codes[hit]] = 1.0
                blocks.append(block if state["missing"] else block[:, :-1])
                continue
            values = self._values(f).astype(np.float64, copy=False)
            if state["kind"] == "picture":
                blocks.append((values - state["mean"]) / state["std"])
                continue
            missing = np.isnan(values)
            blocks.append((np.where(missing, state["median"], values) - state["mean"]) / state["std"])
            if state["missing"]:
                blocks.append(missing[:, state["missing"]].astype(np.float64))
        return np.ascontiguousarray(blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1))

    @cached_property
    def series(self) -> list[np.ndarray]:
        """The series, each [steps, dimensions]: gaps filled along the line between their ends, each number standardized;
        of labels a 1 for the step's own, of the `MOST_LEVELS` most frequent, or for the others."""
        f = self._nodes("series")
        if f.is_class:
            return [np.eye(self.dimensions)[np.minimum(codes, self.dimensions - 1)] for codes in self.tokens]
        state = self._preparation.state["fields"][f.name]
        mean, std = np.asarray(state["mean"]), np.asarray(state["std"])
        return [(_filled(v, mean) - mean) / std for v in self._examples.columns[f.name]]

    @cached_property
    def resampled(self) -> np.ndarray:
        """The series [n, dimensions, steps], all brought to the training rows' usual length along straight lines."""
        f = self._nodes("series")
        steps = self._preparation.state["fields"][f.name]["length"]
        at = np.linspace(0.0, 1.0, steps)
        out = np.empty((self.n, self.dimensions, steps))
        for i, v in enumerate(self.series):
            own = np.linspace(0.0, 1.0, len(v)) if len(v) > 1 else np.zeros(1)
            for k in range(self.dimensions):
                out[i, k] = v[:, k] if len(v) == steps else np.interp(at, own, v[:, k])
        return out

    @property
    def dimensions(self) -> int:
        """Numbers that a step of `series` has."""
        f = self._nodes("series")
        return min(len(self._preparation.state["fields"][f.name]["levels"]), MOST_LEVELS) + 1 if f.is_class else f.size

    @cached_property
    def tokens(self) -> list[np.ndarray] | None:
        """The labels of the series' steps as ints: `levels` of them, then one for what is missing, one for what was never seen; None where steps are numbers."""
        f = self._nodes("series")
        if not f.is_class:
            return None
        places: dict = {t: i for i, t in enumerate(self.levels)} | {None: len(self.levels)}
        return [np.array([places.get(t, len(places)) for t in v], dtype=np.int64) for v in self._examples.columns[f.name]]

    @property
    def texts(self) -> list[np.ndarray]:
        """The labels of the series' steps as they were fed, None where one is missing."""
        return list(self._examples.columns[self._nodes("series").name])

    @property
    def levels(self) -> list[str]:
        """The labels that a step of the input may bear, the most frequent first."""
        return self._preparation.state["fields"][self._nodes("series").name]["levels"]

    @property
    def lengths(self) -> np.ndarray:
        """Steps of each series."""
        return np.array([len(v) for v in self._examples.columns[self._nodes("series").name]], dtype=np.int64)

    @property
    def answer(self) -> dict:
        """Of series as output: ``aligned`` (each is as long as its input), the usual ``length``, the ``longest``, on the training rows."""
        return self._preparation.state["target"]

    @cached_property
    def trees(self) -> list[np.ndarray]:
        """The trees, each [nodes, 2 + size] from the root down: place of the parent (−1 for the root), which pointer leads
        to the node, and its numbers, standardized, a missing one 0."""
        f = self._nodes("tree")
        state = self._preparation.state["fields"][f.name]
        mean, std = np.asarray(state["mean"]), np.asarray(state["std"])
        return [np.concatenate([v[:, :2], np.nan_to_num((v[:, 2:] - mean) / std, nan=0.0)], axis=1) for v in self._examples.columns[f.name]]

    @property
    def output_shape(self) -> tuple[int, int, int] | None:
        """Height, width, channels of the picture that is the output, of a mask its planes; None where it is none."""
        shape, target = self._preparation.program.outputs[0].shape or (), self._preparation.target
        if len(shape) not in (2, 3):
            return None
        return (*shape[:2], target.planes) if target.kind == "masks" else (*shape, 1)[:3]

    @property
    def scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation of each number of the target: ``y · deviation + mean`` is in its own unit."""
        known = self._preparation.state["target"]
        return np.asarray(known["mean"]), np.asarray(known["std"])

    @property
    def pointers(self) -> int:
        """How many pointers a node of the trees has."""
        return len(self._nodes("tree").pointers)

    def _nodes(self, kind: str) -> Field:
        """The first field that holds series, or trees."""
        for f in self._preparation.program.inputs:
            if field_kind(f) == kind:
                return f
        raise ValueError(f"there are no {kind} among the inputs")

    def _codes(self, f: Field) -> np.ndarray:
        """A category's levels as ints: their place, then missing, then never seen."""
        levels = self._preparation.state["fields"][f.name]["levels"]
        places = {v: i for i, v in enumerate(levels)}
        missing, unseen = len(levels), len(levels) + 1
        return np.array([missing if v is None else places.get(v, unseen) for v in self._examples.columns[f.name]], dtype=np.int64)

    @cached_property
    def table(self) -> np.ndarray:
        """Floats [n, q] for trees that split on raw values: missing numbers stay NaN, categories are codes."""
        blocks = []
        for f in self._preparation.program.inputs:
            if self._preparation.state["fields"][f.name]["kind"] == "text":
                blocks.append(_hashed(self._examples.columns[f.name]))
            elif f.is_class:
                blocks.append(self._codes(f)[:, None].astype(np.float64))
            else:
                blocks.append(self._values(f).astype(np.float64, copy=False))
        return np.ascontiguousarray(np.concatenate(blocks, axis=1))

    @cached_property
    def category_columns(self) -> list[int]:
        """The columns of `table` that hold categories' codes."""
        at, out = 0, []
        for f in self._preparation.program.inputs:
            text = self._preparation.state["fields"][f.name]["kind"] == "text"
            if f.is_class and not text:
                out.append(at)
            at += TEXT_COLUMNS if text else f.size
        return out

    @property
    def picture_shape(self) -> tuple[int, int, int] | None:
        """Height, width, channels of the first picture among the inputs; None without one."""
        for f in self._preparation.program.inputs:
            if field_kind(f) == "picture" and len(f.shape) in (2, 3):
                return (*f.shape, 1)[:3] if len(f.shape) == 2 else tuple(f.shape)
        return None

    @cached_property
    def pictures(self) -> np.ndarray:
        """The first picture field, float32 [n, height, width, channels], scaled so that training spans [0, 1]."""
        for f in self._preparation.program.inputs:
            if field_kind(f) == "picture" and len(f.shape) in (2, 3):
                state = self._preparation.state["fields"][f.name]
                width = (state["hi"] - state["lo"]) or 1.0
                values = (self._values(f).astype(np.float32, copy=False) - np.float32(state["lo"])) / np.float32(width)
                return np.ascontiguousarray(values.reshape(self.n, *self.picture_shape))
        raise ValueError("there is no picture among the inputs")


def _filled(steps: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Steps [m, size] without gaps: along the line between what stands around them, `mean` where nothing does."""
    missing = np.isnan(steps)
    if not missing.any():
        return steps
    out = steps.copy()
    for k in range(steps.shape[1]):
        gone = missing[:, k]
        if gone.all():
            out[:, k] = mean[k]
        elif gone.any():
            out[gone, k] = np.interp(np.flatnonzero(gone), np.flatnonzero(~gone), steps[~gone, k])
    return out
