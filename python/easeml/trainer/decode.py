"""Decoding: from a picture file's bytes to pixels. What it is, its first bytes tell; its size is judged before it is decoded."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass, field

import numpy as np

from .fault import Fault, one_sentence

ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".fits", ".fit", ".fts", ".npy")
"""The endings of files that are read as pictures where many lie in a folder."""

OTHER_ENDINGS = (".heic", ".heif", ".avif", ".svg", ".psd", ".jp2", ".jxl", ".dcm", ".nii", ".czi", ".nd2", ".svs", ".raw", ".dng", ".cr2", ".nef", ".arw")
"""Endings of pictures that can't be read."""

CHANNELS = (1, 3, 4)

MOST_BYTES = 200_000_000
MOST_PIXELS = 64_000_000
"""A picture with more is refused before it is decoded; one of many channels, where all together are more than four times that."""

_PLAIN = ("PNG", "JPEG", "BMP", "GIF", "WEBP")
_AGAIN = "download or save it again"


@dataclass
class Opened:
    """A decoded file: a Pillow image, or pixels [h, w, c] (uint8 or float32), or, `exact`, an array of any shape."""

    image: object = None
    pixels: np.ndarray | None = None
    exact: bool = False
    did: dict[str, int] = field(default_factory=dict)


def is_picture(path: str) -> bool:
    """Whether a file's name says that it is a picture that can be read."""
    return path.lower().endswith(ENDINGS)


