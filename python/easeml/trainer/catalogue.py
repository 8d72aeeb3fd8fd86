"""The catalogue: every candidate there is, and those that make sense for a program and its data.

Candidates come from our families and from plugins (entry points of the group ``easeml.candidates``).
A broken plugin is named on stderr and left out; it costs nobody else anything.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Callable, Iterator

from . import normalization as norm
from .candidate import Candidate
from .families import FAMILIES
from .fault import Fault, one_sentence
from .program import Program, parse_program, template_of
from .size import Size, size_of
from .wire import protected_stdout

GROUP = "easeml.candidates"


@functools.cache
def _sources() -> tuple[tuple[str, Callable], ...]:
    """Name and callable of each family and plugin, found once a process."""
    found = [(name, importlib.import_module(f".families.{name}", __package__).candidates) for name in FAMILIES]
    from importlib.metadata import entry_points
    for entry in entry_points(group=GROUP):
        try:
            found.append((entry.name, entry.load()))
        except Exception as error:  # a plugin is other people's code
            print(f"the plugin {entry.name} can't be loaded: {one_sentence(error)}", file=sys.stderr)
    return tuple(found)


def every(program: Program, profile: dict) -> Iterator[Candidate]:
    """All candidates for a program, whether they suit its data or not, light ones first."""
    for name, source in _sources():
        try:
            yield from source(program, profile)
        except Exception as error:
            print(f"the plugin {name} fails: {one_sentence(error)}", file=sys.stderr)


def missing(candidate: Candidate) -> list[str]:
    """The libraries that the candidate needs and that are not installed here, by module; nothing is imported."""
    return [m for m in candidate.info.requires if importlib.util.find_spec(m) is None]


def available(candidate: Candidate) -> bool:
    """True where the libraries that the candidate needs are installed."""
    return not missing(candidate)


def suits(candidate: Candidate, template: str, kind: str, size: Size, rows: int) -> bool:
    """True where a candidate fits the template, the kind of target, and the size of the data."""
    info, needs = candidate.info, candidate.info.needs
    if template not in info.templates or kind not in info.kinds:
        return False
    if rows < (needs.get("min_examples") or 1) or rows > (needs.get("max_examples") or rows):
        return False
    if size.features > (needs.get("max_features") or size.features):
        return False
    if needs.get("min_side") or needs.get("max_side"):
        if size.side is None:
            return False
        small, large = min(size.side[:2]), max(size.side[:2])
        return small >= (needs.get("min_side") or 1) and large <= (needs.get("max_side") or large)
    return True


def normalized(candidate: Candidate, normalization: float | str) -> Candidate:
    """The same candidate behind a normalization, with its own id."""
    info = candidate.info
    return type(candidate)(replace(info, id=info.id + norm.slug(normalization), normalization=normalization,
                                   label=f"{info.label}, {norm.label(normalization)}"))


def suited(program: Program, profile: dict, template: str | None) -> list[Candidate]:
    """The candidates that fit the program and its data, also those whose libraries are missing."""
    template = {"general": "general_classification", "image": "image_classification"}.get(template or "", template) or template_of(program)
    if program.input_pointers and template == "general_classification":
        template = "tree_classification"  # nested objects, whatever the count of their pointers
    if (program.input_pointers or program.output_pointers) and template == "general_recovery":
        return []
    size = size_of(program, profile)
    kind = (profile.get("target") or {}).get("kind") or "classes"
    kind = "numbers" if kind == "masks" else kind  # whether a pixel bears a class is learned as a number
    rows = int(profile.get("rows") or size.rows)
    there = list(every(program, profile))
    found = [c for c in there if suits(c, template, kind, size, rows)]
    if template == "image_recovery" and all(c.info.baseline for c in found):  # not as high and wide as the input: all of it is learned at once
        found = [c for c in there if suits(c, "general_recovery", kind, size, rows)]
    return found


def choose(program: Program, profile: dict, template: str | None = None) -> list[Candidate]:
    """The candidates worth trying, guessing first, then by estimated seconds.

    Normalized variants are added where the profile's dynamic range is wide: one for each
    normalization, of the quickest candidate of a family that minds the scale.
    """
    size = size_of(program, profile)
    chosen = [c for c in suited(program, profile, template) if available(c)]
    if size.dynamic_range >= norm.WIDE and any(f.size >= 8 for f in program.inputs):
        seen = set()
        for c in list(chosen):
            if c.info.family in ("linear", "svm", "hog", "resnet") and c.info.family not in seen:
                seen.add(c.info.family)
                chosen += [normalized(c, n) for n in norm.CHOICES]

    def cost(c: Candidate) -> float:
        seconds = c.info.estimate.get("seconds", {})
        return float(seconds.get("cpu1", min(seconds.values(), default=1.0)))

    return sorted(chosen, key=lambda c: (not c.info.baseline, cost(c), c.info.id))


def find(raw: dict, program: Program, profile: dict) -> Candidate:
    """The candidate that a trial or a spec names, with the settings it gives, not fitted.

    Raises `Fault` with kind unsupported where there is no such candidate here, or its library is missing.
    """
    wanted = raw["id"]
    normalization = raw.get("normalization")
    if normalization is not None and wanted.endswith(norm.slug(normalization)):
        wanted = wanted[:-len(norm.slug(normalization))]
    for c in every(program, profile):
        if c.info.id == wanted:
            if not available(c):
                raise Fault(f"{c.info.label} needs {missing(c)[0]}, which is not installed here.", kind="unsupported")
            return type(c)(c.info.using(raw))
    raise Fault(f"There is no candidate {wanted} in this trainer.", kind="unsupported",
                hint="It may belong to a plugin that isn't installed here.")


def print_candidates(program: Path, profile: Path, template: str | None) -> int:
    """`candidates`: one JSON object a line; those that are left out come last, with the libraries they are ``missing``."""
    out = os.fdopen(protected_stdout(), "w", encoding="utf-8")
    try:
        with open(program, encoding="utf-8") as p, open(profile, encoding="utf-8") as q:
            raw_program, raw_profile = json.load(p), json.load(q)
        parsed = parse_program(raw_program)
        for c in choose(parsed, raw_profile, template):
            out.write(json.dumps(c.info.as_json(), ensure_ascii=False) + "\n")
        for c in suited(parsed, raw_profile, template):
            if lacks := missing(c):
                out.write(json.dumps(c.info.as_json() | {"missing": lacks}, ensure_ascii=False) + "\n")
    except Fault as fault:
        print(fault.message, file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"The program or the profile can't be read: {one_sentence(error)}", file=sys.stderr)
        return 2
    out.close()
    return 0


_EXAMPLES = (  # a program for each template, so that estimates in the catalogue mean something
    {"input": {"fields": [{"name": "image", "tensor": [8, 8, 1]}]}, "output": {"fields": [{"name": "label", "class_count": 10}]}},
    {"input": {"fields": [{"name": "x", "tensor": [10]}]}, "output": {"fields": [{"name": "y", "tensor": [1]}]}},
    {"input": {"fields": [{"name": "x", "tensor": [1]}], "pointers": ["next"]}, "output": {"fields": [{"name": "y", "class_count": 10}]}},
    {"input": {"fields": [{"name": "x", "tensor": [1]}], "pointers": ["left", "right"]}, "output": {"fields": [{"name": "y", "class_count": 10}]}},
    {"input": {"fields": [{"name": "x", "class_count": 10}], "pointers": ["next"]}, "output": {"fields": [{"name": "y", "class_count": 10}], "pointers": ["next"]}},
    {"input": {"fields": [{"name": "x", "tensor": [1]}], "pointers": ["next"]}, "output": {"fields": [{"name": "y", "tensor": [1]}], "pointers": ["next"]}},
)


def print_catalogue() -> int:
    """`catalogue`: every candidate once, with ``available``; estimates are for 1,000 small examples."""
    out = os.fdopen(protected_stdout(), "w", encoding="utf-8")
    seen: set[str] = set()
    for raw, kind in zip(_EXAMPLES, ("classes", "numbers", "classes", "classes", "tokens", "series")):
        labels = [str(i) for i in range(10)] if kind in ("classes", "tokens") else []
        for c in every(parse_program(raw), {"rows": 1000, "target": {"kind": kind, "labels": labels}}):
            if c.info.id not in seen and kind in c.info.kinds:
                seen.add(c.info.id)
                out.write(json.dumps({**c.info.as_json(), "available": available(c)}, ensure_ascii=False) + "\n")
    out.close()
    return 0
