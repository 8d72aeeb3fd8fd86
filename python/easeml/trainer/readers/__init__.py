"""Readers: each opens one kind of file and hands out its rows in blocks, with the place of each row.

A new kind is a module here and a line in `open_source`: a class with the attributes of `Source`
and a method ``blocks``. Readers know nothing of programs; they neither convert nor judge values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator, Protocol, Sequence

from ..fault import Fault


@dataclass
class Problem:
    """Why a row (``at``: its place in the block) can't be taken: what stands where, why, and what to do."""

    at: int
    column: str | None
    value: str | None
    reason: str
    remedy: str


@dataclass
class Block:
    """Some rows of a source. ``columns``: by name, a list of values or an array with one row each.

    ``rows`` and ``lines`` count as an editor or spreadsheet does (``lines`` None where there are
    none); ``broken`` are rows that the reader itself can't make sense of. ``read``: bytes read so far.
    """

    columns: dict[str, Any]
    rows: Sequence[int]
    lines: Sequence[int] | None
    broken: list[Problem] = field(default_factory=list)
    read: int = 0


class Source(Protocol):
    """An open file. ``names``: its columns, in order. ``counted_from``: 0 or 1, where its rows begin.

    ``shapes``: the shape of one value of a column where the file says so (NPZ). ``decimal``: the
    decimal sign of text. ``text``: values are text, to be echoed in answers. ``notes``: how it was read.
    """

    name: str
    kind: str
    names: list[str]
    shapes: dict[str, tuple[int, ...]]
    counted_from: int
    decimal: str
    text: bool
    size: int
    notes: list[str]

    def blocks(self) -> Iterator[Block]:
        """All rows, in order, once."""


@dataclass(frozen=True)
class Options:
    """The reading options of `feed` and `infer`, each a value or several."""

    raw: dict[str, Any]

    def one(self, name: str) -> str | None:
        """The option's value as text, the last one where it was repeated."""
        value = self.raw.get(name)
        if isinstance(value, list):
            value = value[-1] if value else None
        return None if value is None else str(value)

    def all(self, name: str) -> list[str]:
        """All values of a repeated option."""
        value = self.raw.get(name)
        if value is None:
            return []
        return [str(v) for v in value] if isinstance(value, list) else [str(value)]

    def switch(self, name: str) -> bool | None:
        """On or off, None where it isn't given."""
        value = self.one(name)
        if value is None:
            return None
        return value.lower() in ("on", "yes", "true", "1")


def open_source(name: str, path: Path, options: Options) -> Source:
    """Open a file by its ending, else by its first bytes. Raises `Fault` where it can't be read at all."""
    if path.is_dir():
        raise Fault(f"{name} is a folder; this trainer reads files.", kind="unsupported", where={"file": name})
    try:
        with open(path, "rb") as f:
            start = f.read(512)
    except OSError as error:
        raise Fault(f"{name} can't be read: {error.strerror or error}.", where={"file": name}) from None
    if not start:
        raise Fault(f"{name} is empty.", where={"file": name})
    endings = {Path(name).suffix.lower(), path.suffix.lower()}
    from .archive import holds_arrays, is_tar
    zipped = start.startswith((b"PK\x03\x04", b"PK\x05\x06"))
    if is_tar(start) or ".tar" in endings or (zipped or ".zip" in endings) and ".npz" not in endings and not holds_arrays(path):
        if zipped and not endings & {".zip", "", ".bin"}:
            raise _unreadable(name)
        from .pictures import Pictures
        return Pictures(name, path, options)
    if ".npz" in endings or zipped:
        from .npz import NPZ
        return NPZ(name, path)
    if endings & {".json", ".jsonl", ".ndjson"}:
        from .json import JSON
        return JSON(name, path)
    if endings & {".csv", ".tsv", ".txt", ".tab", ".dat"} or _is_text(start):
        if not endings & {".csv", ".tsv", ".txt", ".tab", ".dat"} and start.lstrip()[:1] in (b"[", b"{"):
            from .json import JSON
            return JSON(name, path)
        from .csv import CSV
        return CSV(name, path, options, tabs=".tsv" in endings or ".tab" in endings)
    raise _unreadable(name)


def _unreadable(name: str) -> Fault:
    return Fault(f"{name}: files of this kind can't be read yet.", kind="unsupported", where={"file": name},
                 hint="Save it as CSV, JSON or NPZ; pictures as PNG or JPEG, in a folder or a .zip.")


def _is_text(start: bytes) -> bool:
    return b"\0" not in start or start.startswith((b"\xff\xfe", b"\xfe\xff"))
