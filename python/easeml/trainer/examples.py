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
    ``groups`` are ints, equal where rows must not be separated, or None.
    """

    columns: dict[str, np.ndarray]
    numbers: np.ndarray
    parts: np.ndarray | None = None
    groups: np.ndarray | None = None

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


def batches_of(columns: dict, large: dict) -> Iterator:
    """Record batches of a table some of whose columns are tensors in files: `large` has the field and the `Stored` of each;
    the others are whole Arrow arrays."""
    import pyarrow as pa

    from .stored import BATCH_BYTES
    names, at = list(columns), 0
    several = [v for _, v in large.values()]
    if len(several) == 1:
        batches = ([b] for b in several[0].batches())
    else:
        step = max(1, BATCH_BYTES // sum(v.size * v.dtype.itemsize for v in several))
        batches = ([v.rows(i, min(len(v), i + step)) for v in several] for i in range(0, len(several[0]), step))
    for parts in batches:
        n = len(parts[0])
        now = {name: column_to_arrow(f, part) for (name, (f, _)), part in zip(large.items(), parts)}
        yield pa.record_batch([now[name] if name in now else columns[name].slice(at, n) for name in names], names=names)
        at += n


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


def read_examples(folder: Path, program: Program, *, groups: bool = False) -> Examples:
    """The examples of a version's folder that are on, ordered by number.

    With `groups`, rows are also told apart by their inputs (or the index's ``group``), for folds.
    Raises `Fault` with kind data where files are missing, broken, or hold no example that is on.
    """
    import pyarrow as pa

    folder = Path(folder)
    paths = sorted(folder.glob("examples*.arrow"))
    if not paths or not (folder / "index.arrow").exists():
        raise Fault(f"The version's folder {folder.name} holds no examples.", where={"file": str(folder)})
    tables = [open_arrow(p) for p in paths]
    index = open_arrow(folder / "index.arrow")
    numbers = np.concatenate([t.column("number").to_numpy() for t in tables])
    columns = {}
    for f in program.fields:
        missing = [p.name for p, t in zip(paths, tables) if f.name not in t.column_names]
        if missing:
            raise Fault(f"{missing[0]} has no column {f.name}.", where={"file": missing[0], "field": f.name})
        parts = [column_from_arrow(f, t.column(f.name)) for t in tables]
        columns[f.name] = parts[0] if len(parts) == 1 else np.concatenate(parts)

    of = index.column("number").to_numpy()
    on = np.array(index.column("on").to_pylist(), dtype=bool) if "on" in index.column_names else np.ones(len(of), bool)
    part_column = index.column("part")
    if pa.types.is_dictionary(part_column.type):
        part_column = part_column.cast(part_column.type.value_type)
    part = np.array([PARTS.index(p) for p in part_column.to_pylist()], dtype=np.int8)
    order = np.flatnonzero(on)
    order = order[np.argsort(of[order], kind="stable")]
    where = np.argsort(numbers, kind="stable")
    at = np.searchsorted(numbers, of[order], sorter=where)
    found = at < len(numbers)
    found[found] = numbers[where[at[found]]] == of[order][found]
    if not found.all():
        raise Fault(f"The index names example {of[order][~found][0]}, which no examples file holds.", where={"file": "index.arrow"})
    if len(order) == 0:
        raise Fault("No example is on.", hint="Feed some, or switch some on with refine.")
    rows = where[at]
    if len(rows) == len(numbers) and (rows == np.arange(len(rows))).all():
        examples = Examples(columns, numbers, part[order])  # untouched: still the file's own memory
    else:
        examples = Examples({k: v[rows] for k, v in columns.items()}, numbers[rows], part[order])
    if "label" in index.column_names:
        _correct(examples, program.outputs[0], index.column("label").take(pa.array(order)).to_pylist())
    if groups:
        examples.groups = _row_groups(examples.columns, program.inputs, len(examples))
        if "group" in index.column_names:
            examples.groups = _joined(examples.groups, index.column("group").take(pa.array(order)).to_pylist())
    return examples


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
