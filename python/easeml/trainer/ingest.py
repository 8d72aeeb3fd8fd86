"""`ingest FOLDER`: files in, accepted examples, rejects and a profile out.

One bad row is a reject and costs no other; a file that can't be used at all is a ``failed`` event,
and then nothing is accepted. The folder ends with ``done`` or ``failed``.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from . import FORMAT
from .events import EventLog
from .fault import Fault, no_rows, one_sentence
from .program import Program
from .readers import Problem
from .service import serve_folder
from .stored import Codes, Nodes, Numbers, Spill, Texts, Tokens, Words

MOST_REJECTS = 100_000
"""So many rejected rows are listed; more are only counted."""


def ingest(folder: Path, notify=None, memory=None) -> int:
    """Ingest what ``folder/ingest.json`` names; exit status 0: the events say how it ended."""
    return serve_folder(folder, lambda whole, log: Feed(whole, log).go(), notify, memory,
                        short={"message": "The memory was not enough to read the files.", "hint": "Feed them in several parts."},
                        broken="Reading the files went wrong")


@dataclass
class Reject:
    """One row that is not taken, with its place as people count it."""

    source: str
    row: int
    line: int | None
    column: str | None
    value: str | None
    reason: str
    remedy: str
    counted_from: int
    fed: str
    """The source as it was fed; ``source`` may be a file in it."""


class Rows:
    """Rows that converted well so far, over all sources: all but a few bytes of each lie in the feed's scratch file."""

    def __init__(self, folder: Path):
        self.spill = Spill(folder)
        self.columns: dict[str, Numbers | Words | Nodes] = {}  # inputs, and outputs that are pictures or series
        self.values: dict[str, list] = {}  # outputs that are numbers: lists of arrays
        self.labels: dict[str, Words] = {}
        self.places = Texts(self.spill)  # the picture's file, for rows that are pictures; else None
        self.sources, self.rows, self.lines = (Numbers(self.spill, dtype=int) for _ in range(3))  # lines: −1 where there is none
        self.groups, self.order = Codes(), Codes()  # empty without the options

    def column(self, f, like) -> "Numbers | Words | Nodes":
        """The column of a field whose values are like those."""
        if f.name not in self.columns:
            if f.ragged:
                labels = f.is_class or any(v.dtype == object for v in like[:1])
                self.columns[f.name] = Tokens(self.spill) if labels else Nodes(self.spill, f.width)
            else:
                self.columns[f.name] = Words(self.spill) if like.dtype == object else Numbers(self.spill, f.size)
        return self.columns[f.name]


