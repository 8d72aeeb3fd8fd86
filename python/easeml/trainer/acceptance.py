"""Acceptance: from rows that converted well to examples with numbers, hashes, parts, and the profile."""

from __future__ import annotations

import posixpath
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from . import FORMAT
from .batch import MOST_LEVELS, TEXT_COLUMNS, looks_like_text
from .events import write_json
from .examples import PARTS, column_to_arrow, open_arrow, write_arrow, write_batches
from .fault import Fault
from .hashing import hashes
from .matching import Binding
from .parts import give_parts, plan, unit_of
from .profile import make_profile
from .program import Target, settle
from .settling import is_one_hot, one_hot_texts, settle_labels
from .split import quantile_edges, strata_of_numbers
from .stored import Stored

if TYPE_CHECKING:
    from .ingest import Feed


class Known:
    """Everything that the task accepted before: the server's index of it, or nothing."""

    def __init__(self, path=None):
        self.hashes: Counter[str] = Counter()
        self.labels: list[str | None] = []
        self.parts = np.zeros(0, dtype=np.int64)
        self.on = np.zeros(0, dtype=bool)
        self.units: dict[str, int] = {}
        self.numbers: list[int] = []
        self.corrected: Counter[tuple[str, str | None]] = Counter()  # input hash and label of those whose label was corrected
        self.rows: list[tuple[str, str, str | None]] = []  # of each: example hash, input hash, the source it came from
        if path is None:
            return
        table = open_arrow(path)
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
        self.hashes.update(columns["example_hash"])
        self.numbers = [int(n) for n in columns.get("number", range(1, table.num_rows + 1))]
        self.rows = list(zip(columns["example_hash"], columns["input_hash"], columns.get("source", [None] * table.num_rows)))
        self.labels = [None if v is None else str(v) for v in columns.get("label", [None] * table.num_rows)]
        self.corrected = Counter((h, label) for h, label, c in zip(columns["input_hash"], self.labels, columns.get("corrected", [])) if c)
        self.parts = np.array([PARTS.index(p) for p in columns["part"]], dtype=np.int64)
        self.on = np.array(columns.get("on", [True] * table.num_rows), dtype=bool)
        for h, g, p in zip(columns["input_hash"], columns.get("group", [None] * table.num_rows), self.parts.tolist()):
            self.units[h] = p
            if g is not None:
                self.units[unit_of(g, h)] = p

    def __len__(self) -> int:
        return len(self.parts)


