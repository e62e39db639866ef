"""What an event costs on a list with many ghosts: elements that the window has removed and that followers still have."""
import json
import math
import os
import pathlib
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
COMMAND = REPOSITORY / ".build/debug/feedstore"
GHOSTS, EVENTS = 30_000, 6_000
# Walking the ghosts for each event makes it 10 or more.
MOST = 3
# Other load makes a run slower, never faster.
TRIES = 3


def user_seconds(values):
    """The user time of a replay of these values, each in a window of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "in"
        with path.open("w") as lines:
            for number, value in enumerate(values):
                lines.write(json.dumps({"ts": 1_000 * number, "key": "f", "value": value}) + "\n")
        quiet = [(os.POSIX_SPAWN_OPEN, descriptor, "/dev/null", os.O_WRONLY, 0) for descriptor in (1, 2)]
        arguments = [COMMAND, "replay", path, "--output", "/dev/null", "--rejected", "/dev/null", "--strict",
                     "--set", "limits.maxSections=1000000"]
        process = os.posix_spawn(COMMAND, arguments, os.environ, file_actions=quiet)
        _, status, usage = os.wait4(process, 0)
        if status != 0:
            raise AssertionError(f"{arguments} ended with status {status}")
        return usage.ru_utime


def replaced(section, items):
    return {"op": "section.replace", "section": section, "items": items}


IDS = [f"i{number}" for number in range(GHOSTS)]
EMPTY = {"op": "section.upsert", "section": "empty"}


class Ghosts(unittest.TestCase):
    def assert_costs_alike(self, ordinary, hostile):
        """Replaying some values costs at most MOST times as much as replaying others."""
        least = [math.inf, math.inf]
        for _ in range(TRIES):
            least = [min(pair) for pair in zip(least, map(user_seconds, (ordinary, hostile)))]
            if least[1] < MOST * least[0]:
                return
        self.fail(f"{least[1]:.2f} s of user time with ghosts, {least[0]:.2f} s without, the least of {TRIES} runs")

    def assert_replacing_costs_alike(self, events):
        """The events cost about the same if they name the section of the ghosts, and another one."""
        before = [replaced("s", IDS), EMPTY, replaced("s", [])]
        self.assert_costs_alike([*before, *events("empty")], [*before, *events("s")])

    def test_replacing_a_list_does_not_walk_them(self):
        self.assert_replacing_costs_alike(
            lambda section: [replaced(section, [("x", "y")[number % 2]]) for number in range(EVENTS)])

    def test_nor_does_a_replacement_by_items_on_both_sides_of_them(self):
        ends = {"s": [IDS[0], IDS[-1]], "empty": ["p", "q"]}
        self.assert_replacing_costs_alike(
            lambda section: [replaced(section, ends[section][:: (-1) ** number]) for number in range(EVENTS // 2)])

    def test_nor_does_clearing_a_feed(self):
        clears = [event for _ in range(EVENTS) for event in ({"op": "feed.clear"}, EMPTY)][:9_000]
        sections = {"op": "feed.replace", "sections": [{"id": id} for id in IDS]}
        # Both make the sections and remove them once; only in the second they are ghosts meanwhile.
        self.assert_costs_alike([sections, {"op": "feed.clear"}, clears], [sections, clears])


if __name__ == "__main__":
    unittest.main()
