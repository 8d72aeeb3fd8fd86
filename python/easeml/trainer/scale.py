"""Whether a file's numbers lie on the scale of those that a model learned from, found out block by block."""

from __future__ import annotations

import numpy as np

from .fault import Fault
from .program import Field


class Scale:
    """The scale of one field's numbers in a file. `learned`: the least and the largest number that the model has seen."""

    def __init__(self, f: Field, learned: list[float]):
        self.name = f.name
        self._field, (self._low, self._high) = f, learned
        self._rows = self._outside = 0
        self._top, self._bottom, self._whole = -np.inf, np.inf, True

    def see(self, values: np.ndarray) -> None:
        """Some rows: [m, size] numbers, or [m] series or trees."""
        f = self._field
        if not len(values):
            return
        if f.ragged:
            ends = [(np.nanmin(v[:, f.width - f.size:], initial=np.inf), np.nanmax(v[:, f.width - f.size:], initial=-np.inf)) for v in values]
            lows, highs = np.array([e[0] for e in ends]), np.array([e[1] for e in ends])
        else:
            lows, highs = np.nanmin(values, axis=1, initial=np.inf), np.nanmax(values, axis=1, initial=-np.inf)
        if f.size >= 8:
            outside = (highs > self._high + 3 * self._width) | (lows < self._low - 3 * self._width)
        else:
            largest = 20 * max(abs(self._low), abs(self._high), 1e-12)
            outside = (highs > largest) | (lows < -largest)
        self._rows += len(values)
        self._outside += int(np.count_nonzero(outside))
        self._top, self._bottom = max(self._top, float(highs.max())), min(self._bottom, float(lows.min()))
        self._whole = self._whole and bool(np.isfinite(highs).all())

    @property
    def _width(self) -> float:
        return (self._high - self._low) or 1.0

    def fault(self, source: str) -> Fault | None:
        """The fault for a tenth or more of the rows lying grossly outside; None where they don't.

        Tensors of 8 numbers or more: beyond thrice the learned width, or all within a tenth of it.
        Single numbers vary more by nature (a year, a price): beyond 20 times the largest seen.
        """
        f, low, high = self._field, self._low, self._high
        if low == high:  # one value, or none: no scale was learned
            return None
        spans = f"{_figure(low)}–{_figure(high)}"
        hint = "Bring the values to the scale of the examples that were fed."
        if self._rows and self._outside / self._rows >= 0.1:
            reach = f"up to {_figure(self._top)}" if self._top > high + self._width else f"down to {_figure(self._bottom)}"
            what = "values" if f.size > 1 else f"{f.name}"
            return Fault(f"{source} differs from what was learned: {what} {reach}, so far {spans}. Nothing was written.",
                         where={"file": source, "field": f.name}, hint=hint)
        if f.size >= 8 and self._rows >= 10 and self._whole and self._top - self._bottom < self._width / 10 and low <= self._bottom:
            return Fault(f"{source} differs from what was learned: values only up to {_figure(self._top)}, so far {spans}. Nothing was written.",
                         where={"file": source, "field": f.name}, hint=hint)
        return None


def _figure(x: float) -> str:
    return f"{x:,.0f}" if float(x).is_integer() and abs(x) < 1e12 else f"{x:.4g}"
