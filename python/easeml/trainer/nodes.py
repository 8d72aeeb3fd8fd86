"""Series and trees: from what a source holds to nodes, [m, width] floats each.

A series is a list of steps, a list of numbers in each (or one number where a step has one); or a chain of
objects by its pointer's name; or the steps of rows (`Steps`); or the columns of a row, one a step. A tree is nested
objects by the names of its pointers. A gap is a missing number and is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .matching import Binding
from .program import Field, fold
from .readers import Block, Problem, Source

MOST_NODES = 1_000_000
"""Nodes that one example may have."""


class _Bad(Exception):
    """Why a value is no series or tree."""


def nodes(b: Binding, block: Block, problems: list[Problem], source: Source, missing: frozenset[str]) -> np.ndarray:
    """A field's values [n] as objects, each [m, width]; what is none becomes a problem and a single empty node."""
    f, n = b.field, len(block.rows)
    empty = np.full((1, f.width), np.nan)
    out = np.empty(n, dtype=object)
    broken = {p.at for p in block.broken}
    if source.steps or b.spread:
        rows = _of_cells(b, block, problems, source, missing)
    else:
        columns = [block.columns[c] for c in b.columns]
        rows = ([c[i] for c in columns] for i in range(n))
    for i, row in enumerate(rows):
        out[i] = empty
        if i in broken:
            continue
        try:
            values = row if isinstance(row, np.ndarray) else _value(f, b, row)
            if not len(values) or np.isnan(values[:, f.width - f.size:]).all():
                raise _Bad(f"{f.name} has no steps" if len(f.pointers) == 1 else f"{f.name} has no nodes")
            if np.isinf(values).any():
                raise _Bad(f"{f.name} is infinite in a place")
            if len(values) > MOST_NODES:
                raise _Bad(f"{f.name} has more than {MOST_NODES:,} nodes")
            out[i] = values
        except _Bad as bad:
            remedy = "leave the row out" if "no " in str(bad) else "correct it" if "infinite" in str(bad) else f"write it as {_form(f)}"
            problems.append(Problem(i, b.columns[0], None, str(bad), remedy))
    return out


def _form(f: Field) -> str:
    """How a value is written in JSON."""
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
    keys = {fold(p): k for k, p in enumerate(f.pointers)}
    tree = len(f.pointers) > 1
    todo: list[tuple[dict, int, int]] = [(top, -1, 0)]
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
        numbers = rest[key]
        try:
            values = np.asarray(numbers if numbers is not None else [np.nan] * f.size, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError):
            raise _Bad(f"{f.name} has a node whose value is no list of numbers") from None
        if len(values) != f.size:
            raise _Bad(f"{f.name} has a node with {len(values)} numbers, but a node has {f.size}")
        rows.append([parent, pointer, *values] if tree else list(values))
        if len(rows) > MOST_NODES:
            raise _Bad(f"{f.name} has more than {MOST_NODES:,} nodes")
        here = len(rows) - 1
        for k, v in reversed(links.items()):
            if v is not None:
                todo.append((v, here, keys[fold(str(k))]))
    return np.array(rows, dtype=np.float64)
