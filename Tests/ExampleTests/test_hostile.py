"""examples/follow.py with invalid records, and with failing topics and brokers."""

import contextlib
import io
import json
import subprocess
import sys
import time
import unittest
from contextlib import closing
from unittest import mock

import confluent_kafka as kafka

from test_agreement import Daemon
from test_follow import PATIENCE_SECONDS, ROOT

import follow

EPOCH = {"epoch": "t/0", "time": "2026-11-20T10:00:00.000Z", "through": {"t": 0}}


class Message:
    """A record as the consumer gives it."""

    def __init__(self, key, value, partition=0):
        self._key, self._value, self._partition = key.encode(), value, partition

    def key(self):
        return self._key

    def value(self):
        return self._value

    def partition(self):
        return self._partition

    def offset(self):
        return 7


def reload(name, data="null", revision=1):
    """The bytes of a reload with one item; its data is used unchanged."""
    head = {"feed": name, **EPOCH, "revision": revision, "base": revision - 1, "mode": "reload", "reason": "initial"}
    feed = follow.Feed()
    feed.reload([{"id": "s", "data": None, "items": [{"id": "i", "kind": "", "data": None}]}])
    sections = '[{"id":"s","data":null,"items":[{"id":"i","kind":"","data":%s}]}]' % data
    return f'{json.dumps({**head, "checksum": feed.checksum()})[:-1]},"sections":{sections}}}'.encode()


def delete(name):
    return json.dumps({"feed": name, **EPOCH, "revision": 2, "base": 1, "mode": "delete", "checksum": "00000000"}).encode()


class Records(unittest.TestCase):
    """Single records."""

    def take(self, *messages):
        """The feeds after the records, the reported changes, and the warnings."""
        feeds, told, warnings = {}, [], io.StringIO()
        with contextlib.redirect_stderr(warnings):
            for message in messages:
                follow.take(message, feeds, lambda partition, name, changeset, feed: told.append(
                    (partition, name, changeset["mode"] if feed else "gone")))
        return feeds, told, warnings.getvalue()

    def test_data_is_printed_as_it_is_spelled(self):
        deep = "[" * 500 + "]" * 500
        for spelling in [
            "7" * 5000, "-" + "7" * 5000, "1e999", "[-1E+400]", "123", "1.0", "-0", "1e-999", '"caf\\u00e9\\/\u05e9"', '"\\ud800"',
            '{"a":1,"a":2}', '{"b":1,"a":{"data":"\\\\"},"data":2}', '[ 1 , {"x" : "}]"} ]', "{}", "[]", "null",
            f'[{deep},1,{{"a":{deep},"b":[2]}},"x"]',
            *("[" * levels + '{"a]":"\\"["}' + "]" * levels for levels in (50, 5_000, 200_000)),
        ]:
            with self.subTest(spelling[:20]):
                feeds, told, warnings = self.take(Message("k0/f", reload("f", spelling)))
                self.assertEqual((told, warnings), ([(0, "f", "reload")], ""))
                document = feeds[0, "f"].document()
                self.assertEqual(document[0]["items"][0]["data"], spelling)
                self.assertEqual(
                    follow.written(document),
                    f'[{{"id": "s", "data": null, "items": [{{"id": "i", "kind": "", "data": {spelling}}}]}}]')

    def test_unknown_fields_may_be_beyond_pythons_limits(self):
        for value in ("7" * 5000, "1e999", "[" * 5_000 + "]" * 5_000, '[{"data":1}]'):
            with self.subTest(value[:20]):
                text = reload("f", "1.0")[:-1] + f',"new":{value}}}'.encode()
                feeds, told, warnings = self.take(Message("k0/f", text))
                self.assertEqual((told, warnings), ([(0, "f", "reload")], ""))
                self.assertEqual(feeds[0, "f"].document()[0]["items"][0]["data"], "1.0")

    def test_invalid_changesets_are_skipped_until_the_next_reload(self):
        checksum = reload("f", revision=2).replace(b'"checksum": "', b'"checksum": "0')
        for value in [
            b"", b"\xff", b"7", b"null", b"[]", b"{}", b"NaN", b'{"a":NaN}', b"[" * 100_000, b'{"mode":[]}', checksum,
            b'{"epoch":[],"mode":"reload","sections":7}',
        ]:
            with self.subTest(value[:40]):
                feeds, told, warnings = self.take(
                    Message("k0/f", reload("f")), Message("d1/f", value), Message("k0/f", reload("f", revision=3)))
                self.assertEqual(told, [(0, "f", "reload")] * 2)
                self.assertIn("partition 0, offset 7 is skipped", warnings)
                self.assertEqual(feeds[0, "f"].revision, 3)
                self.assertFalse(feeds[0, "f"].is_stale)
                feeds, told, _ = self.take(Message("k0/f", value))
                self.assertEqual((feeds[0, "f"].epoch, feeds[0, "f"].is_stale, told), (None, True, []))

    def test_an_invalid_key_is_skipped(self):
        message = Message("k0/f", reload("f"))
        for key in (None, b"\xff"):
            message._key = key
            self.assertIn("is skipped", self.take(message)[2])

    def test_the_deletion_of_an_unknown_feed_is_not_reported(self):
        for left in [
            [Message("k0/f", None)], [Message("d2/f", delete("f")), Message("k0/f", None), Message("d1/f", None)],
            # A delta whose reload was compacted away.
            [Message("d1/f", reload("f").replace(b"reload", b"diff")), Message("d2/f", delete("f")), Message("k0/f", None)],
        ]:
            feeds, told, _ = self.take(*left)
            self.assertEqual((feeds, told), ({}, []))
        _, told, _ = self.take(Message("k0/f", reload("f")), Message("d1/f", delete("f")), Message("k0/f", None))
        self.assertEqual(told, [(0, "f", "reload"), (0, "f", "gone")])
        _, told, _ = self.take(Message("k0/f", reload("f")), Message("k0/f", None))
        self.assertEqual(told, [(0, "f", "reload"), (0, "f", "gone")])

    def test_one_id_in_two_partitions_is_two_feeds(self):
        feeds, told, _ = self.take(
            Message("k0/f", reload("f", "1")), Message("k0/f", reload("f", "2"), 1), Message("k0/f", None))
        self.assertEqual(told, [(0, "f", "reload"), (1, "f", "reload"), (0, "f", "gone")])
        self.assertEqual(list(feeds), [(1, "f")])


