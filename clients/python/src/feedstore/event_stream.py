"""Server-Sent Events."""

import codecs
from typing import Iterator, List, NamedTuple, Optional


# The daemon's largest reload is 256 MiB unless it is configured otherwise.
MOST_CHARACTERS = 1 << 30


class StreamEvent(NamedTuple):
    #: `message` by default.
    name: str
    data: str


class EventStreamParser:
    """As specified in https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation."""

    def __init__(self) -> None:
        #: What the server wishes a client to wait before it comes again, in seconds.
        self.retry: Optional[float] = None
        # Removes a byte order mark at the beginning.
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._pieces: List[str] = []
        self._length = 0
        self._is_after_return = False
        self._name = ""
        self._data: List[str] = []

    def push(self, data: bytes) -> Iterator[StreamEvent]:
        """Takes any piece of the stream; returns the events that are complete."""
        text = self._decoder.decode(data)
        if text == "":
            return
        if self._is_after_return and text[0] == "\n":
            text = text[1:]
        self._is_after_return = text.endswith("\r")
        *ended, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for line in ended:
            self._pieces.append(line)
            whole, self._pieces, self._length = "".join(self._pieces), [], 0
            event = self._take(whole)
            if event is not None:
                yield event
        if rest:
            self._pieces.append(rest)
            self._length += len(rest)
        if self._length > MOST_CHARACTERS:
            raise ValueError(f"a line of the stream has more than {MOST_CHARACTERS} characters")

    def _take(self, line: str) -> Optional[StreamEvent]:
        if line == "":
            name, data = self._name or "message", self._data
            self._name, self._data = "", []
            return StreamEvent(name, "\n".join(data)) if data else None
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        elif field == "retry" and value.isascii() and value.isdigit() and len(value) < 10:
            self.retry = int(value) / 1000
        return None
