"""`serve`: the warm parent. It imports once, never computes, and forks a child for each folder.

Never computing is what makes forking safe: a child of a parent that has run one OpenMP region hangs
in its own first region. So the parent only imports, and handles lines. Each child is its own process
group, dies with the parent, writes to its folder's log.txt, and nudges the parent through a pipe.

PyTorch takes longest to import, and most trials don't need it. So the parent says `ready` without it,
and forks a second parent, the *deep* one, that imports it meanwhile: same code, its lines relayed. Until
that is ready too (a second `ready`, with "deep": true), a network's child imports PyTorch itself.

In:  {"run": FOLDER, "command": "run"|"ingest"|"study", "env": {}, "limits": {"threads": n}}
     {"signal": FOLDER, "name": "USR1"|"TERM"|"KILL"}
Out: {"ready": {…}}  {"started": FOLDER, "pid": n}  {"event": FOLDER}
     {"ended": FOLDER, "code": n|null, "signal": name|null, "peak_bytes": n}  {"error": text}
     (``ended`` has a ``message`` where a folder could not be begun.)
End of input: every group is killed, and the parent leaves. It also keeps a door for predictors, see `door`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import selectors
import signal
import time
from dataclasses import dataclass, field

from .child import be_child, be_predictor, die_with
from .door import admit, listen
from .families import DEEP, FAMILIES
from .fault import one_sentence
from .runner import versions
from .warming import import_deep, import_light
from .wire import Lines, protected_stdout

_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL at the end of input."""


@dataclass
class Child:
    """A forked child: its folder as it was asked for (None: a predictor), its pipe, and the most private bytes it told of."""

    folder: str | None
    pid: int
    pipe: int
    peak: int = 0
    rest: bytes = b""


@dataclass
class Deep:
    """The deep parent, as the first one sees it: its pipes, and the folders that were passed on to it."""

    pid: int
    requests: int
    answers: int
    ready: bool = False
    folders: set[str] = field(default_factory=set)
    rest: bytes = b""