def opened(content: bytes) -> Opened:
    """A decoded picture. Raises `Fault` whose message goes after the picture's name."""
    if not content:
        raise Fault("is empty", hint=_AGAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's own limit of pixels warns; ours refuses
        try:
            if content[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
                return _tiff(content)
            if content[:6] == b"SIMPLE":
                return _fits(content)
            if content[:6] == b"\x93NUMPY":
                return _npy(content)
            if content[:8] == b"\x89PNG\r\n\x1a\n" and content[24:26] in (b"\x10\x02", b"\x10\x04", b"\x10\x06"):
                deep = _deep_png(content)
                if deep is not None:
                    return deep
            return _plain(content)
        except (Fault, MemoryError):
            raise
        except Exception as error:  # the libraries raise a dozen kinds for broken files
            text = str(error).lower()
            if any(w in text for w in ("truncated", "end of file", "not enough", "eof", "buffer is too small")) or isinstance(error, EOFError):
                raise Fault("breaks off before its end", hint=_AGAIN) from None
            raise Fault(f"is broken ({one_sentence(error)[:80]})", hint=_AGAIN) from None


def _check(height: int, width: int, channels: int = 1) -> None:
    """Raise `Fault` for a picture that is too large, or has no pixels."""
    if height * width > MOST_PIXELS or height * width * channels > 4 * MOST_PIXELS:
        raise Fault(f"has {width:,} × {height:,} pixels" + (f" and {channels:,} channels" if channels > 4 else "") + f", more than {MOST_PIXELS // 1_000_000} million",
                    hint="make it smaller")
    if not height * width * channels:
        raise Fault("has no pixels", hint="leave it out")


def _plain(content: bytes, formats: tuple[str, ...] = _PLAIN) -> Opened:
    """PNG, JPEG and their kin by Pillow."""
    from PIL import Image, UnidentifiedImageError
    try:
        picture = Image.open(io.BytesIO(content), formats=formats)
        _check(picture.size[1], picture.size[0])
        frames = getattr(picture, "n_frames", 1) > 1 and picture.format != "TIFF"
        picture.load()
    except UnidentifiedImageError:
        if content[:8] == b"\x89PNG\r\n\x1a\n" or content[:2] == b"\xff\xd8":
            raise Fault("breaks off before its end", hint=_AGAIN) from None
        raise Fault("is no picture that can be read", hint="save it as PNG or TIFF") from None
    except Image.DecompressionBombError:
        raise Fault(f"has more than {MOST_PIXELS // 1_000_000} million pixels", hint="make it smaller") from None
    return Opened(image=picture, did={"frames": 1} if frames else {})


def _library(module: str, what: str):
    import importlib
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Fault(f"is {what}, which needs the Python package {module.split('.')[0]}; it is not installed here", hint="save it as PNG of 8 bits") from None


def _pixels(values: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
    """Decoded numbers as uint8 or float32, 16 bits brought to 0–255; and what was done."""
    if values.dtype == np.uint8:
        return values, {}
    if values.dtype == np.bool_:
        return values.astype(np.uint8) * np.uint8(255), {}
    if values.dtype.kind == "u" and values.dtype.itemsize == 2:
        return values.astype(np.float32) / np.float32(257.0), {"deep": 1}
    if values.dtype.kind not in "iuf":
        raise Fault("holds no plain numbers", hint="save its parts as numbers")
    return values.astype(np.float32), {}


def _deep_png(content: bytes) -> Opened | None:
    """A PNG of 16 bits in colours or with transparency, of which Pillow keeps 8; None where nothing better is installed."""
    width, height = int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")
    _check(height, width, 4)
    try:
        import imagecodecs
    except ImportError:
        return None
    values = np.asarray(imagecodecs.png_decode(content))
    if values.ndim == 3 and values.shape[2] == 2:  # grey and transparency
        clear = values[..., 1:].astype(np.float32) / 65535
        values = (values[..., :1] * clear + 65535 * (1 - clear)).astype(np.uint16)
    elif values.ndim == 3 and values.shape[2] == 4 and (values[..., 3] == 65535).all():
        values = values[..., :3]
    pixels, did = _pixels(values.reshape(*values.shape[:2], -1))
    return Opened(pixels=pixels, did=did)


def _tiff(content: bytes) -> Opened:
    """TIFF: one page of 8 bits by Pillow, everything else by tifffile."""
    tifffile = _library("tifffile", "a TIFF picture")
    with tifffile.TiffFile(io.BytesIO(content)) as tif:
        if not len(tif.pages):
            raise Fault("breaks off before its end", hint=_AGAIN)
        first = tif.pages[0]
        pages = [p for p in (tif.pages[i] for i in range(min(len(tif.pages), 10_000))) if p.shape == first.shape and p.dtype == first.dtype]
        height, width = first.imagelength, first.imagewidth
        samples = int(np.prod(first.shape, dtype=np.float64) // max(1, height * width)) or 1
        _check(height, width, samples * len(pages) if samples == 1 else samples)
        plain = len(pages) == 1 and first.dtype == np.uint8 and samples in CHANNELS and int(first.planarconfig) == 1 and not first.is_tiled
        if plain:
            return _plain(content, ("TIFF",))
        did: dict[str, int] = {}
        if samples == 1 and len(pages) > 1:
            values = np.stack([p.asarray().reshape(height, width) for p in pages], axis=-1)
        else:
            if len(pages) > 1:
                did["paged"] = 1
            values = first.asarray()
            if samples > 1 and int(first.planarconfig) == 2:
                values = np.moveaxis(values.reshape(samples, height, width), 0, -1)
            values = values.reshape(height, width, samples)
        turned = _oriented(values, int(getattr(first.tags.get(274), "value", 1) or 1))
        if turned is not values:
            did["turned"] = 1
    pixels, more = _pixels(turned)
    return Opened(pixels=np.ascontiguousarray(pixels), did=did | more)


def _oriented(values: np.ndarray, orientation: int) -> np.ndarray:
    """Pixels turned as a TIFF's orientation says."""
    if orientation in (5, 6, 7, 8):
        values = values.swapaxes(0, 1)
    flips = {2: (1,), 3: (0, 1), 4: (0,), 6: (1,), 7: (0, 1), 8: (0,)}.get(orientation)
    return np.flip(values, flips) if flips else values


def _fits(content: bytes) -> Opened:
    """The first image of a FITS file, its planes as channels. Rows as they are stored."""
    fits = _library("astropy.io.fits", "a FITS image")
    with fits.open(io.BytesIO(content), memmap=False, lazy_load_hdus=True) as hdus:
        for hdu in hdus:
            shape = tuple(getattr(hdu, "shape", ()) or ())
            if not isinstance(hdu, (fits.PrimaryHDU, fits.ImageHDU, fits.CompImageHDU)) or len(shape) < 2:
                continue
            planes = int(np.prod(shape[:-2], dtype=np.float64))
            _check(shape[-2], shape[-1], planes)
            if not isinstance(hdu, fits.CompImageHDU) and abs(hdu.header["BITPIX"]) // 8 * np.prod(shape, dtype=np.float64) > len(content):
                raise Fault("breaks off before its end", hint=_AGAIN)
            values = np.asarray(hdu.data)
            values = values.astype(values.dtype.newbyteorder("=")).reshape(planes, *shape[-2:])
            return Opened(pixels=np.ascontiguousarray(np.moveaxis(values, 0, -1), dtype=np.float32) if values.dtype != np.uint8
                          else np.ascontiguousarray(np.moveaxis(values, 0, -1)))
    raise Fault("holds no image", hint="leave it out, or feed its table on its own")


def _npy(content: bytes) -> Opened:
    """An array, whose header must promise just the bytes that are there."""
    f = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(f)
        shape, _, dtype = (np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0)(f)
    except ValueError as error:
        raise Fault("breaks off before its end" if "EOF" in str(error) else f"is broken ({one_sentence(error)[:80]})", hint=_AGAIN) from None
    if dtype.hasobject:
        raise Fault("holds Python objects, which are not read for safety", hint="save numbers: np.save(..., allow_pickle=False)")
    if dtype.kind not in "fiub":
        raise Fault("holds no plain numbers", hint="save its parts as numbers")
    if any(d < 0 for d in shape) or np.prod(shape, dtype=np.float64) * dtype.itemsize > len(content) - f.tell():
        raise Fault("breaks off before its end", hint=_AGAIN)
    f.seek(0)
    return Opened(pixels=np.load(f, allow_pickle=False), exact=True)


def upright(picture):
    """A Pillow image turned as its EXIF data say; itself where they say nothing, or nonsense."""
    from PIL import ImageOps
    try:
        if picture.getexif().get(0x0112, 1) in (None, 1):
            return picture
        return ImageOps.exif_transpose(picture)
    except Exception:  # nonsense in EXIF data is no reason to refuse a picture
        return picture
