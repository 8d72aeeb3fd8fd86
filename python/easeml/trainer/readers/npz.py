"""NPZ and NPY: NumPy arrays, one row each. Nothing is unpickled."""

from __future__ import annotations

import math
import os
import shutil
import struct
import tempfile
import tokenize
import zipfile
from pathlib import Path
from typing import Any, Iterator, Sequence

import numpy as np

from ..fault import Fault
from ..memory import says
from . import Block, Options, Source

_BYTES = 8_000_000
"""About so much is handed out at one time."""
MOST_BYTES = 40_000_000_000
"""What an NPZ may take, unpacked."""
MOST_RATIO = 1000

ERRORS = (OSError, tokenize.TokenError, ValueError, EOFError, zipfile.BadZipFile, KeyError, RuntimeError, MemoryError, SyntaxError, TypeError, AttributeError, OverflowError, UnicodeError)
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
                    self._arrays[f if len(arrays) == 1 else f"{name}/{f}"] = _Part(a, f)
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


class Lying:
    """An array that lies in a file: slices along its first axis are read when they are asked for, the last one is kept.

    It begins at byte `offset`; `fortran`: its first axis runs fastest. `kept` is held as long as it is.
    """

    def __init__(self, path: Path, offset: int, shape: tuple[int, ...], dtype: np.dtype, fortran: bool, kept: Any = None):
        self._file, self._offset, self._fortran, self._kept = open(path, "rb", buffering=0), offset, fortran and len(shape) > 1, kept
        self.shape, self.dtype = shape, dtype
        size = dtype.itemsize * math.prod(shape)
        if size > os.fstat(self._file.fileno()).st_size - offset:
            raise ValueError("it breaks off")
        self._last: tuple[int, int, np.ndarray] | None = None

    @property
    def ndim(self) -> int:
        """Its axes."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        begin, end, _ = rows.indices(self.shape[0])
        end = max(begin, end)
        if self._last is None or self._last[:2] != (begin, end):
            self._last = begin, end, self._read(begin, end)
        return self._last[2]

    def _read(self, begin: int, end: int) -> np.ndarray:
        inner, width = math.prod(self.shape[1:]), self.dtype.itemsize
        if not (end - begin) * inner * width:
            return np.zeros((end - begin, *self.shape[1:]), self.dtype)
        if not self._fortran:
            content = self._at(begin * inner * width, (end - begin) * inner * width)
            return np.frombuffer(content, self.dtype).reshape(end - begin, *self.shape[1:])
        columns = [self._at((k * self.shape[0] + begin) * width, (end - begin) * width) for k in range(inner)]
        return np.frombuffer(b"".join(columns), self.dtype).reshape(*self.shape[:0:-1], end - begin).T

    def _at(self, offset: int, count: int) -> bytes:
        content = os.pread(self._file.fileno(), count, self._offset + offset)
        if len(content) < count:
            raise ValueError("it breaks off")
        return content


class _Part:
    """A field of an array of records, or a column of a matrix, read when it is asked for."""

    def __init__(self, whole: Any, field: str | None = None, column: int = 0):
        self._whole, self._field, self._column = whole, field, column
        kind = whole.dtype if field is None else whole.dtype[field]
        self.dtype, self.shape = kind.base, (*(whole.shape if field is not None else whole.shape[:1]), *kind.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows) -> np.ndarray:
        some = self._whole[rows]
        return np.asarray(some[:, self._column] if self._field is None else some[self._field])


def times(values: np.ndarray) -> list:
    """Days and times of NumPy as text in ISO 8601; None where there is none."""
    if values.dtype.kind == "m":
        seconds = values.astype("timedelta64[us]").astype(np.int64) / 1e6
        return [None if bad else float(s) for s, bad in zip(seconds.reshape(-1), np.isnat(values).reshape(-1))]
    return [None if np.isnat(v) else str(v) for v in values.astype("datetime64[us]").reshape(-1)]


def lying(path: Path, offset: int, kept: Any = None) -> Lying:
    """The array of an NPY file, or of one that begins at a byte of another. Raises ValueError where it is none, or holds objects."""
    with open(path, "rb") as f:
        f.seek(offset)
        version = np.lib.format.read_magic(f)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(f)
        elif version == (2, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(f)
        else:
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not known")
        if dtype.hasobject:
            raise ValueError("Object arrays are not read")
        return Lying(path, f.tell(), shape, dtype, fortran, kept)


class NPZ(Arrays):
    """The arrays of an NPZ file."""

    kind = "npz"

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        arrays: dict[str, Lying] = {}
        try:
            with zipfile.ZipFile(path) as archive:
                total = sum(z.file_size for z in archive.infolist())
            if total > MOST_BYTES or total > 1_000_000_000 and total > MOST_RATIO * self.size:
                raise self.fault(f"is refused: unpacked it would take {says(total)}", "Feed it in several parts.")
            with zipfile.ZipFile(path) as archive:
                for z in archive.infolist():
                    key = z.filename.removesuffix(".npy")
                    array = self._member(archive, z, key) if z.filename.endswith(".npy") else None
                    if array is not None and array.ndim:
                        arrays[key] = array
        except Fault:
            raise
        except ERRORS as error:
            raise self.broken("NPZ file", error) from None
        except Exception as error:  # zlib.error, lzma.LZMAError
            raise self.broken("NPZ file", error) from None
        self._took(arrays)

    def _member(self, archive: zipfile.ZipFile, z: zipfile.ZipInfo, key: str) -> "Lying":
        """A member as an array; one that is packed is unpacked to the side. The archive's checksum is looked at in either case."""
        folder = None
        if z.compress_type != zipfile.ZIP_STORED:
            folder = tempfile.TemporaryDirectory(prefix="easeml-")
        with archive.open(z) as f, open(Path(folder.name) / "array" if folder else os.devnull, "wb") as out:
            shutil.copyfileobj(f, out, 1 << 20)
        path, offset = self.path, 0
        if folder:
            path = Path(out.name)
        else:
            with open(path, "rb") as f:
                f.seek(z.header_offset + 26)
                offset = z.header_offset + 30 + sum(struct.unpack("<HH", f.read(4)))
        try:
            return lying(path, offset, kept=folder)
        except ValueError as error:
            if "pickle" in str(error) or "Object" in str(error):
                raise self._objects(key) from None
            raise

    def _objects(self, key: str) -> Fault:
        return Fault(f"{self.name}: the array {key} holds Python objects, which are not read for safety.", where={"file": self.name, "column": key},
                     hint="Save numbers or text: np.savez(..., allow_pickle=False).")


class NPY(Arrays):
    """One array. Records give a column each; a matrix its columns, column_1 …; anything else is one column, called as the file is."""

    kind = "npy"

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        try:
            array = lying(path, 0)
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
            columns = {f"column_{i + 1}": _Part(array, column=i) for i in range(array.shape[1])}
            self._took(columns)
            self.arrays = False
        else:
            self._took({stem: array})
