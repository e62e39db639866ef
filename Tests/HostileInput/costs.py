"""The cost of replays with the built command."""
import json
import math
import os
import pathlib
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
COMMAND = REPOSITORY / ".build/debug/feedstore"
# Work for each element of a list, for each event, makes it 10 or more.
MOST = 3
# Other load makes a run slower, never faster.
TRIES = 3


def replay(path, settings=(), rejects=False):
    """Replays a file. Returns what it used: its rusage."""
    quiet = [(os.POSIX_SPAWN_OPEN, descriptor, "/dev/null", os.O_WRONLY, 0) for descriptor in (1, 2)]
    arguments = [COMMAND, "replay", path, "--output", "/dev/null", "--rejected", "/dev/null", "--strict"]
    arguments += [part for setting in settings for part in ("--set", setting)]
    process = os.posix_spawn(COMMAND, arguments, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(process, 0)
    # With --strict it exits with 1 if it rejected records.
    if os.waitstatus_to_exitcode(status) != int(rejects):
        raise AssertionError(f"{arguments} ended with status {status}")
    return usage


def user_seconds(values, settings=(), rejects=False):
    """The user time of a replay of these values, each in a window of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "in"
        with path.open("w") as lines:
            for number, value in enumerate(values):
                lines.write(json.dumps({"ts": 1_000 * number, "key": "f", "value": value}) + "\n")
        return replay(path, settings, rejects).ru_utime


class CostTests(unittest.TestCase):
    def assert_costs_alike(self, ordinary, hostile, settings=(), rejects=False):
        """Replaying some values costs at most MOST times as much as replaying others."""
        least = [math.inf, math.inf]
        for _ in range(TRIES):
            times = [user_seconds(values, settings, rejects) for values in (ordinary, hostile)]
            least = [min(pair) for pair in zip(least, times)]
            if least[1] < MOST * least[0]:
                return
        self.fail(f"{least[1]:.2f} s of user time, {least[0]:.2f} s for ordinary input, the least of {TRIES} runs")
