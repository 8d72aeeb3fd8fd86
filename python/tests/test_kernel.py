"""The peer suite of Jupyter kernels (jupyter_kernel_test) against ours, with a private server behind it.

The kernel is installed into a temporary Jupyter folder. The program is the one in bin/, or in EASEML_BINARY.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import jupyter_kernel_test as jkt
import pandas
import pygments.lexers
from jupyter_client.kernelspec import KernelSpecManager

import private
from private import BINARY

PROGRAM = "{input: {[a :: Tensor[2]], []}, output: {[kind :: Class[2]], []}}"

folder = None


def setUpModule():
    global folder
    folder = unittest.enterModuleContext(tempfile.TemporaryDirectory(prefix="easeml-kernel-test-"))
    own = unittest.enterModuleContext(private.served(private.jupyter(pathlib.Path(folder))))
    unittest.enterModuleContext(unittest.mock.patch.dict(os.environ, own, clear=True))


class KernelTests(jkt.KernelTests):
    kernel_name = "easeml"
    language_name = "easeml"
    file_extension = ".easeml"

    code_hello_world = 'print "hello, world"'
    code_stderr = 'warn "oops"'
    code_page_something = "help feed"
    code_generate_error = "best nosuchtask"
    code_clear_output = "clear"
    code_inspect_sample = "feed"
    code_history_pattern = "0.5?"
    supported_history_operations = ("tail", "range", "search")

    completion_samples = [
        {"text": "wat", "matches": {"watch"}},
        {"text": "schema t " + PROGRAM + " with metr", "matches": {"metric"}},
        {"text": "wait until quality >= 0.9 or fin", "matches": {"final"}},
    ]
    complete_code_samples = ["tasks", "schema t " + PROGRAM, 'feed t "a.csv"', "", "# a comment", "best t; models t"]
    incomplete_code_samples = ["schema t {", "{input: {[Tensor[2]],", "feed t [", "print 1,", "schema t " + PROGRAM + " with seed ="]
    invalid_code_samples = ["schema } {", 'feed t "a.csv', "shema t"]
    code_execute_result = [
        {"code": "0.50", "result": "0.50", "mime": "text/plain"},
        {"code": '"a text"', "result": "a text", "mime": "text/plain"},
        {"code": "schema peer " + PROGRAM + "\npeer.examples", "result": "0", "mime": "text/plain"},
    ]
    code_display_data = [
        {"code": "tasks", "mime": "text/plain"},
        {"code": "tasks", "mime": "text/html"},
        {"code": "watch peer", "mime": "text/plain"},
    ]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # The first statement starts the server, which takes longer than the suite waits for an output.
        cls.kc.execute_interactive("schema peer " + PROGRAM, timeout=60, output_hook=lambda _: None)

    def test_error_is_a_sentence(self):
        self.flush_channels()
        reply, outputs = self.execute_helper(code="watch nosuchtask")
        self.assertEqual(reply["content"]["ename"], "NoSuchTask", reply["content"]["evalue"])
        self.assertIn("There is no task nosuchtask.", reply["content"]["evalue"])
        self.assertEqual([m["msg_type"] for m in outputs], ["error"])
        self.assertIn("^^^^^^^^^^", "\n".join(reply["content"]["traceback"]))

    def test_watch_shows_a_chart_and_a_table(self):
        self.flush_channels()
        _, outputs = self.execute_helper(code="watch peer")
        chart, table = (m["content"] for m in outputs if m["msg_type"] == "display_data")
        # A notebook would show HTML or JSON instead of the chart.
        self.assertEqual({"application/vnd.vegalite.v5+json", "image/png", "text/plain"}, set(chart["data"]))
        self.assertEqual({"text/html", "text/plain"}, set(table["data"]))
        self.assertNotEqual(chart["transient"]["display_id"], table["transient"]["display_id"])

    def test_interrupt_ends_a_wait(self):
        self.flush_channels()
        request = self.kc.execute("wait peer until 5m")
        while True:  # until it shows that it waits
            message = self.kc.get_iopub_msg(timeout=10)
            if message["parent_header"].get("msg_id") == request and message["msg_type"] == "display_data":
                break
        self.km.interrupt_kernel()
        reply = self.get_non_kernel_info_reply(timeout=10)
        self.assertEqual(reply["parent_header"]["msg_id"], request)
        self.assertEqual(reply["content"]["ename"], "Interrupted")
        self.assertIn("the search for peer goes on", reply["content"]["evalue"])
        self.flush_channels()
        reply, _ = self.execute_helper(code="print 1")
        self.assertEqual(reply["content"]["status"], "ok")

    def test_tasks_and_files_are_completed(self):
        self.flush_channels()
        for code, match in (("best pe", "peer"), ("feed peer from_", None), ("peer.exa", "examples")):
            message = self.kc.complete(code)
            reply = self.get_non_kernel_info_reply(timeout=10)
            self.assertEqual(reply["parent_header"]["msg_id"], message)
            found = [m.rsplit(".", 1)[-1] for m in reply["content"]["matches"]]
            self.assertEqual([match] if match else [], found, code)

    def test_nothing_but_warn_writes_to_stderr(self):
        for code in ("tasks", "schema peer " + PROGRAM, "best peer", "models peer", "server", "help feed"):
            self.flush_channels()
            _, outputs = self.execute_helper(code=code)
            self.assertNotIn("stderr", [m["content"].get("name") for m in outputs if m["msg_type"] == "stream"], code)
            # Only a value is the cell's result.
            self.assertNotIn("execute_result", [m["msg_type"] for m in outputs], code)

    def ask(self, request, **content):
        """A request on the shell channel and the content of its reply."""
        self.flush_channels()
        message = getattr(self.kc, request)(**content)
        reply = self.get_non_kernel_info_reply(timeout=10)
        self.assertEqual(reply["parent_header"]["msg_id"], message)
        return reply["content"]

    def test_language_info(self):
        self.flush_channels()
        self.kc.kernel_info()
        info = self.kc.get_shell_msg(timeout=10)["content"]
        language = info["language_info"]
        # Without the mode JupyterLab shows no colours, without the lexer nbconvert warns, and text/plain turns hints off.
        self.assertEqual(language["codemirror_mode"], {"name": "easeml", "mime": "text/x-python"})
        self.assertNotEqual(language["mimetype"], "text/plain")
        pygments.lexers.get_lexer_by_name(language["pygments_lexer"])
        self.assertEqual(info["supported_features"], [])
        self.assertTrue(info["banner"] and info["implementation"] and info["implementation_version"])
        for link in info["help_links"]:
            self.assertTrue(link["url"].startswith("https://"), link)

    def test_completion_of_every_kind(self):
        """In these texts | is the cursor; what is typed of the word before it is replaced, in code points."""
        here = pathlib.Path(tempfile.mkdtemp(dir=folder))
        (here / "grüße 😀.csv").write_text("größe,e\u0301tat\n1,2\n")
        pandas.DataFrame({"Sepal Length": [5.1], "species": ["a"]}).to_excel(here / "iris.xlsx", index=False)
        pandas.DataFrame({"Petal Width": [0.2], "steps": [[1, 2]], "species": ["a"]}).to_parquet(here / "iris.parquet", index=False)
        named = here.as_posix()
        for text, typed, *wanted in (
            ("|", "", "schema", "feed", "watch", "best", "infer", "help"),
            ("sch|ema", "sch", "schema"),
            ("# 😀 e\u0301 한\nbest pe|", "pe", "peer"),
            ("# 😀\r\nprint \"e\u0301😀\", peer.exa|", "exa", "examples"),
            ("peer.qual|", "qual", "quality"),
            (f'feed peer "{named}/gr|', f"{named}/gr", f'{named}/grüße 😀.csv"'),
            (f'feed peer "{named}/grüße 😀.csv" output g|', "g", '"größe"'),
            (f'feed peer "{named}/grüße 😀.csv" output "e|', "e", 'e\u0301tat"'),
            (f'feed peer "{named}/iris.xlsx" output |', "", '"Sepal Length"', "species"),
            (f'feed peer "{named}/iris.parquet" output |', "", '"Petal Width"', "steps", "species"),
            ('feed peer "x.csv" using |', "", "a", "kind"),
            ('feed peer "x.csv" with gro|', "gro", "group"),
            ('feed peer "x.csv" with header = |', "", "on", "off"),
            ("schema x {input: {[image :: |", "", "Tensor", "Class"),
            (f"schema x {PROGRAM} with metric = bal|", "bal", "balanced_accuracy"),
            ("wait peer until fin|", "fin", "final"),
            ("help fe|", "fe", "feed"),
            ('print "wat|', "wat"),
        ):
            before, after = text.split("|")
            reply = self.ask("complete", code=before + after, cursor_pos=len(before))
            self.assertEqual(reply["matches"][: len(wanted) or None], wanted, text)
            if wanted:
                self.assertEqual((reply["cursor_start"], reply["cursor_end"]), (len(before) - len(typed), len(before)), text)
            for kind in reply["metadata"].get("_jupyter_types_experimental", []):
                self.assertTrue(kind["type"], text)

    def test_inspection(self):
        """Grammar, meaning and example of a word; type and default of an option; the state of a task and of a figure."""
        for text, wanted in (
            ("fe|ed peer", ("feed [TASK]", "Give examples to a task.", "For example:", "Options:")),
            ("best pe|er", ("peer", "no examples yet")),
            ("peer.ex|amples", ("examples", "Now 0 for peer.")),
            ("peer.qual|ity", ("quality of the best model", "none yet: it has no examples")),
            ('feed peer "x.csv" with gro|up = a', ("group = column", "left out: none")),
            ("😀 no statement|", None),
            ("# 😀\nwait peer until fin|al", ("settled",)),
            (f"schema x {PROGRAM}".replace("[a ::", "[a| ::"), ("Field of the input: a :: Tensor[2], 2 numbers",)),
        ):
            before, after = text.split("|")
            reply = self.ask("inspect", code=before + after, cursor_pos=len(before))
            self.assertEqual(reply["status"], "ok")
            self.assertEqual(reply["found"], wanted is not None, text)
            for words in wanted or ():
                self.assertIn(words, reply["data"]["text/plain"], text)
                self.assertIn("text/markdown", reply["data"])

    def test_is_complete_indents(self):
        for code, status, indent in (
            ("schema t {", "incomplete", "    "), ("schema t {\n  input: {[a :: Tensor[2]],", "incomplete", "        "),
            ("print 1,", "incomplete", ""), ("watch", "complete", None), ('feed t "a', "invalid", None),
        ):
            reply = self.ask("is_complete", code=code)
            self.assertEqual((reply["status"], reply.get("indent")), (status, indent), code)

    def test_help_in_two_levels(self):
        pages = []
        for code in ("help", "help feed", "help group"):
            self.flush_channels()
            reply, _ = self.execute_helper(code=code)
            pages.append(reply["content"]["payload"][0]["data"]["text/plain"])
        first = [line.split()[0] for line in pages[0].splitlines()[1:7]]
        self.assertEqual(first, ["schema", "feed", "watch", "best", "infer", "help"])
        self.assertIn("Options:", pages[1])
        self.assertIn("Option of feed", pages[2])

    def test_faults_point_into_the_cell(self):
        """The person's own line, a caret below it, and what was probably meant; emoji before it don't move the caret."""
        for code, line, caret, wanted in (
            ("shema t", "shema t", "^^^^^", "did you mean `schema`?"),
            ("schema t {\n    input: {[image :: Tensor[8, 8 1]], []},", "    input: {[image :: Tensor[8, 8 1]], []},", " " * 34 + "^", "Did you mean Tensor[8, 8, 1]?"),
            ('print "äö"\nwatch pear', "watch pear", "      ^^^^", "Did you mean peer?"),
            ("peer.exmples", "peer.exmples", "^^^^^^^^^^^^", "Did you mean `peer.examples`?"),
            ("feed peer 'x.csv' with gruop = a", "feed peer 'x.csv' with gruop = a", " " * 23 + "^^^^^", "group"),
            ("help fede", None, None, "Did you mean `help feed`?"),
        ):
            self.flush_channels()
            reply, _ = self.execute_helper(code=code)
            content = reply["content"]
            self.assertEqual(content["status"], "error", code)
            self.assertIn(wanted, content["evalue"], code)
            if line:
                at = content["traceback"].index(line)
                self.assertEqual(content["traceback"][at + 1], caret, content["traceback"])
            self.assertNotIn("goroutine", "".join(content["traceback"]))

    def test_a_question_and_its_answers(self):
        self.flush_channels()
        self.kc.execute_interactive("schema asked " + PROGRAM, timeout=30, output_hook=lambda _: None)
        for answer, left in (("no", True), ("\x04", True), ("yes", False)):
            said = []
            reply = self.kc.execute_interactive("drop asked", allow_stdin=True, timeout=30, output_hook=lambda _: None,
                                                stdin_hook=lambda m: (said.append(m["content"]), self.kc.input(answer)))
            self.assertEqual(reply["content"]["status"], "ok")
            self.assertFalse(said[0]["password"])
            reply = self.kc.execute_interactive("asked.examples", timeout=30, output_hook=lambda _: None)
            self.assertEqual(reply["content"]["status"] == "ok", left, answer)
        # Where nobody can be asked it says what to type instead.
        reply = self.kc.execute_interactive("drop peer", allow_stdin=False, timeout=30, output_hook=lambda _: None)
        self.assertIn("drop peer yes", reply["content"]["evalue"])

    def test_ten_megabytes(self):
        self.flush_channels()
        big = "# a line that is longer than most\n" * 300_000
        self.assertEqual(self.ask("is_complete", code=big)["status"], "complete")
        self.assertEqual(self.ask("complete", code=big + "wat", cursor_pos=len(big) + 3)["matches"], ["watch"])
        reply = self.kc.execute_interactive(big + "7", store_history=False, timeout=60, output_hook=lambda _: None)
        self.assertEqual(reply["content"]["status"], "ok")

    def test_kernelspec(self):
        spec = json.loads(pathlib.Path(os.environ["JUPYTER_DATA_DIR"], "kernels", "easeml", "kernel.json").read_text())
        self.assertEqual(spec["interrupt_mode"], "message")
        self.assertEqual(spec["argv"][0], str(BINARY))
        self.assertEqual(KernelSpecManager().get_kernel_spec("easeml").argv, spec["argv"])


class IopubWelcomeTests(jkt.IopubWelcomeTests):
    kernel_name = "easeml"
    support_iopub_welcome = True


if __name__ == "__main__":
    unittest.main()
