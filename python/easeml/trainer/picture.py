"""Pictures: from a file's bytes to the numbers of a ``Tensor[h, w, c]``, in one way for training and for answering.

The way: turned as its EXIF data says; a palette expanded; what is transparent put on white (but where the
program wants four channels); grey or colours as the program has it, 0 to 255; fitted whole into height and
width, the proportions kept, what is left over black. 16 bits a channel become 0 to 255 with fractions.
"""

from __future__ import annotations

import io
import warnings
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .fault import Fault, one_sentence
from .program import Field

ENDINGS = (".png", ".jpg", ".jpeg")
"""The endings of files that are read as pictures."""

OTHER_ENDINGS = (".tif", ".tiff", ".gif", ".bmp", ".webp", ".heic", ".fits", ".dcm", ".svg", ".avif", ".jp2")
"""Endings of pictures that can't be read yet."""

MOST_BYTES = 200_000_000
MOST_PIXELS = 64_000_000
"""A larger picture is refused before it is decoded."""

CHANNELS = (1, 3, 4)


def is_picture(path: str) -> bool:
    """Whether a file's name says that it is a picture that can be read."""
    return path.lower().endswith(ENDINGS)


def check_field(f: Field, source: str) -> None:
    """Raise `Fault` where picture files can't fill a field: its channels must be 1, 3 or 4."""
    if f.rank in (2, 3) and (f.rank == 2 or f.shape[2] in CHANNELS):
        return
    raise Fault(f"{f.name} is {f.says()}, but picture files have height, width and 1 channel (grey), 3 (colours) or 4 (colours and transparency).",
                kind="unsupported", where={"file": source, "field": f.name}, hint=f"Declare for instance {f.name} :: Tensor[64, 64, 3].")


@dataclass
class Canon:
    """The canonical conversion to one field's shape; it counts what it did, to be said."""

    height: int
    width: int
    channels: int
    sizes: Counter = field(default_factory=Counter)
    did: Counter = field(default_factory=Counter)

    @classmethod
    def of(cls, f: Field) -> "Canon":
        """The conversion to a field of rank 2 or 3."""
        height, width, channels = (*f.shape, 1)[:3]
        return cls(height, width, channels)

    def convert(self, content: bytes) -> np.ndarray:
        """The picture's numbers [h·w·c]: uint8, or float32 where the file has 16 bits a channel.

        Raises `Fault` whose message goes after the picture's name: "breaks off before its end".
        """
        picture = _opened(content)
        turned = _upright(picture)
        if turned is not picture:
            self.did["turned"] += 1
        self.sizes[turned.size] += 1
        plain = self._plain(turned)
        fitted = self._fitted(plain)
        values = np.asarray(fitted)
        if values.dtype == np.float32 and self.channels > 1:
            layers = [values] * 3 + ([np.full_like(values, 255.0)] if self.channels == 4 else [])
            values = np.stack(layers, axis=-1)
        return np.ascontiguousarray(values).reshape(-1)

    def _plain(self, p):
        """The picture in the mode that the field has: L, RGB or RGBA; F for 16 bits."""
        from PIL import Image
        if p.mode.startswith("I") or p.mode == "F":  # 16 bits of grey; of colours Pillow gives the upper 8
            self.did["deep"] += 1
            return Image.fromarray(np.asarray(p).astype(np.float32) / np.float32(257.0))
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

    def _fitted(self, p):
        from PIL import Image
        if p.size == (self.width, self.height):
            return p
        self.did["fitted"] += 1
        scale = min(self.width / p.width, self.height / p.height)
        size = (min(self.width, max(1, round(p.width * scale))), min(self.height, max(1, round(p.height * scale))))
        small = p.resize(size, Image.Resampling.BILINEAR)
        if size == (self.width, self.height):
            return small
        self.did["barred"] += 1
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
                           ("greyed", "in colours, read as grey"), ("deep", "of 16 bits, brought to 0–255")):
            if did[key]:
                said.append(f"{source}: {did[key]:,} of {n:,} pictures {words}")
        return said


def _is_grey(p) -> bool:
    """Whether a small look at a picture of colours shows none."""
    small = np.asarray(p.convert("RGB").resize((16, 16)), dtype=np.int16)
    return bool(abs(small.max(axis=-1) - small.min(axis=-1)).max() <= 2)


def _opened(content: bytes):
    """A decoded picture. Raises `Fault`."""
    from PIL import Image, UnidentifiedImageError
    if not content:
        raise Fault("is empty", hint="download or save it again")
    again = "download or save it again"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's own limit of pixels warns; ours refuses
        try:
            picture = Image.open(io.BytesIO(content), formats=("PNG", "JPEG"))
            width, height = picture.size
            if width * height > MOST_PIXELS:
                raise Fault(f"has {width:,} × {height:,} pixels, more than {MOST_PIXELS // 1_000_000} million", hint="make it smaller")
            picture.load()
        except Fault:
            raise
        except UnidentifiedImageError:
            if content[:8] == b"\x89PNG\r\n\x1a\n" or content[:2] == b"\xff\xd8":
                raise Fault("breaks off before its end", hint=again) from None
            raise Fault("is no PNG or JPEG picture", hint="save it as PNG") from None
        except Image.DecompressionBombError:
            raise Fault(f"has more than {MOST_PIXELS // 1_000_000} million pixels", hint="make it smaller") from None
        except MemoryError:
            raise
        except Exception as error:  # Pillow raises a dozen kinds for broken files
            if "truncated" in str(error).lower() or isinstance(error, EOFError):
                raise Fault("breaks off before its end", hint=again) from None
            raise Fault(f"is broken ({one_sentence(error)[:80]})", hint=again) from None
    return picture


def _upright(picture):
    """The picture turned as its EXIF data say; itself where they say nothing, or nonsense."""
    from PIL import ImageOps
    try:
        if picture.getexif().get(0x0112, 1) in (None, 1):
            return picture
        return ImageOps.exif_transpose(picture)
    except Exception:  # nonsense in EXIF data is no reason to refuse a picture
        return picture
