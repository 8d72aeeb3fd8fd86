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

    def losses(m: Model) -> np.ndarray:
        return losses_of(m.target, truth, m.answer(test), model.guess)

    whole, half = losses(model), np.zeros(len(test))
    strata = study.strata(train)
    rng = np.random.default_rng(0)
    for i in range(HALVES):
        order = rng.permutation(np.unique(train.groups))
        inside = np.flatnonzero(deal(strata, train.groups, order.tolist(), [0.5, 0.5]) == 0)
        half += losses(study.fit(study.spec["candidates"][0], train.take(inside), valid)) / HALVES
        study.progress(i + 1, HALVES, "fit")
    gain = half - whole
    drawn = [float(gain[rows].mean()) for rows in (rng.integers(0, len(gain), len(gain)) for _ in range(500))]
    low, high = (float(x) for x in np.percentile(drawn, [2.5, 97.5]))
    before, now = float(half.mean()), float(whole.mean())
    doubled = now * now / before if low > 0 and before > 0 else None
    return {"of": len(test), "measure": "right" if model.target.kind in ("classes", "tokens") else "off", "half": before, "whole": now, "doubled": doubled,
            "gain_low": low, "gain_high": high, "learned_from": len(train)}
