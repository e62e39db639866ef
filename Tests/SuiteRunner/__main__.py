"""Runs the tests: `python3 Tests/SuiteRunner --help`, or `make test`, which builds them first."""

import argparse
import asyncio
import json
import os
import pathlib
import signal
import sys

import busy
import runner
import suites

_DESCRIPTION = """
Runs suites side by side, prints the output of each when it ends, and last how long they took. Ends with 1 if one failed.
"""


def _options():
    parser = argparse.ArgumentParser(prog="SuiteRunner", description=_DESCRIPTION)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="all, if none is named")
    parser.add_argument("--slow", action="store_true", help="the long variants of those that have one")
    parser.add_argument("--at-a-time", type=int, default=3, help="how many run side by side (3)")
    parser.add_argument("--again", action="store_true", help="run what failed a second time, by itself")
    parser.add_argument("--limit", type=float, default=30, metavar="MINUTES", help="a suite that takes longer hangs (30)")
    parser.add_argument("--runs", type=int, help="runs them all so often, and prints only what failed")
    parser.add_argument("--busy", type=int, default=0, metavar="LOOPS", help="how many busy loops run besides (0)")
    return parser, parser.parse_args()


def _chosen(parser, options):
    known = suites.SLOW if options.slow else suites.SUITES
    by_name = {suite.name: suite for suite in known}
    if unknown := [name for name in options.suites if name not in by_name]:
        parser.error(f"there is no suite {unknown[0]}; there are {', '.join(by_name)}")
    return [by_name[name] for name in options.suites] or known


def _print_log(result):
    print(f"\n==== {result.suite.name} ====", flush=True)
    sys.stdout.buffer.write(result.log.read_bytes())
    print(f"==== {result} ====", flush=True)


async def _run(options, chosen, folder, announce):
    one = runner.Runner(
        folder, options.at_a_time, options.limit * 60, os.environ.get("FEEDSTORE_TEST_BOOTSTRAP"), announce
    )
    task = asyncio.current_task()

    def end():
        one.stop()
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, end)
    results = await one.run(chosen)
    return results, await one.run_again(results) if options.again else []


def _print_failures(title, results):
    """The failures, and the lines with their reasons: a record of a run may keep its last lines only."""
    if results:
        print(f"{title}: {', '.join(result.suite.name for result in results)}")
    for result in results:
        for line in runner.failure_lines(result.log.read_text(errors="replace") if result.log.exists() else ""):
            print(f"{result.suite.name}: {line}")


def _once(options, chosen, logs):
    results, again = asyncio.run(_run(options, chosen, logs, _print_log))
    print("\n" + "\n".join(map(str, results)))
    if not options.suites and not options.slow:
        times = {result.suite.name: round(result.processor_seconds) for result in results}
        (logs / "times.json").write_text(json.dumps(dict(sorted(times.items())), indent=2) + "\n")
        print("\n".join(runner.grown(times, json.loads(pathlib.Path(__file__).with_name("times.json").read_text()))))
    for result in again:
        print(f"again: {result}")
    unsteady = [result.suite for result in again if result.failure is None]
    _print_failures("passed only when run again", [result for result in results if result.suite in unsteady])
    failed = [result for result in results if result.failure and result.suite not in unsteady]
    _print_failures("failed", failed)
    return 1 if failed else 0


def _often(options, chosen, logs):
    failures = []
    for number in range(1, options.runs + 1):
        print(f"run {number} of {options.runs}", flush=True)
        folder = logs / f"run-{number}"

        def announce(result):
            if result.failure is None:
                result.log.unlink(missing_ok=True)
            else:
                failures.append(f"run {number}: {result}; {result.log}")
                print(failures[-1], flush=True)

        asyncio.run(_run(options, chosen, folder, announce))
    names = ", ".join(suite.name for suite in chosen)
    print(f"{options.runs} runs of {names} beside {options.busy} busy loops: {len(failures)} failures")
    print("".join(failure + "\n" for failure in failures), end="")
    return 1 if failures else 0


def main():
    parser, options = _options()
    chosen = _chosen(parser, options)
    if options.slow:
        os.environ["FEEDSTORE_TEST_SLOW"] = "1"
    logs = suites.ROOT / ".build" / "tests"
    with busy.loops(options.busy):
        try:
            return _often(options, chosen, logs) if options.runs else _once(options, chosen, logs)
        except (asyncio.CancelledError, KeyboardInterrupt):
            print("the tests were stopped", file=sys.stderr)
            return 130


if __name__ == "__main__":
    sys.exit(main())
