"""The work of an attempt: examples in, model and scores out. Holdout or folds, one way of scoring for both."""

from __future__ import annotations

import math
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from . import calibration, metrics, outputs
from .batch import Preparation
from .candidate import Candidate, Pause, Stop
from .catalogue import find
from .examples import PARTS, Examples, read_examples, write_arrow
from .fault import Fault
from .looks import Looks, judged
from .memory import says
from .metrics import find_metric
from .model import Model
from .outputs import strata_of, truth_of
from .program import Target, parse_program, parse_target, settle, template_of
from .report import Checkpoints
from .split import folds

if TYPE_CHECKING:
    from .runner import Attempt

FEW_ROWS = 10_000
"""Up to so many rows those that end a fit early are judged as `looks` tells; of more, one look is about as good as the best of many."""

FEW_TO_STOP = 20
"""Below so many validation rows a plateau says nothing, and nothing is stopped early by it."""


class Fitting:
    """One attempt's fit. `go` reads, fits, scores and saves, and tells the attempt its result."""

    def __init__(self, attempt: "Attempt"):
        self.attempt = attempt
        self.trial = attempt.trial

    def go(self) -> None:
        attempt = self.attempt
        self._load()
        attempt.phase("fit")
        if self.folds:
            model, held_out, predicted, covered, reason = self._fit_folds()
        else:
            model, held_out, predicted, covered, reason = self._fit_holdout()
        attempt.phase("evaluate")
        truth = truth_of(self.program, self.target, held_out)
        if self.target.is_classes and not model.candidate.info.baseline:
            model.temperature = calibration.learn(truth, predicted)
            predicted = calibration.tempered(predicted, model.temperature)
        scored = metrics.score(self.metric, truth, predicted, self.guess)
        attempt.phase("save")
        folder = attempt.folder / "model"
        shutil.rmtree(folder, ignore_errors=True)
        saved = model.save(folder)
        self._write_predictions("predictions.arrow", held_out, truth, predicted)
        attempt.phase("evaluate")
        # The test part is scored by the model as it comes out of its folder: what is scored is what answers.
        again = Model.load(folder)
        probe = self.train.take(np.arange(min(50, len(self.train))))
        if not outputs.alike(self.target, model.answer(probe), again.answer(probe)):
            raise Fault("The saved model answers otherwise than the fitted one.", kind="bug")
        test = None
        if len(self.test):
            truth_of_test, answers = truth_of(self.program, self.target, self.test), again.answer(self.test)
            test = metrics.score(self.metric, truth_of_test, answers, self.guess).as_json()
            self._write_predictions("test.arrow", self.test, truth_of_test, answers)
        report = attempt.report
        attempt.finish({
            "outcome": "ok", "quality": scored.quality, "metrics": scored.metrics, "quality_interval": list(scored.interval), "n": scored.n,
            "test": test, "steps": report.steps if report else 1, "curve": [list(p) for p in (report.curve if report else [])],
            "model": saved, "predictions": "predictions.arrow", "test_predictions": "test.arrow" if test else None,
            "sample": self.sample,
        }, reason)

    # -- reading

    def _load(self) -> None:
        trial = self.trial
        self.program = parse_program(trial["program"])
        target = parse_target(trial["target"], self.program)
        self.program = settle(self.program, target)
        data = trial["data"]
        protocol = data.get("protocol") or {"kind": "holdout"}
        path = (self.attempt.folder / data["path"]).resolve()
        limit = (trial.get("limits") or {}).get("memory_bytes")
        every = read_examples(path, self.program, groups=protocol.get("kind") == "folds" or data.get("rows", 0) <= FEW_ROWS, memory=limit)
        self.sample = None
        if every.on > len(every):
            self.sample = {"rows": len(every), "of": every.on, "memory_bytes": limit}
            self.attempt.log.write("warning", code="sample", message=f"It works with {len(every):,} of {every.on:,} examples, evenly spread: "
                                   f"all of them don't fit into {says(limit)}, the memory of its slot.")
        self.target = self._all_labels(target, every)
        parts = {name: every.part(name) for name in PARTS}
        self.folds = int(protocol.get("k", 5)) if protocol.get("kind") == "folds" else 0
        if not self.folds and len(parts["validation"]) == 0:
            self.attempt.log.write("warning", code="no_validation", message="There is no validation part; 5 folds are used instead.")
            every = read_examples(path, self.program, groups=True, memory=limit)
            parts = {name: every.part(name) for name in PARTS}
            self.folds = 5
        self.test = parts["test"]
        self.train = every.take(np.flatnonzero(every.parts != PARTS.index("test"))) if self.folds else parts["train"]
        self.validation = parts["validation"]
        self.metric = find_metric(trial.get("metric"), self.target.kind)
        self.size = {"rows": len(every), "parts": {"train": len(self.train)}, "protocol": protocol, "target": self.target.as_json()}
        self.raw_candidate = trial["candidate"]
        candidate = self._candidate()
        self.attempt.iterative = candidate.info.iterative
        self.unit = getattr(candidate, "unit", "step")
        truth = truth_of(self.program, self.target, self.train)
        if len(self.train) == 0 or (self.folds and len(self.train) < 2):
            raise Fault("The training part is too small: there is nothing to learn from.", hint="Feed more examples.")
        self.guess = outputs.guess_of(self.program, self.target, self.train)
        if self.target.is_classes:
            present = np.unique(truth[truth >= 0])
            if len(present) < 2 and not candidate.info.baseline:
                name = self.target.labels[present[0]] if len(present) else "?"
                raise Fault(f'Only one class, "{name}", is among the examples to train on; there is nothing to tell apart yet.',
                            hint="Feed examples of the other classes.")
        elif self.target.kind == "numbers" and np.all(truth == truth[:1]):
            raise Fault(f"{self.program.outputs[0].name} is the same in every example to train on; there is nothing to learn yet.", hint="Feed examples with other values.")
        self.strata = strata_of(self.target, truth)
        self._set_threads()

    def _all_labels(self, target: Target, examples: Examples) -> Target:
        """The target with labels that are among the examples but not yet in it, at the end."""
        if target.kind not in ("classes", "tokens"):
            return target
        column = examples.columns[self.program.outputs[0].name]
        seen = set(column if target.is_classes else np.concatenate(column)) - set(target.labels) - {None}
        return replace(target, labels=target.labels + tuple(sorted(seen)))

    def _candidate(self, hints: dict | None = None) -> Candidate:
        candidate = find(self.raw_candidate, self.program, self.size)
        candidate.seed = int(self.trial.get("seed") or 0)
        candidate.threads = self.attempt.threads
        candidate.hints = hints or {}
        return candidate

    def _set_threads(self) -> None:
        """One thread a slot, in libraries that are loaded already too (a warm parent's child)."""
        try:
            import threadpoolctl
            threadpoolctl.threadpool_limits(self.attempt.threads)
        except ImportError:
            pass
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(self.attempt.threads)

    def _seed(self) -> None:
        import random
        seed = int(self.trial.get("seed") or 0)
        random.seed(seed)
        np.random.seed(seed % 2**32)

    # -- fitting

    def _fit(self, train: Examples, valid: Examples | None, *, main: bool, deadline: float | None,
             hints: dict | None = None, resume: Path | None = None, looks: Looks | None = None):
        """One fit: the model, and why it ended early (None: it ran through). `looks` get what it answers on the way."""
        preparation = Preparation.learn(self.program, self.target, train, self.raw_candidate.get("normalization"))
        candidate = self._candidate(hints)
        batch = preparation.batch(train, with_target=True)
        known = np.flatnonzero(batch.y >= 0) if self.target.is_classes else None
        if known is not None and len(known) < batch.n:
            batch = batch.rows(known)
        watched = preparation.batch(valid, with_target=True) if valid is not None and len(valid) else None
        score = None
        if watched is not None:
            truth = truth_of(self.program, self.target, valid)

            def score(predicted: np.ndarray) -> float:
                answers = preparation.answers(predicted)
                quality = metrics.quality(self.metric, truth, answers, self.guess)
                if looks is not None:
                    looks.add(answers, quality)
                return quality
        report = self.attempt.new_report(unit=self.unit, score=score, deadline=deadline, main=main, resume=resume,
                                         watch_plateau=watched is not None and watched.n >= FEW_TO_STOP)
        self._seed()
        try:
            candidate.fit(batch, watched, report)
        except Stop:
            if report.best_step == 0:
                raise
        model = Model(self.trial["program"], self.trial.get("template") or template_of(self.program), self.program, self.target,
                      preparation, candidate, self.metric, self.guess, self.size)
        return model, report.reason

    def _resume(self) -> Path | None:
        named = self.trial.get("resume")
        if not named:
            return None
        found = Checkpoints.newest((self.attempt.folder / named).resolve())
        if found is None:
            self.attempt.log.write("warning", code="no_checkpoint", message="Its checkpoint is gone; it starts from the beginning.")
        return found

    def _fit_holdout(self):
        looks, held_out = Looks(), self.validation
        model, reason = self._fit(self.train, held_out, main=True, deadline=self.attempt.deadline, resume=self._resume(),
                                  looks=looks if held_out.groups is not None and len(held_out) > 1 else None)
        if looks.best is None:
            predicted = model.answer(held_out)
        else:
            truth = truth_of(self.program, self.target, held_out)
            dealt = folds(strata_of(self.target, truth), held_out.groups, held_out.numbers, 5, self._version())
            predicted = looks.crossed(dealt, lambda rows, answers: metrics.quality(self.metric, truth[rows], answers, self.guess))
        return model, self.validation, predicted, None, reason or "finished"

    def _fit_folds(self):
        """k fits for out-of-fold answers, then one on all rows; ended early, the last fold's model serves.

        Where the held-out rows end a fit (iterative candidates), they are scored at the step that the other folds found best: see `looks`.
        """
        attempt, n = self.attempt, len(self.train)
        fold = folds(self.strata, self.train.groups, self.train.numbers, self.folds, self._version())
        k = int(fold.max()) + 1
        predicted = outputs.room(self.target, n)
        covered = np.zeros(n, bool)
        learned: dict[str, list[float]] = {}
        looked: list[tuple[np.ndarray, Looks]] = []
        curve, model, reason = [], None, None
        every, last = float(self.trial.get("report_seconds") or 0.5), -math.inf
        for i in range(k):
            held = fold == i
            inside = np.flatnonzero(~held)
            if self.target.is_classes and not _two_classes(self.strata[inside]) and not self._candidate().info.baseline:
                continue  # a fold whose rest has one class: its rows stay out of the score
            outside, looks = self.train.take(np.flatnonzero(held)), Looks()
            model, reason = self._fit(self.train.take(inside), outside, main=False, deadline=self._share(k + 1 - i), looks=looks)
            if looks.best is None:
                predicted[held] = model.answer(outside)
            else:
                looked.append((held, looks))
                for (rows, _), answers in zip(looked, judged([one for _, one in looked])):
                    predicted[rows] = answers
            covered |= held
            for name, value in model.candidate.learned.items():
                learned.setdefault(name, []).append(value)
            rows = np.flatnonzero(covered)
            quality = metrics.quality(self.metric, truth_of(self.program, self.target, self.train.take(rows)), predicted[rows], self.guess)
            curve.append((i + 1, quality, round(attempt.log.seconds(), 3)))
            if time.monotonic() - last >= every or i == k - 1:
                last = time.monotonic()
                attempt.log.write("progress", step=i + 1, of=k, unit="fold", quality=quality, best=quality)
            order = attempt.control.order()
            if order == "pause":
                raise Pause
            if order == "stop" or reason == "stopped":
                reason = "stopped"
                break
        if model is None:
            raise Fault("No fold has two classes to learn from.", hint="Feed more examples of the rarer classes.")
        if reason != "stopped":
            hints = {name: float(np.mean(values)) for name, values in learned.items()}
            model, reason = self._fit(self.train, None, main=False, deadline=self._share(1), hints=hints)
        attempt.report.curve = curve
        rows = np.flatnonzero(covered)
        return model, self.train.take(rows), predicted[rows], covered, reason or "finished"

    def _version(self) -> str:
        return str(self.trial["data"].get("version", ""))

    def _share(self, fits_left: int) -> float | None:
        """The deadline of the next of several fits: an equal share of the time that is left."""
        if self.attempt.deadline is None:
            return None
        now = self.attempt.log.seconds()
        return now + max(0.0, self.attempt.deadline - now) / fits_left

    # -- writing

    def _write_predictions(self, name: str, held_out: Examples, truth: np.ndarray, predicted: np.ndarray) -> None:
        """predictions.arrow or test.arrow: number, truth, prediction, probabilities (in the order of the target's labels)."""
        import pyarrow as pa
        one = self.program.outputs[0]
        write_arrow(self.attempt.folder / name, {"number": pa.array(held_out.numbers, pa.int64())} |
                    outputs.to_arrow(self.target, one, truth, predicted, held_out.columns[one.name]))


def _two_classes(strata: np.ndarray) -> bool:
    """True where there are two classes among the rows."""
    return len(np.unique(strata)) >= 2
