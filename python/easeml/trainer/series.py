"""Series as ``propose`` sees them: what the steps of a column bear over all rows, and the words for it.

What becomes of a series at ``feed`` is said in `nodes`; here it is only looked at.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Iterable

import numpy as np

from .convert import MISSING, text_of
from .program import fold

MOST_LABELS = 100_000
"""So many different labels are counted, as many as a program may have."""

MOST_SHOWN = 30
"""A program names so many labels one by one; of more it has the count."""

LONGEST_SHOWN = 100
"""And none that is longer."""

FEW_NUMBERS = 20
"""Whole numbers with at most so many different values, each 5 times on average, are read as classes."""


@dataclass
class Steps:
    """What the steps of a column bear: ``words`` steps hold text, ``numbers`` steps numbers, in ``gaps`` steps they are missing.

    ``lengths``: steps of each row, None where it has no series. ``widths``: how many numbers a step has. ``shapes``: of
    whole rows; None stands for one that is no array. ``odd``: rows that are no series.
    """

    lengths: list[int | None] = field(default_factory=list)
    texts: Counter = field(default_factory=Counter)
    more: bool = False
    words: int = 0
    numbers: int = 0
    gaps: int = 0
    rows_with_gaps: int = 0
    odd: int = 0
    whole: bool = True
    low: float = math.inf
    high: float = -math.inf
    widths: set[int] = field(default_factory=set)
    shapes: set = field(default_factory=set)

    @classmethod
    def of_arrays(cls, shape: tuple[int, ...], rows: int, low: float, high: float) -> "Steps | None":
        """The steps of arrays of one shape, [steps] or [steps, numbers]; None for any other."""
        if len(shape) not in (1, 2) or not all(shape):
            return None
        return cls([shape[0]] * rows, numbers=rows * math.prod(shape), low=low, high=high, whole=False, widths={(*shape, 1)[1]}, shapes={shape})

    def see(self, at: int, row: Any) -> None:
        """Take in the steps of the row at a place, from 0; rows that are passed over have none."""
        self.lengths += [None] * (at - len(self.lengths))
        self.lengths.append(len(row))
        try:
            array = np.asarray(row)
        except ValueError:  # of steps that differ in size
            array = None
        self.shapes.add(None if array is None else array.shape)
        gaps = self.gaps
        if array is not None and array.dtype.kind in "fiu" and array.ndim in (1, 2):
            self._see_numbers(array)
        else:
            for step in row:
                self._see_step(step)
        self.rows_with_gaps += self.gaps > gaps

    def _see_step(self, step: Any) -> None:
        if isinstance(step, (list, np.ndarray)):
            try:
                numbers = np.asarray(step, dtype=np.float64)
            except (TypeError, ValueError):
                numbers = np.zeros((1, 1))
            if numbers.ndim == 1:
                self._see_numbers(numbers[None])
            else:
                self.odd += 1
            return
        if isinstance(step, dict):
            self.odd += 1
            return
        text = text_of(step)
        self.widths.add(1)
        if text is None or text in MISSING:
            self.gaps += 1
            return
        self._count(text, 1)
        try:
            x = float(text)
        except ValueError:
            x = math.inf
        if math.isfinite(x):
            self._took(x, x, 1, x.is_integer())
        else:
            self.words += 1

    def _see_numbers(self, steps: np.ndarray) -> None:
        """Steps [m] or [m, width] of numbers."""
        self.widths.add(1 if steps.ndim == 1 else steps.shape[1])
        there = steps[np.isfinite(steps)]
        self.gaps += steps.size - there.size
        if not there.size:
            return
        self._took(float(there.min()), float(there.max()), there.size, bool((there == np.floor(there)).all()))
        if not self.more and steps.ndim == 1:
            values, counts = np.unique(there, return_counts=True)
            for x, k in zip(values.tolist(), counts.tolist()):
                self._count(text_of(x), k)

    def _took(self, low: float, high: float, n: int, whole: bool) -> None:
        self.numbers += n
        self.low, self.high, self.whole = min(self.low, low), max(self.high, high), self.whole and whole

    def _count(self, text: str, n: int) -> None:
        if len(self.texts) < MOST_LABELS or text in self.texts:
            self.texts[text] += n
        else:
            self.more = True

    @property
    def turned(self) -> bool:
        """Whether rows hold a list for each number of a step, rather than one for each step."""
        return len(self.widths) > 1 and len(set(self.lengths) - {None}) == 1

    @property
    def size(self) -> int | None:
        """How many numbers a step has; None where the rows are no series."""
        if self.odd or not self.words + self.numbers or (len(self.widths) > 1 and not self.turned):
            return None
        size = max(n or 0 for n in self.lengths) if self.turned else next(iter(self.widths))
        return size or None

    @property
    def labelled(self) -> bool:
        """Whether steps bear text."""
        return self.words > 0 and self.size == 1

    @property
    def classes(self) -> bool:
        """Whether they bear labels where they are what is predicted: text, or whole numbers of few kinds."""
        few = self.whole and not self.more and len(self.texts) <= FEW_NUMBERS and self.numbers >= 5 * len(self.texts)
        return self.labelled or self.size == 1 and few

    @property
    def even(self) -> tuple[int, ...] | None:
        """The shape that all rows share and that holds numbers only; None where they differ."""
        shape = next(iter(self.shapes)) if len(self.shapes) == 1 else None
        plain = not self.words and (not self.odd or len(shape or ()) > 2)
        return shape if shape and plain and all(shape) else None

    def long(self) -> str:
        """How long they are: ``4–11 steps``."""
        if self.turned:
            low, high = min(self.widths), max(self.widths)
        else:
            lengths = [n for n in self.lengths if n]
            low, high = min(lengths), max(lengths)
        return f"{low}–{high} steps" if low < high else f"{low} steps" if low != 1 else "1 step"

    def bears(self, classes: bool) -> str:
        """What a step bears, for people."""
        if classes:
            return "labels"
        return "numbers" if self.size == 1 else f"steps of {self.size} numbers"

    def as_long_as(self, other: "Steps") -> float:
        """In which share of the rows there are as many steps as in the same row of another column, of those with steps in both."""
        if self.turned or other.turned:
            return 0.0
        pairs = [a == b for a, b in zip(self.lengths, other.lengths) if a and b]
        return sum(pairs) / len(pairs) if pairs else 0.0


def in_brackets(value: Any) -> list | None:
    """The list that a cell of text holds as a JSON array; None where it holds none."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def trimmed(row: np.ndarray) -> list[str]:
    """A row of an array of text; what is empty at its end is no step."""
    steps = row.tolist()
    while steps and (text_of(steps[-1]) or "") in MISSING:
        steps.pop()
    return steps


