"""Columns that don't fit in memory: what a feed has read so far lies in one scratch file until it is written.

A column grows by `append` (`Numbers`, `Words`, `Nodes`, `Tokens`, `Texts`) and is then seen as rows of it (`Stored`,
`Worded`, `StoredNodes`, `StoredTokens`), which behave as an array does where ingest needs it: their length, some rows, and going through them in
batches. Choosing rows copies nothing: all columns share one array that says which.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from pathlib import Path
from typing import Iterable, Iterator

import numpy as np

BATCH_BYTES = 8_000_000
"""About so much is in memory at a time."""


class Spill:
    """The scratch file of a feed. It is deleted at once: it lives while it is open."""

    def __init__(self, folder: Path):
        path = folder / "columns.partial"
        self._file = open(path, "w+b", buffering=0)
        os.unlink(path)
        self._end = 0

    def write(self, content) -> int:
        """Add bytes at the end; where they begin."""
        begun, view = self._end, memoryview(content).cast("B")
        while len(view):
            view = view[self._file.write(view):]
        self._end = begun + len(memoryview(content).cast("B"))
        return begun

    def read(self, offset: int, count: int) -> bytes:
        """Bytes from a place."""
        return os.pread(self._file.fileno(), count, offset)


class Numbers:
    """A growing column of numbers [n, size] in a `Spill`. ``digests``: of pictures that came as files, each file's SHA-256.

    `dtype` is that of a column without rows; else it is what holds all that was added.
    """

    def __init__(self, spill: Spill, size: int = 1, dtype: type = np.float64):
        self.spill, self.size, self._empty = spill, size, np.dtype(dtype)
        self.digests: Numbers | None = None
        self._offsets, self._ends, self._types = array("q"), array("q"), bytearray()
        self._dtypes: list[np.dtype] = []

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def append(self, values: np.ndarray, digests: list[bytes] | None = None) -> None:
        """Add rows [m, size]; `digests` where they came as picture files."""
        if not len(values):
            return
        if values.dtype not in self._dtypes:
            self._dtypes.append(values.dtype)
        before = len(self)
        self._offsets.append(self.spill.write(np.ascontiguousarray(values)))
        self._types.append(self._dtypes.index(values.dtype))
        self._ends.append(before + len(values))
        if digests is not None:
            self.digests = self.digests or Numbers(self.spill, 32, np.uint8)
            self.digests.append(np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 32))

    @property
    def dtype(self) -> np.dtype:
        """One that holds all that was added."""
        return np.result_type(*(self._dtypes or [self._empty]))

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Rows [m, size] by their places, which rise."""
        out = np.empty((len(rows), self.size), self.dtype)
        if not len(rows):
            return out
        ends = np.frombuffer(self._ends, np.int64)
        first, last = np.searchsorted(ends, (rows[0], rows[-1]), side="right").tolist()
        at = 0
        for piece in range(first, last + 1):
            begin = self._ends[piece - 1] if piece else 0
            to = at + int(np.searchsorted(rows[at:], self._ends[piece])) if piece < last else len(rows)
            if to > at:
                low, high = int(rows[at]), int(rows[to - 1]) + 1
                dtype = self._dtypes[self._types[piece]]
                width = self.size * dtype.itemsize
                content = self.spill.read(self._offsets[piece] + (low - begin) * width, (high - low) * width)
                part = np.frombuffer(content, dtype).reshape(high - low, self.size)
                out[at:to] = part if high - low == to - at else part[rows[at:to] - low]
            at = to
        return out


