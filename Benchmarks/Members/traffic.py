"""Updates that are sent, and changesets that arrive."""

import array
import random
import re
import threading
import time

from confluent_kafka import Consumer, Producer, TopicPartition

ITEMS_PER_FEED = 1000
DATA_BYTES = 200
_POLL_SECONDS = 0.05
_STEP_SECONDS = 0.005
_WAIT_SECONDS = 60
_UPDATE = re.compile(rb'\{"i":(\d+),"n":(\d+),')


def _event(item, number):
    start = f'{{"i":{item},"n":{number},"text":"'
    data = start + "x" * (DATA_BYTES - len(start) - 2) + '"}'
    return f'{{"op":"item.upsert","item":"item-{item % ITEMS_PER_FEED:08}","section":"stories","kind":"story","data":{data}}}'


def _key(feed):
    return f"feed-{feed:06}"


class Traffic:
    """Numbered updates of items: in feeds of 1,000 items, which take turns with the partitions."""

    def __init__(self, address, topics, item_count, partition_count, rate):
        self.item_count = item_count
        self.feed_count = -(-item_count // ITEMS_PER_FEED)
        self._address = address
        self._topics = topics
        self._partition_count = partition_count
        self._rate = rate
        # For each item the number of its last update.
        self.sent = array.array("q", bytes(8 * item_count))
        self.sent_count = 0
        self._random = random.Random(17)
        self._stopping = threading.Event()
        self._thread = None

    def _producer(self, linger):
        return Producer({"bootstrap.servers": self._address, "linger.ms": linger, "enable.idempotence": True})

    def _send(self, producer, feed, value):
        while True:
            try:
                return producer.produce(self._topics["items"], value, _key(feed), feed % self._partition_count)
            except BufferError:
                producer.poll(0.1)

    def fill(self):
        """Makes every item, with a record for each feed."""
        producer = self._producer(5)
        for feed in range(self.feed_count):
            items = range(feed * ITEMS_PER_FEED, min((feed + 1) * ITEMS_PER_FEED, self.item_count))
            self._send(producer, feed, "[" + ",".join(_event(item, 0) for item in items) + "]")
            producer.poll(0)
        if producer.flush(_WAIT_SECONDS):
            raise SystemExit("not all items were delivered")

    def start(self):
        """Sends updates at the rate, on a thread."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._update, daemon=True)
        self._thread.start()

    def check(self):
        """Fails if nothing is sent any more; the thread has told why."""
        if self._thread and not self._thread.is_alive():
            raise SystemExit("no updates are sent any more")

    def stop(self):
        """Returns once all is delivered."""
        self._stopping.set()
        self._thread.join()
        self._thread = None

    def _update(self):
        producer = self._producer(0)
        start = time.monotonic()
        before = self.sent_count
        while not self._stopping.is_set():
            due = before + int((time.monotonic() - start) * self._rate)
            while self.sent_count < due:
                self.sent_count += 1
                item = self._random.randrange(self.item_count)
                self.sent[item] = self.sent_count
                self._send(producer, item // ITEMS_PER_FEED, _event(item, self.sent_count))
            producer.poll(0)
            time.sleep(_STEP_SECONDS)
        if producer.flush(_WAIT_SECONDS):
            raise SystemExit("not all updates were delivered")


class Follower:
    """Reads committed changesets from now on: notes when those of each partition arrive, and which updates they have."""

    def __init__(self, address, topic, item_count, partition_count):
        self.arrivals = {partition: [] for partition in range(partition_count)}
        # For each item the number of its last update, 0 before there is any.
        self.latest = array.array("q", bytes(8 * item_count))
        # The longest time for which this itself was not run.
        self.longest_pause = 0.0
        self.went_back = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": address,
                "group.id": "follower",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 100,
            }
        )
        positions = [TopicPartition(topic, partition) for partition in range(partition_count)]
        for position in positions:
            position.offset = self._consumer.get_watermark_offsets(position, timeout=_WAIT_SECONDS)[1]
        self._consumer.assign(positions)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        asked = time.monotonic()
        while not self._stopping.is_set():
            message = self._consumer.poll(_POLL_SECONDS)
            now = time.monotonic()
            self.longest_pause = max(self.longest_pause, now - asked - _POLL_SECONDS)
            asked = now
            if message is None or message.error() or message.value() is None:
                continue
            self.arrivals[message.partition()].append(now)
            for item, number in _UPDATE.findall(message.value()):
                item, number = int(item), int(number)
                self.went_back += number < self.latest[item]
                self.latest[item] = number

    def check(self):
        """Fails if nothing is read any more; the thread has told why."""
        if not self._thread.is_alive():
            raise SystemExit("no changesets are read any more")

    def stop(self):
        self._stopping.set()
        self._thread.join()
        self._consumer.close()


def wait_until_read(address, group, topic, partition_count, seconds, check):
    """Waits until a group has committed all that is in a topic.

    - check: called meanwhile.
    """
    # Not read_committed: then the answer would wait for transactions that are open.
    consumer = Consumer({"bootstrap.servers": address, "group.id": group, "isolation.level": "read_uncommitted"})
    positions = [TopicPartition(topic, partition) for partition in range(partition_count)]
    ends = [consumer.get_watermark_offsets(position, timeout=_WAIT_SECONDS)[1] for position in positions]
    end = time.monotonic() + seconds
    while True:
        committed = sorted(consumer.committed(positions, timeout=_WAIT_SECONDS), key=lambda position: position.partition)
        if all(position.offset >= last for position, last in zip(committed, ends)):
            break
        check()
        if time.monotonic() > end:
            raise SystemExit(f"the group has not read {topic} within {seconds} s")
        time.sleep(0.1)
    consumer.close()
