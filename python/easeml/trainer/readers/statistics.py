"""SPSS, Stata and SAS: tables with value labels. A labelled code counts as its label where text is wanted, as its number where a number is."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any, Iterator, Sequence

from ..fault import Fault
from . import Block, Options, Source, rows_at_once
from .kinds import library

_READERS = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat", ".xpt": "read_xport"}


class Labelled:
    """A code that has a label: ``float()`` gives the code, ``str()`` the label."""

    __slots__ = ("code", "label")

    def __init__(self, code: Any, label: str):
        self.code, self.label = code, label

    def __str__(self) -> str:
        return self.label

    def __float__(self) -> float:
        return float(self.code)


class Statistics(Source):
    """A file of SPSS (.sav, .zsav, .por), Stata (.dta) or SAS (.sas7bdat, .xpt). Rows are counted from 1; user-missing values are missing."""

    kind, cells = "statistics", True

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        library_ = library("pyreadstat", name)
        with open(path, "rb") as f:
            start = f.read(16)
        ending = Path(name).suffix.lower()
        if start[:3] == b"$FL":
            ending = ".sav"
        elif start.startswith(b"<stata_dta>"):
            ending = ".dta"
        self._read = getattr(library_, _READERS.get(ending) or _READERS.get(path.suffix.lower()) or "read_dta")
        # The portable format has a table of characters of its own, so its reader takes no encoding.
        self._how = {} if self._read is library_.read_por else {"encoding": _spelled(options.encoding(name))}
        _, meta = self._tried(metadataonly=True)
        self.names = list(meta.column_names)
        self._rows = meta.number_rows  # None where the file doesn't say
        if not self.names:
            raise self.fault("has no columns")
        if None in self.names:  # the library's word for a name that it can't decode
            raise self._undecoded()
        self._labels = {c: {_key(k): str(v) for k, v in codes.items()} for c, codes in (meta.variable_value_labels or {}).items()}
        self._labels = {c: codes for c, codes in self._labels.items() if codes}
        if self._labels:
            some = list(self._labels)
            self.notes.append(f"{name}: the value labels of " + ", ".join(some[:3]) + (f" and {len(some) - 3} more columns" if len(some) > 3 else "") + " are used")

    def _tried(self, **how):
        """What the library reads. Raises `Fault` where it can't."""
        try:
            return self._read(str(self.path), output_format="dict", **self._how, **how)
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except UnicodeDecodeError:
            raise self._undecoded() from None
        except Exception as error:  # the library has kinds of its own
            raise self.broken("SPSS, Stata or SAS file", error) from None

    def _undecoded(self) -> Fault:
        return self.fault("holds text that is none in the encoding that it names", "Say which encoding it has: with encoding = latin-1")

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        wanted = [n for n in self.names if names is None or n in names]
        at, most = 0, rows_at_once(len(wanted))
        while True:
            found, _ = self._tried(usecols=wanted, row_offset=at, row_limit=most)
            n = len(next(iter(found.values()))) if found else 0
            if not n:
                return
            yield Block({c: self._column(c, found[c]) for c in wanted}, range(at + 1, at + n + 1), None,
                        read=int(self.size * (at + n) / max(self._rows or at + n, 1)))
            at += n
            if n < most:
                return

    def _column(self, name: str, values: Any) -> list:
        """A column's values; None where missing, `Labelled` where a label stands for them."""
        values = values.tolist() if hasattr(values, "tolist") else list(values)
        labels = self._labels.get(name)
        values = [None if v == "" or v != v else v for v in values]
        if labels:
            values = [Labelled(v, labels[_key(v)]) if v is not None and _key(v) in labels else v for v in values]
        return values


def _spelled(encoding: str | None) -> str | None:
    """An encoding by the name that the library has for it."""
    name = encoding and codecs.lookup(encoding).name.replace("_", "-")
    return "macintosh" if name == "mac-roman" else name


def _key(code: Any) -> Any:
    """A code as it is looked up: 1 and 1.0 are one."""
    return float(code) if isinstance(code, (int, float)) else code
