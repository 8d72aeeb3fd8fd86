"""Data for series as outputs that can be learned, made from a seed: tagging, reversing, spelling out, smoothing, thinning."""

from __future__ import annotations

import numpy as np

TAGGING = {"input": {"fields": [{"name": "words", "class_count": 60}], "pointers": ["next"]},
           "output": {"fields": [{"name": "tags", "classes": ["D", "A", "N", "V", "P"]}], "pointers": ["next"]}}
LETTERS = {"input": {"fields": [{"name": "here", "class_count": 8}], "pointers": ["next"]}, "output": {"fields": [{"name": "there", "class_count": 8}], "pointers": ["next"]}}
NUMBERS = {"input": {"fields": [{"name": "noisy", "tensor": [1]}], "pointers": ["next"]}, "output": {"fields": [{"name": "clean", "tensor": [1]}], "pointers": ["next"]}}

_WORDS = {"D": "the a this every".split(), "A": "old red small quick tired loud early".split(), "P": "near under behind with".split(),
          "N": "dog cat table child bird house teacher river watch walk play cook".split(), "V": "sees finds likes chases hears watch walk play cook".split()}


def sentences(n: int, seed: int = 0) -> list[dict]:
    """Sentences of a small grammar and their tags; watch, walk, play and cook are nouns or verbs by what stands around them."""
    rng = np.random.default_rng(seed)

    def phrase() -> list[str]:
        out = ["D"] + ["A"] * int(rng.integers(0, 3)) + ["N"]
        return out + (["P"] + phrase() if rng.random() < 0.25 else [])

    rows = []
    for _ in range(n):
        tags = phrase() + ["V"] + (phrase() if rng.random() < 0.8 else [])
        rows.append({"words": [str(rng.choice(_WORDS[t])) for t in tags], "tags": tags})
    return rows


def reversed_letters(n: int, seed: int = 0) -> list[dict]:
    """Letters, and the same from the end."""
    rng = np.random.default_rng(seed)
    rows = [[str(c) for c in rng.choice(list("abcdefgh"), int(rng.integers(4, 12)))] for _ in range(n)]
    return [{"here": v, "there": v[::-1]} for v in rows]


def spelled_out(n: int, seed: int = 0) -> list[dict]:
    """Letters where a capital stands for two small ones: the answer is longer than what is asked."""
    rng = np.random.default_rng(seed)
    rows = [[str(c) for c in rng.choice(list("abcdABCD"), int(rng.integers(3, 9)))] for _ in range(n)]
    return [{"here": v, "there": [c.lower() for c in v for _ in range(2 if c.isupper() else 1)]} for v in rows]


def smoothed(n: int, seed: int = 0) -> list[dict]:
    """Waves of unequal length in noise, a step in twenty missing, and the waves themselves."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        steps = int(rng.integers(25, 50))
        v = 20 + 5 * np.sin(np.arange(steps) * rng.uniform(0.15, 0.5) + rng.uniform(0, 6))
        noisy = v + rng.normal(0, 2.0, steps)
        rows.append({"noisy": [None if rng.random() < 0.05 else round(float(x), 3) for x in noisy], "clean": v.round(3).tolist()})
    return rows


def thinned(n: int, seed: int = 0) -> list[dict]:
    """Random walks, and the mean of every two of their steps: the answer is half as long."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        v = np.cumsum(rng.normal(size=2 * int(rng.integers(8, 20))))
        rows.append({"noisy": v.round(3).tolist(), "clean": v.reshape(-1, 2).mean(axis=1).round(3).tolist()})
    return rows
