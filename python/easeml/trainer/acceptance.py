"""Acceptance: from rows that converted well to examples with numbers, hashes, parts, and the profile."""

from __future__ import annotations

import posixpath
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Callable, Iterator

import numpy as np

from . import FORMAT
from .batch import MOST_LEVELS, MOST_TOKENS, TEXT_COLUMNS, looks_like_text
from .events import write_json
from .examples import PARTS, arrow_batches, example_batches, write_arrow, write_pieces
from .fault import Fault
from .hashing import Hashes, as_text, hashes, occurrences, of_text, told_apart
from .matching import Binding
from .parts import give_parts, plan
from .profile import make_profile
from .program import Target, settle
from .settling import is_one_hot, judge_masks, one_hot_texts, settle_labels, settle_mask
from .split import quantile_edges, strata_of_numbers
from .stored import Codes, Spill, Stored, StoredTokens, Tokens, Worded, seen

if TYPE_CHECKING:
    from .ingest import Feed


ROWS = 20_000
"""Rows whose bookkeeping is text in memory at a time, on its way from or to a file."""


class Known:
    """Everything that the task accepted before, row by row: the server's index of it, or nothing."""

    def __init__(self, spill: Spill, path=None):
        self.example_hashes, self.input_hashes = Hashes(spill), Hashes(spill)
        self.labels = Worded(np.zeros(0, dtype=np.int32), [])
        self.parts = np.zeros(0, dtype=np.int8)
        self.on = self.corrected = np.zeros(0, dtype=bool)  # corrected: whether somebody has mended the label
        self.numbers = np.zeros(0, dtype=np.int64)
        self.sources = Codes()  # what each came from
        self.groups: dict[str, int] = {}  # the part of each group
        if path is None:
            return
        labels, parts, numbers, on, corrected = Codes(), [self.parts], [self.numbers], [self.on], [self.on]
        for batch in arrow_batches(path):
            for begin in range(0, batch.num_rows, ROWS):
                some = batch.slice(begin, ROWS)
                n = some.num_rows

                def cells(name: str, default=None) -> list:
                    return some.column(name).to_pylist() if name in some.schema.names else [default] * n

                self.example_hashes.append(of_text(cells("example_hash")))
                self.input_hashes.append(of_text(cells("input_hash")))
                labels.extend(None if v is None else str(v) for v in cells("label"))
                parts.append(np.array([PARTS.index(p) for p in cells("part")], dtype=np.int8))
                before = sum(map(len, numbers))
                numbers.append(np.array(cells("number"), dtype=np.int64) if "number" in some.schema.names else np.arange(before + 1, before + n + 1))
                on.append(np.array(cells("on", True), dtype=bool))
                corrected.append(np.array(cells("corrected", False), dtype=bool))
                self.sources.extend(cells("source"))
                self.groups |= {g: int(p) for g, p in zip(cells("group"), parts[-1]) if g is not None}
        self.labels, self.parts, self.numbers = Worded(labels.codes, labels.texts), np.concatenate(parts), np.concatenate(numbers)
        self.on, self.corrected = np.concatenate(on), np.concatenate(corrected)

    def __len__(self) -> int:
        return len(self.parts)


