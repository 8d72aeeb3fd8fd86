"""The size of the data, as families need it to guess what a fit will cost."""

from __future__ import annotations

from dataclasses import dataclass

from .program import Program


@dataclass(frozen=True)
class Size:
    """Rows that are trained on (about), numbers a row has, classes (1 for numbers), fits an attempt makes.

    ``side`` is (height, width, channels) of the first picture, or None; ``dynamic_range`` the profile's.
    """

    rows: int
    features: int
    classes: int
    fits: int
    side: tuple[int, int, int] | None
    dynamic_range: float

    @property
    def work(self) -> float:
        """rows × features × fits, the unit of most estimates."""
        return float(self.rows) * self.features * self.fits


def size_of(program: Program, profile: dict) -> Size:
    """Read a profile.json; what it leaves out is taken from the program."""
    features = profile.get("features") or sum(f.size for f in program.inputs)
    target = profile.get("target") or {}
    classes = len(target.get("labels") or ()) if target.get("kind", "classes") in ("classes", "tokens") else 1
    protocol = profile.get("protocol") or {"kind": "holdout"}
    fits = 1 + int(protocol.get("k", 5)) if protocol.get("kind") == "folds" else 1
    parts = profile.get("parts") or {}
    rows = int(parts.get("train") or profile.get("rows") or 0)
    side = None
    for f in program.inputs:
        if f.shape and len(f.shape) in (2, 3):
            side = (f.shape[0], f.shape[1], f.shape[2] if len(f.shape) == 3 else 1)
            break
    try:
        spread = float(profile.get("dynamic_range") or 1.0)
    except ValueError:
        spread = 1.0
    return Size(max(rows, 1), max(int(features), 1), max(classes, 1), fits, side, spread)


def estimate(seconds: float, size: Size, *, memory: float = 0.0, gpu_seconds: float | None = None, gpu_memory: float = 0.0) -> dict:
    """A candidate's ``estimate``: seconds on one CPU thread (with the attempt's own 0.1 s) and bytes.

    `gpu_seconds`, where given, is a guess for any GPU class, under the key ``gpu``.
    """
    known = {"cpu1": round(0.1 + seconds, 3)}
    if gpu_seconds is not None:
        known["gpu"] = round(1.5 + gpu_seconds, 3)  # starting CUDA takes more than a second
    data = 8.0 * size.rows * size.features
    return {"seconds": known, "memory_bytes": int(6e7 + 4 * data + memory), "gpu_memory_bytes": int(gpu_memory)}
