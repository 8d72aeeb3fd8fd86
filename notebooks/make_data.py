"""Makes the files that the example notebooks feed, beside this script, from data that scikit-learn and scikit-image ship.

Idempotent: equal input gives equal bytes, and a file that is there already with the same bytes is left alone.
"""

import io
import pathlib
import zipfile

import numpy as np
import pandas as pd
from PIL import Image
from skimage import color, data
from skimage.transform import downscale_local_mean
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import train_test_split

HERE = pathlib.Path(__file__).parent


def put(name: str, content: bytes) -> bool:
    path = HERE / name
    if path.exists() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if path.parent == HERE:
        print("made", path.name)
    return True


def npz(**arrays: np.ndarray) -> bytes:
    """An NPZ without the time of day in it, so that the same arrays are the same file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0)), member.getvalue(), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def digits() -> None:
    data = load_digits()
    images, labels = data.images[..., None].astype(np.float32), data.target.astype(np.int64)
    fed, new = train_test_split(np.arange(len(labels)), test_size=360, stratify=labels, random_state=0)
    fed, new = np.sort(fed), np.sort(new)
    put("digits.npz", npz(image=images[fed], digit=labels[fed]))
    put("digits-new.npz", npz(image=images[new]))
    put("digits-new-labels.npz", npz(digit=labels[new]))


def penguins() -> None:
    table = pd.read_csv(HERE / "penguins.csv", dtype=str, keep_default_na=False)
    fed, new = train_test_split(np.arange(len(table)), test_size=68, stratify=table["species"], random_state=0)
    for name, rows in (("penguins-fed.csv", np.sort(fed)), ("penguins-new.csv", np.sort(new))):
        put(name, table.iloc[rows].to_csv(index=False, lineterminator="\n").encode())


def textures() -> None:
    """25 crops of each of eight pictures that scikit-image ships, from a grid: none overlaps another.

    The crops are 32 × 32 pixels, a PNG each in textures/KIND/; in textures.npz at half that, 16 × 16.
    """
    pictures = {
        "brick": data.brick(), "grass": data.grass(), "gravel": data.gravel(), "moon": data.moon(), "coins": data.coins(),
        "page": data.page(), "tissue": color.rgb2gray(data.immunohistochemistry()), "stars": color.rgb2gray(data.hubble_deep_field()),
    }
    images, labels, made = [], [], 0
    for label, picture in pictures.items():
        grey = picture if picture.dtype == np.uint8 else (picture * 255).round().astype(np.uint8)
        for row in range(5):
            for column in range(5):
                top, left = row * (grey.shape[0] // 5), column * (grey.shape[1] // 5)
                crop = grey[top:top + 32, left:left + 32]
                png = io.BytesIO()
                Image.fromarray(crop).save(png, "PNG", optimize=True)
                made += put(f"textures/{label}/{5 * row + column + 1:02d}.png", png.getvalue())
                images.append(downscale_local_mean(crop, (2, 2)).round().astype(np.uint8))
                labels.append(label)
    put("textures.npz", npz(image=np.stack(images)[..., None], texture=np.array(labels)))
    if made:
        print("made textures/ with", len(labels), "pictures")


def diabetes() -> None:
    table = load_diabetes(as_frame=True, scaled=False).frame.rename(columns={"target": "progression"})
    put("diabetes.csv", table.to_csv(index=False, lineterminator="\n").encode())


if __name__ == "__main__":
    digits()
    penguins()
    textures()
    diabetes()
