"""Runs suites side by side. Their output goes to files, and from there to standard output, one suite after another."""

import asyncio
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import time

from suites import Suite


@dataclasses.dataclass(frozen=True)
class Result:
    suite: Suite
    log: pathlib.Path
    # Why it failed; None if it passed.
    failure: str | None
    seconds: float
    # Of the processor, for all processes that were waited for.
    processor_seconds: float

    def __str__(self):
        how = "passed" if self.failure is None else f"FAILED: {self.failure}"
        return f"{self.suite.name:<12}{self.seconds:6.0f} s, {self.processor_seconds:5.0f} s of the processor: {how}"


class Runner:
    """Runs some suites at a time, those that restart brokers of others at the end and by themselves.

    Suites that take longer than the limit are terminated, and killed after the grace.
    """

    def __init__(self, logs, at_a_time, limit_seconds, bootstrap=None, announce=print, grace_seconds=15):
        self.logs = logs
        self.limit_seconds = limit_seconds
        self.grace_seconds = grace_seconds
        self.bootstrap = bootstrap
        self.announce = announce
        self._slots = asyncio.Semaphore(at_a_time)
        # Each waits for the end of one suite.
        self._threads = concurrent.futures.ThreadPoolExecutor(at_a_time)
        self._groups = set()
        self._is_stopping = False

    async def run(self, suites):
        """Runs all to their ends, whether others fail or not; the results come in the order of the suites."""
        self.logs.mkdir(parents=True, exist_ok=True)
        last = [suite for suite in suites if suite.restarts_brokers and self.bootstrap]
        results = await asyncio.gather(*(self._take_turn(suite) for suite in suites if suite not in last))
        for suite in last:
            results.append(await self._take_turn(suite))
        return results

    async def run_again(self, results):
        """Runs failed suites again, one by one; their output goes to another folder."""
        again = self.logs / "again"
        again.mkdir(exist_ok=True)
        return [await self._take_turn(result.suite, again) for result in results if result.failure]

    def stop(self):
        """Kills what runs; nothing more begins."""
        self._is_stopping = True
        for group in self._groups:
            _signal(group, signal.SIGKILL)

    async def _take_turn(self, suite, folder=None):
        async with self._slots:
            log = (folder or self.logs) / f"{suite.name}.log"
            begin = time.monotonic()
            failure, usage = ("it was not begun", None) if self._is_stopping else await self._run(suite, log)
            processor_seconds = usage.ru_utime + usage.ru_stime if usage else 0
            result = Result(suite, log, failure, time.monotonic() - begin, processor_seconds)
            self.announce(result)
            return result

    async def _run(self, suite, log):
        """Why it failed, if it did, and what it used."""
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
        with log.open("wb") as output:
            process = subprocess.Popen(
                suite.command_line(self.bootstrap), cwd=suite.folder, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, env=environment, start_new_session=True,
            )
        self._groups.add(process.pid)
        ending = asyncio.get_running_loop().run_in_executor(self._threads, os.wait4, process.pid, 0)
        failure = None
        if not (await asyncio.wait({ending}, timeout=self.limit_seconds))[0]:
            failure = f"it hung, and was killed after {self.limit_seconds / 60:.0f} minutes"
            if names := unended_tests(log.read_text(errors="replace")):
                failure += f"; these tests had not ended: {', '.join(names)}"
            _signal(process.pid, signal.SIGTERM)
            await asyncio.wait({ending}, timeout=self.grace_seconds)
        # Also processes that it has left behind, whose end would not be reported.
        _signal(process.pid, signal.SIGKILL)
        _, status, usage = await ending
        self._groups.discard(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        if failure is None and process.returncode != 0:
            code = process.returncode
            failure = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
        return failure, usage


def grown(measured, expected, factor=1.5, least=0.01):
    """The suites whose share of the processor's time has grown, as text; both are seconds by suite."""
    common = measured.keys() & expected.keys()
    now, before = ({name: times[name] / (sum(times[one] for one in common) or 1) for name in common} for times in (measured, expected))
    return [
        f"{name} took {now[name]:.0%} of the processor's time, and {before[name]:.0%} in Tests/SuiteRunner/times.json"
        for name in sorted(common) if now[name] > factor * before[name] + least
    ]


def _signal(group, number):
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


def unended_tests(text):
    """The names of tests that had begun and not ended, in the output of swift test."""
    begun = {}
    for line in text.splitlines():
        if found := re.match(r"◇ Test (?!case |run )(.+) started\.$", line):
            begun[found[1]] = True
        elif found := re.match(r"\S+ Test (?!case |run )(.+?) (?:with \d+ test cases? )?(?:passed|failed|skipped)\b", line):
            begun.pop(found[1], None)
    return list(begun)


# The beginnings of lines in which Swift Testing, unittest and Node's runner name a failed test or its expectation.
_FAILURE = re.compile(
    r"(?:✘ Test (?!run )|✖ (?!failing tests)|(?:FAIL|ERROR): |\w*(?:Error|Exception)\b.*: |.*(?:Fatal error|Precondition failed): )"
)


def failure_lines(text, most=20):
    """The lines that say what failed, those that come later left out; the last lines, if there are none."""
    lines = [line for line in text.splitlines() if line.strip()]
    telling = list(dict.fromkeys(line for line in lines if _FAILURE.match(line)))
    return telling[:most] or lines[-most:]
