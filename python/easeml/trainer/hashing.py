"""The hashes that tell examples apart: SHA-256 over the fields in program order.

Numbers count as little-endian float64 (−0 as 0, missing as one fixed NaN), text as UTF-8 with its
length, missing text as a tag, series and trees as their nodes' numbers or labels with their count, a picture that came as a file as the SHA-256 of the file's bytes. The
input hash leaves outputs out.
"""

from __future__ import annotations

import hashlib
from array import array

import numpy as np

from .program import Field
from .stored import Numbers, Spill, Stored

_MISSING = np.frombuffer(b"\x01\x00\x00\x00\x00\x00\xf8\x7f", dtype="<f8")[0]


_FLAT = Field("", (1,))
_LABEL = Field("", class_count=0)


_ROWS = 2000
_BYTES = 8_000_000
"""Rows, and about the bytes of rows, that are in memory at a time."""


class _Row:
    """What a row's fields say, some rows at a time: numbers side by side in one array of bytes, everything else as bytes a row."""

    def __init__(self, n: int):
        self.n, self.parts = n, []

    def add(self, f: Field, values) -> None:
        """The next field's values of these rows."""
        if isinstance(values, list):  # the digests of pictures' files
            self.parts.append([b"P" + d for d in values])
        elif values.dtype == object:
            self.parts.append(_bytes(f, values))
        else:
            flat = np.array(values, dtype="<f8").reshape(self.n, -1) + 0.0
            flat[np.isnan(flat)] = _MISSING
            head = np.frombuffer(b"T" + flat.shape[1].to_bytes(4, "little"), np.uint8)
            self.parts.append(np.concatenate([np.broadcast_to(head, (self.n, len(head))), np.ascontiguousarray(flat).view(np.uint8)], axis=1))

    def rows(self) -> list[bytes]:
        """Each row's bytes."""
        parts, held = [], []
        for part in [*self.parts, None]:
            if isinstance(part, np.ndarray):
                held.append(part)
                continue
            if held:
                whole = held[0] if len(held) == 1 else np.concatenate(held, axis=1)
                parts.append([row.tobytes() for row in whole])
                held = []
            if part is not None:
                parts.append(part)
        return parts[0] if len(parts) == 1 else [b"".join(row) for row in zip(*parts)] if parts else [b""] * self.n


def _bytes(f: Field, values: np.ndarray) -> list[bytes]:
    """What objects say, a row each: series and trees, or texts."""
    if f.ragged and f.is_class:
        return [b"L" + len(v).to_bytes(4, "little") + b"".join(_bytes(_LABEL, v)) for v in values]
    if f.ragged:
        return [b"R" + len(v).to_bytes(4, "little") + row for v in values for row in _numbers(v)]
    out = []
    for v in values:
        if v is None:
            out.append(b"M")
        else:
            text = v.encode("utf-8")
            out.append(b"S" + len(text).to_bytes(4, "little") + text)
    return out


def _numbers(values: np.ndarray) -> list[bytes]:
    row = _Row(1)
    row.add(_FLAT, values.reshape(1, -1))
    return row.rows()


def _some(values, begin: int, end: int):
    """Some rows of a column: of pictures that came as files, these files' digests."""
    if isinstance(values, np.ndarray):
        return values[begin:end]
    return values.digests(begin, end) if isinstance(values, Stored) and values.files else values.rows(begin, end)


LENGTH = 32
"""Bytes of a hash."""


