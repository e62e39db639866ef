"""Reads and writes the fields of Kafka's requests and responses.

https://kafka.apache.org/protocol.html describes them. Later ("flexible") versions of a request count in unsigned varints and end each
structure with tagged fields, none of which is used here.
"""

import struct


class Reader:
    """Reads the fields of a request in sequence."""

    def __init__(self, data):
        self.data = data
        self.position = 0
        self.is_flexible = False

    def _unpack(self, code, size):
        value = struct.unpack_from(code, self.data, self.position)[0]
        self.position += size
        return value

    def i8(self):
        return self._unpack(">b", 1)

    def i16(self):
        return self._unpack(">h", 2)

    def i32(self):
        return self._unpack(">i", 4)

    def i64(self):
        return self._unpack(">q", 8)

    def flag(self):
        return self.i8() != 0

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _take(self, count):
        if count < 0:
            return None
        self.position += count
        return bytes(self.data[self.position - count : self.position])

    def text(self):
        """A string; None for null."""
        taken = self._take(self.varint() - 1 if self.is_flexible else self.i16())
        return None if taken is None else taken.decode()

    def uuid(self):
        return self._take(16)

    def block(self):
        """Bytes; None for null."""
        return self._take(self.varint() - 1 if self.is_flexible else self.i32())

    def array(self, element):
        """An array, whose elements `element` reads; None for null."""
        count = self.varint() - 1 if self.is_flexible else self.i32()
        return None if count < 0 else [element() for _ in range(count)]

    def tags(self):
        """Skips the tagged fields at the end of a structure."""
        if self.is_flexible:
            for _ in range(self.varint()):
                self.varint()
                self._take(self.varint())


class Writer:
    """Writes the fields of a response in sequence."""

    def __init__(self, is_flexible=False):
        self.data = bytearray()
        self.is_flexible = is_flexible

    def i8(self, value):
        self.data += struct.pack(">b", value)

    def i16(self, value):
        self.data += struct.pack(">h", value)

    def i32(self, value):
        self.data += struct.pack(">i", value)

    def i64(self, value):
        self.data += struct.pack(">q", value)

    def flag(self, value):
        self.i8(1 if value else 0)

    def varint(self, value):
        while value >= 0x80:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def text(self, value):
        encoded = None if value is None else value.encode()
        if self.is_flexible:
            self.varint(0 if encoded is None else len(encoded) + 1)
        else:
            self.i16(-1 if encoded is None else len(encoded))
        self.data += encoded or b""

    def uuid(self, value):
        self.data += value

    def block(self, value):
        if self.is_flexible:
            self.varint(0 if value is None else len(value) + 1)
        else:
            self.i32(-1 if value is None else len(value))
        self.data += value or b""

    def array(self, values, element):
        """An array, whose elements `element` writes."""
        if self.is_flexible:
            self.varint(len(values) + 1)
        else:
            self.i32(len(values))
        for value in values:
            element(value)

    def tags(self):
        """Writes the tagged fields at the end of a structure."""
        if self.is_flexible:
            self.varint(0)
