"""`predict FOLDER`: stays, with one model loaded, and answers requests line by line.

In:  {"id": 1, "sources": [{"name", "path"}], "using": {}, "fed": {FIELD: [COLUMN, …]}, "options": {}, "out": PATH}
     {"id": 2, "rescore": {"data": {path, rows, parts, protocol}, "metric": NAME|null}}
Out: {"ready": {…}}, then for each request {"id": n, "done": {…}}, {"id": n, "scored": {…}} or {"id": n, "failed": {…}}

Rows are read, matched and converted by the very code of ``ingest``, and prepared by the very code of
training: what ingest would refuse is refused, row by row. Answers are written as NDJSON, in order.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

from .door import knock
from .drift import Drift
from .events import dump
from .families import DEEP
from .fault import Fault, no_rows, one_sentence
from .scale import Scale
from .wire import Lines, protected_stdout, requests

MEMORY = 4_000_000_000
"""A version is scored on as many of its examples as fit into so many bytes."""

SURE = 0.8
"""Below so high a probability an answer counts as unsure."""


def serve_model(folder: Path) -> int:
    """Answer for the model in `folder` until the input ends; 1 where it can't be loaded.

    Where a warm parent of the same server is there, its child answers in this process's place: it
    starts in milliseconds instead of the seconds that imports take.
    """
    folder = Path(folder).resolve()
    try:
        with open(folder / "spec.json", encoding="utf-8") as f:
            deep = json.load(f)["candidate"]["family"] in DEEP
    except (OSError, ValueError, KeyError, TypeError):
        deep = False
    for door in (True, False) if deep else (False,):
        code = knock(folder, door)
        if code is not None:
            return code
    return answer_until_end(folder)


def answer_until_end(folder: Path) -> int:
    """The same in this very process."""
    out = Lines(protected_stdout())
    try:
        predictor = Predictor(folder)
    except Fault as fault:
        out.write({"id": 0, "failed": fault.as_event()})
        return 1
    except Exception as error:
        traceback.print_exc()
        out.write({"id": 0, "failed": {"kind": "bug", "message": f"The model can't be loaded ({one_sentence(error)})."}})
        return 1
    info = predictor.model.candidate.info
    out.write({"ready": {"candidate": info.id, "label": info.label, "target": predictor.model.target.as_json(),
                         "metric": predictor.model.metric.name, "pid": os.getpid()}})
    for line in requests(sys.stdin.buffer):
        if not out.write(predictor.reply(line)):
            break
    return 0


@dataclass
class _Rows:
    """One block of a source, converted: which rows can be answered, why the others can't, what to echo."""

    source: str
    rows: list[int]
    good: "object"
    columns: dict
    refused: dict[int, dict]
    echo: list[dict] | None
    places: list[str] | None = None
    """Each row's own file, where rows are pictures."""
    kinds: dict[str, str] = field(default_factory=dict)
    """Of the columns that are echoed, where the file has types."""