def accept(feed: "Feed") -> None:
    """Finish a feed whose sources were read: settle, tell known rows, give parts, write all files, say `done`."""
    log, spec, rows, program = feed.log, feed.spec, feed.rows, feed.program
    log.write("phase", name="evaluate")
    known = Known(rows.spill, feed.folder / spec["known"] if spec.get("known") else None)
    values: dict = {name: seen(column) for name, column in rows.columns.items()}
    for name in list(rows.values):
        parts = rows.values.pop(name)
        values[name] = parts[0] if len(parts) == 1 else np.concatenate(parts)
        del parts
    n = len(rows.rows)
    keep = np.ones(n, dtype=bool)
    target, labels = _settle(feed, values, known, keep)
    if feed.target is None and target is not None and target.is_classes and feed.typed:
        target = replace(target, type=feed.label_kind)
    stored = settle(program, target)
    if target is not None and target.kind in ("classes", "tokens"):
        none = Worded(np.zeros(0, dtype=np.int32), []) if target.is_classes else seen(Tokens(rows.spill))
        values[stored.outputs[0].name] = none if labels is None else labels

    def chosen(at: np.ndarray) -> tuple[list, list]:
        """Inputs and outputs, each with its field, of rows by their places among all that converted well."""
        def those(fields) -> list:
            return [(f, values[f.name] if len(at) == n else values[f.name][at]) for f in fields if f.name in values]
        return those(stored.inputs), those(stored.outputs)

    kept = np.flatnonzero(keep)
    columns, outputs = chosen(kept)
    example_hashes, input_hashes = hashes(columns, outputs, len(kept), rows.spill)
    # Whether examples are equal matters beside known ones only.
    examples = told_apart(known.example_hashes, example_hashes) if len(known) else np.arange(len(kept), dtype=np.int32)
    inputs = told_apart(known.input_hashes, input_hashes)
    new, mended = _new(known, examples, inputs, lambda i: _label(target, outputs, i))
    said = None
    if len(program.outputs) == 1 and target is not None and (target.is_classes or program.outputs[0].size == 1):
        said = lambda i: _label(target, outputs, i)  # noqa: E731
    changed, restated = _changed(feed, known, examples, inputs, kept, said, new, mended)
    del examples
    if restated:
        new = np.setdiff1d(new, restated)
    known_count = len(kept) - len(new)
    at = kept if len(new) == len(kept) else kept[new]

    split = plan(len(known) + len(new), spec.get("folds"), spec.get("test"), ordered=bool(len(rows.order)))
    columns, outputs = chosen(at)
    target, strata, known_strata = _strata(target, outputs, known)
    order = _ranks([rows.order[i] for i in at]) if len(rows.order) else None
    feed.inputs = np.unique(inputs[len(known):][new], return_inverse=True)[1].astype(np.int32) if len(known) else inputs
    groups = rows.groups.codes[at] if len(rows.groups) else np.full(len(at), -1, dtype=np.int32)
    parts = give_parts(strata, feed.inputs, groups, split.shares, known_strata, known.parts, _parts_of_known(known, inputs, new, groups, rows.groups.texts), order) \
        if len(new) else np.zeros(0, dtype=np.int8)
    del inputs, strata, known_strata, groups

    for name in dict.fromkeys(r.fed for r in feed.rejects if r.counted_from == 0):
        feed.notes.append(f"{name}: rows are counted from 0")

    _say_categories(feed, columns)
    log.write("phase", name="save")
    _write(feed, columns, outputs, target, int(spec.get("first_number") or 1), example_hashes, input_hashes, new, parts, at)
    profile = make_profile(feed, target, columns, outputs, known, parts, split, known_count, n_read=feed.read)
    write_json(feed.folder / "profile.json", {"format": FORMAT, **profile, "changed": changed})
    log.write("done", accepted=len(new), rejected=feed.rejected, known=known_count, reason="finished")


def _new(known: Known, examples: np.ndarray, inputs: np.ndarray, label: Callable[[int], str | None]) -> tuple[np.ndarray, list[int]]:
    """The rows that are new, and those that aren't only since somebody has corrected an example to what they say by now.

    `examples` and `inputs` are ints for all known examples and then all rows of the feed, equal where the hashes are. Equal rows
    are told apart by how often they occur: a file fed again adds nothing, one more copy does.
    """
    m = len(known)
    if not m:
        return np.arange(len(examples)), []
    there = np.bincount(examples[:m], minlength=int(examples.max()) + 1)
    new = np.flatnonzero(occurrences(examples[m:]) >= there[examples[m:]])
    corrected = Counter((int(inputs[i]), known.labels.text(i)) for i in np.flatnonzero(known.corrected).tolist())
    mended = []
    for i in new.tolist() if corrected else ():
        what = int(inputs[m + i]), label(i)
        if corrected[what] > 0:
            corrected[what] -= 1
            mended.append(i)
    return np.setdiff1d(new, mended, assume_unique=True) if mended else new, mended


