"""Pictures: from a file's bytes to the numbers of a ``Tensor[h, w, c]``, in one way for training and for answering.

The way: turned as its EXIF data says; a palette expanded; what is transparent put on white (but where the
program wants four channels); grey or colours as the program has it; fitted whole into height and width, the
proportions kept, what is left over black. 8 bits a channel stay 0 to 255, 16 bits become 0 to 255 with
fractions, so that none of their 65,536 steps is lost; other numbers (FITS, TIFF of floats) stay what they are.
A stack of grey pages, or channels beyond colours, are channels. Arrays (NPY) must have the field's shape. Masks, pictures as
outputs of few values, are brought to size without blending.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .decode import CHANNELS, opened, upright
from .fault import Fault
from .program import Field

PLAIN = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp")
"""Endings of pictures that have 1, 3 or 4 channels and no others."""


FEW_VALUES = 32
"""A picture of one channel with at most so many values may be a mask, whose values are classes."""


def check_field(f: Field, source: str, endings: set[str]) -> None:
    """Raise `Fault` where no picture file with such endings can fill a field."""
    if ".npy" in endings:
        return
    if f.rank in (2, 3) and (f.rank == 2 or f.shape[2] in CHANNELS or endings - set(PLAIN)):
        return
    raise Fault(f"{f.name} is {f.says()}, but such picture files have height, width and 1 channel (grey), 3 (colours) or 4 (colours and transparency).",
                kind="unsupported", where={"file": source, "field": f.name}, hint=f"Declare for instance {f.name} :: Tensor[64, 64, 3].")


@dataclass
class Canon:
    """The canonical conversion to one field's shape; it counts what it did, to be said."""

    shape: tuple[int, ...]
    name: str = "image"
    output: bool = False
    """Whether it may be a mask: then few values stay those that they are, also where the size changes."""
    sizes: Counter = field(default_factory=Counter)
    did: Counter = field(default_factory=Counter)

    @classmethod
    def of(cls, f: Field, *, output: bool = False) -> "Canon":
        """The conversion to a field."""
        return cls(tuple(f.shape), f.name, output)

    @property
    def height(self) -> int:
        """Rows of pixels that the field has."""
        return self.shape[0]

    @property
    def width(self) -> int:
        """Columns of pixels that the field has."""
        return self.shape[1]

    @property
    def channels(self) -> int:
        """Channels that the field has; 1 where it has no axis for them."""
        return (*self.shape, 1)[2]

    def convert(self, content: bytes) -> np.ndarray:
        """The picture's numbers [h·w·c]: uint8, or float32 where the file holds more than 8 bits a channel.

        Raises `Fault` whose message goes after the picture's name: "breaks off before its end".
        """
        found = opened(content)
        for what, n in found.did.items():
            self.did[what] += n
        if found.exact:
            return self._exact(found.pixels)
        if len(self.shape) not in (2, 3):
            raise Fault(f"is a picture, but {self.name} is {self._says()}", hint="save it as NPY")
        if found.image is None:
            self.sizes[found.pixels.shape[1::-1]] += 1
            return np.ascontiguousarray(self._of_pixels(found.pixels)).reshape(-1)
        turned = upright(found.image)
        if turned is not found.image:
            self.did["turned"] += 1
        self.sizes[turned.size] += 1
        plain = self._plain(turned)
        fitted = self._fitted(plain)
        values = np.asarray(fitted)
        if values.dtype == np.float32 and self.channels > 1:
            layers = [values] * 3 + ([np.full_like(values, 255.0)] if self.channels == 4 else [])
            values = np.stack(layers, axis=-1)
        return np.ascontiguousarray(values).reshape(-1)

    def _says(self) -> str:
        return "Tensor[" + ", ".join(map(str, self.shape)) + "]"

    def _exact(self, values: np.ndarray) -> np.ndarray:
        """An array of the field's shape, axes of length 1 aside."""
        if [d for d in values.shape if d != 1] != [d for d in self.shape if d != 1]:
            has = "×".join(map(str, values.shape)) or "one number"
            raise Fault(f"is an array of {has}, but {self.name} is {self._says()}", hint="bring it to that shape")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise Fault("holds numbers that are missing or infinite", hint="fill them in, or leave it out")
        kind = np.uint8 if values.dtype in (np.uint8, np.bool_) else np.float32
        return np.ascontiguousarray(values, dtype=kind).reshape(-1)

    def _of_pixels(self, values: np.ndarray) -> np.ndarray:
        """Pixels [h, w, c] with the field's channels and size."""
        if values.dtype == np.float32 and values.size:
            good = np.isfinite(values)
            if not good.all():
                if not good.any():
                    raise Fault("holds no number at all", hint="leave it out")
                self.did["blank"] += 1
                values = np.where(good, values, values[good].min())
        have, want = values.shape[2], self.channels
        if have != want:
            if want == 1 and have in (3, 4):
                self.did["greyed"] += 1
                values = (values[..., :3].astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32))[..., None]
            elif have == 1 and want in (3, 4):
                full = 255 if values.dtype == np.uint8 else 255.0
                values = np.concatenate([values] * 3 + ([np.full_like(values, full)] if want == 4 else []), axis=2)
            elif have == 4 and want == 3:
                values = values[..., :3]
            elif have == 3 and want == 4:
                values = np.concatenate([values, np.full_like(values[..., :1], 255)], axis=2)
            else:
                raise Fault(f"has {have} channel{'s' if have > 1 else ''}, but {self.name} is {self._says()}", hint=f"declare Tensor[{self.height}, {self.width}, {have}]")
        if values.shape[:2] == (self.height, self.width):
            return values
        from PIL import Image
        layers = [np.asarray(self._fitted(Image.fromarray(np.ascontiguousarray(values[..., k])), say=k == 0)) for k in range(values.shape[2])]
        return np.stack(layers, axis=-1)

    def _plain(self, p):
        """The picture in the mode that the field has: L, RGB or RGBA; F for 16 bits."""
        from PIL import Image
        if p.mode.startswith("I") or p.mode == "F":
            self.did["deep"] += 1
            return Image.fromarray(np.asarray(p).astype(np.float32) / np.float32(257.0))
        if self.channels not in CHANNELS:
            have = 1 if p.mode in ("1", "L") else len(p.getbands()) if p.mode in ("RGB", "RGBA") else 3
            raise Fault(f"has {have} channel{'s' if have > 1 else ''}, but {self.name} is {self._says()}", hint=f"declare Tensor[{self.height}, {self.width}, {have}]")
        clear = p.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in p.info
        if clear:
            p = p.convert("RGBA")
            if self.channels == 4:
                return p
            if p.getchannel("A").getextrema()[0] < 255:
                self.did["clear"] += 1
            white = Image.new("RGBA", p.size, (255, 255, 255, 255))
            p = Image.alpha_composite(white, p)
        elif p.mode not in ("L", "RGB"):
            p = p.convert("L" if p.mode == "1" else "RGB")
        mode = {1: "L", 3: "RGB", 4: "RGBA"}[self.channels]
        if mode == "L" and p.mode != "L" and not _is_grey(p):
            self.did["greyed"] += 1
        return p if p.mode == mode else p.convert(mode)

    def _fitted(self, p, *, say: bool = True):
        from PIL import Image
        if p.size == (self.width, self.height):
            return p
        self.did["fitted"] += say
        scale = min(self.width / p.width, self.height / p.height)
        size = (min(self.width, max(1, round(p.width * scale))), min(self.height, max(1, round(p.height * scale))))
        mask = self.output and p.mode == "L" and len(p.getcolors(256)) <= FEW_VALUES
        small = p.resize(size, Image.Resampling.NEAREST if mask else Image.Resampling.BILINEAR)
        if size == (self.width, self.height):
            return small
        self.did["barred"] += say
        whole = Image.new(p.mode, (self.width, self.height), 0 if p.mode in ("L", "F") else (0,) * len(p.getbands()) if p.mode != "RGBA" else (0, 0, 0, 255))
        whole.paste(small, ((self.width - size[0]) // 2, (self.height - size[1]) // 2))
        return whole

    def says(self, source: str) -> list[str]:
        """What was done, for ``read_as``."""
        n, did = sum(self.sizes.values()), self.did
        if not n:
            return []
        said = []
        if did["fitted"]:
            sides = sorted(self.sizes, key=lambda s: (s[0] * s[1], s))
            few = f"{sides[0][1]}×{sides[0][0]}" + (f" to {sides[-1][1]}×{sides[-1][0]}" if len(sides) > 1 else "")
            said.append(f"{source}: pictures of {few} pixels are fitted whole into {self.height}×{self.width}"
                        + (", with black bars where the proportions differ" if did["barred"] else ""))
        for key, words in (("turned", "turned as their EXIF data say"), ("clear", "transparent in places, put on white"),
                           ("greyed", "in colours, read as grey"), ("deep", "of 16 bits, brought to 0–255 with fractions"),
                           ("paged", "have several pages of colours, the first is read"), ("frames", "move, the first frame is read"),
                           ("blank", "have blank pixels, read as their lowest value")):
            if did[key]:
                said.append(f"{source}: {did[key]:,} of {n:,} pictures {words}")
        return said


def _is_grey(p) -> bool:
    """Whether a small look at a picture of colours shows none."""
    small = np.asarray(p.convert("RGB").resize((16, 16)), dtype=np.int16)
    return bool(abs(small.max(axis=-1) - small.min(axis=-1)).max() <= 2)