def accept(feed: "Feed") -> None:
    """Finish a feed whose sources were read: settle, tell known rows, give parts, write all files, say `done`."""
    log, spec, rows, program = feed.log, feed.spec, feed.rows, feed.program
    log.write("phase", name="evaluate")
    known = Known(feed.folder / spec["known"]) if spec.get("known") else Known()
    values = {name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in rows.values.items()}
    values |= {name: Stored(spill) for name, spill in rows.spills.items()}
    n = len(rows.rows)
    keep = np.ones(n, dtype=bool)
    target, labels = _settle(feed, values, known, keep)
    stored = settle(program, target)
    kept = np.flatnonzero(keep)
    values = {name: v[kept] for name, v in values.items()}
    columns = [(f, values[f.name]) for f in stored.inputs]
    if target is not None and target.is_classes:
        column = np.empty(len(kept), dtype=object)
        column[:] = [labels[i] for i in kept]
        outputs = [(stored.outputs[0], column)]
    else:
        outputs = [(f, values[f.name]) for f in stored.outputs if f.name in values]
    example_hashes, input_hashes = hashes(columns, outputs, len(kept)) if len(kept) else ([], [])

    # Equal rows are told apart by how often they occur: a file fed again adds nothing, one more copy does.
    # A row that says by now what somebody has corrected an example to adds nothing either.
    left, corrected = Counter(known.hashes), Counter(known.corrected)
    new, mended = [], set()
    for i, h in enumerate(example_hashes):
        if left[h] > 0:
            left[h] -= 1
        elif corrected and corrected[(input_hashes[i], _label(target, outputs, i))] > 0:
            corrected[(input_hashes[i], _label(target, outputs, i))] -= 1
            mended.add(input_hashes[i])
        else:
            new.append(i)
    sources = [rows.places[i] or feed.source_names[rows.sources[i]] for i in kept]
    said = None
    if len(program.outputs) == 1 and target is not None and (target.is_classes or program.outputs[0].size == 1):
        said = [_label(target, outputs, i) for i in range(len(kept))]
    changed, restated = _changed(known, example_hashes, input_hashes, sources, said, new, mended)
    new = np.array([i for i in new if i not in restated], dtype=np.int64)
    known_count = len(kept) - len(new)

    numbers = int(spec.get("first_number") or 1) + np.arange(len(new), dtype=np.int64)
    total = len(known) + len(new)
    split = plan(total, spec.get("folds"), spec.get("test"))
    target, strata, known_strata = _strata(target, outputs, known, new)
    groups = [rows.groups[kept[i]] for i in new]
    order = _ranks([rows.order[kept[i]] for i in new]) if rows.order else None
    parts = give_parts(strata, [input_hashes[i] for i in new], groups, split.shares, known_strata, known.parts, known.units, order) \
        if len(new) else np.zeros(0, dtype=np.int64)

    for name in dict.fromkeys(r.fed for r in feed.rejects if r.counted_from == 0):
        feed.notes.append(f"{name}: rows are counted from 0")

    feed.input_hashes = [input_hashes[i] for i in new]
    _say_categories(feed, columns)
    log.write("phase", name="save")
    _write(feed, columns, outputs, target, new, numbers, example_hashes, input_hashes, parts, groups, kept)
    profile = make_profile(feed, target, [(f, v[new]) for f, v in columns], [(f, v[new]) for f, v in outputs], known, parts, split,
                           known_count, n_read=feed.read)
    write_json(feed.folder / "profile.json", {"format": FORMAT, **profile, "changed": changed})
    log.write("done", accepted=len(new), rejected=len(feed.rejects), known=known_count, reason="finished")


def _say_categories(feed: "Feed", columns: list) -> None:
    """Say how categories of many levels, and texts, are seen by models."""
    for f, values in columns:
        if not f.is_class:
            continue
        name = (feed.columns_of.get(f.name) or [f.name])[0]
        levels = len({v for v in values if v is not None})
        if looks_like_text(f, values):
            feed.notes.append(f"{name} is text: models see its words, hashed into {TEXT_COLUMNS} columns")
        elif levels > MOST_LEVELS:
            feed.notes.append(f"{name} has {levels:,} different values: the {MOST_LEVELS} most frequent count one by one, the others as one")
        elif f.class_count and not f.classes and levels > f.class_count:
            feed.notes.append(f"{name} has {levels:,} different values, though {f.says()} is declared; all are kept")


def _label(target: Target | None, outputs, i: int) -> str | None:
    """The label of a row as the index has it."""
    if target is None or not outputs:
        return None
    value = outputs[0][1][i]
    return value if target.is_classes else repr(float(value[0]))


def _changed(known: Known, example_hashes: list[str], input_hashes: list[str], sources: list[str], labels: list[str | None] | None,
             new: list[int], mended: set[str]) -> tuple[dict | None, set[int]]:
    """Where a file of a name that was fed before has changed: what it corrects, what of it is gone; and the rows that
    correct an example and so are none of their own. (None, no rows) where nothing of that name was fed.

    A new row corrects the example of its file that has its input and is in the file no longer, if both are the only ones
    with that input: which of several is meant can't be known, so such rows are new examples, counted as ``relabeled``.
    `labels` are the rows' labels; None where there is no single one to correct.
    """
    named = set(sources)
    if not any(source in named for _, _, source in known.rows):
        return None, set()
    here, on, left = Counter(example_hashes), known.on.tolist(), []
    for k, (example, own_input, source) in enumerate(known.rows):
        if here[example] > 0:
            here[example] -= 1
        elif on[k] and source in named and own_input not in mended:
            left.append(k)
    corrected, restated, answered = [], set(), set()
    if labels is not None and left:
        before = Counter((source, own_input) for k, (_, own_input, source) in enumerate(known.rows) if on[k])
        now = Counter(zip(sources, input_hashes))
        row_of = {(sources[i], input_hashes[i]): i for i in new}
        for k in left:
            key = (known.rows[k][2], known.rows[k][1])
            if key in row_of and before[key] == 1 and now[key] == 1 and known.labels[k] is not None:
                corrected.append({"number": known.numbers[k], "from": known.labels[k], "to": labels[row_of[key]]})
                restated.add(row_of[key])
                answered.add(k)
    gone = [k for k in left if k not in answered]
    inputs = {known.rows[k][1] for k in gone}
    relabeled = sum(1 for i in new if i not in restated and input_hashes[i] in inputs)
    return {"relabeled": relabeled, "corrected": corrected, "gone": [known.numbers[k] for k in gone]}, restated