def _parts_of_known(known: Known, inputs: np.ndarray, new: np.ndarray, groups: np.ndarray, names: list[str]) -> np.ndarray:
    """For each new row the part of known examples of its group, else of its very input; −1 for none."""
    m = len(known)
    if not m:
        return np.full(len(new), -1)
    part_of = np.full(int(inputs.max()) + 1, -1)
    part_of[inputs[:m]] = known.parts
    own = part_of[inputs[m:][new]]
    of_group = np.array([*(known.groups.get(g, -1) for g in names), -1])[groups]
    return np.where(of_group >= 0, of_group, own)


def _say_categories(feed: "Feed", columns: list) -> None:
    """Say how categories of many levels, and texts, are seen by models."""
    for f, values in columns:
        if not f.is_class:
            continue
        name = (feed.columns_of.get(f.name) or [f.name])[0]
        levels = len(values.counts())
        if f.ragged:
            if levels > MOST_TOKENS:
                feed.notes.append(f"{name} has {levels:,} different labels: the {MOST_TOKENS:,} most frequent count one by one, the others as never seen")
        elif looks_like_text(f, values.rows(0, 2000)):
            feed.notes.append(f"{name} is text: models see its words, hashed into {TEXT_COLUMNS} columns")
        elif levels > MOST_LEVELS:
            feed.notes.append(f"{name} has {levels:,} different values: the {MOST_LEVELS} most frequent count one by one, the others as one")
        elif f.class_count and not f.classes and levels > f.class_count:
            feed.notes.append(f"{name} has {levels:,} different values, though {f.says()} is declared; all are kept")


def _label(target: Target | None, outputs, i: int) -> str | None:
    """The label of a row as the index has it."""
    if target is None or not outputs or target.kind not in ("classes", "numbers"):
        return None
    return outputs[0][1].text(i) if target.is_classes else repr(float(outputs[0][1][i][0]))


def _changed(feed: "Feed", known: Known, examples: np.ndarray, inputs: np.ndarray, kept: np.ndarray, label: Callable[[int], str | None] | None,
             new: np.ndarray, mended: list[int]) -> tuple[dict | None, list[int]]:
    """Where a file of a name that was fed before has changed: what it corrects, what of it is gone; and the rows that
    correct an example and so are none of their own. (None, no rows) where nothing of that name was fed.

    A new row corrects the example of its file that has its input and is in the file no longer, if both are the only ones
    with that input: which of several is meant can't be known, so such rows are new examples, counted as ``relabeled``.
    `examples` and `inputs` as in `_new`; `label` gives a row's label, None where there is no single one to correct.
    """
    m = len(known)
    named: set[str] = set()
    theirs = set(known.sources.texts)
    for begin in range(0, len(kept) if m else 0, ROWS):
        named |= theirs.intersection(feed.sources_of(kept[begin:begin + ROWS]))
    again = np.array([*(name in named for name in known.sources.texts), False])[known.sources.codes]
    if not again.any():
        return None, []
    here = np.bincount(examples[m:], minlength=int(examples.max()) + 1)
    left = np.flatnonzero((occurrences(examples[:m]) >= here[examples[:m]]) & known.on & again & ~np.isin(inputs[:m], inputs[m:][mended]))
    corrected, restated, answered = [], [], []
    if label is not None and len(left):
        known_key = lambda k: (known.sources[k], int(inputs[k]))  # noqa: E731
        row_key = lambda i: (feed.sources_of(kept[i:i + 1])[0], int(inputs[m + i]))  # noqa: E731
        theirs = np.isin(inputs, inputs[left])  # the others' inputs play no part
        before = Counter(map(known_key, np.flatnonzero(theirs[:m] & known.on).tolist()))
        now = Counter(map(row_key, np.flatnonzero(theirs[m:]).tolist()))
        row_of = {row_key(i): i for i in new[theirs[m:][new]].tolist()}
        for k in left.tolist():
            key = known_key(k)
            if key in row_of and before[key] == 1 and now[key] == 1 and known.labels.text(k) is not None:
                corrected.append({"number": int(known.numbers[k]), "from": known.labels.text(k), "to": label(row_of[key])})
                restated.append(row_of[key])
                answered.append(k)
    gone = np.setdiff1d(left, answered).astype(np.int64)
    fresh = np.setdiff1d(new, restated).astype(np.int64)
    relabeled = int(np.count_nonzero(np.isin(inputs[m:][fresh], inputs[:m][gone])))
    return {"relabeled": relabeled, "corrected": corrected, "gone": known.numbers[gone].tolist()}, restated


