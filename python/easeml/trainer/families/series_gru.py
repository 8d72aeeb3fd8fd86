"""Recurrent networks for series from series, by PyTorch: a bidirectional GRU (Cho et al. 2014, arXiv 1406.1078) reads the input.

Where every answer is as long as its input, it answers step by step. Where lengths differ, a second GRU writes the
answer, which sees its own last answer, attends to what was read (Luong et al. 2015, arXiv 1508.04025), and is shown
the proportional place besides; how long the answer is, `Lengths` says. Checkpoints are those of `network`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo, Stop
from ..network import Best, pace
from ..outputs import objects
from ..program import Program
from ..report import Report
from ..size import estimate, size_of
from ..windows import Lengths, places
from . import TRANSLATION

MOST_STEPS = 512
"""Longer series are not for a recurrent network; the candidate is left out."""


def network(shape: dict):
    """The network for ``{"labels", "inside", "outside", "tokens", "width", "aligned"}``, untrained."""
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            w = shape["width"]
            self.seen = nn.Embedding(shape["inside"], w) if shape["labels"] else nn.Linear(shape["inside"], w)
            self.reader = nn.GRU(w, w, batch_first=True, bidirectional=True)
            if shape["aligned"]:
                self.head = nn.Linear(2 * w, shape["outside"])
                return
            self.said = nn.Embedding(shape["outside"] + 1, w) if shape["tokens"] else nn.Linear(shape["outside"], w)
            self.writer = nn.GRU(3 * w, 2 * w, batch_first=True)
            self.look = nn.Linear(2 * w, 2 * w, bias=False)
            self.head = nn.Sequential(nn.Linear(6 * w, 2 * w), nn.ReLU(), nn.Linear(2 * w, shape["outside"]))

        def read(self, x, lengths):
            """What was read at each step, [n, steps, 2 w]."""
            packed = pack_padded_sequence(self.seen(x), lengths.cpu(), batch_first=True, enforce_sorted=False)
            return pad_packed_sequence(self.reader(packed)[0], batch_first=True)[0]

        def start(self, read, mask):
            """The writer's first state: the mean of what was read."""
            return ((read * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)).unsqueeze(0)

        def write(self, before, state, read, mask, at):
            """Scores of some steps, from the answers before them, and the state after."""
            beside = torch.gather(read, 1, at[..., None].expand(-1, -1, read.shape[2]))
            states, state = self.writer(torch.cat([self.said(before), beside], dim=2), state)
            weights = (self.look(states) @ read.transpose(1, 2)).masked_fill(~mask[:, None, :], -1e9).softmax(2)
            return self.head(torch.cat([states, weights @ read, beside], dim=2)), state

    return Net()


