"""XXH32, the checksum's hash (section 4.3 of the protocol)."""

from typing import Callable

_P1, _P2, _P3, _P4, _P5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_M = 0xFFFFFFFF


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _M


def plain_xxh32(data: bytes) -> int:
    """XXH32 with seed 0, as specified at https://github.com/Cyan4973/xxHash."""
    at, length = 0, len(data)
    value = _P5
    if length >= 16:
        lanes = [(_P1 + _P2) & _M, _P2, 0, -_P1 & _M]
        while at + 16 <= length:
            for lane in range(4):
                word = int.from_bytes(data[at : at + 4], "little")
                lanes[lane] = _rotated((lanes[lane] + word * _P2) & _M, 13) * _P1 & _M
                at += 4
        value = sum(_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18)))
    value = (value + length) & _M
    while at + 4 <= length:
        word = int.from_bytes(data[at : at + 4], "little")
        value = _rotated((value + word * _P3) & _M, 17) * _P4 & _M
        at += 4
    for byte in data[at:]:
        value = _rotated((value + byte * _P5) & _M, 11) * _P1 & _M
    value = (value ^ value >> 15) * _P2 & _M
    value = (value ^ value >> 13) * _P3 & _M
    return value ^ value >> 16


xxh32: Callable[[bytes], int] = plain_xxh32
try:
    import xxhash
except ImportError:
    pass
else:
    # Ten times as fast.
    xxh32 = xxhash.xxh32_intdigest


def section_term(previous: str, section: str) -> int:
    return xxh32(f"s\0{previous}\0{section}".encode())


def item_term(section: str, previous: str, item: str, kind: str) -> int:
    return xxh32(f"i\0{section}\0{previous}\0{item}\0{kind}".encode())
