"""The study ``propose``: looks at a file or folder and proposes a program for it, with reasons. Nothing is declared.

It uses what readers hand out and nothing else: a new reader is proposed for as soon as it is there.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np

from .batch import MOST_LEVELS
from .checks import GIVES_AWAY, SEVERAL, differing_in_case, looks_like_entity, looks_like_id, looks_like_time, names_things
from .column import Column
from .fault import Fault
from .profile import rarity
from .program import fold
from .readers import Options, open_source
from .series import FEW_NUMBERS, LONGEST_SHOWN, MOST_SHOWN, Chains, Steps, trimmed

LABELS = ("label", "target", "class", "y")
"""Names of columns that are taken as what to predict, as `matching` has it."""

MOST_CLASSES = 100

MANY = 30
"""More numbers than so many become one tensor without a name, where nothing else is there."""

MOST_OPTIONS = 5
"""So many options are proposed at most; where more columns would have to be left out, inputs are named one by one."""

MANY_TEXTS = 1000
"""How many different values are declared for text, of which no two are alike."""

SIDES = (16, 32, 48, 64, 96, 128)
"""The sides that pictures are fitted into."""

_SPREAD = re.compile(r"^(.*?)_?(\d+)$")


def _figure(x: float) -> str:
    return f"{x:.0f}" if float(x).is_integer() and abs(x) < 1e12 else f"{x:.4g}"


def _quoted(labels: list[str]) -> str:
    return "Class[" + ", ".join('"' + t.replace("\\", "\\\\").replace('"', '\\"') + '"' for t in labels) + "]"


def _sorted(labels: list[str]) -> list[str]:
    from .settling import sorted_labels
    return sorted_labels(labels)


def propose(folder: Path, log, spec: dict) -> dict:
    """The findings: ``says`` (what was seen), ``fields`` (side, name, type, comment), ``notes``, ``left_out``, ``feed`` (clauses), ``predicts``."""
    raw = spec["sources"][0]
    name = str(raw["name"])
    source = open_source(name, (folder / raw["path"]).resolve(), Options(spec.get("options") or {}))
    if source.kind == "pictures":
        return _of_pictures(source, [str(o) for o in spec.get("output") or []], log)
    return _of_table(source, [str(o) for o in spec.get("output") or []], log)


def _columns(source, log, chains: Chains, worded: bool) -> list[Column]:
    """The columns after all rows; `worded`: cells of several words are looked at as series, too."""
    def new(n: str) -> Column:
        return Column(n, source.cells, blanks=Steps() if worded and source.cells else None)

    columns = {n: new(n) for n in source.names}
    if source.kind == "npz":
        for n, shape in source.shapes.items():
            if source._arrays[n].dtype.kind not in "US":
                columns[n].shape = tuple(int(d) for d in shape)
        longest = Counter(len(a) for a in (source._arrays[n] for n in source.names)).most_common(1)[0][0]
        used = [n for n in source.names if len(source._arrays[n]) == longest]
        blocks = source.blocks(used)
        columns = {n: columns[n] for n in used}
    else:
        blocks = source.blocks()
    size = max(1, getattr(source, "size", 1))
    last = -1
    for block in blocks:
        for n, values in chains.lists(block.columns).items():
            if n not in columns:
                columns[n] = new(n)
            c = columns[n]
            if isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] > 1 and values.dtype.kind in "US":
                c.see([trimmed(row) for row in values], source.decimal)
                continue
            if isinstance(values, np.ndarray) and values.ndim > 1 and values.shape[1:] != (1,):
                c.n += len(values)
                c.shape = tuple(values.shape[1:])
                if values.dtype.kind in "fiub" and values.size:
                    c.low, c.high = min(c.low, float(np.nanmin(values))), max(c.high, float(np.nanmax(values)))
                continue
            c.see(values, source.decimal)
        if int(20 * block.read / size) != last:
            last = int(20 * block.read / size)
            log.write("progress", step=block.read, of=size, unit="byte")
    return [c for c in columns.values() if c.n and c.name != chains.shared]


def _outputs(columns: list[Column], wanted: list[str], source) -> list[Column]:
    by_fold = {fold(c.name): c for c in columns}
    if wanted:
        found = []
        for w in wanted:
            c = next((c for c in columns if c.name == w), None) or by_fold.get(fold(w))
            if c is None:
                raise Fault(f"{source.name} has no column {w}; it has {', '.join(c.name for c in columns[:12])}{' …' if len(columns) > 12 else ''}.",
                            where={"file": source.name, "column": w})
            found.append(c)
        return found
    for name in LABELS:
        if name in by_fold:
            return [by_fold[name]]
    flat = [c for c in columns if c.shape in (None, (), (1,))]  # and lists, which may be series
    if not flat:
        raise Fault(f"{source.name} has no column with one value a row that could be what to predict.", where={"file": source.name},
                    hint="Say which one: output COLUMN.")
    return [flat[-1]]


def _output_type(c: Column, source) -> tuple[str, str, str]:
    """The type of what is predicted, its comment, and how the first line calls it."""
    if c.tensor:
        return f"Tensor[{', '.join(map(str, c.tensor))}]", "", f"{math.prod(c.tensor)} numbers"
    if not c.there:
        raise Fault(f"{c.name} of {source.name} has no value in any row, so there is nothing to learn.", where={"file": source.name, "column": c.name})
    if c.lists or c.objects:
        raise Fault(f"{c.name} of {source.name} has {_nested(c)}; what is predicted is a label, numbers, a picture, or a series of labels or numbers.",
                    where={"file": source.name, "column": c.name}, hint="Say what is to be predicted: output COLUMN.")
    missing = f"{c.missing} missing: these rows are not taken" if c.missing else ""
    k = len(c.texts)
    if c.mostly_number and k > FEW_NUMBERS:
        odd = f"{_no_numbers(c)}: {'such rows are not taken' if not c.missing else 'nor are these'}"
        return "Tensor[1]", ", ".join(x for x in (f"{_figure(c.low)}–{_figure(c.high)}", missing, odd) if x), "a number"
    if c.is_number and not (c.whole and k <= FEW_NUMBERS and c.there >= 5 * k):
        return "Tensor[1]", ", ".join(x for x in (f"{_figure(c.low)}–{_figure(c.high)}", missing) if x), "a number"
    if k < 2:
        raise Fault(f'{c.name} of {source.name} is "{next(iter(c.texts))}" in every row, so there is nothing to tell apart.', where={"file": source.name, "column": c.name},
                    hint="Say what is to be predicted: output COLUMN.")
    if k > MOST_CLASSES or k > c.there / 2:
        raise Fault(f"{c.name} of {source.name} has {'more than ' if c.more else ''}{k} different values in {c.there} rows: too many for classes, and they are no numbers.",
                    where={"file": source.name, "column": c.name}, hint="Say what is to be predicted: output COLUMN.")
    labels = _sorted(list(c.texts))
    if labels == [str(i) for i in range(k)]:
        return f"Class[{k}]", ", ".join(x for x in (f"0–{k - 1}", missing) if x), f"{k} classes"
    return _quoted(labels), missing, f"{k} classes"


def _of_table(source, wanted: list[str], log) -> dict:
    chains = Chains()
    columns = _columns(source, log, chains, bool(wanted))
    outputs = _outputs(columns, wanted, source)
    rest = [c for c in columns if c not in outputs]
    if answered := _answered(outputs, rest, source):
        return _of_series(source, columns, outputs[0], rest, *answered, chains)
    fields, left_out, notes, clauses = [], [], list(source.notes), []
    seen: dict[str, str] = {}

    def add(side: str, name: str, type_: str, comment: str) -> None:
        folded = fold(name) or "field"
        if folded in seen:
            raise Fault(f'"{name}" and "{seen[folded]}" are both called {folded} here.', where={"file": source.name, "column": name},
                        hint="Give one of them another name.")
        seen[folded] = name
        fields.append({"side": side, "name": folded, "type": type_, "comment": comment})

    of_outputs = [_output_type(c, source) for c in outputs]
    groups = _spread(rest)
    together = {c.name for members in groups.values() for c in members}
    kept, always = [], []
    for c in rest:
        why, clause = (None, None) if c.name in together else _left_out(c)
        if why:
            left_out.append({"column": c.name, "reason": why})
            if clause:
                clauses.append(clause)
            else:
                always.append(f"ignore = {_option(c.name)}")
        else:
            kept.append(c)
    alone = next((c for c in rest if c.series and not c.tensor), None) if not kept else None
    if not kept and alone is None:
        raise Fault(f"{source.name} has no column to predict {outputs[0].name} from.", where={"file": source.name})
    if alone is not None:
        left_out = [c for c in left_out if c["column"] != alone.name]
        add("input", alone.name, *_series_type(alone, alone.series))
        notes.append(f"{alone.name} is a series: each row has {alone.series.long()}.")
    branches = _branches(rest)
    if branches:  # of a tree, whose nodes have one value each
        inside = {k for c in rest if c.name in branches for k in c.keys}
        beside = [c.name for c in kept if c.name not in inside]
        left_out = [c for c in left_out if c["column"] not in branches] + [{"column": n, "reason": "a tree is learned alone"} for n in beside]
        kept = [c for c in kept if c.name in inside]
        if len(kept) != 1:
            raise Fault(f"{source.name} holds trees whose nodes have {len(kept)} values; one is what can be learned.", where={"file": source.name}, hint="Say what a node has in one list of numbers.")
    done: set[str] = set()
    plain = kept and all(c.is_number and c.tensor is None for c in kept)
    if plain and len(kept) > MANY and not groups and len(always) <= MOST_OPTIONS:
        missing = sum(c.missing for c in kept)
        fields.append({"side": "input", "name": "", "type": f"Tensor[{len(kept)}]", "comment": f"{kept[0].name} … {kept[-1].name}" + (f", {missing:,} missing" if missing else "")})
    else:
        always = [f"missing = {_option(t)}" for t in dict.fromkeys(t for c in kept if c.mostly_number for t in c.odd)][:MOST_OPTIONS]
        for c in kept:
            if c.name in done:
                continue
            stem = next((s for s, members in groups.items() if c in members), None)
            if stem is not None:
                members = groups[stem]
                done.update(m.name for m in members)
                missing = sum(m.missing for m in members)
                add("input", stem, f"Tensor[{len(members)}]", f"{members[0].name} … {members[-1].name}" + (f", {missing} missing" if missing else ""))
                continue
            add("input", c.name, *_input_type(c))
    for c, (type_, comment, _) in zip(outputs, of_outputs):
        if len(outputs) > 1 and type_.startswith("Class"):
            raise Fault(f"{c.name} holds classes; several outputs can be numbers only.", where={"file": source.name, "column": c.name},
                        hint="Propose one program for each.")
        add("output", c.name, type_, comment)
    n = columns[0].n
    predicts = " and ".join(f"{c.name}, {says}" for c, (_, _, says) in zip(outputs, of_outputs))
    notes += _gives_answer(kept, outputs)
    if of_outputs[0][0].startswith("Class"):
        notes += ["! " + says for says in differing_in_case(outputs[0].texts)]
    metric, guess = _metric_note(outputs[0], of_outputs[0][0])
    notes += metric
    notes += [f"! The channels of {c.name} seem to come first; pictures are height × width × channels here: np.moveaxis({c.name}, 1, -1) before saving it."
              for c in kept if c.tensor and len(c.tensor) == 3 and c.tensor[0] in (1, 3, 4) and min(c.tensor[1:]) > 4]
    for c in rest:
        if c.name not in [c["column"] for c in left_out] and looks_like_time(c.name) and c.there and c.clocks < c.there:
            notes.append(f"Only you can know: must it work for later ones? Then feed it  with order = {fold(c.name)}.")
            break
    return {"says": f"{source.name}: {n:,} rows, {len(columns)} columns.", "predicts": predicts, "guess": guess, "fields": fields,
            "left_out": left_out, "notes": notes, "clauses": [", ".join([c, *always]) for c in dict.fromkeys(clauses)] or ([f"with {', '.join(always)}"] if always else []),
            "pointers": {"input": [chains.pointer(alone.name)] if alone else branches, "output": []}}


def _branches(columns: list[Column]) -> list[str]:
    """The pointers of trees: columns of objects, two or more, which have such columns themselves."""
    objects = {c.name for c in columns if c.objects and not c.lists and c.objects + c.missing == c.n}
    found = [c.name for c in columns if c.name in objects and c.keys & objects]
    return found if len(found) > 1 else []


def _option(text: str) -> str:
    """A text as the value of an option."""
    return text if re.fullmatch(r"[A-Za-z0-9_./@+-]+", text) else json.dumps(text, ensure_ascii=False)


def _nested(c: Column) -> str:
    """What a column has that is neither one value, a tensor nor a series."""
    return "objects that make no series" if c.objects else "lists that make no series" if c.steps.size is None else "lists in some rows only"


def _left_out(c: Column) -> tuple[str | None, str | None]:
    """Why a column is no input, and what to say at `feed` instead."""
    if c.tensor:
        return None, None
    if c.lists or c.objects:
        return "a series, beside which there can be no other input" if c.series else _nested(c), None
    if not c.there:
        return "no value in any row", None
    if c.dates == c.there:
        return "dates", f"with order = {fold(c.name)}"
    if len(c.texts) == 1 and not c.missing:
        return "the same in every row", None
    if not c.different and c.n >= 20 and (looks_like_entity(c.name) or names_things(c.name) and len(c.texts) >= SEVERAL):
        return f"{len(c.texts):,} different values: rows of one must not stand on both sides of the test", f"with group = {fold(c.name)}"
    running = c.is_number and c.whole and c.different and (looks_like_id(c.name) or names_things(c.name) or c.high - c.low == c.n - 1)
    if c.n >= 20 and running:
        return "different in every row", None
    if c.is_number or c.mostly_number or c.is_text or c.clocks == c.there:
        return None, None
    if c.n >= 20 and c.different:
        return "different in every row", None
    if len(c.texts) > max(MOST_LEVELS, c.there / 2):
        return "hardly any value comes twice, so it tells nothing about new rows", None
    return None, None


def _no_numbers(c: Column) -> str:
    return "1 is no number" if c.there - c.numbers == 1 else f"{c.there - c.numbers} are no numbers"


def _input_type(c: Column) -> tuple[str, str]:
    if c.tensor:
        low, high = (c.low, c.high) if c.shape is not None else (c.steps.low, c.steps.high)
        values = f"values {_figure(low)}–{_figure(high)}" if math.isfinite(low) else ""
        return f"Tensor[{', '.join(map(str, c.tensor))}]", values
    missing = f"{c.missing} missing" if c.missing else ""
    if c.is_number:
        years = f"{_figure(c.low)}–{_figure(c.high)}" if looks_like_time(c.name) else ""
        return "Tensor[1]", ", ".join(x for x in (years, missing) if x)
    if c.clocks == c.there:
        return "Tensor[1]", ", ".join(x for x in ("hours and minutes, in days", missing) if x)
    if c.mostly_number:
        return "Tensor[1]", ", ".join(x for x in (missing, _no_numbers(c)) if x)
    if c.is_text:
        return f"Class[{MANY_TEXTS}]", ", ".join(x for x in ("text: models see its words", missing) if x)
    if missing:
        missing += ", kept as a state of its own"
    if len(c.texts) > 12:
        return f"Class[{len(c.texts)}]", ", ".join(x for x in (f"{', '.join(_sorted(list(c.texts))[:3])} …", missing) if x)
    return _quoted(_sorted(list(c.texts))), missing


def _answered(outputs: list[Column], rest: list[Column], source) -> tuple[Steps, Column, Steps] | None:
    """Where a series is predicted: its steps, and the column it is learned from with that one's steps; None for any other output."""
    y = outputs[0]
    steps = next((c.series for c in outputs if c.series and not c.tensor), None)
    inputs = [(c, found) for c in rest if (found := c.series or c.worded)]
    if steps is None and y.tensor and y.series:  # numbers that belong to the steps of a series
        inputs = [(c, found) for c, found in inputs if not c.tensor and y.series.as_long_as(found) == 1]
        steps = y.series if inputs else None
    if steps is None and y.worded and inputs:  # phrases come again whole; series are made of what comes again
        many = len(y.texts) > MOST_CLASSES or len(y.texts) > y.there / 2
        steps = y.worded if many or len(y.worded.texts) < len(y.texts) else None
    if steps is None:
        return None
    if len(outputs) > 1:
        raise Fault("A series as output has one field; nothing else can be predicted beside it.", where={"file": source.name, "column": y.name},
                    hint="Propose one program for each.")
    if not inputs:
        raise Fault(f"{y.name} of {source.name} has a series in each row ({steps.long()}), and no other column has one that it could be learned from.",
                    where={"file": source.name, "column": y.name}, hint="Say what is to be predicted: output COLUMN.")
    return steps, *max(inputs, key=lambda x: (round(steps.as_long_as(x[1]), 1), x[0].tensor is None))


