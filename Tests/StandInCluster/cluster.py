"""The cluster: topics, groups and transactions, and the brokers that serve them."""

import asyncio
import random
import time
import zlib

import broker
import errors
import groups
import security
import topic
import transactions
import versions

_TICK_SECONDS = 0.1
_TICKS_PER_CLEANING = 10
_MOST_LATE_SECONDS = 1
_MOST_SETTLING_SECONDS = 0.5


class Cluster:
    def __init__(self, ports, marker_seconds=0.03, faults=0.0, abort_seconds=0.0, rules=None, kafka=None):
        self.id = "stand-in"
        self.security = rules or security.Security()
        # The versions of requests, by API key.
        self.offered = versions.OFFERED[kafka or "few"]
        self.topics = {}
        self.groups = groups.Groups()
        self.transactions = transactions.Transactions(self, marker_seconds)
        self._abort_seconds = abort_seconds
        # Leaders and coordinators that moved are not ready until then.
        self._settled_at = 0.0
        self.brokers = [broker.Broker(self, number + 1, port, faults) for number, port in enumerate(ports)]

    async def start(self):
        """Opens the ports; returns the value for `bootstrap.servers`."""
        for one in self.brokers:
            await one.start()
        return ",".join(f"{one.host}:{one.port}" for one in self.brokers)

    def stop(self):
        """Closes the ports, and every connection."""
        for one in self.brokers:
            one.stop()

    async def run(self):
        """Runs periodic work until it is cancelled."""
        ticks = 0
        last = time.monotonic()
        next_abort = last
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            ticks += 1
            late = time.monotonic() - last - _TICK_SECONDS
            last += late + _TICK_SECONDS
            if late > _MOST_LATE_SECONDS:
                # The machine stalled, and requests that clients sent meanwhile are still unread.
                self.groups.delay(late)
                self.transactions.delay(late)
                continue
            if last >= next_abort:
                self.transactions.end_the_late()
                next_abort = last + self._abort_seconds
            for group in self.groups.all:
                group.proceed()
            if ticks % _TICKS_PER_CLEANING == 0:
                for one in self.topics.values():
                    one.clean()

    async def restart(self, seconds):
        """Stops every broker for a while, one after the other, as a rolling restart does."""
        for one in self.brokers:
            self._move(one.go)
            await asyncio.sleep(seconds)
            self._move(one.come_back)
            await asyncio.sleep(seconds)

    def _move(self, change):
        """Starts or stops a broker. Its successors need a while, and restart the sessions of group members."""
        before = {group.name: self.coordinator(group.name) for group in self.groups.all}
        leaders = {place: self.leader(*place) for place in self._places()}
        change()
        for name, index in leaders:
            if self.leader(name, index) is not leaders[name, index]:
                self.partition(name, index).change_leader()
        for group in self.groups.all:
            if self.coordinator(group.name) is not before[group.name]:
                group.hear_all()
        self._settled_at = time.monotonic() + random.random() * _MOST_SETTLING_SECONDS

    def _places(self):
        return [(name, index) for name, one in self.topics.items() for index in range(len(one.partitions))]

    @property
    def is_settled(self):
        return time.monotonic() >= self._settled_at

    async def settle(self):
        """Waits until it is settled."""
        while not self.is_settled:
            await asyncio.sleep(_TICK_SECONDS / 10)

    # Leaders and coordinators

    def leader(self, name, index):
        """The broker that leads a partition; the next one while it is down."""
        return self._first_up(zlib.crc32(name.encode()) + index)

    def coordinator(self, key):
        """The broker that coordinates a group or a transactional id; the next one while it is down."""
        return self._first_up(zlib.crc32(key.encode()))

    def _first_up(self, preference):
        count = len(self.brokers)
        order = (self.brokers[(preference + step) % count] for step in range(count))
        return next(one for one in order if one.is_up)

    # Topics

    def partition(self, name, index):
        """None if there is no such partition."""
        known = self.topics.get(name)
        return known.partitions[index] if known and 0 <= index < len(known.partitions) else None

    def topic_name(self, id):
        """None if there is no such topic."""
        return next((name for name, one in self.topics.items() if one.id == id), None)

    def create(self, name, count, settings):
        if name in self.topics:
            raise errors.KafkaError(errors.TOPIC_ALREADY_EXISTS)
        self.topics[name] = topic.Topic(max(count, 1), settings)

    def extend(self, name, count):
        if name not in self.topics:
            raise errors.KafkaError(errors.UNKNOWN_TOPIC_OR_PARTITION)
        if count <= len(self.topics[name].partitions):
            raise errors.KafkaError(errors.INVALID_PARTITIONS)
        self.topics[name].extend(count)

    def delete(self, name):
        if self.topics.pop(name, None) is None:
            raise errors.KafkaError(errors.UNKNOWN_TOPIC_OR_PARTITION)
        self.groups.forget_topic(name)
