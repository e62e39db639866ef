"""The runner's promises for suites that fail, hang, or leave processes behind, and for the busy loops."""

import asyncio
import dataclasses
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import unittest

import busy
import suites
from runner import Runner, failure_lines, grown, unended_tests
from suites import Suite

HERE = pathlib.Path(__file__).resolve().parent


def shell(name, script, **more):
    return Suite(name, ["/bin/sh", "-c", script], HERE, **more)


class RunnerTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.logs = pathlib.Path(folder.name) / "logs"

    def run_suites(self, *chosen, at_a_time=2, limit_seconds=600, bootstrap=None):
        self.told = []

        async def run():
            return await Runner(self.logs, at_a_time, limit_seconds, bootstrap, self.told.append, 0.1).run(chosen)

        return asyncio.run(run())

    def test_a_failure_is_told_and_the_others_run_to_their_ends(self):
        results = self.run_suites(shell("good", "echo well; echo done >&2"), shell("bad", "echo no; exit 7"), shell("late", "echo late"))
        self.assertEqual([result.failure for result in results], [None, "exit code 7", None])
        self.assertEqual([result.log.read_text() for result in results], ["well\ndone\n", "no\n", "late\n"])
        self.assertCountEqual(self.told, results)

    def test_what_failed_runs_again_by_itself_and_keeps_its_first_output(self):
        async def run():
            runner = Runner(self.logs, 2, 600, None, lambda result: None, 0.1)
            results = await runner.run([shell("good", "exit 0"), shell("bad", "echo no; exit 1"), shell("unsteady", script)])
            return results, await runner.run_again(results)

        script = f"echo try; test -e {self.logs}/tried || {{ touch {self.logs}/tried; exit 1; }}"
        results, again = asyncio.run(run())
        self.assertEqual([result.failure for result in results], [None, "exit code 1", "exit code 1"])
        self.assertEqual([(result.suite.name, result.failure) for result in again], [("bad", "exit code 1"), ("unsteady", None)])
        for result in [*results[1:], *again]:
            self.assertIn(result.log.read_text(), ["no\n", "try\n"])

    def test_a_suite_has_grown_if_its_share_has_even_on_a_slow_machine(self):
        expected = {"one": 50, "two": 50, "gone": 900}
        self.assertEqual(grown({"one": 500, "two": 500, "new": 7}, expected), [])
        self.assertRegex(grown({"one": 80, "two": 10}, expected)[0], "^one took 89% .* 50% in ")

    def test_a_suite_that_was_killed_has_failed(self):
        self.assertEqual(self.run_suites(shell("one", "kill -9 $$"))[0].failure, "killed by signal 9")

    def test_a_suite_that_hangs_is_killed(self):
        (result,) = self.run_suites(shell("hanging", "trap '' TERM; tail -f /dev/null"), limit_seconds=0.1)
        self.assertIn("it hung, and was killed", result.failure)

    def test_the_lines_that_tell_of_a_failure_are_found(self):
        text = """
◇ Test one() started.
✘ Test one() recorded an issue at Some.swift:3:4: Expectation failed: 1 == 2
✘ Test one() failed after 0.1 seconds with 1 issue.
✘ Test run with 2 tests failed after 1 second with 1 issue.
FAIL: test_it (test_some.Tests)
Traceback (most recent call last):
AssertionError: 3 != 4
✖ names stay (1.2ms)
Feed/Some.swift:7: Fatal error: Index out of range
Feed/Other.swift:8: Precondition failed: it is completed already
"""
        self.assertEqual(
            [line.split()[0] for line in failure_lines(text)],
            ["✘", "✘", "FAIL:", "AssertionError:", "✖", "Feed/Some.swift:7:", "Feed/Other.swift:8:"],
        )
        self.assertEqual(len(failure_lines(text, most=2)), 2)
        self.assertEqual(failure_lines("one\n\ntwo\nthree\n", most=2), ["two", "three"])

    def test_what_had_not_ended_is_read_from_the_output_of_swift_test(self):
        text = """
◇ Test run started.
◇ Suite Some started.
◇ Test one() started.
◇ Test "the other passed on" started.
◇ Test "many" started.
◇ Test case passing 1 argument seed → 62 to "many" started.
◇ Test third(_:) started.
✔ Test one() passed after 0.001 seconds.
✘ Test case passing 1 argument seed → 62 to "many" failed after 1 seconds with 1 issue.
✘ Test third(_:) with 3 test cases failed after 0.5 seconds with 1 issue.
"""
        self.assertEqual(unended_tests(text), ['"the other passed on"', '"many"'])

    def test_what_a_suite_leaves_behind_is_ended(self):
        (result,) = self.run_suites(shell("leaving", "tail -f /dev/null & echo $!"))
        self.assertIsNone(result.failure)
        wait_for_the_end(int(result.log.read_text()))

    def test_suites_that_restart_brokers_come_last_on_a_cluster_of_others(self):
        begun = self.logs.parent / "begun"
        found = [
            shell("restart", f"echo restart >>{begun}", restarts_brokers=True), shell("a", f"echo a >>{begun}"),
            shell("b", f"echo b >>{begun}"),
        ]
        self.run_suites(*found, bootstrap="localhost:9092")
        self.assertEqual(begun.read_text().splitlines()[-1], "restart")

    def test_a_cluster_is_stood_in_for_where_there_is_none(self):
        suite = shell("one", "true", uses_cluster=True)
        self.assertEqual(suite.command_line("localhost:9092"), suite.command)
        stand_in = [*suites.STAND_IN, "--", *suite.command]
        self.assertEqual(suite.command_line(None), stand_in)
        released = dataclasses.replace(suite, kafka="4.1")
        self.assertEqual(released.command_line("localhost:9092"), ["env", "FEEDSTORE_TEST_KAFKA=4.1", *stand_in])


class CommandTests(unittest.TestCase):
    def test_a_suite_that_is_not_there_is_named(self):
        result = subprocess.run([sys.executable, HERE, "nothing"], capture_output=True, encoding="utf-8")
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no suite nothing; there are broker, units", result.stderr)


class BusyTests(unittest.TestCase):
    def test_loops_end_with_the_block(self):
        with busy.loops(2) as pids:
            for pid in pids:
                os.kill(pid, 0)
        for pid in pids:
            self.assertRaises(ProcessLookupError, os.kill, pid, 0)

    def test_loops_end_when_whoever_began_them_is_killed(self):
        script = "import busy, sys\nwith busy.loops(2) as pids: print(*pids, flush=True); sys.stdin.read()"
        command = [sys.executable, "-c", script]
        with subprocess.Popen(command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            pids = list(map(int, process.stdout.readline().split()))
            self.assertEqual(len(pids), 2)
            process.send_signal(signal.SIGKILL)
            process.wait()
        for pid in pids:
            wait_for_the_end(pid)


def wait_for_the_end(pid):
    """Does not return while a process runs that is not a child of this one."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # Readable once it has ended.
        select.select([descriptor], [], [])
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    unittest.main()
