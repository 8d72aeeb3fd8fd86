"""Checks on a feed: cheap looks for what makes qualities lie, each with what to type."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Iterable

import numpy as np

from .batch import looks_like_text
from .program import Field, Target, fold
from .stored import Stored, Worded
from .twins import copies, near

if TYPE_CHECKING:
    from .ingest import Feed

_ENTITY = re.compile(r"(^|_)(patient|subject|person|user|customer|client|animal|site|house|family|member|participant|speaker|donor|plate|device)(_?(id|nr|no|number|code))?($|_)")
_ID = re.compile(r"(^|_)(id|ids|uuid|guid|index|idx|nr|row|rowid|rownum|number|key|serial)($|_)")
_THING = re.compile(r"(._(id|ids|uuid|guid|nr|no)|(obj|obs|source|sample|record|star|plant|case|image|scan|tree|mouse|pflanze|pflanzen)_?(id|nr|no))$")
_TIME = re.compile(r"(^|_)(date|time|day|month|year|timestamp)($|_)")
GIVES_AWAY = 0.98
"""A column that alone is right in so large a share of rows gives the answer away."""


FAR_OUT = 1000
"""A number is far out so many times as far from the median as the quartiles are from each other."""


def looks_like_entity(column: str) -> bool:
    """Whether a column's name says that it tells people or things apart: patient_id, subject."""
    return bool(_ENTITY.search(fold(column)))


def looks_like_time(column: str) -> bool:
    """Whether a column's name says that it tells when: date, year, visit_day."""
    return bool(_TIME.search(fold(column)))


def looks_like_id(column: str) -> bool:
    """Whether a column's name says that it numbers rows: id, row_nr."""
    return bool(_ID.search(fold(column)))


SEVERAL = 10
"""With so many different values, a column that is called an id tells things apart; with fewer it may tell kinds, as store_id does."""


def names_things(column: str) -> bool:
    """Whether a column's name ends as names of ids do: plant_id, SampleNr, objid."""
    return bool(_THING.search(fold(column)))


SPOILING = {"gives_answer", "id_column", "repeated_entities", "near_duplicates"}
"""Codes of findings that make a quality look too good; it is marked until they are answered."""


def _warning(code: str, message: str, column: str | None = None, fix: str | None = None) -> dict:
    return {"code": code, "message": message, "column": column, "fix": fix, "spoils": code in SPOILING}


def warnings(feed: "Feed", target: Target | None, inputs: list[tuple[Field, np.ndarray]], outputs: list[tuple[Field, np.ndarray]],
             counts: Counter[str]) -> list[dict]:
    """All findings, the gravest first: code, message, column, and a statement's clause that mends it."""
    found: list[dict] = []
    n = len(inputs[0][1]) if inputs else 0
    if n >= 20:
        found += _entities(feed, n)
        found += _twins(feed, n, inputs, outputs)
        for f, v in inputs:
            if f.rank == 0:
                column = (feed.columns_of.get(f.name) or [f.name])[0]
                found += _one_column(f, v, column, target, outputs)
                if not f.is_class:
                    found += _far_out(column, v.whole()[:, 0], int(feed.spec.get("first_number") or 1))
    found += _numbers_to_answer(feed, target, outputs)
    if target is not None and target.is_classes:
        found += [_warning("case", says) for says in differing_in_case(counts)]
    there = [label for label, c in counts.items() if c]
    if target is not None and target.is_classes and len(there) == 1:
        found.append(_warning("one_class", f'All examples are "{there[0]}": there is nothing to tell apart, and no model, until others are fed.'))
    if target is not None and target.is_classes and sum(counts.values()) >= 20:
        found += _rare(target, counts)
    if n >= 20:
        found += _times(feed, inputs)
    return found


def _alike(series) -> np.ndarray:
    """Ints [n], equal where series of labels are."""
    seen: dict[tuple, int] = {}
    return np.array([seen.setdefault(tuple(v), len(seen)) for some in series.batches() for v in some], dtype=np.int64)


