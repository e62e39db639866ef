"""All followers reach the same states: FeedClient, the Python and the JavaScript client, and HTTP."""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from contextlib import closing

import confluent_kafka as kafka

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python" / "tests"))

from support import FEEDSTORE, PATIENCE_SECONDS, ROOT, SEED, LastingRecords, run_command  # noqa: E402
from support import Daemon as EmbeddedDaemon  # noqa: E402

from feedstore.kafka import Follower  # noqa: E402

# Names that are difficult in a URL, a key or JSON; they use all partitions of the embedded broker.
FEEDS = ["f", "g", "ü/ber", "a b+c", "50%", "?x=y#z", '"q"\\', "日本/語", "d0/f", "e", "h", "é"]
SETTINGS = {
    "http.enabled": "true", "http.port": "0", "coalesce.maxRecords": "4", "keyframe.maxDeltas": "4",
    "limits.maxDataBytes": "3000", "output.maxMessageBytes": "68536",
}
END = '{"id":"the end",'


class Records(LastingRecords):
    """Random records, sometimes with changesets that are too large for one record."""

    def _payload(self):
        if self.random.random() < 0.02:
            return json.dumps(self._large())
        return super()._payload()

    def large_items(self):
        return [{"id": f"i{number}", "data": self._text()} for number in range(40)]

    def _large(self):
        replace = {"op": "section.replace", "section": "s0", "items": self.large_items(), "at": "first"}
        return self.random.choice([replace, [{"op": "feed.clear"}, replace]])

    def _text(self):
        return self.random.choice("abc") * 2500


def text(value):
    """The JSON of a value in FeedStore's spelling, which is checked below."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def in_full(sections):
    """The sections of a reload document with empty lists, which the document omits, and without ends, which not all keep."""
    return [
        {**without(section, "ttl"), "items": [without(item, "expires") for item in section.get("items", [])]} for section in sections
    ]


def without(element, name):
    return {member: value for member, value in element.items() if member != name}


def shown_text(state):
    """The text of a follower's state, without ends."""
    return text({**state, "sections": in_full(state["sections"])} if "sections" in state else state)


