"""Archives: the members of a tar or zip, read one at a time and never unpacked.

What comes from outside is judged before anything of it is read: how many members, how large they
claim to be, and where their names lead. A tar's members are read from where they lie in the file,
so that ten thousand cost no more memory than one.
"""

from __future__ import annotations

import bisect
import posixpath
import re
import stat
import tarfile
import zipfile
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..fault import Fault, one_sentence

MOST_MEMBERS = 500_000
MOST_BYTES = 200_000_000_000
"""What all members together may take, unpacked."""
MOST_RATIO = 200
"""How many times its own size an archive may unpack to, once that is more than `RATIO_FROM`."""
RATIO_FROM = 100_000_000
MOST_NAME = 1024


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive: its path with ``/``, its bytes, and where it lies (None in a zip)."""

    path: str
    size: int
    offset: int | None
    stored: str


class Members(Sequence):
    """Members of an archive, sorted by path: a few dozen bytes of memory each."""

    def __init__(self):
        self._paths, self._ends = bytearray(), array("q")
        self._sizes, self._offsets = array("q"), array("q")
        self._stored: dict[int, str] = {}  # names that a path isn't the same as
        self._order: np.ndarray | None = None

    def add(self, path: str, size: int, offset: int | None, stored: str) -> None:
        """One more member."""
        if stored not in ("", path):
            self._stored[len(self._sizes)] = stored
        self._paths += path.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._paths))
        self._sizes.append(size)
        self._offsets.append(-1 if offset is None else offset)

    def sort(self) -> None:
        """Put them in the order of their paths, as most archives have them."""
        n = len(self)
        if any(self._path(i) > self._path(i + 1) for i in range(n - 1)):
            self._order = np.array(sorted(range(n), key=self._path), dtype=np.int32)

    def only(self, meant) -> "Members":
        """Those whose path is `meant`, a callable."""
        out = Members.__new__(Members)
        out.__dict__.update(self.__dict__)
        out._order = np.array([j for i in range(len(self)) if meant(self._path(j := self._at(i)))], dtype=np.int32)
        return out

    def find(self, path: str) -> Member | None:
        """The member of a path; None where there is none."""
        at = bisect.bisect_left(range(len(self)), path, key=lambda i: self._path(self._at(i)))
        return self[at] if at < len(self) and self._path(self._at(at)) == path else None

    def _at(self, i: int) -> int:
        return i if self._order is None else int(self._order[i])

    def _path(self, j: int) -> str:
        return self._paths[self._ends[j - 1] if j else 0:self._ends[j]].decode("utf-8", "surrogatepass")

    def __len__(self) -> int:
        return len(self._sizes) if self._order is None else len(self._order)

    def __getitem__(self, i: int | slice) -> "Member | list[Member]":
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        if not 0 <= i < len(self):
            raise IndexError(i)
        j = self._at(i)
        path = self._path(j)
        return Member(path, self._sizes[j], None if self._offsets[j] < 0 else self._offsets[j], self._stored.get(j, path))


class Archive:
    """An open tar (uncompressed) or zip. ``members``: its files, sorted by path; what systems leave behind is not among them.

    Raises `Fault` with kind data for what is broken, too large, or leads out of the archive.
    """

    def __init__(self, name: str, path: Path):
        self.name, self._path = name, path
        self._zip: zipfile.ZipFile | None = None
        self.size = path.stat().st_size
        try:
            found = self._of_zip() if is_zip(path) else self._of_tar()
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, OverflowError) as error:
            raise Fault(f"{name} is not a whole archive ({one_sentence(error)[:120]}).", where={"file": name},
                        hint="Download or save it again.") from None
        found.sort()
        before = None
        for member in found:
            if member.path == before:
                raise self._refused(f"it holds {before} twice")
            before = member.path
        self.members = found

    def _of_tar(self) -> Members:
        found = Members()
        total = 0
        with tarfile.open(self._path, "r:") as tar:
            while (t := tar.next()) is not None:
                tar.members = []  # the list would keep all of them, several hundred bytes each
                if t.isdir():
                    self._checked(t.name)
                    continue
                if t.issym() or t.islnk():
                    raise self._refused(f"{_clean(t.name)} is a link")
                if not t.isreg() or t.sparse is not None:
                    raise self._refused(f"{_clean(t.name)} is no ordinary file")
                total = self._within(found, total, t.size)
                if t.offset_data + t.size > self.size:
                    raise tarfile.ReadError(f"it breaks off within {_clean(t.name)}")
                if (path := self._checked(t.name)) is not None:
                    found.add(path, t.size, t.offset_data, "")
        return found

    def _of_zip(self) -> Members:
        found = Members()
        total = 0
        self._zip = zipfile.ZipFile(self._path)
        for z in self._zip.infolist():
            path = self._checked(z.filename)
            mode = z.external_attr >> 16
            if z.is_dir():
                continue
            if stat.S_ISLNK(mode):
                raise self._refused(f"{_clean(z.filename)} is a link")
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise self._refused(f"{_clean(z.filename)} is no ordinary file")
            if z.flag_bits & 1:
                raise Fault(f"{self.name} is encrypted.", where={"file": self.name}, hint="Save it without a password.")
            total = self._within(found, total, z.file_size)
            if path is not None:
                found.add(path, z.file_size, None, z.filename)
        return found

    def _within(self, found: Members, total: int, size: int) -> int:
        """The unpacked size so far, with one more member. Raises `Fault` beyond a limit."""
        from ..memory import says
        total += size
        if len(found) >= MOST_MEMBERS:
            raise self._refused(f"it holds more than {MOST_MEMBERS:,} files", "Feed it in several parts.")
        if total > MOST_BYTES:
            raise self._refused(f"unpacked it would take more than {says(MOST_BYTES)}", "Feed it in several parts.")
        if total > RATIO_FROM and total > MOST_RATIO * self.size:
            raise self._refused(f"it would grow from {says(self.size)} to more than {says(total)} when unpacked", "Pack the pictures themselves.")
        return total

    def _checked(self, raw: str) -> str | None:
        """A member's path; None for what systems leave behind. Raises `Fault` where it leads out of the archive."""
        path = _clean(raw).replace("\\", "/")
        parts = [p for p in path.split("/") if p not in ("", ".")]
        if path.startswith("/") or re.match(r"^[A-Za-z]:", path) or ".." in parts:
            raise self._refused(f"the path {path[:100]} leads out of it")
        if len(path) > MOST_NAME or any(ord(c) < 32 for c in path):
            raise self._refused(f"a path in it is longer than {MOST_NAME} characters or holds control characters")
        if not parts or "__MACOSX" in parts or any(p.startswith(".") for p in parts) or parts[-1].lower() in ("thumbs.db", "desktop.ini"):
            return None
        return "/".join(parts)

    def _refused(self, why: str, hint: str | None = None) -> Fault:
        return Fault(f"{self.name} is refused: {why}.", where={"file": self.name}, hint=hint or "Pack ordinary files, with paths inside the archive.")

    def read(self, member: Member, most: int) -> bytes:
        """A member's bytes, at most `most` of them. Raises `Fault` with a sentence where it is larger or damaged."""
        from ..memory import says
        if member.size > most:
            raise Fault(f"is larger than {says(most)}", hint="make it smaller")
        try:
            if self._zip is not None:
                with self._zip.open(member.stored) as f:
                    content = f.read(member.size)
                    f.read(1)  # the end, where the checksum is looked at
            else:
                with open(self._path, "rb") as f:
                    f.seek(member.offset)
                    content = f.read(member.size)
        except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
            raise Fault(f"is damaged in the archive ({one_sentence(error)[:80]})", hint="pack it again") from None
        except Exception as error:  # zlib.error, lzma.LZMAError: whatever a packer's library raises
            raise Fault(f"is damaged in the archive ({one_sentence(error)[:80]})", hint="pack it again") from None
        if len(content) != member.size:
            raise Fault("is damaged in the archive", hint="pack it again")
        return content


def _clean(name: str) -> str:
    """A member's name as text that can be written anywhere."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def is_tar(start: bytes) -> bool:
    """Whether a file's first 512 bytes are a tar's."""
    return start[257:262] == b"ustar"


def is_zip(path: Path) -> bool:
    """Whether a file begins as a zip with members does."""
    with open(path, "rb") as f:
        return f.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def holds_arrays(path: Path) -> bool:
    """Whether a zip holds NumPy arrays only, as an NPZ does."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False
    return bool(names) and all(n.endswith(".npy") for n in names)


def folder_of(path: str) -> str:
    """The folder of a member's path, "" for none."""
    return posixpath.dirname(path)