class Chains:
    """Objects that point to the next one, brought into lists of steps: chains in one column, or ones that columns share.

    ``pointers``: by column, the name by which its objects point.
    """

    def __init__(self):
        self.pointers: dict[str, str] = {}
        self.shared: str | None = None
        self._carried: dict[str, None] = {}

    def lists(self, columns: dict[str, Any]) -> dict[str, Any]:
        """A block's columns, chains as lists. What points by two names is a tree and stays as it is."""
        held = {n: [v for v in c if isinstance(v, dict)] for n, c in columns.items() if isinstance(c, list)}
        held = {n: objects for n, objects in held.items() if objects}
        if self.shared is None:
            found = [n for n, objects in held.items() if any(_points(d, n) and any(k in columns for k in d if k != n) for d in objects)]
            if len(found) > 1:
                return columns
            self.shared = found[0] if found else None
        if self.shared is not None and self.shared in columns:
            columns = self._apart(columns, self.shared)
        for name in held:
            if name != self.shared:
                columns = {**columns, name: self._within(name, columns[name], held[name])}
        return columns

    def _apart(self, columns: dict[str, Any], pointer: str) -> dict[str, Any]:
        """Columns whose rows are the first nodes of chains; the others hang below the column that points."""
        chains = [list(_nodes(v, pointer)) for v in columns[pointer]]
        for node in (d for chain in chains for d in chain):
            self._carried.update(dict.fromkeys(k for k in node if k != pointer and k in columns))
        out = {n: c for n, c in columns.items() if n != pointer}
        for name in self._carried:
            self.pointers[name] = pointer
            out[name] = [v if v is None and not chain else [v, *(d.get(name) for d in chain)] for v, chain in zip(out[name], chains)]
        return out

    def _within(self, name: str, values: list, objects: list[dict]) -> list:
        """A column each of whose values is a whole chain."""
        found = (k for d in objects for k, v in d.items() if isinstance(v, dict) and _points(v, k))
        alone = (k for d in objects for k, v in d.items() if v is None and len(d) == 2)
        pointer = self.pointers.get(name) or next(found, None) or next(alone, None)
        if pointer is None or any(len(d) != 2 for top in objects for d in _nodes(top, pointer)):
            return values
        self.pointers[name] = pointer
        return [[step for d in _nodes(v, pointer) for k, step in d.items() if k != pointer] if isinstance(v, dict) else v for v in values]

    def pointer(self, name: str) -> str:
        """The pointer's name that a program has for a column's series."""
        return fold(self.pointers.get(name, "")) or "next"


def _points(node: dict, name: str) -> bool:
    return name in node and (node[name] is None or isinstance(node[name], dict))


def _nodes(top: Any, pointer: str) -> Iterable[dict]:
    """The objects of a chain, one after the other."""
    while isinstance(top, dict):
        yield top
        top = top.get(pointer)