class Daemon(EmbeddedDaemon):
    """`feedstore run --embedded` with HTTP."""

    def get(self, path):
        """The text of a response; None if there is no such feed, and empty if it is not available at the moment."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=PATIENCE_SECONDS) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            return None if error.code == 404 else ""

    def feed(self, name):
        return self.get("/v1/feeds/" + urllib.parse.quote(name, safe=""))


class Page:
    """feedstore-follow of the JavaScript client with --json: the newest state of each feed that it follows."""

    def __init__(self, daemon, feeds):
        self.states, self.changed = {}, threading.Condition()
        self.process = subprocess.Popen(
            [os.environ.get("NODE", "node"), ROOT / "clients" / "js" / "bin" / "feedstore-follow.mjs", daemon.url, *feeds, "--json"],
            stdout=subprocess.PIPE, encoding="utf-8")
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            state = json.loads(line)
            with self.changed:
                self.states[state["feed"]] = state
                self.changed.notify_all()

    def wait(self, condition):
        with self.changed:
            self.changed.wait_for(lambda: condition(self.states), PATIENCE_SECONDS)
            return dict(self.states)

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


class Agreement(unittest.TestCase):
    def test_all_ways_of_following_end_with_the_same_states(self):
        print(f"FEEDSTORE_SEED={SEED}")
        with closing(Daemon(SETTINGS)) as daemon:
            daemon.publish({"key": feed, "value": {"op": "feed.replace", "sections": []}} for feed in FEEDS)
            self.wait(lambda: all(map(daemon.feed, FEEDS)), "feeds that begin")
            feeds = json.loads(daemon.get("/v1/feeds"))["feeds"]
            self.assertEqual({feed["partition"] for feed in feeds}, {0, 1, 2, 3})
            with closing(Page(daemon, FEEDS)) as page:
                self.assertEqual(set(page.wait(lambda states: len(states) == len(FEEDS))), set(FEEDS))
                self.agree(daemon, page)

    def agree(self, daemon, page):
        chance = random.Random(SEED)
        records = Records(chance)
        daemon.publish({**record, "key": chance.choice(FEEDS)} for record in records.lines(600))
        # In separate windows, so that each changeset is a reconfigure; of two in a row, one is not a keyframe.
        self.change_data_alone(daemon)
        self.bring_back(daemon, records.large_items())
        # A final change of each feed.
        deleted = set(chance.sample(FEEDS, 3))
        end = {"op": "item.upsert", "item": "the end", "section": "end"}
        daemon.publish({"key": feed, "value": end} for feed in FEEDS)
        self.wait(lambda: all(END in (daemon.feed(feed) or "") for feed in FEEDS), "the last items")
        # Random records delete feeds, too. From here on, a feed that is not there was deleted by these.
        daemon.publish({"key": feed, "value": {"op": "feed.delete"}} for feed in sorted(deleted))
        page.wait(lambda states: all(END in text(states[feed]) for feed in FEEDS if feed not in deleted))
        self.wait(lambda: all(self.has_ended(daemon.feed(feed), feed in deleted) for feed in FEEDS), "the end")

        documents = {feed: daemon.feed(feed) for feed in FEEDS if feed not in deleted}
        self.assert_much_was_met(daemon)

        # The library has the same bytes, behind the partition.
        snapshot = subprocess.run(
            [FEEDSTORE, "follow", "--snapshot", "--json", "--set", f"kafka.bootstrap.servers={daemon.servers}"],
            check=True, capture_output=True, encoding="utf-8").stdout
        lines = [re.sub(r'^{"partition":[0-9]+,', "{", line) for line in snapshot.splitlines()]
        self.assertEqual(sorted(lines), sorted(documents.values()))

        # The others parse JSON: if the spelling survives, nothing is lost.
        expected = {}
        for feed, document in documents.items():
            state = json.loads(document)
            self.assertEqual(text(state), document)
            expected[feed] = text({
                **{name: state[name] for name in ("feed", "epoch", "revision", "checksum")},
                "sections": in_full(state.get("sections", []))})

        # The web follower, from the beginning; it reports that a deleted feed is gone.
        shown = {**expected, **{feed: text({"feed": feed, "mode": "delete"}) for feed in deleted}}
        states = page.wait(lambda states: all(shown_text(states[feed]) == shown[feed] for feed in shown))
        self.assertEqual({feed: shown_text(states[feed]) for feed in shown}, shown)

        # The script, as a command and as a module that reports its outcomes.
        lines = run_command("follow", daemon.servers, "--once", check=True).stdout.splitlines()
        states = [json.loads(line) for line in lines]
        partitions = {feed["feed"]: feed["partition"] for feed in json.loads(daemon.get("/v1/feeds?limit=1000"))["feeds"]}
        self.assertEqual({state["feed"]: state.pop("partition") for state in states}, partitions)
        self.assertEqual({state["feed"]: shown_text(state) for state in states}, expected)

    def change_data_alone(self, daemon):
        feed = FEEDS[0]
        for data in ("1", "2", "3"):
            daemon.publish([{"key": feed, "value": {"op": "item.upsert", "item": "alone", "section": "end", "data": data}}])
            self.wait(lambda: f'"data":"{data}"' in (daemon.feed(feed) or ""), "the item's data")

    def bring_back(self, daemon, items):
        """Deletes a feed, and creates it again with these items, in separate windows."""
        feed = FEEDS[1]
        daemon.publish([{"key": feed, "value": {"op": "feed.delete"}}])
        self.wait(lambda: daemon.feed(feed) is None, "the deletion")
        daemon.publish([{"key": feed, "value": {"op": "feed.replace", "sections": [{"id": "large", "items": items}]}}])
        self.wait(lambda: daemon.feed(feed) is not None, "the feed that comes into being again")

    def assert_much_was_met(self, daemon):
        """Asserts that the run covered all kinds of changes."""
        met = {"parts": set(), "modes": set(), "lives": {}}

        class Noting(Follower):
            def take(self, message):
                if message.value() is not None:
                    changeset = json.loads(message.value())
                    met["modes"].add(changeset["mode"])
                    if changeset["mode"] != "delete":
                        met["lives"].setdefault(changeset["feed"], set()).add(changeset["epoch"])
                    if changeset.get("parts", 1) > 1:
                        met["parts"].add(changeset["mode"])
                return super().take(message)

        with Noting(daemon.servers) as follower:
            follower.read_to_end()
        counters = json.loads(daemon.get("/v1/status"))["counters"]
        self.assertEqual(met["modes"], {"reload", "diff", "reconfigure", "delete"})
        self.assertTrue(met["parts"], "no changeset was split")
        self.assertTrue(any(len(epochs) > 1 for epochs in met["lives"].values()), "no feed came into being again")
        for name in ("changesets", "keyframes", "deletes", "rejected"):
            self.assertGreater(counters[name], 0, name)
        # The embedded broker keeps 5 MiB of a partition.
        consumer = kafka.Consumer({"bootstrap.servers": daemon.servers, "group.id": "test"})
        for number in range(4):
            low, _ = consumer.get_watermark_offsets(kafka.TopicPartition("feeds.changesets", number), PATIENCE_SECONDS)
            self.assertEqual(low, 0, "the broker has forgotten something; publish less")
        consumer.close()

    @staticmethod
    def has_ended(document, is_deleted):
        return document is None if is_deleted else document is not None and END in document

    def wait(self, condition, what):
        giving_up = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), giving_up, f"timed out waiting for {what}")


if __name__ == "__main__":
    unittest.main()