class Feed:
    """The work of one feed. `go` reads, settles the target, tells known rows, gives parts, writes."""

    def __init__(self, folder: Path, log: EventLog):
        self.folder, self.log = folder, log
        self.rejects: list[Reject] = []  # the first of them
        self.rejected = 0
        self.notes: list[str] = []
        self.rows = Rows(folder)
        self.read = 0
        self.source_names: list[str] = []
        self.counted_from: list[int] = []
        self.columns_of: dict[str, list[str]] = {}
        self.unused: dict[str, Counter] = {}
        self.label_kind, self.typed = "", True  # of the labels; whether all files know types
        self.inputs = None  # ints, one for each accepted row: equal where inputs are
        self.canons: dict = {}  # by field: how its pictures are converted
        self.series_of: dict[str, bool] = {}  # by output that is a series: whether its steps bear labels
        self.label_kinds: set[str] = set()  # how such labels were written: number, text

    def go(self) -> None:
        from .program import parse_program, parse_target
        from .readers import Options
        self.log.write("phase", name="load")
        spec = self._read_spec()
        self.program = parse_program(spec["program"])
        self.target = parse_target(spec["target"], self.program) if spec.get("target") else None
        self.options = Options.of(spec.get("options"), self.program)
        self.using = {k: str(v) for k, v in (spec.get("using") or {}).items()}
        self.output = [str(o) for o in spec.get("output") or []]
        self.spec = spec
        self._check_program()
        self._read_sources()
        from .acceptance import accept
        accept(self)

    def _read_spec(self) -> dict:
        try:
            with open(self.folder / "ingest.json", encoding="utf-8") as f:
                spec = json.load(f)
        except (OSError, ValueError) as error:
            raise Fault(f"ingest.json can't be read ({one_sentence(error)}).", where={"file": "ingest.json"}) from None
        if spec.get("format", 1) > FORMAT:
            raise Fault(f"ingest.json has format {spec['format']}; this trainer reads up to {FORMAT}.", kind="unsupported", where={"file": "ingest.json"})
        if not spec.get("sources"):
            raise Fault("There is nothing to read: no source is given.")
        return spec

    def _check_program(self) -> None:
        outputs, program = self.program.outputs, self.program
        if program.output_pointers:
            self._check_series(program)
        if program.input_pointers and (len(program.inputs) > 1 or len(program.input_pointers) > 1 and program.inputs[0].is_class or len(program.inputs[0].shape or ()) > 1):
            raise Fault("A series has one field, such as {[Tensor[3]], [next]} or {[Class[20]], [next]}, and a tree one of numbers; several fields can't be fed yet.",
                        kind="unsupported", where={"field": program.inputs[0].name})
        if len(outputs) > 1 and any(f.rank >= 2 for f in outputs):
            raise Fault("A picture as output stands alone; several outputs with pictures among them can't be fed yet.", kind="unsupported",
                        where={"field": next(f.name for f in outputs if f.rank >= 2)})
        if len(outputs) > 1 and any(f.is_class for f in outputs):
            raise Fault("Several outputs can be numbers only for now; declare a task for each class to predict.", kind="unsupported",
                        where={"field": next(f.name for f in outputs if f.is_class)})

    @staticmethod
    def _check_series(program: Program) -> None:
        """Raise `Fault` in one sentence where the output is no series of an input series that can be learned."""
        one = program.outputs[0]
        if len(program.output_pointers) > 1:
            what = "Trees" if len(program.output_pointers) == 2 else "Graphs"
            raise Fault(f"{what} as output can't be learned: outputs are a label, numbers, a picture, or a series of labels or numbers.", kind="unsupported",
                        where={"field": one.name}, hint="Declare what is wanted of it as one of these, for instance its nodes in a fixed order: {[Tensor[3]], [next]}.")
        if len(program.outputs) > 1 or len(one.shape or ()) > 1:
            raise Fault("A series as output has one field, such as {[Tensor[3]], [next]} or {[Class[20]], [next]}; several can't be learned yet.", kind="unsupported",
                        where={"field": one.name}, hint="Declare a task for each of them.")
        if len(program.input_pointers) != 1:
            what = {0: "no series"}.get(len(program.input_pointers), "trees")
            raise Fault(f"A series as output is learned from a series as input; here the input is {what}.", kind="unsupported", where={"field": one.name},
                        hint="Declare the input as a series, or the output as a label or numbers.")

    def _read_sources(self) -> None:
        from .readers import open_source
        total = sum(os.path.getsize(self._path(s)) for s in self.spec["sources"] if os.path.exists(self._path(s)))
        before, last = 0, -1.0
        for at, s in enumerate(self.spec["sources"]):
            name = str(s["name"])
            source = open_source(name, self._path(s), self.options)
            if self.options.one("series"):
                from .readers.steps import Steps
                source = Steps(source, self.options.one("series"))
            self.source_names.append(name)
            self.counted_from.append(source.counted_from)
            for b in self._blocks(at, source):
                if time.monotonic() - last >= 0.5:
                    last = time.monotonic()
                    self.log.write("progress", step=before + b.read, of=total, unit="bytes", bytes=before + b.read, rows=self.read)
            for canon in self.canons.values():
                self.notes += [note for note in canon.says(name) if note not in self.notes]
            self.canons.clear()
            before += os.path.getsize(self._path(s))
        if not self.read:
            raise no_rows(self.source_names)
        self.log.write("progress", step=total, of=total, unit="bytes", bytes=total, rows=self.read)

    def _path(self, s: dict) -> Path:
        return self.folder / s["path"]

    def _blocks(self, at: int, source):
        """Convert one source block by block; bad rows become rejects, good ones join `rows`."""
        import numpy as np
        from .checks import looks_like_entity, looks_like_time, names_things
        from .convert import Converter, categories, kind_of, wider
        from .picture import Canon
        from .matching import match, pictures_of
        from .parts import group_hash
        group, order = self.options.all("group"), self.options.all("order")[:1]
        inputs, outputs, notes = match(self.program, source, using=self.using, output=self.output,
                                       ignore=self.options.all("ignore"), extra=[*group, *order])
        for note in source.notes + notes:
            if note not in self.notes:
                self.notes.append(note)
        self._say_left_out(source, [c for b in inputs + outputs for c in b.columns] + group + order)
        for b in inputs + outputs:
            self.columns_of.setdefault(b.field.name, list(b.columns))
        used = [c for b in inputs + outputs for c in b.columns]
        of_rows = [self._column(source, c) for c in group + order]
        source.chosen([c for b in inputs + outputs if b.field.ragged or b in inputs for c in b.columns],
                      [c for b in outputs if not b.field.ragged for c in b.columns] + of_rows)
        used += of_rows
        source.lengths(used)
        converter, pictures = Converter(source, self.options.all("missing")), pictures_of(source)
        beside = [] if source.arrays else [n for n in source.names if n not in used and (looks_like_entity(n) or names_things(n) or looks_like_time(n))]
        for block in source.blocks(used + beside):
            problems = list(block.broken)
            broken = {p.at for p in problems}
            n = len(block.rows)
            places = self._places(block, inputs, pictures)
            values = {}
            digests: dict[str, list[bytes]] = {}
            for b in inputs:
                if b.columns[0] in pictures:
                    canon = self.canons.setdefault(b.field.name, Canon.of(b.field))
                    values[b.field.name], digests[b.field.name] = converter.pictures(b, block, problems, canon)
                else:
                    values[b.field.name] = converter.values(b, block, problems)
            texts = {}
            for b in outputs:
                if b.columns[0] in pictures and b.field.rank >= 2:
                    canon = self.canons.setdefault(b.field.name, Canon.of(b.field, output=True))
                    values[b.field.name], digests[b.field.name] = converter.pictures(b, block, problems, canon)
                elif b.field.ragged:
                    values[b.field.name] = self._series(b, block, converter, problems)
                elif self._has_labels(b, block):
                    texts[b.field.name] = converter.texts(b, block)
                    self.label_kind = wider(self.label_kind, kind_of(block.columns[b.columns[0]]) if source.typed else "text")
                    self.typed = self.typed and source.typed
                else:
                    values[b.field.name] = converter.tensor(b, block, problems, required=True)
            self._check_steps(source, inputs + outputs, values)
            first = {}
            for p in problems:
                if p.at not in first and (p.at not in broken or p in block.broken):
                    first[p.at] = p
            for i in sorted(first):
                p = first[i]
                self._reject(source, block, i, p, places[i] if p.column in pictures and p.column == (inputs[0].columns[0] if inputs else None) else None)
            self.read += n
            good = np.array([i for i in range(n) if i not in first], dtype=np.int64)
            for b in inputs + outputs:
                if b.field.name in values:
                    own = digests.get(b.field.name)
                    self._keep(source, b, values[b.field.name][good], None if own is None else [own[i] for i in good])
            rows = self.rows
            rows.places.extend(places[i] for i in good)
            for name, t in texts.items():
                rows.labels.setdefault(name, Words(rows.spill)).append(t[i] for i in good)
            rows.sources.append(np.full((len(good), 1), at, dtype=np.int32))
            rows.rows.append(np.asarray(block.rows, dtype=np.int64)[good, None])
            rows.lines.append(np.full((len(good), 1), -1, dtype=np.int64) if block.lines is None else np.asarray(block.lines, dtype=np.int64)[good, None])
            if group:
                cells = [categories(block.columns[self._column(source, c)], converter.missing) for c in group]
                rows.groups.extend(group_hash([c[i] for c in cells]) for i in good)
            if order:
                cells = categories(block.columns[self._column(source, order[0])], converter.missing)
                rows.order.extend(cells[i] for i in good)
            self._look_at_unused(block, beside)
            yield block
        self.notes += [note for note in converter.said if note not in self.notes]

    def _series(self, b, block, converter, problems: list):
        """The values of an output that is a series: of labels or of numbers, as its first steps tell where the program leaves it open."""
        import numpy as np
        f = b.field
        labels = f.is_class
        if not labels and f.size > 1:
            steps = [v[0] for c in b.columns[:1] for v in block.columns[c][:50] if isinstance(v, (list, np.ndarray)) and len(v)]
            labels = bool(steps) and not any(isinstance(v, (list, np.ndarray)) for v in steps)
        if self.series_of.setdefault(f.name, labels) != labels:
            raise Fault(f"{f.name} is labels in one file and numbers in another.", where={"field": f.name})
        if labels:
            return converter.tokens(b, block, problems, self.label_kinds)
        values = converter.values(b, block, problems)
        for i, v in enumerate(values):
            if np.isnan(v).any():
                problems.append(Problem(i, b.columns[0], None, f"{f.name} has a step missing", "fill it in, or leave the row out"))
        return values

    @staticmethod
    def _check_steps(source, bindings, values: dict) -> None:
        """Raise `Fault` where a text table holds one step a row and nothing says which rows belong together."""
        for b in bindings:
            if b.field.ragged and source.cells and not source.steps and not b.spread:
                v = values[b.field.name]
                if len(v) > 1 and all(len(s) <= 1 for s in v):
                    raise Fault(f"{source.name}: {b.columns[0]} has one step a row, and nothing says which rows make one series.",
                                where={"file": source.name, "column": b.columns[0], "field": b.field.name},
                                hint="Say it: with series = COLUMN. Or write the steps of a series into one cell, with blanks between them.")

    def _say_left_out(self, source, used: list[str]) -> None:
        """Name the columns that fill no field: nothing is dropped in silence."""
        from .program import fold
        known = {fold(c) for c in [*used, *self.options.all("ignore"), *self.options.all("series")]}
        left = [n for n in source.names if n not in used and fold(n) not in known]
        if left and not (source.kind == "pictures" and source.layout == "folders"):
            more = f" and {len(left) - 5} more" if len(left) > 5 else ""
            note = f"{source.name}: left out, as no field bears the name: " + ", ".join(left[:5]) + more
            if note not in self.notes:
                self.notes.append(note)

    def _keep(self, source, b, values, digests: list[bytes] | None) -> None:
        """Keep a field's good rows; `digests` where they came as picture files."""
        f = b.field
        if f in self.program.outputs and f.rank < 2 and not f.ragged:
            self.rows.values.setdefault(f.name, []).append(values)
            return
        column = self.rows.column(f, values)
        if isinstance(column, Numbers):
            if len(values) and len(column) and (digests is None) != (column.digests is None):
                raise Fault(f"{source.name}: {f.name} came as numbers and as picture files in one feed.", where={"file": source.name, "field": f.name},
                            hint="Feed them one after the other.")
            column.append(values, digests)
        else:
            column.append(values)

    @staticmethod
    def _column(source, name: str) -> str:
        from .program import fold
        return name if name in source.names else next(n for n in source.names if fold(n) == fold(name))

    def _has_labels(self, b, block) -> bool:
        """Whether an output's column holds labels: declared classes do, one column for a Tensor[D], D ≥ 2, may."""
        f = b.field
        if f.is_class:
            return True
        if b.spread or f.size == 1 or f.rank >= 2:
            return False
        import numpy as np
        values = block.columns[b.columns[0]]
        if isinstance(values, np.ndarray):
            return values.reshape(len(values), -1).shape[1] == 1
        return not any(isinstance(v, list) for v in values[:50])

    @staticmethod
    def _places(block, inputs, pictures: set[str]) -> list[str | None]:
        """The file of each row's picture; None for rows without one."""
        for b in inputs:
            if b.columns[0] in pictures:
                return [None if p is None else p.place for p in block.columns[b.columns[0]]]
        return [None] * len(block.rows)

    def sources_of(self, rows) -> list[str]:
        """Where rows that converted well come from, by their places, which rise: their picture's file, else the source."""
        return [place or self.source_names[of] for place, of in zip(self.rows.places.take(rows), self.rows.sources.take(rows)[:, 0].tolist())]

    def refuse(self, reject: Reject) -> None:
        """Note a row that is not taken."""
        self.rejected += 1
        if len(self.rejects) < MOST_REJECTS:
            self.rejects.append(reject)

    def _reject(self, source, block, i: int, p, place: str | None) -> None:
        """Note a row that is not taken; one whose picture is broken is known by the picture's file."""
        line = None if block.lines is None else int(block.lines[i])
        if place is not None:
            self.refuse(Reject(place, int(block.rows[i]), line, None, None, p.reason, p.remedy, source.counted_from, source.name))
        else:
            self.refuse(Reject(source.name, int(block.rows[i]), line, p.column, p.value, p.reason, p.remedy, source.counted_from, source.name))

    def _look_at_unused(self, block, beside: list[str]) -> None:
        """Count the values of columns that look like somebody's id or a date and are in no field: rows of one patient."""
        for name in beside:
            if name not in block.columns:
                continue  # it differs within series
            counts = self.unused.setdefault(name, Counter())
            if len(counts) < 200_000:
                counts.update(map(str, block.columns[name]))
