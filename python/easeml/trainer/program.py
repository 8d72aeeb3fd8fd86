"""Programs as the trainer sees them: fields with shapes or classes, and the target.

A program says what goes in and what comes out, ``{"input": {"fields": […], "pointers": […]},
"output": {…}}``. A *target* says what the output turned out to be once the first examples were
read: classes with their labels, or numbers.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from .fault import Fault


def fold(name: str) -> str:
    """The language's form of a column's name: lower case, everything else than a-z 0-9 is ``_``.

    >>> fold("Flipper length (mm)")
    'flipper_length_mm'
    """
    return re.sub(r"_+", "_", re.sub(r"[^a-z0-9]", "_", name.strip().lower())).strip("_")


@dataclass(frozen=True)
class Field:
    """One field of a program: a tensor of a shape, or classes (named, or only counted)."""

    name: str
    shape: tuple[int, ...] | None = None
    classes: tuple[str, ...] | None = None
    class_count: int | None = None
    anonymous: bool = False
    pointers: tuple[str, ...] = ()
    """Names by which a node points to others: one for series, several for trees; none for plain values."""

    @property
    def ragged(self) -> bool:
        """True for series and trees: a value is any number of nodes, [m, width]."""
        return bool(self.pointers)

    @property
    def width(self) -> int:
        """Numbers a node has: a series' step its tensor's; a tree's node its parent's place, the pointer to it, and its tensor's."""
        return self.size + (2 if len(self.pointers) > 1 else 0)

    @property
    def is_class(self) -> bool:
        """True for ``Class[…]``."""
        return self.shape is None

    @property
    def size(self) -> int:
        """How many numbers one value has: the product of the shape; 1 for classes."""
        return math.prod(self.shape) if self.shape else 1

    @property
    def rank(self) -> int:
        """0 for a class or a single number, else the number of axes; 1 for series and trees."""
        if self.pointers:
            return 1
        if self.is_class or self.shape == (1,):
            return 0
        return len(self.shape)

    def says(self) -> str:
        """The field's type as the language prints it."""
        if self.shape:
            return "Tensor[" + ", ".join(map(str, self.shape)) + "]"
        if self.classes:
            return "Class[" + ", ".join(f'"{c}"' for c in self.classes) + "]"
        return f"Class[{self.class_count}]"


@dataclass(frozen=True)
class Program:
    """Input and output fields, in the program's order, and the pointers of both sides."""

    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    input_pointers: tuple[str, ...] = ()
    output_pointers: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[Field, ...]:
        """Inputs, then outputs: the order in which examples are hashed and stored."""
        return self.inputs + self.outputs


def _fields(side: dict, called: str) -> tuple[Field, ...]:
    raw = side.get("fields") or []
    pointers = tuple(str(p) for p in side.get("pointers") or ())
    fields = []
    for i, f in enumerate(raw):
        name = f.get("name") or (called if len(raw) == 1 else f"{called}{i + 1}")
        shape = tuple(int(d) for d in f["tensor"]) if f.get("tensor") else None
        classes = tuple(str(c) for c in f["classes"]) if f.get("classes") else None
        count = f.get("class_count")
        if shape is None and classes is None and count is None:
            raise Fault(f"The field {name} has neither a tensor's shape nor classes.", where={"field": name})
        if shape is not None and any(d < 1 for d in shape):
            raise Fault(f"The field {name} has an axis of length 0.", where={"field": name})
        if classes is not None:
            count = len(classes)
        fields.append(Field(name, shape, classes, int(count) if count is not None else None,
                            bool(f.get("anonymous")) or not f.get("name"), pointers))
    return tuple(fields)


def parse_program(raw: dict) -> Program:
    """Read a program's JSON form. Raises `Fault` where a field makes no sense."""
    try:
        source, target = raw["input"], raw["output"]
    except (KeyError, TypeError):
        raise Fault("The program has no input or no output.") from None
    program = Program(_fields(source, "input"), _fields(target, "output"),
                      tuple(source.get("pointers") or ()), tuple(target.get("pointers") or ()))
    if not program.inputs or not program.outputs:
        raise Fault("The program has no input or no output field.")
    names = [f.name for f in program.fields]
    for name in names:
        if names.count(name) > 1:
            raise Fault(f"Two fields of the program are called {name}; give each its own name.", where={"field": name})
    return program


