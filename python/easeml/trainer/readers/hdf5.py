"""HDF5: its data sets as columns. Links that lead out of the file are never followed."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ..fault import Fault
from . import Options
from .kinds import library
from .npz import Arrays

MOST_SETS = 20_000
_HEAP = b"GCOL\1\0\0\0"


class HDF5(Arrays):
    """The data sets of an HDF5 file that have at least one axis, named by their path; records give a column for each field."""

    kind, what = "hdf5", "HDF5 file"

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        self._library = library("h5py", name)
        left: list[str] = []
        try:
            self._file = self._library.File(path, "r", locking=False)
            found = self._sets(left)
            if any(getattr(a, "heaped", False) for a in found.values()):
                check_heaps(path)
        except Fault:
            raise
        except Exception as error:  # the library raises a dozen kinds for broken files
            raise self.broken(self.what, error) from None
        if not found:
            raise self.fault("holds no data sets" + (f" that can be read ({left[0]})" if left else ""))
        self._took(found)
        if left:
            self.notes.append(f"{name}: left out: " + "; ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else ""))

    def _sets(self, left: list[str]) -> dict[str, "Set"]:
        """The data sets by path; in `left` why others are none of them."""
        h5py, found, todo, seen = self._library, {}, [("", self._file)], set()
        while todo:
            prefix, group = todo.pop(0)
            for key in group:
                path = f"{prefix}/{key}" if prefix else key
                link = group.get(key, getlink=True)
                if not isinstance(link, h5py.HardLink):
                    left.append(f"{path} is a link")
                    continue
                item = group[key]
                if isinstance(item, h5py.Group):
                    if item.id.__hash__() not in seen:
                        seen.add(item.id.__hash__())
                        todo.append((path, item))
                elif isinstance(item, h5py.Dataset):
                    why = self._refused(item)
                    if why:
                        left.append(f"{path} {why}")
                    elif item.ndim:
                        found[path] = self._set(item)
                if len(found) > MOST_SETS or len(seen) > MOST_SETS:
                    raise self.fault(f"holds more than {MOST_SETS:,} data sets", "Save the ones that are meant in a file of their own.")
        return found

    def _refused(self, item) -> str | None:
        """Why a data set isn't read; None where it is."""
        h5py = self._library
        if item.is_virtual or item.external:
            return "lies in another file"
        kind = item.dtype
        if h5py.check_ref_dtype(kind) is not None:
            return "holds references"
        if kind.kind == "O" and h5py.check_string_dtype(kind) is None:
            inner = h5py.check_vlen_dtype(kind)
            if inner is None or np.dtype(inner).kind not in "fiub":
                return "holds objects"
        if kind.names and any(h5py.check_ref_dtype(kind[f]) is not None for f in kind.names):
            return "holds references"
        return None

    def _set(self, item) -> "Set":
        return Set(item, self._library)

    def _read(self, name: str, begin: int, end: int) -> Any:
        try:
            values = self._arrays[name][begin:end]
        except Exception as error:
            raise self.broken(self.what, error) from None
        if isinstance(values, np.ndarray) and values.dtype.kind in "Mm":
            from .npz import times
            return times(values)
        return values


def check_heaps(path: Path) -> None:
    """Walk through the heaps in which texts and lists of unequal length lie. Raises ValueError where one never ends.

    HDF5 takes the length of free space in them as it stands, and goes on from the same place for ever where it is none.
    """
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as content:
        at = content.find(_HEAP)
        while at >= 0:
            place, end = at + 16, min(len(content), at + int.from_bytes(content[at + 8:at + 16], "little"))
            while end - place >= 16:
                number, length = struct.unpack_from("<H6xQ", content, place)
                if not number and length < 16:
                    raise ValueError("a heap of texts has free space of no length")
                place += 16 + -(-length // 8) * 8 if number else length
            at = content.find(_HEAP, at + len(_HEAP))


class Set:
    """A data set that can be sliced as an array: text as text, an enumeration as the names of its values.

    ``heaped``: texts or lists of unequal length, which lie in heaps elsewhere in the file.
    """

    def __init__(self, item, h5py, *, turned: bool = False):
        self._item, self._turned = item, turned
        self.dtype = item.dtype
        self.shape = tuple(item.shape[::-1]) if turned else tuple(item.shape)
        self._text = h5py.check_string_dtype(item.dtype) is not None
        self.heaped = item.dtype.kind == "O" or any(item.dtype[f].kind == "O" for f in item.dtype.names or ())
        names = h5py.check_enum_dtype(item.dtype) if item.dtype.kind != "b" else None
        self._names = {v: k for k, v in names.items()} if names else None
        if self._text or self._names:
            self.dtype = np.dtype("U1")

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice):
        if self._turned:
            values = np.moveaxis(self._item[..., rows], range(self._item.ndim), range(self._item.ndim)[::-1])
        else:
            values = self._item[rows]
        if self._text:
            flat = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in np.asarray(values).reshape(-1)]
            return np.array(flat, dtype=object).astype(str).reshape(np.shape(values)) if flat else np.zeros(0, "U1")
        if self._names:
            return np.array([self._names.get(v, str(v)) for v in np.asarray(values).reshape(-1).tolist()])
        return values
