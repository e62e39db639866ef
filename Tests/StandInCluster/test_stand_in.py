"""The behaviour of the stand-in, or any cluster, that tests rely on, through librdkafka: `python3 . -- python3 -m unittest`."""

import logging
import os
import socket
import struct
import time
import unittest
import uuid

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

SERVERS = {"bootstrap.servers": os.environ["FEEDSTORE_TEST_BOOTSTRAP"]}
TIMEOUT = 300
IS_KAFKA_4 = unittest.skipUnless(os.environ.get("FEEDSTORE_TEST_KAFKA", "").startswith("4."), "only with --kafka 4.0 or 4.1")
PRODUCE, METADATA, JOIN_GROUP, API_VERSIONS = 0, 3, 11, 18


def answer(key, version):
    """The response to a request without fields, after its number; None if the broker closes the connection."""
    host, port = SERVERS["bootstrap.servers"].split(",")[0].rsplit(":", 1)
    with socket.create_connection((host, int(port)), TIMEOUT) as connection, connection.makefile("rb") as stream:
        request = struct.pack(">hhih", key, version, 1, -1)
        connection.sendall(struct.pack(">i", len(request)) + request)
        size = stream.read(4)
        return stream.read(*struct.unpack(">i", size))[4:] if size else None


def offered(version=0):
    """The error code of ApiVersions, and the lowest and the highest version of each request."""
    code, count = struct.unpack_from(">hi", data := answer(API_VERSIONS, version))
    return code, {key: (least, most) for key, least, most in struct.iter_unpack(">hhh", data[6 : 6 + 6 * count])}


class VersionTests(unittest.TestCase):
    def test_a_version_that_is_not_offered_is_refused(self):
        code, known = offered()
        self.assertEqual(code, 0)
        self.assertIsNone(answer(METADATA, known[METADATA][1] + 1))
        # A client that asks in a version of its own learns which one to ask in.
        code, answered = offered(version=100)
        self.assertEqual((code, answered[API_VERSIONS]), (35, known[API_VERSIONS]))

    @IS_KAFKA_4
    def test_kafka_4_offers_produce_0_and_refuses_it(self):
        _, known = offered()
        self.assertEqual(known[PRODUCE][0], 0)
        self.assertIsNone(answer(PRODUCE, 2))
        self.assertEqual(known[JOIN_GROUP][0], 2 if os.environ["FEEDSTORE_TEST_KAFKA"] == "4.0" else 0)


