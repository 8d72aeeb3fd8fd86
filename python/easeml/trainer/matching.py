"""Which columns of a source fill which fields: by name, by `using` and `output`, or by their order."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass

from .fault import Fault
from .program import Field, Program, fold
from .readers import Source

LABEL_NAMES = ("label", "target", "class", "y")
"""The names that a label column has by custom, best first."""

NODE_NAMES = ("value", "series", "tree", "x")
"""The names that a column of series or trees has by custom, best first."""


@dataclass(frozen=True)
class Binding:
    """A field and its columns: one that holds whole values, or one for each number (``spread``)."""

    field: Field
    columns: tuple[str, ...]
    spread: bool = False

    def says(self) -> str:
        """The columns as people read them."""
        if len(self.columns) <= 2:
            return ", ".join(self.columns)
        return f"{self.columns[0]} … {self.columns[-1]}"


class _Names:
    """A source's columns by their exact and by their folded names; each is used once."""

    def __init__(self, source: Source, ignored: list[str]):
        self.source = source
        away = {n for n in source.names if n in ignored or fold(n) in {fold(i) for i in ignored}}
        for i in ignored:
            if i not in source.names and not any(fold(n) == fold(i) for n in source.names):
                raise missing_column(source, i)
        self.left = [n for n in source.names if n not in away]
        self._all = list(self.left)

    def find(self, name: str) -> str | None:
        """The column of that name, exact before folded. Raises `Fault` where two fold alike."""
        if name in self._all:
            return name
        alike = [n for n in self._all if fold(n) == fold(name)]
        if len(alike) > 1:
            raise Fault(f'{self.source.name} has {len(alike)} columns that are called {fold(name)} here: "' + '", "'.join(alike) + '".',
                        where={"file": self.source.name, "column": alike[0]}, hint=f'Say which: using {fold(name)} = "{alike[0]}"')
        return alike[0] if alike else None

    def spread(self, name: str, size: int) -> tuple[str, ...] | None:
        """The columns name_0 … name_{size-1}; None unless all are there."""
        if size < 2:
            return None
        columns = [self.find(f"{name}_{i}") for i in range(size)]
        return None if None in columns else tuple(columns)

    def use(self, columns: tuple[str, ...]) -> None:
        """Take columns away from those that are left."""
        self.left = [n for n in self.left if n not in columns]


def missing_column(source: Source, name: str, field: Field | None = None) -> Fault:
    """The fault for a column that isn't there: what there is, and the likely meaning."""
    shown = source.names[:12]
    more = f" and {len(source.names) - 12} more" if len(source.names) > 12 else ""
    close = difflib.get_close_matches(fold(name), [fold(n) for n in source.names], 1, 0.6)
    near = next((n for n in source.names if n.startswith(f"{name} (")), None) or next((n for n in source.names if close and fold(n) == close[0]), None)
    hint = None
    if near and field:
        hint = f'If they are the same: using {field.name} = "{near}"'
    elif near:
        hint = f"Did you mean {near}?"
    elif field:
        hint = f'Say which column it is: using {field.name} = "COLUMN"'
    text = f'it has "{near}"' if near else "it has " + ", ".join(shown) + more
    return Fault(f"{source.name} has no column {name}; {text}.", where={"file": source.name, "column": name,
                 "field": field.name if field else None}, hint=hint)


def _as_fed(source: Source, f: Field, columns: list[str]) -> Binding | None:
    """The very columns that a field was learned from; None where none of them is there, or they can't hold it in such a file.

    Raises `Fault` where some are there and others are not: by their order others would be taken in their place.
    """
    there = [c for c in columns if c in source.names]
    if source.kind == "pictures" or not there or f.ragged and len(columns) > 1 or len(columns) not in (1, f.size):
        return None
    if len(there) < len(columns):
        if f.anonymous:
            raise missing_column(source, next(c for c in columns if c not in there))
        return None
    if len(columns) == 1 and f.size > 1 and source.cells and not f.ragged:
        return None
    return Binding(f, tuple(columns), spread=len(columns) > 1)