def _settle(feed: "Feed", values: dict, known: Known, keep: np.ndarray) -> tuple[Target | None, list[str | None]]:
    """The target, and each row's label for classes; rows that don't fit are rejected, and off in `keep`."""
    program, target, rows = feed.program, feed.target, feed.rows
    if len(program.outputs) > 1:
        return target or Target("numbers", size=sum(f.size for f in program.outputs)), []
    one = program.outputs[0]
    if not one.is_class and one.size == 1:
        return target or Target("numbers"), []
    if one.rank >= 2:
        return target or Target("numbers", size=one.size), []
    columns = feed.columns_of.get(one.name) or [one.name]
    count = one.class_count if one.is_class else one.size
    texts = rows.texts.get(one.name)
    if texts is not None and one.name in values:
        raise Fault(f"{one.name} is labels in one file and numbers in another.", where={"field": one.name})
    if texts is None:
        array = values.get(one.name)
        if array is None or not len(array):
            return target, []
        as_classes = target.is_classes if target else is_one_hot(array)
        if not as_classes:
            if target is None:
                feed.notes.append(f"{one.name} is read as {one.size} numbers")
            return target or Target("numbers", size=one.size), []
        binding = Binding(one, tuple(columns), spread=len(columns) > 1)
        texts = one_hot_texts(binding, array)
        if target is None:
            feed.notes.append(f"{one.name} has one 1 a row: read as one of {one.size} classes")
            labels = [t for t in dict.fromkeys(one_hot_texts(binding, np.eye(one.size)))]
            target = Target("classes", tuple(labels))
        values.pop(one.name)
    elif not one.is_class:
        if target is not None and not target.is_classes:
            raise Fault(f"{one.name} was {one.size} numbers so far, but this file has one column of labels for it.", where={"field": one.name})
        if target is None:
            reals = [t for t in texts if t is not None and not _label_like(t)]
            if reals:
                raise Fault(f"{columns[0]} is one column of numbers ({reals[0]} …), but {one.name} is {one.says()}.",
                            where={"file": feed.source_names[0], "column": columns[0], "field": one.name}, hint=f"For one number declare {one.name} :: Tensor[1].")
            feed.notes.append(f"{one.name} is read as one of {one.size} classes")
    settled = settle_labels(one, count, texts, target, [x for x in known.labels if x is not None], columns[0], feed.source_names[0])
    for i, (reason, remedy) in settled.refused.items():
        keep[i] = False
        feed.rejects.append(_reject(feed, i, columns[0], texts[i], reason, remedy))
    if settled.refused:
        place = {name: k for k, name in enumerate(feed.source_names)}
        feed.rejects.sort(key=lambda r: (place.get(r.fed, 0), r.row))
    if not settled.target.labels:
        return feed.target, settled.labels
    return settled.target, settled.labels


def _label_like(text: str) -> bool:
    try:
        return float(text).is_integer()
    except ValueError:
        return True


def _reject(feed: "Feed", i: int, column: str, value: str | None, reason: str, remedy: str):
    from .ingest import Reject
    rows = feed.rows
    source = fed = feed.source_names[rows.sources[i]]
    line = None if rows.lines[i] < 0 else rows.lines[i]
    if rows.places[i] is not None and line is None:  # the label is a folder's name: what is wrong is the folder
        source, column, value = posixpath.dirname(rows.places[i]) + "/", None, None
    return Reject(source, rows.rows[i], line, column, value, reason, remedy, feed.counted_from[rows.sources[i]], fed)