def _settle(feed: "Feed", values: dict, known: Known, keep: np.ndarray) -> tuple[Target | None, "Worded | StoredTokens | None"]:
    """The target, and each row's label or labels for classes; rows that don't fit are rejected, and off in `keep`."""
    program, target, rows = feed.program, feed.target, feed.rows
    if len(program.outputs) > 1:
        return target or Target("numbers", size=sum(f.size for f in program.outputs)), None
    one = program.outputs[0]
    if not one.is_class and one.size == 1 and not one.ragged:
        return target or Target("numbers"), None
    if one.rank >= 2:
        return _settle_pixels(feed, values, keep), None
    if one.ragged:
        return _settle_series(feed, values, keep)
    columns = feed.columns_of.get(one.name) or [one.name]
    count = one.class_count if one.is_class else one.size
    texts = seen(rows.labels[one.name]) if one.name in rows.labels else None
    if texts is not None and one.name in values:
        raise Fault(f"{one.name} is labels in one file and numbers in another.", where={"field": one.name})
    if texts is None:
        array = values.get(one.name)
        if array is None or not len(array):
            return target, None
        as_classes = target.is_classes if target else is_one_hot(array)
        if not as_classes:
            if target is None:
                feed.notes.append(f"{one.name} is read as {one.size} numbers")
            return target or Target("numbers", size=one.size), None
        binding = Binding(one, tuple(columns), spread=len(columns) > 1)
        found = Codes()
        found.extend(one_hot_texts(binding, array))
        texts = Worded(found.codes, found.texts)
        if target is None:
            feed.notes.append(f"{one.name} has one 1 a row: read as one of {one.size} classes")
            labels = [t for t in dict.fromkeys(one_hot_texts(binding, np.eye(one.size)))]
            target = Target("classes", tuple(labels))
        values.pop(one.name)
    elif not one.is_class:
        if target is not None and not target.is_classes:
            raise Fault(f"{one.name} was {one.size} numbers so far, but this file has one column of labels for it.", where={"field": one.name})
        if target is None:
            reals = [t for t in texts.counts() if not _label_like(t)]
            if reals:
                raise Fault(f"{columns[0]} is one column of numbers ({reals[0]} …), but {one.name} is {one.says()}.",
                            where={"file": feed.source_names[0], "column": columns[0], "field": one.name}, hint=f"For one number declare {one.name} :: Tensor[1].")
            feed.notes.append(f"{one.name} is read as one of {one.size} classes")
    settled = settle_labels(one, count, texts, target, list(known.labels.counts()), columns[0], feed.source_names[0])
    for i, (reason, remedy) in settled.refused(texts):
        keep[i] = False
        feed.refuse(_reject(feed, i, columns[0], texts.text(i), reason, remedy))
    _in_order(feed, keep)
    if not settled.target.labels:
        return feed.target, settled.labels
    return settled.target, settled.labels


def _in_order(feed: "Feed", keep: np.ndarray) -> None:
    """Bring rejects into the order of their files and rows, where some came late."""
    if not keep.all():
        place = {name: k for k, name in enumerate(feed.source_names)}
        feed.rejects.sort(key=lambda r: (place.get(r.fed, 0), r.row))


