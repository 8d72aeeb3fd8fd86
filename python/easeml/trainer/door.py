"""The warm parents' door: a predictor asks there to be forked instead of importing everything itself.

`predict` and `serve` are started by one process, the server. Each warm parent listens on an abstract
socket whose name is made of that process's id; `predict` knocks, hands over its standard streams and
the model's folder, and waits for the forked child to end. Nobody there, or another user: it goes on alone.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from pathlib import Path

_ANSWER_WITHIN = 10.0
"""Seconds that `predict` waits for the child's first byte before it goes on alone."""


def _name(deep: bool) -> str:
    return f"\0easeml-warm-{os.getuid()}-{os.getppid()}" + ("-deep" if deep else "")


def _same_user(connection: socket.socket) -> bool:
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", raw)[1] == os.getuid()


def listen(deep: bool) -> socket.socket | None:
    """A listening socket; None where there are none of this kind, or another parent has the name."""
    if sys.platform != "linux":
        return None
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        door.bind(_name(deep))
        door.listen(16)
        door.setblocking(False)
        return door
    except OSError:
        door.close()
        return None


def admit(door: socket.socket) -> tuple[socket.socket, dict, list[int]] | None:
    """Who knocked: the connection, the request, and the three streams; None for one that makes no sense."""
    try:
        connection, _ = door.accept()
    except OSError:
        return None
    fds: list[int] = []
    try:
        connection.settimeout(1.0)  # the request is sent right after connecting
        if _same_user(connection):
            data, fds, _, _ = socket.recv_fds(connection, 1 << 16, 3)
            request = json.loads(data)
            if len(fds) == 3 and isinstance(request, dict):
                connection.settimeout(None)
                return connection, request, fds
    except (OSError, ValueError):
        pass
    for fd in fds:
        os.close(fd)
    connection.close()
    return None


def knock(folder: Path, deep: bool) -> int | None:
    """Have a warm parent answer for this process; the exit status, or None where it must be done here."""
    if sys.platform != "linux":
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        try:
            connection.connect(_name(deep))
            if not _same_user(connection):
                return None
            request = {"folder": str(folder), "threads": int(os.environ.get("OMP_NUM_THREADS") or 1)}
            socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
            connection.settimeout(_ANSWER_WITHIN)
            if connection.recv(16) != b"here":
                return None
        except (OSError, ValueError):
            return None
        connection.settimeout(None)
        try:
            return int(connection.recv(16) or b"1")
        except (OSError, ValueError):
            return 1