class Predictor:
    """A loaded model that answers requests."""

    def __init__(self, folder: Path):
        from .model import Model
        self.folder = folder
        self.model = Model.load(folder)

    @classmethod
    def of(cls, model) -> "Predictor":
        """One of a model that is loaded already."""
        predictor = cls.__new__(cls)
        predictor.folder, predictor.model = None, model
        return predictor

    def reply(self, line: bytes) -> dict:
        """The reply to one request line; never raises."""
        number = None
        try:
            request = json.loads(line)
            number = request.get("id")
            if request.get("rescore"):
                return {"id": number, "scored": self.rescore(request["rescore"])}
            return {"id": number, "done": self.answer(request)}
        except Fault as fault:
            return {"id": number, "failed": fault.as_event()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            traceback.print_exc()
            return {"id": number, "failed": {"kind": "bug", "message": f"The request can't be understood ({one_sentence(error)})."}}
        except MemoryError:
            return {"id": number, "failed": {"kind": "memory", "message": "The memory was not enough to answer.", "hint": "Ask in several parts."}}
        except Exception as error:
            traceback.print_exc()
            return {"id": number, "failed": {"kind": "bug", "message": f"Answering went wrong ({one_sentence(error)})."}}

    def answer(self, request: dict) -> dict:
        """Answer all rows of a request's sources into its ``out``; the counts. Raises `Fault`, and then nothing is written."""
        import numpy as np
        from .convert import wider
        from .examples import Examples
        from .readers import Options
        begun = time.monotonic()
        options = Options.of(request.get("options"), self.model.program)
        using = {k: str(v) for k, v in (request.get("using") or {}).items()}
        answers = refused = unsure = 0
        kinds: dict[str, str] = {}
        out = Path(request["out"])
        partial = out.with_name(out.name + ".partial")
        top = options.one("top")
        show = bool(options.switch("probabilities")) or top is not None
        if show and self.model.target.kind in ("masks", "tokens"):
            what = "picture" if self.model.target.kind == "masks" else "series"
            raise Fault(f"Probabilities are told where one label is answered; here it is a whole {what}.", kind="unsupported", hint="Leave the option out.")
        scales = [Scale(f, self.model.preparation.state["fields"][f.name]["range"]) for f in self.model.program.inputs if not f.is_class]
        drift = Drift(self.model.program.inputs, self.model.preparation.state.get("drift"))
        try:
            with open(partial, "w", encoding="utf-8") as f:
                for b in (b for s in request["sources"] for b in self._read(str(s["name"]), Path(s["path"]), using, options, request.get("fed"))):
                    for column, kind in b.kinds.items():
                        kinds[column] = wider(kinds.get(column, ""), kind)
                    good = np.flatnonzero(b.good)
                    columns = {k: v[good] for k, v in b.columns.items()}
                    examples = Examples({k: _floats(v) for k, v in columns.items()}, np.arange(len(good)))
                    for scale in scales:
                        scale.see(examples.columns[scale.name])
                    drift.see(columns)
                    predicted = self.model.answer(examples) if len(good) else None
                    at = {int(i): k for k, i in enumerate(good)}
                    for i, row in enumerate(b.rows):
                        line = {"source": b.places[i] if b.places else b.source, "row": row}
                        if b.echo is not None:
                            line["values"] = b.echo[i]
                        if i in at:
                            self._put(line, predicted[at[i]], show, int(top) if top else None)
                            answers += 1
                            unsure += line["sure"] is not None and line["sure"] < SURE
                        else:
                            line["refused"] = b.refused[i]
                            refused += 1
                        f.write(dump(line) + "\n")
            if not answers + refused:
                raise no_rows([str(s["name"]) for s in request["sources"]])
            for scale in scales:
                fault = scale.fault(str(request["sources"][0]["name"]))
                if fault:
                    raise fault
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        os.replace(partial, out)
        return {"answers": answers, "refused": refused, "unsure": int(unsure), "drift": drift.says(), "columns": {c: kind for c, kind in kinds.items() if kind},
                "fields": self._kinds(), "seconds": round(time.monotonic() - begun, 4)}

    def _kinds(self) -> dict[str, str]:
        """What kind of column each answer makes; nothing for labels that came in no typed column."""
        model = self.model
        if model.target.is_classes:
            return {f.name: model.target.type for f in model.program.outputs[:1] if model.target.type}
        return {f.name: "number" if f.size == 1 else "numbers" for f in model.program.outputs}

    def _put(self, line: dict, predicted, show: bool, top: int | None) -> None:
        """Put a row's answer, and how sure it is, into its line; of a series of labels: on average over its steps."""
        from .outputs import label, pixel_values
        model = self.model
        name = model.program.outputs[0].name
        if model.target.kind == "tokens":
            line["answer"] = {name: [label(model.target, int(c)) for c in predicted[:, 0]]}
            line["sure"] = round(float(predicted[:, 1].mean()), 6)
            return
        if model.target.kind == "series":
            line["answer"], line["sure"] = {name: predicted[:, 0].tolist() if predicted.shape[1] == 1 else predicted.tolist()}, None
            return
        if model.target.kind == "masks":
            predicted = pixel_values(model.target, predicted)
        if model.target.is_classes:
            best = int(predicted.argmax())
            line["answer"] = {name: model.target.labels[best]}
            line["sure"] = round(float(predicted[best]), 6)
            if show:
                order = predicted.argsort()[::-1][:top] if top else range(len(predicted))
                line["probabilities"] = {model.target.labels[int(k)]: round(float(predicted[k]), 6) for k in order}
            return
        answer, at = {}, 0
        for f in model.program.outputs:
            values = [float(x) for x in predicted[at:at + f.size]]
            answer[f.name] = values[0] if f.size == 1 else values
            at += f.size
        line["answer"], line["sure"] = answer, None

    def _read(self, name: str, path: Path, using: dict, options, fed: dict | None = None) -> Iterator[_Rows]:
        import numpy as np
        from .convert import Converter
        from .matching import match, pictures_of
        from .picture import Canon
        from .readers import open_source
        program = self.model.program
        source = open_source(name, path, options)
        if options.one("series"):
            from .readers.steps import Steps
            source = Steps(source, options.one("series"))
        inputs, outputs, _ = match(program, source, using=using, output=options.all("output"), ignore=options.all("ignore"), with_outputs=False, fed=fed)
        used = [c for b in inputs for c in b.columns]
        source.lengths(used)
        source.chosen(used + [c for b in outputs if b.field.ragged for c in b.columns], ())
        converter, pictures = Converter(source, options.all("missing")), pictures_of(source)
        canons = {b.field.name: Canon.of(b.field) for b in inputs if b.columns[0] in pictures}
        for block in source.blocks(None if source.text else used):
            problems = list(block.broken)
            columns = {}
            for b in inputs:
                if b.field.name in canons:
                    columns[b.field.name], _ = converter.pictures(b, block, problems, canons[b.field.name])
                    continue
                columns[b.field.name] = converter.values(b, block, problems)
            refused: dict[int, dict] = {}
            places = [p.place for p in block.columns["file"]] if source.kind == "pictures" and source.layout == "folders" else None
            for p in problems:
                if places:
                    p.column = p.value = None  # its file is its place
                refused.setdefault(p.at, {"column": p.column, "value": p.value, "reason": p.reason, "remedy": p.remedy})
            n = len(block.rows)
            good = np.ones(n, dtype=bool)
            good[list(refused)] = False
            echoed, kinds = _echo(source, block) if source.text else (None, {})
            yield _Rows(name, [int(r) for r in block.rows], good, columns, refused, echoed, places, kinds)

    def rescore(self, request: dict) -> dict:
        """The loaded model's scores on a version's validation and test part; None for a part that isn't there.

        With folds there is no part but test that the model has not learned from. What was answered out of fold when
        it was trained is scored in place of a validation part, where that was kept.
        """
        import numpy as np
        from . import metrics
        from .examples import PARTS, read_examples
        from .metrics import find_metric
        from .outputs import truth_of
        model, data = self.model, request["data"]
        metric = find_metric(request.get("metric") or model.metric.name, model.target.kind)
        examples = read_examples(Path(data["path"]), model.program, memory=MEMORY)
        folds = (data.get("protocol") or {}).get("kind") == "folds"
        scored = {}
        for part in ("validation", "test"):
            rows, answers = examples.take(np.flatnonzero(examples.parts == PARTS.index(part))), None
            if folds and part == "validation":
                rows, answers = self._out_of_fold(examples)
            if len(rows) == 0:
                scored[part] = None
                continue
            if answers is None:
                answers = model.answer(rows)
            scored[part] = metrics.score(metric, truth_of(model.program, model.target, rows), answers, model.guess).as_json()
        return scored

    def _out_of_fold(self, examples):
        """The examples that were answered out of fold when the model was trained, and those answers."""
        import numpy as np
        from .examples import open_arrow
        from .outputs import from_arrow
        path = self.folder.parent / "predictions.arrow"
        if not path.exists():
            return examples.take(np.zeros(0, dtype=np.int64)), None
        table = open_arrow(path)
        places = {int(n): i for i, n in enumerate(table.column("number").to_numpy())}
        rows = np.array([i for i, n in enumerate(examples.numbers.tolist()) if n in places], dtype=np.int64)
        at = np.array([places[int(n)] for n in examples.numbers[rows]], dtype=np.int64)
        return examples.take(rows), from_arrow(self.model.target, self.model.program.outputs[0], table, at)


def _floats(values):
    """Pictures' bytes as floats; everything else as it is."""
    return values.astype("float32") if values.dtype.kind == "u" else values


def _jsoned(value):
    """A value, or a list of values, with None for what is no number."""
    if isinstance(value, list):
        return [_jsoned(x) for x in value]
    return None if isinstance(value, float) and value != value else value


def _echo(source, block) -> tuple[list[dict], dict[str, str]]:
    """Each row's own columns, as text, and their kinds where the file has types."""
    from .convert import kind_of, text_of

    def text(v) -> str:
        if hasattr(v, "tolist") and getattr(v, "ndim", 0):  # the steps of a series, gaps as null
            v = _jsoned(v.tolist())
        if isinstance(v, (list, dict)):
            return json.dumps(v, ensure_ascii=False, default=str)
        return v.name if hasattr(v, "place") else v if isinstance(v, str) else text_of(v) or ""
    names = [n for n in source.names if n in block.columns and getattr(block.columns[n], "ndim", 1) == 1  # no whole tensors,
             and not (source.steps and any(isinstance(v, list) for v in block.columns[n]))]  # nor the steps of a series
    if source.kind == "pictures" and source.layout == "folders":
        names = ["file"]
    columns = [block.columns[n] for n in names]
    kinds = {n: kind_of(c) for n, c in zip(names, columns)} if source.typed else {}
    return [{n: text(c[i]) for n, c in zip(names, columns)} for i in range(len(block.rows))], kinds