class Refusals(unittest.TestCase):
    """Errors from Kafka."""

    def test_topics_and_partitions(self):
        def error(code):
            return kafka.KafkaError(code)
        topic = mock.Mock(error=None, partitions={1: mock.Mock(id=1, error=None), 0: mock.Mock(id=0, error=error(5))})
        denied = mock.Mock(error=error(kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED), partitions={})
        consumer = mock.Mock()
        consumer.list_topics.return_value = mock.Mock(topics={"t": topic, "denied": denied})
        warnings = io.StringIO()
        with contextlib.redirect_stderr(warnings):
            self.assertEqual(follow.partitions_of(consumer, "t"), [0, 1])
        self.assertIn("waiting for partition 0 of t: ", warnings.getvalue())
        for name, words in [("tt", "there is no topic tt, .*check its name"), ("denied", "topic denied: .*check your rights")]:
            with self.assertRaisesRegex(follow.Refused, words):
                follow.partitions_of(consumer, name)

    def test_an_error_while_it_is_read_names_the_topic(self):
        error = kafka.KafkaError(kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED)
        consumer = mock.Mock()
        consumer.poll.return_value.error.return_value = error
        with mock.patch.object(follow, "partitions_of", return_value=[0]), \
                mock.patch.object(follow.kafka, "Consumer", return_value=consumer):
            with self.assertRaisesRegex(follow.Refused, "cannot read topic t: .*check its name and your rights"):
                follow.follow("", "t", False, None)

    def test_brokers_that_cannot_be_reached(self):
        result = self.run_script("127.0.0.1:1", "--once")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("follow.py: no broker answers: ", result.stderr)
        self.assertIn("check the address", result.stderr)
        self.assertNotIn("Traceback", result.stderr)

    def run_script(self, *arguments):
        command = [sys.executable, ROOT / "examples" / "follow.py", *arguments]
        return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=PATIENCE_SECONDS)

    def test_on_a_broker(self):
        with closing(Daemon({"http.enabled": "true", "http.port": "0", "limits.maxDepth": "2000"})) as daemon:
            for arguments in ([], ["--once"]):
                result = self.run_script(daemon.servers, "--topic", "feeds.changeset", *arguments)
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assertIn("follow.py: there is no topic feeds.changeset, ", result.stderr)
                self.assertNotIn("Traceback", result.stderr)

            # Sent directly to two partitions, as producers should not.
            producer = kafka.Producer({"bootstrap.servers": daemon.servers})
            deep = "[" * 1900 + "]" * 1900
            spellings = ["7" * 5000, deep]
            for partition, data in enumerate(spellings):
                value = '{"op":"item.upsert","section":"s","item":"i","data":%s}' % data
                producer.produce("feeds.items", value, "f", partition)
            producer.flush(PATIENCE_SECONDS)
            giving_up = time.monotonic() + PATIENCE_SECONDS
            lines = []
            while len(lines) < 2 and time.monotonic() < giving_up:
                result = self.run_script(daemon.servers, "--once")
                self.assertEqual(result.returncode, 0, result.stderr)
                lines = result.stdout.splitlines()
            for partition, (line, data) in enumerate(zip(lines, spellings, strict=True)):
                self.assertIn(f'"feed": "f", "partition": {partition}, ', line)
                self.assertIn(f'"data": {data}}}', line)


if __name__ == "__main__":
    unittest.main()
