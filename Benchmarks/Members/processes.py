"""The processes that are measured: members, and the stand-in cluster."""

import atexit
import json
import pathlib
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
_EXIT_SECONDS = 60
_LINES_SHOWN = 20

_running = set()


@atexit.register
def _kill_all():
    for process in list(_running):
        process.kill()


def start(command, **options):
    """Starts a process that does not outlive this one, in a session of its own, as Linux shares processors out by sessions."""
    process = subprocess.Popen(command, start_new_session=True, **options)
    _running.add(process)
    return process


def run(command):
    """Runs a command to its end; returns what it printed."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed with status {result.returncode}:\n{result.stdout[-4000:]}")
    return result.stdout


class StandIn:
    """Tests/StandInCluster in a process of its own."""

    def __init__(self):
        arguments = [str(ROOT / "Tests" / "StandInCluster"), "--brokers", "2", "--markers", "0"]
        self._process = start([sys.executable, "-B", *arguments], stdout=subprocess.PIPE, text=True)
        # bootstrap.servers=127.0.0.1:1,127.0.0.1:2, control port 3
        line = self._process.stdout.readline()
        if not line.startswith("bootstrap.servers="):
            raise SystemExit("Tests/StandInCluster does not say where it is")
        self.address = line.split()[0].split("=")[1].rstrip(",")

    def stop(self):
        self._process.terminate()
        self._process.wait()
        _running.discard(self._process)


class Member:
    """A running daemon, and its log."""

    def __init__(self, command, name, log, notice):
        """Starts it.

        - log: a file that its log is appended to, or None.
        - notice: called with this, a line of the log as an object, and the time of its arrival, on another thread.
        """
        self.name = name
        self.lines = []
        self._log = log
        self._notice = notice
        self._process = start(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self):
        for text in self._process.stderr:
            now = time.monotonic()
            self.lines.append(text.rstrip())
            if self._log:
                with open(self._log, "a") as file:
                    file.write(text)
            try:
                line = json.loads(text)
            except ValueError:
                continue
            self._notice(self, line, now)

    @property
    def has_ended(self):
        return self._process.poll() is not None

    @property
    def peak_bytes(self):
        """The most that it has had in memory."""
        try:
            status = pathlib.Path(f"/proc/{self._process.pid}/status").read_text()
        except OSError:
            return 0
        return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)

    def end(self, number):
        """Sends a signal, and waits until the process has ended."""
        self._process.send_signal(number)
        try:
            code = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.fail(f"does not end within {_EXIT_SECONDS} s after {signal.Signals(number).name}")
        _running.discard(self._process)
        self._reading.join()
        if code != (0 if number == signal.SIGTERM else -number):
            self.fail(f"ended with status {code}")

    def fail(self, problem):
        raise SystemExit("\n".join([f"member {self.name} {problem}:", *self.lines[-_LINES_SHOWN:]]))
