"""Follows the changesets topic, and writes events to the input topics: `pip install feedstore[kafka]`."""

import asyncio
import json
import logging
import os
import threading
import time
from typing import Any, AsyncIterator, Callable, Collection, Dict, Iterator, NamedTuple, Optional, Sequence, Tuple, Union

import confluent_kafka

from .errors import KafkaRefused, ReplicaFault
from .kafka_clients import Settings, is_about_group, partitions_of, settings_of
from .kafka_producer import Producer, Rejection
from .model import CATCHING_UP, LIVE, FeedView, Standing, Update
from .replica import Outcome, Replica, ReplicaPartition

__all__ = ["FeedUpdate", "Follower", "Producer", "Rejection"]

log = logging.getLogger("feedstore")

_STALE = Standing("stale", "must-refetch", "a changeset was missed; the feed's next reload corrects it")
# What librdkafka reads ahead.
_READ_AHEAD_KILOBYTES = 16384
# A consumer that was away for longer may have missed deletions: it is the default of `delete.retention.ms`.
_MOST_AGE_SECONDS = 24 * 3600.0
_FORMAT = 1


class FeedUpdate(NamedTuple):
    """What happened to a feed. The same id in two partitions is two feeds."""

    partition: int
    feed: str
    update: Update[Any]


class Follower:
    """All feeds of the changesets topic, or those of some partitions.

    It reads the compacted topic from its beginning, so it needs no other store; or from what `save` wrote. It waits for brokers
    that are unavailable. A record that is not a changeset, or does not fit its feed, is reported in the log and skipped: the feed
    is stale until its next reload.

    `servers` are the brokers, or settings of librdkafka. `feeds` chooses those to keep: their ids, or a function of the id. All
    others cost no memory.
    """

    def __init__(
        self,
        servers: Settings,
        topic: str = "feeds.changesets",
        *,
        partitions: Optional[Sequence[int]] = None,
        feeds: Union[None, Collection[str], Callable[[str], bool]] = None,
        saved: Optional[str] = None,
    ):
        self.topic = topic
        self._keeps: Callable[[str], bool] = (
            (lambda feed: True) if feeds is None else feeds if callable(feeds) else frozenset(feeds).__contains__
        )
        self._consumer = confluent_kafka.Consumer(settings_of(
            servers, **{
                "group.id": "feedstore-python", "queued.max.messages.kbytes": _READ_AHEAD_KILOBYTES,
                # As section 11.1 of the protocol says.
                "enable.auto.commit": False, "isolation.level": "read_committed", "enable.partition.eof": True,
            }
        ))
        found = partitions_of(self._consumer, topic)
        unknown = sorted(set(partitions or []) - set(found))
        if unknown:
            raise KafkaRefused(f"topic {topic} has the partitions {found}, and not {unknown}")
        self.partitions = found if partitions is None else sorted(set(partitions))
        self._feeds = {partition: ReplicaPartition() for partition in self.partitions}
        #: The offset of the next record of each partition.
        self.positions: Dict[int, int] = {}
        #: Where the parts begin of changesets that are incomplete.
        self._part_offsets: Dict[Tuple[int, str], int] = {}
        self._ended: Dict[int, None] = {}
        # An iteration that was cancelled may still read, in its thread.
        self._lock = threading.RLock()
        self._views: Dict[Tuple[int, str], FeedView[Any]] = {}
        if saved is not None:
            self._load(saved)
        self._consumer.assign([
            confluent_kafka.TopicPartition(topic, partition, self.positions.get(partition, confluent_kafka.OFFSET_BEGINNING))
            for partition in self.partitions
        ])

    @property
    def is_up_to_date(self) -> bool:
        """Whether each partition was read to its end once. Before that, not all feeds are known."""
        return len(self._ended) == len(self.partitions)

    @property
    def views(self) -> Dict[Tuple[int, str], FeedView[Any]]:
        """The feeds, by partition and id."""
        return dict(self._views)

    def view(self, feed: str) -> Optional[FeedView[Any]]:
        """The feed of that id in the lowest partition; None if there is none."""
        return next((self._views[key] for key in sorted(self._views) if key[1] == feed), None)

    def read_to_end(self) -> None:
        """Reads until each partition was read to its end once."""
        while not self.is_up_to_date:
            self.poll()

    def poll(self, timeout: float = 1.0) -> Optional[FeedUpdate]:
        """Reads a record, and returns what it did to a feed; None if nothing."""
        with self._lock:
            message = self._consumer.poll(timeout)
            return None if message is None else self._polled(message)

    def _polled(self, message: Any) -> Optional[FeedUpdate]:
        error = message.error()
        if error is None:
            return self.take(message)
        if error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
            self._end(message.partition())
            return None
        if is_about_group(error):
            return None
        if not error.fatal() and error.code() in _PASSING:
            log.warning("Kafka: %s", error.str())
            return None
        raise KafkaRefused(f"cannot read topic {self.topic}: {error.str()}; check its name and your rights")

    def __iter__(self) -> Iterator[FeedUpdate]:
        while True:
            update = self.poll()
            if update is not None:
                yield update

    async def __aiter__(self) -> AsyncIterator[FeedUpdate]:
        loop = asyncio.get_running_loop()
        while True:
            # One record at a time is on its way, so nothing piles up.
            update = await loop.run_in_executor(None, self.poll)
            if update is not None:
                yield update

    def close(self) -> None:
        with self._lock:
            self._consumer.close()

    def __enter__(self) -> "Follower":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take(self, message: Any) -> Optional[FeedUpdate]:
        """Applies a record to its feed."""
        partition, offset = message.partition(), message.offset()
        self.positions[partition] = offset + 1
        feeds = self._feeds[partition]
        key = message.key()
        feed = None
        try:
            feed = (key or b"").decode().partition("/")[2]
            if feed and not self._keeps(feed):
                return None
            feed, outcome = feeds.apply(key, message.value())
        except (ReplicaFault, UnicodeDecodeError) as fault:
            log.warning("partition %d, offset %d is skipped: %s", partition, offset, fault)
            if feed not in feeds.replicas:
                return None
            outcome = Outcome("mismatch")
        else:
            if outcome.fault is not None:
                log.warning("partition %d, offset %d is skipped: %s", partition, offset, outcome.fault)
        assert feed is not None
        return self._update(partition, feed, offset, outcome)

    def _update(self, partition: int, feed: str, offset: int, outcome: Outcome) -> Optional[FeedUpdate]:
        place, replica = (partition, feed), self._feeds[partition].replicas.get(feed)
        if outcome.type == "waiting":
            self._part_offsets.setdefault(place, offset)
        elif replica is None or not replica.is_waiting:
            self._part_offsets.pop(place, None)
        former = self._views.get(place)
        if outcome.type == "removed":
            self._views.pop(place, None)
            # A deletion is not reported if the feed was never reported.
            return None if former is None else FeedUpdate(partition, feed, Update("absent", FeedView(feed, LIVE, partition=partition)))
        if replica is None or (outcome.type != "applied" and not (replica.is_stale and former)):
            return None
        if former is not None and outcome.type != "applied" and former.standing == _STALE:
            return None
        view = self._views[place] = _view(replica, partition, self._standing(partition))
        kind = "standing" if outcome.change is None else "state" if outcome.change.mode == "reload" else "changed"
        return FeedUpdate(partition, feed, Update(kind, view, outcome.change))

    def _standing(self, partition: int) -> Standing:
        return LIVE if partition in self._ended else CATCHING_UP

    def _end(self, partition: int) -> None:
        if partition in self._ended:
            return
        self._ended[partition] = None
        for feed, replica in self._feeds[partition].replicas.items():
            if replica.head is not None:
                self._views[partition, feed] = _view(replica, partition, LIVE)

    def save(self, path: str) -> None:
        """Writes the feeds and the positions to a file, from which `saved=path` goes on.

        Replicas and positions belong together: section 11.1 of the protocol. The file is replaced as a whole.
        """
        with self._lock:
            self._save(path)

    def _save(self, path: str) -> None:
        head = {"format": _FORMAT, "topic": self.topic, "time": time.time(), "positions": {}}
        for partition, position in self.positions.items():
            # What has arrived of incomplete changesets is read again.
            begun = [offset for place, offset in self._part_offsets.items() if place[0] == partition]
            head["positions"][str(partition)] = min([position, *begun])  # type: ignore[index]
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            print(json.dumps(head), file=file)
            for partition, feeds in self._feeds.items():
                for replica in feeds.replicas.values():
                    if replica.head is not None and not replica.is_stale:
                        print(json.dumps({"partition": partition, "reload": replica.to_reload()}), file=file)
                    elif replica.is_stale:
                        print(json.dumps({"partition": partition, "stale": replica.feed}), file=file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{path}.new", path)

    def _load(self, path: str) -> None:
        try:
            file = open(path, encoding="utf-8")
        except FileNotFoundError:
            return
        with file:
            head = json.loads(file.readline())
            if head.get("format") != _FORMAT or head.get("topic") != self.topic:
                raise ValueError(f"{path} was not saved by a Follower of {self.topic}; remove it")
            if not 0 <= time.time() - head["time"] < _MOST_AGE_SECONDS:
                log.warning("%s is older than a day: deletions may be missed, so everything is read again", path)
                return
            self.positions = {
                int(partition): position for partition, position in head["positions"].items() if int(partition) in self._feeds
            }
            for line in file:
                entry = json.loads(line)
                feeds = self._feeds.get(entry["partition"])
                if feeds is None:
                    continue
                if "stale" in entry:
                    feeds.replicas[entry["stale"]] = Replica(entry["stale"])
                    feeds.replicas[entry["stale"]].become_stale()
                    continue
                feed = json.loads(entry["reload"])["feed"]
                if self._keeps(feed):
                    replica = feeds.replicas[feed] = Replica(feed)
                    replica.apply(entry["reload"])
                    self._views[entry["partition"], feed] = _view(replica, entry["partition"], CATCHING_UP)


# Errors that pass: the client goes on by itself.
_PASSING = {
    getattr(confluent_kafka.KafkaError, name)
    for name in ("_TRANSPORT", "_ALL_BROKERS_DOWN", "_TIMED_OUT", "LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "REQUEST_TIMED_OUT")
}


def _view(replica: Replica, partition: int, standing: Standing) -> FeedView[Any]:
    head = replica.head
    standing = _STALE if replica.is_stale else standing
    if head is None:
        return FeedView(replica.feed, standing, partition=partition)
    return FeedView(
        replica.feed, standing, True, head.epoch, head.revision, head.time, head.checksum, head.through, replica.sections, False, partition
    )
