"""The study ``explain``: what a model uses, and why it answers so for one example.

What it uses: permutation importance (Breiman 2001; Fisher, Rudin, Dominici 2019) on rows that it has not learned
from, with a noise band: how far the loss would move by the choice of these rows alone. One example: how its answer
moves when a part of it is replaced by what other examples have there, and the nearest examples it learned from.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .batch import field_kind
from .examples import PARTS, Examples
from .fault import Fault
from .metrics import find_metric
from .model import Model
from .outputs import losses, truth_of
from .program import Field
from .study import Study

MOST_ROWS = 2000
REPEATS = 5
FEWEST = 20
"""With fewer rows that the model hasn't learned from, the others are taken, and it is said."""

BLOCKS = 4
"""A picture is divided into so many regions a side."""

SINGLE = 40
"""A tensor of at most so many numbers is looked at number by number; of a longer one 16 stretches."""

OTHERS = 50
NEAREST = 5


@dataclass(frozen=True)
class Unit:
    """A part of an example that is shuffled at once: a field, or some of a tensor's numbers (None: all)."""

    name: str
    field: Field
    columns: np.ndarray | None

    def replace(self, examples: Examples, source: np.ndarray, others: Examples | None = None) -> Examples:
        """The examples with this part as it is in rows `source` of `others` (of themselves where None)."""
        columns = dict(examples.columns)
        mine, theirs = columns[self.field.name], (others or examples).columns[self.field.name]
        if self.columns is None:
            columns[self.field.name] = theirs[source]
        else:
            mine = mine.copy()
            mine[:, self.columns] = theirs[source][:, self.columns]
            columns[self.field.name] = mine
        return Examples(columns, examples.numbers)


def units(fields: tuple[Field, ...]) -> list[Unit]:
    """What is looked at one by one: fields, a short tensor's numbers, stretches of a long one, regions of a picture."""
    out = []
    for f in fields:
        kind = field_kind(f)
        if kind == "picture":
            height, width, channels = (*f.shape, 1)[:3]
            place = np.arange(f.size).reshape(height, width, channels)
            rows, columns = np.array_split(np.arange(height), min(BLOCKS, height)), np.array_split(np.arange(width), min(BLOCKS, width))
            for r in rows:
                for c in columns:
                    out.append(Unit(f"{f.name} rows {r[0] + 1}–{r[-1] + 1}, columns {c[0] + 1}–{c[-1] + 1}", f, place[r[0]:r[-1] + 1, c[0]:c[-1] + 1].reshape(-1)))
        elif kind == "number" and f.size > 1:
            for part in np.array_split(np.arange(f.size), f.size if f.size <= SINGLE else 16):
                name = f"{f.name}_{part[0]}" if len(part) == 1 else f"{f.name}_{part[0]}–{part[-1]}"
                out.append(Unit(name, f, part))
        else:
            out.append(Unit(f.name, f, None))
    return out


