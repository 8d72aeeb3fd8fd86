"""Suspects: examples whose label looks wrong to models that had not seen them.

Classes: confident learning with pruning by noise rate (Northcutt, Jiang, Chuang 2021, J. Artif. Intell. Res. 70,
§3.3; it is what cleanlab does by itself). The bar of class j is the mean probability of j among the examples that
bear it. An example counts as j where j is its most probable class above the bar; what is counted so of the examples
that bear i, brought to their number, says how many of them are j indeed: so many are suspect, those where j exceeds
i most, unless i is the most probable of all. Numbers: the modified z-score of the error (Iglewicz & Hoaglin 1993), beyond 3.5.
"""

from __future__ import annotations

import numpy as np

from .calibration import learn, tempered
from .fault import Fault
from .outputs import truth_of
from .split import folds
from .study import Study

FOLDS = 5
MOST = 2000
"""At most so many suspects are told of, the likeliest first."""
FAR = 3.5


def confident(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """For each row whether its label is suspect.

    `probabilities` [n, k] are out of fold, `codes` [n] the labels' places. A class without examples has no bar.
    """
    n, k = probabilities.shape
    bars = np.array([probabilities[codes == j, j].mean() if (codes == j).any() else np.inf for j in range(k)])
    above = np.where(probabilities >= bars, probabilities, -1.0)
    counted = above.max(axis=1) >= 0
    joint = np.zeros((k, k))
    np.add.at(joint, (codes[counted], above.argmax(axis=1)[counted]), 1)
    suspect = np.zeros(n, dtype=bool)
    for i in range(k):
        rows = np.flatnonzero(codes == i)
        if not joint[i].sum():
            continue
        for j in range(k):
            many = int(np.rint(joint[i, j] / joint[i].sum() * len(rows)))
            if j != i and many:
                excess = probabilities[rows, j] - probabilities[rows, i]
                suspect[rows[np.argsort(-excess, kind="stable")[:many]]] = True
    return suspect & (probabilities.argmax(axis=1) != codes)


def margin(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The label's probability less the largest other one: the smaller, the likelier the label is wrong."""
    own = probabilities[np.arange(len(codes)), codes]
    others = probabilities.copy()
    others[np.arange(len(codes)), codes] = -1.0
    return own - others.max(axis=1)


def find_suspects(study: Study) -> dict:
    """The suspects among all examples that are on, the likeliest first; each is judged by models that had not seen it."""
    examples = study.examples(groups=True)
    if len(examples) < 20:
        raise Fault("With fewer than 20 examples nothing can be said about single labels.", hint="Feed more.")
    if not study.target.is_classes and (study.target.kind != "numbers" or study.target.size > 1):
        raise Fault("Suspects are looked for where there is one label or one number; here there are several.", kind="unsupported")
    fold = folds(study.strata(examples), examples.groups, examples.numbers, FOLDS, str(study.spec["data"].get("version", "")))
    truth = truth_of(study.program, study.target, examples)
    chosen, k = study.spec["candidates"], int(fold.max()) + 1
    predicted, done = 0.0, 0
    for raw in chosen:
        one = np.zeros((len(examples), len(study.target.labels) if study.target.is_classes else 1))
        for i in range(k):
            inside, held = np.flatnonzero(fold != i), np.flatnonzero(fold == i)
            if study.target.is_classes and len(np.unique(truth[inside])) < 2:
                raise Fault("Only one class is among the examples; there is nothing to tell apart yet.", hint="Feed examples of the other classes.")
            left_out = examples.take(held)
            one[held] = study.fit(raw, examples.take(inside), left_out).answer(left_out)
            done += 1
            study.progress(done, k * len(chosen), "fit")
        if study.target.is_classes:
            one = tempered(one, learn(truth, one))
        predicted = predicted + one / len(chosen)
    found = _of_classes(study, examples, truth, predicted) if study.target.is_classes else _of_numbers(examples, truth[:, 0], predicted[:, 0])
    return {"of": len(examples), "found": len(found), "suspects": found[:MOST], "by": [raw["id"] for raw in chosen]}


def _of_classes(study: Study, examples, truth: np.ndarray, predicted: np.ndarray) -> list[dict]:
    rows = np.flatnonzero(truth >= 0)
    suspect, far = confident(predicted[rows], truth[rows]), margin(predicted[rows], truth[rows])
    looks, labels = predicted[rows].argmax(axis=1), study.target.labels
    return [{"number": int(examples.numbers[rows[i]]), "says": labels[truth[rows[i]]], "looks_like": labels[looks[i]],
             "sure": round(float(predicted[rows[i], looks[i]]), 4)}
            for i in sorted(np.flatnonzero(suspect), key=lambda i: (far[i], examples.numbers[rows[i]]))]


def _of_numbers(examples, truth: np.ndarray, predicted: np.ndarray) -> list[dict]:
    off = truth - predicted
    spread = float(np.median(np.abs(off - np.median(off)))) / 0.6745
    if spread <= 0:
        return []
    z = np.abs(off - np.median(off)) / spread
    return [{"number": int(examples.numbers[i]), "says": f"{truth[i]:.6g}", "looks_like": f"{predicted[i]:.6g}", "sure": None}
            for i in np.argsort(-z, kind="stable") if z[i] > FAR]
