"""Series and trees: from what a source holds to nodes, [m, width] floats each.

A series is a list of steps, a list of numbers in each (or one number where a step has one); or a chain of
objects by its pointer's name; or the steps of rows (`Steps`); or the columns of a row, one a step. A tree is nested
objects by the names of its pointers. A gap is a missing number and is kept. The steps of a series may bear labels in
place of numbers, `tokens`; one missing is kept likewise. In a text table a cell may hold a whole series: a JSON array, or
its steps with blanks between them.
"""

from __future__ import annotations

import json
from typing import Any, Callable

import numpy as np

from .convert import MISSING, text_of
from .matching import Binding
from .program import Field, fold
from .readers import Block, Problem, Source

MOST_NODES = 1_000_000
"""Nodes that one example may have."""


class _Bad(Exception):
    """Why a value is no series or tree, and what to do where that is particular."""

    def __init__(self, reason: str, remedy: str = ""):
        super().__init__(reason)
        self.remedy = remedy


def nodes(b: Binding, block: Block, problems: list[Problem], source: Source, missing: frozenset[str]) -> np.ndarray:
    """A field's values [n] as objects, each [m, width]; what is none becomes a problem and a single empty node."""
    f = b.field
    empty = np.full((1, f.width), np.nan)
    if source.steps or b.spread:
        rows = _of_cells(b, block, problems, source, missing)
    else:
        rows = _of_columns(b, block)

    def judged(row) -> np.ndarray:
        values = row if isinstance(row, np.ndarray) else _value(f, b, row)
        if not len(values) or np.isnan(values[:, f.width - f.size:]).all():
            raise _Bad(f"{f.name} has no steps" if len(f.pointers) == 1 else f"{f.name} has no nodes")
        if np.isinf(values).any():
            raise _Bad(f"{f.name} is infinite in a place")
        return values

    return _each(b, block, rows, judged, empty, problems)


def tokens(b: Binding, block: Block, problems: list[Problem], source: Source, missing: frozenset[str], kinds: set[str] | None = None) -> np.ndarray:
    """The labels of series [n] as objects, each [m] texts, None where one is missing; whether there are such labels is not judged yet.

    `kinds` gets how they were written: ``number`` (whole), ``text``.
    """
    f, empty = b.field, np.array([None], dtype=object)
    if b.spread:
        columns = [block.columns[c] for c in b.columns]
        rows = (_cut([c[i] for c in columns], missing) for i in range(len(block.rows)))
    elif source.steps:
        rows = (c if isinstance(c, list) else [c] for c in block.columns[b.columns[0]])
    else:
        rows = _of_columns(b, block)

    def judged(row) -> np.ndarray:
        if not source.steps and not b.spread:
            row = _labels(f, b, row)
        out = np.empty(len(row), dtype=object)
        for i, v in enumerate(row):
            if isinstance(v, (list, dict, np.ndarray)):
                raise _Bad(f"{f.name} has a step that is no label")
            t = text_of(v)
            out[i] = None if t is None or t in missing else t
            if kinds is not None and out[i] is not None:
                kinds.add("text" if isinstance(v, (str, bytes, bool, np.bool_)) or not t.lstrip("-").isdigit() else "number")
        if all(t is None for t in out):
            raise _Bad(f"{f.name} has no steps")
        return out

    return _each(b, block, rows, judged, empty, problems)


def _each(b: Binding, block: Block, rows, judged: Callable, empty: np.ndarray, problems: list[Problem]) -> np.ndarray:
    """Each row's value, `empty` where it can't be taken, and then a problem."""
    f, out = b.field, np.empty(len(block.rows), dtype=object)
    broken = {p.at for p in block.broken}
    for i, row in enumerate(rows):
        out[i] = empty
        if i in broken:
            continue
        try:
            values = judged(row)
            if len(values) > MOST_NODES:
                raise _Bad(f"{f.name} has more than {MOST_NODES:,} nodes")
            out[i] = values
        except _Bad as bad:
            usual = "leave the row out" if "no " in str(bad) else "correct it" if "infinite" in str(bad) else f"write it as {_form(f)}"
            remedy = bad.remedy or usual
            problems.append(Problem(i, b.columns[0], None, str(bad), remedy))
    return out


