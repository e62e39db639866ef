"""Writes events to the input topics."""

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Callable, Optional, Sequence, Tuple, Union

import confluent_kafka

from .errors import WriteFailed
from .kafka_clients import WAIT_SECONDS, Settings, is_about_group, partitions_of, settings_of
from .model import Written
from .partitioner import partition_of
from .writes import Event, Write, events_of

log = logging.getLogger("feedstore")


@dataclass(frozen=True)
class Rejection:
    """A record that changed nothing."""

    feed: str
    #: Such as `unknown-anchor`; section 2.9 of the protocol lists them.
    code: str
    #: For people; do not depend on its wording.
    message: str
    topic: str
    partition: int
    offset: int
    #: The record's value, perhaps truncated.
    value: bytes


class Producer:
    """Writes events, each record to the partition that the protocol's rule chooses.

    `on_rejected` is called, in a thread, with each record of this producer that the daemon rejects; it reads the topic of rejected
    records for that. It knows the newest 100,000 records that it wrote.

    Records of one feed to one topic keep their order. It is idempotent: a retry writes nothing twice.
    """

    MOST_WRITTEN = 100_000

    def __init__(
        self,
        servers: Settings,
        topic: str = "feeds.items",
        *,
        on_rejected: Optional[Callable[[Rejection], None]] = None,
        rejected_topic: str = "feeds.rejected",
    ):
        self.topic = topic
        self._producer = confluent_kafka.Producer(settings_of(servers, **{"enable.idempotence": True}))
        self._partitions = len(partitions_of(self._producer, topic))
        self._on_rejected = on_rejected
        self._lock = threading.Lock()
        self._is_closed = False
        #: The newest records, and rejections whose record is not known yet.
        self._written: "OrderedDict[Tuple[int, int], None]" = OrderedDict()
        self._unknown: "OrderedDict[Tuple[int, int], Rejection]" = OrderedDict()
        self._consumer: Optional[Any] = None
        threads = [self._report]
        if on_rejected is not None:
            self._consumer = self._rejections(servers, rejected_topic)
            threads.append(self._read_rejections)
        self._threads = [threading.Thread(target=run, name="feedstore producer", daemon=True) for run in threads]
        for thread in self._threads:
            thread.start()

    def write(self, feed: str, events: Union[Event, Sequence[Event]]) -> Write[Written]:
        """Writes one event or several as one record: all of them are applied, or nothing.

        The result is where the record is, once the brokers have it: `producer.write(…).result()`, or `await producer.write(…)`.
        Whether it is published is another question: `through` of the feed tells, or `on_rejected`.
        """
        return self._produce(feed, events_of(events)[1].encode())

    def delete(self, feed: str) -> Write[Written]:
        """Deletes a feed."""
        return self._produce(feed, None)

    def _produce(self, feed: str, value: Optional[bytes]) -> Write[Written]:
        partition = partition_of(feed, self._partitions)
        write: Write[Written] = Write()

        def report(error: Any, message: Any) -> None:
            if error is not None:
                write._end(WriteFailed(error.name(), f"the brokers do not have the record: {error.str()}"))
                return
            self._note(partition, message.offset())
            write._end(Written(feed, self.topic, partition, message.offset()))

        while True:
            try:
                self._producer.produce(self.topic, value, feed.encode(), partition, on_delivery=report)
                return write
            except BufferError:
                # The queue is full: it waits for the brokers, as long as they take.
                self._producer.poll(0.1)
            except confluent_kafka.KafkaException as error:
                write._end(WriteFailed(error.args[0].name(), f"nothing was written: {error.args[0].str()}"))
                return write

    def flush(self, timeout: float = -1) -> int:
        """Waits until the brokers have everything; returns how many records they do not have yet."""
        return int(self._producer.flush(timeout))

    def close(self) -> None:
        """Waits until the brokers have everything, and ends."""
        self.flush()
        self._is_closed = True
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        if self._consumer is not None:
            self._consumer.close()

    def __enter__(self) -> "Producer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _report(self) -> None:
        while not self._is_closed:
            self._producer.poll(0.1)

    def _rejections(self, servers: Settings, topic: str) -> Any:
        """A consumer that begins at the present end, so that it misses nothing of what is written from now on."""
        consumer = confluent_kafka.Consumer(settings_of(
            servers, **{"group.id": "feedstore-python", "enable.auto.commit": False, "isolation.level": "read_committed"}
        ))
        places = []
        for partition in partitions_of(consumer, topic):
            _, end = consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, partition), WAIT_SECONDS)
            places.append(confluent_kafka.TopicPartition(topic, partition, end))
        consumer.assign(places)
        return consumer

    def _read_rejections(self) -> None:
        assert self._consumer is not None
        while not self._is_closed:
            message = self._consumer.poll(0.1)
            if message is None or is_about_group(message.error()):
                continue
            if message.error() is not None:
                log.warning("rejected records cannot be read: %s", message.error().str())
                continue
            headers = {name: (value or b"").decode(errors="replace") for name, value in message.headers() or []}
            if headers.get("feedstore.source.topic") != self.topic:
                continue
            place = (int(headers["feedstore.source.partition"]), int(headers["feedstore.source.offset"]))
            rejection = Rejection(
                (message.key() or b"").decode(errors="replace"), headers.get("feedstore.error.code", ""),
                headers.get("feedstore.error.message", ""), self.topic, *place, message.value() or b"",
            )
            with self._lock:
                is_known = self._written.pop(place, self) is None
                if not is_known:
                    _remember(self._unknown, place, rejection)
            if is_known:
                self._tell(rejection)

    def _note(self, partition: int, offset: int) -> None:
        """The brokers have a record. Its rejection may have come before."""
        if self._on_rejected is None:
            return
        with self._lock:
            rejection = self._unknown.pop((partition, offset), None)
            if rejection is None:
                _remember(self._written, (partition, offset), None)
        if rejection is not None:
            self._tell(rejection)

    def _tell(self, rejection: Rejection) -> None:
        assert self._on_rejected is not None
        try:
            self._on_rejected(rejection)
        except Exception:
            log.exception("the function for rejected records failed")


def _remember(memory: "OrderedDict[Tuple[int, int], Any]", place: Tuple[int, int], value: Any) -> None:
    memory[place] = value
    if len(memory) > Producer.MOST_WRITTEN:
        memory.popitem(last=False)
