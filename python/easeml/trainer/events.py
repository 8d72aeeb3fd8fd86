"""events.jsonl: what an attempt says about itself, one JSON object a line, appended by one writer."""

from __future__ import annotations

import json
import math
import os
import socket
import sys
import threading
import time
from pathlib import Path


def plain(value):
    """A value as JSON may hold it: NaN and infinities become ``"nan"``, ``"inf"``, ``"-inf"``."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, bool) or value is None or isinstance(value, (int, str)):
        return value
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return plain(value.tolist())
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        return value
    return str(value)


def dump(value) -> str:
    """`value` as one line of strict JSON."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def write_json(path: Path, value) -> None:
    """Write JSON so that a reader sees the old file or the whole new one, also after a crash."""
    partial = path.with_name(path.name + ".partial")
    with open(partial, "w", encoding="utf-8") as f:
        f.write(dump(value))
        f.flush()
        os.fsync(f.fileno())
    os.replace(partial, path)


def begin(folder: Path, notify, versions: dict[str, str], device_name: str) -> EventLog | None:
    """The log of a folder whose work begins now, with its first event; None, and a line on stderr, where it can't be written."""
    try:
        log = EventLog(folder, notify)
    except OSError as error:
        print(f"{folder} can't be written: {error}", file=sys.stderr)
        return None
    log.write("started", pid=os.getpid(), host=socket.gethostname(), versions=versions, device_name=device_name)
    return log


class EventLog:
    """Appends numbered, timed lines to ``FOLDER/events.jsonl``.

    `nudge`, where given, is called after each line: the warm parent's pipe. Threads may share a log.
    """

    def __init__(self, folder: Path, nudge=None):
        self._start = time.monotonic()
        self._lock = threading.Lock()
        self._n = 0
        self._nudge = nudge
        self._fd = os.open(folder / "events.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.ended = False
        """True once done, paused or failed was written; later lines are dropped."""

    def seconds(self) -> float:
        """Seconds since the attempt began."""
        return time.monotonic() - self._start

    def write(self, type_: str, /, **fields) -> bool:
        """Append one event. False where the attempt has ended already."""
        with self._lock:
            if self.ended:
                return False
            self.ended = type_ in ("done", "paused", "failed")
            self._n += 1
            line = {"n": self._n, "t": round(self.seconds(), 4), "type": type_, **fields}
            # One write call a line: a reader sees a torn line only at a crash.
            os.write(self._fd, (dump(line) + "\n").encode())
        if self._nudge:
            self._nudge()
        return True
