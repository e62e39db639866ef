"""Checks changesets and keys (section 11.7 of the protocol)."""

import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .errors import ReplicaFault
from .jsontext import changeset_of

GREATEST_KEY_NUMBER = 1_000_000
_MOST_TOPICS = 200
_KEY = re.compile(r"(k(?=0/)|[kd](?=[1-9]))([0-9]{1,7})/(.+)", re.DOTALL)
_TOPIC = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}")
_CHECKSUM = re.compile("[0-9a-f]{8}")

Entry = Dict[str, Any]


def invalid(name: str, value: Any) -> ReplicaFault:
    return ReplicaFault("invalid-changeset", f"the {name} is not valid: {repr(value)[:80]}")


def is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _is_through(value: Any) -> bool:
    return type(value) is dict and len(value) <= _MOST_TOPICS and all(map(_TOPIC.fullmatch, value)) and all(map(is_count, value.values()))


def _is_text(value: Any) -> bool:
    return type(value) is str


_FIELDS: Dict[str, Callable[[Any], bool]] = {
    "feed": lambda value: _is_text(value) and value != "",
    "epoch": _is_text,
    "revision": is_count,
    "base": is_count,
    "mode": lambda value: value in ("reconfigure", "diff", "reload", "delete"),
    "time": _is_text,
    "through": _is_through,
    "checksum": lambda value: _is_text(value) and _CHECKSUM.fullmatch(value) is not None,
    "part": is_count,
    "parts": lambda value: is_count(value) and value <= GREATEST_KEY_NUMBER + 1,
}


@dataclass(frozen=True)
class Changeset:
    """A changeset, or a part of one. Its entries are checked when they are applied."""

    feed: str
    epoch: str
    revision: int
    base: int
    mode: str
    time: str
    through: Mapping[str, int]
    checksum: str
    part: int
    parts: int
    reason: Optional[str]
    sections: Any
    items: Any
    #: What a window shows of each section, if it is of one.
    window: Any
    #: The view that it is of, if it came over a stream.
    view: Any = None


def changeset(value: Union[str, bytes]) -> Changeset:
    """Parses a changeset, and raises ReplicaFault if it is not valid."""
    try:
        text = value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError as fault:
        raise ReplicaFault("invalid-changeset", f"the value is not UTF-8: {fault}") from None
    found = changeset_of(text)
    if type(found) is not dict:
        raise ReplicaFault("invalid-changeset", "the value is not a JSON object")
    members: Dict[str, Any] = {"part": 0, "parts": 1, **found}
    for name, is_valid in _FIELDS.items():
        if not is_valid(members.get(name)):
            raise invalid(name, members.get(name))
    if not members["part"] < members["parts"]:
        raise invalid("part", members["part"])
    reason = members.get("reason")
    if "reason" in members and not _is_text(reason):
        raise invalid("reason", reason)
    return Changeset(
        **{name: members[name] for name in _FIELDS}, reason=reason,
        sections=members.get("sections", ABSENT), items=members.get("items", ABSENT), window=members.get("window"),
        view=members.get("view"),
    )


def parsed_key(key: Optional[bytes]) -> Tuple[str, int, str]:
    """The kind (`k` or `d`), the number and the feed of a record's key."""
    try:
        match = _KEY.fullmatch((key or b"").decode())
    except UnicodeDecodeError:
        match = None
    if match is None or int(match[2]) > GREATEST_KEY_NUMBER:
        raise ReplicaFault("invalid-key", f"the key {key!r} is neither k<part>/<feed> nor d<n>/<feed>")
    return match[1], int(match[2]), match[3]


#: In place of a list that is not there; null is not one.
ABSENT: Any = ()
LISTS = ("delete", "insert", "move", "reconfigure", "reload")


def joined(parts: Sequence[Any]) -> Dict[str, List[Entry]]:
    """The lists of a difference's parts, joined."""
    for part in parts:
        if part is not ABSENT and type(part) is not dict:
            raise invalid("lists", part)
    return {name: [entry for part in parts if part for entry in entries(part.get(name, ABSENT))] for name in LISTS}


def entries(value: Any) -> List[Entry]:
    if value is ABSENT:
        return []
    if type(value) is not list or not all(type(entry) is dict for entry in value):
        raise invalid("list", value)
    return value


def text(entry: Any, name: str, fewest: int = 1) -> str:
    """An id or a kind."""
    value = entry.get(name) if type(entry) is dict else None
    if type(value) is str:
        try:
            if fewest <= len(value.encode()) <= 255:
                return value
        except UnicodeEncodeError:
            pass
    raise invalid(name, value)


def data_text(entry: Entry) -> str:
    value = entry.get("data")
    if type(value) is not str:
        raise invalid(f"data of {entry.get('id')!r}", value)
    return value
