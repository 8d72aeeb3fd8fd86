"""A column as ``propose`` sees it: what its values are, over all rows."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .convert import MISSING_NUMBERS, clock_of, text_of, ungrouped
from .series import Steps, in_brackets

_DATE = re.compile(r"^\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}.*)?$|^\d{1,2}[./]\d{1,2}[./]\d{2,4}$")


@dataclass
class Column:
    """What is known of a column after all its rows: texts with their counts (up to a limit), numbers, what is missing.

    ``lists`` rows hold lists, whose `Steps` are ``steps``; of cells with several words ``blanks`` are the steps. ``cells``:
    it is a column of a text table or a sheet, where a tensor has a column for each number. ``odd`` are the texts that are no
    numbers (up to a limit), ``words`` how many words these have. ``keys`` are the names in its objects.
    """

    name: str
    cells: bool = False
    n: int = 0
    missing: int = 0
    texts: Counter = field(default_factory=Counter)
    more: bool = False
    low: float = math.inf
    high: float = -math.inf
    numbers: int = 0
    whole: bool = True
    dates: int = 0
    clocks: int = 0
    words: int = 0
    padded: int = 0
    odd: Counter = field(default_factory=Counter)
    shape: tuple[int, ...] | None = None
    lists: int = 0
    objects: int = 0
    keys: set = field(default_factory=set)
    steps: Steps = field(default_factory=Steps)
    blanks: Steps | None = None
    several: int = 0
    codes: list = field(default_factory=list)

    MOST = 5000
    ODD = 100

    def see(self, values: Any, decimal: str) -> None:
        """Take in some rows."""
        if isinstance(values, np.ndarray):
            values = values.reshape(len(values), -1)
            values = values[:, 0].tolist() if values.shape[1] == 1 else values
        for v in values:
            self.n += 1
            found = v if isinstance(v, (list, np.ndarray)) else in_brackets(v)
            if found is not None:
                self.steps.see(self.n - 1, found)
            elif self.blanks is not None and isinstance(v, str) and (parts := v.split()):
                self.several += len(parts) > 1
                self.blanks.see(self.n - 1, parts)
            if found is not None or isinstance(v, dict):
                self.lists += found is not None
                if found is None:
                    self.objects += 1
                    self.keys.update(v)
                self.codes.append(None)
                continue
            t = text_of(v)
            if t is None or t in MISSING_NUMBERS:
                self.missing += 1
                self.codes.append(None)
                continue
            if len(self.texts) < self.MOST or t in self.texts:
                self.texts[t] += 1
            else:
                self.more = True
            self.codes.append(t)
            self.padded += len(t) > 1 and t[0] == "0" and t.isdigit()
            try:
                x = float(t if decimal == "." else t.replace(decimal, "."))
            except ValueError:
                apart = ungrouped(t, decimal)
                if apart is None:
                    self.dates += bool(_DATE.match(t))
                    self.clocks += clock_of(v) is not None
                    self.words += len(t.split())
                    if len(self.odd) < self.ODD or t in self.odd:
                        self.odd[t] += 1
                    continue
                x = apart[0]
            if math.isfinite(x):
                self.numbers += 1
                self.low, self.high = min(self.low, x), max(self.high, x)
                self.whole = self.whole and x.is_integer()

    @property
    def there(self) -> int:
        """Rows with a value."""
        return self.n - self.missing

    @property
    def is_number(self) -> bool:
        """Whether all values are numbers; 007 is a code."""
        return self.there > 0 and self.numbers == self.there and not self.is_code

    @property
    def is_code(self) -> bool:
        """Whether its values are digits, equally many in all, some with a 0 in front."""
        return self.padded > 0 and not self.more and len({len(t) for t in self.texts}) == 1 and all(t.isdigit() for t in self.texts)

    @property
    def mostly_number(self) -> bool:
        """Whether a few texts stand among numbers."""
        return self.numbers < self.there and not self.is_code and self.numbers >= max(5, 0.8 * self.there) and self.numbers + sum(self.odd.values()) == self.there

    @property
    def is_text(self) -> bool:
        """Whether its values are texts that people wrote, as `batch.looks_like_text` has it."""
        return self.there >= 5 and (self.more or len(self.texts) > 0.5 * self.there) and self.words >= 3 * self.there

    @property
    def tensor(self) -> tuple[int, ...] | None:
        """The shape of a value that is an array or a list, the same in all rows; None where it is one value, or rows differ."""
        if self.shape not in (None, (), (1,)):
            return self.shape
        return self.steps.even if self.lists and self.lists == self.n and not self.cells else None

    @property
    def series(self) -> Steps | None:
        """The steps of a column that holds lists, or arrays of one shape that can be read so; None where it holds none."""
        if self.shape is not None:
            return Steps.of_arrays(self.shape, self.n, self.low, self.high)
        return self.steps if self.lists and self.lists == self.there and self.steps.size else None

    @property
    def worded(self) -> Steps | None:
        """The steps of a column of cells that have several words each, or several numbers; None where they haven't."""
        plain = self.blanks is None or self.lists or self.is_number or self.dates
        return None if plain or 2 * self.several < self.there or not self.blanks.size else self.blanks

    @property
    def different(self) -> bool:
        """Whether no value comes twice."""
        return self.more or (len(self.texts) == self.there and self.there == self.n)
