"""A writer of SAS's own data sets (.sas7bdat), for no library on hand writes them: 64 bits, little-endian.

The format is the one that its readers agree on (M. Shotwell and others, *SAS7BDAT Database Binary Format*): a
header that says how long it and the pages are, and pages. The first page has pointers to subheaders, which lie
at its end and describe the columns, and between both the first rows; the other pages have rows alone. Nothing
is compressed.
"""

from __future__ import annotations

import datetime
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

MAGIC = bytes.fromhex("00000000000000000000 0000c2ea8160b31411cfbd920800 09c7318c181f1011")
WIDE, UNIX, UTF8 = 0x33, b"1", 20
EPOCH = datetime.date(1960, 1, 1)
HEADER, PAGE = 1024, 4096
PAGE_HEAD, POINTER = 40, 24
MIX, ROWS = 0x200, 0x100
NUMBER, TEXT = 1, 2

ROW_SIZE, COLUMN_SIZE = 0xF7F7F7F7, 0xF6F6F6F6
COLUMN_TEXT, COLUMN_NAME, COLUMN_ATTRIBUTES, COLUMN_FORMAT = (2**64 - k for k in (3, 1, 4, 0x402))


@dataclass(frozen=True)
class Column:
    """A column: numbers, or text of so many bytes (``width``).

    ``format``: how SAS shows it; with DATE the numbers are days since 1960.
    """

    name: str
    width: int = 0
    format: str = ""
    label: str = ""

    @property
    def bytes(self) -> int:
        """What a value takes of a row."""
        return self.width or 8

    def packed(self, value: Any) -> bytes:
        """A value as it lies in a row. Missing numbers: ``None`` is the system's, "A" to "Z" and "_" are one's own."""
        if self.width:
            text = (value or "").encode()
            assert len(text) <= self.width
            return text.ljust(self.width)
        if value is None:
            return _missing(1)
        if isinstance(value, str):
            return _missing(0 if value == "_" else ord(value) - ord("A") + 2)
        if isinstance(value, datetime.date):
            value = (value - EPOCH).days
        assert math.isfinite(value)
        return struct.pack("<d", value)


def _missing(which: int) -> bytes:
    """The number that is none, and says which."""
    return bytes(5) + bytes([255 - which]) + b"\xff\xff"


def write(path: Path, columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> None:
    """The rows, each with a value for each column, as a data set."""
    length = sum(c.bytes for c in columns)
    packed = [b"".join(c.packed(v) for c, v in zip(columns, row, strict=True)) for row in rows]
    described = _described(columns)
    room = PAGE - PAGE_HEAD - POINTER * (1 + len(described)) - sum(map(len, described)) - 808
    first = min(len(rows), room // length)
    row_size = _placed(808, {0: ROW_SIZE, 40: length, 48: len(rows), 72: len(columns), 104: PAGE, 120: first})
    pages = [_first_page([row_size, *described], packed[:first])]
    each = (PAGE - PAGE_HEAD) // length
    for at in range(first, len(packed), each):
        some = packed[at:at + each]
        pages.append((_page_head(ROWS, len(some), 0) + b"".join(some)).ljust(PAGE, b"\0"))
    path.write_bytes(_header(path.stem, len(pages)) + b"".join(pages))


def _placed(size: int, numbers: dict[int, int]) -> bytes:
    """A subheader of so many bytes: whole numbers of 8 bytes by their place."""
    out = bytearray(size)
    for at, number in numbers.items():
        struct.pack_into("<Q", out, at, number)
    return bytes(out)


def _sized(signature: int, content: bytes) -> bytes:
    """A subheader that says how long it is, its two ends not counted."""
    return struct.pack("<QH6x", signature, len(content) + 8) + content + bytes(12)


def _described(columns: Sequence[Column]) -> list[bytes]:
    """What describes the columns: how many, their texts, and where each has its name, values, format, label."""
    texts, at = bytearray(20), {}
    for text in (t for c in columns for t in (c.name, c.format, c.label) if t):
        if text not in at:
            at[text] = (0, 8 + len(texts), len(text.encode()))
            texts += text.encode() + bytes(-len(text.encode()) % 4)
    place = lambda text: struct.pack("<HHH", *at.get(text, (0, 0, 0)))  # noqa: E731
    begins = [sum(c.bytes for c in columns[:i]) for i in range(len(columns))]
    values = (struct.pack("<QIHBx", b, c.bytes, 4, TEXT if c.width else NUMBER) for b, c in zip(begins, columns))
    return [_placed(24, {0: COLUMN_SIZE, 8: len(columns)}), _sized(COLUMN_TEXT, bytes(texts)),
            _sized(COLUMN_NAME, b"".join(place(c.name) + bytes(2) for c in columns)),
            _sized(COLUMN_ATTRIBUTES, b"".join(values)),
            *(struct.pack("<Q38x", COLUMN_FORMAT) + place(c.format) + place(c.label) + bytes(6) for c in columns)]


def _page_head(kind: int, blocks: int, subheaders: int) -> bytes:
    return struct.pack("<32xHHHxx", kind, blocks, subheaders)


def _first_page(subheaders: list[bytes], rows: list[bytes]) -> bytes:
    """Pointers, rows, and at the end of the page what the pointers lead to."""
    end, pointers = PAGE, b""
    for s in subheaders:
        end -= len(s)
        pointers += struct.pack("<QQBB6x", end, len(s), 0, 0)
    head = _page_head(MIX, len(subheaders) + len(rows), len(subheaders)) + pointers + b"".join(rows)
    assert len(head) <= end, "the columns don't fit into one page"
    return head.ljust(end, b"\0") + b"".join(reversed(subheaders))


def _header(name: str, pages: int) -> bytes:
    out = bytearray(HEADER)
    for at, text in ((0, MAGIC), (84, b"SAS FILE"), (92, name.encode()[:64].ljust(64)), (156, b"DATA    "),
                     (224, b"9.0401M6"), (232, b"Linux".ljust(16, b"\0"))):
        out[at:at + len(text)] = text
    out[32] = out[35] = WIDE  # 64 bits, and what follows the name four bytes later
    out[37], out[39:40], out[70] = 1, UNIX, UTF8
    struct.pack_into("<ddddIIQ", out, 168, 0, 0, 0, 0, HEADER, PAGE, pages)
    return bytes(out)
