"""How much memory an attempt itself uses: private bytes, since a forked child shares most of its RSS."""

from __future__ import annotations


def private_bytes() -> int:
    """Bytes of this process that no other shares (Private_* of smaps_rollup); 0 where the system doesn't say."""
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii") as f:
            return sum(int(line.split()[1]) * 1024 for line in f if line.startswith("Private_"))
    except (OSError, ValueError, IndexError):
        return 0


def says(count: float) -> str:
    """Bytes as people read them: ``3.2 GB``."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1e3:.0f} kB"