class SeriesGRU(Candidate):
    """The network above; settings: ``width``, ``epochs``, ``rate``, ``batch``, ``decay``."""

    unit = "epoch"

    def _make(self, shape: dict) -> None:
        import torch
        self.shape = shape
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.net = network(shape).to(self.device)

    def _padded(self, values: list[np.ndarray]):
        """Series of codes or numbers as one tensor, what is beyond their ends 0."""
        import torch
        out = np.zeros((len(values), max(map(len, values)), *values[0].shape[1:]), dtype=np.int64 if values[0].dtype.kind == "i" else np.float32)
        for row, v in zip(out, values):
            row[:len(v)] = v
        return torch.from_numpy(out).to(self.device)

    def _inputs(self, batch: Batch, rows: np.ndarray):
        """The rows' inputs, their lengths, and where there are steps."""
        import torch
        values = [(batch.tokens if self.shape["labels"] else batch.series)[i] for i in rows]
        lengths = torch.tensor([len(v) for v in values], device=self.device)
        x = self._padded(values)
        return x, lengths, torch.arange(x.shape[1], device=self.device)[None] < lengths[:, None]

    def _places(self, inputs, answers):
        """For each step of the answers the place in the input, [n, most]."""
        import torch
        most = int(max(answers))
        out = [np.append(places(int(n), int(m)), np.full(most - int(m), int(n) - 1)) for n, m in zip(inputs.tolist(), answers)]
        return torch.from_numpy(np.stack(out).astype(np.int64)).to(self.device)

    def _loss(self, train: Batch, rows: np.ndarray):
        import torch
        x, lengths, mask = self._inputs(train, rows)
        answers = [train.y[i] for i in rows]
        y, read = self._padded(answers), self.net.read(x, lengths)
        there = torch.arange(y.shape[1], device=self.device)[None] < torch.tensor([len(a) for a in answers], device=self.device)[:, None]
        if self.shape["aligned"]:
            said = self.net.head(read)
        else:
            tokens = self.shape["tokens"]
            first = torch.full_like(y[:, :1], self.shape["outside"]) if tokens else torch.zeros_like(y[:, :1])
            said, _ = self.net.write(torch.cat([first, y[:, :-1]], dim=1), self.net.start(read, mask), read, mask, self._places(lengths, [len(a) for a in answers]))
        if self.shape["tokens"]:
            return torch.nn.functional.cross_entropy(said[there], y[there], label_smoothing=0.05)
        return ((said - y)[there] ** 2).mean()

    def fit(self, train: Batch, valid: Batch | None, report: Report) -> None:
        import torch
        s = self.info.settings
        torch.manual_seed(self.seed)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.set_num_threads(self.threads)
        labels, tokens = train.tokens is not None, train.classes > 0
        self._make({"labels": labels, "inside": len(train.levels) + 2 if labels else train.dimensions, "outside": train.outputs, "tokens": tokens, "width": s["width"],
                    "aligned": bool(train.answer["aligned"])})
        self.lengths = Lengths.learn(train)
        epochs = s["epochs"] if not report.limit else min(s["epochs"], report.limit)
        steps = max(1, -(-train.n // s["batch"]))
        optimizer = torch.optim.AdamW(self.net.parameters(), lr=s["rate"], weight_decay=s["decay"])
        best = Best(self.net, optimizer, report)
        drawn = torch.Generator().manual_seed(self.seed)
        try:
            for epoch in range(epochs):
                order = torch.randperm(train.n, generator=drawn).numpy()  # drawn for skipped epochs too: a resumed run sees the same batches
                if epoch < best.begin:
                    continue
                self.net.train()
                total = 0.0
                for i in range(steps):
                    rows = order[i * s["batch"]:(i + 1) * s["batch"]]
                    loss = self._loss(train, rows)
                    for group in optimizer.param_groups:
                        group["lr"] = s["rate"] * pace((epoch * steps + i + 0.5) / (epochs * steps))
                    optimizer.zero_grad(set_to_none=True)
                    loss.backward()
                    torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
                    optimizer.step()
                    total += float(loss.detach()) * len(rows)
                quality = report.quality(self.predict(valid)) if valid is not None else None
                report.step(epoch + 1, epochs, quality, total / train.n, keep=best.keep, checkpoint=best.checkpoint)
        except Stop:
            pass
        if valid is not None or report.reason:
            best.restore()

    def predict(self, inputs: Batch) -> np.ndarray:
        import torch
        self.net.eval()
        out: list[np.ndarray] = []
        wanted = self.lengths.of(inputs)
        with torch.inference_mode():
            for at in range(0, inputs.n, 128):
                rows = np.arange(at, min(inputs.n, at + 128))
                x, lengths, mask = self._inputs(inputs, rows)
                read = self.net.read(x, lengths)
                said = self.net.head(read) if self.shape["aligned"] else self._written(read, mask, lengths, wanted[rows])
                if self.shape["tokens"]:
                    said = said.softmax(2)
                out += [a[:n] for a, n in zip(said.float().cpu().numpy(), wanted[rows])]
        return objects(out)

    def _written(self, read, mask, lengths, wanted: np.ndarray):
        """The answers' scores, step by step, each from the answer before it."""
        import torch
        n, tokens = len(wanted), self.shape["tokens"]
        before = torch.full((n, 1), self.shape["outside"], device=self.device) if tokens else torch.zeros((n, 1, self.shape["outside"]), device=self.device)
        state, at, out = self.net.start(read, mask), self._places(lengths, wanted), []
        for step in range(int(wanted.max())):
            said, state = self.net.write(before, state, read, mask, at[:, step:step + 1])
            out.append(said)
            before = said.argmax(2) if tokens else said
        return torch.cat(out, dim=1)

    def save(self, folder: Path) -> None:
        from safetensors.torch import save_file
        save_file({k: t.detach().cpu().contiguous() for k, t in self.net.state_dict().items()}, folder / "model.safetensors")
        (folder / "network.json").write_text(json.dumps({"shape": self.shape, "lengths": self.lengths.as_json()}), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "SeriesGRU":
        from safetensors.torch import load_file
        loaded = cls.described(folder)
        saved = json.loads((folder / "network.json").read_text(encoding="utf-8"))
        loaded._make(saved["shape"])
        loaded.lengths = Lengths(**saved["lengths"])
        loaded.net.load_state_dict(load_file(folder / "model.safetensors"))
        return loaded


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """One small network."""
    size = size_of(program, profile)
    longest = max((f.get("lengths") or [1])[-1] for f in profile.get("fields") or [{}])
    if longest > MOST_STEPS:
        return
    numbers = program.inputs[0].size if program.inputs[0].shape else min(50, program.inputs[0].class_count or 50)
    work = 40.0 * size.rows * size.fits * max(1, size.features // max(1, numbers))
    yield SeriesGRU(CandidateInfo(
        "series-gru", "series_gru", "GRU, small", templates=TRANSLATION, kinds=("tokens", "series"),
        settings={"width": 48, "epochs": 40, "rate": 5e-3, "batch": 32, "decay": 1e-3}, devices=("cpu", "gpu"), iterative=True, pausable=True, year=2014, citations=30000,
        needs={"min_examples": 30, "max_examples": 200_000}, requires=("torch", "safetensors"),
        estimate=estimate(1.0 + work * 4e-5, size, memory=5e8, gpu_seconds=work * 4e-6, gpu_memory=1e9)))