def _losses(model: Model, metric: str, truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """The loss of each row. Classes: wrong answers where the metric counts them, else the right class's missing probability."""
    if not model.target.is_classes or metric in ("accuracy", "balanced_accuracy", "f1"):
        return losses(model.target, truth, predicted, model.guess)
    return 1.0 - np.where(truth >= 0, predicted[np.arange(len(truth)), np.maximum(truth, 0)], 0.0)


def explain(study: Study) -> dict:
    """The findings for the model of ``study.spec["model"]``."""
    model = Model.load(Path(study.spec["model"]))
    examples = study.examples()
    if study.spec.get("example") or study.spec.get("sources"):
        return _one(study, model, examples)
    rows, part = _rows(study, examples)
    metric = find_metric(study.spec.get("metric"), model.target.kind).name
    truth = truth_of(model.program, model.target, rows)
    base = _losses(model, metric, truth, model.answer(rows))
    weights = np.full(len(rows), 1.0 / len(rows))
    if model.target.is_classes and metric != "accuracy":  # each class counts alike
        counts = np.bincount(truth[truth >= 0], minlength=len(model.target.labels))
        weights = np.where(truth >= 0, 1.0 / np.maximum(1, counts[np.maximum(truth, 0)]), 0.0)
        weights /= weights.sum()
    found, rng = [], np.random.default_rng(0)
    every = units(model.program.inputs)
    for i, u in enumerate(every):
        lost = np.zeros(len(rows))
        for _ in range(REPEATS):
            lost += _losses(model, metric, truth, model.answer(u.replace(rows, rng.permutation(len(rows))))) - base
        lost /= REPEATS
        drop = float(np.sum(weights * lost))
        noise = 2.0 * float(np.sqrt(np.sum(weights**2 * (lost - drop) ** 2)))
        found.append({"name": u.name, "lost": drop, "noise": noise, "beyond": bool(drop > noise and drop > 0)})
        study.progress(i + 1, len(every), "part")
    found.sort(key=lambda u: -u["lost"])
    measure = "off" if model.target.kind in ("numbers", "series") else "places" if not model.target.is_classes else "probability" if metric not in ("accuracy", "balanced_accuracy", "f1") else \
        "right" if metric == "accuracy" else "right_by_class"
    return {"of": len(rows), "part": part, "measure": measure, "uses": found}


def _rows(study: Study, examples: Examples) -> tuple[Examples, str]:
    """The rows to measure on: the test part, with the validation part where that is needed and wasn't learned from."""
    folds = (study.spec["data"].get("protocol") or {}).get("kind") == "folds"
    wanted, part = examples.parts == PARTS.index("test"), "test"
    if wanted.sum() < FEWEST and not folds:
        wanted, part = examples.parts != PARTS.index("train"), "held_out"
    if wanted.sum() < FEWEST:
        wanted, part = np.ones(len(examples), bool), "all"
    rows = np.flatnonzero(wanted)
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
    return examples.take(rows), part


def _one(study: Study, model: Model, examples: Examples) -> dict:
    if model.target.kind not in ("classes", "numbers"):
        raise Fault("Why it answers so is told where one label is answered, or numbers; here it is a whole " + ("picture." if model.target.kind == "masks" else "series."),
                    kind="unsupported", hint="explain without an example says what the model uses.")
    folds = (study.spec["data"].get("protocol") or {}).get("kind") == "folds"
    number = int(study.spec.get("example") or 0)
    label = None
    if number:
        at = np.flatnonzero(examples.numbers == number)
        if not len(at):
            raise Fault(f"Example {number} is off, so nothing is said about it.", hint="Switch it on first.")
        one = examples.take(at)
        truth = truth_of(model.program, model.target, one)
        label = (model.target.labels[truth[0]] if truth[0] >= 0 else None) if model.target.is_classes else f"{truth[0, 0]:.6g}"
    else:
        one = _asked(study, model)
    learned = examples.parts == PARTS.index("train") if not folds else examples.parts != PARTS.index("test")
    seen = bool(number and learned[at[0]])
    learned &= examples.numbers != number
    train = examples.take(np.flatnonzero(learned))
    predicted = model.answer(one)[0]
    background = train.take(np.sort(np.random.default_rng(0).choice(len(train), min(OTHERS, len(train)), replace=False)))
    moved, every = [], units(model.program.inputs)
    best = int(predicted.argmax()) if model.target.is_classes else 0
    many = Examples({k: np.repeat(v, len(background), axis=0) for k, v in one.columns.items() if any(f.name == k for f in model.program.inputs)},
                    np.zeros(len(background), dtype=np.int64))
    for i, u in enumerate(every):
        answers = model.answer(u.replace(many, np.arange(len(background)), background))
        change = predicted[best] - answers[:, best] if model.target.is_classes else np.abs(answers - predicted).mean(axis=1)
        moved.append({"name": u.name, "lost": float(change.mean()), "noise": 0.0, "beyond": bool(change.mean() > 0.01 * (1 if model.target.is_classes else abs(predicted[0])))})
        study.progress(i + 1, len(every), "part")
    moved.sort(key=lambda u: -u["lost"])
    out = {"of": len(background), "part": "train", "measure": "probability" if model.target.is_classes else "off", "uses": moved,
           "example": number, "truth": label, "seen": seen, "nearest": _nearest(model, one, train)}
    if model.target.is_classes:
        return out | {"answer": model.target.labels[best], "sure": round(float(predicted[best]), 4)}
    return out | {"answer": f"{predicted[0]:.6g}", "sure": None}


def _asked(study: Study, model: Model) -> Examples:
    """The one example of the sources. Raises `Fault` where there are none or several, or it can't be taken."""
    from .predict import Predictor, _floats
    from .readers import Options
    predictor = Predictor.of(model)
    options = Options.of(study.spec.get("options"), model.program)
    blocks = [b for s in study.spec["sources"] for b in predictor._read(str(s["name"]), Path(s["path"]), {}, options)]
    n = sum(len(b.rows) for b in blocks)
    name = study.spec["sources"][0]["name"]
    if n != 1:
        raise Fault(f"{name} holds {n:,} examples; one is explained at a time.", where={"file": name}, hint="infer answers all of them.")
    b = next(b for b in blocks if b.rows)
    if not b.good.all():
        refused = next(iter(b.refused.values()))
        raise Fault(f"{name}: {refused['reason']}.", where={"file": name, "column": refused["column"]}, hint=refused["remedy"])
    return Examples({k: _floats(v) for k, v in b.columns.items()}, np.zeros(1, dtype=np.int64))


def _nearest(model: Model, one: Examples, train: Examples) -> list[dict]:
    """The examples it learned from that are most like this one, as the model's own preparation sees them."""
    if any(field_kind(f) == "tree" for f in model.program.inputs) or not len(train):
        return []
    here, there = model.preparation.batch(one, with_target=False).matrix, model.preparation.batch(train, with_target=False).matrix
    distance = np.sqrt(((there - here) ** 2).mean(axis=1))
    truth = truth_of(model.program, model.target, train)
    out = []
    for i in np.argsort(distance, kind="stable")[:NEAREST]:
        label = (model.target.labels[truth[i]] if truth[i] >= 0 else "") if model.target.is_classes else f"{truth[i, 0]:.6g}"
        out.append({"number": int(train.numbers[i]), "label": label, "distance": round(float(distance[i]), 4)})
    return out
