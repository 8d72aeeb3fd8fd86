"""Where a table's names stand: spreadsheets and instruments put titles above them."""

from __future__ import annotations

from typing import Any, Sequence

LOOKED = 60
"""Rows that are looked at."""


def filled(row: Sequence[Any]) -> int:
    """How many cells of a row hold something, up to the last one that does counts as width elsewhere."""
    return sum(1 for c in row if c is not None and (not isinstance(c, str) or c.strip()))


def width(row: Sequence[Any]) -> int:
    """The place after the last cell that holds something."""
    for i in range(len(row), 0, -1):
        c = row[i - 1]
        if c is not None and (not isinstance(c, str) or c.strip()):
            return i
    return 0


def find_header(rows: Sequence[Sequence[Any]], is_number) -> tuple[int, bool]:
    """Where the table begins among its first rows, from 0, and whether that row holds names.

    The table begins with the first row that is about as full as most rows are: what stands above it is a
    title. It holds names where none of its cells is a number, a date or a truth value; where some are, names
    are those over a column of numbers that are text themselves, and years.
    """
    counts = [filled(r) for r in rows[:LOOKED] if filled(r)]
    if not counts:
        return 0, False
    usual = max(set(counts), key=lambda c: (counts.count(c) * (c > 1), c))
    for i, row in enumerate(rows[:LOOKED]):
        if filled(row) * 10 >= usual * 6 and (usual == 1 or filled(row) > 1):
            return i, _names(row, rows[i + 1:LOOKED], is_number)
    return 0, False


def _names(row: Sequence[Any], below: Sequence[Sequence[Any]], is_number) -> bool:
    from ..convert import MISSING_NUMBERS
    plain = lambda c: c is None or isinstance(c, str) and c.strip() in MISSING_NUMBERS  # noqa: E731
    number = lambda c: not isinstance(c, str) or is_number(c)  # noqa: E731
    cells = [(i, c) for i, c in enumerate(row) if not plain(c)]
    if not any(number(c) for _, c in cells):
        return True
    for i, c in cells:
        if not number(c):
            under = [r[i] for r in below if i < len(r) and not plain(r[i])]
            if under and sum(map(number, under)) * 2 > len(under):
                return True
    return all(_year(c) for _, c in cells if number(c)) and not all(number(c) for _, c in cells)


def _year(cell: Any) -> bool:
    try:
        return float(cell).is_integer() and 1800 <= float(cell) <= 2200
    except (TypeError, ValueError):
        return False
