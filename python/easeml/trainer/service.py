"""How a folder of a service slot (`ingest`, `study`) runs: its events say how it began and how it ended."""

from __future__ import annotations

import platform
import traceback
from pathlib import Path

from .events import begin
from .fault import Fault, one_sentence


def serve_folder(folder: Path, work, notify=None, memory=None, *, short: dict, broken: str) -> int:
    """Call ``work(folder, log)``; exit status 0: the events say how it ended.

    `short` are the fields of ``failed`` where the memory was not enough, `broken` says what went wrong in our own
    code. `notify()` is called after each event, `memory(bytes)` with the peak of private bytes.
    """
    folder = Path(folder).resolve()
    log = begin(folder, notify, {"python": platform.python_version()}, platform.machine())
    if log is None:
        return 1
    try:
        work(folder, log)
    except Fault as fault:
        log.write("failed", **fault.as_event())
    except MemoryError:
        log.write("failed", kind="memory", **short)
    except Exception as error:
        traceback.print_exc()
        log.write("failed", kind="bug", message=f"{broken} in our own code ({one_sentence(error)}).")
    if memory:
        from .memory import private_bytes
        memory(private_bytes())
    return 0