def _bind_named(names: _Names, f: Field, name: str) -> Binding | None:
    column = names.find(name)
    if column is not None and (f.size == 1 or not names.source.cells or column in pictures_of(names.source)):
        return Binding(f, (column,))  # a text table holds one number a cell, or one picture
    columns = names.spread(name, f.size)
    return Binding(f, columns, spread=True) if columns else None


def pictures_of(source: Source) -> set[str]:
    """The columns of a source that hold pictures' files; none in most."""
    return getattr(source, "pictures", None) or set()


def _bind_picture(names: _Names, program: Program, inputs: dict[str, Binding], notes: list[str]) -> None:
    """Bind the one picture field that no name fits to the one column of pictures; check that pictures are what fields want."""
    from .picture import check_field
    source, columns = names.source, pictures_of(names.source)
    open_fields = [f for f in program.inputs if (f.rank >= 2 or f.rank and source.endings == {".npy"}) and f.name not in inputs]
    left = [c for c in names.left if c in columns]
    if len(open_fields) == 1 and len(left) == 1:
        inputs[open_fields[0].name] = Binding(open_fields[0], (left[0],))
        names.use((left[0],))
        if source.layout == "table":
            notes.append(f"{source.name}: {left[0]} names the pictures")
    for f in program.inputs:
        b = inputs.get(f.name)
        if b and any(c in columns for c in b.columns):
            if f.is_class or f.rank < 2 and ".npy" not in source.endings:
                raise Fault(f"{source.name}: {b.says()} holds pictures, but {f.name} is {f.says()}.", where={"file": source.name, "field": f.name},
                            hint=f"Declare for instance {f.name} :: Tensor[64, 64, 3].")
            check_field(f, source.name, source.endings)
    if columns and source.layout == "folders":
        others = [f for f in program.inputs if f.name not in inputs]
        if others:
            raise Fault(f"{source.name} holds one picture a row and nothing for {others[0].name}.", where={"file": source.name, "field": others[0].name},
                        hint="Put a table beside the pictures whose cells are paths relative to it.")


def _check_folders(program: Program, source: Source, outputs: list[Binding]) -> None:
    """Raise `Fault` in one sentence where no folder of pictures is a class of the program."""
    one = outputs[0].field
    if outputs[0].columns != ("class",):
        return
    if not one.is_class and one.size == 1:
        raise Fault(f"{source.name} has one folder a class, but {one.name} is a number.", where={"file": source.name, "field": one.name},
                    hint="Put a table beside the pictures: a column of paths relative to it, and one of numbers.")
    if one.classes:
        from .convert import known_label, unknown_label
        folders = source.class_folders
        if not any(known_label(f, one.classes) for f in folders):
            some = ", ".join(folders[:4]) + (" …" if len(folders) > 4 else "")
            _, remedy = unknown_label(folders[0], one.name, one.classes)
            raise Fault(f"{source.name}: {'the folder' if len(folders) == 1 else 'none of the folders'} {some} is {'no' if len(folders) == 1 else 'a'} class of {one.name}; "
                        "its classes are " + ", ".join(f'"{c}"' for c in one.classes[:8]) + (" …" if len(one.classes) > 8 else "") + ".",
                        where={"file": source.name, "field": one.name}, hint=remedy[0].upper() + remedy[1:] if "mean" in remedy else "Feed the folder in which there is one folder a class.")


