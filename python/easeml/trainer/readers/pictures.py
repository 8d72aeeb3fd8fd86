"""Pictures in an archive: one folder a class, or a table whose cells are paths relative to it.

A row is a picture. Which layout it is follows from the archive: a table in which cells name pictures
decides it, else the folders do. The client sends a folder of files as a tar, so a folder is an archive too.
"""

from __future__ import annotations

import posixpath
import tempfile
from collections import Counter
from pathlib import Path
from typing import Iterator, Sequence

from ..fault import Fault
from ..decode import MOST_BYTES, OTHER_ENDINGS, is_picture
from . import Block, Options, Source
from .archive import Archive, Member, Members
from .kinds import open_kind

_PARTS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev"}
"""Names of folders above the classes, into which people have dealt their pictures."""

_PACKED = (".zip", ".tar", ".gz", ".bz2", ".xz", ".7z", ".rar")

_ROWS = 64
"""Pictures in a block: what is decoded at one time."""

_TABLES = (".csv", ".tsv", ".tab", ".xlsx", ".xls", ".ods")
MOST_TABLE = 500_000_000


class Picture:
    """A value of a column of pictures: a file of the archive, read when it is asked for."""

    __slots__ = ("name", "_archive", "_member")

    def __init__(self, name: str, archive: Archive, member: Member | None):
        self.name, self._archive, self._member = name, archive, member

    def __str__(self) -> str:
        return self.name

    @property
    def place(self) -> str | None:
        """Its path as messages show it; None where there is no such file."""
        return None if self._member is None else placed(self._archive.name, self._member.path)

    def read(self) -> bytes:
        """The file's bytes. Raises `Fault` whose message goes after the picture's name."""
        if self._member is None:
            raise Fault("isn't there", hint="paths are relative to the table")
        return self._archive.read(self._member, MOST_BYTES)


def placed(source: str, path: str) -> str:
    """Where a member stands, for people: ``scans/a.png`` of the folder ``scans/``, ``scans.zip/a.png`` of an archive."""
    if source.lower().endswith(_TABLES):  # a table that was fed with its pictures
        source = posixpath.dirname(source)
    elif is_picture(source) or any(c in source for c in "*?["):  # one picture, or a pattern: members bear whole paths
        return path
    return f"{source.rstrip('/')}/{path}" if source.rstrip("/") else path


