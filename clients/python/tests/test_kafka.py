"""Following the changesets topic, and writing to the input topics: single records, and a daemon on a broker of its own."""

import asyncio
import itertools
import json
import logging
import os
import pathlib
import random
import tempfile
import threading
import types
import unittest
from contextlib import closing
from unittest import mock

import confluent_kafka

from support import (
    PATIENCE_SECONDS, ROOT, SEED, Daemon, LastingRecords, RandomRecords, deletion, difference, plain, reload, replay, run_command, section,
    until, vectors,
)
from test_replica import encoded, states

from feedstore import FeedStore, KafkaRefused, WriteFailed
from feedstore import kafka, kafka_clients
from feedstore.kafka import Follower, Producer


def Message(key, value, partition=0, offset=7):
    """A record as the consumer gives it."""
    key, value = (text.encode() if isinstance(text, str) else text for text in (key, value))
    return types.SimpleNamespace(
        key=lambda: key, value=lambda: value, partition=lambda: partition, offset=lambda: offset, error=lambda: None)


class Consumer:
    """A client of a topic whose records a test gives, in several partitions."""

    def __init__(self, records=(), partitions=(0, 1)):
        self.records, self.assigned = {partition: [] for partition in partitions}, None
        for record in records:
            self.records[record.partition()].append(record)
        self.settings = None

    def __call__(self, settings):
        self.settings = settings
        return self

    def list_topics(self, timeout):
        partitions = {number: mock.Mock(id=number, error=None) for number in self.records}
        return mock.Mock(topics={"feeds.changesets": mock.Mock(error=None, partitions=partitions)})

    def assign(self, places):
        self.assigned = {place.partition: max(place.offset, 0) for place in places}
        self.left = [record for partition, start in self.assigned.items() for record in self.records[partition] if record.offset() >= start]
        self.left += [self.end(partition) for partition in self.assigned]

    def end(self, partition):
        error = mock.Mock(code=lambda: confluent_kafka.KafkaError._PARTITION_EOF)
        return mock.Mock(error=lambda: error, partition=lambda: partition)

    def poll(self, timeout):
        return self.left.pop(0) if self.left else None

    def close(self):
        pass


def follower(*records, consumer=None, **more):
    consumer = consumer or Consumer(records)
    with mock.patch.object(kafka.confluent_kafka, "Consumer", consumer):
        return Follower("servers", **more)


def state(data="null", revision=1, feed="f"):
    return reload(feed, [section("s", "i")], revision).replace('"kind":"","data":null', f'"kind":"","data":{data}')


