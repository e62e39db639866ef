"""Processes that do nothing but use up time, so that tests are seen on a busy machine."""

import contextlib
import ctypes
import os
import signal
import subprocess

_PR_SET_PDEATHSIG = 1


def _die_with(parent):
    """Has the kernel end this process when its parent ends, however that comes."""
    if ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0 or os.getppid() != parent:
        os._exit(1)


@contextlib.contextmanager
def loops(count):
    """So many busy loops; to be called on the main thread, with whose end they would end otherwise."""
    parent = os.getpid()
    processes = []
    try:
        for _ in range(count):
            processes.append(
                subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"], preexec_fn=lambda: _die_with(parent))
            )
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
