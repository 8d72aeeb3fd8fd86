"""What a candidate is: its description, and the class that fits, predicts, saves and loads.

A plugin is an entry point of the group ``easeml.candidates``: a callable ``(program, profile)``
that yields `Candidate` objects. It need not look at the size of the data: ``needs`` does.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from .batch import Batch
    from .report import Report


class Stop(Exception):
    """Raised by ``report.step`` when fitting is to end now; what is best so far counts."""


class Pause(Exception):
    """Raised by ``report.step`` when the attempt is to leave; its last checkpoint is whole."""


@dataclass(frozen=True)
class CandidateInfo:
    """A candidate's description, printed by ``candidates`` as one JSON object.

    ``id`` is a stable slug; ``version`` rises when its meaning changes. ``templates`` and ``kinds``
    say where it fits. ``needs`` bounds rows, features and the tensor's side. ``estimate`` holds
    seconds for each device class and bytes. ``baseline`` marks the line that guessing sets.
    ``requires`` names the modules that must be installed. ``citations`` are rounded: only their order counts.
    """

    id: str
    family: str
    label: str
    version: int = 1
    templates: tuple[str, ...] = ("table", "image_classification")
    kinds: tuple[str, ...] = ("classes", "numbers")
    settings: dict[str, Any] = field(default_factory=dict)
    normalization: float | str | None = None
    year: int | None = None
    citations: int | None = None
    source: str = "easeml 1.0"
    devices: tuple[str, ...] = ("cpu",)
    iterative: bool = False
    pausable: bool = False
    deterministic: bool = True
    needs: dict[str, Any] = field(default_factory=dict)
    estimate: dict[str, Any] = field(default_factory=dict)
    baseline: bool = False
    requires: tuple[str, ...] = ()

    def as_json(self) -> dict:
        """The object as ``candidates`` prints it."""
        needs = {"min_examples": 1, "max_examples": None, "max_features": None, **self.needs}
        return {**asdict(self), "templates": list(self.templates), "kinds": list(self.kinds),
                "devices": list(self.devices), "requires": list(self.requires), "needs": needs}

    @classmethod
    def of(cls, raw: dict) -> "CandidateInfo":
        """The description in its JSON form, read back; unknown keys are ignored."""
        known = {k: tuple(v) if isinstance(v, list) else v for k, v in raw.items() if k in cls.__dataclass_fields__}
        return cls(**{"label": raw["id"], **known})

    def using(self, raw: dict) -> "CandidateInfo":
        """This description with the settings, version and normalization of a trial's candidate."""
        return replace(self, id=raw["id"], version=int(raw.get("version", self.version)),
                       settings={**self.settings, **(raw.get("settings") or {})},
                       normalization=raw.get("normalization"))


class Candidate:
    """A model to be fitted: one object is fitted once, in one process.

    Subclasses set nothing but what `fit` learns. Three attributes are the runner's:

    * ``seed``: an int; everything random follows from it.
    * ``threads``: how many CPU threads may be used.
    * ``hints``: what earlier folds learned (the mean of their ``learned``), empty otherwise.

    ``learned`` is a dict of floats that `fit` may fill with what it found with the help of the
    validation part, such as ``{"steps": 40}``; a later fit without one finds them in ``hints``.
    """

    def __init__(self, info: CandidateInfo):
        self.info = info
        self.seed = 0
        self.threads = 1
        self.hints: dict[str, float] = {}
        self.learned: dict[str, float] = {}

    def fit(self, train: "Batch", valid: "Batch | None", report: "Report") -> None:
        """Learn from `train`. `valid` is for watching progress only, and may be None.

        Raises `Fault` with kind data or unsupported where this candidate can't learn from such
        data; lets `Stop` and `Pause` of the report pass, or catches `Stop` to keep its best state.
        """
        raise NotImplementedError

    def predict(self, inputs: "Batch") -> "np.ndarray":
        """Classes: probabilities [n, k], one column a label, always all. Numbers: [n, d], on the scale of ``train.y``."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write what `predict` needs into `folder`: skops, safetensors or onnx, and JSON."""
        raise NotImplementedError

    @classmethod
    def load(cls, folder: Path) -> "Candidate":
        """The fitted candidate that `save` wrote into `folder`, where spec.json describes it."""
        raise NotImplementedError

    @classmethod
    def described(cls, folder: Path) -> "Candidate":
        """An unfitted candidate with the description that ``folder/spec.json`` holds: where `load` begins."""
        with open(folder / "spec.json", encoding="utf-8") as f:
            return cls(CandidateInfo.of(json.load(f)["candidate"]))
