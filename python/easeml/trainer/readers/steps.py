"""One row a step: rows that are equal in one column make one series, in the order in which they stand."""

from __future__ import annotations

from typing import Any, Iterator, Sequence

from . import Block, Problem, Source

_SERIES = 2000
MOST_STEPS = 50_000_000
"""Steps that one file may have: they are brought together in memory."""


class Steps(Source):
    """A source whose rows are whole series: inputs hold a list of cells each, other columns the one value that all steps share.

    A row is counted as its first step is. A column that is used and differs within a series costs that series; one that
    nothing uses and that differs within any (the time of each step, say) is in no block.
    """

    cells, steps = True, True

    def __init__(self, source: Source, column: str):
        from ..matching import missing_column
        from ..program import fold
        self._source = source
        self.name, self.path, self.size, self.kind = source.name, source.path, source.size, source.kind
        self.counted_from, self.decimal, self.notes = source.counted_from, source.decimal, source.notes
        self.typed = source.typed
        self.shapes: dict[str, tuple[int, ...]] = {}
        found = [n for n in source.names if n == column] or [n for n in source.names if fold(n) == fold(column)]
        if not found:
            raise missing_column(source, column)
        self.column = found[0]
        self.names = list(source.names)
        self._inputs: set[str] = set()
        self._shared: set[str] = set()
        self.notes.append(f"{self.name}: rows with the same {self.column} make one series")

    def chosen(self, inputs: Sequence[str], shared: Sequence[str]) -> None:
        self._inputs, self._shared = set(inputs), set(shared)

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        from ..convert import MISSING, text_of
        wanted = [n for n in self.names if names is None or n in names]
        differing: set[str] = set()
        series: dict[str, dict[str, list]] = {}
        first: dict[str, tuple[int, int | None]] = {}
        bad: dict[str, Problem] = {}
        lost: list[tuple[int, int | None, Problem]] = []
        count = 0
        for block in self._source.blocks([*wanted, self.column] if names is not None else None):
            keys = [text_of(v) for v in block.columns[self.column]]
            broken = {p.at: p for p in block.broken}
            count += len(keys)
            if count > MOST_STEPS:
                raise self.fault(f"has more than {MOST_STEPS:,} steps", "Feed it in several parts, whole series in each.")
            columns = [(n, block.columns[n], n in self._inputs) for n in wanted]
            for i, key in enumerate(keys):
                place = (int(block.rows[i]), None if block.lines is None else int(block.lines[i]))
                if key is None or key in MISSING:
                    lost.append((*place, Problem(0, self.column, None, f"{self.column} is missing, so the step belongs to no series", "fill it in, or leave the row out")))
                    continue
                mine = series.get(key)
                if mine is None:
                    mine = series[key] = {n: [] for n in wanted}
                    first[key] = place
                if i in broken and key not in bad:
                    bad[key] = Problem(0, broken[i].column, broken[i].value, f"row {place[0]}: {broken[i].reason}", broken[i].remedy)
                for n, values, step in columns:
                    v = values[i]
                    if step or not mine[n]:
                        mine[n].append(v)
                    elif n == self.column or n in differing or text_of(v) == text_of(mine[n][0]) or text_of(v) in (None, ""):
                        continue
                    elif n not in self._shared:
                        differing.add(n)
                    elif key not in bad:
                        bad[key] = Problem(0, n, text_of(v), f"{n} differs within the series", f"give all rows of one {self.column} the same {n}")
        wanted = [n for n in wanted if n not in differing]
        for row, line, problem in lost:
            yield Block({n: [None] for n in wanted}, [row], None if line is None else [line], [problem], read=self.size)
        keys = list(series)
        for at in range(0, len(keys), _SERIES):
            some = keys[at:at + _SERIES]
            columns: dict[str, Any] = {n: [series[k][n] if n in self._inputs else series[k][n][0] for k in some] for n in wanted}
            broken = [Problem(i, bad[k].column, bad[k].value, bad[k].reason, bad[k].remedy) for i, k in enumerate(some) if k in bad]
            lines = [first[k][1] for k in some]
            yield Block(columns, [first[k][0] for k in some], None if None in lines else lines, broken, read=int(self.size * (at + len(some)) / len(keys)))
