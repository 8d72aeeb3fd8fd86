"""What networks share: how the learning rate rises and falls, the best weights so far, and checkpoints without anything pickled."""

from __future__ import annotations

import json
import math
from pathlib import Path

from .report import Report


def pace(done: float) -> float:
    """The learning rate's share of its peak when a share `done` of the steps is done: up for a fifth, then down a cosine."""
    if done < 0.2:
        return 0.05 + 0.95 * done / 0.2
    return 0.5 * (1 + math.cos(math.pi * (done - 0.2) / 0.8))


class Best:
    """The best weights so far of a network that learns, and the checkpoints it goes on from. ``begin`` epochs are done already."""

    def __init__(self, net, optimizer, report: Report):
        self._net, self._optimizer, self._report = net, optimizer, report
        self._weights = {name: t.detach().clone() for name, t in net.state_dict().items()}
        self.begin = 0
        if report.resume:
            state = _read_state(report.resume, net, optimizer, self._weights)
            report.go_on(state["step"], state["best"], state["best_step"], state["curve"])
            self.begin = int(state["step"])

    def keep(self) -> None:
        """The weights as they are now are the best."""
        for name, t in self._net.state_dict().items():
            self._weights[name].copy_(t)

    def restore(self) -> None:
        """Put the best weights into the network."""
        self._net.load_state_dict(self._weights)

    def checkpoint(self, folder: Path) -> None:
        """Write everything that going on needs."""
        state = {"net": self._net.state_dict(), "best": self._weights, "optimizer": self._optimizer.state_dict()}
        _write_state(state, self._report.state(), folder)


def _write_state(state: dict, report: dict, folder: Path) -> None:
    """A checkpoint: tensors as safetensors, everything else as JSON. Nothing is pickled."""
    from safetensors.torch import save_file
    tensors = {f"net/{k}": t for k, t in state["net"].items()} | {f"best/{k}": t for k, t in state["best"].items()}
    scalars: dict = {}
    for index, values in state["optimizer"]["state"].items():
        for name, t in values.items():
            tensors[f"optimizer/{index}/{name}"] = t
    scalars["groups"] = [{k: v for k, v in g.items() if isinstance(v, (int, float, bool, list, tuple, type(None)))}
                         for g in state["optimizer"]["param_groups"]]
    save_file({k: t.detach().cpu().contiguous() for k, t in tensors.items()}, folder / "state.safetensors")
    (folder / "state.json").write_text(json.dumps({"report": report, **scalars}), encoding="utf-8")


def _read_state(folder: Path, net, optimizer, best: dict) -> dict:
    """Put a checkpoint back into net, optimizer and `best`; what the report had."""
    from safetensors.torch import load_file
    tensors = load_file(folder / "state.safetensors")
    scalars = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    net.load_state_dict({k[4:]: t for k, t in tensors.items() if k.startswith("net/")})
    for k, t in tensors.items():
        if k.startswith("best/"):
            best[k[5:]].copy_(t)
    state: dict = {}
    for k, t in tensors.items():
        if k.startswith("optimizer/"):
            _, index, name = k.split("/", 2)
            state.setdefault(int(index), {})[name] = t
    groups = optimizer.state_dict()["param_groups"]
    for group, saved in zip(groups, scalars["groups"]):
        group.update({k: tuple(v) if isinstance(group.get(k), tuple) else v for k, v in saved.items()})
    optimizer.load_state_dict({"state": state, "param_groups": groups})
    return scalars["report"]