def _bind_outputs(program: Program, names: _Names, chosen: list[str], inputs_open: int,
                  using: dict[str, str], notes: list[str]) -> list[Binding]:
    source, outputs = names.source, program.outputs
    if outputs[0].ragged:
        if len(chosen) > 1:
            raise Fault(f"{len(chosen)} output columns are given, but {outputs[0].name} is one series.", where={"file": source.name, "field": outputs[0].name})
        wanted = using.get(outputs[0].name) or (chosen[0] if chosen else None)
        return [_bind_nodes(names, outputs[0], wanted, notes, customs=LABEL_NAMES, last=True)]
    if chosen:
        columns = []
        for c in chosen:
            found = names.find(c)
            if found is None:
                raise missing_column(source, c)
            columns.append(found)
        if len(outputs) == 1:
            one = outputs[0]
            if len(columns) == 1:
                return [Binding(one, tuple(columns))]
            if len(columns) == one.size and not one.is_class:
                return [Binding(one, tuple(columns), spread=True)]
            raise Fault(f"{len(columns)} output columns are given, but {one.name} is {one.says()}.", where={"file": source.name, "field": one.name})
        if len(columns) != len(outputs):
            raise Fault(f"{len(columns)} output columns are given for {len(outputs)} output fields.", where={"file": source.name})
        return [Binding(f, (c,)) for f, c in zip(outputs, columns)]

    bound = []
    for f in outputs:
        b = None
        if f.name in using:
            b = _bind_named(names, f, using[f.name])
            if b is None:
                raise missing_column(source, using[f.name], f)
        if b is None:
            b = _bind_named(names, f, f.name)
        if b is None and not f.is_class and f.size > 1:
            column = names.find(f.name)  # one column of labels for a Tensor[D]
            b = Binding(f, (column,)) if column else None
        bound.append(b)
    if len(outputs) == 1 and bound[0] is None:
        one = outputs[0]
        column = next((c for c in map(names.find, LABEL_NAMES) if c in names.left), None)
        if column is None and one.size > 1 and not one.is_class and len(names.left) == inputs_open + one.size:
            columns = tuple(names.left[-one.size:])
            notes.append(f"{source.name}: the last {one.size} columns, {columns[0]} to {columns[-1]}, are taken as {one.name}")
            return [Binding(one, columns, spread=True)]
        if column is None and names.left and (not source.arrays or len(names.left) == 1 or (len(names.left) == 2 and inputs_open)):
            column = names.left[-1]
            notes.append(f"{source.name}: {column}, the last column, is taken as {one.name} (another: output COLUMN)")
        elif column is not None:
            notes.append(f"{source.name}: {column} is taken as {one.name}")
        if column is not None:
            bound[0] = Binding(one, (column,))
    for f, b in zip(outputs, bound):
        if b is None:
            raise missing_column(source, f.name, f)
    return bound


def _bind_nodes(names: _Names, f: Field, wanted: str | None, notes: list[str], customs: tuple[str, ...] = NODE_NAMES, last: bool = False) -> Binding:
    """The columns of a series or tree: by name, with its pointers beside it where nodes are objects; else what is left.

    `customs`: names that such a column has by custom; `last`: it is the last one of those that are left, else the only one.
    """
    source = names.source
    if wanted is not None and names.find(wanted) is None and names.spread(wanted, f.size) is None:
        raise missing_column(source, wanted, f)
    called = wanted or f.name
    column = names.find(called)
    if column is None and (f.anonymous or last or not source.cells):
        column = next((c for c in map(names.find, customs) if c in names.left), None)
        if source.cells and not source.steps and not f.is_class and not last:
            column = None  # a table of one column a step may have a column of such a name
    pointers = [c for c in map(names.find, f.pointers) if c is not None and not source.cells]
    rest = [c for c in names.left if c not in pointers]
    if column is None and len(rest) == 1 + last and (not source.cells or not source.steps and f.is_class):
        column = rest[-1]
        notes.append(f"{source.name}: {column} is taken as {f.name}")
    if column is not None and (not source.cells or f.size == 1 or not source.steps or last):
        return Binding(f, (column, *pointers))
    if source.steps:
        spread, left = names.spread(called, f.size), tuple(n for n in names.left if n != source.column)
        if spread is None and len(left) == f.size:
            spread = left
            notes.append(f"{source.name}: {Binding(f, spread).says()} {'are' if f.size > 1 else 'is'} taken as {f.name}")
        if spread is not None:
            return Binding(f, spread)
    elif f.size == 1 and len(f.pointers) == 1 and len(names.left) > 1:
        some = [n for n in names.left if fold(n).rsplit("_", 1)[0] == called] or ([] if last else names.left)
        if len(some) > 1:
            notes.append(f"{source.name}: each row is a series of up to {len(some)} steps, {some[0]} to {some[-1]} (one row a step: with series = COLUMN)")
            return Binding(f, tuple(some), spread=True)
    raise missing_column(source, called, f)


