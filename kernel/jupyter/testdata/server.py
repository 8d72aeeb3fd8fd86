"""A kernel behind a Jupyter server, as JupyterLab uses it: start, websocket, cells, interrupt, restart, end."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import uuid

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.netutil import bind_sockets
from tornado.websocket import websocket_connect

TOKEN = uuid.uuid4().hex
HEADERS = {"Authorization": f"token {TOKEN}"}


def free_port():
    (sock,) = bind_sockets(0, "127.0.0.1")
    port = sock.getsockname()[1]
    sock.close()
    return port


class Socket:
    """The websocket of a kernel, by which all channels travel."""

    def __init__(self, ws):
        self.ws = ws

    def send(self, channel, kind, content):
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": "lab", "username": "", "version": "5.3", "date": ""}
        message = {"channel": channel, "header": header, "parent_header": {}, "metadata": {}, "content": content, "buffers": []}
        self.ws.write_message(json.dumps(message))
        return header["msg_id"]

    def execute(self, code):
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": True, "stop_on_error": True}
        return self.send("shell", "execute_request", content)

    async def until(self, fits):
        """All messages up to the first that fits."""
        got = []
        while True:
            message = json.loads(await asyncio.wait_for(self.ws.read_message(), 30))
            got.append(message)
            if fits(message):
                return got

    async def idle(self, parent):
        def fits(m):
            return m["msg_type"] == "status" and m["content"]["execution_state"] == "idle" and m["parent_header"].get("msg_id") == parent

        return [m for m in await self.until(fits) if m["parent_header"].get("msg_id") == parent]


async def main(base):
    http = AsyncHTTPClient()

    async def call(method, path, body=None):
        request = HTTPRequest(base + path, method, HEADERS, body=None if body is None else json.dumps(body), allow_nonstandard_methods=True)
        return await http.fetch(request)

    for _ in range(300):
        try:
            await call("GET", "/api/status")
            break
        except OSError:
            await asyncio.sleep(0.1)
    kernel = json.loads((await call("POST", "/api/kernels", {"name": "tiny"})).body)["id"]
    url = base.replace("http", "ws") + f"/api/kernels/{kernel}/channels?session_id=lab"
    socket = Socket(await websocket_connect(HTTPRequest(url, headers=HEADERS)))

    info = socket.send("shell", "kernel_info_request", {})
    await socket.idle(info)
    cell = socket.execute("print a\nvalue 1")
    kinds = [m["msg_type"] for m in await socket.idle(cell) if m["channel"] == "iopub"]
    assert kinds == ["status", "execute_input", "stream", "execute_result", "status"], kinds

    # "Run All" with an error at once in the first cell: the others don't run.
    cells = [socket.execute(code) for code in ("fail x", "print b", "print c", "print d")]
    outputs = [await socket.idle(c) for c in cells[:1]] + [await socket.idle(c) for c in cells[1:]]
    streams = [m for some in outputs for m in some if m["msg_type"] == "stream"]
    assert streams == [], streams

    # Interrupt by the button while a question waits, with a cell behind it.
    first, second = socket.execute("ask name?"), socket.execute("print never")
    await socket.until(lambda m: m["msg_type"] == "input_request")
    await call("POST", f"/api/kernels/{kernel}/interrupt", {})
    got = await socket.idle(first)
    assert [m["content"]["ename"] for m in got if m["msg_type"] == "error"] == ["Interrupted"], got
    assert not [m for m in await socket.idle(second) if m["msg_type"] == "stream"]
    state = json.loads((await call("GET", f"/api/kernels/{kernel}")).body)["execution_state"]
    assert state == "idle", state

    await call("POST", f"/api/kernels/{kernel}/restart", {})
    socket.ws.close()
    socket = Socket(await websocket_connect(HTTPRequest(url, headers=HEADERS)))
    cell = socket.execute("count")
    got = await socket.idle(cell)
    assert [m["content"]["text"] for m in got if m["msg_type"] == "stream"] == ["1"], got
    socket.ws.close()
    await call("DELETE", f"/api/kernels/{kernel}")
    print("ok")


port = free_port()
with tempfile.TemporaryDirectory() as root:
    log = open(os.path.join(root, "log"), "w+")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}",
         "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={root}"],
        stdout=log, stderr=log, env={**os.environ, "HOME": root},
    )
    try:
        asyncio.run(main(f"http://127.0.0.1:{port}"))
    except BaseException:
        log.seek(0)
        print(log.read())
        raise
    finally:
        server.terminate()
        server.wait(20)
