"""Warming: what the warm parents import, so that their children need not. Importing is all; nothing is computed."""

from __future__ import annotations

import gc
import importlib
import os
import sys

from .families import FAMILIES
from .runner import versions

_LIGHT = ("numpy", "pyarrow", "pyarrow.ipc", "sklearn.linear_model", "sklearn.svm", "sklearn.neighbors", "sklearn.ensemble",
          "sklearn.neural_network", "sklearn.multioutput", "sklearn.pipeline", "sklearn.preprocessing", "threadpoolctl", "lightgbm", "skimage.feature", "safetensors.numpy", "pandas",
          "PIL.Image")

# torch.optim imports torch._dynamo at its first use, in every child anew if not here.
_DEEP = ("torch", "torch.nn.functional", "torch._dynamo", "safetensors.torch")
_OURS = ("acceptance", "batch", "catalogue", "checks", "convert", "estimator", "examples", "fitting", "ingest",
         "matching", "metrics", "model", "parts", "predict", "profile", "picture", "readers.archive", "readers.csv", "readers.json", "readers.npz", "readers.pictures", "runner", "settling")


def _import(names: tuple[str, ...]) -> list[str]:
    """Import modules; the names of those that aren't installed."""
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    return missing


def import_light() -> list[str]:
    """Import what children need, but PyTorch; the names of what isn't installed. Nothing is computed."""
    # Before any library reads it: waiting threads must sleep, not spin, beside other slots.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # OpenBLAS starts its threads at import; a parent that forks must have none.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    missing = _import(_LIGHT)
    for name in _OURS:
        importlib.import_module(f".{name}", __package__)
    for name in FAMILIES:
        importlib.import_module(f".families.{name}", __package__)
    from .estimator import skops
    skops()
    if "skimage.feature" in sys.modules:
        feature = sys.modules["skimage.feature"]
        feature.hog, feature.local_binary_pattern  # imported when first named
    versions()
    _settle()
    return missing


def _settle() -> None:
    """What is alive now stays alive: the collector must not touch, and so copy, its pages in every child."""
    gc.collect()
    gc.freeze()


def import_deep() -> list[str]:
    """Import PyTorch and what belongs to it, on top of `import_light`; the names of what isn't installed."""
    missing = _import(_DEEP)
    _settle()
    return missing
