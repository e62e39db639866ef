"""JSON whose data keeps its spelling: parsed, numbers and repeated members would lose it."""

import json
import math
import re
from typing import Any, Iterator, List

from .errors import ReplicaFault

# Python's integers have a limit of 4300 digits when they are read.
MOST_DIGITS = 4000


def _no_json(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _integer(text: str) -> Any:
    # `-0` is no integer of a changeset.
    return int(text) if len(text) <= MOST_DIGITS and text != "-0" else text


def _data_integer(text: str) -> Any:
    if text == "-0":
        return -0.0
    return int(text) if len(text) <= MOST_DIGITS else text


def _data_float(text: str) -> Any:
    value = float(text)
    return value if math.isfinite(value) else text


_heads = json.JSONDecoder(parse_int=_integer, parse_constant=_no_json)
_skipped = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_json)
_data = json.JSONDecoder(parse_int=_data_integer, parse_float=_data_float, parse_constant=_no_json)

_SPACE = re.compile(r"[ \t\n\r]*")
_TOKEN = re.compile(
    r'[ \t\n\r]*(?P<token>"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"'
    r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null|[\[\]{}:,])"
)


def data_of(text: str) -> Any:
    """The value of a JSON text. What Python cannot hold stays text: huge numbers, and a value that is nested too deeply."""
    try:
        return _data.decode(text)
    except RecursionError:
        return text


def text_of(value: Any) -> str:
    """The JSON of a value, as the daemon spells it in changesets."""
    try:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        text.encode()
        return text
    except (ValueError, TypeError, RecursionError) as fault:
        raise ValueError(f"this is no JSON: {fault}") from None


def end_of_deep_value(text: str, at: int) -> int:
    """The end of a JSON value, whatever its depth. It raises ValueError if it is not JSON."""
    closers: List[str] = []
    # What may come: a value, the name of a member, a colon, or what follows a value.
    state, may_close = "value", False
    while True:
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"this is not JSON at character {at}")
        token, at = found["token"], found.end()
        if token in "]}" and closers and token == closers[-1] and (may_close or state == "next"):
            closers.pop()
            state, may_close = "next", False
        elif state == "value" and token in ("[", "{"):
            closers.append("]" if token == "[" else "}")
            state, may_close = "value" if token == "[" else "name", True
            continue
        elif state == "value" and token not in "]}:,":
            state, may_close = "next", False
        elif state == "name" and token[0] == '"':
            state, may_close = "colon", False
            continue
        elif state == "colon" and token == ":":
            state = "value"
            continue
        elif state == "next" and token == "," and closers:
            state = "value" if closers[-1] == "]" else "name"
            continue
        else:
            raise ValueError(f"this is not JSON at character {at}")
        if not closers:
            return at


class Reader:
    """Reads a JSON text from left to right. Each method starts at the next value, and ends behind it."""

    def __init__(self, text: str):
        self.text = text
        self.at = 0
        #: The name of the member that is read, as it is spelled.
        self.spelled = ""

    def next(self) -> str:
        """Goes to the next token, and returns its first character; "" at the end."""
        found = self.text[self.at : self.at + 1]
        if found > " ":
            return found
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at : self.at + 1]

    def value(self) -> Any:
        self.next()
        try:
            value, self.at = _heads.raw_decode(self.text, self.at)
            return value
        except RecursionError:
            return self.skipped()

    def skipped(self) -> str:
        """The text of the value."""
        self.next()
        start = self.at
        try:
            _, self.at = _skipped.raw_decode(self.text, start)
        except RecursionError:
            self.at = end_of_deep_value(self.text, start)
        return self.text[start : self.at]

    def members(self) -> Iterator[str]:
        """The names of an object's members. The caller reads each value."""
        self.at += 1
        if self.next() == "}":
            self.at += 1
            return
        while True:
            if self.next() != '"':
                raise ValueError(f"expected the name of a member at character {self.at}")
            start = self.at
            name = self.value()
            self.spelled = self.text[start : self.at]
            self._expect(":")
            yield name
            if self._expect(",}") == "}":
                return

    def elements(self) -> Iterator[str]:
        """The first character of each element of an array. The caller reads the elements."""
        self.at += 1
        if self.next() == "]":
            self.at += 1
            return
        while True:
            yield self.next()
            if self._expect(",]") == "]":
                return

    def end(self) -> None:
        if self.next() != "":
            raise ValueError(f"expected the end at character {self.at}")

    def _expect(self, characters: str) -> str:
        found = self.next()
        if found == "" or found not in characters:
            raise ValueError(f"expected {' or '.join(characters)} at character {self.at}")
        self.at += 1
        return found


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BACKSLASHES_AND_PAIRS = re.compile(r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")


def changeset_of(text: str) -> Any:
    """A changeset as Python's values, in which the `data` of each entry is JSON text."""
    reader = Reader(text)
    try:
        # Python takes unpaired surrogates, which no changeset has.
        if _SURROGATE.search(text) and _SURROGATE.search(_BACKSLASHES_AND_PAIRS.sub("", text)):
            raise ValueError("it has an unpaired surrogate escape")
        value = _members(reader) if reader.next() == "{" else reader.value()
        reader.end()
        return value
    except ValueError as fault:
        raise ReplicaFault("invalid-changeset", f"the value is not JSON: {fault}") from None


def _members(reader: Reader) -> Any:
    return {
        name: _lists(reader, name == "sections") if name in ("sections", "items") else reader.value()
        for name in reader.members()
    }


def _lists(reader: Reader, have_items: bool) -> Any:
    """The list of a reload, or the lists of a difference."""
    first = reader.next()
    if first == "[":
        return _entries(reader, have_items)
    if first == "{":
        return {name: _entries(reader, False) for name in reader.members()}
    return reader.value()


def _entries(reader: Reader, have_items: bool) -> Any:
    if reader.next() != "[":
        return reader.value()
    return [_entry(reader, have_items) if first == "{" else reader.value() for first in reader.elements()]


def _entry(reader: Reader, has_items: bool) -> Any:
    entry = {}
    for name in reader.members():
        if name == "data":
            entry[name] = reader.skipped()
        elif name == "items" and has_items:
            entry[name] = _entries(reader, False)
        else:
            entry[name] = reader.value()
    return entry

