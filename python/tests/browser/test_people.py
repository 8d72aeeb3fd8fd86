"""Two people in JupyterLabs of their own at one server: neither sees the other, and the server's end and return harm neither.

The tests are chapters and run in this order.
"""

from __future__ import annotations

import pathlib
import re
import signal

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need Python's playwright: make env")

from playwright.sync_api import expect  # noqa: E402

from conftest import Lab, Server  # noqa: E402
from notebook import SLOW, Notebook  # noqa: E402

PICTURES = pathlib.Path(__file__).resolve().parents[3] / "build" / "browser"
SETTLED = re.compile(r"likely final|all candidates tried")
SEARCH = 300_000  # ms that a whole search may take where others compute too

DIGITS = "schema digits {input: {[image :: Tensor[8, 8, 1]], []}, output: {[digit :: Class[10]], []}}"
PENGUINS = (
    'schema penguins {input: {[bill_length_mm :: Tensor[1], bill_depth_mm :: Tensor[1], flipper_length_mm :: Tensor[1]], []},'
    ' output: {[species :: Class["Adelie", "Chinstrap", "Gentoo"]], []}}'
)
AWAY, BACK = "The server hasn't answered since", re.compile(r"Back at \d\d:\d\d:\d\d\.")

# Counts how often the page began to say a sentence.
COUNT = """sentence => {
  const holds = () => Array.from(document.querySelectorAll('.jp-OutputArea-output')).filter(e => e.textContent.includes(sentence)).length;
  window.said = {now: 0, times: 0};
  const look = () => {
    const now = holds();
    if (now > window.said.now) window.said.times += now - window.said.now;
    window.said.now = now;
  };
  look();
  new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""


class Scene:
    """What the chapters share: the server, and each person's notebook."""

    def __init__(self, home: pathlib.Path, browser):
        self.server = Server(home / "server")
        self.labs: list[Lab] = []
        self.ada, self.ben = (self._person(home, browser, user) for user in ("ada", "ben"))
        self.watch = 0  # Ada's cell with the chart

    def _person(self, home: pathlib.Path, browser, user: str) -> Notebook:
        lab = Lab(home / user, self.server, user)
        self.labs.append(lab)
        return Notebook.create(browser.new_page(), lab.url)

    def said(self, book: Notebook) -> dict:
        return book.page.evaluate("window.said")

    def close(self) -> None:
        for lab in self.labs:
            lab.close()
        self.server.end(signal.SIGTERM)


@pytest.fixture(scope="module")
def scene(programs, browser, tmp_path_factory):
    scene = Scene(tmp_path_factory.mktemp("people"), browser)
    yield scene
    scene.close()


def test_each_sees_their_own_tasks(scene):
    ada, ben = scene.ada, scene.ben
    ada.run(f"{DIGITS}; feed digits \"digits.npz\"")
    scene.watch = ada.run("watch digits")
    cell = ben.run(f"{PENGUINS}; feed penguins \"penguins.csv\" output species; stop penguins")  # the machine is Ada's now
    expect(ben.output(cell).last).to_contain_text("stopped")

    for book, own, foreign in ((ada, "digits", "penguins"), (ben, "penguins", "digits")):
        cell = book.run("tasks all")
        expect(book.output(cell)).to_contain_text(own)
        expect(book.output(cell)).not_to_contain_text(foreign)


@pytest.mark.parametrize("statement", ["best digits", "best ada/digits", "watch ada/digits", "stop ada/digits", "drop ada/digits yes", "refine ada/digits off 1"])
def test_the_others_task_is_not_there(scene, statement):
    cell = scene.ben.run(statement)
    task = statement.split()[1]
    expect(scene.ben.output(cell)).to_contain_text(f"There is no task {task}.")
    scene.ben.idle()


def test_completion_knows_only_ones_own(scene):
    scene.ben.write("watch ")
    found = scene.ben.complete()
    assert "penguins" in found and "digits" not in found, found
    scene.ben.page.keyboard.press("Escape")
    scene.ben.page.keyboard.type("all")
    scene.ben.start()


def test_a_lost_server_is_said_once(scene):
    ada = scene.ada
    expect(ada.title(scene.watch)).to_contain_text("right in the search", timeout=SLOW)  # the search has begun
    ada.page.evaluate(COUNT, AWAY)
    scene.server.end(signal.SIGKILL)
    expect(ada.table(scene.watch)).to_contain_text(AWAY, timeout=SLOW)
    expect(ada.table(scene.watch)).to_contain_text("Your search goes on there, nothing is lost. Trying again …")
    expect(ada.title(scene.watch)).to_contain_text("right in the search")  # the chart stays
    PICTURES.mkdir(parents=True, exist_ok=True)
    ada.page.screenshot(path=PICTURES / "lost.png")
    # What needs the server says so, with what to do.
    cell = ada.run("tasks")
    expect(ada.output(cell)).to_contain_text("does not answer.")
    expect(ada.output(cell)).to_contain_text("Nothing is lost there; run the cell again when it is back.")
    assert scene.said(ada) == {"now": 1, "times": 1}


def test_the_chart_goes_on_when_the_server_is_back(scene):
    ada = scene.ada
    ada.listen()
    scene.server.start()
    expect(ada.table(scene.watch)).to_contain_text(BACK, timeout=SLOW)
    expect(ada.table(scene.watch)).not_to_contain_text(AWAY)
    ada.page.screenshot(path=PICTURES / "back.png")
    expect(ada.title(scene.watch)).to_contain_text(SETTLED, timeout=SEARCH)
    expect(ada.table(scene.watch)).to_contain_text("Stopped by itself; it wakes when you feed.", timeout=SLOW)
    assert scene.said(ada) == {"now": 0, "times": 1}
    titles = ada.page.evaluate("window.seen")
    assert len(titles) > 1 and not any(t["running"] for t in titles[1:]), titles
    expect(ada.table(scene.watch)).not_to_contain_text(BACK)  # what is saved is the final state


def test_the_other_notebook_goes_on_as_if_nothing_had_been(scene):
    cell = scene.ben.run("print penguins.examples, penguins.state; tasks")
    expect(scene.ben.output(cell).first).to_have_text("344 settled")
    expect(scene.ben.output(cell).last).to_contain_text("penguins")
    expect(scene.ben.output(cell).last).not_to_contain_text("digits")
