"""The log of a partition, with its producers and transactions."""

import bisect
import collections
import time

import batches
import errors


class _Producer:
    """The state of a producer: its epoch, and its last batches, to recognise duplicates."""

    def __init__(self, epoch):
        self.epoch = epoch
        self.last = collections.deque(maxlen=5)


class Partition:
    def __init__(self, max_bytes, segment_bytes):
        self.log = []
        self.start = 0
        # The offset of the next record, which is also the high watermark, because there are no replicas to wait for.
        self.end = 0
        self.max_bytes = max_bytes
        self.segment_bytes = segment_bytes
        # The first offsets of open transactions, by producer.
        self.open = {}
        # Producer, first offset and marker offset of aborted transactions, in the order of the markers.
        self.aborted = []
        # The first offset of each leader's epoch.
        self._epochs = [0]
        self._producers = {}
        self._waiting = set()

    @property
    def last_stable(self):
        return min(self.open.values(), default=self.end)

    @property
    def leader_epoch(self):
        return len(self._epochs) - 1

    def change_leader(self):
        self._epochs.append(self.end)

    def check_leader_epoch(self, epoch):
        """Raises an error if a client has missed a leader, or this broker has; -1 if the client does not know any."""
        if 0 <= epoch < self.leader_epoch:
            raise errors.KafkaError(errors.FENCED_LEADER_EPOCH)
        if epoch > self.leader_epoch:
            raise errors.KafkaError(errors.UNKNOWN_LEADER_EPOCH)

    def end_of_epoch(self, epoch):
        """The end of the records of a leader's epoch."""
        return self._epochs[epoch + 1] if epoch < self.leader_epoch else self.end

    def append(self, data):
        """Appends a producer's batch; returns its offset.

        Raises errors.KafkaError as a broker would: for an old epoch, a gap in the sequence, or too large a batch.
        """
        offset = None
        for batch in batches.split(data):
            if len(batch.data) > self.max_bytes:
                raise errors.KafkaError(errors.MESSAGE_TOO_LARGE)
            if len(batch.data) > self.segment_bytes:
                raise errors.KafkaError(errors.RECORD_LIST_TOO_LARGE)
            known = self._check(batch)
            if known is None:
                known = self._put(batch)
            offset = known if offset is None else offset
        self._wake()
        return offset

    def _check(self, batch):
        """The offset of a duplicate batch; None for a new one."""
        if batch.producer < 0:
            return None
        producer = self._producers.get(batch.producer)
        if producer is None:
            producer = self._producers[batch.producer] = _Producer(batch.epoch)
        elif batch.epoch < producer.epoch:
            raise errors.KafkaError(errors.INVALID_PRODUCER_EPOCH)
        elif batch.epoch > producer.epoch or not producer.last:
            if batch.sequence != 0:
                raise errors.KafkaError(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
            producer.epoch = batch.epoch
            producer.last.clear()
        else:
            for sequence, last_sequence, offset in producer.last:
                if (sequence, last_sequence) == (batch.sequence, batch.last_sequence):
                    return offset
            if batch.sequence != producer.last[-1][1] + 1 & 0x7FFFFFFF:
                raise errors.KafkaError(errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
        producer.last.append((batch.sequence, batch.last_sequence, self.end))
        return None

    def _put(self, batch):
        batch.place(self.end, self.leader_epoch)
        batch.arrival = time.monotonic()
        if batch.is_transactional and not batch.is_control:
            self.open.setdefault(batch.producer, batch.base)
        self.log.append(batch)
        self.end = batch.last + 1
        return batch.base

    def end_transaction(self, producer, epoch, is_commit):
        """Appends the marker, which fences the producer's older epochs."""
        known = self._producers.setdefault(producer, _Producer(epoch))
        if epoch > known.epoch:
            known.epoch = epoch
            known.last.clear()
        offset = self._put(batches.marker(producer, epoch, is_commit))
        first = self.open.pop(producer, None)
        if first is not None and not is_commit:
            self.aborted.append((producer, first, offset))
        self._wake()

    # Reading

    def read(self, offset, max_bytes, is_committed):
        """Batches from an offset on, at least one if there is one, and the aborted transactions in them."""
        end = self.last_stable if is_committed else self.end
        if not self.start <= offset <= self.end:
            raise errors.KafkaError(errors.OFFSET_OUT_OF_RANGE)
        data = bytearray()
        index = bisect.bisect_left(self.log, offset, key=lambda batch: batch.last)
        last = offset
        while index < len(self.log) and self.log[index].base < end and len(data) < max_bytes:
            if data and len(data) + len(self.log[index].data) > max_bytes:
                break
            data += self.log[index].data
            last = self.log[index].last
            index += 1
        aborted = []
        if is_committed:
            aborted = [(who, first) for who, first, marker in self.aborted if marker >= offset and first <= last]
        return bytes(data), aborted

    def offset_at(self, timestamp):
        """The timestamp and offset of the first batch that is not older; -1 and -1 if there is none."""
        for batch in self.log:
            if batch.timestamp >= timestamp:
                return batch.timestamp, max(batch.base, self.start)
        return -1, -1

    def wait(self, future):
        """Completes a future when something is appended."""
        self._waiting.add(future)

    def forget(self, future):
        self._waiting.discard(future)

    def _wake(self):
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    # Deleting

    def delete_before(self, offset):
        """Deletes the oldest records; returns the new first offset."""
        if offset == -1:
            offset = self.end
        if offset > self.end:
            raise errors.KafkaError(errors.OFFSET_OUT_OF_RANGE)
        self.start = max(self.start, offset)
        self.log = [batch for batch in self.log if batch.last >= self.start]
        return self.start

    def clean(self, lag_milliseconds):
        """Compacts records older than a given age: keeps the last one of each key, and drops aborted ones."""
        until = time.monotonic() - lag_milliseconds / 1000
        count = 0
        while (
            count < len(self.log)
            and self.log[count].arrival < until
            and self.log[count].last < self.last_stable
            and not self.log[count].is_compressed
        ):
            count += 1
        kept = {}
        for batch in self.log[:count]:
            if not batch.is_control and not self._is_aborted(batch):
                kept.update((key, offset) for offset, key, _ in batch.records())
        cleaned = []
        for batch in self.log[:count]:
            if batch.is_control:
                cleaned.append(batch)
            elif not self._is_aborted(batch):
                left = [data for offset, key, data in batch.records() if kept[key] == offset]
                if len(left) == batch.count:
                    cleaned.append(batch)
                elif left:
                    cleaned.append(batch.keeping(left))
                    cleaned[-1].arrival = batch.arrival
        self.log[:count] = cleaned

    def _is_aborted(self, batch):
        return batch.is_transactional and any(
            who == batch.producer and first <= batch.base <= marker for who, first, marker in self.aborted
        )
