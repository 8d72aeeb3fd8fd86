"""Pictures as outputs: masks are fed as two columns of paths, or as arrays; they are learned pixel by pixel and answered as numbers."""

from __future__ import annotations

import json

import numpy as np

from folders import choose, feed, program, result, trial, version
from test_decode import tiff
from test_pictures import png, tar

MASKS = program([{"name": "photo", "tensor": [12, 12, 1]}], [{"name": "mask", "tensor": [12, 12, 1]}])


def scenes(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Bright squares in noise, and where they are."""
    rng = np.random.default_rng(0)
    photo, mask = rng.integers(0, 90, (n, 12, 12)).astype(np.uint8), np.zeros((n, 12, 12), np.uint8)
    for i in range(n):
        y, x = rng.integers(0, 7, 2)
        photo[i, y:y + 5, x:x + 5] += 100
        mask[i, y:y + 5, x:x + 5] = 255
    return photo, mask


def test_masks_are_fed_learned_and_answered(tmp_path):
    from easeml.trainer.predict import Predictor
    from easeml.trainer.runner import run
    photo, mask = scenes()
    files = {f"in/{i}.png": png(v) for i, v in enumerate(photo)} | {f"out/{i}.tif": tiff(v) for i, v in enumerate(mask)}
    files["out/7.tif"] = b"II*\0"
    files["pairs.csv"] = ("photo,mask\n" + "".join(f"in/{i}.png,out/{i}.tif\n" for i in range(40)) + "in/1.png,out/99.tif\nin/2.png,\n").encode()
    fed = feed(tmp_path / "1", MASKS, tar(tmp_path / "t", files), names=["masks/"])
    assert fed.ok and fed.profile["examples"]["accepted"] == 39 and fed.profile["target"]["kind"] == "numbers", fed.last
    assert [(r["column"], r["reason"].split()[0]) for r in fed.rejects] == [("mask", "is"), ("mask", "isn't"), ("mask", "mask")]
    assert (np.array(fed.examples["mask"][3]).reshape(12, 12) == mask[3]).all()
    again = feed(tmp_path / "2", MASKS, tmp_path / "t", names=["masks/"], target=fed.profile["target"], known=fed.known(), first_number=40)
    assert again.profile["examples"]["known"] == 39
    offered = choose(fed, MASKS)
    assert set(offered) == {"dummy", "pixels.ridge", "pixels.trees"}
    data = version(tmp_path / "data", fed)
    got = {}
    for id in offered:
        folder = trial(tmp_path / id, fed, data, MASKS, offered[id])
        assert run(folder) == 0
        got[id] = result(folder)["quality"]
    assert got["dummy"] < 0.1 < 0.6 < got["pixels.ridge"] and got["pixels.trees"] > 0.7, got
    out = tmp_path / "answers.ndjson"
    (tmp_path / "new.json").write_text(json.dumps([{"photo": photo[3].tolist()}]))
    reply = Predictor(tmp_path / "pixels.trees" / "model").reply(json.dumps({"id": 1, "sources": [{"name": "new.json", "path": str(tmp_path / "new.json")}], "out": str(out)}).encode())
    assert reply["done"]["answers"] == 1, reply
    answer = np.array(json.loads(out.read_text())["answer"]["mask"]).reshape(12, 12)
    assert ((answer > 127) == (mask[3] > 0)).mean() > 0.9


def test_arrays_of_masks(tmp_path):
    photo, mask = scenes()
    np.savez(tmp_path / "a.npz", photo=photo, mask=mask)
    fed = feed(tmp_path / "1", MASKS, tmp_path / "a.npz")
    assert fed.ok and fed.profile["examples"]["accepted"] == 40, fed.last
    half = program(MASKS["input"]["fields"], [{"name": "mask", "tensor": [6, 6, 1]}])
    np.savez(tmp_path / "b.npz", photo=photo, mask=mask[:, ::2, ::2])
    assert set(choose(feed(tmp_path / "2", half, tmp_path / "b.npz"), half)) == {"dummy"}