class Records(unittest.TestCase):
    """Single records."""

    def setUp(self):
        logging.getLogger("feedstore").setLevel(logging.CRITICAL)

    def take(self, *messages):
        """The views after the records, and what was reported."""
        found = follower()
        updates = [found.take(message) for message in messages]
        return found.views, [(*update[:2], update.update.kind) for update in updates if update]

    def test_data_is_written_as_it_is_spelled(self):
        deep = "[" * 500 + "]" * 500
        for spelling in [
            "7" * 5000, "-" + "7" * 5000, "1e999", "[-1E+400]", "123", "1.0", "-0", "1e-999", '"caf\\u00e9\\/\u05e9"', '"\\ud83c\\udf4e"',
            '{"a":1,"a":2}', '{"b":1,"a":{"data":"\\\\"},"data":2}', '[ 1 , {"x" : "}]"} ]', "{}", "[]", "null",
            f'[{deep},1,{{"a":{deep},"b":[2]}},"x"]', *("[" * levels + '{"a]":"\\"["}' + "]" * levels for levels in (50, 5_000, 200_000)),
        ]:
            with self.subTest(spelling[:20]):
                views, told = self.take(Message("k0/f", state(spelling)))
                self.assertEqual(told, [(0, "f", "state")])
                self.assertTrue(views[0, "f"].to_json().endswith(
                    f'"sections": [{{"id": "s", "data": null, "items": [{{"id": "i", "kind": "", "data": {spelling}}}]}}]}}'))

    def test_what_is_no_changeset_is_skipped_until_the_next_reload(self):
        for value in (b"", b"\xff", b"7", b"{}", state(revision=2).replace('"checksum":"', '"checksum":"0')):
            with self.subTest(value[:40]):
                views, told = self.take(Message("k0/f", state()), Message("d1/f", value), Message("k0/f", state(revision=3)))
                self.assertEqual(told, [(0, "f", "state"), (0, "f", "standing"), (0, "f", "state")])
                self.assertEqual((views[0, "f"].revision, views[0, "f"].standing.name), (3, "catching-up"))
                views, told = self.take(Message("k0/f", state()), Message("d1/f", value))
                self.assertEqual(views[0, "f"].standing.reason, "must-refetch")
                self.assertEqual(self.take(Message("k0/f", value)), ({}, []))

    def test_it_says_what_it_skips(self):
        with self.assertLogs("feedstore") as logs:
            self.take(Message("k0/f", state()), Message("d1/f", b"7"), Message(None, b"7"), Message(b"\xff", b"7"), Message("x/f", b"7"))
        self.assertEqual(len(logs.output), 4)
        self.assertTrue(all("partition 0, offset 7 is skipped" in line for line in logs.output), logs.output)

    def test_the_deletion_of_an_unknown_feed_is_not_reported(self):
        delta = difference("f", [section("s", "i")], 2)
        for left in (
            [Message("k0/f", None)], [Message("d2/f", deletion("f", 2)), Message("k0/f", None), Message("d1/f", None)],
            # A delta whose reload was compacted away.
            [Message("d1/f", delta), Message("d2/f", deletion("f", 2)), Message("k0/f", None)],
        ):
            self.assertEqual(self.take(*left), ({}, []))
        for ending in ([Message("d1/f", deletion("f", 2)), Message("k0/f", None)], [Message("k0/f", None)]):
            self.assertEqual(self.take(Message("k0/f", state()), *ending), ({}, [(0, "f", "state"), (0, "f", "absent")]))

    def test_one_id_in_two_partitions_is_two_feeds(self):
        views, told = self.take(Message("k0/f", state("1")), Message("k0/f", state("2"), 1), Message("k0/f", None))
        self.assertEqual(told, [(0, "f", "state"), (1, "f", "state"), (0, "f", "absent")])
        self.assertEqual([(*key, view.item("i").data) for key, view in views.items()], [(1, "f", 2)])

    def test_feeds_that_are_not_wanted_cost_nothing(self):
        for feeds in (["g"], lambda feed: feed == "g"):
            found = follower(Message("k0/f", state()), Message("k0/g", state(feed="g"), offset=8), feeds=feeds)
            found.read_to_end()
            self.assertEqual([key[1] for key in found.views], ["g"])
            self.assertEqual(list(found._feeds[0].replicas), ["g"])
        self.assertEqual(found._consumer.settings["queued.max.messages.kbytes"], 16384)

    def test_partitions_can_be_chosen(self):
        found = follower(Message("k0/f", state()), Message("k0/g", state(feed="g"), 1), partitions=[1])
        found.read_to_end()
        self.assertEqual(list(found.views), [(1, "g")])
        self.assertEqual(found.view("g").standing.name, "live")
        with self.assertRaisesRegex(KafkaRefused, "has the partitions"):
            follower(partitions=[7])

    def test_iterations(self):
        records = [Message("k0/f", state()), Message("k0/f", state("7", 2), offset=8)]
        found = list(itertools.islice(follower(*records), 2))

        async def main():
            updates = []
            async for update in follower(*records):
                updates.append(update)
                if len(updates) == 2:
                    return updates

        self.assertEqual([update.update.view.revision for update in found], [1, 2])
        self.assertEqual([update.update.view.revision for update in asyncio.run(main())], [1, 2])

    def test_it_is_not_closed_while_an_iteration_that_was_cancelled_still_reads(self):
        polling, is_polling = threading.Event(), []

        class Slow(Consumer):
            def poll(self, timeout):
                is_polling.append(True)
                polling.set()
                # As a consumer that has nothing to read.
                threading.Event().wait(timeout)
                is_polling.clear()

            def close(self):
                self.was_polling = bool(is_polling)

        async def main():
            with follower(consumer=Slow()) as found:
                task = asyncio.ensure_future(found.__aiter__().__anext__())
                await asyncio.to_thread(polling.wait)
                task.cancel()
            return found._consumer

        self.assertFalse(asyncio.run(main()).was_polling)


