"""A notebook in JupyterLab's page, as a person uses it."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

ENDED = re.compile(r"^\[\d+\]:$")
SLOW = 120_000  # ms: the machine may be busy with trainings

# Notes the chart's title whenever it changes, and whether a cell ran then.
LISTEN = """() => {
  const read = () => Array.from(document.querySelectorAll('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-RenderedVegaCommon5 svg .role-title-text text'))
    .map(e => e.textContent)[0];
  const runs = () => Array.from(document.querySelectorAll('.jp-InputPrompt')).some(e => e.textContent === '[*]:');
  window.seen = [];
  const look = () => {
    const title = read();
    const last = window.seen.at(-1);
    if (title && (!last || last.title !== title)) window.seen.push({title, running: runs()});
  };
  look();
  new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""


class Notebook:
    """The notebook that is open in a page."""

    def __init__(self, page: Page):
        self.page = page
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    @classmethod
    def create(cls, page: Page, url: str) -> Notebook:
        """Makes one on our kernel, with the launcher."""
        page.goto(url + "/lab")
        page.locator('.jp-LauncherCard[data-category="Notebook"][title="easeml"]').click(timeout=SLOW)
        return cls(page).ready()

    @classmethod
    def open(cls, page: Page, url: str, name: str) -> Notebook:
        """Opens one that is there, in a fresh workspace."""
        page.goto(f"{url}/lab/workspaces/{re.sub(r'[^a-z]', '', name)}/tree/{name}?reset")
        return cls(page).ready()

    def ready(self) -> Notebook:
        """Waits until the kernel is idle."""
        self.cell(0).wait_for(timeout=SLOW)
        self.idle()
        return self

    def idle(self) -> None:
        # The notebook's own sign says idle also before it has a kernel.
        expect(self.page.locator("#jp-main-statusbar")).to_contain_text("easeml | Idle", timeout=SLOW)

    def cell(self, index: int) -> Locator:
        return self.panel.locator(".jp-Notebook .jp-Cell").nth(index)

    def count(self) -> int:
        return self.panel.locator(".jp-Notebook .jp-Cell").count()

    def focus(self, index: int) -> None:
        self.cell(index).locator(".cm-content").click()

    def write(self, text: str) -> int:
        """Types into the last cell."""
        last = self.count() - 1
        self.focus(last)
        self.page.keyboard.type(text)
        return last

    def source(self, index: int) -> str:
        return self.cell(index).locator(".cm-content").inner_text()

    def complete(self, match: str | None = None) -> list[str]:
        """Presses Tab; gives what is proposed, and takes match."""
        self.page.keyboard.press("Tab")
        box = self.page.locator(".jp-Completer:not(.lm-mod-hidden)")
        expect(box).to_be_visible(timeout=SLOW)
        items = box.locator(".jp-Completer-match").all_inner_texts()
        if match:
            for _ in range(items.index(match)):
                self.page.keyboard.press("ArrowDown")
            expect(box.locator(".jp-mod-active .jp-Completer-match")).to_have_text(match)
            self.page.keyboard.press("Enter")
            expect(box).to_be_hidden()
        return items

    def start(self, index: int | None = None) -> int:
        """Runs a cell, the last one unless told, without waiting for its end."""
        index = self.count() - 1 if index is None else index
        self.focus(index)
        self.page.keyboard.press("Shift+Enter")
        return index

    def prompt(self, index: int) -> Locator:
        return self.cell(index).locator(".jp-InputPrompt").first

    def ended(self, index: int, timeout: float = SLOW) -> None:
        expect(self.prompt(index)).to_have_text(ENDED, timeout=timeout)

    def run(self, text: str, timeout: float = SLOW) -> int:
        """Types a cell, runs it and waits for its end."""
        index = self.write(text)
        self.start(index)
        self.ended(index, timeout)
        return index

    def output(self, index: int) -> Locator:
        return self.cell(index).locator(".jp-OutputArea-output")

    def chart(self, index: int) -> Locator:
        return self.cell(index).locator(".jp-RenderedVegaCommon5 svg.marks")

    def title(self, index: int) -> Locator:
        return self.chart(index).locator(".role-title-text text").first

    def table(self, index: int) -> Locator:
        return self.cell(index).locator(".jp-RenderedHTMLCommon")

    def listen(self) -> None:
        """Notes the chart's titles from now on in window.seen."""
        self.page.evaluate(LISTEN)

    def rerun(self, index: int) -> None:
        """Runs a cell once more, as it stands, and waits for its end."""
        before = self.prompt(index).inner_text()
        self.start(index)
        expect(self.prompt(index)).not_to_have_text(before, timeout=SLOW)
        self.ended(index)

    def press(self, button: str) -> None:
        """Presses a button of the toolbar: interrupt, restart."""
        self.panel.locator(f'.jp-NotebookPanel-toolbar [data-jp-item-name="{button}"]').click()

    def save(self, name: str | None = None) -> None:
        """Saves; name is for a notebook that has none yet. A chart that goes on makes it differ again at once."""
        def saved(response) -> bool:
            return response.request.method == "PUT" and "/api/contents/" in response.url and response.ok
        with self.page.expect_response(saved, timeout=SLOW):
            self.page.keyboard.press("Control+s")
            if name:
                dialog = self.page.locator(".jp-Dialog")
                dialog.locator("input[type=text]").fill(name)
                dialog.get_by_role("button", name="Rename and Save").click()
        if name:
            expect(self.page.locator(".lm-TabBar-tab.jp-mod-current .lm-TabBar-tabLabel").first).to_have_text(name)