def _of_series(source, columns: list[Column], y: Column, rest: list[Column], steps: Steps, x: Column, asked: Steps, chains: Chains) -> dict:
    """A program for series that are answered by series."""
    if fold(x.name) == fold(y.name):
        raise Fault(f'"{x.name}" and "{y.name}" are both called {fold(x.name)} here.', where={"file": source.name, "column": x.name}, hint="Give one of them another name.")
    type_, comment = _answer_type(y, steps, source)
    left_out, clauses = [], []
    for c in rest:
        if c is not x:
            why, clause = _left_out(c)
            left_out.append({"column": c.name, "reason": why if clause else "beside a series there can be no other input"})
            clauses += [clause] if clause else []
    labels = steps.classes
    says = f"a series of {len(steps.texts):,} labels" if labels else f"a series of {steps.bears(False)}"
    notes = [f"{y.name} is a series of {steps.bears(labels)}: each row has {steps.long()}. It is learned from {x.name}, a series of {asked.bears(asked.labelled)}, "
             + ("which is as long in each row." if steps.as_long_as(asked) == 1 else "and how long an answer is, is learned as well.")]
    guess = ""
    if labels:
        total = steps.texts.total()
        common, k = steps.texts.most_common(1)[0]
        guess = f'The most frequent label, "{common}", is {100 * k / total:.0f} % of the steps.'
        once = sum(1 for n in steps.texts.values() if n == 1)
        if 2 * once > len(steps.texts):
            notes.append(f"! {once:,} of {len(steps.texts):,} labels of {y.name} come only once: what comes once can't be learned and tested.")
    return {"says": f"{source.name}: {columns[0].n:,} rows, {len(columns)} columns.", "predicts": f"{y.name}, {says}", "guess": guess,
            "fields": [{"side": "input", "name": fold(x.name) or "field", **dict(zip(("type", "comment"), _series_type(x, asked)))},
                       {"side": "output", "name": fold(y.name) or "field", "type": type_, "comment": comment}],
            "left_out": left_out, "notes": notes, "clauses": list(dict.fromkeys(clauses)),
            "pointers": {"input": [chains.pointer(x.name)], "output": [chains.pointer(y.name)]}}


