"""Pictures as files: one canonical conversion, folders and tables in tars and zips, limits, and bounded memory."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from easeml.trainer.fault import Fault
from easeml.trainer.picture import Canon
from easeml.trainer.program import Field
from easeml.trainer.readers import archive as archives
from folders import choose, feed, program, result, trial, version

PETS = program([{"name": "image", "tensor": [8, 8, 1]}], [{"name": "pet", "classes": ["cat", "dog"]}])


def png(values, mode: str | None = None, **options) -> bytes:
    """An array, or a picture, as a PNG's bytes."""
    picture = values if isinstance(values, Image.Image) else Image.fromarray(np.asarray(values))
    if mode:
        picture = picture.convert(mode)
    out = io.BytesIO()
    picture.save(out, options.pop("format", "PNG"), **options)
    return out.getvalue()


def pets(n: int = 40, side: int = 8) -> dict[str, bytes]:
    """Cats are bright at the left, dogs at the right."""
    rng = np.random.default_rng(0)
    files = {}
    for i in range(n):
        values = rng.integers(0, 80, (side, side))
        values[:, : side // 2] += 150 * (i % 2 == 0)
        values[:, side // 2:] += 150 * (i % 2 == 1)
        files[f"{'cat' if i % 2 == 0 else 'dog'}/{i:05d}.png"] = png(values.astype(np.uint8))
    return files


def tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as t:
        for name in sorted(files):
            info = tarfile.TarInfo(name)
            info.size = len(files[name])
            t.addfile(info, io.BytesIO(files[name]))
    return path


def packed(path: Path, files: dict[str, bytes], how=zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", how) as z:
        for name, content in files.items():
            z.writestr(name, content)
    return path


def converted(content: bytes, *shape: int) -> np.ndarray:
    return Canon.of(Field("image", shape)).convert(content).reshape(shape)


def test_one_form_for_every_mode_and_size():
    grey = np.arange(64, dtype=np.uint8).reshape(8, 8) * 3
    assert (converted(png(grey), 8, 8, 1)[..., 0] == grey).all() and (converted(png(grey), 8, 8)[..., ] == grey).all()
    assert (converted(png(grey), 8, 8, 3) == grey[..., None]).all()
    assert (converted(png(grey, "1"), 8, 8, 1) % 255 == 0).all()
    red = Image.new("RGB", (8, 8), (255, 0, 0))
    assert (converted(png(red, "P"), 8, 8, 3) == (255, 0, 0)).all()  # a palette's numbers are no colours
    clear = Image.new("RGBA", (8, 8), (255, 0, 0, 0))
    assert (converted(png(clear), 8, 8, 3) == 255).all() and (converted(png(clear), 8, 8, 1) == 255).all()  # on white
    assert (converted(png(clear), 8, 8, 4)[..., 3] == 0).all() and (converted(png(red), 8, 8, 4)[..., 3] == 255).all()
    assert converted(png(Image.new("LA", (8, 8), (10, 128))), 8, 8, 1)[0, 0, 0] in range(131, 135)
    keyed = Image.new("P", (8, 8), 0)
    keyed.putpalette([255, 0, 0, 0, 255, 0])
    assert (converted(png(keyed, transparency=0), 8, 8, 3) == 255).all()
    deep = np.linspace(0, 65535, 64).astype(np.uint16).reshape(8, 8)
    for shape in ((8, 8, 1), (8, 8, 3)):
        values = converted(png(deep), *shape)
        assert values.dtype == np.float32 and values.max() == 255 and len(np.unique(values)) == 64
    cmyk = converted(png(Image.new("CMYK", (8, 8), (0, 0, 0, 0)), format="JPEG"), 8, 8, 3)
    assert cmyk.min() > 250


def test_the_whole_picture_is_kept_and_turned_upright():
    wide = np.full((10, 40), 200, np.uint8)
    fitted = converted(png(wide), 8, 8, 1)[..., 0]
    assert (fitted[:3] == 0).all() and (fitted[3:5] == 200).all() and (fitted[5:] == 0).all()
    assert (converted(png(np.full((2, 2), 9, np.uint8)), 8, 8, 1) == 9).all()
    marked = np.zeros((8, 8), np.uint8)
    marked[:2] = 255  # bright above
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise: bright at the right
    canon = Canon.of(Field("image", (8, 8, 1)))
    turned = canon.convert(png(marked, exif=exif)).reshape(8, 8)
    assert (turned[:, 6:] == 255).all() and (turned[:, :6] == 0).all() and canon.did["turned"] == 1


@pytest.mark.parametrize("content,reason", [
    (b"", "is empty"), (b"<html>not found</html>", "no picture"), (png(np.zeros((64, 64), np.uint8))[:60], "breaks off"),
    (png(np.random.default_rng(0).integers(0, 255, (64, 64), dtype=np.uint8), format="JPEG")[:700], "breaks off"),
    (b"\x89PNG\r\n\x1a\n", "breaks off"), (png(Image.new("L", (9000, 9000))), "million"), (b"GIF89a", "no picture"),
])
def test_broken_pictures_are_said_so(content, reason):
    with pytest.raises(Fault, match=reason):
        converted(content, 8, 8, 1)


@pytest.mark.parametrize("pack,name", [(tar, "pets/"), (packed, "pets.zip"), (packed, "nested.zip")])
def test_one_folder_a_class(tmp_path, pack, name):
    files = pets()
    files["cat/cut.png"] = files["cat/00000.png"][:50]
    if "nested" in name:
        files = {"all/pets/" + k: v for k, v in files.items()} | {"__MACOSX/all/._x.png": b"x", "all/.DS_Store": b"x"}
    fed = feed(tmp_path / "1", PETS, pack(tmp_path / "blob", files), names=[name])
    assert fed.ok, fed.last
    assert fed.profile["examples"] == {"read": 41, "accepted": 40, "known": 0, "rejected": 1} and fed.profile["classes"] == {"cat": 20, "dog": 20}
    inside = ("all/pets/" if "nested" in name else "") + "cat/"
    reject = fed.rejects[0]
    assert (reject["source"], reject["reason"]) == (name.rstrip("/") + "/" + inside + "cut.png", "breaks off before its end")
    assert "download" in reject["remedy"]
    assert fed.index["source"][0] == name.rstrip("/") + "/" + inside + "00000.png"
    assert any("folder is its pet" in note for note in fed.profile["read_as"])
    first = np.asarray(Image.open(io.BytesIO(next(iter(files.values()))))).reshape(-1)
    assert (np.array(fed.examples["image"][0]) == first).all()
    # The same pictures again, packed in another way, are here already: what counts is each file's bytes.
    other = (packed if pack is tar else tar)(tmp_path / "again", files)
    again = feed(tmp_path / "2", PETS, other, names=["x.zip"], target=fed.profile["target"], known=fed.known(), first_number=41)
    assert again.profile["examples"]["known"] == 40 and again.profile["examples"]["accepted"] == 0
    assert again.profile["parts"] == fed.profile["parts"]


def test_the_hash_is_over_the_files_bytes(tmp_path):
    values = np.full((8, 8), 7, np.uint8)
    files = {"cat/a.png": png(values), "dog/b.png": png(values, compress_level=0)}
    fed = feed(tmp_path / "1", PETS, tar(tmp_path / "t", files), names=["t/"])
    assert fed.examples["image"][0] == fed.examples["image"][1]
    assert fed.index["input_hash"] == [hashlib.sha256(b"P" + hashlib.sha256(files[k]).digest()).hexdigest() for k in sorted(files)]


def test_a_table_beside_the_pictures(tmp_path):
    files = {f"img/{i}.png": v for i, v in enumerate(pets().values())}
    lines = [f"img\\{i}.png;{'cat' if i % 2 == 0 else 'dog'};{i}" for i in range(40)] + ["img/99.png;cat;1", "img/3.png;cow;1", ";dog;2"]
    files["img/cut.png"] = files["img/0.png"][:40]
    files["notes.txt"] = b"hello"
    lines.append("img/cut.png;dog;3")
    files["labels.csv"] = ("Picture;Animal;age\n" + "\n".join(lines) + "\n").encode()
    fed = feed(tmp_path / "1", PETS, tar(tmp_path / "t", files), names=["pets/labels.csv"], using={"image": "Picture", "pet": "Animal"})
    assert fed.ok, fed.last
    assert fed.profile["examples"]["accepted"] == 40
    got = [(r["source"], r["line"], r["column"], r["reason"]) for r in fed.rejects]
    assert got == [("pets/labels.csv", 42, "Picture", "isn't there"), ("pets/labels.csv", 43, "Animal", 'pet "cow", but there are "cat", "dog"'),
                   ("pets/labels.csv", 44, "Picture", "image is missing"), ("pets/img/cut.png", 45, None, "breaks off before its end")]
    assert any("notes.txt" in note for note in fed.profile["read_as"])
    # Without `using` the only column of pictures is found; numbers beside the picture are fields like any other.
    both = program([*PETS["input"]["fields"], {"name": "age", "tensor": [1]}], [{"name": "animal", "class_count": 2}])
    shutil.rmtree(tmp_path / "1")
    lines.remove("img/3.png;cow;1")
    files["labels.csv"] = ("Picture;Animal;age\n" + "\n".join(lines) + "\n").encode()
    fed = feed(tmp_path / "1", both, packed(tmp_path / "z", files), names=["pets.zip"])
    assert fed.ok and fed.examples["age"][5] == [5.0], fed.last
    assert choose(fed, both)


def test_pictures_to_a_number(tmp_path):
    prog = program(PETS["input"]["fields"], [{"name": "age", "tensor": [1]}])
    files = {f"{i}.png": v for i, v in enumerate(pets().values())}
    fed = feed(tmp_path / "0", prog, tar(tmp_path / "f", pets()), names=["pets/"])
    assert "one folder a class, but age is a number" in fed.last["message"]
    files["ages.csv"] = ("file,age\n" + "".join(f"{i}.png,{i / 2}\n" for i in range(40))).encode()
    fed = feed(tmp_path / "1", prog, tar(tmp_path / "t", files), names=["pets/"])
    assert fed.ok and fed.examples["age"][3] == [1.5], fed.last


FAULTS = {
    "unknown folders": ({"katze/1.png": png(np.zeros((8, 8), np.uint8)), "hund/2.png": png(np.ones((8, 8), np.uint8))}, 'none of the folders hund, katze is a class of pet; its classes are "cat", "dog"'),
    "no folders": ({"1.png": png(np.zeros((8, 8), np.uint8))}, "lie in no folder"),
    "no pictures": ({"a/1.dcm": b"x", "a/2.dcm": b"x"}, "it has 2 .dcm files"),
    "another archive": ({"pets/all.zip": b"PK"}, "holds no pictures"),
    "a table alone": ({"pets.csv": b"x,pet\n1,cat\n"}, "holds no pictures"),
    "a wrong table": ({"labels.csv": b"file,pet\nimg/1.png,cat\n", "other/1.png": b"x"}, "names img/1.png, but there is no such picture"),
    "up and away": ({"../1.png": b"x"}, "the path ../1.png leads out of it"),
    "from the root": ({"/etc/1.png": b"x"}, "leads out of it"),
    "another drive": ({"C:\\1.png": b"x"}, "leads out of it"),
}


@pytest.mark.parametrize("case", FAULTS)
@pytest.mark.parametrize("pack", [tar, packed])
def test_faults_are_one_sentence(tmp_path, case, pack):
    files, message = FAULTS[case]
    fed = feed(tmp_path / "1", PETS, pack(tmp_path / "t", files), names=["pets.zip"])
    assert fed.last["type"] == "failed" and message in fed.last["message"] and fed.last["hint"], fed.last
    assert fed.last["message"].count(". ") == 0


def test_a_table_whose_paths_lead_nowhere_says_how_paths_are_written(tmp_path):
    (tmp_path / "t.csv").write_text("file,pet\n" + "".join(f"/home/me/{i}.png,cat\n" for i in range(9)))
    last = feed(tmp_path / "1", PETS, tmp_path / "t.csv").last
    assert last["message"] == "t.csv has no pictures for image: none of its columns holds paths of pictures that lie beside it (file, pet)." and "relative to the table" in last["hint"]


def test_folders_of_a_split_are_said_to_be_one_set(tmp_path):
    files = {f"{part}/{k}": v for i, part in enumerate(("train", "test")) for k, v in list(pets(40).items())[i::2]}
    fed = feed(tmp_path / "1", PETS, tar(tmp_path / "t", files), names=["pets/"])
    assert fed.profile["examples"]["accepted"] == 40 and set(fed.profile["classes"]) == {"cat", "dog"}
    assert "pets/: test, train are one set here; what is kept apart for the test is drawn from all of it" in fed.profile["read_as"]


def test_pictures_of_kinds_that_can_not_be_read_are_told_apart_from_files_that_are_none(tmp_path):
    files = pets(20) | {"cat/phone.HEIC": b"x", "dog/raw.nef": b"x", "dog/notes.txt": b"x"}
    fed = feed(tmp_path / "1", PETS, tar(tmp_path / "t", files), names=["pets/"])
    assert "pets/: 2 pictures are of a kind that can't be read, and left out (phone.HEIC, raw.nef); save them as PNG or TIFF" in fed.profile["read_as"]
    assert "pets/: 1 file that is no picture left out (notes.txt)" in fed.profile["read_as"]


def test_folders_that_are_no_class_are_rejected_by_folder(tmp_path):
    files = pets() | {f"dg/{i}.png": v for i, v in enumerate(list(pets(6).values()))}
    fed = feed(tmp_path / "1", PETS, tar(tmp_path / "t", files), names=["pets/"])
    assert fed.profile["examples"]["accepted"] == 40 and len(fed.rejects) == 6
    assert {(r["source"], r["reason"], r["remedy"]) for r in fed.rejects} == {("pets/dg/", 'pet "dg", but there are "cat", "dog"', 'did you mean "dog"?')}


def test_links_devices_bombs_and_broken_archives_are_refused(tmp_path, monkeypatch):
    def fault(path) -> str:
        shutil.rmtree(tmp_path / "1", ignore_errors=True)
        fed = feed(tmp_path / "1", PETS, path, names=["pets.zip"])
        assert fed.last["type"] == "failed", fed.last
        return fed.last["message"]
    for kind, said in ((tarfile.SYMTYPE, "is a link"), (tarfile.LNKTYPE, "is a link"), (tarfile.CHRTYPE, "no ordinary file"), (tarfile.FIFOTYPE, "no ordinary file")):
        with tarfile.open(tmp_path / "t", "w") as t:
            info = tarfile.TarInfo("cat/1.png")
            info.type, info.linkname = kind, "/etc/passwd"
            t.addfile(info)
        assert said in fault(tmp_path / "t")
    with zipfile.ZipFile(tmp_path / "z", "w") as z:
        link = zipfile.ZipInfo("cat/1.png")
        link.external_attr = 0o120777 << 16
        z.writestr(link, "/etc/passwd")
    assert "is a link" in fault(tmp_path / "z")
    monkeypatch.setattr(archives, "RATIO_FROM", 100_000)
    assert "when unpacked" in fault(packed(tmp_path / "b", {"cat/1.png": bytes(1_000_000)}, zipfile.ZIP_DEFLATED))
    monkeypatch.setattr(archives, "MOST_MEMBERS", 10)
    assert "more than 10 files" in fault(tar(tmp_path / "m", pets()))
    monkeypatch.undo()
    whole = tar(tmp_path / "c", pets()).read_bytes()
    (tmp_path / "c").write_bytes(whole[:20_000])
    assert "not a whole archive" in fault(tmp_path / "c")
    zipped = packed(tmp_path / "d", pets()).read_bytes()
    (tmp_path / "d").write_bytes(zipped[:2000])
    assert "not a whole archive" in fault(tmp_path / "d")
    damaged = bytearray(zipped)
    damaged[120] ^= 255
    (tmp_path / "e").write_bytes(damaged)
    shutil.rmtree(tmp_path / "1", ignore_errors=True)
    fed = feed(tmp_path / "1", PETS, tmp_path / "e", names=["pets.zip"])
    assert fed.ok and len(fed.rejects) == 1 and "damaged" in fed.rejects[0]["reason"]


def test_trained_on_a_folder_and_answered_by_file_name(tmp_path):
    from easeml.trainer.predict import Predictor
    from easeml.trainer.runner import run
    files = pets(80, side=11)
    fed = feed(tmp_path / "1", PETS, tar(tmp_path / "t", files), names=["pets/"])
    assert any("11×11 pixels are fitted whole into 8×8" in note for note in fed.profile["read_as"])
    data = version(tmp_path / "data", fed)
    folder = trial(tmp_path / "trial", fed, data, PETS, choose(fed, PETS)["logistic.c1"])
    assert run(folder) == 0 and result(folder)["quality"] > 0.95
    new = {f"{i}.png": v for i, v in enumerate(list(pets(10, side=11).values()))} | {"z.png": b"<html>"}
    out = tmp_path / "answers.ndjson"
    request = {"id": 1, "sources": [{"name": "new/", "path": str(tar(tmp_path / "n", new))}], "out": str(out)}
    reply = Predictor(folder / "model").reply(json.dumps(request).encode())
    assert reply["done"]["answers"] == 10 and reply["done"]["refused"] == 1, reply
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["values"] for line in lines][:2] == [{"file": "0.png"}, {"file": "1.png"}]
    assert [line["answer"]["pet"] for line in lines[:10]] == ["cat", "dog"] * 5
    assert lines[10]["source"] == "new/z.png" and lines[10]["refused"]["value"] is None and "no picture" in lines[10]["refused"]["reason"]


def _peak(tmp_path: Path, n: int, shape: list[int], side: int) -> int:
    """The peak of private bytes of an ingest of n pictures, watched from outside four hundred times a second."""
    rng = np.random.default_rng(1)
    some = [png(rng.integers(0, 255, (side, side), dtype=np.uint8)) for _ in range(50)]
    files = {f"{'cat' if i % 2 else 'dog'}/{i:05d}.png": some[i % 50] + i.to_bytes(4, "big") for i in range(n)}
    folder = tmp_path / f"ingest-{n}-{shape[0]}"
    folder.mkdir()
    path = tar(tmp_path / f"{n}-{shape[0]}.tar", files)
    spec = {"format": 1, "program": program([{"name": "image", "tensor": shape}], PETS["output"]["fields"]), "target": None,
            "sources": [{"name": "pets/", "path": str(path)}], "output": [], "using": {}, "options": {}, "known": None, "first_number": 1}
    (folder / "ingest.json").write_text(json.dumps(spec))
    process = subprocess.Popen([sys.executable, "-m", "easeml.trainer", "ingest", str(folder)])
    peak = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as f:
                peak = max(peak, sum(int(line.split()[1]) for line in f if line.startswith("Private_")) * 1024)
            process.wait(0.0025)
        except (OSError, subprocess.TimeoutExpired):
            continue
    last = json.loads((folder / "events.jsonl").read_text().splitlines()[-1])
    assert last["type"] == "done" and last["accepted"] == n, last
    return peak


@pytest.mark.models
@pytest.mark.parametrize("shape,side", [([16, 16, 1], 16), ([64, 64, 3], 64)])
def test_ten_thousand_pictures_are_read_in_bounded_memory(tmp_path, shape, side):
    few, many = _peak(tmp_path, 1000, shape, side), _peak(tmp_path, 10_000, shape, side)
    print(f"peak private bytes of an ingest of pictures {shape}: 1,000: {few / 1e6:.0f} MB, 10,000: {many / 1e6:.0f} MB")
    assert many < 2 * few
