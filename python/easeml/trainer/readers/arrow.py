"""Parquet and Arrow (Feather): columns with types, read a batch of rows at a time."""

from __future__ import annotations

import contextlib
import mmap
import tempfile
from pathlib import Path
from typing import Any, Iterator, Sequence

from ..fault import Fault
from . import Block, Options, Source

_ROWS = 20000
_BUFFER = 64 * 1024
"""Bytes of each column of a Parquet file that are read ahead."""
_PAGE = 1 << 20
"""About so large are the pages that Parquet's writers make; one of each column that is read is in memory."""
_TOGETHER = 64_000_000
"""Columns whose pages take more are not read side by side, but some at a time, to the side."""

_VALUES = 1_000_000
"""About so many numbers are read at one time."""


class _Columns(Source):
    """What Parquet and Arrow share: a schema, and batches of rows. Rows are counted from 0, as data frames do."""

    counted_from = 0
    what = "Arrow file"

    def _took(self, schema) -> None:
        """Take the columns of a schema over."""
        import pyarrow as pa
        try:
            self.names = list(schema.names)
        except UnicodeDecodeError as error:
            raise self.broken(self.what, error) from None
        if not self.names:
            raise self.fault("has no columns")
        if len(set(self.names)) < len(self.names):
            twice = next(n for n in self.names if self.names.count(n) > 1)
            raise self.fault(f'has two columns called "{twice}"', "Give one of them another name.", column=twice)
        wide = 1
        for field in schema:
            if pa.types.is_fixed_size_list(field.type):
                self.shapes[field.name] = (field.type.list_size,)
                wide += field.type.list_size
            else:
                wide += 1
        self.rows_at_once = max(1, min(_ROWS, _VALUES // wide))

    def _batches(self, names: list[str]) -> Iterator[tuple[Any, int]]:
        """Record batches of the columns, of `rows_at_once` at most, each with the bytes read so far."""
        raise NotImplementedError

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        import pyarrow as pa
        wanted = [n for n in self.names if names is None or n in names]
        at = 0
        batches = self._batches(wanted)
        while True:
            try:
                batch, read = next(batches)
                columns = {n: values_of(batch.column(i)) for i, n in enumerate(wanted)}
                yield Block(columns, range(at, at + batch.num_rows), None, read=read)
                at += batch.num_rows
            except StopIteration:
                return
            except (OSError, pa.ArrowException, ValueError, OverflowError, NotImplementedError) as error:
                raise self.broken(self.what, error) from None


class Parquet(_Columns):
    """A Parquet file, in batches within its row groups."""

    what = "Parquet file"

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        import pyarrow as pa
        import pyarrow.parquet as pq
        try:
            # Not mapped: the pages of a large file would count as this process's own.
            self._file = pq.ParquetFile(path, memory_map=False, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True)
            schema = self._file.schema_arrow
            self.rows = self._file.metadata.num_rows
        except (OSError, pa.ArrowException, ValueError, OverflowError) as error:
            raise self.broken(self.what, error) from None
        self._took(schema)

    def _batches(self, names: list[str]) -> Iterator[tuple[Any, int]]:
        at = 0
        for group in range(self._file.num_row_groups):
            for batch in self._of_group(group, names):
                at += batch.num_rows
                yield batch, int(self.size * min(1.0, at / max(1, self.rows)))

    def _of_group(self, group: int, names: list[str]) -> Iterator[Any]:
        """A row group's batches. Where a page of every column would be too much, the columns are read one bundle after the other,
        and brought together again from files on the side."""
        import pyarrow as pa
        bundles = self._bundles(group, names)
        if len(bundles) <= 1:
            for batch in self._file.iter_batches(self.rows_at_once, row_groups=[group], columns=names):
                yield batch.select(names)
            return
        with tempfile.TemporaryDirectory(prefix="easeml-") as folder, contextlib.ExitStack() as files:
            readers = []
            for i, bundle in enumerate(bundles):
                path = f"{folder}/{i}"
                with pa.OSFile(path, "wb") as f:
                    writer = None
                    for batch in self._file.iter_batches(self.rows_at_once, row_groups=[group], columns=bundle):
                        writer = writer or pa.ipc.new_stream(f, batch.schema)
                        writer.write_batch(batch)
                    if writer:
                        writer.close()
                if writer:
                    readers.append(pa.ipc.open_stream(files.enter_context(pa.OSFile(path, "rb"))))
            for parts in zip(*readers):
                columns = {n: c for part in parts for n, c in zip(part.schema.names, part.columns)}
                yield pa.record_batch([columns[n] for n in names], names=names)

    def _bundles(self, group: int, names: list[str]) -> list[list[str]]:
        """The columns in bundles whose pages fit in memory together."""
        meta, wide = self._file.metadata.row_group(group), {}
        for i in range(meta.num_columns):
            column = meta.column(i)
            top = column.path_in_schema.split(".", 1)[0]
            wide[top] = wide.get(top, 0) + _BUFFER + 2 * min(_PAGE, column.total_uncompressed_size)
        out: list[list[str]] = []
        held = 0
        for n in names:
            if not out or held + wide.get(n, _PAGE) > _TOGETHER:
                out.append([])
                held = 0
            out[-1].append(n)
            held += wide.get(n, _PAGE)
        return out


class Arrow(_Columns):
    """An Arrow IPC file (Feather) or stream, batch by batch from mapped memory, whose pages are given back at once."""

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        import pyarrow as pa
        try:
            with open(path, "rb") as f:
                self._map = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
            self._source = pa.BufferReader(pa.py_buffer(self._map))
            try:
                self._file, self._stream = pa.ipc.open_file(self._source), None
                schema = self._file.schema
            except pa.ArrowInvalid:
                self._source.seek(0)
                self._file, self._stream = None, pa.ipc.open_stream(self._source)
                schema = self._stream.schema
        except (OSError, pa.ArrowException, ValueError, OverflowError) as error:
            raise self.broken(self.what, error) from None
        self._took(schema)

    def _batches(self, names: list[str]) -> Iterator[tuple[Any, int]]:
        batches = self._stream if self._file is None else (self._file.get_batch(i) for i in range(self._file.num_record_batches))
        for batch in batches:
            batch.validate(full=True)  # a broken offset must not be followed
            batch = batch.select(names)
            for begin in range(0, batch.num_rows, self.rows_at_once):
                yield batch.slice(begin, self.rows_at_once), min(self.size, self._source.tell())
                if hasattr(self._map, "madvise"):  # else the pages of a large file would count as this process's own
                    self._map.madvise(mmap.MADV_DONTNEED)


def values_of(column) -> Any:
    """An Arrow array as a column: an array of numbers, else a list of Python values, None where missing."""
    import pyarrow as pa
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return values_of(column.storage)
    if pa.types.is_dictionary(kind):
        return values_of(column.dictionary_decode())
    if pa.types.is_floating(kind):
        return column.to_numpy(zero_copy_only=False)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.to_numpy(zero_copy_only=False) if not column.null_count else column.to_pylist()
    if pa.types.is_decimal(kind):
        return [None if v is None else float(v) for v in column.to_pylist()]
    if pa.types.is_fixed_size_list(kind) and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)) \
            and not column.null_count and not column.flatten().null_count:
        return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), kind.list_size)
    if pa.types.is_timestamp(kind) and kind.unit == "ns":  # whole microseconds do for a time of day
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    try:
        return column.to_pylist()
    except (OverflowError, ValueError) as error:
        raise Fault(f"A value of type {kind} can't be read ({error}).") from None