def _series_type(c: Column, steps: Steps) -> tuple[str, str]:
    """The type of a step of what a series is learned from, and its comment."""
    gaps = f"{steps.gaps:,} missing" if steps.gaps else ""
    if steps.labelled:
        some = ", ".join(t for t, _ in steps.texts.most_common(3))
        return f"Class[{max(2, len(steps.texts))}]", ", ".join(x for x in (f"{some} …", steps.long(), gaps) if x)
    values = f"values {_figure(steps.low)}–{_figure(steps.high)}" if math.isfinite(steps.low) else ""
    return f"Tensor[{steps.size}]", ", ".join(x for x in (values, steps.long(), gaps) if x)


def _answer_type(c: Column, steps: Steps, source) -> tuple[str, str]:
    """The type of a step of a series that is predicted, and its comment."""
    lost = c.missing + steps.lengths.count(0) + steps.rows_with_gaps
    comment = steps.long() + (f", {lost:,} rows lack steps: they are not taken" if lost > 1 else ", 1 row lacks steps: it is not taken" if lost else "")
    if not steps.classes:
        return f"Tensor[{steps.size}]", comment
    k = len(steps.texts)
    if k < 2:
        raise Fault(f'{c.name} of {source.name} bears "{next(iter(steps.texts))}" at every step, so there is nothing to tell apart.', where={"file": source.name, "column": c.name},
                    hint="Say what is to be predicted: output COLUMN.")
    labels = _sorted(list(steps.texts))
    plain = all(len(t) <= LONGEST_SHOWN and t.isprintable() for t in labels)
    if k > MOST_SHOWN or not plain or labels == [str(i) for i in range(k)]:
        return f"Class[{k}]", ", ".join((f"{', '.join(labels[:3])} …", comment))
    return _quoted(labels), comment


