"""A file of a name that was fed before: what is new, which labels it corrects, what is gone; corrected labels are known."""

from __future__ import annotations

import pyarrow as pa

from folders import SHOP, feed, shop_rows, write_csv


def test_a_changed_file(tmp_path):
    rows, other = shop_rows(100), {"pen": "book", "book": "pen"}
    first = feed(tmp_path / "one", SHOP, write_csv(tmp_path / "shop.csv", rows))
    assert first.profile["changed"] is None

    def known(**changes) -> str:
        t = pa.ipc.open_file(str(first.folder / "index.arrow")).read_all().drop_columns(["row"])
        labels, corrected = t.column("label").to_pylist(), [False] * len(t)
        for number, label in changes.get("labels", {}).items():
            labels[number - 1], corrected[number - 1] = label, True
        t = t.set_column(t.schema.get_field_index("label"), "label", pa.array(labels)).append_column("on", pa.array([True] * len(t))) \
            .append_column("corrected", pa.array(corrected))
        path = tmp_path / f"known{len(list(tmp_path.iterdir()))}.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, t.schema) as w:
            w.write_table(t)
        return str(path)

    def again(folder: str, rows: list[dict], name: str = "shop.csv", **changes):
        path = write_csv(tmp_path / f"{folder}.csv", rows)
        return feed(tmp_path / folder, SHOP, path, names=[name], known=known(**changes), first_number=101, target=first.profile["target"])

    changed = [*rows[:40], {**rows[40], "kind": other[rows[40]["kind"]]}, *rows[41:95], *shop_rows(12, seed=5)]
    fed = again("two", changed)
    assert fed.profile["examples"] == {"read": 107, "accepted": 12, "known": 95, "rejected": 0}
    assert fed.profile["changed"] == {"relabeled": 0, "gone": [96, 97, 98, 99, 100], "corrected": [
        {"number": 41, "from": rows[40]["kind"], "to": other[rows[40]["kind"]]}]}
    # With the same input twice in the file nobody knows which of them is meant: it is a new example.
    twice = again("twice", [*changed, changed[40]])
    assert twice.profile["examples"]["accepted"] == 14
    assert twice.profile["changed"] == {"relabeled": 2, "gone": [41, 96, 97, 98, 99, 100], "corrected": []}
    assert again("other", changed, name="more.csv").profile["changed"] is None  # another file takes nothing back
    assert again("same", rows).profile["changed"] == {"relabeled": 0, "gone": [], "corrected": []}
    # A label that was corrected is known as it was fed, and as it is now.
    now = {41: other[rows[40]["kind"]]}
    assert again("fed", rows, labels=now).profile["examples"] == {"read": 100, "accepted": 0, "known": 100, "rejected": 0}
    mended = again("mended", changed[:41] + rows[41:], labels=now)
    assert mended.profile["examples"]["accepted"] == 0 and mended.profile["changed"] == {"relabeled": 0, "gone": [], "corrected": []}
