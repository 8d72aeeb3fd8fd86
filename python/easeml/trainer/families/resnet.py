"""A small residual network for pictures of 8×8 to 64×64, by PyTorch (He et al. 2016, arXiv 1512.03385).

Three stages of two blocks; a stage halves the side only while 4 pixels are left. It trains on a GPU
where the attempt has one, checkpoints after each epoch, and goes on from a checkpoint as if it had not left.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo, Stop
from ..fault import Fault
from ..network import Best, pace
from ..program import Program
from ..report import Report
from ..size import estimate, size_of


def network(shape: dict):
    """The network for ``{"side": [h, w], "channels", "outputs", "width"}``, untrained; takes [n, channels, h, w]."""
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inside: int, outside: int, stride: int):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(),
                nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside))
            self.skip = nn.Identity() if stride == 1 and inside == outside else \
                nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

        def forward(self, x):
            return (self.body(x) + self.skip(x)).relu()

    width, side = shape["width"], min(shape["side"])
    layers = [nn.Conv2d(shape["channels"], width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    inside = width
    for stage in range(3):
        outside = width * 2**stage
        stride = 2 if stage and side >= 8 else 1
        side //= stride
        layers += [Block(inside, outside, stride), Block(outside, outside, 1)]
        inside = outside
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, shape["outputs"]))


class ResNet(Candidate):
    """The network above; settings: ``width``, ``epochs``, ``rate``, ``batch``, ``decay``."""

    unit = "epoch"

    def _device(self):
        import torch
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def _make(self, shape: dict) -> None:
        self.shape = shape
        self.device = self._device()
        self.net = network(shape).to(self.device)

    def fit(self, train: Batch, valid: Batch | None, report: Report) -> None:
        import torch
        if train.picture_shape is None:
            raise Fault("The network needs a picture among the inputs.", kind="unsupported")
        s = self.info.settings
        torch.manual_seed(self.seed)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.set_num_threads(self.threads)
        height, width, channels = train.picture_shape
        self._make({"side": [height, width], "channels": channels, "outputs": train.outputs, "width": s["width"]})
        epochs = s["epochs"] if not report.limit else min(s["epochs"], report.limit)
        x = torch.from_numpy(train.pictures).permute(0, 3, 1, 2).contiguous()
        y = torch.from_numpy(train.y if train.classes else train.y.astype(np.float32))
        loss_of = torch.nn.CrossEntropyLoss(label_smoothing=0.05) if train.classes else torch.nn.MSELoss()
        steps = max(1, -(-train.n // s["batch"]))
        optimizer = torch.optim.AdamW(self.net.parameters(), lr=s["rate"], weight_decay=s["decay"])
        best = Best(self.net, optimizer, report)
        drawn = torch.Generator().manual_seed(self.seed)
        try:
            for epoch in range(epochs):
                # The order is drawn for skipped epochs too: a resumed run sees the same batches.
                order = torch.randperm(train.n, generator=drawn)
                shifts = torch.randint(-1, 2, (steps, 2), generator=drawn)
                if epoch < best.begin:
                    continue
                self.net.train()
                total = 0.0
                for i in range(steps):
                    rows = order[i * s["batch"]:(i + 1) * s["batch"]]
                    if len(rows) == 1 and train.n > 1:
                        rows = order[-2:]  # batch normalization needs two
                    inputs = x[rows].to(self.device, non_blocking=True)
                    if min(height, width) >= 12:
                        inputs = torch.roll(inputs, tuple(shifts[i].tolist()), dims=(2, 3))
                    loss = loss_of(self.net(inputs), y[rows].to(self.device, non_blocking=True))
                    for group in optimizer.param_groups:
                        group["lr"] = s["rate"] * pace((epoch * steps + i + 0.5) / (epochs * steps))
                    optimizer.zero_grad(set_to_none=True)
                    loss.backward()
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
        pictures = torch.from_numpy(inputs.pictures).permute(0, 3, 1, 2)
        out = []
        with torch.inference_mode():
            for at in range(0, inputs.n, 512):
                scores = self.net(pictures[at:at + 512].contiguous().to(self.device)).float()
                out.append((scores.softmax(1) if inputs.classes else scores).cpu().numpy())
        return np.concatenate(out) if out else np.zeros((0, inputs.outputs))

    def save(self, folder: Path) -> None:
        from safetensors.torch import save_file
        save_file({k: t.detach().cpu().contiguous() for k, t in self.net.state_dict().items()}, folder / "model.safetensors")
        (folder / "network.json").write_text(json.dumps(self.shape), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "ResNet":
        from safetensors.torch import load_file
        loaded = cls.described(folder)
        loaded._make(json.loads((folder / "network.json").read_text(encoding="utf-8")))
        loaded.net.load_state_dict(load_file(folder / "model.safetensors"))
        return loaded


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """One small network, for classes and for numbers."""
    size = size_of(program, profile)
    pixels = size.side[0] * size.side[1] if size.side else 64
    work = 25.0 * size.rows * size.fits * pixels
    yield ResNet(CandidateInfo(
        "resnet-small", "resnet", "ResNet, small", templates=("image_classification",),
        settings={"width": 16, "epochs": 25, "rate": 4e-3, "batch": 64, "decay": 1e-2}, devices=("cpu", "gpu"),
        iterative=True, pausable=True, year=2016, citations=250000,
        needs={"min_examples": 50, "min_side": 8, "max_side": 64}, requires=("torch", "safetensors"),
        estimate=estimate(work * 1e-5, size, memory=5e8, gpu_seconds=work * 2e-8, gpu_memory=1e9)))