class StandInTests(unittest.TestCase):
    def make_topic(self, **settings):
        name = f"t-{uuid.uuid4()}"
        config = {key.replace("_", "."): value for key, value in settings.items()}
        admin = AdminClient(SERVERS)
        admin.create_topics([NewTopic(name, 1, 1, config=config)])[name].result(TIMEOUT)
        return name

    def make_producer(self, name, **settings):
        settings = {key.replace("_", "."): value for key, value in settings.items()}
        producer = Producer(SERVERS | {"transactional.id": name} | settings)
        producer.init_transactions(TIMEOUT)
        return producer

    def read(self, topic, isolation="read_committed"):
        """The records that a reader with that isolation level finds up to the end."""
        settings = {"group.id": f"g-{topic}", "isolation.level": isolation, "enable.partition.eof": True}
        consumer = Consumer(SERVERS | settings)
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = []
        while True:
            message = consumer.poll(TIMEOUT)
            self.assertIsNotNone(message, "the end is not told")
            if message.error() is not None:
                self.assertEqual(message.error().code(), KafkaError._PARTITION_EOF)
                break
            found.append(message.value().decode())
        consumer.close()
        return found

    def wait_to_read(self, topic, expected):
        """Reads until the expected records are found, because markers and cleaners take a while."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            found = self.read(topic)
            if found == expected:
                return
        self.assertEqual(found, expected)

    def send(self, producer, topic, *values, key="k"):
        for value in values:
            producer.produce(topic, value, key=key, partition=0)
        self.assertEqual(producer.flush(TIMEOUT), 0)

    def test_aborted_records_are_invisible_and_open_ones_wait(self):
        topic = self.make_topic()
        one, other = self.make_producer(f"{topic}-1"), self.make_producer(f"{topic}-2")
        one.begin_transaction()
        self.send(one, topic, "aborted")
        one.abort_transaction(TIMEOUT)
        one.begin_transaction()
        self.send(one, topic, "open")
        other.begin_transaction()
        self.send(other, topic, "behind")
        other.commit_transaction(TIMEOUT)
        self.assertEqual(self.read(topic, "read_uncommitted"), ["aborted", "open", "behind"])
        self.assertEqual(self.read(topic), [])
        one.commit_transaction(TIMEOUT)
        self.wait_to_read(topic, ["open", "behind"])

    def test_a_producer_with_the_same_id_fences_another_and_aborts_its_transaction(self):
        topic = self.make_topic()
        zombie = self.make_producer(f"{topic}-1")
        zombie.begin_transaction()
        self.send(zombie, topic, "zombie")
        heir = self.make_producer(f"{topic}-1")
        heir.begin_transaction()
        self.send(heir, topic, "heir")
        heir.commit_transaction(TIMEOUT)
        with self.assertRaises(KafkaException) as raised:
            zombie.commit_transaction(TIMEOUT)
        self.assertTrue(raised.exception.args[0].fatal())
        self.wait_to_read(topic, ["heir"])

    def test_a_transaction_that_takes_too_long_is_aborted(self):
        topic = self.make_topic()
        slow = self.make_producer(f"{topic}-1", transaction_timeout_ms=5000)
        slow.begin_transaction()
        self.send(slow, topic, "slow")
        self.assertEqual(self.read(topic, "read_uncommitted"), ["slow"])
        quick = self.make_producer(f"{topic}-2")
        quick.begin_transaction()
        self.send(quick, topic, "quick")
        quick.commit_transaction(TIMEOUT)
        # It is visible once the previous transaction has been aborted.
        self.wait_to_read(topic, ["quick"])
        with self.assertRaises(KafkaException):
            slow.commit_transaction(TIMEOUT)

    def test_offsets_are_committed_with_the_transaction_and_only_by_members(self):
        topic = self.make_topic()
        reader = Consumer(SERVERS | {"group.id": topic, "auto.offset.reset": "earliest", "enable.auto.commit": False})
        self.addCleanup(reader.close)
        reader.subscribe([topic])
        producer = self.make_producer(f"{topic}-1")
        producer.begin_transaction()
        self.send(producer, topic, "a", "b")
        producer.commit_transaction(TIMEOUT)
        for value in (b"a", b"b"):
            message = reader.poll(TIMEOUT)
            self.assertIsNotNone(message)
            self.assertEqual(message.value(), value)
        place = TopicPartition(topic, 0, 2)
        for is_commit, expected in [(False, -1001), (True, 2)]:
            producer.begin_transaction()
            producer.send_offsets_to_transaction([place], reader.consumer_group_metadata(), TIMEOUT)
            if is_commit:
                producer.commit_transaction(TIMEOUT)
            else:
                producer.abort_transaction(TIMEOUT)
            (found,) = reader.committed([TopicPartition(topic, 0)], TIMEOUT)
            self.assertEqual(found.offset, expected)
        # Another member causes a new generation, of which the first member has not learned yet.
        stale = reader.consumer_group_metadata()
        other = Consumer(SERVERS | {"group.id": topic})
        joined = []
        other.subscribe([topic], on_assign=lambda *_: joined.append(True))
        deadline = time.monotonic() + TIMEOUT
        while not joined:
            self.assertLess(time.monotonic(), deadline, "nobody joined")
            reader.poll(0.1)
            other.poll(0.1)
        other.close()
        producer.begin_transaction()
        with self.assertRaises(KafkaException) as raised:
            producer.send_offsets_to_transaction([place], stale, TIMEOUT)
        self.assertTrue(raised.exception.args[0].txn_requires_abort())

    def test_a_batch_that_is_larger_than_a_segment_is_refused(self):
        topic = self.make_topic(segment_bytes="1000")
        # A single batch, however slowly they are produced; the commit does not wait that long.
        producer = self.make_producer(f"{topic}-1", linger_ms=10_000)
        producer.begin_transaction()
        for _ in range(3):
            producer.produce(topic, "x" * 400, partition=0)
        with self.assertRaises(KafkaException) as raised:
            producer.commit_transaction(TIMEOUT)
        self.assertEqual(raised.exception.args[0].name(), "RECORD_LIST_TOO_LARGE")
        producer.abort_transaction(TIMEOUT)
        small = self.make_producer(f"{topic}-2", batch_size=1)
        small.begin_transaction()
        for _ in range(3):
            small.produce(topic, "x" * 400, partition=0)
        small.commit_transaction(TIMEOUT)
        self.wait_to_read(topic, ["x" * 400] * 3)

    @IS_KAFKA_4
    def test_clients_compress(self):
        topic = self.make_topic()
        for codec in ("gzip", "snappy", "lz4", "zstd"):
            lines = []
            logger = logging.Logger(codec)
            logger.addFilter(lambda record: lines.append(record.getMessage()))
            producer = Producer(SERVERS | {"compression.type": codec, "debug": "msg"}, logger=logger)
            self.send(producer, topic, "x" * 1000)
            self.assertIn(f", {codec})", "".join(lines))

    def test_partitions_are_added_to_a_topic_and_never_taken_away(self):
        topic = self.make_topic()
        admin = AdminClient(SERVERS)
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result(TIMEOUT)
        self.assertEqual(sorted(admin.list_topics(topic).topics[topic].partitions), [0, 1, 2])
        producer = Producer(SERVERS)
        producer.produce(topic, "new", partition=2)
        self.assertEqual(producer.flush(TIMEOUT), 0)
        with self.assertRaises(KafkaException) as raised:
            admin.create_partitions([NewPartitions(topic, 3)])[topic].result(TIMEOUT)
        self.assertEqual(raised.exception.args[0].name(), "INVALID_PARTITIONS")

    def test_a_topic_that_is_created_again_is_empty_and_its_offsets_are_forgotten(self):
        topic = self.make_topic()
        producer = Producer(SERVERS)
        producer.produce(topic, "old", partition=0)
        self.assertEqual(producer.flush(TIMEOUT), 0)
        reader = Consumer(SERVERS | {"group.id": topic, "enable.auto.commit": False})
        self.addCleanup(reader.close)
        reader.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
        admin = AdminClient(SERVERS)
        admin.delete_topics([topic])[topic].result(TIMEOUT)
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(TIMEOUT)
        self.assertEqual(self.read(topic), [])
        (found,) = reader.committed([TopicPartition(topic, 0)], TIMEOUT)
        self.assertEqual(found.offset, -1001)

    def test_cleaning_keeps_the_last_record_of_each_key(self):
        topic = self.make_topic(cleanup_policy="compact", segment_ms="1")
        producer = self.make_producer(f"{topic}-1")
        for number in range(3):
            producer.begin_transaction()
            self.send(producer, topic, f"{number}")
            self.send(producer, topic, f"other {number}", key="other")
            producer.commit_transaction(TIMEOUT)
        self.wait_to_read(topic, ["2", "other 2"])


if __name__ == "__main__":
    unittest.main()
