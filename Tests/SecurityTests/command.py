"""The built command, against a secured cluster."""

import os
import pathlib
import re
import signal
import subprocess
import threading

FEEDSTORE = pathlib.Path(
    os.environ.get("FEEDSTORE_TEST_COMMAND", pathlib.Path(__file__).resolve().parents[2] / ".build" / "debug" / "feedstore")
)
TIMEOUT = 120


def arguments(*words, settings):
    given = [f"--set={key}={value}" for key, value in settings.items()]
    return [str(FEEDSTORE), *map(str, words), *given]


def environment(**more):
    return {"PATH": os.environ["PATH"], **more}


def run(*words, settings, input=None):
    """Runs it to its end."""
    return subprocess.run(
        arguments(*words, settings=settings), capture_output=True, text=True, timeout=TIMEOUT, input=input, env=environment()
    )


def complaints(lines):
    """The warnings and errors of a log, without the counts of repetitions."""
    return [line for line in lines if re.match(r"\S+Z (warning|error) ", line) and " repeated=" not in line]


class Running:
    """A command that runs until it is stopped; a context."""

    def __init__(self, *words, settings, limit=TIMEOUT, **more):
        self._process = subprocess.Popen(
            arguments(*words, settings=settings), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env=environment(**more),
        )
        self.lines = []
        # If what a test waits for does not arrive, the command is stopped, which ends the wait.
        self._limit = threading.Timer(limit, self._process.kill)
        self._limit.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._limit.cancel()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def wait_for(self, text):
        """Reads its output and log up to a line with a text, and returns that line."""
        for line in self._process.stdout:
            self.lines.append(line)
            if text in line:
                return line
        raise AssertionError(f"it ended and did not say {text!r}:\n" + "".join(self.lines))

    def reload(self):
        """Makes it reload its configuration."""
        self._process.send_signal(signal.SIGHUP)

    def stop(self):
        """Stops it; returns its exit code."""
        self._process.terminate()
        self.lines += self._process.stdout
        return self._process.wait(TIMEOUT)
