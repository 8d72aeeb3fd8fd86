"""A model's folder: spec.json and the family's files. Self-contained: it answers without its trial or data.

Training scores with a model that was loaded back from its folder, and ``predict`` loads the same
folder: what is scored is what answers.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import FORMAT, VERSION, calibration
from .batch import Batch, Preparation
from .candidate import Candidate
from .catalogue import find
from .events import write_json
from .examples import Examples
from .fault import Fault
from .metrics import Guess, Metric, find_metric
from .program import Program, Target, parse_program, parse_target, settle

FORMATS = {".skops": "skops", ".safetensors": "safetensors", ".onnx": "onnx"}


@dataclass
class Model:
    """A fitted candidate with all that stands between an example and an answer.

    ``raw_program`` and ``template`` are kept as the trial gave them; ``size`` is the little profile
    that tells plugins how large the data was. ``temperature`` is that of the classes' probabilities.
    """

    raw_program: dict
    template: str
    program: Program
    target: Target
    preparation: Preparation
    candidate: Candidate
    metric: Metric
    guess: Guess
    size: dict
    temperature: float = 1.0

    def answer(self, examples: Examples) -> np.ndarray:
        """Answers in the form that `outputs` tells: of classes probabilities [n, k], of numbers [n, d] in their own unit."""
        return self.answer_batch(self.preparation.batch(examples, with_target=False))

    def answer_batch(self, batch: Batch) -> np.ndarray:
        """The same for a batch that is prepared already."""
        answers = self.preparation.answers(self.candidate.predict(batch))
        return calibration.tempered(answers, self.temperature) if self.target.is_classes else answers

    def save(self, folder: Path) -> dict:
        """Write the folder; what result.json says of it under ``model``."""
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "spec.json", {
            "format": FORMAT, "trainer": VERSION, "program": self.raw_program, "template": self.template,
            "target": self.target.as_json(), "preprocessing": self.preparation.state,
            "candidate": self.candidate.info.as_json(), "metric": self.metric.name,
            "guess": {"answer": list(self.guess.answer), "positive": self.guess.positive, "length": self.guess.length},
            "size": self.size, "temperature": self.temperature,
        })
        self.candidate.save(folder)
        files = []
        formats = set()
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            formats.add(FORMATS.get(path.suffix))
            files.append({"path": path.relative_to(folder).as_posix(), "bytes": path.stat().st_size,
                          "sha256": hashlib.sha256(path.read_bytes()).hexdigest()})
        formats.discard(None)
        if len(formats) != 1:
            raise Fault(f"{self.candidate.info.label} saved no skops, safetensors or onnx file, or several kinds.", kind="bug")
        return {"format": formats.pop(), "class": type(self.candidate).__name__, "files": files}

    @classmethod
    def load(cls, folder: Path) -> "Model":
        """Read a model's folder. Raises `Fault` where it is missing, newer than this trainer, or broken."""
        try:
            with open(folder / "spec.json", encoding="utf-8") as f:
                spec = json.load(f)
        except (OSError, ValueError):
            raise Fault(f"There is no model in {folder.name}.", where={"file": str(folder)}) from None
        if spec.get("format", 1) > FORMAT:
            raise Fault(f"This model has format {spec['format']}; this trainer reads up to {FORMAT}.", kind="unsupported",
                        hint="Update easeml where the model is used.")
        program = parse_program(spec["program"])
        target = parse_target(spec["target"], program)
        program = settle(program, target)
        found = find(spec["candidate"], program, spec.get("size") or {})
        candidate = type(found).load(folder)
        guess = Guess(tuple(spec["guess"]["answer"]), int(spec["guess"]["positive"]), target.kind, int(spec["guess"].get("length") or 0))
        return cls(spec["program"], spec["template"], program, target, Preparation(program, target, spec["preprocessing"]),
                   candidate, find_metric(spec["metric"], target.kind), guess, spec.get("size") or {},
                   float(spec.get("temperature", 1.0)))