def _spread(columns: list[Column]) -> dict[str, list[Column]]:
    """Columns name_0 … name_{k-1}, four or more, that make one tensor: by what their names share."""
    stems: dict[str, dict[int, Column]] = {}
    for c in columns:
        m = _SPREAD.match(c.name)
        if m and m.group(1) and c.is_number and c.tensor is None:
            stems.setdefault(m.group(1), {})[int(m.group(2))] = c
    return {stem: [members[i] for i in range(len(members))] for stem, members in stems.items()
            if len(members) >= 4 and all(i in members and members[i].name == f"{stem}_{i}" for i in range(len(members)))}


def _gives_answer(kept: list[Column], outputs: list[Column]) -> list[str]:
    """Columns that alone give the answer."""
    y, notes = outputs[0], []
    if len(outputs) > 1 or y.is_number and len(y.texts) > FEW_NUMBERS:
        return []
    for c in kept:
        if c.is_number or c.tensor or len(c.codes) != len(y.codes) or len(c.texts) > c.n / 5:
            continue
        pairs = Counter(zip(c.codes, y.codes))
        best: dict = {}
        for (code, _), k in pairs.items():
            best[code] = max(k, best.get(code, 0))
        share = sum(best.values()) / max(1, c.n)
        if share >= GIVES_AWAY and max(y.texts.values()) / max(1, y.there) <= 0.9:
            notes.append(f"! {c.name} alone gives the answer in {100 * share:.1f} %. Known only afterwards? Then leave it out.")
    return notes


