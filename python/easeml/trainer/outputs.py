"""Outputs: the truths and the answers of each kind of target, as arrays and as columns of a file.

| kind | truth | answers of a model |
|---|---|---|
| classes | label codes [n], −1 for a label that the target doesn't have | probabilities [n, k] |
| numbers | [n, d] | [n, d] in their own unit |
| masks | label codes [n, pixels], −1 likewise | label codes [n, pixels] |
| tokens | [n] objects, each label codes [m], −1 likewise | [n] objects, each [m, 2]: code, and how sure |
| series | [n] objects, each [m, d] | [n] objects, each [m, d] in their own unit |
"""

from __future__ import annotations

import numpy as np

from .examples import Examples, column_to_arrow
from .metrics import Guess
from .program import Field, Program, Target
from .split import quantile_edges, strata_of_numbers
from .tallies import TALLIES

RAGGED = ("tokens", "series")


def truth_of(program: Program, target: Target, examples: Examples) -> np.ndarray:
    """What is right, in the form above."""
    values = examples.columns[program.outputs[0].name]
    if target.kind == "classes":  # a one-hot output Tensor[D] was turned into a label by ingest: one column always
        return codes_of(target, values)
    if target.kind == "masks":
        return pixel_codes(target, values)
    if target.kind == "tokens":
        return objects(codes_of(target, v) for v in values)
    if target.kind == "series":
        return values
    return np.concatenate([examples.columns[f.name].astype(np.float64) for f in program.outputs], axis=1)


def objects(values) -> np.ndarray:
    """Arrays as the rows of one array of objects."""
    values = list(values)
    out = np.empty(len(values), dtype=object)
    for i, v in enumerate(values):
        out[i] = v
    return out


def codes_of(target: Target, labels) -> np.ndarray:
    """Labels as their places in the target; −1 for one that it doesn't have."""
    places = {label: i for i, label in enumerate(target.labels)}
    return np.array([places.get(v, -1) for v in labels], dtype=np.int64)


def pixel_codes(target: Target, values: np.ndarray) -> np.ndarray:
    """Pixels [n, p] as the places of their values among the labels."""
    known = np.array([float(label) for label in target.labels])
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known[order], values), len(known) - 1)
    return np.where(known[order][at] == values, order[at], -1).astype(np.int16)


def pixel_values(target: Target, codes: np.ndarray) -> np.ndarray:
    """The reverse of `pixel_codes`; what is no class is NaN."""
    known = np.array([*map(float, target.labels), np.nan])
    return known[np.asarray(codes).astype(np.int64)]


def label(target: Target, i: int) -> str | int:
    """A label as it is answered: of series that were fed as whole numbers a number again."""
    return int(target.labels[i]) if target.numeric else target.labels[i]


def room(target: Target, n: int) -> np.ndarray:
    """An array for the answers to n rows."""
    if target.kind in RAGGED:
        return np.empty(n, dtype=object)
    return np.zeros((n, len(target.labels) if target.kind == "classes" else target.size))


def strata_of(target: Target, truth: np.ndarray) -> np.ndarray:
    """Within what rows are dealt out fairly: their class, or the quantile of their (first) number; `truth` as `truth_of` gives it."""
    if target.kind == "classes":
        return np.maximum(truth, 0)
    if target.kind != "numbers":
        return np.zeros(len(truth), dtype=np.int64)
    return strata_of_numbers(truth[:, 0], target.quantile_edges or quantile_edges(truth[:, 0]))


def guess_of(program: Program, target: Target, examples: Examples) -> Guess:
    """What guessing from these rows answers."""
    truth = truth_of(program, target, examples)
    if target.kind == "classes":
        return Guess.learn_classes(truth, len(target.labels))
    if target.kind == "masks":
        return Guess.learn_masks(truth, len(target.labels))
    if target.kind in RAGGED:
        return Guess.learn_series(truth, target.kind, aligned(program, examples))
    return Guess.learn_numbers(truth)


