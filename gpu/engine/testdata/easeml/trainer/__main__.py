"""A trainer that trains nothing: it speaks the protocol of the real one and misbehaves on request.

What a folder does is in its trial.json, candidate.settings.do; what the warm parent does, in FAKE_PARENT.
"""
import json
import os
import select
import signal
import subprocess
import sys
import time


class Folder:
    def __init__(self, path, nudge=None):
        self.path, self.nudge, self.n, self.start = path, nudge, 0, time.monotonic()
        with open(os.path.join(path, "trial.json")) as f:
            self.settings = json.load(f)["candidate"]["settings"] or {}

    def say(self, kind, **more):
        self.n += 1
        with open(os.path.join(self.path, "events.jsonl"), "a") as f:
            f.write(json.dumps({"n": self.n, "t": time.monotonic() - self.start, "type": kind, **more}) + "\n")
        if self.nudge:
            self.nudge()

    def control(self):
        try:
            with open(os.path.join(self.path, "control")) as f:
                return f.read().strip()
        except FileNotFoundError:
            return ""

    def finish(self, outcome, quality):
        new = os.path.join(self.path, ".result")
        with open(new, "w") as f:
            json.dump({"format": 1, "outcome": outcome, "quality": quality, "steps": 1, "curve": [[1, quality, 0.1]]}, f)
        os.replace(new, os.path.join(self.path, "result.json"))
        self.say("done", quality=quality, steps=1, reason="finished" if outcome == "ok" else "stopped")


def run(path, nudge=None):
    folder = Folder(path, nudge)
    do = folder.settings.get("do", "finish")
    if do == "silent" or do == "silent-warm" and nudge:
        time.sleep(3600)
    signal.signal(signal.SIGUSR1, lambda *_: None)
    folder.say("started", pid=os.getpid(), threads=os.environ.get("OMP_NUM_THREADS", ""),
               device_name=os.environ.get("CUDA_VISIBLE_DEVICES", "unset"))
    print("a line for the log", flush=True)
    if do == "crash":
        raise KeyError("lr")
    if do == "abort":
        os.abort()
    if do == "grow":
        kept = []
        while True:
            kept.append(bytearray(os.urandom(1 << 20)) * 8)
            time.sleep(0.02)
    if do == "spawn":  # a helper that ignores the wish to end, in the same group
        helper = subprocess.Popen([sys.executable, "-c", "import signal,time; signal.signal(15, 1); time.sleep(3600)"])
        folder.say("warning", code="helper", message=str(helper.pid))
    if do in ("wait", "spawn"):
        while not folder.control():
            signal.sigtimedwait([], 0.2)
        folder.say("progress", step=1, of=2, quality=0.5)
        folder.finish("stopped", 0.5)
        return 0
    folder.finish("ok", 0.9)
    return 0


def serve():
    if os.environ.get("FAKE_PARENT") == "broken":
        sys.exit("no module named anything")
    read, write = os.pipe()
    children = {}

    def tell(**line):
        try:
            os.write(1, json.dumps(line).encode() + b"\n")
        except BrokenPipeError:
            pass  # nobody listens any more: the end of input says so too, and ends the children

    def fork(path, env):
        pid = os.fork()
        if pid:
            children[pid] = path
            tell(started=path, pid=pid)
            return
        code = 1
        try:
            os.setsid()
            os.environ.update(env)
            log = os.open(os.path.join(path, "log.txt"), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            os.dup2(log, 1)
            os.dup2(log, 2)
            code = run(path, lambda: os.write(write, path.encode() + b"\n"))
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)

    def kill(pid, number):
        try:
            os.killpg(pid, number)
        except ProcessLookupError:
            pass

    tell(ready={"python": sys.version.split()[0]})
    rest = b""
    while True:
        ready, _, _ = select.select([0, read], [], [], 0.05)
        if read in ready:
            for path in os.read(read, 65536).decode().splitlines():
                tell(event=path)
        for pid in list(children):
            done, status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                kill(pid, signal.SIGKILL)
                tell(ended=children.pop(pid), code=code if code >= 0 else None,
                     signal=signal.Signals(-code).name[3:] if code < 0 else None, peak_bytes=usage.ru_maxrss << 10)
        if 0 in ready:
            some = os.read(0, 65536)
            if not some:
                for pid in children:
                    kill(pid, signal.SIGKILL)
                return 0
            *lines, rest = (rest + some).split(b"\n")
            for line in lines:
                order = json.loads(line)
                if os.environ.get("FAKE_PARENT") == "deaf":
                    continue
                if "run" in order:
                    fork(order["run"], order.get("env", {}))
                for pid, path in children.items():
                    if order.get("signal") == path:
                        kill(pid, getattr(signal, "SIG" + order["name"]))


def predict(folder):
    with open(os.path.join(folder, "info.json")) as f:  # no model, no answer
        info = json.load(f)
    print(json.dumps({"ready": info}), flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        if question.get("options", {}).get("die"):
            sys.exit("the model is on fire")
        wait = question.get("options", {}).get("wait")
        while wait and not os.path.exists(wait):
            time.sleep(0.01)
        if "rescore" in question:
            score = {"quality": 0.75, "interval": [0.5, 0.9], "n": question["rescore"]["data"]["rows"], "metrics": {}}
            reply = {"scored": {"validation": score, "test": None}}
        elif not question["sources"]:
            reply = {"failed": {"message": "There is nothing to answer.", "where": {"file": "x.csv", "row": 3}, "hint": "Name a file."}}
        else:
            reply = {"done": {"answers": len(question["sources"]), "refused": 0, "unsure": 0, "seconds": 0.01}}
        print("chatter of a library")
        print(json.dumps({"id": question["id"], **reply}), flush=True)


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    sys.exit({"run": run, "serve": serve, "predict": predict}[command](*rest))
