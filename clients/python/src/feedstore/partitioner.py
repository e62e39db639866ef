"""The partition of a key, as all producers of a topic must choose it (section 10.1 of the protocol)."""

_M = 0xFFFFFFFF
_MULTIPLIER = 0x5BD1E995


def murmur2(key: bytes) -> int:
    """The 32-bit MurmurHash2 of Kafka's Java client."""
    value = 0x9747B28C ^ len(key)
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _MULTIPLIER & _M
        word = (word ^ word >> 24) * _MULTIPLIER & _M
        value = (value * _MULTIPLIER & _M) ^ word
    if whole < len(key):
        value = (value ^ int.from_bytes(key[whole:], "little")) * _MULTIPLIER & _M
    value = (value ^ value >> 13) * _MULTIPLIER & _M
    return value ^ value >> 15


def partition_of(feed: str, partitions: int) -> int:
    return (murmur2(feed.encode()) & 0x7FFFFFFF) % partitions