def aligned(program: Program, examples: Examples) -> bool:
    """Whether every series of the output is as long as the input's."""
    outputs, inputs = examples.columns[program.outputs[0].name], examples.columns[program.inputs[0].name]
    return all(len(a) == len(b) for a, b in zip(inputs, outputs))


def alike(target: Target, a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two models' answers to the same rows are the same, but for rounding; of labels one in a hundred may be on edge."""
    if target.kind in RAGGED:
        if any(len(x) != len(y) for x, y in zip(a, b)):
            return False
        a, b = (np.concatenate(list(v)) if len(v) else np.zeros((0, 2)) for v in (a, b))
    if target.kind in ("classes", "numbers", "series"):
        return np.allclose(a, b, rtol=1e-3, atol=1e-5)
    if target.kind == "tokens":
        a, b = a[:, 0], b[:, 0]
    return a.size == 0 or float(np.mean(a == b)) >= 0.99


def losses(target: Target, truth: np.ndarray, predicted: np.ndarray, guess: Guess) -> np.ndarray:
    """The loss of each row: of classes whether it is wrong, of masks and labels in series the share that is wrong, of numbers how far off."""
    if target.kind == "classes":
        return (predicted.argmax(axis=1) != truth).astype(float)
    if target.kind == "masks":
        return (predicted != truth).mean(axis=1)
    if target.kind == "numbers":
        return np.abs(truth - predicted).mean(axis=1)
    counts = TALLIES[target.kind].count(truth, predicted, guess)
    share = counts[:, 0] / np.maximum(1, counts[:, 1])
    return share if target.kind == "series" else 1.0 - share


def to_arrow(target: Target, field: Field, truth: np.ndarray, predicted: np.ndarray, said) -> dict:
    """The columns truth, prediction and probabilities of held-out rows; `said` are the labels as the examples bear them."""
    import pyarrow as pa
    nothing = pa.nulls(len(truth))
    if target.kind == "classes":
        flat = pa.array(np.ascontiguousarray(predicted).reshape(-1), pa.float64())
        chosen = [target.labels[i] for i in predicted.argmax(axis=1)]
        return {"truth": pa.array(said.tolist(), pa.string()), "prediction": pa.array(chosen, pa.string()),
                "probabilities": pa.FixedSizeListArray.from_arrays(flat, predicted.shape[1])}
    if target.kind == "tokens":
        labels = np.array(target.labels, dtype=object)
        chosen = objects(labels[p[:, 0].astype(np.int64)] for p in predicted)
        return {"truth": column_to_arrow(field, said), "prediction": column_to_arrow(field, chosen), "probabilities": nothing}
    if target.kind == "series":
        return {"truth": column_to_arrow(field, truth), "prediction": column_to_arrow(field, predicted), "probabilities": nothing}
    if target.kind == "masks":
        truth, predicted = pixel_values(target, truth), pixel_values(target, predicted)
    if predicted.shape[1] == 1:
        return {"truth": pa.array(truth[:, 0]), "prediction": pa.array(predicted[:, 0]), "probabilities": nothing}
    return {name: pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(values).reshape(-1)), values.shape[1])
            for name, values in (("truth", truth), ("prediction", predicted))} | {"probabilities": nothing}


def from_arrow(target: Target, field: Field, table, rows: np.ndarray) -> np.ndarray:
    """The answers that some rows of such a file hold, in a model's form; how sure they were is known of classes only."""
    values = table.column("probabilities" if target.kind == "classes" else "prediction").to_pylist()
    values = [values[i] for i in rows.tolist()]
    if target.kind == "tokens":
        codes = (codes_of(target, v) for v in values)
        return objects(np.column_stack([c, np.ones(len(c))]).astype(np.float64) for c in codes)
    if target.kind == "series":
        return objects(np.array(v, dtype=np.float64).reshape(-1, field.width) for v in values)
    out = np.array(values, dtype=np.float64).reshape(len(rows), -1)
    return pixel_codes(target, out) if target.kind == "masks" else out
