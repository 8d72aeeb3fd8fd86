"""The peer suite of Jupyter kernels (jupyter_kernel_test) against ours, with a private server behind it.

The kernel is installed into a temporary Jupyter folder. The program is the one in bin/, or in EASEML_BINARY.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import jupyter_kernel_test as jkt
from jupyter_client.kernelspec import KernelSpecManager

HERE = pathlib.Path(__file__).resolve().parent
BINARY = pathlib.Path(os.environ.get("EASEML_BINARY", HERE.parent.parent / "bin" / "easeml")).resolve()
PROGRAM = "{input: {[a :: Tensor[2]], []}, output: {[kind :: Class[2]], []}}"

folder = None
saved = {}


def setUpModule():
    global folder
    if not BINARY.exists():
        raise unittest.SkipTest(f"there is no {BINARY}: run make build first")
    folder = tempfile.mkdtemp(prefix="easeml-kernel-test-")
    # Beside these nothing of the person's own Jupyter and servers is read or written.
    here = {
        "JUPYTER_DATA_DIR": os.path.join(folder, "jupyter"),
        "JUPYTER_RUNTIME_DIR": os.path.join(folder, "runtime"),
        # Else a kernel that is installed into this Python environment comes first.
        "JUPYTER_PREFER_ENV_PATH": "0",
        "EASEML_STATE": os.path.join(folder, "state"),
        "EASEML_PYTHON": sys.executable,
        "EASEML_SERVER": "",
        "EASEML_TOKEN": "",
        "EASEML_SITE": os.path.join(folder, "site.json"),
    }
    pathlib.Path(folder, "site.json").write_text("{}")
    for name, value in here.items():
        saved[name] = os.environ.get(name)
        if value:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)
    subprocess.run([BINARY, "install", "--user"], check=True, stdout=subprocess.DEVNULL)


def tearDownModule():
    if folder is None:
        return
    subprocess.run([BINARY, "server", "stop"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name, value in saved.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    shutil.rmtree(folder, ignore_errors=True)


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
        while True:  # until it has begun
            message = self.kc.get_iopub_msg(timeout=10)
            if message["parent_header"].get("msg_id") == request and message["msg_type"] == "execute_input":
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
