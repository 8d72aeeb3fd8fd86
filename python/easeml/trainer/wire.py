"""JSON lines on the real stdin and stdout, kept clean of what libraries print."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO, Iterator

from .events import dump


def protected_stdout() -> int:
    """A descriptor of the real stdout; file descriptor 1, and so every print, goes to stderr from now on."""
    sys.stdout.flush()
    real = os.dup(1)
    os.set_inheritable(real, False)
    os.dup2(2, 1)
    return real


class Lines:
    """Writes one JSON object a line to a descriptor, whole lines only. False once nobody reads any more."""

    def __init__(self, fd: int):
        self.fd = fd
        self.open = True

    def write(self, value: dict) -> bool:
        """Send one object."""
        data = (dump(value) + "\n").encode()
        try:
            while data:
                data = data[os.write(self.fd, data):]
        except (BrokenPipeError, OSError):
            self.open = False
        return self.open


def requests(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream that aren't blank, until its end."""
    for line in stream:
        if line.strip():
            yield line
