"""Accepted examples in memory, and their form on disk: Arrow IPC files, read memory-mapped.

``examples*.arrow`` hold ``number`` and one column a field: fixed-size lists of numbers for tensors
(a missing number is NaN; pictures that came as files of 8 bits are bytes), dictionary-encoded text for
classes (a missing one is null), lists of numbers, node after node, for series and trees, lists of text for series of labels.
``index.arrow`` holds ``number``, ``part`` and ``on``, and may hold ``group`` (what keeps rows together) and
``label`` (what the first output is by now, where somebody has corrected it since it was fed).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Iterator

import numpy as np

from .fault import Fault
from .program import Field, Program
from .stored import Codes

PARTS = ("train", "validation", "test")


@dataclass
class Examples:
    """Rows of values by field: tensors as [n, size] floats, classes as [n] objects (str or None), series and
    trees as [n] objects, each [m, width] floats, or, of series of labels, [m] objects (str or None).

    ``numbers`` are the examples' numbers in their task; ``parts`` indices into `PARTS`;
    ``groups`` are ints, equal where rows must not be separated, or None. ``on`` is how many there are where only
    some were read, else None or their own number.
    """

    columns: dict[str, np.ndarray]
    numbers: np.ndarray
    parts: np.ndarray | None = None
    groups: np.ndarray | None = None
    on: int | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: np.ndarray) -> "Examples":
        """The given rows, by position or mask."""
        return Examples({k: v[rows] for k, v in self.columns.items()}, self.numbers[rows],
                        None if self.parts is None else self.parts[rows],
                        None if self.groups is None else self.groups[rows])

    def part(self, name: str) -> "Examples":
        """The rows of one part."""
        return self.take(np.flatnonzero(self.parts == PARTS.index(name)))


def column_to_arrow(field: Field, values: np.ndarray):
    """A field's values as an Arrow array in the files' form."""
    import pyarrow as pa

    if field.ragged and field.is_class:
        offsets = np.concatenate([[0], np.cumsum([len(v) for v in values], dtype=np.int64)])
        return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.array([t for v in values for t in v], pa.string()))
    if field.is_class:
        coded = Codes()  # by hand: pyarrow would hold all texts, and imports pandas for arrays of objects
        coded.extend(values)
        return pa.DictionaryArray.from_arrays(pa.array(coded.codes, mask=coded.codes < 0), pa.array(coded.texts, pa.string()))
    if field.ragged:
        offsets = np.concatenate([[0], np.cumsum([v.size for v in values], dtype=np.int64)])
        flat = np.concatenate([v.reshape(-1) for v in values]) if len(values) else np.zeros(0)
        return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.array(flat))
    flat = np.ascontiguousarray(values).reshape(-1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), field.size)


def column_from_arrow(field: Field, column) -> np.ndarray:
    """The reverse of `column_to_arrow`, for a chunked column; numbers share the file's memory where they can."""
    import pyarrow as pa

    if field.ragged and field.is_class:
        known: dict = {}  # each text once in memory
        out = np.empty(len(column), dtype=object)
        for i, tokens in enumerate(column.to_pylist()):
            out[i] = np.array([known.setdefault(t, t) for t in tokens], dtype=object)
        return out
    if field.is_class:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        # Through a list: pyarrow imports pandas, a second, to make arrays of objects.
        out = np.empty(len(column), dtype=object)
        out[:] = column.to_pylist()
        return out
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    if field.ragged:
        out = np.empty(len(column), dtype=object)
        at = 0
        for chunk in chunks:
            flat, ends = chunk.values.to_numpy(zero_copy_only=False), chunk.offsets.to_numpy()
            for a, b in zip(ends[:-1].tolist(), ends[1:].tolist()):
                if (b - a) % field.width:
                    raise Fault(f"The column {field.name} of the examples doesn't hold nodes of {field.width} numbers.", where={"field": field.name})
                out[at] = flat[a:b].reshape(-1, field.width)
                at += 1
        return out
    parts = []
    for chunk in chunks:
        if pa.types.is_fixed_size_list(chunk.type) or pa.types.is_list(chunk.type):
            flat = chunk.flatten()
        else:
            flat = chunk
        values = flat.to_numpy(zero_copy_only=False)
        if len(values) != len(chunk) * field.size:
            raise Fault(f"The column {field.name} of the examples doesn't hold {field.says()}.", where={"field": field.name})
        parts.append(values.reshape(len(chunk), field.size))
    if parts and any(p.dtype.kind != "f" for p in parts):  # one array for all, filled batch by batch
        out = np.empty((sum(map(len, parts)), field.size), np.float32 if all(p.dtype.itemsize == 1 or p.dtype == np.float32 for p in parts) else np.float64)
        at = 0
        for p in parts:
            out[at:at + len(p)] = p
            at += len(p)
        return out
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty((0, field.size))