def _metric_note(y: Column, type_: str) -> tuple[list[str], str]:
    if type_.startswith("Tensor"):
        return [], ""
    common, k = y.texts.most_common(1)[0]
    guess = f'Guessing "{common}": right in {100 * k / y.there:.0f} %.'
    metric, reason = rarity(y.texts)
    return ([f"! {reason}: the metric will be {metric.replace('_', ' ')}."] if metric != "accuracy" else []), guess


def _of_pictures(source, wanted: list[str], log) -> dict:
    """A folder of pictures: one class a folder, or a table of paths."""
    if source.layout == "table":
        return _of_picture_table(source, wanted, log)
    if "class" not in source.names:
        raise Fault(f"{source.name}: the pictures lie in no folder that says what they show.", where={"file": source.name},
                    hint="Put them into one folder a class, or a table beside them whose cells are paths relative to it.")
    counts: Counter[str] = Counter()
    seen = _Seen()
    for block in source.blocks():
        counts.update(block.columns["class"])
        for p in block.columns["file"]:
            seen.look(p)
        log.write("progress", step=block.read, of=source.size, unit="byte")
    labels = _sorted(list(counts))
    if len(labels) < 2:
        raise Fault(f"{source.name}: all pictures lie in one folder, {labels[0]}; there is nothing to tell apart.", where={"file": source.name})
    n = sum(counts.values())
    shown = ", ".join(f"{c} {k:,}" for c, k in counts.most_common(6)) + (" …" if len(counts) > 6 else "")
    metric, reason = rarity(counts)
    notes = [f"! {reason}: the metric will be {metric.replace('_', ' ')}, so that a model can't do well by never saying it."] if metric != "accuracy" else []
    type_ = _quoted(labels) if len(labels) <= MOST_CLASSES else f"Class[{len(labels)}]"
    common, k = counts.most_common(1)[0]
    return {"says": f"{source.name}: {n:,} pictures in {len(counts)} folders, so {len(counts)} classes: {shown}.", "predicts": "",
            "guess": f'Guessing "{common}": right in {100 * k / n:.0f} %.',
            "fields": [{"side": "input", "name": "image", "type": seen.type(), "comment": seen.comment()},
                       {"side": "output", "name": "label", "type": type_, "comment": ""}],
            "left_out": [], "notes": [seen.says()] + notes, "clauses": [], "pointers": {"input": [], "output": []}}