def _twins(feed: "Feed", n: int, inputs, outputs) -> list[dict]:
    """Rows that are copies of others, contradict them, or are nearly the same."""
    labels = np.zeros(n, dtype=np.int8)
    if outputs and outputs[0][0].is_class:
        labels = outputs[0][1].codes() if not outputs[0][0].ragged else _alike(outputs[0][1])
    again, contrary = copies(feed.inputs, labels)
    out = []
    if contrary:
        out.append(_warning("contradictions", f"{contrary:,} rows have the very input of another row, but not its label: no model can be right about all of them."))
    alike = near(inputs, n, feed.inputs)
    if alike >= 5 and alike >= 0.01 * n and not feed.options.all("group"):
        out.append(_warning("near_duplicates", f"{alike:,} rows are nearly the same as another one, and may stand on both sides of the test. If some are of one thing, "
                            "a column has to say which.", None, "with group = COLUMN"))
    if again:
        out.append(_warning("copies", f"{again:,} {'row is a copy' if again == 1 else 'rows are copies'} of another one's input; copies stand on one side of the test."))
    return out


def _times(feed: "Feed", inputs) -> list[dict]:
    """A column that tells when: whether the model must work for later rows, only people know."""
    if feed.options.all("order"):
        return []
    named = [c for c in feed.unused if looks_like_time(c) and not looks_like_entity(c)]
    named += [c for f, _ in inputs if f.rank == 0 and not f.is_class for c in feed.columns_of.get(f.name, [])[:1] if looks_like_time(c)]
    return [_warning("dates", f"{c} tells when. If the model must work for later rows, test it on the latest.", c, f"with order = {fold(c)}") for c in named[:1]]


def _entities(feed: "Feed", n: int) -> list[dict]:
    if feed.options.all("group"):
        return []
    out = []
    for column, values in feed.unused.items():
        total, kinds = sum(values.values()), len(values)
        if not looks_like_entity(column) and (kinds < SEVERAL or not names_things(column)):
            continue
        if 1 < kinds <= 0.8 * total:
            out.append(_warning("repeated_entities", f"{column}: {total:,} rows, but {kinds:,} different values. Rows of one stand on both sides "
                                "of the test, so every quality may look too good.", column, f"with group = {fold(column)}"))
    return out


def _numbers_to_answer(feed: "Feed", target: Target | None, outputs) -> list[dict]:
    """Answers that are one and the same number, or some of which outweigh all others."""
    out = []
    if target is None or target.kind != "numbers":
        return out
    for f, v in outputs:
        if f.size > 1:
            continue
        y, column = np.asarray(v[:, 0], dtype=np.float64), (feed.columns_of.get(f.name) or [f.name])[0]
        if len(y) > 1 and y.min() == y.max():
            out.append(_warning("constant_answer", f"{column} is the same number in every row: there is nothing to learn until others are fed.", column))
        out += _far_out(column, y, int(feed.spec.get("first_number") or 1))
    return out


def _far_out(column: str, x: np.ndarray, first: int) -> list[dict]:
    """Numbers that can hardly be meant: far out of all proportion, or 999 where others lie between 20 and 89."""
    filled = x[~np.isnan(x)]
    if len(filled) < 20:
        return []
    low, middle, high = np.quantile(filled, [0.25, 0.5, 0.75])
    far = np.abs(x - middle) > FAR_OUT * (high - low) if high > low else np.zeros(len(x), bool)
    if 0 < far.sum() <= max(1, 0.01 * len(filled)):
        k = int(far.sum())
        return [_warning("far_out", f"{column} lies more than {FAR_OUT:,} times as far out as most {'in example' if k == 1 else f'in {k:,} rows, first in example'} "
                         f"{first + int(np.flatnonzero(far)[0])}. Is it a slip? Such a row outweighs all others.", column)]
    values, often = np.unique(filled, return_counts=True)
    for code, count, others in ((values[-1], often[-1], values[:-1]), (values[0], often[0], values[1:])):
        nines = str(int(abs(code))).strip("9") == "" and float(code).is_integer()
        if nines and count >= 3 and len(others) > 1 and min(abs(code - others[-1]), abs(code - others[0])) > others[-1] - others[0]:
            return [_warning("code_for_missing", f"{column} is {code:g} in {count:,} rows, and no other value is anywhere near. If that means \"no value\", say so.", column, f"with missing = {code:g}")]
    return []


