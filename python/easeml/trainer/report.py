"""Report: what a family tells while it fits, and how stop, pause, time and plateau reach it."""

from __future__ import annotations

import math
import os
import shutil
import signal
import threading
from pathlib import Path
from typing import Callable

from .candidate import Pause, Stop
from .events import EventLog


class Control:
    """The orders in ``FOLDER/control``: looked at each step, on SIGUSR1, and by the watch once a second."""

    def __init__(self, folder: Path):
        self._path = folder / "control"

    @staticmethod
    def listen() -> None:
        """Let SIGUSR1, "look now", end a sleep and no more: steps and the watch look soon enough. Main thread only."""
        signal.signal(signal.SIGUSR1, lambda *_: None)

    def order(self) -> str | None:
        """``stop``, ``pause``, or None."""
        try:
            word = self._path.read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            return None
        return word if word in ("stop", "pause") else None


class Checkpoints:
    """Whole checkpoints in ``FOLDER/checkpoint/step-N``; only the newest is kept."""

    def __init__(self, folder: Path):
        self._root = folder / "checkpoint"

    def write(self, step: int, save: Callable[[Path], None]) -> str:
        """Let `save` fill a folder, and make it the newest by rename; its path relative to the attempt's folder."""
        partial = self._root / f"partial-{os.getpid()}"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        save(partial)
        whole = self._root / f"step-{step}"
        shutil.rmtree(whole, ignore_errors=True)
        os.rename(partial, whole)
        for other in self._root.glob("step-*"):
            if other != whole:
                shutil.rmtree(other, ignore_errors=True)
        return f"checkpoint/{whole.name}"

    @staticmethod
    def newest(path: Path) -> Path | None:
        """The newest whole checkpoint in a ``checkpoint`` folder (or the step's folder itself); None if there is none."""
        if path.name.startswith("step-") and path.is_dir():
            return path
        steps = [p for p in path.glob("step-*") if p.name[5:].isdigit()]
        return max(steps, key=lambda p: int(p.name[5:]), default=None)


class Report:
    """Given to ``Candidate.fit``. One for each fit of an attempt; only the main fit writes progress.

    ``limit``: the most steps allowed, or None. ``resume``: a whole checkpoint's folder to go on
    from, or None. ``reason``: why fitting ended early (plateau, stopped, out_of_time), or None.
    """

    def __init__(self, log: EventLog, *, unit: str = "step", score=None, control: Control | None = None,
                 deadline: float | None = None, limit: int | None = None, stop_below: float | None = None,
                 every: float = 0.5, checkpoints: Checkpoints | None = None, resume: Path | None = None,
                 watch_plateau: bool = True, gate: threading.Lock | None = None):
        self._log, self._unit, self._score = log, unit, score
        self._control, self._deadline, self.limit = control, deadline, limit
        self._stop_below, self._every, self._checkpoints = stop_below, every, checkpoints
        self.resume = resume
        self._watch_plateau = watch_plateau
        self._gate = gate or threading.Lock()
        self._last = -math.inf
        self.best = -math.inf
        self.best_step = 0
        self.steps = 0
        self.curve: list[tuple[int, float, float]] = []
        self.reason: str | None = None
        self._checkpoint: tuple[int, str] | None = None

    def quality(self, predicted) -> float | None:
        """The metric's quality of a prediction for the validation rows; None without validation rows."""
        return self._score(predicted) if self._score else None

    def go_on(self, step: int, best: float | None, best_step: int, curve=()) -> None:
        """Continue from a checkpoint: the state of what was reported before it."""
        self.steps, self.best_step = step, best_step
        self.best = best if best is not None else -math.inf
        self.curve = [tuple(point) for point in curve]

    def state(self) -> dict:
        """What `go_on` needs, as JSON, to be kept in a checkpoint."""
        return {"step": self.steps, "best": self.best if math.isfinite(self.best) else None,
                "best_step": self.best_step, "curve": [list(p) for p in self.curve]}

    def step(self, i: int, of: int, quality: float | None = None, loss: float | None = None, *,
             keep: Callable[[], None] | None = None, checkpoint: Callable[[Path], None] | None = None) -> None:
        """Step `i` of `of` (counted from 1) is done.

        `keep` is called when this is the best step so far (or there is no quality): the family
        notes its state there. `checkpoint` fills a folder with all that is needed to go on.
        Raises `Stop` (plateau, order, time) or `Pause` (after a checkpoint).
        """
        self.steps = i
        now = self._log.seconds()
        if quality is not None:
            self.curve.append((i, quality, round(now, 3)))
        if quality is None or (not math.isnan(quality) and quality > self.best):
            if quality is not None:
                self.best = quality
            self.best_step = i
            if keep:
                keep()
        if now - self._last >= self._every or i >= of:
            self._last = now
            fields = {"step": i, "of": of, "unit": self._unit}
            if quality is not None:
                fields |= {"quality": quality, "best": self.best}
            if loss is not None:
                fields["loss"] = loss
            self._log.write("progress", **fields)
        # A watch that ends the attempt must not cut a checkpoint in two, and the other way round.
        with self._gate:
            order = self._control.order() if self._control else None
            if checkpoint and self._checkpoints:
                self.checkpoint(checkpoint)
        if i >= of:
            return  # there is nothing left to stop or to pause
        if order == "pause":
            raise Pause
        if order == "stop":
            self._stop("stopped")
        if self._deadline is not None and now >= self._deadline:
            self._stop("out_of_time")
        if self.limit is not None and i >= self.limit:
            self._stop("finished")
        patience = max(10, of // 5)
        if self._watch_plateau and quality is not None and i - self.best_step >= patience:
            self._stop("plateau")
        if self._stop_below is not None and i >= max(3, of // 4) and self.best < self._stop_below:
            self._stop("stopped")

    def checkpoint(self, save: Callable[[Path], None]) -> str:
        """Write a whole checkpoint now; its path relative to the attempt's folder."""
        if not self._checkpoints:
            return ""
        path = self._checkpoints.write(self.steps, save)
        self._checkpoint = (self.steps, path)
        self._log.write("checkpoint", step=self.steps, path=path)
        return path

    @property
    def last_checkpoint(self) -> tuple[int, str] | None:
        """The newest checkpoint's step and path, or None."""
        return self._checkpoint

    def warn(self, code: str, message: str) -> None:
        """Say something that people should know about this attempt."""
        self._log.write("warning", code=code, message=message)

    def _stop(self, reason: str) -> None:
        self.reason = reason
        raise Stop
