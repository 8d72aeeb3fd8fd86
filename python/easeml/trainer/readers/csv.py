"""CSV and its kin: delimiter, decimal sign, encoding and header are found out, or given as options."""

from __future__ import annotations

import codecs
import csv
import io
import re
from pathlib import Path
from typing import Iterator, Sequence

from ..fault import Fault
from . import Block, Options, Problem, Source, rows_at_once
from .header import find_header

_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "bar": "|", "pipe": "|"}
_COMMA_NUMBER = re.compile(r"\s*[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+\s*")
_POINT_NUMBER = re.compile(r"\s*[+-]?(?!\d{1,3}(?:\.\d{3})+\s*$)\d+\.\d+\s*")  # 1.234 may be a thousand

MOST_NULS = 0.001
"""A file of which a larger share of bytes is 0 is no text; a row with such a byte is broken."""

_WORD = re.compile(r'"((?:[^"]|"")*)"|(\S+)')

csv.field_size_limit(64 * 1024 * 1024)


class _Blanks:
    """Records whose cells have one blank or more between them, as instruments and R write tables; like `csv.reader`."""

    def __init__(self, lines):
        self._lines, self.line_num = iter(lines), 0

    def __iter__(self) -> "_Blanks":
        return self

    def __next__(self) -> list[str]:
        line = next(self._lines)
        self.line_num += 1
        return [m.group(2) if m.group(1) is None else m.group(1).replace('""', '"') for m in _WORD.finditer(line)]


def _reader(lines, delimiter: str):
    return _Blanks(lines) if delimiter == " " else csv.reader(lines, delimiter=delimiter)


