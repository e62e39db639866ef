"""Counts a workload's instructions with callgrind, and its allocations with its own allocator."""

import dataclasses
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Instructions by location, for callgrind_annotate.
PROFILES = ROOT / ".build" / "costs"
PROGRAM = ROOT / "Benchmarks" / ".build" / "release" / "Costs"
SWIFT = os.environ.get("SWIFT", "swift").split()
# A workload takes some seconds on an idle machine.
LIMIT_SECONDS = 600


class CountingFailed(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Count:
    operations: int
    instructions: int
    allocations: int


def environment():
    """The environment on which counts depend, in addition to the sources."""
    version = re.search(r"Swift version ([\d.]+)", _output([*SWIFT, "--version"]))
    return {
        "architecture": platform.machine(),
        "swift": version[1] if version else "unknown",
        "glibc": platform.libc_ver()[1],
        "valgrind": _output(["valgrind", "--version"]).strip().removeprefix("valgrind-"),
    }


def obstacle():
    """Why this machine cannot produce comparable counts; None if it can."""
    if platform.machine() == "x86_64" and " avx2 " not in pathlib.Path("/proc/cpuinfo").read_text().replace("\n", " "):
        return "the processor has no AVX2, which the counted code paths need"
    return None


def build():
    """Builds the whole package, including parts that are not counted."""
    command = [*SWIFT, "build", "--package-path", str(ROOT / "Benchmarks"), "-c", "release"]
    if subprocess.run(command).returncode != 0:
        raise CountingFailed("the package in Benchmarks could not be built")


def count(workload, valgrind="valgrind", profiles=PROFILES):
    if not shutil.which(valgrind):
        raise CountingFailed("valgrind is needed: `make setup-test` installs it")
    profiles.mkdir(parents=True, exist_ok=True)
    profile = profiles / f"{workload.name}.callgrind"
    profile.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="feedstore-cost-") as folder:
        arguments = [workload.name]
        if workload.sample:
            arguments = ["replay", str(workload.sample.unpack(pathlib.Path(folder)))]
        command = [
            valgrind, "--tool=callgrind", "--toggle-collect=counted_part", f"--callgrind-out-file={profile}",
            str(PROGRAM), *arguments,
        ]
        try:
            run = subprocess.run(command, env=_program_environment(), capture_output=True, text=True, timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise CountingFailed(f"it had not ended after {LIMIT_SECONDS} s") from None
    if run.returncode != 0:
        raise CountingFailed(f"exit code {run.returncode} of: {' '.join(command)}\n{run.stdout}{run.stderr}".rstrip())
    printed = json.loads(run.stdout)
    totals = re.search(r"^totals: (\d+)$", profile.read_text(), re.MULTILINE)
    if not totals or int(totals[1]) == 0:
        raise CountingFailed(f"callgrind collected nothing\n{run.stderr}".rstrip())
    return Count(printed["operations"], int(totals[1]), printed["allocations"])


def _program_environment():
    """Settings that make every machine take the same code paths."""
    variables = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    # Symbols are resolved before counting begins.
    variables |= {"LD_BIND_NOW": "1", "SWIFT_DETERMINISTIC_HASHING": "1", "SWIFT_BACKTRACE": "enable=no"}
    return variables


def _output(command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout
    except OSError:
        return ""
