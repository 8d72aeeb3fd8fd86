"""The hashes that tell examples apart: SHA-256 over the fields in program order.

Numbers count as little-endian float64 (−0 as 0, missing as one fixed NaN), text as UTF-8 with its
length, missing text as a tag, series and trees as their nodes' numbers or labels with their count, a picture that came as a file as the SHA-256 of the file's bytes. The
input hash leaves outputs out.
"""

from __future__ import annotations

import hashlib

import numpy as np

from .program import Field
from .stored import Stored

_MISSING = np.frombuffer(b"\x01\x00\x00\x00\x00\x00\xf8\x7f", dtype="<f8")[0]


_FLAT = Field("", (1,))
_LABEL = Field("", class_count=0)


_ROWS = 2000
"""Rows whose bytes are in memory at a time."""


def _bytes_of(f: Field, values: np.ndarray | Stored, begin: int, end: int) -> list[bytes]:
    if isinstance(values, Stored) and values.files:
        return [b"P" + d for d in values[np.arange(begin, end)].digests()]
    return _bytes(f, values.rows(begin, end) if isinstance(values, Stored) else values[begin:end])


def _bytes(f: Field, values: np.ndarray) -> list[bytes]:
    if f.ragged and f.is_class:
        return [b"L" + len(v).to_bytes(4, "little") + b"".join(_bytes(_LABEL, v)) for v in values]
    if f.ragged:
        return [b"R" + len(v).to_bytes(4, "little") + part for v in values for part in _bytes(_FLAT, v.reshape(1, -1))]
    if values.dtype == object:
        out = []
        for v in values:
            if v is None:
                out.append(b"M")
            else:
                text = v.encode("utf-8")
                out.append(b"S" + len(text).to_bytes(4, "little") + text)
        return out
    flat = np.array(values, dtype="<f8").reshape(len(values), -1) + 0.0
    flat[np.isnan(flat)] = _MISSING
    head = b"T" + flat.shape[1].to_bytes(4, "little")
    width = flat.shape[1] * 8
    whole = flat.tobytes()
    return [head + whole[i * width:(i + 1) * width] for i in range(len(flat))]


LENGTH = 32
"""Bytes of a hash."""


def hashes(inputs: list[tuple[Field, np.ndarray]], outputs: list[tuple[Field, np.ndarray]], n: int) -> tuple[np.ndarray, np.ndarray]:
    """For n rows the example hashes and the input hashes, each [n, `LENGTH`] bytes.

    Columns are [n, size] floats or [n] objects (str or None), in program order.
    """
    examples, bare = np.empty((n, LENGTH), np.uint8), np.empty((n, LENGTH), np.uint8)
    for begin in range(0, n, _ROWS):
        end = min(n, begin + _ROWS)
        in_parts = [_bytes_of(f, v, begin, end) for f, v in inputs]
        out_parts = [_bytes_of(f, v, begin, end) for f, v in outputs]
        for i in range(end - begin):
            h = hashlib.sha256(b"".join([part[i] for part in in_parts]))
            bare[begin + i] = np.frombuffer(h.digest(), np.uint8)
            for part in out_parts:
                h.update(part[i])
            examples[begin + i] = np.frombuffer(h.digest(), np.uint8)
    return examples, bare


def as_text(those: np.ndarray) -> list[str]:
    """Hashes in hexadecimal, as files have them."""
    whole, width = those.tobytes().hex(), 2 * LENGTH
    return [whole[i:i + width] for i in range(0, len(whole), width)]


def of_text(texts: list[str]) -> np.ndarray:
    """The reverse of `as_text`."""
    return np.frombuffer(bytes.fromhex("".join(texts)), np.uint8).reshape(-1, LENGTH)


def told_apart(those: np.ndarray) -> np.ndarray:
    """Each hash's place among the different ones, in their order: ints [n], equal where the hashes are equal."""
    out = np.zeros(len(those), np.int32)
    if len(those):
        words = np.ascontiguousarray(those).view(">u8")
        order = np.lexsort(words.T[::-1])
        first = np.zeros(len(those), bool)
        for word in words.T:
            first[1:] |= word[order[1:]] != word[order[:-1]]
        out[order] = np.cumsum(first, dtype=np.int32)
    return out


def occurrences(told: np.ndarray) -> np.ndarray:
    """How many earlier rows are equal to each: ints [n]."""
    out = np.empty(len(told), np.int64)
    if len(told):
        order = np.argsort(told, kind="stable")
        begins = np.flatnonzero(np.concatenate([[True], told[order[1:]] != told[order[:-1]]]))
        out[order] = np.arange(len(told)) - np.repeat(begins, np.diff(np.append(begins, len(told))))
    return out