class CSV(Source):
    """A text table. Rows are counted as a spreadsheet does, from 1, the header being row 1."""

    kind, cells, typed = "csv", True, False

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        endings = {Path(name).suffix.lower(), path.suffix.lower()}
        self._nuls = False
        self._encoding = self._find_encoding(options.encoding(name))
        try:
            with self._open() as f:
                start = f.read(256 * 1024)
        except UnicodeError:
            raise self.fault(f"is not text in {self._encoding}", "Say which encoding it has: with encoding = latin-1") from None
        whole = len(start) < 256 * 1024
        lines = start.splitlines()
        if not whole and len(lines) > 1:
            lines = lines[:-1]
        self._delimiter = self._find_delimiter(options.one("delimiter"), lines, bool(endings & {".tsv", ".tab"}))
        first = list(_records(lines[:200], self._delimiter))
        if not any(first):
            raise self.fault("is empty")
        if self._delimiter == " ":  # a title's words are no cells
            usual = max(map(len, first), key=[len(r) for r in first].count)
            first = [r if len(r) == usual or len(r) + 1 == usual or r[:1] == ["#"] else [] for r in first]
        self.decimal = self._find_decimal(options.one("decimal"), first)
        given = options.header()
        if isinstance(given, int) and not isinstance(given, bool):
            at, named = given - 1, True
            if at >= len(first):
                raise self.fault(f"has no row {given} among its first rows", "Name the row that holds the columns' names: with header = 1")
        else:
            at, named = find_header(first, lambda c: _is_number(c, self.decimal))
            named = named if given is None else given
        table = [r for r in first[at:] if r]
        if named and self._delimiter == " ":
            if table[0][0].startswith("#"):  # the names stand behind the sign of a comment
                table[0] = [c for c in (table[0][0].lstrip("#"), *table[0][1:]) if c]
            if len(table) > 1 and len(table[0]) + 1 == len(table[1]):  # R writes no name above the rows' own
                table[0] = ["", *table[0]]
        self._skipped = at
        self._header = named
        if named:
            names = [c.strip() for c in table[0]]
            while names and not names[-1]:
                names.pop()  # spreadsheets leave empty columns at the right
            self.names = self.named(names)
            if at and any(first[:at]):
                self.notes.append(f"{name}: the names of the columns are in row {at + 1}")
        else:
            self.names = [f"column_{i + 1}" for i in range(len(table[0]))]
            self.notes.append(f"{name} has no header; its columns are called column_1 to column_{len(self.names)}")

    def _open(self) -> io.TextIOWrapper:
        return open(self.path, encoding=self._encoding, newline="")

    def _find_encoding(self, given: str | None) -> str:
        if given:
            return given
        decoder = codecs.getincrementaldecoder("utf-8")()
        with open(self.path, "rb") as f:
            start = f.read(4)
            if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
                return "utf-16"
            f.seek(0)
            try:
                while chunk := f.read(1 << 20):
                    nuls = chunk.count(b"\0")
                    self._nuls = self._nuls or nuls > 0
                    if nuls > MOST_NULS * len(chunk):
                        raise Fault(f"{self.name} is not a text table: it holds binary data.", where={"file": self.name})
                    decoder.decode(chunk)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                self.notes.append(f"{self.name} is not UTF-8; read as Windows-1252 (another: with encoding = …)")
                return "cp1252"
        return "utf-8-sig"

    def _find_delimiter(self, given: str | None, lines: list[str], tabs: bool) -> str:
        if given:
            sign = _NAMED.get(given, given)
            if len(sign) != 1:
                raise Fault(f'The delimiter "{given}" is not one character.', where={"file": self.name},
                            hint='One character, or: tab, comma, semicolon, space, bar.')
            return sign
        best, fit = ",", (0.0, 0)
        for sign in ("\t", ";", ",", "|"):
            widths = [len(r) for r in _records(lines[:60], sign) if r]
            if not widths:
                continue
            common = max(set(widths), key=widths.count)
            if common > 1:
                best, fit = max((best, fit), (sign, (round(widths.count(common) / len(widths), 1), common)), key=lambda x: x[1])
        if fit == (0.0, 0):
            if not tabs and _is_aligned(lines):
                self.notes.append(f"{self.name}: columns are separated by blanks")
                return " "
            return "\t" if tabs else ","
        if best != ("\t" if tabs else ","):
            self.notes.append(f"{self.name}: columns are separated by " + {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars"}[best])
        return best

    def _find_decimal(self, given: str | None, first: list[list[str]]) -> str:
        if given:
            sign = {"comma": ",", "point": ".", "dot": "."}.get(given, given)
            if sign not in (",", "."):
                raise Fault(f'The decimal sign can be "." or ",", not "{given}".', where={"file": self.name})
            return sign
        if self._delimiter == ",":
            return "."
        cells = [c for row in first[1:] for c in row if c.strip()]
        if any(_COMMA_NUMBER.fullmatch(c) for c in cells) and not any(_POINT_NUMBER.fullmatch(c) for c in cells):
            self.notes.append(f"{self.name}: decimal commas")
            return ","
        return "."

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        width = len(self.names)
        at_once = rows_at_once(width)
        with self._open() as f:
            reader = _reader(f, self._delimiter)
            header, row, line = self._header, 0, 1
            records: list[list[str]] = []
            rows: list[int] = []
            lines: list[int] = []
            broken: list[Problem] = []
            while True:
                try:
                    record = next(reader)
                except StopIteration:
                    break
                except (csv.Error, UnicodeError) as error:
                    raise Fault(f"{self.name}, line {line}: this is not a table ({error}).", where={"file": self.name, "line": line}) from None
                row += 1
                at, line = line, reader.line_num + 1
                if row <= self._skipped or not record or not record[0] and not any(c.strip() for c in record):
                    continue
                if header:
                    header = False
                    continue
                if len(record) > width and not any(c.strip() for c in record[width:]):
                    record = record[:width]
                if len(record) != width:
                    broken.append(Problem(len(records), None, None, f"{len(record)} cells, but there are {width} columns",
                                          "look for a missing or an extra " + {"\t": "tab", ",": "comma", ";": "semicolon", " ": "blank"}.get(self._delimiter, self._delimiter)))
                    record = (record + [""] * width)[:width]
                elif self._nuls and any("\0" in c for c in record):
                    broken.append(Problem(len(records), None, None, "there is a NUL byte in it", "write the row anew"))
                records.append(record)
                rows.append(row)
                lines.append(at)
                if len(records) >= at_once:
                    yield self._block(records, rows, lines, broken, f)
                    records, rows, lines, broken = [], [], [], []
            if records:
                yield self._block(records, rows, lines, broken, f)

    def _block(self, records, rows, lines, broken, f) -> Block:
        columns = dict(zip(self.names, (list(c) for c in zip(*records))))
        return Block(columns, rows, lines, broken, read=min(self.size, f.buffer.tell()))


def _records(lines: list[str], delimiter: str) -> Iterator[list[str]]:
    try:
        yield from _reader((line + "\n" for line in lines), delimiter)
    except csv.Error:
        return


def _is_aligned(lines: list[str]) -> bool:
    """Whether lines are a table whose cells have blanks between them: nearly all have as many, and one column is of numbers."""
    rows = [r for r in _records(lines[:60], " ") if r and not r[0].startswith("#")]
    common = max({len(r) for r in rows}, key=[len(r) for r in rows].count, default=0)
    even = [r for r in rows if len(r) == common]
    if common < 2 or len(even) < 3 or len(even) < 0.9 * (len(rows) - 1):
        return False
    return any(sum(_is_number(r[i], ".") for r in even[1:]) > 0.9 * len(even[1:]) for i in range(common))


def _is_number(cell: str, decimal: str) -> bool:
    try:
        float(cell.replace(decimal, ".") if decimal != "." else cell)
    except ValueError:
        return False
    return True