def _fill_rest(names: _Names, open_fields: list[Field], notes: list[str]) -> list[Binding]:
    """Inputs that no name fits: X, the one array that fits, or the columns that are left, in order."""
    source, bound = names.source, []
    if len(open_fields) == 1:
        one = open_fields[0]
        if source.arrays:
            x = names.find("X")
            if x in names.left:
                names.use((x,))
                return [Binding(one, (x,))]
            fitting = [n for n in names.left if math.prod(source.shapes.get(n, ())) == one.size]
            if len(fitting) == 1:
                notes.append(f"{source.name}: {fitting[0]} is taken as {one.name}")
                names.use((fitting[0],))
                return [Binding(one, (fitting[0],))]
    if source.arrays or not all(f.anonymous for f in open_fields) and len(open_fields) > 1:
        return []
    if sum(f.size for f in open_fields) != len(names.left):
        return []
    if not open_fields[0].anonymous and open_fields[0].size < 2:
        return []
    at = 0
    for f in open_fields:
        columns = tuple(names.left[at:at + f.size])
        at += f.size
        bound.append(Binding(f, columns, spread=f.size > 1))
        shown = bound[-1].says()
        notes.append(f"{source.name}: {shown} {'are' if f.size > 1 else 'is'} taken as {f.name}")
    return bound


def check_shape(source: Source, b: Binding) -> None:
    """Raise `Fault` where an array's shape can't be the field's: [8, 8] or [64] do for [8, 8, 1], [28, 28] doesn't."""
    if b.spread:
        for c in b.columns:
            if math.prod(source.shapes.get(c, ())) != 1:
                raise Fault(f"{source.name}: {c} has more than one number a row.", where={"file": source.name, "column": c})
        return
    shape = source.shapes.get(b.columns[0])
    if shape is None:
        return
    wanted = b.field.shape if b.field.shape else ()
    trimmed, needed = [d for d in shape if d != 1], [d for d in wanted if d != 1]
    if trimmed == needed or (len(trimmed) <= 1 and math.prod(shape) == b.field.size) or (not trimmed and b.field.size > 1):
        return
    has = "×".join(map(str, shape)) or "one number"
    first = len(shape) == 3 and tuple(wanted) == (*shape[1:], shape[0])
    raise Fault(f"{source.name}: {b.columns[0]} has {has} a row, but {b.field.name} is {b.field.says()}.",
                where={"file": source.name, "column": b.columns[0], "field": b.field.name},
                hint="Its channels come first: np.moveaxis(x, 1, -1) puts them last." if first else "Declare the shape that the data has, or bring the data to the declared shape.")


