"""A reader's terminals: one in which blocks run in sequence, and a second one for programs that keep running."""

import os
import re
import signal
import subprocess
import threading

# On a machine that is also used by others. Building a package takes minutes.
PATIENCE_SECONDS = 600
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
END = "-- end of a block, exit code "


def pattern(line):
    """A pattern for a line of a document: times differ, and … matches any text."""
    parts = re.split("…", TIME.sub("…", line))
    return re.compile(".*".join(re.escape(part) for part in parts))


class Output:
    """The lines of a pipe, which a thread reads."""

    def __init__(self, pipe):
        self.lines, self.is_over, self.changed = [], False, threading.Condition()
        self.pipe = pipe
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.pipe:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.is_over = True
            self.changed.notify_all()

    def wait(self, condition):
        """Waits until a function of the lines is true; false if the output ends first."""
        with self.changed:
            self.changed.wait_for(lambda: condition(self.lines) or self.is_over, PATIENCE_SECONDS)
            return condition(self.lines)

    def has(self, expected):
        """Whether each expected line occurs, in any order, because partitions are read concurrently."""
        return all(any(pattern(line).fullmatch(found) for found in self.lines) for line in expected.splitlines())


class Shell:
    """A terminal: functions, variables and jobs of a block remain for the next one."""

    def __init__(self, sandbox):
        self.sandbox = sandbox
        self.process = subprocess.Popen(
            ["bash", "--norc"], cwd=sandbox.checkout, env=sandbox.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", start_new_session=True)
        self.output = Output(self.process.stdout)
        self.count = 0

    def run(self, code):
        """Runs a block up to its first failing command. Returns the exit code and the output."""
        self.count += 1
        file = self.sandbox.folder / f"block-{self.count}.sh"
        # A trap ends the block but not the shell, which keeps the functions and the jobs.
        file.write_text(f"trap 'code=$?; trap - ERR; return $code' ERR\n{code}\ntrap - ERR\n")
        begin = len(self.output.lines)
        self.process.stdin.write(f"cd '{self.sandbox.checkout}'; . '{file}' </dev/null; code=$?; echo; echo '{END}'$code\n")
        self.process.stdin.flush()
        if not self.output.wait(lambda lines: any(line.startswith(END) for line in lines[begin:])):
            return None, self.output.lines[begin:]
        lines = self.output.lines[begin:]
        end = next(number for number, line in enumerate(lines) if line.startswith(END))
        # One line feed comes from `echo`.
        printed = lines[:end - 1] if end > 0 and lines[end - 1] == "" else lines[:end]
        return int(lines[end].removeprefix(END)), printed

    def close(self):
        end_group(self.process, signal.SIGTERM)
        self.process.stdin.close()
        self.output.thread.join()
        self.process.stdout.close()


class Program:
    """A program that runs in the second terminal until Ctrl-C."""

    def __init__(self, sandbox, code):
        self.process = subprocess.Popen(
            ["bash", "-ec", code], cwd=sandbox.checkout, env=sandbox.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", start_new_session=True)
        self.output = Output(self.process.stdout)

    def close(self):
        end_group(self.process, signal.SIGINT)
        self.output.thread.join()
        self.process.stdout.close()


def end_group(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
