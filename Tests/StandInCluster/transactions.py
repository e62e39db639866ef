"""Producers' ids, and the coordinator of transactions.

As in a cluster, a transaction's markers are written after the response to its end, each at a different time. Until the
last one, requests of the same producer fail with CONCURRENT_TRANSACTIONS.
"""

import asyncio
import enum
import random
import time

import errors

_MAX_EPOCH = 0x7FFE
_MAX_TIMEOUT_MILLISECONDS = 900_000


class State(enum.Enum):
    EMPTY = "empty"
    ONGOING = "ongoing"
    PREPARE_COMMIT = "prepare commit"
    PREPARE_ABORT = "prepare abort"
    COMPLETE_COMMIT = "complete commit"
    COMPLETE_ABORT = "complete abort"


_ENDING = (State.PREPARE_COMMIT, State.PREPARE_ABORT)


class _Transaction:
    """The state of one transactional id."""

    def __init__(self, producer):
        self.producer = producer
        self.epoch = -1
        # The previous epoch, so that a repeated request gets the same response.
        self.last_epoch = -1
        self.timeout = 60.0
        self.state = State.EMPTY
        self.partitions = set()
        self.groups = set()
        self.began = 0.0


class Transactions:
    def __init__(self, cluster, marker_seconds):
        self._cluster = cluster
        self._marker_seconds = marker_seconds
        self._known = {}
        self._next_producer = 1000
        self._tasks = set()

    def initialize(self, name, timeout, producer, epoch):
        """Assigns a producer its id and epoch, which fences others with its transactional id."""
        if name is None:
            return self._new_producer(), 0
        if timeout > _MAX_TIMEOUT_MILLISECONDS:
            raise errors.KafkaError(errors.INVALID_TRANSACTION_TIMEOUT)
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = _Transaction(self._new_producer())
        if producer >= 0 and (producer != known.producer or epoch not in (known.epoch, known.last_epoch)):
            raise errors.KafkaError(errors.PRODUCER_FENCED)
        if known.state in _ENDING:
            raise errors.KafkaError(errors.CONCURRENT_TRANSACTIONS)
        if known.state is State.ONGOING:
            # Its producer cannot continue it.
            known.epoch += 1
            self._end(name, known, is_commit=False)
            raise errors.KafkaError(errors.CONCURRENT_TRANSACTIONS)
        known.timeout = timeout / 1000
        known.state = State.EMPTY
        if producer >= 0 and epoch == known.last_epoch and epoch != known.epoch:
            return known.producer, known.epoch
        known.last_epoch = known.epoch if producer >= 0 else -1
        known.epoch += 1
        if known.epoch > _MAX_EPOCH:
            known.producer, known.epoch, known.last_epoch = self._new_producer(), 0, -1
        return known.producer, known.epoch

    def _new_producer(self):
        self._next_producer += 1
        return self._next_producer

    def add(self, name, producer, epoch, partitions=(), group=None):
        """Adds partitions, or a group's offsets, to the transaction, which begins with the first of them."""
        known = self._checked(name, producer, epoch)
        if known.state in _ENDING:
            raise errors.KafkaError(errors.CONCURRENT_TRANSACTIONS)
        if known.state is not State.ONGOING:
            known.state = State.ONGOING
            known.began = time.monotonic()
            known.partitions = set()
            known.groups = set()
        known.partitions.update(partitions)
        if group is not None:
            known.groups.add(group)

    def check(self, name, producer, epoch, place):
        """Whether records for a partition belong to a transaction that has it. Asked with the first of them only: until its
        marker is there, a fenced producer can continue with the following ones."""
        known = self._checked(name, producer, epoch)
        if known.state is not State.ONGOING or place not in known.partitions:
            raise errors.KafkaError(errors.INVALID_TXN_STATE)

    def check_group(self, name, producer, epoch, group):
        """Whether a group's offsets belong to a transaction that includes the group; also checked with the first of them only."""
        known = self._checked(name, producer, epoch)
        if known.state is not State.ONGOING or group not in known.groups:
            raise errors.KafkaError(errors.INVALID_TXN_STATE)

    def end(self, name, producer, epoch, is_commit):
        known = self._checked(name, producer, epoch)
        done = State.COMPLETE_COMMIT if is_commit else State.COMPLETE_ABORT
        ending = State.PREPARE_COMMIT if is_commit else State.PREPARE_ABORT
        if known.state is State.ONGOING:
            self._end(name, known, is_commit)
        elif known.state is ending:
            raise errors.KafkaError(errors.CONCURRENT_TRANSACTIONS)
        elif known.state is not done:
            raise errors.KafkaError(errors.INVALID_TXN_STATE)

    def delay(self, seconds):
        """Extends the timeouts of open transactions."""
        for known in self._known.values():
            known.began += seconds

    def end_the_late(self):
        """Aborts transactions that have been open for too long, and fences their producers."""
        for name, known in self._known.items():
            if known.state is State.ONGOING and time.monotonic() > known.began + known.timeout:
                known.epoch += 1
                self._end(name, known, is_commit=False)

    def _checked(self, name, producer, epoch):
        known = self._known.get(name)
        if known is None or known.producer != producer:
            raise errors.KafkaError(errors.INVALID_PRODUCER_ID_MAPPING)
        if known.epoch != epoch:
            raise errors.KafkaError(errors.INVALID_PRODUCER_EPOCH)
        return known

    def _end(self, name, known, is_commit):
        known.state = State.PREPARE_COMMIT if is_commit else State.PREPARE_ABORT
        task = asyncio.ensure_future(self._write_markers(known, is_commit))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write_markers(self, known, is_commit):
        async def write(end):
            await asyncio.sleep(random.random() * self._marker_seconds)
            await self._cluster.settle()
            end()

        def in_partition(place):
            partition = self._cluster.partition(*place)
            return lambda: partition and partition.end_transaction(known.producer, known.epoch, is_commit)

        def in_group(group):
            return lambda: self._cluster.groups.group(group).end_transaction(known.producer, known.epoch, is_commit)

        ends = [in_partition(place) for place in known.partitions] + [in_group(group) for group in known.groups]
        await asyncio.gather(*(write(end) for end in ends))
        known.state = State.COMPLETE_COMMIT if is_commit else State.COMPLETE_ABORT
