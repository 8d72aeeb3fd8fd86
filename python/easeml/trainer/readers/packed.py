"""Packed files: one file in gzip, bzip2, xz or Zstandard, unpacked to the side within limits, then read as what it is."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tempfile
import zlib
from pathlib import Path

from ..fault import Fault, one_sentence
from ..memory import says
from . import Options, Source

MOST_BYTES = 50_000_000_000
MOST_RATIO = 200
RATIO_FROM = 100_000_000
_CHUNK = 1 << 20
_ENDINGS = {".gz", ".bz2", ".xz", ".zst"}
_WHOLE = {".tgz": ".tar", ".tbz2": ".tar", ".txz": ".tar"}


def unpacked(name: str, path: Path, options: Options) -> Source:
    """The source that a packed file holds. Raises `Fault` where it is broken, or would grow too far."""
    from .kinds import open_kind
    inner = Path(name).stem if Path(name).suffix.lower() in _ENDINGS else str(Path(name).with_suffix(_WHOLE.get(Path(name).suffix.lower(), Path(name).suffix)))
    folder = tempfile.TemporaryDirectory(prefix="easeml-")
    target = Path(folder.name) / ("unpacked" + Path(inner).suffix)
    size, total = path.stat().st_size, 0
    try:
        with _opened(name, path) as source, open(target, "wb") as f:
            while chunk := source.read(_CHUNK):
                total += len(chunk)
                if total > MOST_BYTES or total > RATIO_FROM and total > MOST_RATIO * size:
                    raise Fault(f"{name} is refused: it would grow from {says(size)} to more than {says(total)} when unpacked.", where={"file": name},
                                hint="Unpack it and feed what is meant.")
                f.write(chunk)
    except Fault:
        raise
    except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
        raise Fault(f"{name} can't be unpacked ({one_sentence(error)[:100]}).", where={"file": name}, hint="Download or save it again.") from None
    with open(target, "rb") as f:
        if f.read(2) in (b"\x1f\x8b", b"BZ"):
            raise Fault(f"{name} is packed more than once.", where={"file": name}, hint="Unpack it and feed what is meant.")
    source = open_kind(name, target, options)
    source.kept = folder  # goes away with the source
    return source


def _opened(name: str, path: Path):
    with open(path, "rb") as f:
        start = f.read(4)
    if start[:2] == b"\x1f\x8b":
        return gzip.open(path, "rb")
    if start[:3] == b"BZh":
        return bz2.open(path, "rb")
    if start[:4] == b"\x28\xb5\x2f\xfd":
        import pyarrow as pa
        return pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd")
    return lzma.open(path, "rb")