class Hashes:
    """A growing column of hashes in a `Spill`; ``heads`` are the first eight bytes of each, in memory."""

    def __init__(self, spill: Spill):
        self._whole = Numbers(spill, LENGTH, np.uint8)
        self._heads = array("Q")

    def __len__(self) -> int:
        return len(self._heads)

    def append(self, those: np.ndarray) -> None:
        """Add hashes [m, `LENGTH`] bytes."""
        self._whole.append(those)
        self._heads.frombytes(np.ascontiguousarray(those[:, :8]).view(">u8").astype(np.uint64).tobytes())

    @property
    def heads(self) -> np.ndarray:
        """Ints [n], in the order of the hashes where they differ."""
        return np.frombuffer(self._heads, np.uint64)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Hashes by their places, which rise: [m, `LENGTH`] bytes."""
        return self._whole.take(rows)


def hashes(inputs: list, outputs: list, n: int, spill: Spill) -> tuple[Hashes, Hashes]:
    """For n rows the example hashes and the input hashes.

    Columns are arrays ([n, size] floats or [n] objects, str or None) or what of `stored` stands for them, each with its
    field, in program order.
    """
    examples, bare = Hashes(spill), Hashes(spill)
    width = sum(8 * f.size for f, _ in inputs + outputs)
    step = max(1, min(_ROWS, _BYTES // max(1, width)))
    for begin in range(0, n, step):
        end = min(n, begin + step)
        ins, outs = _Row(end - begin), _Row(end - begin)
        for row, columns in ((ins, inputs), (outs, outputs)):
            for f, values in columns:
                row.add(f, _some(values, begin, end))
        both = np.empty((2, end - begin, LENGTH), np.uint8)
        for i, (a, b) in enumerate(zip(ins.rows(), outs.rows())):
            h = hashlib.sha256(a)
            both[1, i] = np.frombuffer(h.digest(), np.uint8)
            h.update(b)
            both[0, i] = np.frombuffer(h.digest(), np.uint8)
        examples.append(both[0])
        bare.append(both[1])
    return examples, bare


def as_text(those: np.ndarray) -> list[str]:
    """Hashes in hexadecimal, as files have them."""
    whole, width = those.tobytes().hex(), 2 * LENGTH
    return [whole[i:i + width] for i in range(0, len(whole), width)]


def of_text(texts: list[str]) -> np.ndarray:
    """The reverse of `as_text`."""
    return np.frombuffer(bytes.fromhex("".join(texts)), np.uint8).reshape(-1, LENGTH)


def told_apart(*those: Hashes) -> np.ndarray:
    """Each hash's place among the different ones of several columns, in their order: ints [n], equal where the hashes are equal."""
    heads = those[0].heads if len(those) == 1 else np.concatenate([h.heads for h in those])
    out = np.zeros(len(heads), np.int32)
    if not len(heads):
        return out
    order = np.argsort(heads, kind="stable").astype(np.int32)
    first = np.zeros(len(heads), bool)
    first[1:] = heads[order[1:]] != heads[order[:-1]]
    # Where heads are equal, and there only, the rest decides: those hashes are looked at whole.
    alike = np.flatnonzero(~np.append(first[1:], True) | ~first & (np.arange(len(heads)) > 0))
    if len(alike):
        rows = order[alike]
        rising = np.argsort(rows, kind="stable")
        words = np.empty((len(rows), LENGTH // 8), np.uint64)
        words[rising] = _taken(those, rows[rising].astype(np.int64)).view(">u8")
        again = np.lexsort((rows, *words.T[::-1]))
        order[alike], words = rows[again], words[again]
        beside = np.flatnonzero(np.diff(alike) == 1)
        first[alike[beside + 1]] = (words[beside + 1] != words[beside]).any(axis=1)
    out[order] = np.cumsum(first, dtype=np.int32)
    return out


def _taken(those: tuple[Hashes, ...], rows: np.ndarray) -> np.ndarray:
    """Rows of several columns of hashes as if they were one."""
    out, begin = [], 0
    for h in those:
        low, high = np.searchsorted(rows, (begin, begin + len(h)))
        out.append(h.take(rows[low:high] - begin))
        begin += len(h)
    return np.ascontiguousarray(np.concatenate(out))


def occurrences(told: np.ndarray) -> np.ndarray:
    """How many earlier rows are equal to each: ints [n]."""
    out = np.empty(len(told), np.int64)
    if len(told):
        order = np.argsort(told, kind="stable")
        begins = np.flatnonzero(np.concatenate([[True], told[order[1:]] != told[order[:-1]]]))
        out[order] = np.arange(len(told)) - np.repeat(begins, np.diff(np.append(begins, len(told))))
    return out
