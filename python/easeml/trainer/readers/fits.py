"""FITS: a table of the file as a table. Its images are pictures, which `easeml.trainer.picture` reads."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Iterator, Sequence

import numpy as np

from ..fault import Fault
from . import Block, Options, Source
from .kinds import library

_BYTES = 32_000_000


class FITS(Source):
    """A binary or ASCII table of a FITS file: the first, or the one that the option `sheet` names. Rows are counted from 1."""

    kind = "fits"

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        fits = library("astropy.io.fits", name)
        wanted = options.one("sheet")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._file = fits.open(path, memmap=True, lazy_load_hdus=False, ignore_missing_simple=False)
                tables = [(i, h) for i, h in enumerate(self._file) if isinstance(h, (fits.BinTableHDU, fits.TableHDU)) and not isinstance(h, fits.CompImageHDU)]
                called = [(h.name or str(i)) for i, h in tables]
        except Exception as error:  # the library raises a dozen kinds for broken files
            raise self.broken("FITS file", error) from None
        if not tables:
            raise self.fault("holds no table, only images", "Feed images as pictures: in a folder, or with a table of their paths.")
        at = 0
        if wanted is not None:
            found = [k for k, (i, _) in enumerate(tables) if wanted.lower() == called[k].lower() or wanted == str(i)]
            if not found:
                raise self.fault(f'has no table "{wanted}"; it has ' + ", ".join(f'"{c}"' for c in called[:8]), f'Say which: with sheet = "{called[0]}"')
            at = found[0]
        elif len(tables) > 1:
            self.notes.append(f'{name}: the first table, "{called[0]}", is read; it also has ' + ", ".join(f'"{c}"' for c in called[1:6]))
        self._table = tables[at][1]
        try:
            self._data, self._columns = self._table.data, self._table.columns
            self._count = 0 if self._data is None else len(self._data)
        except Exception as error:
            raise self.broken("FITS file", error) from None
        if not self._count:
            raise self.fault("has no rows in its table")
        self.names = self.named(self._columns.names)
        for n, c in zip(self.names, self._columns.names):
            shape = self._data.dtype[c].shape
            if shape:
                self.shapes[n] = tuple(shape)

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        step = max(1, min(65536, _BYTES // max(1, self._data.dtype.itemsize)))
        for at in range(0, self._count, step):
            end = min(self._count, at + step)
            try:
                part = self._data[at:end]
                columns = {n: self._column(part, i) for i, n in enumerate(self.names) if names is None or n in names}
            except Exception as error:
                raise self.broken("FITS file", error) from None
            yield Block(columns, range(at + 1, end + 1), None, read=int(self.size * end / self._count))

    def _column(self, part: Any, i: int) -> Any:
        about = self._columns[i]
        values = np.asarray(part.field(i))
        if values.dtype.kind in "US":
            return np.char.strip(values.astype(str)).tolist()
        if values.dtype.kind == "O":
            return [np.asarray(v, dtype=np.float64).reshape(-1).tolist() for v in values]
        if values.dtype.kind == "c":
            raise Fault(f"{self.name}: {self.names[i]} holds complex numbers, which can't be read.", where={"file": self.name, "column": self.names[i]})
        if about.null is not None and values.dtype.kind in "iu" and values.ndim == 1:
            return [None if v == about.null else v for v in values.tolist()]
        return values.astype(values.dtype.newbyteorder("="))
