"""Settling the target: what the first feed's outputs turn out to be, and which rows don't fit that.

Classes: declared labels, or up to n found ones, integers 0…n−1 as they are. `Tensor[D]`, D ≥ 2:
labels or one-hot rows are classes, real columns are numbers. Once settled it holds for later feeds;
a task with fewer labels than its program allows may still gain some, at the end.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Callable, Iterable, Iterator, Sequence

import numpy as np

from .convert import known_label, shown, unknown_label
from .fault import Fault
from .matching import Binding
from .program import Field, Target
from .stored import Worded

_ROWS = 20_000

TYPO_SHARE = 0.05
"""At most so large a share of rows may bear labels beyond the declared number and be rejected one by one."""


@dataclass
class Settled:
    """A target, and for each row its label (None: can't be taken, see `refused`)."""

    field: Field
    target: Target
    labels: Worded

    def refused(self, texts: Worded) -> Iterator[tuple[int, tuple[str, str]]]:
        """The rows that can't be taken, with reason and remedy."""
        for begin in range(0, len(texts), _ROWS):
            codes = texts.codes(begin, begin + _ROWS)
            for i in np.flatnonzero(self.labels.codes(begin, begin + _ROWS) < 0).tolist():
                if codes[i] < 0:
                    yield begin + i, (f"{self.field.name} is missing", "fill the label in, or leave the row out")
                else:
                    yield begin + i, unknown_label(texts.texts[codes[i]], self.field.name, self.target.labels)


_PLAIN = re.compile(r"(-?(?:0|[1-9]\d*))(?:\.0*)?", re.ASCII)
"""A whole number as programs write it. 007, +1 and 1_0 are codes, and stay what they are."""


def _whole(text: str) -> int | None:
    m = _PLAIN.fullmatch(text)
    return int(m.group(1)) if m and len(text) < 1000 else None


def sorted_labels(labels: Sequence[str]) -> list[str]:
    """Labels in order: as numbers where all are, else as text."""
    try:
        return sorted(labels, key=lambda t: (float(t), t))
    except ValueError:
        return sorted(labels)


def labels_of_first(f: Field, count: int, seen: Counter[str], column: str, file: str) -> tuple[str, ...]:
    """The labels that a first feed settles for ``Class[count]``. Raises `Fault` where it has far more."""
    if not seen:
        return ()
    whole = {t: _whole(t) for t in seen}
    n = sum(seen.values())
    if all(w is not None for w in whole.values()):
        inside = sum(c for t, c in seen.items() if 0 <= whole[t] < count)
        if inside == n or (0 in whole.values() and n - inside <= TYPO_SHARE * n):
            return tuple(str(i) for i in range(count))
        by_number = Counter()
        for t, c in seen.items():
            by_number[str(whole[t])] += c
        seen = by_number
    if len(seen) <= count:
        return tuple(sorted_labels(list(seen)))
    kept = sorted(seen, key=lambda t: (-seen[t], t))[:count]
    if n - sum(seen[t] for t in kept) <= TYPO_SHARE * n:
        return tuple(sorted_labels(kept))
    some = ", ".join(f'"{shown(t)}"' for t in sorted_labels(list(seen))[:6])
    raise Fault(f"{file}: {column} has {len(seen)} different labels ({some} …), but {f.name} is {f.says()}.",
                where={"file": file, "column": column, "field": f.name},
                hint=f"Is {column} the right column? Else declare {f.name} :: Class[{len(seen)}]; for a number, Tensor[1].")


def settle_labels(f: Field, count: int, texts: Worded, target: Target | None, known: Sequence[str],
                  column: str, file: str) -> Settled:
    """Labels for each row. `known` are labels of earlier feeds; `count` is how many the program allows."""
    declared = f.classes
    if declared:
        labels = tuple(declared)
    elif target is not None:
        labels = target.labels + tuple(sorted_labels([x for x in set(known) if x not in target.labels]))
        if len(labels) < count:
            new = Counter({t: c for t, c in texts.counts().items() if known_label(t, labels) is None})
            # Enough of a new label, or all of a small feed, is no typo.
            more = [t for t, c in new.most_common(count - len(labels))]
            labels += tuple(sorted_labels(more))
    else:
        labels = labels_of_first(f, count, texts.counts(), column, file)
    found = [known_label(t, labels) for t in texts.texts]
    places = {label: i for i, label in enumerate(labels)}
    of = np.array([*(-1 if label is None else places[label] for label in found), -1], dtype=np.int32)
    return Settled(f, Target("classes", labels, type=target.type if target is not None else ""), Worded(of[texts.codes()], list(labels)))


def is_one_hot(values: np.ndarray) -> bool:
    """True where each row has one 1 and else 0s, for all but a few rows."""
    if not len(values):
        return False
    good = (((values == 0) | (values == 1)).all(axis=1)) & (values.sum(axis=1) == 1)
    return good.mean() >= 1 - TYPO_SHARE


def one_hot_texts(b: Binding, values: np.ndarray) -> list[str | None]:
    """The label of each one-hot row: its column's name less what is common (name_0 … gives 0 …); None where it has none."""
    names = [str(i) for i in range(values.shape[1])]
    if b.spread:
        stems = [re.sub(rf"^{re.escape(b.field.name)}[_ .-]", "", c, flags=re.IGNORECASE) for c in b.columns]
        if len(set(stems)) == len(stems):
            names = stems
    good = ((values == 0) | (values == 1)).all(axis=1) & (values.sum(axis=1) == 1)
    return [names[int(r.argmax())] if ok else None for r, ok in zip(values, good)]


MOST_MASK = 32
"""A picture as output whose pixels have at most so many values may be a mask; one that is declared with the metric iou may have 256."""

FEW_MASK = 4
"""With at most so many values it is one in any case."""

EVEN = 0.7
"""With more, if so large a share of neighbouring pixels is alike: regions, where a picture has shades."""


def settle_mask(f: Field, batches: Callable[[], Iterable[np.ndarray]], metric: str | None) -> Target:
    """Masks, whose labels are the pixels' values, or numbers, for a first feed's pixels [m, size], batch by batch."""
    numbers = Target("numbers", size=f.size)
    most = {"iou": 256, None: MOST_MASK}.get(metric or None, 0)
    if not most or (*f.shape, 1)[2] != 1 or f.rank > 3:
        return numbers
    seen: set[float] = set()
    alike = pairs = 0
    for b in batches():
        seen |= set(np.unique(b).tolist())
        if len(seen) > most:
            return numbers
        whole = b.reshape(len(b), *f.shape[:2])
        for axis in (1, 2):
            same = np.diff(whole, axis=axis) == 0
            alike, pairs = alike + int(same.sum()), pairs + same.size
    if len(seen) < 2 or not all(float(v).is_integer() for v in seen) and len(seen) > 2:
        return numbers
    if metric != "iou" and len(seen) > FEW_MASK and alike < EVEN * pairs:
        return numbers
    return Target("masks", tuple(_value(v) for v in sorted(seen)), size=f.size)


def judge_masks(target: Target, batches: Callable[[], Iterable[np.ndarray]]) -> tuple[Target, dict[int, str]]:
    """A later feed's masks: the target, which may have gained classes while there are few, and by row a value that is none."""
    known = {float(label) for label in target.labels}
    new = {v for b in batches() for v in np.unique(b).tolist()} - known
    if len(known) + len(new) <= MOST_MASK and all(float(v).is_integer() for v in new):
        return replace(target, labels=target.labels + tuple(_value(v) for v in sorted(new))), {}
    refused, at = {}, 0
    for b in batches():
        for i in np.flatnonzero(~np.isin(b, list(known)).all(axis=1)).tolist():
            refused[at + i] = _value(next(v for v in b[i].tolist() if v not in known))
        at += len(b)
    return target, refused


def _value(v: float) -> str:
    return str(int(v)) if float(v).is_integer() else repr(float(v))
