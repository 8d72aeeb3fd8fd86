"""Small habits in both of Jupyter's pages, JupyterLab and Notebook 7: a word is completed and explained, help opens, a
question is answered, a cell that waits is interrupted, and the rest of Run All with it."""

from __future__ import annotations

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

pytest.importorskip("playwright.sync_api", reason="the browser tests need Python's playwright: make env")

from playwright.sync_api import expect  # noqa: E402

from notebook import ENDED, SLOW, Notebook  # noqa: E402

CELLS = [
    "schema habits {input: {[a :: Tensor[1]], []}, output: {[kind :: Class[2]], []}}",
    "help feed",
    "# 😀 e\u0301 한\nbest hab",
    "drop habits",
    "print habits.examples",
    "wait habits until 5m",
    'print "never"',
]


@pytest.mark.parametrize("where", ["/notebooks/{}", "/lab/workspaces/habits/tree/{}?reset"], ids=["notebook", "lab"])
def test_habits(browser, lab, where):
    name = f"habits-{len(where)}.ipynb"
    metadata = {"kernelspec": {"name": "easeml", "display_name": "easeml", "language": "easeml"}}
    nbformat.write(new_notebook(cells=[new_code_cell(c) for c in CELLS], metadata=metadata), lab.work / name)
    page = browser.new_page()
    page.goto(lab.url + where.format(name))
    book = Notebook(page)
    book.cell(len(CELLS) - 1).wait_for(timeout=SLOW)
    while not any(s["path"] == name and s["kernel"]["execution_state"] == "idle" and s["kernel"]["connections"] for s in lab.api("GET", "sessions")):
        page.wait_for_timeout(100)  # the page's own signs say idle also before there is a kernel
    book.start(0)
    book.ended(0)
    expect(book.output(0)).to_contain_text(re.compile("one of 2 classes|as before"))

    book.start(1)
    book.ended(1)
    expect(book.output(1)).to_contain_text("Give examples to a task.")

    # Completed behind an emoji and a combining mark, in place of what was typed; then explained.
    book.focus(2)
    page.keyboard.press("Control+End")
    assert book.complete("habits")[0] == "habits"
    assert book.source(2).split()[-2:] == ["best", "habits"]
    page.keyboard.press("Shift+Tab")
    expect(page.locator(".jp-Tooltip")).to_contain_text("no examples yet", timeout=SLOW)
    page.keyboard.press("Escape")

    book.start(3)
    box = book.cell(3).locator(".jp-Stdin-input")
    box.wait_for(timeout=SLOW)
    box.fill("no")
    box.press("Enter")
    book.ended(3)
    expect(book.output(3).last).to_contain_text("was not dropped")

    # Three cells at once; the interrupt ends the second, and the third never runs.
    for cell in (4, 5, 6):
        book.start(cell)
    expect(book.output(5)).to_contain_text("waiting", timeout=SLOW)
    expect(book.prompt(6)).to_have_text("[*]:")
    page.keyboard.press("Escape")
    page.keyboard.press("i")
    page.keyboard.press("i")
    book.ended(5)
    expect(book.output(5).last).to_contain_text("the search for habits goes on")
    expect(book.prompt(6)).not_to_have_text(re.compile(r"\*"), timeout=SLOW)
    expect(book.output(6)).to_have_count(0)
    assert ENDED.match(book.prompt(4).inner_text())
    page.close()
