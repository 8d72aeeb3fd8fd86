"""A kernel as Jupyter's own client (over libzmq) meets it: start, welcome, cells, questions, interrupts, restart, heartbeat, shutdown."""

import json
import time

import zmq
from jupyter_client.manager import KernelManager

manager = KernelManager(kernel_name="tiny")
manager.start_kernel()
try:
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=30)

    # A fresh subscription is welcomed, by a socket that sends ZMTP heartbeats too.
    context = zmq.Context()
    sub = context.socket(zmq.SUB)
    sub.setsockopt(zmq.HEARTBEAT_IVL, 50)
    sub.setsockopt(zmq.HEARTBEAT_TIMEOUT, 2000)
    sub.subscribe(b"")
    info = manager.get_connection_info()
    sub.connect(f"tcp://{info['ip']}:{info['iopub_port']}")
    assert sub.poll(10_000), "no welcome"
    header, parent, _, content = map(json.loads, sub.recv_multipart()[-4:])
    assert header["msg_type"] == "iopub_welcome", header
    assert parent == {} and content == {"subscription": ""}, (parent, content)

    outputs = []
    reply = client.execute_interactive("print hello\nvalue 7\nchart x\nupdate x v1", output_hook=outputs.append, timeout=30)
    assert reply["content"]["status"] == "ok", reply
    kinds = [m["msg_type"] for m in outputs]
    assert kinds == ["status", "execute_input", "stream", "execute_result", "display_data", "update_display_data", "status"], kinds

    # The socket with heartbeats has seen the same; it is still there after many of them.
    time.sleep(0.3)
    client.execute_interactive("print again", output_hook=lambda m: None, timeout=30)
    seen = []
    while sub.poll(1000):
        header, _, _, content = map(json.loads, sub.recv_multipart()[-4:])
        seen.append(header["msg_type"])
        if content.get("execution_state") == "idle" and seen.count("stream") == 2:
            break
    assert seen.count("stream") == 2, seen

    reply = client.execute_interactive(
        "ask name?", allow_stdin=True, timeout=30, output_hook=outputs.append,
        stdin_hook=lambda m: client.input("x" * 10_000),
    )
    assert reply["content"]["status"] == "ok", reply
    assert any(m["msg_type"] == "stream" and len(m["content"]["text"]) == 10_000 for m in outputs)

    # Interrupt a cell, with another one behind it.
    first = client.execute("print running\nask never answered", allow_stdin=True)
    second = client.execute("print second")
    client.get_stdin_msg(timeout=30)
    manager.interrupt_kernel()
    replies = {}
    while len(replies) < 2:
        m = client.get_shell_msg(timeout=30)
        replies[m["parent_header"]["msg_id"]] = m["content"]
    assert replies[first]["status"] == "error" and replies[first]["ename"] == "Interrupted", replies
    assert replies[second]["status"] == "aborted", replies

    assert client.hb_channel.is_beating()
    client.stop_channels()

    manager.restart_kernel(now=False)
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=30)
    msg = client.history(hist_access_type="tail", n=1)
    while True:
        reply = client.get_shell_msg(timeout=30)
        if reply["parent_header"].get("msg_id") == msg:
            break
    assert reply["content"]["history"][-1][2] == "print running\nask never answered", reply
    client.stop_channels()

    began = time.monotonic()
    manager.shutdown_kernel(now=False)
    assert not manager.is_alive()
    print(f"shutdown took {time.monotonic() - began:.2f} s")
    sub.close(linger=0)
    context.term()
finally:
    if manager.has_kernel:
        manager.shutdown_kernel(now=True)
