"""`study FOLDER`: questions about a version's examples and its model that take some fits, or many answers, to settle.

``study.json`` says what is asked. ``kind`` is ``suspects``, ``explain``, ``growth``, or ``propose`` (a program for a
file; then only ``sources``, ``output`` and ``options`` stand there). The rest is as in trial.json, with ``candidates``
(the ones to fit) and ``model`` (the folder of the one that answers). The folder ends with ``findings.json`` and a
``done`` event, or with ``failed``. Nothing of it is used by a search.
"""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path

from . import FORMAT
from .events import EventLog, write_json
from .fault import Fault, one_sentence
from .service import serve_folder


def study(folder: Path, notify=None, memory=None) -> int:
    """Answer what ``folder/study.json`` asks; exit status 0: the events say how it ended."""
    return serve_folder(folder, _answer, notify, memory, short={"message": "The memory was not enough for it."}, broken="It went wrong")


def _answer(folder: Path, log: EventLog) -> None:
    begun = time.monotonic()
    spec = _read(folder)
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # it holds no lease
    findings = _KINDS[spec["kind"]](folder, log, spec)
    write_json(folder / "findings.json", {"format": FORMAT, "kind": spec["kind"], **findings, "seconds": round(time.monotonic() - begun, 3)})
    log.write("done", reason="finished")


def _read(folder: Path) -> dict:
    try:
        with open(folder / "study.json", encoding="utf-8") as f:
            spec = json.load(f)
    except (OSError, ValueError) as error:
        raise Fault(f"study.json can't be read ({one_sentence(error)}).", where={"file": "study.json"}) from None
    if spec.get("format", 1) > FORMAT:
        raise Fault(f"study.json has format {spec['format']}; this trainer reads up to {FORMAT}.", kind="unsupported", where={"file": "study.json"})
    if spec.get("kind") not in _KINDS:
        raise Fault(f"This trainer has no study {spec.get('kind')}.", kind="unsupported", where={"file": "study.json"})
    return spec


class _Silent:
    """A log for the fits of a study: their own steps are of no interest."""

    def __init__(self, log: EventLog):
        self.seconds = log.seconds

    def write(self, type_: str, /, **fields) -> bool:
        return True


MEMORY = 6_000_000_000
"""A study works with as many of the examples as fit into so many bytes."""


class Study:
    """What a study needs: the version's examples, and fits on parts of them. ``spec`` is study.json."""

    def __init__(self, folder: Path, log: EventLog, spec: dict):
        from .program import parse_program, parse_target, settle
        self.folder, self.log, self.spec = folder, log, spec
        self.program = parse_program(spec["program"])
        self.target = parse_target(spec["target"], self.program)
        self.program = settle(self.program, self.target)
        self.seed = int(spec.get("seed") or 0)
        self.threads = int(spec.get("threads") or 1)
        self._told = -math.inf
        try:
            import threadpoolctl
            threadpoolctl.threadpool_limits(self.threads)
        except ImportError:
            pass

    def examples(self, *, groups: bool = False):
        """The examples of the version that are on, in order of their numbers."""
        from .examples import read_examples
        return read_examples((self.folder / self.spec["data"]["path"]).resolve(), self.program, groups=groups, memory=MEMORY)

    def progress(self, step: int, of: int, unit: str) -> None:
        """Tell how far it is; twice a second at most."""
        now = time.monotonic()
        if now - self._told >= 0.5 or step == of:
            self._told = now
            self.log.write("progress", step=step, of=of, unit=unit)

    def strata(self, examples):
        """The class or quantile of each row, for fair splits."""
        from .outputs import strata_of, truth_of
        return strata_of(self.target, truth_of(self.program, self.target, examples))

    def fit(self, raw: dict, train, valid=None):
        """A candidate, fitted on some examples as a trial fits it; rows of unknown labels are left out.

        `valid` are the rows by which a fit is ended early.
        """
        import numpy as np
        from . import metrics
        from .batch import Preparation
        from .candidate import Stop
        from .catalogue import find
        from .metrics import find_metric
        from .model import Model
        from .outputs import guess_of, truth_of
        from .program import template_of
        from .report import Report
        size = {"rows": len(train), "parts": {"train": len(train)}, "target": self.target.as_json()}
        candidate = find(raw, self.program, size)
        candidate.seed, candidate.threads = self.seed, self.threads
        preparation = Preparation.learn(self.program, self.target, train, raw.get("normalization"))
        batch = preparation.batch(train, with_target=True)
        if self.target.is_classes and (batch.y < 0).any():
            batch = batch.rows(np.flatnonzero(batch.y >= 0))
        guess = guess_of(self.program, self.target, train)
        metric = find_metric(self.spec.get("metric"), self.target.kind)
        watched, score = None, None
        if valid is not None:
            watched, right = preparation.batch(valid, with_target=True), truth_of(self.program, self.target, valid)
            score = lambda p: metrics.quality(metric, right, preparation.answers(p), guess)  # noqa: E731
        np.random.seed(self.seed % 2**32)
        try:
            candidate.fit(batch, watched, Report(_Silent(self.log), score=score, every=math.inf, watch_plateau=watched is not None and watched.n >= 20))
        except Stop:
            pass
        return Model(self.spec["program"], self.spec.get("template") or template_of(self.program), self.program, self.target, preparation,
                     candidate, metric, guess, size)


def _suspects(folder: Path, log: EventLog, spec: dict) -> dict:
    from .suspects import find_suspects
    return find_suspects(Study(folder, log, spec))


def _propose(folder: Path, log: EventLog, spec: dict) -> dict:
    from .propose import propose
    return propose(folder, log, spec)


def _explain(folder: Path, log: EventLog, spec: dict) -> dict:
    from .explain import explain
    return explain(Study(folder, log, spec))


def _growth(folder: Path, log: EventLog, spec: dict) -> dict:
    from .growth import growth
    return growth(Study(folder, log, spec))


_KINDS = {"suspects": _suspects, "propose": _propose, "explain": _explain, "growth": _growth}
