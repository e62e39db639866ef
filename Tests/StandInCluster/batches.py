"""Batches of records, as they are sent, kept and fetched: https://kafka.apache.org/documentation/#recordbatch."""

import struct
import time

HEADER = struct.Struct(">qiibIhiqqqhii")
IS_TRANSACTIONAL = 0x10
IS_CONTROL = 0x20
_COMPRESSION = 0x07
# The checksum covers what follows it.
_CHECKSUM_AT = 17
_CHECKED_FROM = 21


def _make_table():
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


_TABLE = _make_table()


def crc32c(data):
    """The Castagnoli checksum."""
    checksum = 0xFFFFFFFF
    for byte in data:
        checksum = _TABLE[(checksum ^ byte) & 0xFF] ^ checksum >> 8
    return checksum ^ 0xFFFFFFFF


class Batch:
    """One batch: its bytes, and what its header says."""

    def __init__(self, data):
        self.data = bytearray(data)
        # The time of its append, by the monotonic clock.
        self.arrival = 0.0
        (
            self.base,
            _,
            _,
            _,
            _,
            self.attributes,
            self.last_delta,
            _,
            self.timestamp,
            self.producer,
            self.epoch,
            self.sequence,
            self.count,
        ) = HEADER.unpack_from(self.data)

    @property
    def last(self):
        return self.base + self.last_delta

    @property
    def last_sequence(self):
        return self.sequence + self.last_delta & 0x7FFFFFFF

    @property
    def is_transactional(self):
        return self.attributes & IS_TRANSACTIONAL != 0

    @property
    def is_control(self):
        return self.attributes & IS_CONTROL != 0

    @property
    def is_compressed(self):
        return self.attributes & _COMPRESSION != 0

    def place(self, base, leader_epoch):
        """Sets its offset and its leader's epoch, which the checksum does not cover."""
        self.base = base
        struct.pack_into(">q", self.data, 0, base)
        struct.pack_into(">i", self.data, 12, leader_epoch)

    def records(self):
        """Offset, key and bytes of each record; the key is None for null. Compressed batches are not supported."""
        position = HEADER.size
        for _ in range(self.count):
            start = position
            length, position = _varint(self.data, position)
            end = position + length
            _, at = _varint(self.data, position + 1)
            delta, at = _varint(self.data, at)
            size, at = _varint(self.data, at)
            yield self.base + delta, None if size < 0 else bytes(self.data[at : at + size]), self.data[start:end]
            position = end

    def keeping(self, records):
        """The same batch with only some of its records, given by their bytes, as after compaction."""
        data = self.data[: HEADER.size] + b"".join(records)
        struct.pack_into(">i", data, 8, len(data) - 12)
        struct.pack_into(">i", data, 57, len(records))
        struct.pack_into(">I", data, _CHECKSUM_AT, crc32c(data[_CHECKED_FROM:]))
        return Batch(data)


def split(data):
    """The batches in a request for one partition."""
    position = 0
    while position < len(data):
        length = 12 + struct.unpack_from(">i", data, position + 8)[0]
        yield Batch(data[position : position + length])
        position += length


def marker(producer, epoch, is_commit):
    """The batch that ends a transaction in a partition."""
    key = struct.pack(">hh", 0, 1 if is_commit else 0)
    value = struct.pack(">hi", 0, 0)
    record = bytes([0, 0, 0]) + _zigzag(len(key)) + key + _zigzag(len(value)) + value + bytes([0])
    records = _zigzag(len(record)) + record
    now = int(time.time() * 1000)
    attributes = IS_TRANSACTIONAL | IS_CONTROL
    data = bytearray(HEADER.size) + records
    HEADER.pack_into(data, 0, 0, len(data) - 12, 0, 2, 0, attributes, 0, now, now, producer, epoch, -1, 1)
    struct.pack_into(">I", data, _CHECKSUM_AT, crc32c(data[_CHECKED_FROM:]))
    return Batch(data)


def _varint(data, position):
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value >> 1 ^ -(value & 1), position
        shift += 7


def _zigzag(value):
    """A small non-negative number."""
    return bytes([value << 1])
