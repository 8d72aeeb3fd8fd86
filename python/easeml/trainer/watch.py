"""The watch: a thread beside the fit that samples memory and ends what can't hear orders or time itself.

scikit-learn and LightGBM fit in one call that no exception can interrupt. The libraries release the
interpreter meanwhile, so this thread can write the result and leave the process.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

from .fault import Fault
from .memory import private_bytes, says

if TYPE_CHECKING:
    from .runner import Attempt


class Watch:
    """Started once an attempt knows its limits. ``peak``: the most private bytes seen.

    ``gate`` is held by whoever must not be cut short: a checkpoint, the writing of the result.
    """

    def __init__(self, attempt: "Attempt", tell=None):
        self._attempt, self._tell = attempt, tell
        self.gate = threading.Lock()
        self.peak = 0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, memory_limit: int | None, deadline: float | None) -> None:
        """Begin to watch; `deadline` in seconds since the attempt's start."""
        self.sample()
        self._thread = threading.Thread(target=self._run, args=(memory_limit, deadline), name="watch", daemon=True)
        self._thread.start()

    def sample(self) -> int:
        """Look at the memory now; the private bytes."""
        now = private_bytes()
        if now > self.peak:
            self.peak = now
            if self._tell:
                self._tell(now)
        return now

    @staticmethod
    def gpu_peak() -> int:
        """The most bytes of GPU memory that PyTorch held; 0 where it isn't loaded or used none."""
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_initialized():
            return 0
        return int(torch.cuda.max_memory_allocated())

    def finish(self) -> None:
        """Stop watching: what follows must not be cut short. Safe to call twice."""
        self.sample()
        self._over.set()
        # Whoever holds the gate is the watch ending the process; then this never returns.
        with self.gate:
            pass

    def _run(self, memory_limit: int | None, deadline: float | None) -> None:
        attempt, wait, told = self._attempt, 0.05, 0
        while not self._over.wait(wait):
            wait = 0.25
            used = self.sample()
            if self.peak > told * 1.2 + 5e7:
                told = self.peak
                attempt.log.write("memory", peak_bytes=self.peak, gpu_peak_bytes=self.gpu_peak())
            fault = self._verdict(attempt, used, memory_limit, deadline)
            if fault is None:
                continue
            with self.gate:
                if not self._over.is_set():
                    attempt.fail_from_watch(fault)

    @staticmethod
    def _verdict(attempt: "Attempt", used: int, memory_limit: int | None, deadline: float | None) -> Fault | None:
        if memory_limit and used > memory_limit:
            return Fault(f"It needs more than {says(memory_limit)}, the memory of its slot.", kind="memory")
        if attempt.current not in ("load", "fit"):
            return None
        now = attempt.log.seconds()
        # Iterative candidates look at the time themselves; this is for one that hangs in a step.
        if deadline and now > (deadline * 1.25 + 5 if attempt.iterative else deadline):
            return Fault(f"It took longer than the {deadline:g} s it was given, and had no result yet.", kind="timeout")
        order = attempt.control.order()
        if order and not attempt.iterative:
            if order == "pause":
                attempt.log.write("paused", step=0, checkpoint=None)
                os._exit(0)
            return Fault("It was stopped before it had a first result.", kind="timeout")
        return None