class Saved(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = str(pathlib.Path(self.folder.name) / "saved")

    def test_a_follower_that_is_interrupted_anywhere_ends_with_the_same_feeds(self):
        """Also within the parts of a changeset."""
        print(f"FEEDSTORE_SEED={SEED}")
        settings = ["limits.maxDataBytes=1000", "output.maxMessageBytes=66536"]
        large = [{"key": "f", "ts": 99_999 + 1000 * number, "value": {"op": "section.replace", "section": "large", "items": [
            {"id": f"large{item}", "data": "x" * 900 + str(number)} for item in range(150)]}} for number in range(3)]
        lines = replay(RandomRecords(random.Random(SEED)).lines(200) + large, settings)["output"]
        records = [Message(*encoded(line), line["partition"], line["offset"]) for line in lines]
        self.assertTrue(any(line["value"] and line["value"].get("parts", 1) > 1 for line in lines))
        wanted = follower(*records)
        wanted.read_to_end()
        expected = {key: plain(view.sections) for key, view in wanted.views.items()}
        rng, is_within = random.Random(SEED), 0
        for _ in range(40):
            first = follower(*records)
            for _ in range(rng.randrange(len(records))):
                first.poll()
            first.save(self.path)
            is_within += any(replica.is_waiting for replica in first._feeds[0].replicas.values())
            second = follower(*records, saved=self.path)
            second.read_to_end()
            self.assertEqual({key: plain(view.sections) for key, view in second.views.items()}, expected)
            self.assertTrue(all(view.standing.name == "live" for view in second.views.values()))
        cut = next(index for index, line in enumerate(lines) if line["value"] and line["value"].get("parts", 1) > 1) + 1
        first = follower(*records)
        for _ in range(cut):
            first.poll()
        first.save(self.path)
        second = follower(*records, saved=self.path)
        self.assertEqual(second._consumer.assigned[0], cut - 1)
        second.read_to_end()
        self.assertEqual({key: plain(view.sections) for key, view in second.views.items()}, expected)

    def test_what_was_saved_is_there_at_once(self):
        first = follower(Message("k0/f", state("1.0")), Message("d1/g", "7", offset=8))
        first.read_to_end()
        first.save(self.path)
        second = follower(saved=self.path)
        self.assertEqual(second.positions, {0: 9})
        self.assertEqual((second.view("f").item("i").data_text, second.view("f").standing.name), ("1.0", "catching-up"))
        self.assertTrue(second._feeds[0].replicas["g"].is_stale)
        self.assertEqual(follower(saved=self.path, feeds=["x"]).views, {})

    def test_what_is_too_old_or_of_another_topic_is_not_taken(self):
        first = follower(Message("k0/f", state()))
        first.read_to_end()
        first.save(self.path)
        with mock.patch.object(kafka.time, "time", lambda: os.path.getmtime(self.path) + 90_000), self.assertLogs("feedstore"):
            self.assertEqual(follower(saved=self.path).positions, {})
        text = pathlib.Path(self.path).read_text().replace("feeds.changesets", "other")
        pathlib.Path(self.path).write_text(text)
        with self.assertRaisesRegex(ValueError, "was not saved by"):
            follower(saved=self.path)
        self.assertEqual(follower(saved=self.path + "2").positions, {})


class Refusals(unittest.TestCase):
    """Errors from Kafka."""

    def test_topics_and_partitions(self):
        def error(code):
            return confluent_kafka.KafkaError(code)
        topic = mock.Mock(error=None, partitions={1: mock.Mock(id=1, error=None), 0: mock.Mock(id=0, error=error(5))})
        denied = mock.Mock(error=error(confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED), partitions={})
        consumer = mock.Mock()
        consumer.list_topics.return_value = mock.Mock(topics={"t": topic, "denied": denied})
        with self.assertLogs("feedstore") as logs:
            self.assertEqual(kafka_clients.partitions_of(consumer, "t"), [0, 1])
        self.assertIn("waiting for partition 0 of t: ", logs.output[0])
        for name, words in [("tt", "there is no topic tt, .*check its name"), ("denied", "topic denied: .*check your rights")]:
            with self.assertRaisesRegex(KafkaRefused, words):
                kafka_clients.partitions_of(consumer, name)

    def test_an_error_while_it_is_read_names_the_topic(self):
        found = follower()
        error = confluent_kafka.KafkaError(confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED)
        found._consumer.left = [mock.Mock(error=lambda: error)]
        with self.assertRaisesRegex(KafkaRefused, "cannot read topic feeds.changesets: .*check its name and your rights"):
            found.poll()

    def test_an_error_that_passes_is_waited_for(self):
        found = follower()
        error = confluent_kafka.KafkaError(confluent_kafka.KafkaError._ALL_BROKERS_DOWN)
        found._consumer.left.insert(0, mock.Mock(error=lambda: error))
        with self.assertLogs("feedstore"):
            found.read_to_end()

    def test_no_right_to_a_group_is_needed(self):
        found = follower()
        error = confluent_kafka.KafkaError(confluent_kafka.KafkaError.GROUP_AUTHORIZATION_FAILED)
        found._consumer.left.insert(0, mock.Mock(error=lambda: error))
        with self.assertNoLogs("feedstore"):
            found.read_to_end()

    def test_brokers_that_cannot_be_reached(self):
        with mock.patch.object(kafka_clients, "WAIT_SECONDS", 0.1), self.assertRaisesRegex(KafkaRefused, "no broker answers.*check the address"):
            Follower("127.0.0.1:1")
        result = run_command("follow", "127.0.0.1:1", "--once")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("feedstore: no broker answers: ", result.stderr)
        self.assertNotIn("Traceback", result.stderr)


class OnABroker(unittest.TestCase):
    def follow(self, daemon):
        result = run_command("follow", daemon.servers, "--once")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.splitlines()

    def test_the_feeds_equal_those_of_a_replay(self):
        print(f"FEEDSTORE_SEED={SEED}")
        lines = [{**line, "topic": "feeds.items"} for line in LastingRecords(random.Random(SEED)).lines(400)]
        expected = states(replay(lines, ["keyframe.maxBytesRatio=0"])["output"])
        with closing(Daemon()) as daemon:
            daemon.publish(lines)
            with Follower(daemon.servers) as found:
                while {key[1]: plain(view.sections) for key, view in found.views.items()} != expected:
                    found.poll()
                found.read_to_end()
            documents = {document["feed"]: document for document in map(json.loads, self.follow(daemon))}
            self.assertEqual(set(documents), set(expected))
            for feed, document in documents.items():
                sections = [
                    (one["id"], one.get("order"), one.get("keep"), [(item["id"], item["kind"]) for item in one["items"]])
                    for one in document["sections"]]
                self.assertEqual(sections, [
                    (name, order, keep, [item[:2] for item in items]) for name, _, order, keep, items in expected[feed]])
            with open("/dev/full", "wb") as full:
                result = run_command("follow", daemon.servers, "--once", stdout=full)
            self.assertEqual(
                (result.returncode, result.stderr), (1, "feedstore: cannot write standard output: No space left on device\n"))
            for arguments in ([], ["--once"]):
                result = run_command("follow", daemon.servers, "--topic", "feeds.changeset", *arguments)
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assertIn("feedstore: there is no topic feeds.changeset, ", result.stderr)
                self.assertNotIn("Traceback", result.stderr)

    def test_what_is_beyond_python_s_limits(self):
        with closing(Daemon({"limits.maxDepth": "2000"})) as daemon:
            # Sent directly to two partitions, as producers should not.
            producer = confluent_kafka.Producer({"bootstrap.servers": daemon.servers})
            spellings = ["7" * 5000, "[" * 1900 + "]" * 1900]
            for partition, data in enumerate(spellings):
                value = '{"op":"item.upsert","section":"s","item":"i","data":%s}' % data
                producer.produce("feeds.items", value, "f", partition)
            producer.flush(PATIENCE_SECONDS)
            lines = until(lambda: len(found := self.follow(daemon)) == 2 and found, "two feeds")
            for partition, (line, data) in enumerate(zip(lines, spellings)):
                self.assertIn(f'"feed": "f", "partition": {partition}, ', line)
                self.assertIn(f'"data": {data}}}', line)

    def test_a_producer_chooses_partitions_and_tells_rejections(self):
        rejections = []
        with closing(Daemon().wait_until_ready()) as daemon, Producer(daemon.servers, on_rejected=rejections.append) as producer:
            feeds = [vector["key"] for vector in vectors(ROOT / "conformance" / "partitioner.ndjson") if vector["key"]]
            wanted = {vector["key"]: vector["partitions"]["4"] for vector in vectors(ROOT / "conformance" / "partitioner.ndjson")}
            writes = [producer.write(feed, {"op": "item.upsert", "section": "s", "item": "a", "data": feed}) for feed in feeds]
            for feed, write in zip(feeds, writes):
                written = write.result(PATIENCE_SECONDS)
                self.assertEqual((written.feed, written.topic, written.partition), (feed, "feeds.items", wanted[feed]))
            # Those of others are not told.
            with closing(Producer(daemon.servers)) as other:
                other.write("news", {"op": "item.upsert", "item": "other"}).result(PATIENCE_SECONDS)
            wrong = [producer.write("news", {"op": "item.upsert", "item": f"new{number}"}) for number in range(3)]
            places = [(write.result(PATIENCE_SECONDS).partition, write.result().offset) for write in wrong]
            until(lambda: len(rejections) == 3, "the rejections")
            self.assertEqual([(rejection.partition, rejection.offset) for rejection in rejections], places)
            self.assertEqual({(one.feed, one.code) for one in rejections}, {("news", "unknown-section")})
            self.assertEqual(rejections[0].value, b'{"op":"item.upsert","item":"new0"}')

            async def main():
                return await producer.delete("news")

            asyncio.run(main())
            with FeedStore(daemon.url) as store:
                for update in store.feed("news"):
                    if update.kind == "absent":
                        break

    def test_a_record_that_is_too_large_fails(self):
        with closing(Daemon()) as daemon, Producer({"bootstrap.servers": daemon.servers, "message.max.bytes": 2000}) as producer:
            with self.assertRaisesRegex(WriteFailed, "nothing was written"):
                producer.write("f", {"op": "item.upsert", "item": "a", "data": "x" * 3000}).result(PATIENCE_SECONDS)
            with self.assertRaisesRegex(ValueError, "this is not an event"):
                producer.write("f", "text")
        with self.assertRaises(KafkaRefused):
            with mock.patch.object(kafka_clients, "WAIT_SECONDS", 0.1):
                Producer("127.0.0.1:1")


if __name__ == "__main__":
    unittest.main()
