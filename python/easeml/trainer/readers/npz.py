"""NPZ: named NumPy arrays, one row each. Nothing is unpickled."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Iterator

import numpy as np

from ..fault import Fault
from . import Block

_ROWS = 65536


class NPZ:
    """The arrays of an NPZ file with at least one axis, as columns. Rows are counted from 0."""

    kind, counted_from, decimal, text = "npz", 0, ".", False

    def __init__(self, name: str, path: Path):
        self.name, self.size = name, path.stat().st_size
        self.notes: list[str] = []
        self._arrays: dict[str, np.ndarray] = {}
        try:
            with np.load(path, allow_pickle=False) as archive:
                for key in archive.files:
                    try:
                        array = archive[key]
                    except ValueError as error:
                        if "pickle" in str(error) or "Object" in str(error):
                            raise Fault(f"{name}: the array {key} holds Python objects, which are not read for safety.",
                                        where={"file": name, "column": key},
                                        hint="Save numbers or text: np.savez(..., allow_pickle=False).") from None
                        raise
                    if array.ndim:
                        self._arrays[key] = array
        except Fault:
            raise
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError, RuntimeError, MemoryError) as error:
            raise Fault(f"{name} is not a whole NPZ file ({' '.join(str(error).split())[:120]}).", where={"file": name},
                        hint="Download or save it again.") from None
        if not self._arrays:
            raise Fault(f"{name} holds no arrays.", where={"file": name})
        self.names = list(self._arrays)
        self.shapes = {k: a.shape[1:] for k, a in self._arrays.items()}

    def lengths(self, names: list[str]) -> None:
        """Check that the arrays that are used have one number of rows. Raises `Fault` that names two that differ."""
        first = names[0]
        for other in names[1:]:
            if len(self._arrays[other]) != len(self._arrays[first]):
                raise Fault(f"{self.name}: {first} has {len(self._arrays[first])} rows, but {other} has {len(self._arrays[other])}.",
                            where={"file": self.name, "column": other})

    def blocks(self, names: list[str] | None = None) -> Iterator[Block]:
        """The rows of the arrays that are as long as the first of `names` (all arrays where None)."""
        used = names or self.names
        n = len(self._arrays[used[0]])
        for at in range(0, n, _ROWS):
            end = min(n, at + _ROWS)
            yield Block({k: a[at:end] for k, a in self._arrays.items() if len(a) == n and (names is None or k in names)},
                        range(at, end), None, read=int(self.size * end / n))
