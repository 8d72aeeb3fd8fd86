"""Excel and OpenDocument workbooks: one sheet as a table; its header is looked for."""

from __future__ import annotations

import datetime
import itertools
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any, Iterator, Sequence

from ..fault import Fault
from ..memory import says
from . import Block, Options, Source, compound, rows_at_once
from .header import LOOKED, find_header, width
from .kinds import library

MOST_BYTES = 4_000_000_000
"""What the sheets of a workbook may take, unpacked."""
MOST_RATIO = 400


_LOOKED_AT = 32_000_000
"""So much of a sheet's XML is looked through for formulas without a value."""
_EMPTY_FORMULA = re.compile(rb'<c r="([A-Z]{1,3})\d{1,7}"[^>]*><f[^>]*>[^<]*</f>(?:<v ?/>|<v></v>)?</c>')
_DAYS = (datetime.date, datetime.datetime)


class _NoTable(Fault):
    """The fault of a sheet without a table; another sheet may have one."""


class Workbook(Source):
    """A sheet of a workbook. Rows are counted as a spreadsheet shows them. Formulas count by their last value, merged cells in each of them."""

    kind, cells = "workbook", True

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        calamine = library("python_calamine", name)
        self._check_size()
        with open(path, "rb") as f:
            old = f.read(4) == compound.START
        if old:
            self._tried(lambda: compound.check(path))
        book = self._tried(lambda: calamine.CalamineWorkbook.from_path(str(path)))
        wanted = options.one("sheet")
        visible = [m.name for m in book.sheets_metadata if str(m.visible).endswith("Visible") and str(m.typ).endswith("WorkSheet")]
        names = visible or list(book.sheet_names)
        if not names:
            raise self.fault("has no sheets")
        candidates = names if wanted is None else [self._chosen(wanted, list(book.sheet_names), names)]
        for sheet in candidates:
            try:
                self._open(book, sheet, options)
                break
            except _NoTable:
                if sheet == candidates[-1] and (len(candidates) == 1 or options.header() is not None):
                    raise
                if sheet == candidates[-1]:
                    raise self.fault("has no sheet with names and rows below them") from None
        if wanted is None and len(names) > 1:
            which = "the first sheet" if sheet == names[0] else "the first sheet with a table"
            others = [n for n in names if n != sheet]
            self.notes.insert(0, f'{name}: {which}, "{sheet}", is read; it also has ' + ", ".join(f'"{n}"' for n in others[:5]) + (" …" if len(others) > 5 else ""))
        self._say_empty_formulas(list(book.sheet_names).index(sheet))

    def _open(self, book: Any, sheet: str, options: Options) -> None:
        """Take one sheet. Raises `Fault` where it holds no table."""
        self.sheet = sheet
        self._sheet = self._tried(lambda: book.get_sheet_by_name(sheet))
        self._merged = sorted(getattr(self._sheet, "merged_cell_ranges", None) or [])
        self._first = 1 << 31  # above and in the names, a merged cell is one
        self.notes.clear()
        self._find_header(options)

    def _rows(self) -> Iterator[list[Any]]:
        """The sheet's rows from its first cell on, as Python values one by one; below the names merged cells hold their value each."""
        before = [""] * (self._sheet.start or (0, 0))[1]  # columns that are empty from top to bottom
        rows = self._tried(lambda: iter(self._sheet.iter_rows()))
        merged, open_, at = iter(self._merged), [], 0
        coming = next(merged, None)
        while (row := self._tried(lambda: next(rows, None))) is not None:
            row = before + row
            while coming is not None and coming[0][0] <= at:
                (top, left), (bottom, right) = coming
                if top == at and top >= self._first and left < len(row):
                    open_.append((bottom, left, right, row[left]))
                coming = next(merged, None)
            for bottom, left, right, value in open_:
                row[left:right + 1] = [value] * (min(right + 1, len(row)) - left)
            open_ = [o for o in open_ if o[0] > at]
            at += 1
            yield row

    def _say_empty_formulas(self, at: int) -> None:
        """Say which columns have formulas that nothing has worked out yet, as files of programs do: their cells are empty."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                sheets = re.findall(rb'<sheet [^>]*r:id="([^"]+)"', archive.read("xl/workbook.xml"))
                related = archive.read("xl/_rels/workbook.xml.rels")
                target = next(m for tag in re.findall(rb"<Relationship [^>]*>", related) if b'Id="' + sheets[at] + b'"' in tag
                              for m in re.findall(rb'Target="/?(?:xl/)?([^"]+)"', tag)).decode()
                with archive.open("xl/" + target) as f:
                    letters = Counter(m.group(1).decode() for m in _EMPTY_FORMULA.finditer(f.read(_LOOKED_AT)))
        except (zipfile.BadZipFile, OSError, ValueError, KeyError, IndexError, StopIteration, NotImplementedError, RuntimeError):
            return  # not of this kind, or broken: nothing is known
        if letters:
            some = ", ".join(sorted(letters, key=lambda c: (len(c), c))[:6])
            self.notes.append(f"{self.name}: {sum(letters.values()):,} formulas in column {some} hold no value yet, so these cells are empty; open the file in a spreadsheet and save it")

    def _check_size(self) -> None:
        """Raise `Fault` for a workbook that would unpack to far more than it is."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                total = sum(z.file_size for z in archive.infolist())
                encrypted = any(z.flag_bits & 1 for z in archive.infolist())
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return  # an old binary workbook, or a broken one: its reader tells
        if total > MOST_BYTES or total > 100_000_000 and total > MOST_RATIO * self.size:
            raise self.fault(f"is refused: unpacked it would take {says(total)}", "Save the sheet that is meant as CSV or Parquet.")
        if encrypted:
            raise self.fault("is encrypted", "Save it without a password.")

    def _tried(self, step):
        """What a step of the workbook's library gives. Raises `Fault` where it can't."""
        try:
            return step()
        except (KeyboardInterrupt, SystemExit, Fault):
            raise
        except MemoryError:
            raise
        except BaseException as error:  # a panic of the library is no Exception
            if "assword" in str(error):
                raise self.fault("is protected by a password", "Save it without one.") from None
            raise self.broken("workbook", error) from None

    def _chosen(self, wanted: str, every: list[str], visible: list[str]) -> str:
        """The sheet that is meant: by name, or by number from 1."""
        if wanted in every:
            return wanted
        alike = [n for n in every if n.strip().lower() == wanted.strip().lower()]
        if len(alike) == 1:
            return alike[0]
        if wanted.isdigit() and 1 <= int(wanted) <= len(every):
            return every[int(wanted) - 1]
        raise self.fault(f'has no sheet "{wanted}"; it has ' + ", ".join(f'"{n}"' for n in every[:8]) + (" …" if len(every) > 8 else ""),
                         f'Say which: with sheet = "{every[0]}"')

    def _find_header(self, options: Options) -> None:
        if not any(map(width, self._rows())):
            raise _NoTable(f'{self.name} has nothing in the sheet "{self.sheet}".', where={"file": self.name})
        given = options.header()
        fixed = isinstance(given, int) and not isinstance(given, bool)
        rows = list(itertools.islice(self._rows(), max(LOOKED, given) if fixed else LOOKED))
        if fixed:
            at, named = given - 1, True
            if at >= len(rows):
                raise self.fault(f'has only {len(rows)} rows in the sheet "{self.sheet}"', "Name the row that holds the columns' names: with header = 1")
        else:
            at, named = find_header(rows, lambda c: False)
            named = named if given is None else given
        below = max([b[0] for a, b in self._merged if named and a[0] == at and a[1] == b[1]], default=at)  # names in two rows
        self._first = below + named
        wide = self._last = 0
        texts: Counter[int] = Counter()
        days: Counter[int] = Counter()
        for i, row in enumerate(self._rows()):
            if (cells := width(row)) and i >= at:
                wide = max(wide, cells)
            if i >= self._first:
                for j, c in enumerate(row):
                    if type(c) is str:
                        if c and not c.isspace():
                            texts[j] += 1
                    elif isinstance(c, _DAYS):
                        days[j] += 1
            self._last = i + 1
        if not named:
            self.names = [f"column_{i + 1}" for i in range(wide)]
            self.notes.append(f"{self.name} has no header; its columns are called column_1 to column_{wide}")
        else:
            heads = [(list(r) + [None] * wide)[:wide] for r in rows[at:below + 1]]
            self.names = self.named([next((t for r in reversed(heads) if (t := _text(r[j]))), None) for j in range(wide)])
            if at or below > at:
                self.notes.append(f"{self.name}: the names of the columns are in " + (f"rows {at + 1} to {below + 1}" if below > at else f"row {at + 1}"))
        within = [(a, b) for a, b in self._merged if a[0] >= self._first]
        if within:
            self.notes.append(f"{self.name}: {len(within):,} merged cells count in each of their rows and columns")
        for j in sorted(days):
            if j < wide and texts[j] > days[j]:
                self.notes.append(f"{self.name}: {self.names[j]} has {days[j]:,} dates among its texts; spreadsheets make dates of names such as MARCH1 and SEPT2")
        if self._first >= self._last:
            raise _NoTable(f'{self.name} has no rows below the names in the sheet "{self.sheet}".', where={"file": self.name})

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        columns = len(self.names)
        most = rows_at_once(columns)
        rows, places = [], []
        for i, row in enumerate(self._rows()):
            if i >= self._first and width(row):
                rows.append([_value(c) for c in (row + [None] * columns)[:columns]])
                places.append(i + 1)
            if len(rows) >= most:
                yield Block(dict(zip(self.names, map(list, zip(*rows)))), places, None, read=int(self.size * (i + 1) / self._last))
                rows, places = [], []
        if rows:
            yield Block(dict(zip(self.names, map(list, zip(*rows)))), places, None, read=self.size)


def _value(cell: Any) -> Any:
    """A cell as readers give it: None where it is empty; a day without a time as a date; whole what is shown as whole, for sheets know floats only."""
    if isinstance(cell, str) and not cell.strip():
        return None
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date()
    if isinstance(cell, datetime.timedelta):
        return cell.total_seconds() / 86400
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    return cell


def _text(cell: Any) -> str | None:
    from ..convert import text_of
    return text_of(cell)
