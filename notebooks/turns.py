"""Draws who had which device when, from a server's state folder: one line a device, one letter a second.

    python notebooks/turns.py STATE
"""

import pathlib
import sqlite3
import sys

COLUMNS = 90


def main(state: str) -> None:
    db = sqlite3.connect(f"file:{pathlib.Path(state) / 'easeml.db'}?mode=ro", uri=True)
    rows = db.execute("""
        SELECT a.device, a.started / 1e6, a.ended / 1e6, min(u.name || '/' || t.name)
        FROM attempts a JOIN trials r ON r.id = a.trial_id JOIN tasks t ON t.search_id = r.search_id JOIN users u ON u.id = t.user_id
        WHERE a.ended IS NOT NULL GROUP BY a.trial_id, a.number ORDER BY a.started""").fetchall()
    if not rows:
        return
    first, last = min(r[1] for r in rows), max(r[2] for r in rows)
    step = max((last - first) / COLUMNS, 1e-9)
    tasks = sorted({r[3] for r in rows})
    letters = dict(zip(tasks, "ABCDEFGH"))
    print(f"Whose turn it was, a sign for {step:.1f} s: " + ", ".join(f"{letters[t]} {t}" for t in tasks) + ", · nobody")
    for device in sorted({r[0] for r in rows}):
        line = ["·"] * COLUMNS
        for _, started, ended, task in (r for r in rows if r[0] == device):
            for i in range(int((started - first) / step), min(int((ended - first) / step) + 1, COLUMNS)):
                line[i] = letters[task]
        print(f"  {device}  " + "".join(line))


if __name__ == "__main__":
    main(sys.argv[1])
