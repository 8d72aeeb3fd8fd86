"""Pictures as outputs: masks are fed as two columns of paths, or as arrays; they are learned pixel by pixel and answered as their values."""

from __future__ import annotations

import json

import numpy as np
import pytest

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
    assert fed.ok and fed.profile["examples"]["accepted"] == 39 and fed.profile["target"] == {"kind": "masks", "labels": ["0", "255"]}, fed.last
    assert fed.profile["metric"]["name"] == "iou" and "mask has 2 different values (0, 255): each pixel is read as one of 2 classes (as numbers: declare it with metric = mae)" in fed.profile["read_as"]
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
        got[id] = result(folder)
    quality = {id: r["quality"] for id, r in got.items()}
    # Never a square, as most pixels mostly are none: of two classes one is found where it is, the other nowhere.
    assert quality["dummy"] == pytest.approx(fed.profile["guess"]["quality"], abs=0.02) and quality["dummy"] < 0.5 < 0.75 < quality["pixels.ridge"] < quality["pixels.trees"], quality
    r = got["pixels.trees"]
    low, high = r["quality_interval"]
    assert low <= r["quality"] <= high and r["metrics"]["guess"] == pytest.approx(quality["dummy"], abs=0.02) and r["metrics"]["pixel_accuracy"] > 0.9
    out = tmp_path / "answers.ndjson"
    (tmp_path / "new.json").write_text(json.dumps([{"photo": photo[3].tolist()}]))
    reply = Predictor(tmp_path / "pixels.trees" / "model").reply(json.dumps({"id": 1, "sources": [{"name": "new.json", "path": str(tmp_path / "new.json")}], "out": str(out)}).encode())
    assert reply["done"]["answers"] == 1, reply
    answer = np.array(json.loads(out.read_text())["answer"]["mask"]).reshape(12, 12)
    assert set(np.unique(answer)) <= {0, 255} and (answer == mask[3]).mean() > 0.9


def test_arrays_of_masks(tmp_path):
    photo, mask = scenes()
    np.savez(tmp_path / "a.npz", photo=photo, mask=mask)
    fed = feed(tmp_path / "1", MASKS, tmp_path / "a.npz")
    assert fed.ok and fed.profile["examples"]["accepted"] == 40, fed.last
    half = program(MASKS["input"]["fields"], [{"name": "mask", "tensor": [6, 6, 1]}])
    np.savez(tmp_path / "b.npz", photo=photo, mask=mask[:, ::2, ::2])
    offered = choose(feed(tmp_path / "2", half, tmp_path / "b.npz"), half)  # not as high and wide as the input: learned as a whole
    assert {"dummy", "ridge.a1", "knn.5"} <= set(offered) and not any(id.startswith("pixels") for id in offered)


@pytest.mark.parametrize("inputs,outputs", [([{"name": "x", "tensor": [2, 2, 2, 2]}], [3, 3, 3, 3]), ([{"name": "x", "tensor": [4]}, {"name": "z", "tensor": [3, 4]}], [5, 6, 1])])
def test_outputs_of_any_shape_are_the_last_resort(tmp_path, inputs, outputs):
    """Arrays from arrays, by what learns many numbers at once."""
    from easeml.trainer.runner import run
    rng = np.random.default_rng(0)
    prog = program(inputs, [{"name": "y", "tensor": outputs}])
    arrays = {f["name"]: rng.normal(size=(80, *f["tensor"])) for f in inputs}
    flat = np.concatenate([a.reshape(80, -1) for a in arrays.values()], axis=1)
    y = (flat @ rng.normal(size=(flat.shape[1], int(np.prod(outputs))))).reshape(80, *outputs)
    np.savez(tmp_path / "a.npz", **arrays, y=y)
    fed = feed(tmp_path / "1", prog, tmp_path / "a.npz")
    assert fed.ok and fed.profile["target"]["kind"] == "numbers", fed.last
    offered = choose(fed, prog)
    assert {c["family"] for c in offered.values()} == {"dummy", "linear", "knn"}
    assert run(trial(tmp_path / "t", fed, version(tmp_path / "data", fed), prog, offered["ridge.a0.01"])) == 0
    assert result(tmp_path / "t")["quality"] > 0.9


def test_a_later_feed_may_bring_a_class_but_no_shades(tmp_path):
    photo, mask = scenes()
    np.savez(tmp_path / "a.npz", photo=photo, mask=mask)
    first = feed(tmp_path / "1", MASKS, tmp_path / "a.npz")
    more = mask.copy()
    more[0, :3] = 128
    np.savez(tmp_path / "b.npz", photo=photo[::-1], mask=more)
    second = feed(tmp_path / "2", MASKS, tmp_path / "b.npz", target=first.profile["target"], known=first.known(), first_number=41)
    assert second.profile["target"]["labels"] == ["0", "255", "128"] and not second.rejects
    more[5] = np.arange(144).reshape(12, 12)
    np.savez(tmp_path / "c.npz", photo=photo + 1, mask=more)
    third = feed(tmp_path / "3", MASKS, tmp_path / "c.npz", target=first.profile["target"], known=first.known(), first_number=41)
    assert {r["row"] for r in third.rejects} == {0, 5} and third.rejects[1]["reason"] == "mask has pixels of 1, but its classes are 0, 255" and third.rejects[1]["column"] == "mask"


@pytest.mark.parametrize("levels,metric,kind", [(2, None, "masks"), (17, None, "numbers"), (17, "iou", "masks"), (2, "mae", "numbers"), (200, None, "numbers")])
def test_what_is_a_mask(tmp_path, levels, metric, kind):
    """Two values are classes, shades are not; the metric may say otherwise."""
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "a.npz", photo=rng.integers(0, 255, (40, 12, 12)), mask=rng.integers(0, levels, (40, 12, 12)))
    fed = feed(tmp_path / "1", MASKS, tmp_path / "a.npz", **({"metric": metric} if metric else {}))
    assert fed.ok and fed.profile["target"]["kind"] == kind, fed.last
    assert fed.profile["metric"]["name"] == (metric or {"masks": "iou", "numbers": "r2"}[kind])


def test_regions_of_many_classes_are_a_mask(tmp_path):
    classes = np.repeat(np.repeat(np.arange(9).reshape(3, 3), 4, axis=0), 4, axis=1)
    np.savez(tmp_path / "a.npz", photo=np.random.default_rng(0).integers(0, 255, (40, 12, 12)), mask=np.stack([np.roll(classes, i, axis=0) for i in range(40)]))
    fed = feed(tmp_path / "1", MASKS, tmp_path / "a.npz")
    assert fed.profile["target"]["labels"] == [str(c) for c in range(9)]


def test_masks_keep_their_values_where_the_size_changes(tmp_path):
    photo, mask = scenes(20)
    big = [np.kron(m, np.ones((3, 3), np.uint8)) for m in mask]
    files = {f"in/{i}.png": png(v) for i, v in enumerate(photo)} | {f"out/{i}.png": png(v) for i, v in enumerate(big)}
    files["pairs.csv"] = ("photo,mask\n" + "".join(f"in/{i}.png,out/{i}.png\n" for i in range(20))).encode()
    fed = feed(tmp_path / "1", MASKS, tar(tmp_path / "t", files), names=["masks/"])
    assert fed.profile["target"]["labels"] == ["0", "255"] and (np.array(fed.examples["mask"][3]).reshape(12, 12) == mask[3]).all()