def _cut(cells: list, missing: frozenset[str]) -> list:
    """A row's cells, one a step; what is empty at the end is no step."""
    texts = [text_of(v) for v in cells]
    while texts and (texts[-1] is None or texts[-1] == "" or texts[-1] in missing):
        texts.pop()
    return texts


def _of_columns(b: Binding, block: Block):
    """Each row's values in the columns of a binding; a cell of text that holds a series as a list."""
    columns = [block.columns[c] for c in b.columns]
    for i in range(len(block.rows)):
        row = [c[i] for c in columns]
        if len(row) > 1 and _is_whole(row[0], b.field):
            row = row[:1]  # the pointer's name belongs to another field's chain
        if len(row) == 1 and isinstance(row[0], str):
            row = [_split(row[0], b.field)]
        yield row


def _is_whole(value: Any, f: Field) -> bool:
    """Whether a value is a series by itself, rather than what the first node bears."""
    if isinstance(value, dict):
        return True
    return isinstance(value, list) and (f.is_class or f.size == 1 and len(value) != 1 or bool(value) and isinstance(value[0], list))


def _split(cell: str, f: Field) -> Any:
    """The steps that a cell of text holds: a JSON array's items, else what blanks part."""
    text = cell.strip()
    if text.startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            if not f.is_class:
                return cell
    parts = text.split()
    if f.is_class:
        return parts
    try:
        return [float(t) if t not in MISSING else None for t in parts] or None
    except ValueError:
        return cell


def _labels(f: Field, b: Binding, row: list[Any]) -> list:
    """The labels of one row from its column, or from its columns of value and pointer."""
    value = dict(zip(b.columns, row)) if len(row) > 1 else row[0]
    if value is None:
        raise _Bad(f"{f.name} is missing")
    if isinstance(value, dict):
        return [step for _, _, step in _walk(f, value, b.columns[0] if len(row) > 1 else None)]
    if not isinstance(value, (list, np.ndarray)):
        raise _Bad(f"{f.name} is no list of labels")
    if isinstance(value, np.ndarray) and value.dtype.kind in "US":  # an array's rows are equally long: the end is filled up
        return _cut(value.tolist(), MISSING)
    return list(value)


def _form(f: Field) -> str:
    """How a value is written in JSON."""
    if f.is_class:
        return '["a", "b", …]'
    step = "[" + ", ".join("…" for _ in range(min(f.size, 3))) + "]" if f.size > 1 else "1.5"
    if len(f.pointers) == 1:
        return f"[{step}, {step}, …]"
    return '{"value": ' + step + ", " + ", ".join(f'"{p}": {{…}} or null' for p in f.pointers) + "}"


def _of_cells(b: Binding, block: Block, problems: list[Problem], source: Source, missing: frozenset[str]):
    """Rows [m, size] of cells: of `Steps`, lists of cells in each column; else one cell a step."""
    from .convert import numbers
    n, f = len(block.rows), b.field
    if not source.steps:
        own: list[Problem] = []
        whole = np.column_stack([numbers(block.columns[c], c, source.decimal, missing, own) for c in b.columns])
        problems += own
        for row in whole:
            there = np.flatnonzero(~np.isnan(row))
            yield row[:there[-1] + 1, None] if len(there) else row[:0, None]  # what is empty at the end is no gap
        return
    if len(b.columns) != f.size:
        raise ValueError("a step's columns")
    lengths = [len(block.columns[b.columns[0]][i]) if isinstance(block.columns[b.columns[0]][i], list) else 1 for i in range(n)]
    parts = []
    starts = np.concatenate([[0], np.cumsum(lengths)])
    for c in b.columns:
        cells = [v for row in block.columns[c] for v in (row if isinstance(row, list) else [row])]
        own = []
        parts.append(numbers(cells, c, source.decimal, missing, own))
        for p in own:
            problems.append(Problem(int(np.searchsorted(starts, p.at, side="right")) - 1, p.column, p.value, p.reason, p.remedy))
    whole = np.column_stack(parts)
    for i in range(n):
        yield whole[starts[i]:starts[i + 1]]


