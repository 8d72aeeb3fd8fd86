"""The .ts files of time series archives: a header of @ lines, then one series a line, its dimensions between colons, its label last.

The form is described at the sktime and aeon projects ("The .ts file format").
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator, Sequence

import numpy as np

from . import Block, Options, Problem, Source

_ROWS = 500
MOST_LINE = 200_000_000
_STAMPED = re.compile(r"\(([^()]*),([^(),]*)\)")


class TS(Source):
    """Series as rows: the columns ``series`` ([steps, dimensions] each) and ``label``. Lines are counted from 1; ``?`` is a gap."""

    kind = "ts"

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        self._labelled, self._stamped = False, False
        self._header()
        self.names = ["series"] + (["label"] if self._labelled else [])
        if self._stamped:
            self.notes.append(f"{name}: its time stamps are left out; steps count as evenly spaced")

    def _lines(self) -> Iterator[tuple[int, str]]:
        try:
            with open(self.path, encoding="utf-8-sig") as f:
                number = 0
                while line := f.readline(MOST_LINE):
                    number += 1
                    if len(line) >= MOST_LINE:
                        raise self.fault(f"has a line of more than {MOST_LINE // 1_000_000} million characters")
                    line = line.strip()
                    if line and not line.startswith("#"):
                        yield number, line
        except UnicodeDecodeError:
            raise self.fault("is not text in UTF-8", "Save it as UTF-8.") from None

    def _header(self) -> None:
        for number, line in self._lines():
            if not line.startswith("@"):
                break
            words = line.split()
            tag, value = words[0].lower(), (words[1].lower() if len(words) > 1 else "")
            if tag in ("@classlabel", "@targetlabel"):
                self._labelled = value == "true"
            elif tag == "@timestamps":
                self._stamped = value == "true"
            elif tag == "@data":
                return
        raise self.fault("has no line @data, after which its series begin", "Save it again as .ts, or give the series as JSON.")

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        series: list = []
        labels: list[str | None] = []
        places: list[int] = []
        broken: list[Problem] = []
        data, read = False, 0
        for number, line in self._lines():
            read += len(line) + 1
            if not data:
                data = line.lower().startswith("@data")
                continue
            parts = line.split(":")
            label = parts.pop().strip() if self._labelled else None
            try:
                values = self._values(parts)
            except ValueError as error:
                broken.append(Problem(len(series), "series", None, str(error), "correct the line"))
                values = None
            series.append(values)
            labels.append(None if label in ("", "?") else label)
            places.append(number)
            if len(series) >= _ROWS:
                yield self._block(series, labels, places, broken, read)
                series, labels, places, broken = [], [], [], []
        if series:
            yield self._block(series, labels, places, broken, read)

    def _block(self, series, labels, places, broken, read) -> Block:
        columns = {"series": series} | ({"label": labels} if self._labelled else {})
        return Block(columns, places, places, broken, read=min(self.size, read))

    def _values(self, parts: list[str]) -> np.ndarray:
        """A line's dimensions as [steps, dimensions]. Raises ValueError with a reason."""
        if not parts:
            raise ValueError("the line has a label but no series")
        columns = []
        for part in parts:
            if self._stamped:
                columns.append([_number(m.group(2)) for m in _STAMPED.finditer(part)])
            else:
                columns.append([_number(x) for x in part.split(",")] if part.strip() else [])
        steps = max(map(len, columns))
        out = np.full((steps, len(columns)), np.nan)
        for k, column in enumerate(columns):
            out[:len(column), k] = column  # a shorter dimension ends in a gap
        return out


def _number(text: str) -> float:
    text = text.strip()
    if text in ("?", "", "NaN", "nan"):
        return np.nan
    try:
        if "_" not in text:
            return float(text)
    except ValueError:
        pass
    raise ValueError(f'"{text[:40]}" is not a number')