def open_arrow(path: Path):
    """An Arrow IPC file as a table over mapped memory. Raises `Fault` with kind data where it is broken."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(path), "r") as source:
            return pa.ipc.open_file(source).read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise Fault(f"{path.name} can't be read: {error}.", where={"file": path.name}) from None


def arrow_batches(path: Path) -> Iterator:
    """The record batches of an Arrow IPC file, one at a time in memory of its own. Raises `Fault` with kind data where it is broken."""
    import pyarrow as pa

    try:
        with pa.OSFile(str(path), "rb") as source:
            reader = pa.ipc.open_file(source)
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i)
    except (OSError, pa.ArrowInvalid) as error:
        raise Fault(f"{path.name} can't be read: {error}.", where={"file": path.name}) from None


def write_arrow(path: Path, columns: dict) -> None:
    """Write a table of named Arrow arrays as an IPC file, whole or not at all."""
    import os

    import pyarrow as pa

    table = pa.table(columns)
    partial = path.with_name(path.name + ".partial")
    with pa.OSFile(str(partial), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    os.replace(partial, path)


def write_pieces(path: Path, batches: Iterable) -> None:
    """Write record batches, of which there is one at least, as an IPC file, whole or not at all."""
    import os

    import pyarrow as pa

    partial, writer = path.with_name(path.name + ".partial"), None
    with pa.OSFile(str(partial), "wb") as sink:
        for batch in batches:
            writer = writer or pa.ipc.new_file(sink, batch.schema)
            writer.write_batch(batch)
        writer.close()
    os.replace(partial, path)


def example_batches(first: int, n: int, columns: list) -> Iterator:
    """Record batches of examples.arrow: n examples, numbered from `first`. `columns`: a field and its values each, arrays or
    what of `stored` stands for them."""
    import pyarrow as pa

    from .stored import BATCH_BYTES, Worded
    words = {f.name: _dictionary(v) for f, v in columns if isinstance(v, Worded)}
    width = 8 + sum(8 * f.size if isinstance(v, np.ndarray) else v.row_bytes for f, v in columns)
    step = max(1, BATCH_BYTES // width)
    for begin in range(0, max(n, 1), step):
        end = min(n, begin + step)
        batch = {"number": pa.array(np.arange(first + begin, first + end), pa.int64())}
        for f, v in columns:
            if f.name in words:
                texts, place = words[f.name]
                codes = place[v.codes(begin, end)]
                batch[f.name] = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), texts)
            else:
                batch[f.name] = column_to_arrow(f, v[begin:end] if isinstance(v, np.ndarray) else v.rows(begin, end))
        yield pa.record_batch(batch)


def _dictionary(values) -> tuple:
    """The texts of a `Worded` that occur, as an Arrow array, and by code their place in it."""
    import pyarrow as pa

    codes = values.codes()
    there = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(values.texts)))
    place = np.full(len(values.texts) + 1, -1, dtype=np.int32)
    place[there] = np.arange(len(there))
    return pa.array([values.texts[i] for i in there.tolist()], pa.string()), place


def _row_groups(columns: dict[str, np.ndarray], inputs: tuple[Field, ...], n: int) -> np.ndarray:
    """One int a row, equal for rows whose inputs are equal: duplicates must not straddle a split."""
    import hashlib

    digests: dict[bytes, int] = {}
    out = np.empty(n, dtype=np.int64)
    arrays = [columns[f.name] if f.is_class or f.ragged else np.ascontiguousarray(columns[f.name], dtype=np.float64) for f in inputs]
    for i in range(n):
        h = hashlib.blake2b(digest_size=12)
        for a in arrays:
            one = a[i].tolist() if getattr(a[i], "dtype", None) == object else a[i]
            h.update(one.tobytes() if isinstance(one, np.ndarray) else repr(one).encode())
        out[i] = digests.setdefault(h.digest(), len(digests))
    return out


COPIES = 4
"""How many times a family may hold the examples: as they were read, a part of them, prepared, and in a form of its own."""
SHARE = 0.75
"""The share of its memory that an attempt plans with."""
OWN_BYTES = 60_000_000
"""What it needs besides."""


def read_examples(folder: Path, program: Program, *, groups: bool = False, memory: int | None = None) -> Examples:
    """The examples of a version's folder that are on, ordered by number.

    With `groups`, rows are also told apart by their inputs (or the index's ``group``), for folds. Where the examples don't
    fit into `memory` bytes `COPIES` times, some of each part are read, evenly spread by their numbers: the same ones always.
    Raises `Fault` with kind data where files are missing, broken, or hold no example that is on.
    """
    folder = Path(folder)
    paths = sorted(folder.glob("examples*.arrow"))
    if not paths or not (folder / "index.arrow").exists():
        raise Fault(f"The version's folder {folder.name} holds no examples.", where={"file": str(folder)})
    index = _Index(folder / "index.arrow")
    if not len(index.numbers):
        raise Fault("No example is on.", hint="Feed some, or switch some on with refine.")
    on = len(index.numbers)
    if memory:
        index.thin(max(MOST_FEW, int((SHARE * memory - OWN_BYTES) / (COPIES * _row_bytes(paths, program)))))
    n = len(index.numbers)
    columns, found = {f.name: _room(f, paths, n) for f in program.fields}, np.zeros(n, bool)
    for path in paths:
        for batch in arrow_batches(path):
            numbers = batch.column("number").to_numpy()
            at = np.searchsorted(index.numbers, numbers)
            here = np.flatnonzero((at < n) & (index.numbers[np.minimum(at, n - 1)] == numbers))
            if not len(here):
                continue
            found[at[here]] = True
            for f in program.fields:
                values = column_from_arrow(f, batch.column(f.name))
                if f.ragged:  # else the few that are wanted would hold all of the batch
                    for i in here.tolist():
                        columns[f.name][at[i]] = values[i].copy()
                else:
                    columns[f.name][at[here]] = values if len(here) == len(values) else values[here]
    if not found.all():
        raise Fault(f"The index names example {index.numbers[~found][0]}, which no examples file holds.", where={"file": "index.arrow"})
    examples = Examples(columns, index.numbers, index.parts, on=on)
    _correct(examples, program.outputs[0], list(index.labels))
    if groups:
        examples.groups = _row_groups(examples.columns, program.inputs, len(examples))
        examples.groups = _joined(examples.groups, list(index.groups))
    return examples


MOST_FEW = 200
"""So many examples are read however little memory there is."""


class _Index:
    """What index.arrow says of the examples that are on, by number."""

    def __init__(self, path: Path):
        numbers, parts = [np.zeros(0, np.int64)], [np.zeros(0, np.int8)]
        labels, groups = Codes(), Codes()
        for batch in arrow_batches(path):
            names, rows = batch.schema.names, range(batch.num_rows)
            if "on" in names:
                rows = np.flatnonzero(batch.column("on").to_numpy(zero_copy_only=False))
                batch = batch.take(rows)
            numbers.append(batch.column("number").to_numpy().astype(np.int64))
            parts.append(np.array([PARTS.index(p) for p in batch.column("part").to_pylist()], dtype=np.int8))
            for name, column in (("label", labels), ("group", groups)):
                column.extend(batch.column(name).to_pylist() if name in names else [None] * len(rows))
        self.numbers, self.parts, self.labels, self.groups = np.concatenate(numbers), np.concatenate(parts), labels, groups
        if (np.diff(self.numbers) < 0).any():
            self._keep(np.argsort(self.numbers, kind="stable"))

    def _keep(self, rows: np.ndarray) -> None:
        self.numbers, self.parts = self.numbers[rows], self.parts[rows]
        self.labels, self.groups = self.labels.take(rows), self.groups.take(rows)

    def thin(self, most: int) -> None:
        """Keep about `most` of them: of each part its share, evenly spread."""
        n = len(self.numbers)
        if n <= most:
            return
        kept = []
        for part in range(len(PARTS)):
            rows = np.flatnonzero(self.parts == part)
            kept.append(rows[np.linspace(0, len(rows) - 1, max(1, round(len(rows) * most / n))).astype(np.int64)] if len(rows) else rows)
        self._keep(np.sort(np.concatenate(kept)))


def _schemas(paths: list[Path]) -> Iterator:
    import pyarrow as pa
    for path in paths:
        try:
            with pa.OSFile(str(path), "rb") as source:
                yield path, pa.ipc.open_file(source).schema
        except (OSError, pa.ArrowInvalid) as error:
            raise Fault(f"{path.name} can't be read: {error}.", where={"file": path.name}) from None


def _room(f: Field, paths: list[Path], n: int) -> np.ndarray:
    """Room for n values of a field: single precision where none of the files has more."""
    small = True
    for path, schema in _schemas(paths):
        if f.name not in schema.names:
            raise Fault(f"{path.name} has no column {f.name}.", where={"file": path.name, "field": f.name})
        kind = schema.field(f.name).type
        kind = getattr(kind, "value_type", kind)
        small = small and str(kind) in ("uint8", "int8", "float")
    if f.is_class or f.ragged:
        return np.empty(n, dtype=object)
    return np.empty((n, f.size), np.float32 if small else np.float64)


def _row_bytes(paths: list[Path], program: Program) -> float:
    """About what one example takes as numbers in double precision: a category has a column for each of its levels."""
    from .batch import MOST_LEVELS
    first = next(arrow_batches(paths[0]), None)
    width = 0.0
    for f in program.fields:
        if f.ragged:
            width += 8 * f.width if first is None else 2 * first.column(f.name).nbytes / max(1, len(first))
        elif f.is_class:
            width += 8 * (MOST_LEVELS if first is None else min(MOST_LEVELS, len(first.column(f.name).dictionary)))
        else:
            width += 8 * f.size
    return width


def _correct(examples: Examples, field: Field, labels: list[str | None]) -> None:
    """Put corrected labels in the place of those that were fed; None leaves a row as it is."""
    rows = [i for i, label in enumerate(labels) if label is not None]
    if not rows:
        return
    column = examples.columns[field.name].copy()  # it may be the file's own memory
    for i in rows:
        column[i] = labels[i] if field.is_class else float(labels[i])
    examples.columns[field.name] = column


def _joined(groups: np.ndarray, named: list[str | None]) -> np.ndarray:
    """Groups of equal inputs, with those that share a name made one: what must not be parted, also in chains."""
    parent = list(range(int(groups.max(initial=-1)) + 1))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first: dict[str, int] = {}
    for g, name in zip(groups.tolist(), named):
        if name is not None:
            parent[root(g)] = root(first.setdefault(name, g))
    return np.array([root(g) for g in groups.tolist()], dtype=np.int64)
