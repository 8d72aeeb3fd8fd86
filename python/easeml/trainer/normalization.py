"""Normalizations: what is done to a tensor's values before a candidate sees them.

The paper's family is f_k(x) = −x^{2k} + x^k on inputs scaled to [0, 1] (Li et al., arXiv 1708.07308,
section on automatic normalization): values over many orders of magnitude are spread out, each k
stressing another range. Beside it stand ``"log"`` and ``"asinh"``, which astronomers and biologists expect.
"""

from __future__ import annotations

import numpy as np

CHOICES: tuple[float | str, ...] = (0.2, 0.4, "log", "asinh")
"""Those that the catalogue offers where the dynamic range asks for them."""

WIDE = 1e4
"""The dynamic range (largest over median non-zero magnitude) from which normalizations are offered."""


def slug(normalization: float | str) -> str:
    """The suffix of a candidate's id: ``+f0.4``, ``+log``."""
    return f"+{normalization}" if isinstance(normalization, str) else f"+f{normalization:g}"


def label(normalization: float | str) -> str:
    """What people read beside the candidate's name."""
    return f"{normalization} stretch" if isinstance(normalization, str) else f"normalization f, k = {normalization:g}"


def learn(values: np.ndarray) -> dict[str, float]:
    """What a normalization must know of the training values: range and typical magnitude."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return {"lo": 0.0, "hi": 1.0, "typical": 1.0}
    magnitudes = np.abs(finite[finite != 0])
    typical = float(np.median(magnitudes)) if magnitudes.size else 1.0
    return {"lo": float(finite.min()), "hi": float(finite.max()), "typical": typical}


def apply(normalization: float | str, values: np.ndarray, known: dict[str, float]) -> np.ndarray:
    """Normalized values, same shape and dtype; NaN stays NaN. Raises ValueError for an unknown name."""
    if normalization == "asinh":
        return np.arcsinh(values / known["typical"]).astype(values.dtype, copy=False)
    if normalization == "log":
        return (np.sign(values) * np.log1p(np.abs(values) / known["typical"])).astype(values.dtype, copy=False)
    if isinstance(normalization, str):
        raise ValueError(f"there is no normalization {normalization}")
    width = known["hi"] - known["lo"] or 1.0
    x = np.clip((values - known["lo"]) / width, 0.0, 1.0) ** float(normalization)
    return (x - x * x).astype(values.dtype, copy=False)
