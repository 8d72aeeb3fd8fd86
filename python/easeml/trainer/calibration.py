"""How sure an answer is: probabilities sharpened or flattened by one temperature until they keep their word.

A model's softmax says how its fit ended rather than how often it is right: one that stopped early
gives 0.6 to answers of which 19 in 20 hold. One number mends that and moves no answer (temperature
scaling: Guo et al., arXiv 1706.04599). It is learned from answers to examples that the fit has not seen.
"""

from __future__ import annotations

import math

import numpy as np

FEWEST = 20
"""Fewer rows than that say too little; the probabilities stay as the model gives them."""

SMALLEST = 1e-6
"""A probability below it counts as it: a vote of neighbours gives plain zeros."""

COLDEST, HOTTEST = 0.05, 20.0


def tempered(p: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities [n, k] with their logarithms divided by the temperature; each row's order stays."""
    if temperature == 1.0:
        return p
    logs = np.log(np.maximum(p, SMALLEST)) / temperature
    e = np.exp(logs - logs.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def learn(truth: np.ndarray, p: np.ndarray) -> float:
    """The temperature under which the labels `truth` [n] (−1: unknown to the model) are likeliest, given `p` [n, k].

    A label counts as right by (n + 1)/(n + 2), as in Platt (1999): n answers without a mistake do not make sure.
    """
    from scipy.optimize import minimize_scalar
    known = truth >= 0
    n, k = int(known.sum()), p.shape[1]
    if n < FEWEST or k < 2 or not np.isfinite(p).all():
        return 1.0
    p, truth = p[known], truth[known]
    doubt = 1.0 / (n + 2)
    weights = np.full((n, k), doubt / (k - 1))
    weights[np.arange(n), truth] = 1.0 - doubt

    def loss(log_temperature: float) -> float:
        t = tempered(p, math.exp(log_temperature))
        return -float(np.sum(weights * np.log(np.maximum(t, 1e-300)))) / n

    found = minimize_scalar(loss, bounds=(math.log(COLDEST), math.log(HOTTEST)), method="bounded")
    return float(math.exp(found.x)) if found.fun < loss(0.0) else 1.0
