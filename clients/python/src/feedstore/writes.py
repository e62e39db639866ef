"""The writes of one feed: sent in their order, and shown until they are published."""

import asyncio
import math
import urllib.parse
from concurrent.futures import Future
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Generator, Generic, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union,
)

from .effects import Answer
from .errors import WriteFailed, WriteRejected
from .jsontext import text_of
from .model import LIVE, Written

if TYPE_CHECKING:
    from .followed import Followed
    from .machine import Machine

MOST_PENDING = 1000
_MOST_UNFINISHED = 4
_ANSWER_SECONDS = 30.0
# How long a write that nothing covers is shown while the feed is live: a published one, and one that the brokers have.
_PUBLISHED_SECONDS = 5.0
_SENT_SECONDS = 60.0

Event = Mapping[str, Any]
R = TypeVar("R", bound=Optional[Written])
ADVICE = "It may be published nevertheless; docs/protocol.md, section 10.2, says which events may be sent again."


class Write(Generic[R]):
    """A write that is on its way: `await` it, or call `result()`.

    Both return `Written`, or raise `WriteRejected` or `WriteFailed`; then its effect is taken back.
    """

    def __init__(self) -> None:
        self._future: "Future[Any]" = Future()

    def done(self) -> bool:
        return self._future.done()

    def result(self, timeout: Optional[float] = None) -> R:
        result: R = self._future.result(timeout)
        return result

    def __await__(self) -> Generator[Any, None, R]:
        # Shielded: who gives up waiting does not end the write.
        return asyncio.shield(asyncio.wrap_future(self._future)).__await__()

    def _end(self, outcome: Union[Written, Exception, None]) -> None:
        if isinstance(outcome, Exception):
            self._future.set_exception(outcome)
        else:
            self._future.set_result(outcome)


class PendingWrite:
    def __init__(self, events: Sequence[Event], text: str, wait: int, key: Optional[str] = None):
        self.events, self.text, self.wait, self.key = events, text, wait, key
        self.handles: List[Write[Any]] = [Write()]
        #: `queued`, `sending`, `asking` (for its outcome) or `done`.
        self.phase = "queued"
        self.written: Optional[Written] = None
        self.is_published = False
        #: The number of its request.
        self.request: Optional[int] = None
        #: By view, the live time at which it is over; 0 if the view includes it.
        self.ends: Dict["Followed", float] = {}

    def is_covered(self, followed: "Followed", written: Written) -> bool:
        """Whether the state of a feed includes it."""
        offset, revision, known = written.offset, written.revision, followed.known
        if offset is not None and followed.through.get(written.topic, -1) >= offset:
            return True
        if revision is not None and known is not None and known[0] == written.epoch and known[1] >= revision:
            return True
        return self.is_published and (revision is None or written.changed is False)

    def is_shown(self, followed: "Followed") -> bool:
        if self.written is None:
            return True
        if self.is_covered(followed, self.written):
            self.ends[followed] = 0
        elif self.phase == "done" and followed not in self.ends:
            self.ends[followed] = followed.live_seconds + (_PUBLISHED_SECONDS if self.is_published else _SENT_SECONDS)
        return self.left(followed) > 0

    def left(self, followed: "Followed") -> float:
        """For how many live seconds it is still shown, to the microsecond."""
        return round(self.ends.get(followed, math.inf) - followed.live_seconds, 6)


def events_of(events: Union[Event, Sequence[Event]]) -> Tuple[List[Event], str]:
    """The events of a record, and its value as JSON text."""
    listed = [events] if isinstance(events, Mapping) else list(events)
    for event in listed:
        if not isinstance(event, Mapping) or not isinstance(event.get("op"), str):
            raise ValueError(f"this is not an event: {event!r}; expected one such as {{'op': 'item.delete', 'item': 'a'}}")
    return listed, text_of(events if isinstance(events, Mapping) else listed)


