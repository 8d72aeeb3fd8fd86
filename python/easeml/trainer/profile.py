"""profile.json: what an accepted feed looks like, the metric it suggests, and the guess to beat."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Iterable

import numpy as np

from .batch import MOST_LEVELS
from .checks import warnings
from .examples import PARTS
from .metrics import DEFAULTS, METRICS, Guess, find_metric, quality
from .outputs import RAGGED, pixel_codes
from .parts import Plan
from .program import Field, Target
from .stored import Stored

if TYPE_CHECKING:
    from .acceptance import Known
    from .ingest import Feed

RARE = 0.10
"""Of two classes, one below this share is rare."""

MOST_ANSWERS = 4_000_000
"""What guessing would have is reckoned with so many probabilities at most."""


def make_profile(feed: "Feed", target: Target | None, inputs: list[tuple[Field, np.ndarray]], outputs: list[tuple[Field, np.ndarray]],
                 known: "Known", parts: np.ndarray, split: Plan, known_count: int, n_read: int) -> dict:
    """The profile without its format number.

    ``classes``, ``parts``, ``rows`` and ``guess`` are over all examples that are on, earlier feeds'
    included; ``fields`` and ``dynamic_range`` describe this feed's new examples.
    """
    counts: Counter[str] = Counter()
    if target is not None and target.is_classes:
        counts.update({label: 0 for label in target.labels})
        counts.update(known.labels[known.on].counts())
        if outputs:
            counts.update(outputs[0][1].counts())
    of_parts = np.bincount(known.parts[known.on], minlength=len(PARTS)) + np.bincount(parts, minlength=len(PARTS))
    metric = _metric(target, counts)
    wanted = feed.spec.get("metric")
    if wanted:
        if target is not None or wanted not in METRICS:
            find_metric(wanted, target.kind if target else "classes")
        metric = {"name": wanted, "reason": "chosen in the schema"}
    guess = _guess(target, counts, metric["name"], inputs, outputs)
    about = {"aligned": bool((inputs[0][1].lengths() == outputs[0][1].lengths()).all())} if target is not None and target.kind in RAGGED and inputs and outputs else {}
    return {
        "target": target.as_json() if target else None,
        "examples": {"read": n_read, "accepted": len(parts), "known": known_count, "rejected": feed.rejected},
        "classes": dict(counts), "parts": dict(zip(PARTS, (int(c) for c in of_parts))),
        "protocol": {"kind": "folds", "k": split.folds} if split.folds else {"kind": "holdout"},
        "features": sum(_width(f, v) for f, v in inputs), "rows": int(of_parts.sum()), "read_as": feed.notes,
        "fields": [_describe(f, v, feed.columns_of.get(f.name) or []) for f, v in inputs + outputs],
        "dynamic_range": _dynamic_range(inputs), "metric": metric,
        "warnings": warnings(feed, target, inputs, outputs, counts), "guess": guess,
    } | about


def _width(f: Field, values: np.ndarray) -> int:
    """How many numbers a model sees of a field: a category has one for each level, a series those of its usual length."""
    if f.ragged:
        size = min(len(values.counts()), MOST_LEVELS) + 1 if f.is_class else f.size
        return size * int(np.median(values.lengths()) if len(values) else 1)
    if not f.is_class:
        return f.size
    return min(len(set(f.classes or ()) | set(values.counts())), MOST_LEVELS) + (1 if values.missing else 0)


def _describe(f: Field, values: np.ndarray, columns: list[str]) -> dict:
    about: dict = {"name": f.name, "column": columns[0] if columns else None, "columns": columns}
    if f.is_class and f.ragged:
        counts, lengths = values.counts(), values.lengths()
        return about | {"kind": "series", "missing": int(lengths.sum()) - sum(counts.values()), "min": None, "max": None,
                        "lengths": [int(lengths.min()), int(lengths.max())] if len(lengths) else [0, 0],
                        "levels": {k: c for k, c in sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:MOST_LEVELS]}}
    if f.is_class:
        return about | {"kind": "category", "missing": values.missing, "min": None, "max": None,
                        "levels": {k: c for k, c in sorted(values.counts().items(), key=lambda kv: (-kv[1], kv[0]))[:MOST_LEVELS]}}
    if f.ragged:
        lengths = values.lengths()
        about |= _ends(b for part in values.batches() for b in (v[:, f.width - f.size:] for v in part))
        return about | {"kind": "series" if len(f.pointers) == 1 else "tree", "shape": list(f.shape or ()), "levels": None,
                        "lengths": [int(lengths.min()), int(lengths.max())] if len(lengths) else [0, 0]}
    about |= _ends(values.batches() if isinstance(values, Stored) else [values])
    return about | {"kind": "number" if f.size == 1 else "tensor", "shape": list(f.shape or ()), "levels": None}


def _ends(batches: Iterable[np.ndarray]) -> dict:
    """How many numbers are missing, and between which values the others lie."""
    low, high, missing = math.inf, -math.inf, 0
    for b in batches:
        there = b[np.isfinite(b)] if b.dtype.kind == "f" else b
        missing += int(np.isnan(b).sum()) if b.dtype.kind == "f" else 0
        if there.size:
            low, high = min(low, float(there.min())), max(high, float(there.max()))
    return {"missing": missing, "min": low if low <= high else None, "max": high if low <= high else None}


def _dynamic_range(inputs: list[tuple[Field, np.ndarray]]) -> float:
    """The largest over the median non-zero magnitude, the most of all tensors with 8 numbers or more; else 1."""
    most = 1.0
    for f, v in inputs:
        if f.is_class or f.ragged or f.size < 8 or not len(v):
            continue
        v = v.sample()
        magnitudes = np.abs(v[np.isfinite(v) & (v != 0)])
        if magnitudes.size:
            most = max(most, float(magnitudes.max() / np.median(magnitudes)))
    return most


_REASONS = {
    "masks": "since each pixel is one of some classes",
    "tokens": "since a label is answered at each step",
    "series": "since numbers are answered at each step",
}


def _metric(target: Target | None, counts: Counter[str]) -> dict:
    """The default metric, with its reason."""
    if target is None or (target.is_classes and not sum(counts.values())):
        return {"name": "accuracy", "reason": "no example yet"}
    if target.kind != "classes" and target.kind in _REASONS:
        return {"name": DEFAULTS[target.kind], "reason": _REASONS[target.kind]}
    if not target.is_classes:
        return {"name": "r2", "reason": "numbers: the share of their variation that is explained; the error is told in their own unit"}
    name, reason = rarity(counts)
    return {"name": name, "reason": reason}


def rarity(counts: Counter[str]) -> tuple[str, str]:
    """The default metric of classes with such counts, and why: where one is rare, the share of right answers says little."""
    n, present = sum(counts.values()), sum(1 for c in counts.values() if c)
    rare = min((k for k in counts if counts[k]), key=lambda k: (counts[k], k))
    share = counts[rare] / n
    if present == 2 and share < RARE:
        return "average_precision", f"{rare} is rare ({100 * share:.1f} %), so the share of right answers would say little"
    if present > 2 and share < 0.25 / present:
        return "balanced_accuracy", f"{rare} is rare ({100 * share:.1f} %), so that a model can't do well by never saying it"
    return "accuracy", "no class is rare"


def _guess(target: Target | None, counts: Counter[str], name: str, inputs, outputs) -> dict:
    """What guessing would have as quality of a metric: the line to beat."""
    n = sum(counts.values())
    if target is None or (target.is_classes and not n):
        return {"text": "", "quality": 0.0}
    if target.kind == "masks":
        return {"text": "each pixel what it mostly is", "quality": _guessed_masks(target, outputs[0][1]) if outputs and name == "iou" else 0.0}
    if target.kind == "tokens":
        return _guessed_tokens(inputs[0][1], outputs[0][1]) if inputs and outputs and len(outputs[0][1]) else {"text": "", "quality": 0.0}
    if not target.is_classes:
        return {"text": "always the mean", "quality": 0.0}
    often, n = _fewer([counts[x] for x in target.labels])
    truth = np.repeat(np.arange(len(target.labels)), often)
    guess = Guess.learn_classes(truth, len(target.labels))
    value = quality(find_metric(name, "classes"), truth, guess.beside(truth), guess)
    common = target.labels[int(np.argmax(guess.answer))]
    return {"text": f'always "{common}"', "quality": round(value, 4) if math.isfinite(value) else 0.0}


def _fewer(counts: list[int]) -> tuple[list[int], int]:
    """Counts of the same shares for which n × k answers fit in memory, and their sum; those that do stay as they are."""
    n, most = sum(counts), max(1, MOST_ANSWERS // len(counts))
    if n > most:
        counts = [max(1, round(c * most / n)) if c else 0 for c in counts]
    return counts, sum(counts)


def _guessed_masks(target: Target, pixels) -> float:
    """The overlap that each pixel's most frequent class has with these very masks."""
    if not len(pixels):
        return 0.0
    counts = 0
    for b in pixels.batches() if isinstance(pixels, Stored) else [pixels]:
        codes = pixel_codes(target, b)
        counts = counts + np.stack([(codes == c).sum(axis=0) for c in range(len(target.labels))])
    chosen = counts.argmax(axis=0)
    both = np.bincount(chosen, weights=counts.max(axis=0), minlength=len(counts))
    either = counts.sum(axis=1) + np.bincount(chosen, minlength=len(counts)) * len(pixels) - both
    return round(float(np.mean(both[either > 0] / either[either > 0])), 4)


def _guessed_tokens(inputs, outputs) -> dict:
    """The share of places that the most frequent label is right in, at the usual length."""
    tokens, lengths = outputs.counts(), outputs.lengths()
    common = min(tokens, key=lambda t: (-tokens[t], t))
    fixed = 0 if (inputs.lengths() == lengths).all() else max(1, round(float(np.median(lengths))))
    right = sum(int(np.sum(v[:fixed or None] == common)) for some in outputs.batches() for v in some)
    return {"text": f'always "{common}"', "quality": round(right / int(np.maximum(lengths, fixed).sum()), 4)}