class Pictures(Source):
    """The pictures of an archive as rows. ``layout``: ``folders`` (columns ``file`` and ``class``) or ``table`` (its own columns).

    ``pictures`` names the columns that hold `Picture` values.
    """

    kind, cells = "pictures", True

    def __init__(self, name: str, path: Path, options: Options):
        super().__init__(name, path)
        self._archive = Archive(name, path)
        found = self._archive.members.only(is_picture)
        if not found:
            raise self._no_pictures()
        self._table = self._find_table(found, options)
        self.layout = "table" if self._table else "folders"
        if self._table:
            self.names, self.decimal, self.counted_from = self._table.names, self._table.decimal, self._table.counted_from
            self.notes += [n for n in self._table.notes if n not in self.notes]
        else:
            self.names, self.decimal, self.counted_from = ["file"], ".", 1
            self.pictures = {"file"}
            self._found, self._classes = found, _classes(found)
            if self._classes is not None:
                self.names.append("class")
                parts = _PARTS & {posixpath.basename(posixpath.dirname(f)).lower() for f in {posixpath.dirname(m.path) for m in found}}
                if len(parts) > 1:
                    self.notes.append(f"{name}: {', '.join(sorted(parts))} are one set here; what is kept apart for the test is drawn from all of it")
        self._say_left_out()

    def _no_pictures(self) -> Fault:
        members = self._archive.members
        tables = [m.path for m in members if m.path.lower().endswith(_TABLES)]
        others = Counter(posixpath.splitext(m.path)[1].lower() for m in members if m.path.lower().endswith(OTHER_ENDINGS))
        if others:
            ending, n = others.most_common(1)[0]
            return Fault(f"{self.name} holds no pictures that can be read; it has {n:,} {ending} files.", kind="unsupported", where={"file": self.name},
                         hint="Save them as PNG or TIFF.")
        packed = next((m.path for m in members if m.path.lower().endswith(_PACKED)), None)
        hint = f"Feed {tables[0]} itself." if tables else f"Unpack it, and feed {packed} that is in it." if packed else "Feed what is in it by itself." if len(members) else None
        return Fault(f"{self.name} holds no pictures.", where={"file": self.name}, hint=hint)

    def _find_table(self, found: Members, options: Options) -> Source | None:
        """The one table of the archive whose cells name pictures, opened; None where there is none. Raises `Fault` for several."""
        fitting: list[tuple[str, Source, set[str]]] = []
        known = [m for m in self._archive.members if m.path.lower().endswith(_TABLES)]
        near: Fault | None = None
        for m in known[:20]:
            at = posixpath.dirname(m.path)
            try:
                table = self._opened(m, options)
            except Fault as fault:  # it matters only where no other table fits
                near = near or fault
                continue
            columns, missed = _columns_of_pictures(table, at, found)
            if columns:
                fitting.append((at, table, columns))
            elif missed and near is None:
                near = Fault(f"{placed(self.name, m.path)} names {missed}, but there is no such picture beside it.",
                             where={"file": self.name}, hint="Cells are paths relative to the table.")
        if len(fitting) > 1:
            some = " and ".join(posixpath.basename(t.name) for _, t, _ in fitting[:2])
            raise Fault(f"{self.name} holds several tables of pictures, {some}.", where={"file": self.name}, hint="Name the one that is meant, with its path.")
        if not fitting:
            if near is not None:
                raise near
            return None
        self._at, table, self.pictures = fitting[0]
        self._found = found
        return table

    def _opened(self, m: Member, options: Options) -> Source:
        """A table of the archive, from a copy that goes away with this source."""
        name = placed(self.name, m.path)
        try:
            content = self._archive.read(m, MOST_TABLE)
        except Fault as fault:
            raise Fault(f"{name} {fault.message}.", where={"file": name}, hint=fault.hint) from None
        if not content:
            raise Fault(f"{name} is empty.", where={"file": name})
        self._copies = getattr(self, "_copies", None) or tempfile.TemporaryDirectory(prefix="easeml-")
        path = Path(self._copies.name) / f"{len(list(Path(self._copies.name).iterdir()))}{posixpath.splitext(m.path)[1].lower()}"
        path.write_bytes(content)
        return open_kind(name, path, options)

    def _say_left_out(self) -> None:
        left = [m.path for m in self._archive.members if not is_picture(m.path) and not (self._table and m.path.lower().endswith(_TABLES))]
        if left:
            unread = [p for p in left if p.lower().endswith(OTHER_ENDINGS)]
            if unread:
                one = len(unread) == 1
                self.notes.append(f"{self.name}: {len(unread):,} {'picture is' if one else 'pictures are'} of a kind that can't be read, and left out ({_some(unread)}); save {'it' if one else 'them'} as PNG or TIFF")
            left = [p for p in left if not p.lower().endswith(OTHER_ENDINGS)]
        if left:
            self.notes.append(f"{self.name}: {len(left):,} {'file that is' if len(left) == 1 else 'files that are'} no picture left out ({_some(left)})")

    @property
    def endings(self) -> set[str]:
        """The endings of its pictures."""
        return {posixpath.splitext(m.path)[1].lower() for m in self._archive.members if is_picture(m.path)}

    @property
    def class_folders(self) -> list[str]:
        """The folders that name classes, each once; empty for a table, or where pictures lie in no folder."""
        return sorted(set(self._classes or ())) if self.layout == "folders" else []

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        """All rows: a table's in its order, else the pictures by their path."""
        if self._table:
            yield from self._blocks_of_table()
            return
        n = len(self._found)
        for at in range(0, n, _ROWS):
            some = self._found[at:at + _ROWS]
            columns: dict[str, list] = {"file": [Picture(m.path, self._archive, m) for m in some]}
            if self._classes is not None:
                columns["class"] = self._classes[at:at + _ROWS]
            yield Block(columns, range(at + 1, at + 1 + len(some)), None, read=int(self.size * min(n, at + _ROWS) / n))

    def _blocks_of_table(self) -> Iterator[Block]:
        for whole in self._table.blocks():
            n = len(whole.rows)
            for at in range(0, n, _ROWS):
                end = min(n, at + _ROWS)
                columns = {k: c[at:end] for k, c in whole.columns.items()}
                for k in self.pictures:
                    columns[k] = [self._cell(v) for v in columns[k]]
                broken = [type(p)(p.at - at, p.column, p.value, p.reason, p.remedy) for p in whole.broken if at <= p.at < end]
                yield Block(columns, whole.rows[at:end], None if whole.lines is None else whole.lines[at:end], broken,
                            read=int(self.size * whole.read / max(1, self._table.size)))

    def _cell(self, value):
        """A cell of a column of pictures; None where it is empty."""
        value = "" if value is None else str(value).strip()
        return Picture(value, self._archive, self._found.find(_joined(self._at, value))) if value else None


def _classes(found: Members) -> list[str] | None:
    """The class of each picture: its folder. Where folders lie in folders to different depths, the first below what is common to all.

    None where a picture lies in no folder.
    """
    folders = list(dict.fromkeys(posixpath.dirname(m.path) for m in found))
    if not all(folders):
        return None
    if len({f.count("/") for f in folders}) == 1:
        name_of = {f: posixpath.basename(f) for f in folders}
    else:
        common = posixpath.commonpath(folders)
        if common in folders:  # a picture lies beside the folders
            return None
        start = len(common) + 1 if common else 0
        name_of = {f: f[start:].split("/", 1)[0] for f in folders}
    return [name_of[posixpath.dirname(m.path)] for m in found]


def _joined(folder: str, cell: str) -> str:
    return posixpath.normpath(posixpath.join(folder, cell.replace("\\", "/")))


def _columns_of_pictures(table: Source, at: str, found: Members) -> tuple[set[str], str | None]:
    """The columns of which half the cells of the first rows name pictures; and a cell that looks as if it did but doesn't."""
    try:
        block = next(iter(table.blocks()), None)
    except Fault:
        return set(), None
    columns, missed = set(), None
    for name, cells in (block.columns if block else {}).items():
        cells = [str(c).strip() for c in cells[:500] if c is not None and str(c).strip()]
        there = sum(found.find(_joined(at, c)) is not None for c in cells)
        if cells and there * 2 >= len(cells):
            columns.add(name)
        elif cells and missed is None and sum(map(is_picture, cells)) * 2 >= len(cells):
            missed = next(c for c in cells if is_picture(c) and found.find(_joined(at, c)) is None)
    return columns, missed


def _some(paths: list[str]) -> str:
    """The names of the first files."""
    return ", ".join(posixpath.basename(p) for p in paths[:3]) + (" …" if len(paths) > 3 else "")
