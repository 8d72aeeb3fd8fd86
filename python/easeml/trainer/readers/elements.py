"""What a MATLAB file up to version 7 is made of: elements with a type and a length, some in each other, some packed.

SciPy takes the types that stand in a file for places in a table of its own, so a file is walked through before SciPy reads it.
The form is MathWorks' ("MAT-File Format", level 5).
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import BinaryIO

MATRIX, PACKED = 14, 15
NUMBERS = frozenset((1, 2, 3, 4, 5, 6, 7, 9, 12, 13))
TEXTS = frozenset((16, 17, 18))
HOLDING = frozenset((1, 2, 3, 16, 17))
"""The classes of matrices that hold others: cells, structs, objects, functions."""

_CHUNK = 1 << 20
_DEEP = 100


class Inflated:
    """What a packed element of so many bytes becomes, read from front to end."""

    def __init__(self, file: BinaryIO, size: int):
        self._file, self._left, self._inflate, self._ready = file, size, zlib.decompressobj(), b""

    def read(self, size: int) -> bytes:
        """So many bytes, fewer at the end. Raises `zlib.error`."""
        parts, wanted = [], size
        while wanted:
            if not self._ready:
                packed = self._inflate.unconsumed_tail or self._file.read(min(_CHUNK, self._left))
                if not self._inflate.unconsumed_tail:
                    self._left -= len(packed)
                self._ready = self._inflate.decompress(packed, _CHUNK)
                if not self._ready and (not packed or self._inflate.eof):
                    break
            parts.append(self._ready[:wanted])
            self._ready = self._ready[wanted:]
            wanted -= len(parts[-1])
        return b"".join(parts)


def check(path: Path) -> None:
    """Walk through the elements of a file. Raises ValueError or `zlib.error` where one is none, or leads out of what holds it."""
    size = path.stat().st_size
    with open(path, "rb") as f:
        order = {b"IM": "<", b"MI": ">"}.get(f.read(128)[126:])
        if order is None:
            return  # version 4 has no elements
        while f.tell() + 8 <= size:
            kind, length = struct.unpack(order + "II", f.read(8))
            end = f.tell() + length
            if end > size:
                raise ValueError("it breaks off")
            if kind == PACKED:
                inner = Inflated(f, length)
                kind, length = struct.unpack(order + "II", _exactly(inner, 8))
            else:
                inner = f
            if kind != MATRIX:
                raise ValueError(f"an element has the type {kind}")
            _matrix(inner, length, order, 0)
            f.seek(end)


def _matrix(f, left: int, order: str, depth: int) -> None:
    """Walk through a matrix of so many bytes: its class, shape and name, then numbers, text, or matrices."""
    if depth > _DEEP:
        raise ValueError("it is nested too deeply")
    place, class_ = 0, None
    while left >= 8:
        kind, length = struct.unpack(order + "II", _exactly(f, 8))
        left -= 8
        if kind >> 16:  # a short one, with its bytes in place of its length
            kind, length, inside = kind & 0xFFFF, 0, struct.pack(order + "I", length)
        else:
            inside = b""
        if length > left:
            raise ValueError("an element leads out of what holds it")
        if kind == MATRIX and place and class_ in HOLDING:
            _matrix(f, length, order, depth + 1)
            left -= length
        elif kind in NUMBERS or kind in TEXTS:
            whole = min(left, -(-length // 8) * 8)
            if not place:
                inside = inside or _exactly(f, min(8, whole))
                whole -= min(8, whole) if length else 0
                left -= min(8, left) if length else 0
                class_ = struct.unpack(order + "I", inside[:4])[0] & 0xFF
            _skip(f, whole)
            left -= whole
        else:
            raise ValueError(f"an element has the type {kind}")
        place += 1
    _skip(f, left)


def _exactly(f, size: int) -> bytes:
    found = f.read(size)
    if len(found) < size:
        raise ValueError("it breaks off")
    return found


def _skip(f, size: int) -> None:
    while size:
        size -= len(_exactly(f, min(size, _CHUNK)))
