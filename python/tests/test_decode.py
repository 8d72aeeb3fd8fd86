"""Pictures beyond PNG and JPEG: TIFF of 8 and 16 bits, channels and pages, FITS, arrays; ranges kept, nothing guessed."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
import tifffile

from easeml.trainer.fault import Fault
from easeml.trainer.picture import Canon
from easeml.trainer.program import Field
from folders import choose, feed, program, result, trial, version
from test_pictures import converted, png, tar

RNG = np.random.default_rng(0)
BYTES = RNG.integers(0, 256, (8, 8), dtype=np.uint8)
DEEP = RNG.integers(0, 65536, (8, 8), dtype=np.uint16)


def tiff(values, **options) -> bytes:
    out = io.BytesIO()
    tifffile.imwrite(out, values, **options)
    return out.getvalue()


def fits(values, **options) -> bytes:
    from astropy.io import fits as library
    out = io.BytesIO()
    hdu = library.CompImageHDU(values) if options.get("packed") else library.PrimaryHDU(values)
    library.HDUList([library.PrimaryHDU(), hdu] if options.get("packed") else [hdu]).writeto(out)
    return out.getvalue()


def npy(values) -> bytes:
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


CASES = {
    "tiff, 8 bits": (tiff(BYTES), (8, 8, 1), BYTES[..., None]),
    "tiff, lzw": (tiff(BYTES, compression="lzw"), (8, 8, 1), BYTES[..., None]),
    "tiff, 16 bits": (tiff(DEEP, compression="zlib"), (8, 8, 1), DEEP[..., None] / np.float32(257)),
    "tiff, colours": (tiff(np.stack([BYTES] * 3, -1), photometric="rgb"), (8, 8, 3), np.stack([BYTES] * 3, -1)),
    "tiff, colours of 16 bits": (tiff(np.stack([DEEP] * 3, -1), photometric="rgb"), (8, 8, 3), np.stack([DEEP] * 3, -1) / np.float32(257)),
    "tiff, five channels": (tiff(np.stack([DEEP, DEEP // 2, DEEP // 3, DEEP // 4, DEEP // 5]), photometric="minisblack"), (8, 8, 5),
                            np.stack([DEEP, DEEP // 2, DEEP // 3, DEEP // 4, DEEP // 5], -1) / np.float32(257)),
    "tiff, planes apart": (tiff(np.stack([BYTES, BYTES // 2, BYTES // 3]), photometric="rgb", planarconfig="separate"), (8, 8, 3),
                           np.stack([BYTES, BYTES // 2, BYTES // 3], -1)),
    "tiff, pages": (tiff(np.stack([BYTES, 255 - BYTES]), photometric="minisblack"), (8, 8, 2), np.stack([BYTES, 255 - BYTES], -1)),
    "tiff, floats": (tiff((DEEP * 1e6).astype(np.float32)), (8, 8, 1), (DEEP * 1e6).astype(np.float32)[..., None]),
    "tiff, tiles": (tiff(np.kron(BYTES, np.ones((4, 4), np.uint8)), tile=(16, 16)), (32, 32, 1), np.kron(BYTES, np.ones((4, 4), np.uint8))[..., None]),
    "tiff, lies": (tiff(BYTES, extratags=[(274, 3, 1, 6, True)]), (8, 8, 1), np.rot90(BYTES, -1)[..., None]),
    "tiff, lies, 16 bits": (tiff(DEEP, extratags=[(274, 3, 1, 6, True)]), (8, 8, 1), np.rot90(DEEP, -1)[..., None] / np.float32(257)),
    "fits": (fits(DEEP.astype(np.float64) * 1e5), (8, 8, 1), (DEEP * 1e5).astype(np.float32)[..., None]),
    "fits, unsigned": (fits(DEEP), (8, 8, 1), DEEP[..., None].astype(np.float32)),
    "fits, planes": (fits(np.stack([BYTES, BYTES // 2]).astype(np.float32)), (8, 8, 2), np.stack([BYTES, BYTES // 2], -1)),
    "fits, packed": (fits(DEEP.astype(np.int32), packed=True), (8, 8, 1), DEEP[..., None].astype(np.float32)),
    "npy": (npy(DEEP.reshape(4, 4, 4).astype(np.float64)), (4, 4, 4), DEEP.reshape(4, 4, 4)),
    "npy, four axes": (npy(BYTES.reshape(2, 4, 4, 2)), (2, 4, 4, 2), BYTES.reshape(2, 4, 4, 2)),
    "npy, no channel axis": (npy(BYTES), (8, 8, 1), BYTES[..., None]),
    "gif": (png(BYTES, format="GIF"), (8, 8, 1), BYTES[..., None]),
    "bmp": (png(BYTES, format="BMP"), (8, 8, 1), BYTES[..., None]),
    "webp": (png(np.stack([BYTES] * 3, -1), format="WEBP", lossless=True), (8, 8, 3), np.stack([BYTES] * 3, -1)),
}


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_what_the_file_holds(case):
    content, shape, expected = CASES[case]
    values = converted(content, *shape)
    assert values.dtype == (np.uint8 if expected.dtype == np.uint8 and "fits, planes" != case else np.float32)
    assert np.array_equal(values, expected.astype(values.dtype))


def test_colours_of_sixteen_bits_keep_their_steps():
    import imagecodecs
    ramp = np.arange(64 * 3, dtype=np.uint16).reshape(8, 8, 3) * 300
    values = converted(bytes(imagecodecs.png_encode(ramp)), 8, 8, 3)
    assert len(np.unique(values)) == 64 * 3 and np.allclose(values * 257, ramp)


def test_channels_become_what_the_field_has_or_are_refused():
    assert (converted(tiff(DEEP), 8, 8, 3)[..., 1] == converted(tiff(DEEP), 8, 8, 1)[..., 0]).all()
    five = CASES["tiff, five channels"][0]
    for shape in ((8, 8, 1), (8, 8, 3), (8, 8, 4)):
        with pytest.raises(Fault, match="has 5 channels, but image is Tensor"):
            converted(five, *shape)
    with pytest.raises(Fault, match=r"has 1 channel, but image is Tensor\[8, 8, 5\]") as error:
        converted(png(BYTES), 8, 8, 5)
    assert error.value.hint == "declare Tensor[8, 8, 1]"
    small = converted(tiff(np.stack([np.full((16, 8), i, np.uint16) for i in range(5)]), photometric="minisblack"), 8, 8, 5)
    assert small.shape == (8, 8, 5) and small[4, 4].argmax() == 4 and (small[:, 0] == 0).all()  # fitted whole, black at the sides


def test_blank_pixels_and_pages_are_said():
    values = DEEP.astype(np.float32)
    values[0, :3] = np.nan, np.inf, -np.inf
    canon = Canon.of(Field("image", (8, 8, 1)))
    got = canon.convert(fits(values)).reshape(8, 8)
    assert (got[0, :3] == values[np.isfinite(values)].min()).all() and canon.did["blank"] == 1
    canon.convert(tiff(np.stack([np.stack([BYTES] * 3, -1)] * 2), photometric="rgb"))
    assert canon.says("scans/") == ["scans/: 1 of 2 pictures in colours, read as grey", "scans/: 1 of 2 pictures have several pages of colours, the first is read",
                                    "scans/: 1 of 2 pictures have blank pixels, read as their lowest value"]
    with pytest.raises(Fault, match="no number at all"):
        converted(fits(np.full((8, 8), np.nan, np.float32)), 8, 8, 1)


def _header(shape) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return out.getvalue()


@pytest.mark.parametrize("content,reason", [
    (tiff(DEEP)[:100], "broken|breaks off"), (tiff(DEEP, compression="zlib")[:-40], "broken|breaks off"), (fits(DEEP)[:3000], "breaks off"), (fits(DEEP)[:100], "broken|breaks|no image"),
    (npy(DEEP)[:150], "breaks off"), (npy(DEEP)[:20], "breaks off"), (_header((10**9, 10**9)) + bytes(100), "breaks off"),
    (npy(np.array([{"a": 1}], object)), "Python objects"), (npy(np.array(["a"])), "no plain numbers"), (npy(DEEP.reshape(16, 4)), r"is an array of 16×4, but image is Tensor\[8, 8, 1\]"),
    (npy(np.full((8, 8), np.nan)), "missing or infinite"), (tiff(np.zeros((9000, 9000), np.uint8)), "million"), (fits(np.zeros((2, 9000, 9000), np.uint8)), "million"),
])
def test_what_is_broken_or_too_large_is_said_so(content, reason):
    with pytest.raises(Fault, match=reason):
        converted(content, 8, 8, 1)


def test_a_folder_of_arrays_and_one_of_deep_tiffs_are_learned(tmp_path):
    from easeml.trainer.predict import Predictor
    from easeml.trainer.runner import run
    rng = np.random.default_rng(1)
    cells = program([{"name": "cell", "tensor": [6, 6, 2]}], [{"name": "state", "classes": ["alive", "dead"]}])

    def cell(i: int) -> np.ndarray:
        return (rng.random((6, 6, 2)) * 1000 + 40000 * (i % 2)).astype(np.uint16)
    for name, save in (("npy", npy), ("tif", lambda v: tiff(np.moveaxis(v, -1, 0), photometric="minisblack"))):
        files = {f"{'dead' if i % 2 else 'alive'}/{i:03d}.{name}": save(cell(i)) for i in range(60)}
        fed = feed(tmp_path / name, cells, tar(tmp_path / f"{name}.tar", files), names=["cells/"])
        assert fed.ok and fed.profile["examples"]["accepted"] == 60, fed.last
        folder = trial(tmp_path / f"trial-{name}", fed, version(tmp_path / f"data-{name}", fed), cells, choose(fed, cells)["logistic.c1"])
        assert run(folder) == 0 and result(folder)["quality"] > 0.9
        out = tmp_path / "answers.ndjson"
        new = tar(tmp_path / "new.tar", {f"{i}.{name}": save(cell(i)) for i in range(4)})
        reply = Predictor(folder / "model").reply(json.dumps({"id": 1, "sources": [{"name": "new/", "path": str(new)}], "out": str(out)}).encode())
        assert reply["done"]["answers"] == 4
        assert [json.loads(x)["answer"]["state"] for x in out.read_text().splitlines()] == ["alive", "dead"] * 2


def test_a_spreadsheet_beside_the_pictures(tmp_path):
    import openpyxl
    book = openpyxl.Workbook()
    book.active.append(["Picture", "state"])
    files = {}
    for i in range(20):
        files[f"img/{i}.tif"] = tiff(DEEP + i)
        book.active.append([f"img/{i}.tif", "alive" if i % 2 else "dead"])
    out = io.BytesIO()
    book.save(out)
    files["labels.xlsx"] = out.getvalue()
    cells = program([{"name": "cell", "tensor": [8, 8, 1]}], [{"name": "state", "class_count": 2}])
    fed = feed(tmp_path / "1", cells, tar(tmp_path / "t", files), names=["cells/"])
    assert fed.ok and fed.profile["classes"] == {"alive": 10, "dead": 10}, fed.last