def match(program: Program, source: Source, *, using: dict[str, str], output: list[str], ignore: list[str],
          extra: list[str] = (), with_outputs: bool = True, fed: dict[str, list[str]] | None = None) -> tuple[list[Binding], list[Binding], list[str]]:
    """Bindings of inputs and of outputs, and notes for ``read_as``.

    `extra` are columns that serve otherwise (group, order): they fill no field by their order.
    With `with_outputs` False outputs are bound only where they are there by name, so as to be ignored.
    `fed`: the columns that each field was learned from; they fill it again where they are all there, whatever else is.
    Raises `Fault` with the columns there are and what to type.
    """
    notes: list[str] = []
    names = _Names(source, ignore)
    fields = {f.name for f in program.fields}
    for name in using:
        if name not in fields:
            near = difflib.get_close_matches(name, sorted(fields), 1)
            raise Fault(f"The program has no field {name}.", where={"field": name}, hint=f"Did you mean {near[0]}?" if near else None)
    inputs: dict[str, Binding] = {}
    before = {f.name: _as_fed(source, f, columns) for f in program.inputs if (columns := (fed or {}).get(f.name)) and f.name not in using}
    for f in program.inputs:
        b = before.get(f.name)
        if f.ragged:  # after the outputs: it may take all columns that are left
            continue
        if f.name in using:
            b = _bind_named(names, f, using[f.name])
            if b is None:
                raise missing_column(source, using[f.name], f)
        b = b or (None if f.anonymous and f.name not in names.left else _bind_named(names, f, f.name))
        if b:
            inputs[f.name] = b
            names.use(b.columns)
    if source.kind == "pictures":
        _bind_picture(names, program, inputs, notes)
    for c in extra:
        found = names.find(c)
        if found is None:
            raise missing_column(source, c)
        names.use((found,))
    open_fields = [f for f in program.inputs if f.name not in inputs]
    outputs: list[Binding] = []
    if with_outputs:
        if source.kind == "pictures" and source.layout == "folders" and "class" not in source.names:
            raise Fault(f"{source.name}: the pictures lie in no folder that says what they show.", where={"file": source.name},
                        hint="Put them into one folder a class, or a table beside them whose cells are paths relative to it.")
        outputs = _bind_outputs(program, names, output, sum(f.size for f in open_fields), using, notes)
        if source.kind == "pictures" and source.layout == "folders":
            _check_folders(program, source, outputs)
            notes[:] = [n for n in notes if n != f"{source.name}: class is taken as {outputs[0].field.name}"]
            notes.append(f"{source.name}: a picture's folder is its {outputs[0].field.name}")
    else:
        outputs = _known_outputs(program, names, using, output, open_fields, fed or {})
    for b in outputs:
        names.use(b.columns)
        if b.field.rank >= 2 and b.columns[0] in pictures_of(source):
            from .picture import check_field
            check_field(b.field, source.name, source.endings)
    for f in [f for f in open_fields if f.ragged]:
        again = before.get(f.name)
        inputs[f.name] = _bind_nodes(names, f, using.get(f.name) or (again.columns[0] if again else None), notes)
        names.use(inputs[f.name].columns)
        open_fields.remove(f)
    if open_fields:
        for b in _fill_rest(names, open_fields, notes):
            inputs[b.field.name] = b
            names.use(b.columns)
    for f in open_fields:
        if f.name not in inputs:
            if f.rank >= 2 and source.cells:
                raise Fault(f"{source.name} has no pictures for {f.name}: none of its columns holds paths of pictures that lie beside it ({', '.join(source.names[:6])}{' …' if len(source.names) > 6 else ''}).",
                            where={"file": source.name, "field": f.name}, hint="Write paths relative to the table, with their endings, such as pictures/1.png.")
            raise missing_column(source, f"{f.name}_0 … {f.name}_{f.size - 1}" if f.size > 1 and source.cells else f.name, f)
    bound = [inputs[f.name] for f in program.inputs]
    if source.shapes:
        for b in bound:
            if not b.field.ragged:
                check_shape(source, b)
    return bound, outputs, notes


def _known_outputs(program: Program, names: _Names, using: dict[str, str], output: list[str], open_fields: list[Field], fed: dict[str, list[str]]) -> list[Binding]:
    """Output columns in a file to be answered, as far as names tell: they are set aside."""
    bound = []
    for f in program.outputs:
        again = fed.get(f.name) or [None]
        for name in (using.get(f.name), again[0] if len(again) == 1 else None, f.name, *output, *(LABEL_NAMES if len(program.outputs) == 1 else ())):
            column = names.find(name) if name else None
            if column in names.left:
                bound.append(Binding(f, (column,)))
                break
            columns = names.spread(name, f.size) if name and not f.is_class else None
            if columns:
                bound.append(Binding(f, columns, spread=True))
                break
    # Columns that fill an anonymous input by order: a label's custom name is set aside only if that leaves the right count.
    needed = sum(f.size for f in open_fields)
    if open_fields and not names.source.arrays:
        taken = sum(len(b.columns) for b in bound)
        if len(names.left) - taken != needed:
            if len(names.left) == needed:
                return []
            # The label was the last column in training and may be here under its own name.
            if not bound and len(names.left) == needed + 1:
                return [Binding(program.outputs[0], (names.left[-1],))]
    return bound
