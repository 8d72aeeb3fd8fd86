"""MATLAB files: variables as columns. Version 7.3 is HDF5 with its axes turned round; older ones are read by SciPy."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ..fault import Fault
from . import Options, Source, elements
from .hdf5 import HDF5, Set
from .npz import Arrays

MOST_BYTES = 8_000_000_000


def open_mat(name: str, path: Path, options: Options) -> Source:
    """The reader for a MATLAB file's version."""
    with open(path, "rb") as f:
        start = f.read(520)
    return MAT7(name, path, options) if start.startswith(b"MATLAB 7.3") or b"\x89HDF\r\n\x1a\n" in (start[:8], start[512:520]) else MAT5(name, path, options)


def _along(arrays: dict[str, Any], turn) -> tuple[dict[str, Any], list[str]]:
    """The variables with their rows on the first axis, and the names of those that were turned.

    MATLAB's vectors lie or stand, and stacks of pictures have their number last: the rows are what most
    variables agree on. `turn(a)` moves the last axis to the front.
    """
    counts: Counter[int] = Counter()
    for a in arrays.values():
        for n in {a.shape[0], a.shape[-1]}:
            counts[n] += 1
    lengths = {k: max(a.shape) for k, a in arrays.items() if sum(d != 1 for d in a.shape) <= 1}
    rows = max(counts, key=lambda n: (sum(v == n for v in lengths.values()) > 0, counts[n], n))
    turned, out = [], {}
    for k, a in arrays.items():
        vector = len(a.shape) == 2 and a.shape[0] == 1 and a.shape[1] > 1
        if a.shape[0] != rows and a.shape[-1] == rows or vector and rows != 1:
            out[k] = turn(a)
            if not vector:
                turned.append(k)
        else:
            out[k] = a
    return out, turned


class MAT5(Arrays):
    """The variables of a MATLAB file up to version 7: numbers, text, and cells of text. Structs and objects are left out, and it is said."""

    kind = "mat"

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        from scipy import io, sparse
        try:
            elements.check(path)
            listed = io.whosmat(str(path))
            total = sum(int(np.prod(shape, dtype=np.float64)) * 8 for _, shape, kind in listed if kind not in ("sparse",))
            if total > MOST_BYTES:
                raise self.fault("is too large for this version of the format", "Save it with -v7.3, or as Parquet.")
            found = io.loadmat(str(path), chars_as_strings=True, struct_as_record=True, squeeze_me=False)
        except Fault:
            raise
        except MemoryError:
            raise
        except Exception as error:  # SciPy raises a dozen kinds for broken files
            raise self.broken("MATLAB file", error) from None
        arrays, left = {}, []
        for key, value in found.items():
            if key.startswith("__"):
                continue
            if sparse.issparse(value):
                if np.prod(value.shape, dtype=np.float64) * 8 > MOST_BYTES:
                    left.append(f"{key} is too large")
                    continue
                value = value.toarray()
            value = _plain(value)
            if value is None:
                left.append(f"{key} holds structs, cells or objects")
            elif value.ndim and value.size:
                arrays[key] = value
        if not arrays:
            raise self.fault("holds no arrays" + (f" ({left[0]})" if left else ""), "Save arrays of numbers, or cells of text.")
        arrays, turned = _along(arrays, lambda a: np.moveaxis(a, -1, 0))
        if turned:
            self.notes.append(f"{name}: the last axis of {', '.join(turned)} counts the rows")
        if left:
            self.notes.append(f"{name}: left out: " + "; ".join(left[:3]))
        self._took(arrays)


def _plain(value: Any) -> np.ndarray | None:
    """A variable as numbers or text; a cell of texts, or of single numbers, as an array of them; None for what is neither."""
    value = np.asarray(value)
    if value.dtype.names:
        return None
    if value.dtype.kind != "O":
        return value
    flat = []
    for cell in value.reshape(-1):
        cell = np.asarray(cell)
        if cell.dtype.kind in "US" and cell.size <= 1:
            flat.append(str(cell.reshape(-1)[0]) if cell.size else "")
        else:
            return None
    return np.array(flat).reshape(value.shape) if flat else None


class MAT7(HDF5):
    """The variables of a MATLAB file of version 7.3. Text that is not an array of strings is left out, and it is said."""

    kind, what = "mat", "MATLAB file"

    def _refused(self, item) -> str | None:
        kind = item.attrs.get("MATLAB_class", b"")
        if "MATLAB_empty" in item.attrs:
            return "is empty"
        if kind == b"cell":
            return None if self._cells(item) is not None else "holds cells that are not all text"
        if kind == b"char":
            return None
        return super()._refused(item)

    def _sets(self, left: list[str]) -> dict[str, Any]:
        found = {k: v for k, v in super()._sets(left).items() if not k.startswith("#refs#")}
        if not found:
            return {}
        out, turned = _along(found, lambda a: a.turned())
        if turned:
            self.notes.append(f"{self.name}: the last axis of {', '.join(turned)} counts the rows")
        return out

    def _set(self, item):
        kind = item.attrs.get("MATLAB_class", b"")
        if kind == b"cell":
            return Kept(self._cells(item))
        if kind == b"char":
            codes = np.asarray(item[()]).T
            return Kept(np.array(["".join(map(chr, row)).rstrip() for row in codes]).reshape(-1, 1))
        return Turned(item, self._library)

    def _cells(self, item) -> np.ndarray | None:
        """A cell array of texts; None where a cell is something else."""
        h5py, out = self._library, []
        refs = np.asarray(item[()]).T
        if refs.size > 10_000_000:
            return None
        for ref in refs.reshape(-1):
            if not isinstance(ref, h5py.Reference) or not ref:
                return None
            cell = self._file[ref]
            if not isinstance(cell, h5py.Dataset) or cell.attrs.get("MATLAB_class", b"") != b"char" or cell.is_virtual or cell.external:
                return None
            out.append("" if "MATLAB_empty" in cell.attrs else "".join(map(chr, np.asarray(cell[()]).T.reshape(-1))))
        return np.array(out).reshape(refs.shape) if out else None


class Turned(Set):
    """A data set whose axes stand in MATLAB's order: the last one is the first."""

    def __init__(self, item, h5py, axis: int = 0):
        super().__init__(item, h5py, turned=True)
        self._h5py, self._axis = h5py, axis
        if axis:
            self.shape = (self.shape[-1], *self.shape[:-1])

    def turned(self) -> "Turned":
        """The same with MATLAB's last axis first."""
        return Turned(self._item, self._h5py, 1)

    def __getitem__(self, rows: slice):
        if not self._axis:
            return super().__getitem__(rows)
        values = self._item[rows]  # the file's first axis is MATLAB's last
        return np.moveaxis(values, range(1, values.ndim), range(1, values.ndim)[::-1])


class Kept:
    """Text that is in memory already."""

    def __init__(self, values: np.ndarray):
        self._values, self.dtype, self.shape = values, values.dtype, values.shape

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self._values[rows]

    def turned(self) -> "Kept":
        """The same with the last axis first."""
        return Kept(np.moveaxis(self._values, -1, 0))
