"""Work on files that no one has checked: each job in a child process of its own, with a clock and a memory limit."""

import faulthandler
import json
import math
import os
import resource
import select
import signal
import sys
import tempfile
import time

SECONDS = 120
MEMORY = 6 << 30  # bytes of address space


def limits(seconds=SECONDS, memory=MEMORY):
    """For a process about to work on one file: at most so much memory and processor time."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    seconds = math.ceil(seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def run(function, *arguments, seconds=SECONDS):
    """function(*arguments) in a child: its result (JSON), or {"error": how the child ended}."""
    with tempfile.TemporaryDirectory() as folder:
        return run_in(folder, function, arguments, seconds)


def run_in(folder, function, arguments, seconds):
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            faulthandler.disable()  # tests enable it; the parent tells what happened
            os.chdir(folder)  # for what libraries leave behind
            with tempfile.TemporaryFile() as noise:
                os.dup2(noise.fileno(), 1)
                os.dup2(noise.fileno(), 2)
            limits(seconds)
            try:
                result = function(*arguments)
            except BaseException as error:  # RuntimeError and SystemExit alike: libraries differ
                result = {"error": f"{type(error).__name__}: {error}"}
            with os.fdopen(writer, "w") as pipe:
                json.dump(result, pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    text, deadline = b"", time.monotonic() + 3 * seconds  # others may want the processors, too
    while True:
        ready, _, _ = select.select([reader], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            break
        chunk = os.read(reader, 1 << 16)
        if not chunk:
            break
        text += chunk
    os.close(reader)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        slow = name in ("SIGKILL", "SIGXCPU")
        return {"error": "timeout"} if slow else {"error": f"crash: {name}", "crash": True}
    return json.loads(text) if text else {"error": "crash: no answer", "crash": True}
