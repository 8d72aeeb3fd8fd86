"""One story in a real JupyterLab, as a person lives it: declare, feed, watch, interrupt, reload, restart, re-open.

The tests are its chapters and run in this order, on one notebook and one search. Pictures of the last chapter are
left in build/browser, to be looked at.
"""

from __future__ import annotations

import json
import pathlib
import re
from datetime import datetime

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need Python's playwright: make env")

from playwright.sync_api import expect  # noqa: E402

from notebook import SLOW, Notebook  # noqa: E402

PICTURES = pathlib.Path(__file__).resolve().parents[3] / "build" / "browser"
SETTLED = re.compile(r"likely final|all candidates tried")
SEARCH = 400_000  # ms that a whole search may take where others compute too

NONE = "digits · no real model yet"
BEST = re.compile(r"^digits · best so far .* right in the search")


class Story:
    """What the chapters share."""

    def __init__(self, page):
        self.page = page
        self.book: Notebook
        self.watch = 0  # the cell with the chart
        self.redraws: list[tuple[str, datetime]] = []  # which display, when its kernel sent it
        page.on("websocket", lambda socket: socket.on("framereceived", self._received))

    def _received(self, frame) -> None:
        data = frame if isinstance(frame, bytes) else frame.encode()
        if b"update_display_data" not in data:
            return
        display = re.search(rb'"display_id": ?"(easeml-(?:chart|table)-[^"]+)"', data)
        date = re.search(rb'"date": ?"([^"]+)"', data)
        if display and date:
            self.redraws.append((display[1].decode(), datetime.fromisoformat(date[1].decode())))

    def title(self):
        return self.book.title(self.watch)

    def seen(self) -> list[dict]:
        """The titles that the chart has had since the page was opened, and whether a cell ran when each came."""
        return self.page.evaluate("window.seen")


@pytest.fixture(scope="module")
def story(browser):
    return Story(browser.new_page())


def test_a_schema_is_typed_with_tab(story, lab):
    book = story.book = Notebook.create(story.page, lab.url)
    keyboard = story.page.keyboard
    # JupyterLab puts words of its own after those of the kernel.
    book.write("sch")
    assert book.complete("schema")[0] == "schema"
    keyboard.type(" digits {inp")
    assert book.complete("input")[0] == "input"
    keyboard.type(": {[image :: Ten")
    assert book.complete("Tensor")[0] == "Tensor"
    keyboard.type("[8, 8, 1]], []},\noutput: {[digit :: Cl")
    assert book.complete("Class")[0] == "Class"
    keyboard.type("[10]], []}}")
    book.start(0)
    book.ended(0)
    expect(book.output(0)).to_contain_text("pictures of 8×8, 1 channel → one of 10 classes")
    expect(book.output(0)).to_contain_text("No examples yet, nothing runs.")


def test_a_fault_is_shown_in_the_cell(story):
    cell = story.book.run("best dgits")
    expect(story.book.output(cell)).to_contain_text("There is no task dgits. Did you mean digits?")
    story.book.idle()


def test_the_chart_moves_while_another_cell_runs(story):
    book, keyboard = story.book, story.page.keyboard
    story.watch = book.run("watch digits")
    expect(story.title()).to_have_text(NONE, timeout=SLOW)
    book.listen()

    feed = book.write('feed digits "dig')
    found = book.complete('digits.npz"')
    assert 'digits-new.npz"' in found
    keyboard.type('\nwait digits until quality >= 0.5 or 5m')
    book.start(feed)
    expect(book.prompt(feed)).to_have_text("[*]:")
    book.ended(feed, SEARCH)
    expect(book.output(feed).first).to_contain_text("1,437 examples taken, 0 rejected")
    expect(book.output(feed).last).to_contain_text("quality >= 0.5 holds")

    expect(story.title()).to_contain_text("right in the search")
    first, second = story.seen()[:2]
    assert first["title"] == NONE
    assert BEST.match(second["title"]) and second["running"], second


def test_the_chart_moves_when_no_cell_runs(story, lab):
    lab.say("stop digits")  # somebody else, e.g. the same person in a terminal
    expect(story.title()).to_contain_text("stopped by you", timeout=SLOW)
    expect(story.book.table(story.watch)).to_contain_text("resume digits")
    assert story.seen()[-1]["running"] is False
    lab.say("resume digits")
    expect(story.title()).not_to_contain_text("stopped by you", timeout=SLOW)
    assert story.seen()[-1]["running"] is False


def test_an_interrupted_wait_does_no_harm(story):
    book = story.book
    cell = book.write("wait digits until 30m")
    book.start(cell)
    expect(book.output(cell).first).to_contain_text("waiting until 30m", timeout=SLOW)
    book.press("interrupt")
    book.ended(cell)
    expect(book.output(cell).last).to_contain_text("the search for digits goes on")
    after = book.run("print digits.examples")
    expect(book.output(after)).to_have_text("1437")
    state = book.run("digits.state")
    expect(book.output(state)).to_have_text(re.compile("searching|settled"))


def test_after_a_reload_watch_attaches_again(story, lab):
    book, page = story.book, story.page
    book.save("story.ipynb")
    page.reload()
    book.ready()
    expect(story.title()).to_have_text(re.compile("^digits · .* right in the search"), timeout=SLOW)  # as it was saved
    book.rerun(story.watch)
    book.listen()
    lab.say("stop digits")
    expect(story.title()).to_contain_text("stopped by you", timeout=SLOW)
    lab.say("resume digits")
    expect(story.title()).not_to_contain_text("stopped by you", timeout=SLOW)
    assert [s["running"] for s in story.seen()[1:]] == [False] * (len(story.seen()) - 1)