def _of_picture_table(source, wanted: list[str], log) -> dict:
    pictures = [n for n in source.names if n in source.pictures]
    columns = {n: Column(n) for n in source.names if n not in source.pictures}
    seen, answers, rows = _Seen(), _Seen(), 0
    answer = next((p for p in pictures if fold(p) in map(fold, wanted)), None) or (pictures[-1] if not columns else None)
    if len(pictures) < 2:
        answer = None
    elif answer == pictures[0]:
        pictures.reverse()
    for block in source.blocks():
        rows += len(block.rows)
        for n, c in columns.items():
            c.see(block.columns[n], source.decimal)
        for looked, column in ((seen, pictures[0]), (answers, answer)):
            for p in block.columns[column] if column else ():
                if p is not None:
                    looked.look(p)
        log.write("progress", step=block.read, of=source.size, unit="byte")
    if answer is not None:
        return {"says": f"{source.name}: {rows:,} rows, each with {len(pictures)} pictures.", "predicts": f"{answer}, a picture", "guess": "",
                "fields": [{"side": "input", "name": fold(pictures[0]), "type": seen.type(), "comment": seen.comment()},
                           {"side": "output", "name": fold(answer), "type": answers.type(like=seen), "comment": answers.comment()}],
                "left_out": [{"column": m, "reason": "beside the pictures"} for m in source.names if m not in (pictures[0], answer)],
                "notes": [seen.says()], "clauses": [], "pointers": {"input": [], "output": []}}
    outputs = _outputs(list(columns.values()), wanted, source)
    type_, comment, says = _output_type(outputs[0], source)
    left_out = [{"column": c.name, "reason": "beside the picture"} for c in columns.values() if c not in outputs]
    metric, guess = _metric_note(outputs[0], type_)
    return {"says": f"{source.name}: {rows:,} rows, each with a picture.", "predicts": f"{outputs[0].name}, {says}", "guess": guess,
            "fields": [{"side": "input", "name": fold(pictures[0]), "type": seen.type(), "comment": seen.comment()},
                       {"side": "output", "name": fold(outputs[0].name), "type": type_, "comment": comment}],
            "left_out": left_out, "notes": [seen.says()] + metric, "clauses": [], "pointers": {"input": [], "output": []}}