def _settle_pixels(feed: "Feed", values: dict, keep: np.ndarray) -> Target | None:
    """The target of a picture as output: a mask, or numbers. A mask's rows with values that are no class are rejected."""
    one, target = feed.program.outputs[0], feed.target
    pixels = values.get(one.name)
    if pixels is None or not len(pixels):
        return target
    batches = pixels.batches if isinstance(pixels, Stored) else lambda: iter([pixels])
    if target is None:
        target = settle_mask(one, batches, feed.spec.get("metric"))
        if target.kind == "masks":
            shown = ", ".join(target.labels[:8]) + (" …" if len(target.labels) > 8 else "")
            feed.notes.append(f"{one.name} has {len(target.labels)} different values ({shown}): each pixel is read as one of {len(target.labels)} classes "
                              "(as numbers: declare it with metric = mae)")
        return target
    if target.kind == "masks":
        target, refused = judge_masks(target, batches)
        column = (feed.columns_of.get(one.name) or [one.name])[0]
        for i, value in refused.items():
            keep[i] = False
            known = ", ".join(target.labels[:8]) + (" …" if len(target.labels) > 8 else "")
            feed.refuse(_reject(feed, i, column, None, f"{one.name} has pixels of {value}, but its classes are {known}", "correct the mask, or leave the row out"))
        _in_order(feed, keep)
    return target


def _settle_series(feed: "Feed", values: dict, keep: np.ndarray) -> tuple[Target | None, StoredTokens | None]:
    """The target of a series as output: labels or numbers at its steps, and each row's labels. Rows that don't fit are rejected."""
    one, target = feed.program.outputs[0], feed.target
    series = values.get(one.name)
    if series is None or not len(series):
        return target, None
    series = series.rows(0, len(series))
    column = (feed.columns_of.get(one.name) or [one.name])[0]
    kind = "tokens" if feed.series_of.get(one.name) else "series"
    count = one.class_count if one.is_class else one.size
    if kind == "series" and one.size > 1 and (target.kind == "tokens" if target else is_one_hot(np.concatenate(list(series)))):
        kind = "tokens"
        texts = [str(i) for i in range(one.size)]
        series = [np.array([texts[int(step.argmax())] if is_one_hot(step[None]) else None for step in v], dtype=object) for v in series]
        if target is None:
            feed.notes.append(f"{one.name} has one 1 a step: each step is read as one of {one.size} classes")
            target = Target("tokens", tuple(texts))
    if target is not None and target.kind != kind:
        were, are = ("labels", "numbers") if kind == "series" else ("numbers", "labels")
        raise Fault(f"{one.name} was {were} so far, but this file has {are} for it.", where={"field": one.name})
    if kind == "series":
        return target or Target("series", size=one.size), None
    if target is None and not one.is_class:
        feed.notes.append(f"{one.name} is read as one of {one.size} classes at each step")
    lengths = [len(v) for v in series]
    row_of = np.repeat(np.arange(len(series)), lengths)
    found = Codes()
    found.extend(t for v in series for t in v)
    texts = Worded(found.codes, found.texts)
    settled = settle_labels(one, count, texts, target, [], column, feed.source_names[0])
    refused: dict[int, tuple] = {}
    for at, (reason, remedy) in settled.refused(texts):
        i = int(row_of[at])
        if i not in refused:
            step = at - sum(lengths[:i]) + 1
            refused[i] = reason, remedy
            keep[i] = False
            feed.refuse(_reject(feed, i, column, series[i][step - 1], f"step {step}: {reason}", remedy))
    _in_order(feed, keep)
    ends = np.cumsum(lengths)
    labels = np.empty(len(series), dtype=object)
    for i, (e, n) in enumerate(zip(ends.tolist(), lengths)):
        labels[i] = settled.labels.rows(e - n, e)
    tokens = Tokens(feed.rows.spill)
    tokens.append(labels)
    numeric = target.numeric and feed.label_kinds <= {"number"} if target else feed.label_kinds == {"number"}
    return (Target("tokens", settled.target.labels, numeric=numeric) if settled.target.labels else target), seen(tokens)


def _label_like(text: str) -> bool:
    try:
        return float(text).is_integer()
    except ValueError:
        return True