class FeedWrites:
    """The pending writes of one feed, whatever windows of it are shown."""

    def __init__(self, machine: "Machine", feed: str):
        self._machine, self._feed = machine, feed
        self._writes: List[PendingWrite] = []

    def shown(self, followed: "Followed") -> List[PendingWrite]:
        """What a view does not include yet."""
        return [write for write in self._writes if write.is_shown(followed)]

    def add(self, write: PendingWrite) -> None:
        queued = [one for one in self._writes if one.phase == "queued"]
        former = next((one for one in queued if one.key is not None and one.key == write.key), None)
        if former is not None:
            former.handles += write.handles
            former.events, former.text, former.wait = write.events, write.text, write.wait
        elif len(self._writes) >= MOST_PENDING:
            text = f"{MOST_PENDING} writes of feed {self._feed} are pending; nothing was written"
            _end(write, WriteFailed("too-many-writes", text))
            return
        else:
            self._writes.append(write)
        self._refresh()
        self._send_next()

    def close(self, reason: str) -> None:
        writes, self._writes = self._writes, []
        for write in writes:
            if write.phase != "done":
                is_sent = write.phase == "asking" or write.request in self._machine.requests
                _end(write, WriteFailed(None, f"{reason}. {ADVICE}" if is_sent else f"{reason}; nothing was written"))

    def advanced(self, followed: "Followed") -> None:
        """A changeset has come. This is what writes without an offset wait for."""
        for write in self._writes:
            if write.written is not None and write.written.offset is None:
                write.ends[followed] = 0

    def forget_later(self, followed: "Followed") -> None:
        """Forgets what no view shows any more, now and when the live time of a write is over."""
        key = ("pending", followed)
        self._machine.cancel(key)
        if self._writes:
            self.forget()
            left = [write.left(followed) for write in self._writes if followed in write.ends]
            left = [seconds for seconds in left if seconds > 0]
            if left and followed.view.standing == LIVE:
                self._machine.timer(key, min(left), followed.refresh)

    def forget(self) -> None:
        views = self._machine.views_of(self._feed)
        self._writes = [write for write in self._writes if write.phase != "done" or any(map(write.is_shown, views))]
        if not self._writes and not views:
            self._machine.all_writes.pop(self._feed, None)

    def _refresh(self) -> None:
        for followed in self._machine.views_of(self._feed):
            followed.refresh()
        self.forget()

    # Requests.

    def _send_next(self) -> None:
        """One POST at a time decides the order."""
        phases = [write.phase for write in self._writes]
        if "queued" in phases and "sending" not in phases and phases.count("asking") < _MOST_UNFINISHED:
            self._post(self._writes[phases.index("queued")])

    def _post(self, write: PendingWrite) -> None:
        write.phase = "sending"
        # Any instance takes it. The one that has the feed knows the outcome first.
        homes = [one.home.stream.url for one in self._machine.views_of(self._feed) if one.home is not None]
        connected = [stream.url for stream in self._machine.streams if stream.is_open]
        urls = iter(dict.fromkeys([*homes, *connected[:1], *self._machine.urls]))
        path = f"/v1/feeds/{_segment(self._feed)}/events"
        unreached: List[str] = []
        server = next(urls)

        def send(token: Optional[str], then: Callable[[Answer], None]) -> None:
            def answered(answer: Answer) -> None:
                nonlocal server
                if answer.status is not None or answer.is_sent:
                    then(answer)
                    return
                unreached.append(answer.problem)
                if (other := next(urls, None)) is None:
                    then(Answer(detail="; ".join(unreached), is_sent=False))
                else:
                    server = other
                    send(token, then)

            url = server + path
            write.request = self._machine.request("POST", url, answered, token, write.text, limit=_ANSWER_SECONDS)

        def take(answer: Answer) -> None:
            written = _written(answer)
            if write not in self._writes:
                return
            if answer.status not in (200, 202) or written is None:
                self._drop(write, _failure(answer))
            elif answer.status == 202 and write.wait > 0 and written.offset is not None:
                write.phase, write.written = "asking", written
                self._get_outcome(write, f"{server}{path}?partition={written.partition}&offset={written.offset}")
                self._refresh()
            else:
                self._finish(write, written, answer.status == 200)
            self._send_next()

        self._machine.tokens.request(send, take, is_wanted=lambda: write in self._writes)

    def _get_outcome(self, write: PendingWrite, url: str) -> None:
        def send(token: Optional[str], then: Callable[[Answer], None]) -> None:
            limit = write.wait + _ANSWER_SECONDS
            write.request = self._machine.request("GET", url, then, token, wait=write.wait, limit=limit)

        def take(answer: Answer) -> None:
            if write not in self._writes:
                return
            published = _written(answer) if answer.status == 200 else None
            if answer.status in (412, 422):
                self._drop(write, _failure(answer))
            elif write.written is not None:
                self._finish(write, published or write.written, published is not None)
            self._send_next()

        self._machine.tokens.request(send, take, is_wanted=lambda: write in self._writes)

    def _finish(self, write: PendingWrite, written: Written, is_published: bool) -> None:
        write.phase, write.written, write.is_published = "done", written, is_published
        self._refresh()
        _end(write, written)

    def _drop(self, write: PendingWrite, fault: Exception) -> None:
        self._writes.remove(write)
        self._refresh()
        _end(write, fault)


def _end(write: PendingWrite, outcome: Union[Written, Exception]) -> None:
    for handle in write.handles:
        handle._end(outcome)


def _segment(feed: str) -> str:
    """A feed's id as a segment of a path, in which `.` and `..` would mean something else."""
    return feed.replace(".", "%2E") if feed in (".", "..") else urllib.parse.quote(feed, safe="")


def _written(answer: Answer) -> Optional[Written]:
    value = answer.value
    try:
        optional = map(value.get, ("offset", "epoch", "revision", "changed"))
        return Written(value["feed"], value["topic"], value["partition"], *optional)
    except KeyError:
        return None


def _failure(answer: Answer) -> Exception:
    if answer.status is None:
        if answer.lacks_token:
            return WriteFailed(None, f"nothing was written: {answer.problem}")
        if not answer.is_sent:
            return WriteFailed(None, f"no instance can be reached: {answer.problem}; nothing was written")
        return WriteFailed(None, f"no answer to the write: {answer.problem}. {ADVICE}")
    code = answer.value.get("code")
    if 400 <= answer.status < 500:
        return WriteRejected(code or str(answer.status), answer.problem)
    return WriteFailed(code, f"{answer.problem}. {ADVICE}")
