"""The forked child: its own group, its own log, and one folder to work on. It never returns into the parent's code."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Let the kernel kill this process when its parent dies; leave at once if that has happened."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):  # another system than Linux: the parent kills its groups at its end
        pass
    if os.getppid() != parent:
        os._exit(1)


def leave_parent(parent: int) -> None:
    """Make a forked child a group of its own that takes signals as a fresh process does, and ends with its parent."""
    signal.set_wakeup_fd(-1)
    os.setsid()
    die_with(parent)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def be_child(folder: str, command: str, request: dict, writer: int, parent: int, close: list[int]) -> None:
    """What the forked child does; it never returns."""
    code = 1
    try:
        leave_parent(parent)
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
        elif command == "study":
            from .study import study
            code = study(Path(folder), notify, memory)
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


def be_predictor(connection, request: dict, streams: list[int], parent: int, close: list[int]) -> None:
    """What a child that answers for a `predict` process does, on that process's streams; it never returns."""
    code = 1
    try:
        leave_parent(parent)
        for target, fd in enumerate(streams):
            os.dup2(fd, target)
        for fd in (*close, *streams):
            if fd > 2:
                os.close(fd)
        connection.send(b"here")
        sys.stdin = open(0, closefd=False)
        threads = int(request.get("threads") or 1)
        import threadpoolctl
        threadpoolctl.threadpool_limits(threads)
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(threads)
        from .predict import answer_until_end
        code = answer_until_end(Path(request["folder"]))
        connection.send(b"%d" % code)
    except BaseException:
        import traceback
        traceback.print_exc()
    finally:
        os._exit(code)
