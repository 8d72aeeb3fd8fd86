"""Readers: each opens one kind of file and hands out its rows in blocks, with the place of each row.

A new kind is a module here and a line in `open_source`: a class with the attributes of `Source`
and a method ``blocks``. Readers know nothing of programs; they neither convert nor judge values.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator, Sequence

from ..fault import Fault, one_sentence


MOST_ROWS = 20_000
MOST_CELLS = 500_000
"""So many rows, and about so many cells as Python values, are in memory at one time."""


def rows_at_once(columns: int) -> int:
    """How many rows of a table of so many columns a block has."""
    return max(200, min(MOST_ROWS, MOST_CELLS // max(1, columns)))


@dataclass
class Problem:
    """Why a row (``at``: its place in the block) can't be taken: what stands where, why, and what to do."""

    at: int
    column: str | None
    value: str | None
    reason: str
    remedy: str


@dataclass
class Block:
    """Some rows of a source. ``columns``: by name, a list of values or an array with one row each.

    ``rows`` and ``lines`` count as an editor or spreadsheet does (``lines`` None where there are
    none); ``broken`` are rows that the reader itself can't make sense of. ``read``: bytes read so far.
    """

    columns: dict[str, Any]
    rows: Sequence[int]
    lines: Sequence[int] | None
    broken: list[Problem] = field(default_factory=list)
    read: int = 0


class Source:
    """An open file: the base of every reader.

    ``names``: its columns, in order. ``counted_from``: 0 or 1, where its rows begin. ``cells``: a value is
    one number, date or text, as in a spreadsheet; else it may be a whole tensor. ``arrays``: columns are
    arrays that stand beside each other and may differ in length. ``shapes``: the shape of one value of a
    column where the file says so. ``decimal``: the decimal sign of text. ``text``: values are echoed in
    answers. ``notes``: how the file was read, for people.
    """

    kind = "table"
    counted_from = 1
    decimal = "."
    cells = False
    arrays = False
    text = True
    typed = True
    """Whether values have types; in a text file all of them are text."""

    steps = False
    """Whether a row holds many values of each column: the steps of a series."""

    def __init__(self, name: str, path: Path):
        self.name, self.path = name, path
        self.size = max(1, path.stat().st_size)
        self.names: list[str] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.notes: list[str] = []

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        """All rows, in order, once. `names`: the columns that are wanted; a reader may give more. None: all."""
        raise NotImplementedError

    def fault(self, text: str, hint: str | None = None, *, kind: str = "data", column: str | None = None) -> Fault:
        """A fault that names this file: ``x.csv is empty.``"""
        return Fault(f"{self.name} {text}.", kind=kind, where={"file": self.name, "column": column}, hint=hint)

    def broken(self, what: str, error: BaseException) -> Fault:
        """The fault for a file that its library can't make sense of: ``x.xlsx is not a whole workbook (…).``"""
        return self.fault(f"is not a whole {what} ({one_sentence(error)[:120].rstrip('. ')})", "Download or save it again.")

    def named(self, columns: Sequence[Any]) -> list[str]:
        """Names for a header's cells: empty ones are called column_i, equal ones are told apart by a number, and it is said."""
        names = ["" if c is None else " ".join(str(c).split()) for c in columns]
        names = [n or f"column_{i + 1}" for i, n in enumerate(names)]
        again = Counter(names)
        at: Counter[str] = Counter()
        taken = set(names)
        for i, n in enumerate(names):
            if again[n] > 1:
                at[n] += 1
                while f"{n} ({at[n]})" in taken:
                    at[n] += 1
                names[i] = f"{n} ({at[n]})"
        for n, count in again.items():
            if count > 1:
                self.notes.append(f'{self.name}: {count} columns are called "{n}"; they are "{n} (1)" to "{n} ({at[n]})" here')
        return names

    def chosen(self, inputs: Sequence[str], shared: Sequence[str]) -> None:
        """Told which columns hold a value a step, and which one for all steps of a series, before rows are read; only `Steps` minds."""

    def lengths(self, names: Sequence[str]) -> None:
        """Where columns are `arrays`: raise `Fault` that names two of `names` that differ in length."""


@dataclass(frozen=True)
class Options:
    """The reading options of `feed` and `infer`, each a value or several."""

    raw: dict[str, Any]
    whole: bool = False
    """A list is one value, a series: an object of lists is one row, and not a table by its columns."""

    @classmethod
    def of(cls, raw: dict[str, Any] | None, program: Any) -> "Options":
        """The options with which a program's files are read."""
        raw = raw or {}
        return cls(raw, bool(program.input_pointers or program.output_pointers) and not raw.get("series"))

    def one(self, name: str) -> str | None:
        """The option's value as text, the last one where it was repeated."""
        value = self.raw.get(name)
        if isinstance(value, list):
            value = value[-1] if value else None
        return None if value is None else str(value)

    def all(self, name: str) -> list[str]:
        """All values of a repeated option."""
        value = self.raw.get(name)
        if value is None:
            return []
        return [str(v) for v in value] if isinstance(value, list) else [str(value)]

    def encoding(self, file: str) -> str | None:
        """The encoding of text that is given; None where none is. Raises `Fault` where there is none of that name."""
        given = self.one("encoding")
        try:
            "".encode(given or "utf-8")
            return given or None
        except (LookupError, ValueError):
            raise Fault(f"There is no encoding {given}.", where={"file": file}, hint="Common ones: utf-8, latin-1, cp1252, utf-16.") from None

    def header(self) -> bool | int | None:
        """Whether there are names (True, False), or in which row, from 1; None where it isn't given. Raises `Fault`."""
        value = self.one("header")
        if value is not None and value.strip().isdigit() and int(value) > 0:
            return int(value)
        if value is not None and value.lower() not in ("on", "off", "yes", "no", "true", "false"):
            raise Fault(f'The option header is on, off, or the row that holds the names, not "{value}".')
        return self.switch("header")

    def switch(self, name: str) -> bool | None:
        """On or off, None where it isn't given."""
        value = self.one(name)
        if value is None:
            return None
        return value.lower() in ("on", "yes", "true", "1")


def open_source(name: str, path: Path, options: Options) -> Source:
    """Open a file by its first bytes, else by its ending. Raises `Fault` where it can't be read at all."""
    from .kinds import open_kind
    return open_kind(name, path, options)