@dataclass(frozen=True)
class Target:
    """What is to be predicted: ``kind`` is ``classes`` (with ``labels``) or ``numbers`` (of ``size``); ``masks``, each of
    whose ``size`` pixels bears one of the labels, which are the pixels' values; ``tokens``, series each of whose steps bears
    one of the labels; or ``series``, of ``size`` numbers a step.

    ``quantile_edges`` are frozen by the first feed: parts are dealt out evenly between them. ``numeric``: the labels of
    series were fed as whole numbers, and are answered so. ``type`` is the kind of column that
    the labels of classes came in first (see `convert.kind_of`), empty where the file knows none.
    """

    kind: str
    labels: tuple[str, ...] = ()
    size: int = 1
    quantile_edges: tuple[float, ...] = ()
    numeric: bool = False
    type: str = ""

    @property
    def is_classes(self) -> bool:
        """True where one label is predicted."""
        return self.kind == "classes"

    @property
    def planes(self) -> int:
        """Numbers that a candidate answers for each pixel of a mask: one where there are two classes, else one a class."""
        return 1 if len(self.labels) <= 2 else len(self.labels)

    def as_json(self) -> dict:
        """The form that profile.json, trial.json and spec.json hold."""
        out: dict = {"kind": self.kind, "labels": list(self.labels)}
        if self.kind == "numbers":
            out["quantile_edges"] = list(self.quantile_edges)
        if self.numeric:
            out["numeric"] = True
        if self.type:
            out["type"] = self.type
        return out


def parse_target(raw: dict, program: Program) -> Target:
    """Read a target's JSON form; the size of numbers follows from the program."""
    kind = raw.get("kind")
    if kind not in ("classes", "numbers", "masks", "tokens", "series"):
        raise Fault(f"The target is {kind!r}; it can be classes, numbers, masks, tokens or series.", kind="unsupported")
    size = sum(f.size for f in program.outputs) if kind in ("numbers", "masks", "series") else 1
    return Target(kind, tuple(str(x) for x in raw.get("labels") or ()), size,
                  tuple(float(e) for e in raw.get("quantile_edges") or ()), bool(raw.get("numeric")), str(raw.get("type") or ""))


def settle(program: Program, target: Target | None) -> Program:
    """The program as examples are stored: an output ``Tensor[D]`` that turned out to be classes, or a series of them, holds labels."""
    if target is None or target.kind not in ("classes", "tokens") or program.outputs[0].is_class:
        return program
    one = program.outputs[0]
    return replace(program, outputs=(Field(one.name, None, None, one.size, one.anonymous, one.pointers),))


def template_of(program: Program) -> str:
    """The template a program fits, of those this trainer has candidates for, else ``general_classification``.

    The server matches templates itself and says which; this is for calls that leave it out.
    """
    one = len(program.inputs) == 1
    of, to = len(program.input_pointers), len(program.output_pointers)
    step = one and (of == 1 or not program.inputs[0].is_class) and len(program.inputs[0].shape or (1,)) == 1
    if to:
        single = len(program.outputs) == 1 and len(program.outputs[0].shape or (1,)) == 1
        return "series_translation" if step and single and (of, to) == (1, 1) else "general_recovery"
    if of:
        return {1: "series_classification", 2: "tree_classification"}.get(of, "general_classification") if step else "general_classification"
    if any(f.rank >= 2 for f in program.outputs):
        return "image_recovery" if one and program.inputs[0].rank in (2, 3) and len(program.outputs) == 1 and program.outputs[0].rank in (2, 3) else "general_recovery"
    if one and not program.inputs[0].is_class and len(program.inputs[0].shape or ()) in (2, 3):
        return "image_classification"
    if all(f.rank <= 1 for f in program.inputs):
        return "table"
    return "fusion"
