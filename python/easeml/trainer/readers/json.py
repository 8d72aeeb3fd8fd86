"""JSON: an array of objects, one object, or one object a line (JSON Lines). Arrays and lines are read piece by piece."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Iterator, Sequence

from ..fault import Fault
from . import MOST_ROWS, Block, Options, Problem, Source

_CHUNK = 1 << 20
_BYTES = 4_000_000
"""A file up to this size is kept parsed; a larger one is read twice, a block of about so many characters at a time."""
MOST_WHOLE = 250_000_000
"""What may stand in one piece, some eight times of which are then in memory: a single object, or one item of an array."""

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"
_DEEP = 20_000
"""How deep values may be nested, about."""


class JSON(Source):
    """Objects as rows, counted from 1: items of the array, or lines."""

    kind = "json"

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        self._kept: list[tuple[int, Any, str | None]] | None = None
        self._passed = 0  # characters that were read so far, where items are read one by one
        self._whole = options.whole
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEEP))  # trees may be chains
        self._form = self._find_form()
        seen: dict[str, None] = {}
        kept: list[tuple[int, Any, str | None]] = []
        keep = self.size <= _BYTES or self._form == "whole"
        for item in self._items():
            value = item[1]
            if isinstance(value, dict):
                seen.update(dict.fromkeys(value))
            if keep:
                kept.append(item)
            elif not kept:
                kept.append(item)
        if not kept:
            raise self.fault("holds no examples")
        self._kept = kept if keep else None
        self.names = list(seen)

    def _find_form(self) -> str:
        """``array``, ``lines`` or ``whole``: how the file is laid out. Raises `Fault` where it is no text in UTF-8."""
        with self._open() as f:
            try:
                start = f.read(4096).lstrip()
                if not start:
                    raise self.fault("holds no examples")
                if start[0] == "[":
                    return "array"
                f.seek(0)
                line = ""
                while not line.strip():
                    line = f.readline(_BYTES)
                more = any(part.strip() for part in iter(lambda: f.readline(4096), ""))
            except UnicodeDecodeError as error:
                raise self._no_text(error) from None
        if more:
            try:
                if isinstance(json.loads(line), dict):
                    return "lines"
            except (ValueError, RecursionError):
                pass
        return "whole"

    def _open(self):
        return open(self.path, encoding="utf-8-sig", newline="\n")

    def _no_text(self, error: UnicodeDecodeError) -> Fault:
        return self.fault(f"is not JSON in UTF-8 (byte {error.start:,}: {error.reason})", "Save it as UTF-8.")

    def _items(self) -> Iterator[tuple[int, Any, str | None]]:
        """Each item with its place, and why it is none; None where it is one."""
        if self._kept is not None:
            yield from self._kept
            return
        try:
            if self._form == "array":
                yield from self._of_array()
            elif self._form == "lines":
                yield from self._of_lines()
            else:
                yield from self._of_whole()
        except UnicodeDecodeError as error:
            raise self._no_text(error) from None
        except RecursionError:
            raise self.fault("is nested too deeply", f"Values may lie about {_DEEP:,} deep in each other.") from None

    def _of_lines(self) -> Iterator[tuple[int, Any, str | None]]:
        with self._open() as f:
            for number, line in enumerate(f, 1):
                self._passed += len(line)
                if not line.strip():
                    continue
                try:
                    yield number, json.loads(line), None
                except (ValueError, RecursionError) as error:
                    yield number, None, getattr(error, "msg", "nested too deeply" if isinstance(error, RecursionError) else "a number is too long")

    def _of_array(self) -> Iterator[tuple[int, Any, str | None]]:
        """The items of an array, decoded one by one from a window on the text."""
        number, lines, before, window, at, ended = 0, 1, 0, "", 0, False  # before: characters of the line that left the window
        with self._open() as f:
            def more(size: int = _CHUNK) -> bool:
                nonlocal window, at, lines, before, ended
                lines += window.count("\n", 0, at)
                before = before + at if (last := window.rfind("\n", 0, at)) < 0 else at - last - 1
                if len(window) - at > MOST_WHOLE:
                    raise self.fault(f"holds an item of more than {MOST_WHOLE // 1_000_000:,} million characters")
                piece = f.read(max(size, len(window) - at))  # doubled: an item is not begun over and over
                window, at, ended = window[at:] + piece, 0, not piece
                return bool(piece)

            def skip() -> str:
                nonlocal at
                while True:
                    while at < len(window) and window[at] in _SPACE:
                        at += 1
                    if at < len(window):
                        return window[at]
                    if not more():
                        return ""

            def bad(place: int, what: str) -> Fault:
                line = lines + window.count("\n", 0, place)
                last = window.rfind("\n", 0, place)
                column = place - last if last >= 0 else before + place + 1
                return Fault(f"{self.name}, line {line}, column {column}: this is not JSON ({what}).", where={"file": self.name, "line": line})

            skip()
            at += 1
            while (sign := skip()) != "]":
                if number:
                    if sign != ",":
                        raise bad(at, "Expecting ',' delimiter" if sign else "it breaks off")
                    at += 1
                    sign = skip()
                    if sign == "]":
                        raise bad(at, "a comma too many")
                while True:
                    try:
                        value, end = _DECODER.raw_decode(window, at)
                    except ValueError as error:
                        begun = at
                        if ended or not more():
                            place = at + getattr(error, "pos", begun) - begun  # the window may have moved
                            raise bad(place, getattr(error, "msg", "a number is too long") if sign else "it breaks off") from None
                        continue
                    if end == len(window) and isinstance(value, (int, float)) and more():
                        continue  # the number may go on
                    break
                self._passed += end - at
                at = end
                number += 1
                yield number, {f"column_{i + 1}": x for i, x in enumerate(value)} if isinstance(value, list) else value, None
            at += 1
            if (sign := skip()) != "":
                raise bad(at, "Extra data")

    def _of_whole(self) -> Iterator[tuple[int, Any, str | None]]:
        if self.size > MOST_WHOLE:
            raise self.fault(f"is one value of more than {MOST_WHOLE // 1_000_000:,} MB", "Write one object a line.")
        with self._open() as f:
            raw = f.read()
        try:
            value = json.loads(raw)
        except ValueError as error:
            if raw.lstrip()[:1] == "{" and sum(1 for line in raw.splitlines() if line.strip()) > 1 and "\n" in raw.strip() and self._some_lines(raw):
                self._form = "lines"
                yield from self._of_lines()
                return
            line, column, what = getattr(error, "lineno", 1), getattr(error, "colno", 1), getattr(error, "msg", "a number is too long")
            raise Fault(f"{self.name}, line {line}, column {column}: this is not JSON ({what}).", where={"file": self.name, "line": line}) from None
        if not isinstance(value, dict):
            raise self.fault("holds one value; examples are objects, or an array of them")
        if not self._whole and len(value) > 1 and all(isinstance(v, list) for v in value.values()) and len({len(v) for v in value.values()}) == 1 \
                and not any(isinstance(x, (dict, list)) for v in value.values() for x in v[:1]):
            self.notes.append(f"{self.name}: read as columns")
            yield from ((i, dict(zip(value, row)), None) for i, row in enumerate(zip(*value.values()), 1))
            return
        rows = None if self._whole else self._rows_within(value)
        if rows is not None:
            yield from ((i, row, None) for i, row in enumerate(rows, 1))
            return
        yield 1, value, None

    def _rows_within(self, value: dict) -> "list[dict] | None":
        """The rows of an object that is a table: as data frames are saved, or with one list of objects in it; None where it is none."""
        inner = list(value.values())
        if {"columns", "data"} <= value.keys() <= {"columns", "data", "index"} and all(isinstance(v, list) for v in inner) and \
                all(isinstance(r, list) and len(r) == len(value["columns"]) for r in value["data"]):
            self.notes.append(f"{self.name}: read as a table of columns and data")
            names = [str(c) for c in value["columns"]]
            return [dict(zip(names, row)) for row in value["data"]]
        if len(inner) > 1 and all(isinstance(v, dict) and v and v.keys() == inner[0].keys() for v in inner):
            numbered = all(k.isdigit() for k in inner[0])
            if numbered and not all(k.isdigit() for k in value):
                self.notes.append(f"{self.name}: read as columns")
                return [{name: cells[k] for name, cells in value.items()} for k in inner[0]]
            if not numbered:
                self.notes.append(f"{self.name}: each of its {len(inner):,} objects is a row; their names are left out")
                return inner
        lists = [k for k, v in value.items() if isinstance(v, list) and len(v) > 1 and all(isinstance(x, dict) for x in v)]
        if len(lists) == 1:
            beside = f"; {', '.join([k for k in value if k != lists[0]][:5])} beside it is left out" if len(value) > 1 else ""
            self.notes.append(f'{self.name}: its rows are the list in "{lists[0]}"{beside}')
            return value[lists[0]]
        return None

    @staticmethod
    def _some_lines(raw: str) -> bool:
        """Whether a line of the text is an object of its own, so that it is one object a line with a broken one."""
        for line in raw.splitlines():
            try:
                if isinstance(json.loads(line), dict):
                    return True
            except (ValueError, RecursionError):
                continue
        return False

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        wanted = [n for n in self.names if names is None or n in names]
        some: list[tuple[int, Any, str | None]] = []
        read = self._passed = begun = 0
        for item in self._items():
            some.append(item)
            if len(some) >= MOST_ROWS or self._passed - begun >= _BYTES:
                read, begun = read + len(some), self._passed
                yield self._block(some, wanted, read)
                some = []
        if some:
            yield self._block(some, wanted, read + len(some))

    def _block(self, some, wanted: list[str], read: int) -> Block:
        broken = []
        for i, (_, value, why) in enumerate(some):
            if why is not None:
                broken.append(Problem(i, None, None, f"the line is not JSON ({why})", "correct the line"))
            elif not isinstance(value, dict):
                broken.append(Problem(i, None, str(value)[:60], "not an object with the columns' names", 'write it as {"column": value, …}'))
        columns = {k: [value.get(k) if isinstance(value, dict) else None for _, value, _ in some] for k in wanted}
        places = [number for number, _, _ in some]
        done = int(self.size * min(1.0, read / len(self._kept))) if self._kept is not None else min(self.size, self._passed)
        return Block(columns, places, places if self._form == "lines" else None, broken, read=done)