class Stored:
    """Rows of `Numbers`, in the order of `index` (which rises); all of them where it is None."""

    def __init__(self, column: Numbers, index: np.ndarray | None = None):
        self._column, self._index = column, index
        self.dtype, self.size = column.dtype, column.size

    def __len__(self) -> int:
        return len(self._column) if self._index is None else len(self._index)

    def __getitem__(self, rows: np.ndarray):
        return type(self)(self._column, rows if self._index is None else self._index[rows])

    def _places(self, begin: int, end: int) -> np.ndarray:
        return np.arange(begin, end, dtype=np.int64) if self._index is None else self._index[begin:end]

    @property
    def files(self) -> bool:
        """Whether each row came as a file of its own, whose bytes tell it apart."""
        return self._column.digests is not None

    def digests(self, begin: int, end: int) -> list[bytes]:
        """The SHA-256 of some rows' files."""
        return [d.tobytes() for d in self._column.digests.take(self._places(begin, end))]

    @property
    def row_bytes(self) -> int:
        """About the bytes of a row in memory."""
        return self.size * self.dtype.itemsize

    def rows(self, begin: int, end: int) -> np.ndarray:
        """Some rows in order, in memory: [m, size]."""
        return self._column.take(self._places(begin, min(end, len(self))))

    def whole(self) -> np.ndarray:
        """All rows in memory: for columns of one number."""
        return self.rows(0, len(self))

    def batches(self) -> Iterator[np.ndarray]:
        """All rows in order, as arrays [m, size] of about `BATCH_BYTES`."""
        step = max(1, BATCH_BYTES // max(1, self.row_bytes))
        for begin in range(0, len(self), step):
            yield self.rows(begin, begin + step)

    def sample(self) -> np.ndarray:
        """Some rows, evenly spread, as floats: at most 500 and about `BATCH_BYTES`; enough to know how the values lie."""
        most = max(1, min(500, BATCH_BYTES // (4 * self.size)))
        some = self
        if len(self) > most:
            some = self[np.linspace(0, len(self) - 1, most).astype(np.int64)]
        return np.concatenate([some.rows(i, i + 1) for i in range(len(some))] or [np.zeros((0, self.size))]).astype(np.float32)


class Words:
    """A growing column of texts that repeat: places in ``texts`` in a `Spill`, −1 for None."""

    def __init__(self, spill: Spill):
        self.places = Numbers(spill, dtype=np.int32)
        self.texts: list[str] = []
        self._known: dict[str | None, int] = {None: -1}

    def __len__(self) -> int:
        return len(self.places)

    def append(self, values: Iterable[str | None]) -> None:
        """Add rows."""
        self.places.append(_coded(values, self._known, self.texts)[:, None])


class Worded:
    """Rows of texts that repeat: ``codes`` gives places in ``texts``, −1 for None. `places`: a `Stored`, or ints [n]."""

    row_bytes = 50

    def __init__(self, places: "Stored | np.ndarray", texts: list[str]):
        self._places, self.texts = places, texts

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, rows: np.ndarray) -> "Worded":
        return Worded(self._places[rows], self.texts)

    def codes(self, begin: int = 0, end: int | None = None) -> np.ndarray:
        """Ints [m] of some rows, of all by default."""
        end = len(self) if end is None else min(end, len(self))
        return self._places.rows(begin, end)[:, 0] if isinstance(self._places, Stored) else self._places[begin:end]

    def rows(self, begin: int, end: int) -> np.ndarray:
        """Some rows as objects, text or None."""
        codes = self.codes(begin, end)
        out = np.empty(len(codes), dtype=object)
        out[:] = [None if c < 0 else self.texts[c] for c in codes.tolist()]
        return out

    def text(self, i: int) -> str | None:
        """One row."""
        return self.rows(i, i + 1)[0]

    def counts(self) -> Counter[str]:
        """How often each text occurs, those that do in the order of ``texts``."""
        codes = self.codes()
        seen = np.bincount(codes[codes >= 0], minlength=len(self.texts))
        return Counter({self.texts[c]: int(seen[c]) for c in np.flatnonzero(seen).tolist()})

    @property
    def missing(self) -> int:
        """How many rows have none."""
        return int(np.count_nonzero(self.codes() < 0))


class Nodes:
    """A growing column of series or trees, each [m, width] floats, in a `Spill`."""

    def __init__(self, spill: Spill, width: int):
        self.values, self.width = Numbers(spill, width), width
        self.lengths, self.begins = Numbers(spill, dtype=np.int64), Numbers(spill, dtype=np.int64)

    def append(self, values: np.ndarray) -> None:
        """Add rows [n] of objects."""
        if not len(values):
            return
        lengths = np.array([len(v) for v in values], dtype=np.int64)
        self.begins.append((len(self.values) + np.cumsum(lengths) - lengths)[:, None])
        self.lengths.append(lengths[:, None])
        self.values.append(np.concatenate(list(values)).astype(np.float64, copy=False))


class StoredNodes:
    """Rows of `Nodes`, in the order of `index` (which rises)."""

    def __init__(self, column: Nodes, index: np.ndarray | None = None):
        self._column = column
        self._begins, self._lengths = Stored(column.begins, index), Stored(column.lengths, index)

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, rows: np.ndarray) -> "StoredNodes":
        out = type(self).__new__(type(self))
        out._column, out._begins, out._lengths = self._column, self._begins[rows], self._lengths[rows]
        return out

    @property
    def row_bytes(self) -> int:
        """About the bytes of a row in memory."""
        return 8 * self._column.width * max(1, len(self._column.values) // max(1, len(self._column.lengths)))

    def lengths(self) -> np.ndarray:
        """Nodes of each row: ints [n]."""
        return self._lengths.whole()[:, 0]

    def rows(self, begin: int, end: int) -> np.ndarray:
        """Some rows as objects, each [m, width]."""
        begins, lengths = self._begins.rows(begin, end)[:, 0], self._lengths.rows(begin, end)[:, 0]
        out = np.empty(len(begins), dtype=object)
        if not len(begins):
            return out
        low, high = int(begins[0]), int(begins[-1] + lengths[-1])
        close = self._column.values.take(np.arange(low, high)) if high - low <= 2 * lengths.sum() else None  # one look at the file
        for i, (a, n) in enumerate(zip(begins.tolist(), lengths.tolist())):
            out[i] = self._column.values.take(np.arange(a, a + n)) if close is None else close[a - low:a - low + n]
        return out

    def batches(self) -> Iterator[np.ndarray]:
        """All rows in order, about `BATCH_BYTES` at a time."""
        step = max(1, BATCH_BYTES // self.row_bytes)
        for begin in range(0, len(self), step):
            yield self.rows(begin, begin + step)


class Tokens(Nodes):
    """A growing column of series of texts that repeat, each [m] objects, str or None: places in ``texts``, −1 for None."""

    def __init__(self, spill: Spill):
        super().__init__(spill, 1)
        self.texts: list[str] = []
        self._known: dict[str | None, int] = {None: -1}

    def append(self, values: np.ndarray) -> None:
        """Add rows [n] of objects."""
        coded = np.empty(len(values), dtype=object)
        for i, v in enumerate(values):
            coded[i] = _coded(v, self._known, self.texts)[:, None]
        super().append(coded)


class StoredTokens(StoredNodes):
    """Rows of `Tokens`, in the order of `index` (which rises)."""

    def rows(self, begin: int, end: int) -> np.ndarray:
        """Some rows as objects, each [m] objects, str or None."""
        texts = np.array([*self._column.texts, None], dtype=object)  # the last is that of -1
        coded = super().rows(begin, end)
        for i, v in enumerate(coded):
            coded[i] = texts[v[:, 0].astype(np.int64)]
        return coded

    def counts(self) -> Counter[str]:
        """How often each text occurs in all rows, None left out."""
        return Counter(t for some in self.batches() for v in some for t in v if t is not None)


def seen(column: "Numbers | Words | Nodes") -> "Stored | Worded | StoredNodes":
    """All rows of a column that grew."""
    if isinstance(column, Words):
        return Worded(Stored(column.places), column.texts)
    if isinstance(column, Tokens):
        return StoredTokens(column)
    return StoredNodes(column) if isinstance(column, Nodes) else Stored(column)


class Texts:
    """Texts that hardly repeat, in a `Spill`. None and "" are one."""

    def __init__(self, spill: Spill):
        self._spill, self._ends = spill, Numbers(spill, 2, np.int64)

    def __len__(self) -> int:
        return len(self._ends)

    def extend(self, texts: Iterable[str | None]) -> None:
        """Add texts at the end."""
        contents = [(text or "").encode("utf-8", "surrogatepass") for text in texts]
        if contents:
            ends = self._spill.write(b"".join(contents)) + np.cumsum([len(c) for c in contents], dtype=np.int64)
            self._ends.append(np.stack([ends - [len(c) for c in contents], ends], axis=1))

    def take(self, rows: np.ndarray) -> list[str | None]:
        """Texts by their places, which rise."""
        ends = self._ends.take(rows)
        if not len(ends):
            return []
        if (ends[:, 1] - ends[:, 0]).any() and ends[-1, 1] - ends[0, 0] <= BATCH_BYTES:  # they lie close: one look at the file
            begun = int(ends[0, 0])
            content = self._spill.read(begun, int(ends[-1, 1]) - begun)
            return [content[a - begun:b - begun].decode("utf-8", "surrogatepass") if b > a else None for a, b in ends.tolist()]
        return [self._spill.read(a, b - a).decode("utf-8", "surrogatepass") if b > a else None for a, b in ends.tolist()]

    def __getitem__(self, i: int) -> str | None:
        return self.take(np.array([i]))[0]


class Codes:
    """A column of texts that repeat, each different one in memory once. ``codes`` are places in ``texts``, −1 for None."""

    def __init__(self):
        self.texts: list[str] = []
        self._codes = array("i")
        self._places: dict[str | None, int] = {None: -1}

    def extend(self, texts: Iterable[str | None]) -> None:
        """Add rows at the end."""
        self._codes.frombytes(_coded(texts, self._places, self.texts).tobytes())

    @property
    def codes(self) -> np.ndarray:
        """Ints [n]."""
        return np.array(self._codes, dtype=np.int32)

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, i: int) -> str | None:
        code = self._codes[i]
        return None if code < 0 else self.texts[code]

    def take(self, rows: np.ndarray) -> "Codes":
        """Some of the rows."""
        out = Codes()
        out.texts, out._places, out._codes = self.texts, self._places, array("i", self.codes[rows].tobytes())
        return out

    def __iter__(self) -> Iterator[str | None]:
        return (None if code < 0 else self.texts[code] for code in self._codes)


def _coded(values: Iterable[str | None], known: dict[str | None, int], texts: list[str]) -> np.ndarray:
    """Each text's place in `texts`, which grow by those that `known` hasn't: ints [m]."""
    out = []
    for v in values:
        code = known.get(v)
        if code is None:
            code = known[v] = len(texts)
            texts.append(v)
        out.append(code)
    return np.array(out, dtype=np.int32)
