"""Columns that don't fit in memory: the numbers of pictures and other tensors, kept in a file while a feed is read.

A `Stored` behaves as an array [n, size] does where ingest needs it: its length, taking rows, and going
through them in batches. Taking rows copies nothing: it remembers which.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from pathlib import Path
from typing import Iterable, Iterator

import numpy as np

BATCH_BYTES = 8_000_000
"""About so much is in memory at a time."""


class Spill:
    """One file that pieces of a column are appended to and read from again. It is deleted at once: it lives while it is open."""

    def __init__(self, folder: Path, size: int):
        path = folder / f"numbers-{size}.partial"
        self._file = open(path, "w+b")
        os.unlink(path)
        self.size = size
        self.pieces: list[tuple[int, int, np.dtype]] = []  # offset in the file, rows, type
        self.digests = bytearray()
        self.rows = 0

    def append(self, values: np.ndarray, digests: list[bytes] | None = None) -> None:
        """Add rows [m, size]; of pictures that came as files with the SHA-256 of each one's file."""
        if not len(values):
            return
        self._file.seek(0, os.SEEK_END)
        self.pieces.append((self._file.tell(), len(values), values.dtype))
        self._file.write(np.ascontiguousarray(values).tobytes())
        self._file.flush()
        self.digests += b"".join(digests or [])
        self.rows += len(values)

    def load(self, piece: int) -> np.ndarray:
        """The rows of one piece."""
        offset, rows, dtype = self.pieces[piece]
        content = os.pread(self._file.fileno(), rows * self.size * dtype.itemsize, offset)
        return np.frombuffer(content, dtype=dtype).reshape(rows, self.size)


class Stored:
    """Rows of a `Spill`, in the order of ``index`` (which rises)."""

    def __init__(self, spill: Spill, index: np.ndarray | None = None):
        self._spill = spill
        self._index = np.arange(spill.rows, dtype=np.int64) if index is None else index
        self.dtype = np.result_type(*({d for _, _, d in spill.pieces} or {np.dtype(np.uint8)}))

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, rows: np.ndarray) -> "Stored":
        return Stored(self._spill, self._index[rows])

    @property
    def size(self) -> int:
        """Numbers in a row."""
        return self._spill.size

    @property
    def files(self) -> bool:
        """Whether each row came as a file of its own, whose bytes tell it apart."""
        return bool(self._spill.digests)

    def digests(self) -> list[bytes]:
        """The SHA-256 of each row's file."""
        return [self._spill.digests[32 * i:32 * i + 32] for i in self._index]

    def rows(self, begin: int, end: int) -> np.ndarray:
        """Some rows in order, in memory."""
        return np.concatenate(list(self[np.arange(begin, end)].batches()))

    def batches(self) -> Iterator[np.ndarray]:
        """All rows in order, as arrays [m, size] of about `BATCH_BYTES`."""
        held: list[np.ndarray] = []
        count, begin, most = 0, 0, max(1, BATCH_BYTES // max(1, self.size * self.dtype.itemsize))
        for piece, (_, rows, _) in enumerate(self._spill.pieces):
            low, high = np.searchsorted(self._index, (begin, begin + rows))
            if high > low:
                part = self._spill.load(piece)[self._index[low:high] - begin].astype(self.dtype, copy=False)
                held.append(part)
                count += len(part)
                if count >= most:
                    yield np.concatenate(held)
                    held, count = [], 0
            begin += rows
        if held:
            yield np.concatenate(held)

    def sample(self) -> np.ndarray:
        """Some rows, evenly spread, as floats: at most 500 and about `BATCH_BYTES`; enough to know how the values lie."""
        most = max(1, min(500, BATCH_BYTES // (4 * self.size)))
        if len(self) > most:
            return self[np.linspace(0, len(self) - 1, most).astype(np.int64)].sample()
        parts = [b.astype(np.float32) for b in self.batches()]
        return np.concatenate(parts) if parts else np.zeros((0, self.size), np.float32)


class Texts:
    """Texts that hardly repeat, kept in a file while a feed is read; in memory is only where each ends. None and "" are one."""

    def __init__(self, folder: Path):
        self._file = tempfile.TemporaryFile(dir=folder)
        self._ends = array("q")
        self._end = 0

    def extend(self, texts: Iterable[str | None]) -> None:
        """Add texts at the end."""
        for text in texts:
            if text:
                content = text.encode("utf-8", "surrogatepass")
                self._file.write(content)
                self._end += len(content)
            self._ends.append(self._end)
        self._file.flush()

    def __getitem__(self, i: int) -> str | None:
        begin, end = self._ends[i - 1] if i else 0, self._ends[i]
        return os.pread(self._file.fileno(), end - begin, begin).decode("utf-8", "surrogatepass") if end > begin else None


class Codes:
    """A column of texts that repeat, each different one in memory once. ``codes`` are places in ``texts``, −1 for None."""

    def __init__(self):
        self.texts: list[str] = []
        self._codes = array("i")
        self._places: dict[str | None, int] = {None: -1}

    def extend(self, texts: Iterable[str | None]) -> None:
        """Add rows at the end."""
        for text in texts:
            code = self._places.get(text)
            if code is None:
                code = self._places[text] = len(self.texts)
                self.texts.append(text)
            self._codes.append(code)

    @property
    def codes(self) -> np.ndarray:
        """Ints [n]."""
        return np.array(self._codes, dtype=np.int32)

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, i: int) -> str | None:
        code = self._codes[i]
        return None if code < 0 else self.texts[code]

    def __iter__(self) -> Iterator[str | None]:
        return (None if code < 0 else self.texts[code] for code in self._codes)
