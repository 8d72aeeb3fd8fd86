"""NPZ and NPY: NumPy arrays, one row each. Nothing is unpickled."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, Iterator, Sequence

import numpy as np

from ..fault import Fault
from ..memory import says
from . import Block, Options, Source

_BYTES = 32_000_000
"""About so much is handed out at one time."""
MOST_BYTES = 40_000_000_000
"""What an NPZ may take, unpacked."""
MOST_RATIO = 1000

ERRORS = (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError, RuntimeError, MemoryError, SyntaxError, TypeError, AttributeError, OverflowError, UnicodeError)
"""What NumPy raises for arrays that are none."""


class Arrays(Source):
    """Named arrays with at least one axis, as columns. Rows are counted from 0."""

    kind, counted_from, text, arrays = "arrays", 0, False, True
    _arrays: dict[str, Any]

    def _took(self, arrays: dict[str, Any]) -> None:
        """Take arrays (or what can be sliced as one) over; what holds records becomes a column for each of their fields."""
        self._arrays = {}
        for name, a in arrays.items():
            fields = getattr(a.dtype, "names", None)
            if fields:
                for f in fields:
                    self._arrays[f if len(arrays) == 1 else f"{name}/{f}"] = _Field(a, f)
            else:
                self._arrays[name] = a
        odd = {k: "complex numbers" if a.dtype.kind == "c" else "raw bytes" for k, a in self._arrays.items() if a.dtype.kind in "cV"}
        for name in odd:
            del self._arrays[name]
        if not self._arrays:
            raise self.fault("holds no arrays" + (f" that can be read: {next(iter(odd))} holds {next(iter(odd.values()))}" if odd else ""),
                             "Save parts of complex numbers as arrays of their own." if odd else None)
        if odd:
            self.notes.append(f"{self.name}: left out: " + ", ".join(f"{k} ({what})" for k, what in list(odd.items())[:3]))
        self.names = list(self._arrays)
        self.shapes = {k: tuple(a.shape[1:]) for k, a in self._arrays.items()}

    def lengths(self, names: Sequence[str]) -> None:
        first = names[0]
        for other in names[1:]:
            if len(self._arrays[other]) != len(self._arrays[first]):
                raise Fault(f"{self.name}: {first} has {len(self._arrays[first])} rows, but {other} has {len(self._arrays[other])}.",
                            where={"file": self.name, "column": other})

    def _read(self, name: str, begin: int, end: int) -> Any:
        """Some rows of a column."""
        values = self._arrays[name][begin:end]
        if values.dtype.kind == "U" and values.size and np.ascontiguousarray(values).view(np.uint32 if values.dtype.isnative else values.dtype.byteorder + "u4").max() > 0x10FFFF:
            raise self.broken("array", ValueError(f"{name} holds text that is none"))
        return times(values) if values.dtype.kind in "Mm" else values

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        used = list(names or self.names)
        n = len(self._arrays[used[0]])
        used = [k for k in used if len(self._arrays[k]) == n]
        width = sum(int(np.prod(self.shapes[k], dtype=np.int64)) * max(1, self._arrays[k].dtype.itemsize) for k in used)
        step = max(1, min(65536, _BYTES // max(1, width)))
        for at in range(0, n, step):
            end = min(n, at + step)
            yield Block({k: self._read(k, at, end) for k in used}, range(at, end), None, read=int(self.size * end / n))


class _Field:
    """A field of an array of records, read when it is asked for."""

    def __init__(self, records: Any, field: str):
        self._records, self._field = records, field
        kind = records.dtype[field]
        self.dtype, self.shape = kind.base, (*records.shape, *kind.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows) -> np.ndarray:
        return np.asarray(self._records[rows][self._field])


def times(values: np.ndarray) -> list:
    """Days and times of NumPy as text in ISO 8601; None where there is none."""
    if values.dtype.kind == "m":
        seconds = values.astype("timedelta64[us]").astype(np.int64) / 1e6
        return [None if bad else float(s) for s, bad in zip(seconds.reshape(-1), np.isnat(values).reshape(-1))]
    return [None if np.isnat(v) else str(v) for v in values.astype("datetime64[us]").reshape(-1)]


class NPZ(Arrays):
    """The arrays of an NPZ file."""

    kind = "npz"

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        arrays: dict[str, np.ndarray] = {}
        try:
            with zipfile.ZipFile(path) as archive:
                total = sum(z.file_size for z in archive.infolist())
            if total > MOST_BYTES or total > 1_000_000_000 and total > MOST_RATIO * self.size:
                raise self.fault(f"is refused: unpacked it would take {says(total)}", "Feed it in several parts.")
            with np.load(path, allow_pickle=False) as archive:
                for key in archive.files:
                    try:
                        array = archive[key]
                    except ValueError as error:
                        if "pickle" in str(error) or "Object" in str(error):
                            raise self._objects(key) from None
                        raise
                    if isinstance(array, np.ndarray) and array.ndim:
                        arrays[key] = array
        except Fault:
            raise
        except ERRORS as error:
            raise self.broken("NPZ file", error) from None
        except Exception as error:  # zlib.error, lzma.LZMAError
            raise self.broken("NPZ file", error) from None
        self._took(arrays)

    def _objects(self, key: str) -> Fault:
        return Fault(f"{self.name}: the array {key} holds Python objects, which are not read for safety.", where={"file": self.name, "column": key},
                     hint="Save numbers or text: np.savez(..., allow_pickle=False).")


class NPY(Arrays):
    """One array. Records give a column each; a matrix its columns, column_1 …; anything else is one column, called as the file is."""

    kind = "npy"

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
            if not isinstance(array, np.ndarray):
                raise ValueError("it is no array")
        except ValueError as error:
            if "bject" in str(error) or "pickle" in str(error):
                raise self.fault("holds Python objects, which are not read for safety", "Save numbers or text: np.save(..., allow_pickle=False).") from None
            raise self.broken("NPY file", error) from None
        except ERRORS as error:
            raise self.broken("NPY file", error) from None
        if not array.ndim or not len(array):
            raise self.fault("holds one value" if not array.ndim else "holds no rows")
        stem = Path(name).stem or "X"
        if array.ndim == 2 and array.dtype.kind in "fiubUS" and array.shape[1] > 1:
            columns = {f"column_{i + 1}": array[:, i] for i in range(array.shape[1])}
            self._took(columns)
            self.arrays = False
        else:
            self._took({stem: array})
