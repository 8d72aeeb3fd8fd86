"""Settling the target: what the first feed's outputs turn out to be, and which rows don't fit that.

Classes: declared labels, or up to n found ones, integers 0…n−1 as they are. `Tensor[D]`, D ≥ 2:
labels or one-hot rows are classes, real columns are numbers. Once settled it holds for later feeds;
a task with fewer labels than its program allows may still gain some, at the end.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Sequence

import numpy as np

from .convert import known_label, shown, unknown_label
from .fault import Fault
from .matching import Binding
from .program import Field, Target

TYPO_SHARE = 0.05
"""At most so large a share of rows may bear labels beyond the declared number and be rejected one by one."""


@dataclass
class Settled:
    """A target, and for each row its label (None: can't be taken, see `refused`)."""

    target: Target
    labels: list[str | None]
    refused: dict[int, tuple[str, str]]


def _whole(text: str) -> int | None:
    if re.match(r"[+-]?0\d", text):  # 007 is a code, and stays what it is
        return None
    try:
        x = float(text)
    except ValueError:
        return None
    return int(x) if math.isfinite(x) and x.is_integer() and "e" not in text.lower() else None


def sorted_labels(labels: Sequence[str]) -> list[str]:
    """Labels in order: as numbers where all are, else as text."""
    try:
        return sorted(labels, key=lambda t: (float(t), t))
    except ValueError:
        return sorted(labels)


def labels_of_first(f: Field, count: int, texts: Sequence[str | None], column: str, file: str) -> tuple[str, ...]:
    """The labels that a first feed settles for ``Class[count]``. Raises `Fault` where it has far more."""
    seen = Counter(t for t in texts if t is not None)
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


def settle_labels(f: Field, count: int, texts: Sequence[str | None], target: Target | None, known: Sequence[str],
                  column: str, file: str) -> Settled:
    """Labels for each row. `known` are labels of earlier feeds; `count` is how many the program allows."""
    declared = f.classes
    if declared:
        labels = tuple(declared)
    elif target is not None:
        labels = target.labels + tuple(sorted_labels([x for x in set(known) if x not in target.labels]))
        if len(labels) < count:
            new = Counter(t for t in texts if t is not None and known_label(t, labels) is None)
            # Enough of a new label, or all of a small feed, is no typo.
            more = [t for t, c in new.most_common(count - len(labels))]
            labels += tuple(sorted_labels(more))
    else:
        labels = labels_of_first(f, count, texts, column, file)
    cache: dict[str, str | None] = {}
    out: list[str | None] = []
    refused: dict[int, tuple[str, str]] = {}
    for i, t in enumerate(texts):
        if t is None:
            refused[i] = (f"{f.name} is missing", "fill the label in, or leave the row out")
            out.append(None)
            continue
        if t not in cache:
            cache[t] = known_label(t, labels)
        if cache[t] is None:
            refused[i] = unknown_label(t, f.name, labels)
        out.append(cache[t])
    return Settled(Target("classes", labels), out, refused)


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