def _strata(target: Target | None, outputs, known: Known, new: np.ndarray) -> tuple[Target | None, np.ndarray, np.ndarray]:
    """The class or quantile of each new and each known example; a first feed of numbers freezes the edges."""
    if target is None or not outputs or outputs[0][0].rank >= 2:  # pictures have no classes, nor quantiles
        return target, np.zeros(len(new), dtype=np.int64), np.zeros(len(known), dtype=np.int64)
    if target.is_classes:
        places = {label: i for i, label in enumerate(target.labels)}
        of = lambda label: places.get(label, len(places))  # noqa: E731
        return (target, np.array([of(v) for v in outputs[0][1][new]], dtype=np.int64),
                np.array([of(v) for v in known.labels], dtype=np.int64))
    first = outputs[0][1][new][:, 0].astype(np.float64)
    edges = list(target.quantile_edges)
    if not edges and not len(known):
        edges = quantile_edges(first)
    before = np.array([float(v) if v is not None else 0.0 for v in known.labels], dtype=np.float64)
    target = Target("numbers", (), target.size, tuple(edges))
    return target, strata_of_numbers(first, edges), strata_of_numbers(before, edges)


def _ranks(texts: list[str | None]) -> list[float]:
    """Places in time for the option `order`: numbers as they are, else dates; what is neither comes first."""
    try:
        return [float(t) if t is not None else -np.inf for t in texts]
    except ValueError:
        pass
    import pandas as pd
    times = pd.to_datetime(pd.Series(texts, dtype="object"), errors="coerce", utc=True, format="ISO8601")
    if times.isna().mean() > 0.5:
        times = pd.to_datetime(pd.Series(texts, dtype="object"), errors="coerce", utc=True, format="mixed", dayfirst=True)
    return [t.timestamp() if not pd.isna(t) else -np.inf for t in times]


def _write(feed: "Feed", columns, outputs, target, new, numbers, example_hashes, input_hashes, parts, groups, kept) -> None:
    """examples.arrow, index.arrow, rejects.arrow."""
    import pyarrow as pa
    rows = feed.rows
    table: dict = {"number": pa.array(numbers, pa.int64())}
    large: dict = {}
    for f, v in columns + outputs:
        if isinstance(v, Stored):
            large[f.name], table[f.name] = (f, v[new]), None
        else:
            table[f.name] = column_to_arrow(f, v[new])
    if large and len(new):
        write_batches(feed.folder / "examples.arrow", table, large)
    else:
        table |= {name: column_to_arrow(f, np.zeros((0, f.size), np.uint8)) for name, (f, _) in large.items()}
        write_arrow(feed.folder / "examples.arrow", table)
    label: list[str | None] = [None] * len(new)
    if target is not None and outputs and outputs[0][0].rank < 2:
        if target.is_classes:
            label = list(outputs[0][1][new])
        else:
            label = [repr(float(x)) for x in outputs[0][1][new][:, 0]]
    write_arrow(feed.folder / "index.arrow", {
        "number": pa.array(numbers, pa.int64()),
        "example_hash": pa.array([example_hashes[i] for i in new], pa.string()),
        "input_hash": pa.array([input_hashes[i] for i in new], pa.string()),
        "label": pa.array(label, pa.string()),
        "part": pa.array([PARTS[p] for p in parts], pa.string()),
        "source": pa.array([rows.places[kept[i]] or feed.source_names[rows.sources[kept[i]]] for i in new], pa.string()),
        "row": pa.array([rows.rows[kept[i]] for i in new], pa.int64()),
        "group": pa.array(groups, pa.string()),
    })
    text = lambda name: pa.array([getattr(r, name) for r in feed.rejects], pa.string())  # noqa: E731
    write_arrow(feed.folder / "rejects.arrow", {
        "source": text("source"), "row": pa.array([r.row for r in feed.rejects], pa.int64()),
        "line": pa.array([r.line for r in feed.rejects], pa.int64()), "column": text("column"), "value": text("value"),
        "reason": text("reason"), "remedy": text("remedy"), "counted_from": pa.array([r.counted_from for r in feed.rejects], pa.int64()),
    })