def test_after_a_restart_watch_attaches_again(story, lab):
    book, page = story.book, story.page
    book.press("restart")
    with page.expect_response(re.compile("/api/kernels/.*/restart"), timeout=SLOW):
        page.locator(".jp-Dialog .jp-mod-accept").click()
    book.idle()
    book.rerun(story.watch)
    expect(book.prompt(story.watch)).to_have_text("[1]:")  # a new kernel
    book.listen()
    lab.say("stop digits")
    expect(story.title()).to_contain_text("stopped by you", timeout=SLOW)
    lab.say("resume digits")
    expect(story.title()).to_contain_text(SETTLED, timeout=SEARCH)
    expect(book.table(story.watch)).to_contain_text("Stopped by itself; it wakes when you feed.", timeout=SLOW)
    assert not any(s["running"] for s in story.seen())


def test_at_most_two_redraws_a_second(story):
    by_display: dict[str, list[datetime]] = {}
    for display, at in story.redraws:
        by_display.setdefault(display, []).append(at)
    assert len(story.redraws) > 12
    for display, times in by_display.items():
        # A cell's end draws at once what is pending, so that what was recorded by then is whole. Several short cells may end
        # within a second: of eight intervals half may be shorter for that, the others are half a second each.
        for early, late in zip(times, times[8:]):
            assert (late - early).total_seconds() >= 1.95, (display, early, late)


def test_pictures_are_shown_on_request_only(story):
    book = story.book
    assert book.panel.locator(".jp-OutputArea-output img").count() == 0
    cell = book.run("refine digits show 1..30")
    pictures = book.output(cell).locator("img")
    expect(pictures).to_have_count(24)
    expect(book.output(cell)).to_contain_text("refine digits show 25..30")
    assert pictures.first.evaluate("e => [e.complete, e.naturalWidth, e.naturalHeight]") == [True, 64, 64]


def test_nothing_is_drawn_where_nothing_changes(story):
    book = story.book
    book.chart(story.watch).evaluate("e => { e.dataset.same = 'yes' }")
    before = len(story.redraws)
    cell = book.run("wait digits until 3s")  # three seconds in which a settled search does nothing
    expect(book.output(cell).last).to_contain_text("3s")
    assert story.redraws[before:] == []
    assert book.chart(story.watch).get_attribute("data-same") == "yes"


def test_the_saved_notebook_opens_in_its_final_state(story, browser, lab):
    book = story.book
    book.save()
    content = lab.api("GET", "contents/story.ipynb")["content"]
    chart, table = content["cells"][story.watch]["outputs"]
    assert {"application/vnd.vegalite.v5+json", "image/png", "text/plain"} <= set(chart["data"])
    assert SETTLED.search("".join(table["data"]["text/plain"]))

    # The same from somebody else: changed outside, so Jupyter doesn't trust it.
    content["cells"].append({"cell_type": "code", "id": "elsewhere", "metadata": {}, "source": "tasks", "outputs": [], "execution_count": None})
    (lab.work / "foreign.ipynb").write_text(json.dumps(content))
    for name, trusted in (("story.ipynb", True), ("foreign.ipynb", False)):
        page = browser.new_page()
        again = Notebook.open(page, lab.url, name)
        expect(page.locator("#jp-bottom-panel, #jp-main-statusbar").get_by_title("Notebook trusted" if trusted else "Notebook not trusted")).to_have_count(1)
        expect(again.title(story.watch)).to_contain_text(SETTLED, timeout=SLOW)
        expect(again.table(story.watch)).to_contain_text("Stopped by itself; it wakes when you feed.")
        left, right = again.table(story.watch).evaluate(
            "e => Array.from(e.querySelectorAll('tbody tr:first-child td')).map(c => getComputedStyle(c).textAlign).filter((a, i) => i === 0 || i === 2)")
        assert (left, right) == ("left", "right")
        page.close()


# Whether text can be read: the contrast of a colour with the ground that it stands on.
CONTRAST = """e => {
  const parts = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = parts(c).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  let ground = e;
  const clear = c => c === 'transparent' || (parts(c).length > 3 && parts(c)[3] === 0);
  while (ground && clear(getComputedStyle(ground).backgroundColor)) ground = ground.parentElement;
  const style = getComputedStyle(e);
  const [a, b] = [light(e instanceof SVGElement ? style.fill : style.color), light(getComputedStyle(ground).backgroundColor)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_both_themes(story, browser, lab, theme):
    lab.theme(f"JupyterLab {theme}")
    page = browser.new_page()
    book = Notebook.open(page, lab.url, "story.ipynb")
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "true" if theme == "Light" else "false")
    expect(book.title(story.watch)).to_be_visible(timeout=SLOW)
    for text in (book.title(story.watch), book.chart(story.watch).locator(".role-axis-label text").first,
                 book.table(story.watch).locator("b").first, book.table(story.watch).locator("td").first):
        assert text.evaluate(CONTRAST) >= 4.5
    inside = book.cell(story.watch).locator(".jp-OutputArea-child").first.bounding_box()
    drawn = book.chart(story.watch).bounding_box()
    assert drawn["x"] + drawn["width"] <= inside["x"] + inside["width"]
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{theme.lower()}.png")
    page.close()
