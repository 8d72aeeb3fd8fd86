"""`run FOLDER`: one attempt, from trial.json to result.json.

The runner owns splits, folds, labels, metric, seeds, threads, early stopping, memory and saving;
a family only fits and predicts. Whatever happens, the folder ends with a result (``ok`` or
``failed``) or a ``paused`` event; a traceback is in log.txt only.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sys
import time
import traceback
from pathlib import Path

from . import FORMAT
from .candidate import Pause, Stop
from .events import EventLog, begin, write_json
from .fault import Fault, one_sentence
from .report import Checkpoints, Control, Report
from .watch import Watch

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_VERSIONS: dict[str, str] = {}


def versions() -> dict[str, str]:
    """The versions of Python and of the libraries that are installed, without importing them."""
    if not _VERSIONS:
        from importlib import metadata
        _VERSIONS["python"] = platform.python_version()
        for name in ("numpy", "scikit-learn", "lightgbm", "torch"):
            try:
                _VERSIONS[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                pass
    return dict(_VERSIONS)


def run(folder: Path, notify=None, memory=None) -> int:
    """Run the attempt in `folder`; exit status 0: its files stand.

    `notify()` is called after each event, `memory(bytes)` at each new peak: the warm parent's pipe.
    """
    folder = Path(folder).resolve()
    log = begin(folder, notify, versions(), platform.processor() or platform.machine())
    if log is None:
        return 1
    attempt = Attempt(folder, log, memory)
    try:
        attempt.go()
    except Pause:
        attempt.pause()
    except Stop:
        attempt.fail(Fault("It was stopped before it had a first result.", kind="timeout"))
    except Fault as fault:
        if fault.kind == "bug":
            traceback.print_exc()
        attempt.fail(fault)
    except MemoryError:
        attempt.fail(Fault("The memory of its slot was not enough.", kind="memory"))
    except Exception as error:
        traceback.print_exc()
        if type(error).__name__ in ("OutOfMemoryError", "ArrowMemoryError"):
            attempt.fail(Fault("The memory of its device was not enough.", kind="memory"))
        else:
            attempt.fail(Fault(f"An error in the candidate's own code ({one_sentence(error)}).", kind="bug"))
    return 0


class Attempt:
    """The state of one attempt. `go` does the work in order: load, fit, evaluate, save."""

    def __init__(self, folder: Path, log: EventLog, memory=None):
        self.folder, self.log = folder, log
        self.control = Control(folder)
        self.control.listen()
        self.watch = Watch(self, memory)
        self.seconds: dict[str, float] = {"load": 0.0, "fit": 0.0, "evaluate": 0.0, "save": 0.0}
        self._phase: str | None = None
        self._since = time.monotonic()
        self.iterative = False
        self.report: Report | None = None

    def phase(self, name: str | None) -> None:
        """Enter a phase, for the events and for ``seconds``."""
        now = time.monotonic()
        if self._phase:
            self.seconds[self._phase] += now - self._since
        self._phase, self._since = name, now
        if name:
            self.log.write("phase", name=name)

    @property
    def current(self) -> str | None:
        """The phase that the attempt is in."""
        return self._phase

    def read_trial(self) -> dict:
        """trial.json. Raises `Fault` where it is missing, broken or newer than this trainer."""
        try:
            with open(self.folder / "trial.json", encoding="utf-8") as f:
                trial = json.load(f)
        except (OSError, ValueError) as error:
            raise Fault(f"trial.json can't be read ({one_sentence(error)}).", where={"file": "trial.json"}) from None
        if trial.get("format", 1) > FORMAT:
            raise Fault(f"trial.json has format {trial['format']}; this trainer reads up to {FORMAT}.", kind="unsupported",
                        where={"file": "trial.json"}, hint="Update the trainer.")
        return trial

    def go(self) -> None:
        """The whole attempt."""
        self.phase("load")
        trial = self.trial = self.read_trial()
        limits = trial.get("limits") or {}
        self.threads = int(limits.get("threads") or 1)
        for variable in _THREAD_VARIABLES:
            os.environ[variable] = str(self.threads)
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        visible = (trial.get("device") or {}).get("visible")
        if visible is not None:  # "" too: a CPU slot must not take a GPU that happens to be there
            os.environ["CUDA_VISIBLE_DEVICES"] = str(visible)
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what CUDA wants to be deterministic
        self.deadline = float(limits["seconds"]) if limits.get("seconds") else None
        self.watch.start(limits.get("memory_bytes"), self.deadline)
        from .fitting import Fitting  # NumPy and Arrow begin here, after `started`
        Fitting(self).go()

    def finish(self, result: dict, reason: str) -> None:
        """Write result.json of a good attempt, then the `done` event. NaN anywhere that counts makes it failed."""
        quality = result["quality"]
        if quality is None or not math.isfinite(quality):
            raise Fault(f"Its quality can't be computed: {self.trial.get('metric') or 'the metric'} is undefined for its answers.", kind="data")
        self.phase(None)
        self.watch.finish()
        self._write(result, "done", quality=quality, steps=result["steps"], reason=reason)

    def fail(self, fault: Fault) -> None:
        """Write result.json and the event of a failed attempt."""
        self.phase(None)
        self.watch.finish()
        self._fail(fault)

    def fail_from_watch(self, fault: Fault) -> None:
        """The same from the watch's thread, while the main thread is deep in a library; the process ends."""
        self.phase(None)
        self._fail(fault)
        sys.stderr.flush()
        os._exit(0)

    def _fail(self, fault: Fault) -> None:
        if self.log.ended:
            return
        event = fault.as_event()
        self._write({"outcome": "failed", "quality": None, "metrics": {}, "quality_interval": None, "test": None,
                     "steps": self.report.steps if self.report else 0, "curve": [], "model": None, "predictions": None, **event}, "failed", **event)

    def pause(self) -> None:
        """Leave after a pause order; the checkpoint, if there is one, is whole."""
        self.watch.finish()
        last = self.report.last_checkpoint if self.report else None
        self.log.write("memory", peak_bytes=self.watch.peak, gpu_peak_bytes=self.watch.gpu_peak())
        self.log.write("paused", step=last[0] if last else 0, checkpoint=last[1] if last else None)

    def _write(self, result: dict, event: str, **fields) -> None:
        """The last event, then result.json: whoever sees the result can read all events."""
        used = time.process_time()
        self.log.write("memory", peak_bytes=self.watch.peak, gpu_peak_bytes=self.watch.gpu_peak())
        self.log.write(event, **fields)
        write_json(self.folder / "result.json", {
            "format": FORMAT, **result, "seconds": {k: round(v, 4) for k, v in self.seconds.items()},
            "cpu_seconds": round(used, 4), "peak_bytes": self.watch.peak, "gpu_peak_bytes": self.watch.gpu_peak()})

    def new_report(self, *, unit: str, score, deadline: float | None, main: bool, resume: Path | None = None,
                   watch_plateau: bool = True) -> Report:
        """A report for one fit. `main`: its progress is the attempt's, and it may checkpoint."""
        limits = self.trial.get("limits") or {}
        every = float(self.trial.get("report_seconds") or 0.5)
        report = Report(self.log, unit=unit, score=score, control=self.control, deadline=deadline,
                        limit=limits.get("steps"), stop_below=self.trial.get("stop_below") if main else None,
                        every=every if main else math.inf, checkpoints=Checkpoints(self.folder) if main else None,
                        resume=resume, watch_plateau=watch_plateau, gate=self.watch.gate)
        self.report = report
        return report