def _reject(feed: "Feed", i: int, column: str, value: str | None, reason: str, remedy: str):
    from .ingest import Reject
    at = np.array([i])
    row, line, of = (int(c.take(at)[0, 0]) for c in (feed.rows.rows, feed.rows.lines, feed.rows.sources))
    source = fed = feed.source_names[of]
    place = feed.rows.places[i]
    if place is not None and line < 0:  # the label is a folder's name: what is wrong is the folder
        source, column, value = posixpath.dirname(place) + "/", None, None
    return Reject(source, row, None if line < 0 else line, column, value, reason, remedy, feed.counted_from[of], fed)


def _strata(target: Target | None, outputs, known: Known) -> tuple[Target | None, np.ndarray, np.ndarray]:
    """The class or quantile of each new and each known example; a first feed of numbers freezes the edges."""
    n = len(outputs[0][1]) if outputs else 0
    if target is None or not outputs or target.kind not in ("classes", "numbers") or outputs[0][0].rank >= 2:  # whole pictures and series have no classes, nor quantiles
        return target, np.zeros(n, dtype=np.int32), np.zeros(len(known), dtype=np.int32)
    if target.is_classes:
        places = {label: i for i, label in enumerate(target.labels)}

        def of(labels: Worded) -> np.ndarray:
            return np.array([*(places.get(t, len(places)) for t in labels.texts), len(places)], dtype=np.int32)[labels.codes()]
        return target, of(outputs[0][1]), of(known.labels)
    first = outputs[0][1][:, 0].astype(np.float64)
    edges = list(target.quantile_edges)
    if not edges and not len(known):
        edges = quantile_edges(first)
    before = np.array([*(float(t) for t in known.labels.texts), 0.0])[known.labels.codes()]
    target = Target("numbers", (), target.size, tuple(edges))
    return target, strata_of_numbers(first, edges).astype(np.int32), strata_of_numbers(before, edges).astype(np.int32)


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


def _write(feed: "Feed", columns, outputs, target, first: int, example_hashes: Hashes, input_hashes: Hashes, new: np.ndarray, parts, at) -> None:
    """examples.arrow, index.arrow, rejects.arrow. `first`: the first number; `new`: where the examples stand among those that
    were hashed, `at`: among all rows that converted well."""
    import pyarrow as pa
    rows, n = feed.rows, len(new)
    write_pieces(feed.folder / "examples.arrow", example_batches(first, n, columns + outputs))

    def labels(begin: int, end: int) -> list[str | None]:
        if target is None or not outputs or target.kind not in ("classes", "numbers") or outputs[0][0].rank >= 2:
            return [None] * (end - begin)
        if target.is_classes:
            return outputs[0][1].rows(begin, end).tolist()
        return [repr(float(x)) for x in outputs[0][1][begin:end, 0]]

    def index() -> Iterator:
        for begin in range(0, max(n, 1), ROWS):
            end = min(n, begin + ROWS)
            own = at[begin:end]
            yield pa.record_batch({
                "number": pa.array(np.arange(first + begin, first + end), pa.int64()),
                "example_hash": pa.array(as_text(example_hashes.take(new[begin:end])), pa.string()),
                "input_hash": pa.array(as_text(input_hashes.take(new[begin:end])), pa.string()),
                "label": pa.array(labels(begin, end), pa.string()),
                "part": pa.array([PARTS[p] for p in parts[begin:end]], pa.string()),
                "source": pa.array(feed.sources_of(own), pa.string()),
                "row": pa.array(rows.rows.take(own)[:, 0]),
                "group": pa.array([rows.groups[i] for i in own.tolist()] if len(rows.groups) else [None] * len(own), pa.string()),
            })

    write_pieces(feed.folder / "index.arrow", index())
    text = lambda name: pa.array([getattr(r, name) for r in feed.rejects], pa.string())  # noqa: E731
    write_arrow(feed.folder / "rejects.arrow", {
        "source": text("source"), "row": pa.array([r.row for r in feed.rejects], pa.int64()),
        "line": pa.array([r.line for r in feed.rejects], pa.int64()), "column": text("column"), "value": text("value"),
        "reason": text("reason"), "remedy": text("remedy"), "counted_from": pa.array([r.counted_from for r in feed.rejects], pa.int64()),
    })
