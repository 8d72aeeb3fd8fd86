"""The study ``growth``: what more examples would bring, from what half of them does.

The served candidate is fitted on random halves of what it learned from and compared with itself on the same rows
that neither has learned from. The error is taken to fall as a power of the number of examples (Hestness et al.
2017, arXiv 1712.00409): twice as many bring the same factor again. Where these rows can't tell the half from
the whole, nothing is foretold.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .examples import PARTS
from .fault import Fault
from .model import Model
from .outputs import losses as losses_of, truth_of
from .split import deal
from .study import Study

HALVES = 3
FEWEST = 30


def growth(study: Study) -> dict:
    """The findings: mean loss with half and with all of the examples, what twice as many would have, and the band of the gain so far."""
    model = Model.load(Path(study.spec["model"]))
    examples = study.examples(groups=True)
    folds = (study.spec["data"].get("protocol") or {}).get("kind") == "folds"
    test = examples.take(np.flatnonzero(examples.parts == PARTS.index("test")))
    train = examples.take(np.flatnonzero(examples.parts != PARTS.index("test") if folds else examples.parts == PARTS.index("train")))
    valid = None if folds else examples.take(np.flatnonzero(examples.parts == PARTS.index("validation")))
    if model.target.kind == "masks":
        raise Fault("What more examples would bring is told of labels and numbers, not of masks.", kind="unsupported")
    if len(test) < FEWEST or len(train) < 2 * FEWEST:
        raise Fault("There are too few examples to tell what more would bring.")
    truth = truth_of(model.program, model.target, test)

    metric = model.metric
    by_row = not model.target.is_classes or metric.name == "accuracy"

    def told(m: Model) -> np.ndarray:
        """What a model is compared by: the loss of each row where a mean of them is meant, else its answers."""
        p = m.answer(test)
        return losses_of(m.target, truth, p, m.guess) if by_row else p

    def loss(p: np.ndarray, rows=slice(None)) -> float:
        """Of some rows: how far off, the share of wrong answers, or what a score lacks to 1."""
        if by_row:
            return float(p[rows].mean())
        value = metric.compute(truth[rows], p[rows], model.guess.positive)
        return 1.0 - value if metric.higher else value

    whole, halves = told(model), []
    strata = study.strata(train)
    rng = np.random.default_rng(0)
    for i in range(HALVES):
        order = rng.permutation(np.unique(train.groups))
        inside = np.flatnonzero(deal(strata, train.groups, order.tolist(), [0.5, 0.5]) == 0)
        halves.append(told(study.fit(study.spec["candidates"][0], train.take(inside), valid)))
        study.progress(i + 1, HALVES, "fit")

    def gain(rows=slice(None)) -> float:
        return float(np.mean([loss(p, rows) for p in halves])) - loss(whole, rows)

    with np.errstate(all="ignore"):
        drawn = [gain(rng.integers(0, len(test), len(test))) for _ in range(500 if by_row else 200)]
        before, now = float(np.mean([loss(p) for p in halves])), loss(whole)
    drawn = [d for d in drawn if np.isfinite(d)]  # a class that is not among the rows leaves some scores undefined
    if not (drawn and np.isfinite(before) and np.isfinite(now)):
        raise Fault("The test part can't tell what more examples would bring.")
    low, high = (float(x) for x in np.percentile(drawn, [2.5, 97.5]))
    doubled = now * now / before if low > 0 and before > 0 else None
    measure = "right" if model.target.kind == "tokens" else "off" if not model.target.is_classes else "right" if by_row else metric.name
    return {"of": len(test), "measure": measure, "half": before, "whole": now, "doubled": doubled,
            "gain_low": low, "gain_high": high, "learned_from": len(train)}
