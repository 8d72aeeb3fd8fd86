"""`serve`: the warm parent. It imports once, never computes, and forks a child for each folder.

Never computing is what makes forking safe: a child of a parent that has run one OpenMP region hangs
in its own first region. So the parent only imports, and handles lines. Each child is its own process
group, dies with the parent, writes to its folder's log.txt, and nudges the parent through a pipe.

In:  {"run": FOLDER, "command": "run"|"ingest", "env": {}, "limits": {"threads": n}}
     {"signal": FOLDER, "name": "USR1"|"TERM"|"KILL"}
Out: {"ready": {…}}  {"started": FOLDER, "pid": n}  {"event": FOLDER}
     {"ended": FOLDER, "code": n|null, "signal": name|null, "peak_bytes": n}  {"error": text}
     (``ended`` has a ``message`` where a folder could not be begun.)
End of input: every group is killed, and the parent leaves.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import importlib.util
import json
import os
import selectors
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .fault import one_sentence
from .wire import Lines, protected_stdout

_BASE = ("numpy", "pyarrow", "pyarrow.ipc")
_LIGHT = ("sklearn.dummy", "sklearn.linear_model", "sklearn.svm", "sklearn.neighbors", "sklearn.ensemble", "sklearn.neural_network",
          "sklearn.multioutput", "threadpoolctl", "lightgbm", "skimage.feature", "safetensors.numpy", "pandas")
_OURS = ("acceptance", "batch", "catalogue", "checks", "convert", "estimator", "examples", "fitting", "predict", "ingest", "matching", "metrics",
         "model", "parts", "profile", "readers.csv", "readers.json", "readers.npz", "runner", "settling")
_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL at the end of input."""
_PR_SET_PDEATHSIG = 1


def import_everything() -> list[str]:
    """Import what children need; the names of what isn't installed. Nothing is computed."""
    # Before any library reads it: waiting threads must sleep, not spin, beside other slots.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # OpenBLAS starts its threads at import; a parent that forks must have none.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    missing = []
    if importlib.util.find_spec("torch") is not None:
        modules = (*_BASE, "torch", "torch.nn.functional", "safetensors.torch", *_LIGHT, "skops.io")
    else:
        modules = (*_BASE, *_LIGHT, "skops.io")
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    for name in _OURS:
        importlib.import_module(f".{name}", __package__)
    from .families import FAMILIES
    for name in FAMILIES:
        importlib.import_module(f".families.{name}", __package__)
    try:
        import skimage.feature
        skimage.feature.hog  # imported lazily by attribute
    except ImportError:
        pass
    from .runner import versions
    versions()
    return missing


@dataclass
class Child:
    """A forked child: its folder as it was asked for, its pipe, and the most private bytes it told of."""

    folder: str
    pid: int
    pipe: int
    peak: int = 0
    rest: bytes = b""


