"""JSON: an array of objects, one object, or one object a line (JSON Lines)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator

from ..fault import Fault
from . import Block, Problem

_ROWS = 20000


class JSON:
    """Objects as rows, counted from 1: items of the array, or lines."""

    kind, counted_from, decimal, text = "json", 1, ".", True

    def __init__(self, name: str, path: Path):
        self.name, self.size = name, path.stat().st_size
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.notes: list[str] = []
        try:
            raw = path.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise Fault(f"{name} is not JSON in UTF-8 ({error}).", where={"file": name}) from None
        self._lines: list[int] | None = None
        self._broken: dict[int, str] = {}
        self._items = self._parse(raw)
        self.names = []
        seen = set()
        for item in self._items:
            if isinstance(item, dict):
                for key in item:
                    if key not in seen:
                        seen.add(key)
                        self.names.append(key)
        if not self._items:
            raise Fault(f"{name} holds no examples.", where={"file": name})

    def _parse(self, raw: str) -> list[Any]:
        try:
            value = json.loads(raw)
        except json.JSONDecodeError as error:
            lines = raw.splitlines()
            if raw.lstrip()[:1] == "{" and sum(1 for line in lines if line.strip()) > 1:
                return self._parse_lines(lines)
            raise Fault(f"{self.name}, line {error.lineno}, column {error.colno}: this is not JSON ({error.msg}).",
                        where={"file": self.name, "line": error.lineno}) from None
        except RecursionError:
            raise Fault(f"{self.name} is nested too deeply.", where={"file": self.name}) from None
        if isinstance(value, dict):
            if value and all(isinstance(v, list) for v in value.values()) and len({len(v) for v in value.values()}) == 1 \
                    and not any(isinstance(x, (dict, list)) for v in value.values() for x in v[:1]) and len(value) > 1:
                self.notes.append(f"{self.name}: read as columns")
                return [dict(zip(value, row)) for row in zip(*value.values())]
            return [value]
        if not isinstance(value, list):
            raise Fault(f"{self.name} holds one value; examples are objects, or an array of them.", where={"file": self.name})
        if value and all(isinstance(v, list) for v in value):
            return [{f"column_{i + 1}": x for i, x in enumerate(row)} for row in value]
        return value

    def _parse_lines(self, lines: list[str]) -> list[Any]:
        items: list[Any] = []
        self._lines = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            self._lines.append(number)
            try:
                items.append(json.loads(line))
            except (json.JSONDecodeError, RecursionError) as error:
                self._broken[len(items)] = getattr(error, "msg", "nested too deeply")
                items.append(None)
        return items

    def blocks(self) -> Iterator[Block]:
        n = len(self._items)
        for at in range(0, n, _ROWS):
            items = self._items[at:at + _ROWS]
            broken = []
            for i, item in enumerate(items):
                if isinstance(item, dict):
                    continue
                if at + i in self._broken:
                    broken.append(Problem(i, None, None, f"the line is not JSON ({self._broken[at + i]})", "correct the line"))
                else:
                    broken.append(Problem(i, None, str(item)[:60], "not an object with the columns' names",
                                          'write it as {"column": value, …}'))
            columns = {k: [item.get(k) if isinstance(item, dict) else None for item in items] for k in self.names}
            lines = None if self._lines is None else self._lines[at:at + len(items)]
            rows = lines if lines is not None else range(at + 1, at + 1 + len(items))
            yield Block(columns, rows, lines, broken, read=int(self.size * min(n, at + len(items)) / n))
