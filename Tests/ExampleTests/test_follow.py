"""examples/follow.py, with the output of replays and with a daemon on an embedded broker."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "examples"), str(ROOT / "Tests" / "SchemaTests")]

from follow import Feed  # noqa: E402
from random_records import RandomRecords  # noqa: E402
from repository import GOLDEN, FEEDSTORE, replay  # noqa: E402

SEED = int(os.environ.get("FEEDSTORE_SEED", random.randrange(2**32)))
# The timeout for the daemon to publish its input, on a machine that is also used by others.
PATIENCE_SECONDS = 300


def apply(output):
    """A follower's feeds after a replay's output, and the outcomes."""
    feeds, outcomes = {}, set()
    for line in output:
        kind, _, name = line["key"].partition("/")
        if line["value"] is None:
            if kind == "k0":
                feeds.pop(name, None)
            continue
        outcome = feeds.setdefault(name, Feed()).apply(line["value"])
        outcomes.add(outcome)
        if outcome == "removed":
            del feeds[name]
    return feeds, outcomes


def states(output):
    """The final feeds, from reloads alone; the replay writes one after each changeset."""
    found = {}
    for line in output:
        kind, _, name = line["key"].partition("/")
        value = line["value"]
        if value is None and kind == "k0":
            found.pop(name, None)
        elif value is not None and value["mode"] == "reload":
            sections = found.setdefault(name, []) if value.get("part", 0) else []
            for section in value.get("sections", []):
                if sections and sections[-1]["id"] == section["id"]:
                    sections[-1]["items"] += section.get("items", [])
                else:
                    sections.append({"id": section["id"], "data": section["data"], "items": section.get("items", [])})
            found[name] = sections
    return found


class Follow(unittest.TestCase):
    def test_golden_replays(self):
        for path in sorted(GOLDEN.glob("*.output.ndjson")):
            with self.subTest(path.name):
                output = [json.loads(line) for line in path.read_text().splitlines()]
                _, outcomes = apply(output)
                self.assertNotIn("gap", outcomes)

    def test_random_replays(self):
        settings = ["limits.maxDataBytes=1000", "output.maxMessageBytes=66536"]
        for seed in range(SEED, SEED + 5):
            with self.subTest(seed=seed):
                lines = RandomRecords(random.Random(seed)).lines(300)
                feeds, outcomes = apply(replay(lines, settings)["output"])
                self.assertNotIn("gap", outcomes)
                expected = states(replay(lines, settings + ["keyframe.maxBytesRatio=0"])["output"])
                self.assertEqual({name: feed.document() for name, feed in feeds.items()}, expected)

    def test_a_missing_record_is_a_gap_until_the_next_reload(self):
        lines = [{"key": "f", "ts": 200 * number, "value": event} for number, event in enumerate([
            {"op": "feed.replace", "sections": [{"id": "s", "items": ["a", "b"]}]},
            {"op": "item.upsert", "item": "a", "data": 1}, {"op": "item.upsert", "item": "a", "data": 2},
            {"op": "feed.reload"}, {"op": "item.upsert", "item": "b", "data": 3}])]
        output = replay(lines, [])["output"]
        feed = Feed()
        outcomes = [feed.apply(line["value"]) for number, line in enumerate(output) if number != 1]
        self.assertEqual(outcomes, ["applied", "gap", "applied", "applied"])
        self.assertEqual([item["data"] for item in feed.document()[0]["items"]], [2, 3])

    def test_a_wrong_position_and_a_wrong_checksum_are_reported(self):
        lines = [
            {"key": "f", "value": {"op": "feed.replace", "sections": [{"id": "s", "items": ["a", "b"]}]}},
            {"key": "f", "ts": 500, "value": {"op": "item.delete", "item": "b"}}]
        first, second = (line["value"] for line in replay(lines, ["planner.minimumItems=100"])["output"])
        for fault in ({"checksum": "00000000"}, {"items": {"delete": [{"id": "b", "section": "s", "index": 0}]}}):
            feed = Feed()
            feed.apply(first)
            with self.assertRaises(ValueError):
                feed.apply({**second, **fault})

    def test_an_id_that_occurs_twice_is_reported_whatever_the_checksum(self):
        def section(name, *ids):
            return {"id": name, "data": None, "items": [{"id": item, "kind": "", "data": 1} for item in ids]}

        def insertion(name):
            return {"insert": [{"id": name, "section": "s", "index": 0, "kind": "", "data": 2}]}

        first = {"feed": "f", "epoch": "t/0", "revision": 1, "mode": "reload"}
        second = {"feed": "f", "epoch": "t/0", "revision": 2, "base": 1, "mode": "diff"}
        for reload, difference in (
            ([section("s", "a"), section("s")], None),
            ([section("s", "a"), section("t", "a")], None),
            ([section("s", "a", "a")], None),
            ([section("s", "a")], {"items": insertion("a")}),
            ([section("s", "a")], {"sections": {"insert": [{"id": "s", "index": 1, "data": None}]}}),
        ):
            with self.subTest(reload=reload, difference=difference):
                feed = Feed()
                # Whatever it comes to.
                with unittest.mock.patch.object(Feed, "checksum", lambda _: "00000000"):
                    if difference is not None:
                        feed.apply({**first, "sections": reload, "checksum": "00000000"})
                    with self.assertRaisesRegex(ValueError, "twice"):
                        feed.apply({**(second if difference else first), **(difference or {"sections": reload}), "checksum": "00000000"})

    def test_on_a_broker_the_feeds_equal_those_of_a_replay(self):
        print(f"FEEDSTORE_SEED={SEED}")
        lines = [{**line, "topic": "feeds.items"} for line in RandomRecords(random.Random(SEED)).lines(400)]
        expected = states(replay(lines, ["keyframe.maxBytesRatio=0"])["output"])
        daemon = subprocess.Popen([FEEDSTORE, "run", "--embedded"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            servers = daemon.stdout.readline().decode().strip()
            with tempfile.NamedTemporaryFile("w", suffix=".ndjson") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
                file.flush()
                subprocess.run(
                    [FEEDSTORE, "publish", file.name, "--set", f"kafka.bootstrap.servers={servers}"],
                    check=True, capture_output=True)
            giving_up = time.monotonic() + PATIENCE_SECONDS
            while (found := self.follow(servers)) != expected and time.monotonic() < giving_up:
                pass
            self.assertEqual(found, expected)
        finally:
            daemon.terminate()
            daemon.wait()
            daemon.stdout.close()

    def follow(self, servers):
        command = [sys.executable, ROOT / "examples" / "follow.py", servers, "--once"]
        result = subprocess.run(command, capture_output=True, encoding="utf-8")
        self.assertEqual(result.returncode, 0, result.stderr)
        return {feed["feed"]: feed["sections"] for feed in map(json.loads, result.stdout.splitlines())}


if __name__ == "__main__":
    unittest.main()
