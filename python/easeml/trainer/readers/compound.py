"""Microsoft's compound files, in which old workbooks lie: sectors, and tables that say which one comes after which.

The workbooks' library follows these chains without end where one leads back to itself, and keeps what it reads; so they
are looked at first. The form is Microsoft's ([MS-CFB]).
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

START = b"\xd0\xcf\x11\xe0"
IN_HEAD = 109
"""So many sectors of the table are named in the file's head."""


def check(path: Path) -> None:
    """Follow the chains of a file's sectors. Raises ValueError where one never ends, or the file breaks off."""
    size = path.stat().st_size
    with open(path, "rb") as f:
        head = f.read(512)
        if len(head) < 512 or head[:4] != START:
            raise ValueError("it is no compound file")
        shift = struct.unpack_from("<H", head, 30)[0]
        if shift not in (9, 12):
            raise ValueError(f"its sectors have 2^{shift} bytes")
        wide = 1 << shift

        def sector(i: int) -> np.ndarray:
            f.seek((i + 1) * wide)
            content = f.read(wide)
            if len(content) < wide:
                raise ValueError("it breaks off")
            return np.frombuffer(content, "<u4")

        most = size // wide
        first_small, _, first_more, _ = struct.unpack_from("<4I", head, 60)
        of_table = np.frombuffer(head, "<u4", IN_HEAD, 76).tolist()
        for _ in range(most):
            if first_more >= most:
                break
            *more, first_more = sector(first_more).tolist()
            of_table += more
        else:
            raise ValueError("its sectors lead in a circle")
        table = [sector(i) for i in of_table[:most] if i < most]
        after = np.concatenate(table) if table else np.zeros(0, "<u4")
        _ends(after)
        small, at = [], first_small
        while at < min(most, len(after)):
            small.append(sector(at))
            at = int(after[at])
        if small:
            _ends(np.concatenate(small))


def _ends(after: np.ndarray) -> None:
    """Raise ValueError unless every chain ends. ``after``: of each sector the next one; what is none ends it."""
    n = len(after)
    places = np.append(np.minimum(after.astype(np.int64), n), n)
    for _ in range(n.bit_length()):  # twice as many steps each time
        places = places[places]
    if (places < n).any():
        raise ValueError("its sectors lead in a circle")
