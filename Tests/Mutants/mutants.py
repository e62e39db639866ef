"""Plants one bug after the other in a copy of the sources, and runs the tests that must find it.

mutants.toml lists the bugs: each replaces one piece of one line, and names the suite that finds it. A bug that no test
finds shows a test that is missing. The copy is kept in .build/mutants, so that a later run builds only what changed.

    python3 Tests/Mutants/mutants.py                   all
    python3 Tests/Mutants/mutants.py --start 55        from the 55th on
    python3 Tests/Mutants/mutants.py --only ghost      those whose name contains the word
    python3 Tests/Mutants/mutants.py --check           only look whether each still fits the sources
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COPY = ROOT / ".build" / "mutants"
SWIFT = os.environ.get("SWIFT", "swift")
# A bug may make a test run for ever.
TEST_SECONDS = 600
# How long the simulation has to find one.
SIMULATION_SECONDS = 60


class Mutant:
    def __init__(self, entry):
        self.name = entry.pop("name")
        self.file = entry.pop("file")
        self.old = entry.pop("old")
        self.new = entry.pop("new")
        self.suite = entry.pop("suite")
        if entry:
            sys.exit(f"mutants.toml: mutant '{self.name}' has unknown keys: {', '.join(entry)}")

    def problem(self):
        """Why the mutant does not fit the sources; None if it does."""
        path = ROOT / self.file
        if not path.is_file():
            return f"there is no file {self.file}"
        found = path.read_text().count(self.old)
        if found != 1:
            return f"{self.file} has its text {found} times; expected once:\n    {self.old}"
        if "\n" in self.old or "\n" in self.new:
            return "it is more than one line"
        if self.old == self.new:
            return "it changes nothing"
        return None

    def apply(self):
        path = COPY / self.file
        original = path.read_text()
        path.write_text(original.replace(self.old, self.new))
        return lambda: path.write_text(original)


def run(command, seconds):
    """Runs a command in the copy. Returns whether it succeeded, or None if it took too long, and what it printed."""
    # The report of a crash is not needed, and on a busy machine it may not end.
    environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no"}
    process = subprocess.Popen(
        command, cwd=COPY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        # A test may fail with any bytes.
        errors="replace", start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode == 0, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return None, output


def build():
    succeeded, output = run([SWIFT, "build", "--build-tests"], None)
    return None if succeeded else output


def test(suite):
    command = [SWIFT, "test", "--skip-build", "--disable-xctest", "--filter", suite]
    if suite.startswith("BrokerTests"):
        command = [sys.executable, "Tests/StandInCluster", "--"] + command
    if suite.startswith("SimulationTests"):
        command = ["env", f"FEEDSTORE_SIMULATION_SECONDS={SIMULATION_SECONDS}", *command]
    succeeded, output = run(command, TEST_SECONDS)
    if succeeded and "Test run with 0 tests" in output:
        sys.exit(f"no test is named {suite}")
    return succeeded, output


def copy_sources():
    """Brings the copy up to date; files that did not change keep their times, so that they are not built again."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\0")
    wanted = {name for name in listed if name and (ROOT / name).is_file()}
    COPY.mkdir(parents=True, exist_ok=True)
    for path in COPY.rglob("*"):
        name = path.relative_to(COPY)
        if path.is_file() and name.parts[0] != ".build" and str(name) not in wanted:
            path.unlink()
    for name in wanted:
        source, target = ROOT / name, COPY / name
        if not target.is_file() or source.read_bytes() != target.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
            os.utime(target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="WORD", help="only mutants whose name, file or suite contains it")
    parser.add_argument("--start", metavar="N", type=int, default=1, help="begin with the N-th, to go on after a run that ended early")
    parser.add_argument("--check", action="store_true", help="only look whether each mutant fits the sources")
    options = parser.parse_args()

    entries = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    mutants = [Mutant(dict(entry)) for entry in entries]
    problems = [f"{mutant.name}: {mutant.problem()}" for mutant in mutants if mutant.problem()]
    names = [mutant.name for mutant in mutants]
    problems += [f"{name}: the name is used twice" for name in set(names) if names.count(name) > 1]
    if problems:
        sys.exit("mutants.toml does not fit the sources:\n" + "\n".join(problems))
    if options.check:
        print(f"{len(mutants)} mutants fit the sources")
        return
    if options.only:
        mutants = [m for m in mutants if any(options.only in text for text in (m.name, m.file, m.suite))]

    mutants = mutants[options.start - 1 :]

    copy_sources()
    fault = build()
    if fault:
        sys.exit(fault + "\nthe sources do not build without a planted bug")
    for suite in sorted({mutant.suite for mutant in mutants}):
        succeeded, output = test(suite)
        if not succeeded:
            sys.exit(output + f"\n{suite} fails without a planted bug")
    print(f"the suites pass without a planted bug; {len(mutants)} bugs are planted now", flush=True)

    survivors = []
    for number, mutant in enumerate(mutants, options.start):
        start = time.monotonic()
        restore = mutant.apply()
        try:
            fault = build()
            if fault:
                succeeded, verdict = True, "does not compile"
                print(fault)
            else:
                succeeded, _ = test(mutant.suite)
                verdict = "SURVIVED" if succeeded else "found" if succeeded is False else "found: the tests hang"
        finally:
            restore()
        if succeeded:
            survivors.append(mutant)
        seconds = time.monotonic() - start
        print(f"{number:3} {mutant.name}: {verdict} ({mutant.suite}, {seconds:.0f} s)", flush=True)
    for mutant in survivors:
        print(f"no test of {mutant.suite} finds '{mutant.name}': {mutant.file}\n  - {mutant.old}\n  + {mutant.new}")
    print(f"mutants: {len(mutants) - len(survivors)} passed, {len(survivors)} failed")
    sys.exit(1 if survivors else 0)


main()