class Parent:
    """The parent's loop over its input, its children's pipes and their ends."""

    def __init__(self, stdin: int, out: Lines):
        self._stdin, self._out = stdin, out
        self._children: dict[int, Child] = {}
        self._selector = selectors.DefaultSelector()
        self._rest = b""
        self._ending = False
        self._wake, wake = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._wake_writer = wake
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted notebook must not stop training
        # A child is born deaf to USR1, and so can't die of one that comes before it listens.
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        self._selector.register(self._stdin, selectors.EVENT_READ, self._read_input)
        self._selector.register(self._wake, selectors.EVENT_READ, self._read_wake)

    def _end(self, *_) -> None:
        self._ending = True

    def loop(self) -> None:
        """Serve until the input ends or SIGTERM comes; then no child is left."""
        while not self._ending and self._out.open:
            for key, _ in self._selector.select():
                key.data()
        self._kill_all()

    # -- input

    def _read_input(self) -> None:
        data = os.read(self._stdin, 1 << 16)
        if not data:
            self._ending = True
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.strip():
                self._request(line)

    def _request(self, line: bytes) -> None:
        try:
            request = json.loads(line)
            if not isinstance(request, dict):
                raise ValueError("not an object")
        except ValueError as error:
            self._out.write({"error": f"not a request: {one_sentence(error)}"})
            return
        if "run" in request:
            self._fork(request)
        elif "signal" in request:
            self._signal(request)
        else:
            self._out.write({"error": "a request has the key run or signal"})

    def _signal(self, request: dict) -> None:
        name = str(request.get("name", "USR1")).removeprefix("SIG")
        if name not in ("USR1", "TERM", "KILL", "INT"):
            self._out.write({"error": f"the signal {name} is not passed on"})
            return
        number = getattr(signal, f"SIG{name}")
        for child in self._children.values():
            if child.folder == request["signal"]:
                if name != "USR1":
                    _kill_group(child.pid, number)
                    continue
                try:
                    os.kill(child.pid, number)  # only the leader listens; the others of its group would die of it
                except ProcessLookupError:
                    pass

    # -- children

    def _refuse(self, folder: str, message: str) -> None:
        self._out.write({"ended": folder, "code": 1, "signal": None, "peak_bytes": 0, "message": message})

    def _fork(self, request: dict) -> None:
        folder, command = str(request["run"]), request.get("command") or "run"
        if command not in ("run", "ingest"):
            self._refuse(folder, f"The command {command} is not served here.")
            return
        if any(c.folder == folder for c in self._children.values()):
            self._out.write({"error": f"{folder} is being worked on already"})
            return
        if not os.path.isdir(folder):
            self._refuse(folder, "There is no such folder.")
            return
        reader, writer = os.pipe()
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            os.close(reader)
            os.close(writer)
            self._refuse(folder, f"No process could be started: {error.strerror}.")
            return
        if pid == 0:
            _be_child(folder, command, request, writer, parent, close=[reader, self._wake, self._wake_writer, self._stdin])
        os.close(writer)
        os.set_blocking(reader, False)
        child = Child(folder, pid, reader)
        self._children[pid] = child
        self._selector.register(reader, selectors.EVENT_READ, lambda: self._read_pipe(child))
        self._out.write({"started": folder, "pid": pid})

    def _read_pipe(self, child: Child) -> None:
        nudged = False
        while True:
            try:
                data = os.read(child.pipe, 1 << 16)
            except BlockingIOError:
                break
            if not data:
                self._selector.unregister(child.pipe)
                os.close(child.pipe)
                child.pipe = -1
                break
            *lines, child.rest = (child.rest + data).split(b"\n")
            for line in lines:
                if line == b"e":
                    nudged = True
                elif line.startswith(b"m "):
                    child.peak = max(child.peak, int(line[2:]))
        if nudged:
            self._out.write({"event": child.folder})

    def _read_wake(self) -> None:
        try:
            while os.read(self._wake, 4096):
                pass
        except BlockingIOError:
            pass
        self._reap()

    def _reap(self) -> None:
        for pid in list(self._children):
            try:
                done, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                done, status = pid, 0
            if not done:
                continue
            child = self._children.pop(pid)
            try:
                os.killpg(pid, signal.SIGKILL)  # what the leader left behind
            except (ProcessLookupError, PermissionError):
                pass
            if child.pipe >= 0:
                self._read_pipe(child)
            if child.pipe >= 0:
                self._selector.unregister(child.pipe)
                os.close(child.pipe)
            killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
            self._out.write({"ended": child.folder, "code": None if killed else os.waitstatus_to_exitcode(status),
                             "signal": signal.Signals(killed).name if killed else None, "peak_bytes": child.peak})

    def _kill_all(self) -> None:
        for pid in self._children:
            _kill_group(pid, signal.SIGTERM)
        end = time.monotonic() + _GRACE
        while self._children and time.monotonic() < end:
            self._selector.select(timeout=0.05)
            self._reap()
        for pid in self._children:
            _kill_group(pid, signal.SIGKILL)
        for pid in list(self._children):
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                pass


def _kill_group(pid: int, number: int) -> None:
    """Signal a child's group; the child alone where it has not made its group yet."""
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, number)
            return
        except (ProcessLookupError, PermissionError):
            continue


def _be_child(folder: str, command: str, request: dict, writer: int, parent: int, close: list[int]) -> None:
    """What the forked child does; it never returns."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        try:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        except (OSError, AttributeError):  # another system than Linux: the parent kills its groups at its end
            pass
        if os.getppid() != parent:
            os._exit(1)  # the parent died before the line above
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        for fd in close:
            if fd > 2:
                os.close(fd)
        log = os.open(os.path.join(folder, "log.txt"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdin = open(0, closefd=False)
        os.environ.update({str(k): str(v) for k, v in (request.get("env") or {}).items()})
        threads = (request.get("limits") or {}).get("threads")
        if threads:
            os.environ["OMP_NUM_THREADS"] = str(int(threads))

        def tell(line: bytes) -> None:
            try:
                os.write(writer, line)
            except OSError:
                pass

        def notify() -> None:
            tell(b"e\n")

        def memory(count: int) -> None:
            tell(b"m %d\n" % count)

        if command == "ingest":
            from .ingest import ingest
            code = ingest(Path(folder), notify, memory)
        else:
            from .runner import run
            code = run(Path(folder), notify, memory)
    except BaseException as error:  # nothing may escape into the parent's loop
        import traceback
        traceback.print_exc()
        code = 1 if not isinstance(error, SystemExit) else int(error.code or 0)
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def serve() -> int:
    """Import, say `ready`, and serve until the input ends."""
    started = time.monotonic()
    out = Lines(protected_stdout())
    missing = import_everything()
    # What is alive now stays alive: the collector must not touch, and so copy, its pages in every child.
    gc.collect()
    gc.freeze()
    from .runner import versions
    parent = Parent(0, out)
    out.write({"ready": {"pid": os.getpid(), "versions": versions(), "missing": missing, "import_seconds": round(time.monotonic() - started, 3)}})
    parent.loop()
    return 0