class Parent:
    """The loop of a parent over its input, its children's pipes and their ends.

    `stdin` is where requests come from, `out` where answers go; `deep` tells which door it keeps.
    """

    def __init__(self, stdin: int, out: Lines, *, deep: bool):
        self._stdin, self._out = stdin, out
        self._door = listen(deep)
        self._children: dict[int, Child] = {}
        self._deep: Deep | None = None
        self._selector = selectors.DefaultSelector()
        self._rest = b""
        self._ending = False
        self._wake, self._wake_writer = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._wake_writer, False)
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted notebook must not stop training
        # A child is born deaf to USR1, and so can't die of one that comes before it listens.
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        self._selector.register(self._stdin, selectors.EVENT_READ, self._read_input)
        self._selector.register(self._wake, selectors.EVENT_READ, self._read_wake)
        if self._door:
            self._selector.register(self._door, selectors.EVENT_READ, self._open_door)

    def _end(self, *_) -> None:
        self._ending = True

    def _own_descriptors(self) -> list[int]:
        """What a child must close, so that nobody but this process holds it open."""
        own = [self._wake, self._wake_writer, self._stdin, self._out.fd, self._selector.fileno()]
        own += [c.pipe for c in self._children.values() if c.pipe >= 0]
        own += [self._door.fileno()] if self._door else []
        return own + ([self._deep.requests, self._deep.answers] if self._deep else [])

    def loop(self) -> None:
        """Serve until the input ends or SIGTERM comes; then no child is left."""
        while not self._ending and self._out.open:
            for key, _ in self._selector.select():
                key.data()
        self._kill_all()

    # -- the deep parent

    def start_deep(self) -> None:
        """Fork the parent that imports PyTorch. The fork is safe as any: this process has computed nothing."""
        requests_out, requests_in = os.pipe()
        answers_out, answers_in = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _be_deep(requests_out, answers_in, parent, self._own_descriptors() + [requests_in, answers_out])
        os.close(requests_out)
        os.close(answers_in)
        self._deep = Deep(pid, requests_in, answers_out)
        self._selector.register(answers_out, selectors.EVENT_READ, self._read_deep)

    def _read_deep(self) -> None:
        deep = self._deep
        data = os.read(deep.answers, 1 << 16)
        if not data:  # it died; what it did is over, and this parent goes on alone
            self._selector.unregister(deep.answers)
            os.close(deep.answers)
            os.close(deep.requests)
            self._deep = None
            os.waitpid(deep.pid, 0)
            for folder in deep.folders:
                self._out.write({"ended": folder, "code": None, "signal": "SIGKILL", "peak_bytes": 0})
            return
        *lines, deep.rest = (deep.rest + data).split(b"\n")
        for line in lines:
            said = json.loads(line)
            deep.ready = deep.ready or "ready" in said
            deep.folders.discard(said.get("ended"))
            self._out.write(said)

    def _pass_on(self, folder: str, request: dict) -> bool:
        """Hand a request to the deep parent; False where that isn't there."""
        try:
            data = (json.dumps(request) + "\n").encode()
            while data:
                data = data[os.write(self._deep.requests, data):]
        except OSError:
            return False
        self._deep.folders.add(folder)
        return True

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
        if self._deep and request["signal"] in self._deep.folders:
            self._pass_on(request["signal"], request)
            return
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
        if command not in ("run", "ingest", "study"):
            self._refuse(folder, f"The command {command} is not served here.")
            return
        if any(c.folder == folder for c in self._children.values()) or (self._deep and folder in self._deep.folders):
            self._out.write({"error": f"{folder} is being worked on already"})
            return
        if not os.path.isdir(folder):
            self._refuse(folder, "There is no such folder.")
            return
        if self._deep and self._deep.ready and command == "run" and _is_deep(folder) and self._pass_on(folder, request):
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
            be_child(folder, command, request, writer, parent, close=[reader, *self._own_descriptors()])
        os.close(writer)
        os.set_blocking(reader, False)
        child = Child(folder, pid, reader)
        self._children[pid] = child
        self._selector.register(reader, selectors.EVENT_READ, lambda: self._read_pipe(child))
        self._out.write({"started": folder, "pid": pid})

    def _open_door(self) -> None:
        admitted = admit(self._door)
        if admitted is None:
            return
        connection, request, streams = admitted
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            pid = -1  # whoever knocked hears nothing and goes on alone
        if pid == 0:
            be_predictor(connection, request, streams, parent, self._own_descriptors())
        for fd in streams:
            os.close(fd)
        connection.close()
        if pid > 0:
            self._children[pid] = Child(None, pid, -1)

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
            if child.folder is None:
                continue
            killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
            self._out.write({"ended": child.folder, "code": None if killed else os.waitstatus_to_exitcode(status),
                             "signal": signal.Signals(killed).name if killed else None, "peak_bytes": child.peak})

    def _kill_all(self) -> None:
        if self._deep:
            self._selector.unregister(self._deep.answers)
            os.close(self._deep.requests)  # the end of its input: it does as we do
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
        if self._deep:
            self._end_deep(self._deep.pid)

    @staticmethod
    def _end_deep(pid: int) -> None:
        end = time.monotonic() + _GRACE + 1
        while time.monotonic() < end:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)  # in the middle of an import; its children, if any, die with it
        os.waitpid(pid, 0)


def _kill_group(pid: int, number: int) -> None:
    """Signal a child's group; the child alone where it has not made its group yet."""
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, number)
            return
        except (ProcessLookupError, PermissionError):
            continue


def _is_deep(folder: str) -> bool:
    """Whether a trial's family needs PyTorch, or may: a plugin's is unknown."""
    try:
        with open(os.path.join(folder, "trial.json"), encoding="utf-8") as f:
            family = json.load(f)["candidate"]["family"]
    except (OSError, ValueError, KeyError, TypeError):
        return False  # the child will say what is wrong
    return family in DEEP or family not in FAMILIES


def _be_deep(stdin: int, out: int, parent: int, close: list[int]) -> None:
    """What the deep parent does; it never returns."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        die_with(parent)
        for fd in close:
            if fd > 2:
                os.close(fd)
        begun = time.monotonic()
        missing = import_deep()
        lines = Lines(out)
        deep = Parent(stdin, lines, deep=True)
        lines.write({"ready": {"pid": os.getpid(), "versions": versions(), "missing": missing, "deep": True,
                               "import_seconds": round(time.monotonic() - begun, 3)}})
        deep.loop()
        code = 0
    except BaseException:
        import traceback
        traceback.print_exc()
    finally:
        os._exit(code)


def serve() -> int:
    """Import, say `ready`, and serve until the input ends."""
    started = time.monotonic()
    out = Lines(protected_stdout())
    missing = import_light()
    parent = Parent(0, out, deep=False)
    out.write({"ready": {"pid": os.getpid(), "versions": versions(), "missing": missing, "deep": False,
                         "import_seconds": round(time.monotonic() - started, 3)}})
    if importlib.util.find_spec("torch") is not None:
        parent.start_deep()
    parent.loop()
    return 0
