"""Drift: whether what a model is asked about lies as what it learned from did.

For each number of a table, each category, and the brightness of pictures a small summary of the training rows is kept
with the model. New rows are compared with it by the Kolmogorov–Smirnov distance (numbers) or the total variation
(categories). Nothing is refused: it is said, for the answers may be worse than the test promised.
"""

from __future__ import annotations

import numpy as np

from .examples import Examples
from .program import Field

FEWEST = 30
"""With fewer rows nothing is said: they may be anything."""

MOST_NUMBERS = 40
"""A longer tensor is summarized by the mean of its numbers."""

FAR = 0.2
"""A distance that matters, beyond what chance gives with so many rows (at the level of 0.1 %, see `_chance`)."""

MOST_ROWS = 5000
_BYTES = 40_000_000
"""Of rows that are looked at about so much is held."""
SAID = 5
_STEPS = np.linspace(0, 1, 21)


def _chance(n: int, m: int) -> float:
    """The two-sample Kolmogorov–Smirnov distance that equal distributions exceed in 1 of 1,000 cases."""
    return 1.95 * float(np.sqrt((n + m) / (n * m))) if n and m else 1.0


def _parts(f: Field, values: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """The numbers of a field that are looked at: by name, one a row."""
    if f.ragged:
        return []
    if len(values) > MOST_ROWS:
        values = values[np.linspace(0, len(values) - 1, MOST_ROWS).astype(np.int64)]
    if f.rank >= 2 or f.size > MOST_NUMBERS:
        return [(f.name, np.array([float(np.mean(v, dtype=np.float64)) for v in values]))]
    if f.size == 1:
        return [(f.name, values[:, 0].astype(np.float64))]
    return [(f"{f.name}_{i}", values[:, i].astype(np.float64)) for i in range(f.size)]


def _share(values: list, n: int) -> dict[str, float]:
    out: dict[str, float] = {}
    for v in values:
        if v is not None:
            out[v] = out.get(v, 0.0) + 1.0 / n
    return out


def summarize(fields: tuple[Field, ...], train: Examples) -> dict:
    """What is kept of the training rows, as JSON, by the name of what is looked at."""
    out: dict = {}
    for f in fields:
        values, n = train.columns[f.name], len(train)
        if n < FEWEST:
            continue
        if f.is_class:
            if f.ragged:
                values = np.concatenate(values)
                n = len(values)
            shares = _share(values.tolist(), n)
            kept = sorted(shares, key=lambda k: (-shares[k], k))[:200]
            once = sum(s for s in shares.values() if s < 1.5 / n)
            out[f.name] = {"n": n, "shares": {k: round(shares[k], 5) for k in kept}, "once": round(once, 5), "missing": float(np.mean([v is None for v in values]))}
            continue
        for name, column in _parts(f, values):
            there = np.sort(column[np.isfinite(column)])
            if not len(there):
                continue
            at = np.unique(np.quantile(there, _STEPS))
            out[name] = {"n": len(column), "at": at.tolist(), "below": (np.searchsorted(there, at, side="right") / len(there)).round(5).tolist(),
                         "missing": float(np.mean(~np.isfinite(column)))}
    return out


def compare(fields: tuple[Field, ...], known: dict, columns: dict[str, np.ndarray]) -> list[dict]:
    """What lies otherwise in new rows, the farthest first: ``field`` and ``message``, a clause without a value of any one row."""
    found = []
    for f in fields:
        values = columns[f.name]
        n = len(values)
        if n < FEWEST:
            return []
        if f.is_class:
            if f.ragged:
                values = np.concatenate(values)
                n = len(values)
            if f.name in known:
                found += _categories(f.name, known[f.name], values.tolist(), n, "steps" if f.ragged else "rows")
            continue
        for name, column in _parts(f, values):
            if name in known:
                found += _numbers(f, name, known[name], column)
    found.sort(key=lambda d: -d["distance"])
    return [{"field": d["field"], "message": d["message"]} for d in found[:SAID]]


class Drift:
    """New rows, seen block by block, beside those that a model learned from; `known` is what `summarize` kept of these.

    Of many rows some are looked at, evenly spread.
    """

    def __init__(self, fields: tuple[Field, ...], known: dict | None):
        self._fields, self._known = fields, known
        self._held: dict[str, list[np.ndarray]] = {f.name: [] for f in fields}
        self._rows, self._step, self._most = 0, 1, 2 * MOST_ROWS  # every step-th row is held

    def see(self, columns: dict[str, np.ndarray]) -> None:
        """Some rows."""
        n = len(next(iter(columns.values()), ()))
        if not self._known or not n:
            return
        some = np.arange(-self._rows % self._step, n, self._step)
        for f in self._fields:
            self._held[f.name].append(np.zeros(len(some)) if f.ragged and not f.is_class else columns[f.name][some])
        self._rows += n
        held = [len(part) for part in self._held[self._fields[0].name]]
        if sum(held) > min(self._most, max(FEWEST, _BYTES // max(1, sum(p[-1].nbytes // max(1, len(p[-1])) for p in self._held.values())))):
            self._step *= 2
            for name, parts in self._held.items():
                self._held[name] = [(parts[0] if len(parts) == 1 else np.concatenate(parts))[::2]]

    def says(self) -> list[dict]:
        """As `compare`."""
        if not self._known or not self._rows:
            return []
        return compare(self._fields, self._known, {name: np.concatenate(parts) for name, parts in self._held.items()})


def _missing(name: str, known: dict, share: float, n: int, what: str = "rows") -> list[dict]:
    if share - known["missing"] > max(FAR, _chance(known["n"], n)):
        return [{"field": name, "distance": share - known["missing"], "message": f"{name} is missing in {100 * share:.0f} % of the {what}, so far in {100 * known['missing']:.0f} %"}]
    return []


def _categories(name: str, known: dict, values: list, n: int, what: str = "rows") -> list[dict]:
    shares = _share(values, n)
    fresh = sum(s for k, s in shares.items() if k not in known["shares"])
    # Where many values came but once, as texts and names do, new rows bring others (Good 1953): so many are as ever.
    once = known.get("once", 0.0)
    if fresh - once - 3 * np.sqrt(once * (1 - once) / n) >= 0.05 and fresh * n >= 3 and len(known["shares"]) < 200:
        return [{"field": name, "distance": max(fresh, FAR), "message": f"{name} has values that were never fed, in {100 * fresh:.0f} % of the {what}"}]
    distance = sum(abs(shares.get(k, 0.0) - known["shares"].get(k, 0.0)) for k in {*shares, *known["shares"]}) / 2
    out = _missing(name, known, sum(v is None for v in values) / n, n, what)
    # With many levels chance alone moves shares: the usual size of that is added.
    by_chance = sum(np.sqrt(s * (1 - s) * (1 / n + 1 / known["n"])) for s in known["shares"].values()) * 0.4
    if not out and distance > FAR + by_chance + once:
        top = max({*shares, *known["shares"]}, key=lambda k: (abs(shares.get(k, 0.0) - known["shares"].get(k, 0.0)), k))
        out.append({"field": name, "distance": float(distance), "message":
                    f"{name} is {top} in {100 * shares.get(top, 0.0):.0f} % of the {what}, so far in {100 * known['shares'].get(top, 0.0):.0f} %"})
    return out


def _numbers(f: Field, name: str, known: dict, column: np.ndarray) -> list[dict]:
    n = len(column)
    there = np.sort(column[np.isfinite(column)])
    out = _missing(name, known, 1 - len(there) / n, n)
    if out or len(there) < FEWEST:
        return out
    at, below = np.array(known["at"]), np.array(known["below"])
    now = np.searchsorted(there, at, side="right") / len(there)
    distance = float(np.abs(now - below).max())
    if distance <= max(FAR, _chance(known["n"], len(there))):
        return []
    before, usual = _middle(at, below), (float(np.quantile(there, 0.25)), float(np.quantile(there, 0.75)))
    what = f"{name}'s mean" if f.size > 1 and name == f.name else name
    return [{"field": name, "distance": distance, "message": f"{what} is mostly {_span(usual)}, so far {_span(before)}"}]


def _middle(at: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    return float(at[min(len(at) - 1, np.searchsorted(below, 0.25))]), float(at[min(len(at) - 1, np.searchsorted(below, 0.75))])


def _span(ends: tuple[float, float]) -> str:
    low, high = (f"{x:.4g}" for x in ends)
    return low if low == high else f"{low}–{high}"