class _Seen:
    """Sizes and modes of pictures, by their heads; at most so many are opened."""

    MOST = 2000

    def __init__(self):
        self.sizes: Counter[tuple[int, int]] = Counter()
        self.modes: Counter[str] = Counter()
        self.broken = 0

    def look(self, picture) -> None:
        """Take in one picture's head."""
        if self.sizes.total() >= self.MOST:
            return
        import io
        from PIL import Image
        try:
            with Image.open(io.BytesIO(picture.read())) as opened:
                self.sizes[(opened.height, opened.width)] += 1
                self.modes[opened.mode] += 1
        except (Fault, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            self.broken += 1

    def _channels(self) -> int:
        grey = sum(k for m, k in self.modes.items() if m in ("1", "L", "LA", "I", "F") or m.startswith("I;"))
        return 1 if grey == self.modes.total() else 3

    def _shape(self) -> tuple[int, int, int]:
        if not self.sizes:
            raise Fault("None of the pictures can be opened.")
        if len(self.sizes) == 1:
            height, width = next(iter(self.sizes))
            if max(height, width) <= SIDES[-1]:
                return height, width, self._channels()
        middle = float(np.median([min(s) for s, k in self.sizes.items() for _ in range(k)]))
        side = max((s for s in SIDES if s <= middle), default=SIDES[0])
        return side, side, self._channels()

    def type(self, like: "_Seen | None" = None) -> str:
        """The tensor that is proposed; as high and wide as `like`'s, where that is given."""
        height, width, _ = (like or self)._shape()
        return f"Tensor[{height}, {width}, {self._channels()}]"

    def comment(self) -> str:
        """What stands beside the field."""
        return "grey" if self._channels() == 1 else "colours"

    def says(self) -> str:
        """Sizes, and what becomes of them."""
        height, width, _ = self._shape()
        if len(self.sizes) == 1:
            h, w = next(iter(self.sizes))
            said = f"All are {h}×{w}"
        else:
            low, high = min(self.sizes, key=lambda s: s[0] * s[1]), max(self.sizes, key=lambda s: s[0] * s[1])
            said = f"Sizes {low[0]}×{low[1]} to {high[0]}×{high[1]}"
        if len(self.sizes) > 1 or next(iter(self.sizes)) != (height, width):
            said += f"; each is fitted whole into {height}×{width}"
        if self.broken:
            said += f"; {self.broken} can't be opened, and won't be taken"
        return said + "."