def _one_column(f: Field, v: Stored | Worded, column: str, target: Target | None, outputs) -> list[dict]:
    n = len(v)
    if f.is_class:
        levels = v.counts()
        if not levels or len(levels) == 1:
            return [_warning("constant_column", f"{column} is the same in every row, so it tells nothing.", column)]
        if len(levels) == n and not looks_like_text(f, v.rows(0, 2000)):
            return [_warning("id_column", f"{column} is different in every row, so it tells nothing about new ones.", column, f"leave {f.name} out of the program")]
        codes = v.codes()
    else:
        x = v.whole()[:, 0]
        filled = x[~np.isnan(x)]
        if not len(filled):
            return [_warning("empty_column", f"{column} has no value in any row.", column)]
        if filled.min() == filled.max() and len(filled) == n:
            return [_warning("constant_column", f"{column} is the same in every row, so it tells nothing.", column)]
        whole = np.all(filled == np.round(filled))
        if whole and len(filled) == n and len(np.unique(filled)) == n and (looks_like_id(column) or filled.max() - filled.min() == n - 1):
            return [_warning("id_column", f"{column} is different in every row, like a running number.", column, f"leave {f.name} out of the program")]
        edges = np.unique(np.quantile(filled, np.linspace(0, 1, 33)[1:-1]))
        codes = np.where(np.isnan(x), -1, np.searchsorted(edges, x, side="right"))
    if target is None or not outputs or target.kind not in ("classes", "numbers") or outputs[0][0].rank >= 2:
        return []
    if not target.is_classes:
        y = outputs[0][1][:, 0]
        if not f.is_class and len(filled) == n and y.std() > 0 and abs(np.corrcoef(x, y)[0, 1]) > 0.9999:
            return [_warning("gives_answer", f"{column} alone gives {outputs[0][0].name}. Known only afterwards?", column, f"leave {f.name} out of the program")]
        return []
    kinds, codes = np.unique(codes, return_inverse=True)
    both, often = np.unique(codes.astype(np.int64) * len(target.labels) + outputs[0][1].codes(), return_counts=True)
    best = np.zeros(len(kinds), dtype=np.int64)
    np.maximum.at(best, both // len(target.labels), often)
    right = best.sum() / n
    # Where nearly all are of one class, right is what tells the others.
    others = n - int(np.bincount(outputs[0][1].codes()).max())
    if right >= GIVES_AWAY and len(best) <= n / 5 and (others >= 0.1 * n or others >= 10 and n - best.sum() <= 0.1 * others):
        return [_warning("gives_answer", f"{column} alone gives the answer in {100 * right:.1f} %. Known only afterwards?", column,
                         f"leave {f.name} out of the program")]
    return []


def differing_in_case(labels: Iterable[str]) -> list[str]:
    """A sentence where labels differ only in case: each is a class of its own."""
    alike: dict[str, list[str]] = {}
    for label in labels:
        alike.setdefault(label.lower(), []).append(label)
    same = [", ".join(f'"{x}"' for x in sorted(group)) for group in alike.values() if len(group) > 1]
    return [f"{' and '.join(same[:3])} differ only in case, and each is a class of its own. If they mean the same, declare it once: Class[\"…\", …] takes all of them."] if same else []


def _rare(target: Target, counts: Counter[str]) -> list[dict]:
    n, out = sum(counts.values()), []
    for label in target.labels:
        c = counts[label]
        if c == 0:
            out.append(_warning("absent_class", f'There is no example of "{label}" yet.', None, None))
        elif c < 10 or c < 0.02 * n:
            out.append(_warning("rare_class", f'"{label}" is rare: {c} of {n:,} examples.', None, None))
    return out[:5]