def _value(f: Field, b: Binding, row: list[Any]) -> np.ndarray:
    """One row's value from its column, or from its columns of value and pointers."""
    if len(row) > 1:
        return _linked(f, dict(zip(b.columns, row)), b.columns[0])
    value = row[0]
    if value is None:
        raise _Bad(f"{f.name} is missing")
    if isinstance(value, dict):
        return _linked(f, value, None)
    if len(f.pointers) > 1:
        raise _Bad(f"{f.name} is no tree")
    return _steps(f, value)


def _steps(f: Field, value: Any) -> np.ndarray:
    try:
        steps = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        if isinstance(value, list) and value and isinstance(value[0], str):
            raise _Bad(f"{f.name} bears labels, but its steps are {f.says()}", f"declare it {f.name} :: Class[…]")
        try:  # a step that is missing whole
            steps = np.array([[np.nan] * f.size if s is None else np.asarray(s, dtype=np.float64).reshape(f.size) for s in value], dtype=np.float64)
        except (TypeError, ValueError):
            raise _Bad(f"{f.name} is no list of steps of {f.size} number{'s' if f.size > 1 else ''}") from None
    if steps.ndim == 1 and f.size == 1:
        return steps[:, None]
    if steps.ndim == 2 and steps.shape[1] == f.size:
        return steps
    if steps.ndim == 2 and steps.shape[0] == f.size:
        return np.ascontiguousarray(steps.T)
    has = "×".join(map(str, steps.shape)) or "one number"
    raise _Bad(f"{f.name} is {has}, but a step has {f.size} number{'s' if f.size > 1 else ''}")


def _linked(f: Field, top: dict, called: str | None) -> np.ndarray:
    """Objects that point to each other, the root first; `called` is the key of a node's numbers, found where None."""
    rows: list[list[float]] = []
    tree = len(f.pointers) > 1
    for parent, pointer, numbers in _walk(f, top, called):
        try:
            values = np.asarray(numbers if numbers is not None else [np.nan] * f.size, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError):
            raise _Bad(f"{f.name} has a node whose value is no list of numbers") from None
        if len(values) != f.size:
            raise _Bad(f"{f.name} has a node with {len(values)} numbers, but a node has {f.size}")
        rows.append([parent, pointer, *values] if tree else list(values))
        if len(rows) > MOST_NODES:
            raise _Bad(f"{f.name} has more than {MOST_NODES:,} nodes")
    return np.array(rows, dtype=np.float64)


def _walk(f: Field, top: dict, called: str | None):
    """The nodes of objects that point to each other, the root first: the parent's place, which pointer leads there, the value."""
    keys = {fold(p): k for k, p in enumerate(f.pointers)}
    todo: list[tuple[dict, int, int]] = [(top, -1, 0)]
    here = -1
    while todo:
        node, parent, pointer = todo.pop()
        if not isinstance(node, dict):
            raise _Bad(f"{f.name} has a node that is no object")
        links, rest = {}, {}
        for k, v in node.items():
            (links if fold(str(k)) in keys else rest)[k] = v
        key = called if called in rest else next((k for k in rest if fold(str(k)) in (f.name, "value")), next(iter(rest)) if len(rest) == 1 else None)
        if key is None:
            raise _Bad(f"{f.name} has a node without a value")
        here += 1
        yield parent, pointer, rest[key]
        for k, v in reversed(links.items()):
            if v is not None:
                todo.append((v, here, keys[fold(str(k))]))
