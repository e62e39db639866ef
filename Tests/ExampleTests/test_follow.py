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

from follow import Feed, parse  # noqa: E402
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
                    sections.append({**section, "items": section.get("items", [])})
            found[name] = sections
    return found


def random_difference(rng):
    """A feed as the items of each section, and a random difference's sections and items; some have a wrong position."""
    def some(ids):
        return [identifier for identifier in ids if rng.random() < 0.3]

    def strewn(ids, kept):
        for identifier in ids:
            kept.insert(rng.randint(0, len(kept)), identifier)

    base = {f"s{number}": [f"i{number}.{item}" for item in range(rng.randrange(10))] for number in range(rng.randrange(6))}
    deleted = some(base)
    moved = some(section for section in base if section not in deleted)
    new = [f"new{number}" for number in range(rng.randrange(3))]
    order = [section for section in base if section not in deleted + moved]
    strewn(moved + new, order)
    sections = {
        "delete": [{"id": section, "index": list(base).index(section)} for section in deleted],
        "move": [{"id": section, "from": list(base).index(section), "to": order.index(section)} for section in moved],
        "insert": [{"id": section, "index": order.index(section), "data": None} for section in new]}

    places = {item: {"section": section, "index": index} for section, ids in base.items() for index, item in enumerate(ids)}
    deleted = some(places)
    moved = some(item for item in places if item not in deleted) if order else []
    new = [f"new{number}" for number in range(rng.randrange(8))] if order else []
    result = {section: [item for item in base.get(section, []) if item not in deleted + moved] for section in order}
    for item in moved + new:
        strewn([item], result[rng.choice(order)])
    results = {item: {"section": section, "index": index} for section, ids in result.items() for index, item in enumerate(ids)}
    items = {
        "delete": [{"id": item, **places[item]} for item in deleted],
        "move": [{"id": item, "from": places[item], "to": results[item]} for item in moved],
        "insert": [{"id": item, **results[item], "kind": "", "data": None} for item in new]}

    positions = [(entry, field) for entries in sections.values() for entry in entries for field in ("index", "from", "to")]
    positions += [(place, "index") for entries in items.values() for entry in entries for place in (entry, *entry.values())]
    positions = [(place, field) for place, field in positions if isinstance(place, dict) and field in place]
    if positions and rng.random() < 0.5:
        place, field = rng.choice(positions)
        place[field] = rng.choice([-1, place[field] - 1, place[field] + 1, 1000])
    for entries in (*sections.values(), *items.values()):
        rng.shuffle(entries)
    return base, sections, items


def slowly(base, sections, items):
    """The feed after a difference, one element at a time as the protocol's section 11.5 says; None if a position is wrong."""
    order, lists = list(base), {section: list(ids) for section, ids in base.items()}
    leaving = [(lists[entry["section"]], entry["index"], entry["id"]) for entry in items["delete"]]
    leaving += [(lists[entry["from"]["section"]], entry["from"]["index"], entry["id"]) for entry in items["move"]]
    leaving += [(order, entry["index"], entry["id"]) for entry in sections["delete"]]
    leaving += [(order, entry["from"], entry["id"]) for entry in sections["move"]]
    if not all(0 <= index < len(ids) and ids[index] == identifier for ids, index, identifier in leaving):
        return None
    for ids, _, identifier in leaving:
        ids.remove(identifier)
    lists.update({entry["id"]: [] for entry in sections["insert"]})
    coming = [(entry["index"], entry["id"], order) for entry in sections["insert"]]
    coming += [(entry["to"], entry["id"], order) for entry in sections["move"]]
    coming += [(entry["index"], entry["id"], lists[entry["section"]]) for entry in items["insert"]]
    coming += [(entry["to"]["index"], entry["id"], lists[entry["to"]["section"]]) for entry in items["move"]]
    for index, identifier, ids in sorted(coming, key=lambda entry: entry[0]):
        if not 0 <= index <= len(ids):
            return None
        ids.insert(index, identifier)
    # Positions count in the result, so two elements of a list cannot have the same one.
    if any(ids[index] != identifier for index, identifier, ids in coming):
        return None
    return [(section, lists[section]) for section in order]


class CountingList(list):
    """Counts the elements that insertions shift, and those that are read in slices and loops."""

    count = 0

    def insert(self, index, element):
        self.count += len(self) - index
        super().insert(index, element)

    def __getitem__(self, place):
        self.count += len(range(*place.indices(len(self)))) if isinstance(place, slice) else 1
        return super().__getitem__(place)

    def __iter__(self):
        self.count += len(self)
        return super().__iter__()


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

        def move(name, *indices):
            source, target = ({"section": "s", "index": index} for index in indices)
            return {"id": name, "from": source, "to": target}

        first = {"feed": "f", "epoch": "t/0", "revision": 1, "mode": "reload"}
        second = {"feed": "f", "epoch": "t/0", "revision": 2, "base": 1, "mode": "diff"}
        for reload, difference in (
            ([section("s", "a"), section("s")], None),
            ([section("s", "a"), section("t", "a")], None),
            ([section("s", "a", "a")], None),
            ([section("s", "a")], {"items": insertion("a")}),
            ([section("s", "a", "b")], {"items": {"move": [move("a", 0, 1), move("a", 0, 2)]}}),
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

    def test_random_differences_equal_those_applied_one_element_at_a_time(self):
        outcomes = []
        for seed in range(SEED, SEED + 1000):
            with self.subTest(seed=seed):
                base, sections, items = random_difference(random.Random(seed))
                feed = Feed()
                feed.reload([
                    {"id": section, "data": None, "items": [{"id": item, "kind": "", "data": None} for item in ids]}
                    for section, ids in base.items()])
                expected = slowly(base, sections, items)
                outcomes.append(expected is not None)
                if expected is None:
                    with self.assertRaises(ValueError):
                        feed.change(sections, items)
                else:
                    feed.change(sections, items)
                    found = [(section["id"], [item["id"] for item in section["items"]]) for section in feed.document()]
                    self.assertEqual(found, expected)
        self.assertEqual(set(outcomes), {True, False})

    def test_a_difference_reads_a_list_once_however_many_elements_it_inserts(self):
        feed = Feed()
        feed.reload([{"id": "s", "data": None, "items": [{"id": f"i{number}", "kind": "", "data": None} for number in range(3000)]}])
        ids = feed.items["s"] = CountingList(feed.items["s"])
        feed.change({}, {"insert": [
            {"id": f"new{number}", "section": "s", "index": 4 * number, "kind": "", "data": None} for number in range(1000)]})
        self.assertEqual(feed.items["s"][:6], ["new0", "i0", "i1", "i2", "new1", "i3"])
        # One look at each old id, and at most one for each new one; insertions one by one shift 1.5 million.
        self.assertLessEqual(ids.count, 3000 + 1000)

    def test_deep_values_with_a_string_that_does_not_end_are_refused(self):
        # A scan that looks for the end of the string from each of its quotes takes hours for the long ones.
        for rest in ("]" * 101, "a" * 1000, "\\\"" + "]" * 101, "\\", "\\\"" * 500_000, "\\\"" * 500_000 + "]" * 101):
            with self.subTest(rest[:20]), self.assertRaises(ValueError):
                parse(b"[" * 101 + b'"' + rest.encode())

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
            with open("/dev/full", "wb") as full:
                result = subprocess.run(
                    [sys.executable, ROOT / "examples" / "follow.py", servers, "--once"], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stderr, b"follow.py: cannot write standard output: No space left on device\n")
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
