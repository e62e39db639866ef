"""The writes of one feed: sent one after the other, and shown until they are published."""

import asyncio
import math
import time
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Generator, List, Mapping, Optional, Sequence, Tuple, Union

from .errors import WriteFailed, WriteRejected
from .jsontext import text_of
from .model import LIVE, Written
from .replica import Head
from .transport import EARLY_PAUSE_SECONDS, Answer, Origin, Problem, Tokens, answer_of

if TYPE_CHECKING:
    from .followed import Followed

MOST_PENDING = 1000
# How long a write that was accepted is shown while the feed is live. It may be rejected later, or change nothing.
PENDING_SECONDS = 60.0
_LOOK_SECONDS = 5.0
_ANSWER_SECONDS = 30.0

Event = Mapping[str, Any]
ADVICE = "It may be published nevertheless; docs/protocol.md, section 10.2, says which events may be sent again."


class Write:
    """A write that is on its way: `await` it, or call `result()`.

    Both return `Written`, or raise `WriteRejected` or `WriteFailed`; then its effect is taken back.
    """

    def __init__(self) -> None:
        self._future: "Future[Written]" = Future()

    def done(self) -> bool:
        return self._future.done()

    def result(self, timeout: Optional[float] = None) -> Written:
        return self._future.result(timeout)

    def __await__(self) -> Generator[Any, None, Written]:
        # Shielded: who gives up waiting does not end the write.
        return asyncio.shield(asyncio.wrap_future(self._future)).__await__()

    def _end(self, outcome: Union[Written, Exception]) -> None:
        if isinstance(outcome, Exception):
            self._future.set_exception(outcome)
        else:
            self._future.set_result(outcome)


class PendingWrite:
    def __init__(self, events: Sequence[Event], text: str, wait: float):
        self.events = events
        self.text = text
        self.wait = wait
        self.handle = Write()
        self.written: Optional[Written] = None
        #: The states at the time of an answer that does not say where the write is.
        self._heads: Dict["Followed", Optional[Head]] = {}

    def is_covered(self, followed: "Followed") -> bool:
        """Whether the state of the feed includes the write."""
        head, written = followed.replica.head, self.written
        if written is None or head is None:
            return False
        if written.epoch is not None and written.epoch == head.epoch and head.revision >= (written.revision or 0):
            return True
        if written.offset is None:
            return self._heads.get(followed, head) is not head
        return head.through.get(written.topic, -1) >= written.offset

    def answered(self, written: Written, followed: List["Followed"]) -> None:
        self.written = written
        self._heads = {one: one.replica.head for one in followed}


def events_of(events: Union[Event, Sequence[Event]]) -> Tuple[List[Event], str]:
    """The events of a record, and its value as JSON text."""
    listed = [events] if isinstance(events, Mapping) else list(events)
    for event in listed:
        if not isinstance(event, Mapping) or not isinstance(event.get("op"), str):
            raise ValueError(f"this is no event: {event!r}; expected one such as {{'op': 'item.delete', 'item': 'a'}}")
    return listed, text_of(events if isinstance(events, Mapping) else listed)


class FeedWrites:
    """The pending writes of one feed, whatever windows of it are shown."""

    def __init__(
        self,
        feed: str,
        followed: Callable[[], List["Followed"]],
        send: Callable[[str, PendingWrite, Callable[[Union[Written, Exception]], None]], None],
        later: Callable[[float, Callable[[], None]], Any],
    ):
        self.feed = feed
        self._followed = followed
        self._send, self._later = send, later
        self._writes: List[PendingWrite] = []
        self._queue: Deque[PendingWrite] = deque()

    def __bool__(self) -> bool:
        return bool(self._writes)

    def pending(self, followed: "Followed") -> List[PendingWrite]:
        """What the state of a feed does not include yet."""
        return [write for write in self._writes if not write.is_covered(followed)]

    def add(self, write: PendingWrite) -> None:
        if len(self._writes) >= MOST_PENDING:
            write.handle._end(WriteFailed(None, f"{MOST_PENDING} writes of feed {self.feed} are pending; nothing was written"))
            return
        self._writes.append(write)
        self._queue.append(write)
        self._show()
        if len(self._queue) == 1:
            self._begin()

    def close(self) -> None:
        for write in self._writes:
            if not write.handle.done():
                is_sent = write is self._queue[0]
                write.handle._end(WriteFailed(None, f"the store was closed{f'. {ADVICE}' if is_sent else '; nothing was written'}"))
        self._writes, self._queue = [], deque()

    def forget_covered(self) -> None:
        """Called after each change of a state."""
        if not self._writes:
            return
        # Of a feed that does not exist there is nothing to show.
        followed = [one for one in self._followed() if one.replica.head is not None or not one.is_known]
        self._writes = [write for write in self._writes if write.written is None or not all(map(write.is_covered, followed))]

    def _begin(self) -> None:
        # One after the other: requests at the same time are applied in any order.
        write = self._queue[0]
        self._send(self.feed, write, lambda outcome: self._answered(write, outcome))

    def _answered(self, write: PendingWrite, outcome: Union[Written, Exception]) -> None:
        if write not in self._writes:
            return
        self._queue.popleft()
        if isinstance(outcome, Exception):
            self._writes.remove(write)
        else:
            write.answered(outcome, self._followed())
            self._look_later(write, PENDING_SECONDS)
        self.forget_covered()
        self._show()
        write.handle._end(outcome)
        if self._queue:
            self._begin()

    def _look_later(self, write: PendingWrite, left: float) -> None:
        def look() -> None:
            if write not in self._writes:
                return
            is_live = all(one.view.standing == LIVE for one in self._followed())
            remaining = left - _LOOK_SECONDS if is_live else left
            if remaining > 0:
                self._look_later(write, remaining)
            else:
                self._writes.remove(write)
                self._show()

        self._later(_LOOK_SECONDS, look)

    def _show(self) -> None:
        for followed in self._followed():
            followed.show_writes()


def sent(origins: Sequence[Origin], tokens: Tokens, path: str, write: PendingWrite) -> Union[Written, Exception]:
    """Sends a write, and returns its outcome; blocks."""
    unreached = []
    for origin in origins:
        try:
            connection = origin.connect()
        except OSError as fault:
            unreached.append(str(fault))
            continue
        try:
            connection.sock.settimeout(write.wait + _ANSWER_SECONDS)
            preference = {"Prefer": f"wait={math.ceil(write.wait)}"} if write.wait > 0 else {}
            is_early, tries = False, 0
            while True:
                try:
                    token = tokens.get()
                except ConnectionError as fault:
                    return WriteFailed(None, f"nothing was written: {fault}")
                answer = answer_of(origin.send(connection, "POST", path, token, write.text, **preference))
                was_early, is_early = is_early, tokens.answered(token, answer.problem)
                tries += 1
                if answer.status != 401 or tries > _ANSWER_SECONDS or (tries > 1 and not is_early and not was_early):
                    return _outcome(answer)
                # Nothing was written: it is safe to try again.
                connection.close()
                if is_early and not tokens.has_accepted:
                    time.sleep(EARLY_PAUSE_SECONDS)
        except Exception as fault:
            # Whatever it is: a write that does not learn of it would be pending forever.
            return WriteFailed(None, f"no answer to the write: {fault or type(fault).__name__}. {ADVICE}")
        finally:
            connection.close()
    return WriteFailed(None, f"no instance can be reached: {'; '.join(unreached)}; nothing was written")


def _outcome(answer: Answer) -> Union[Written, Exception]:
    if answer.problem is not None:
        return _failure(answer.problem)
    value = answer.value if isinstance(answer.value, dict) else {}
    try:
        return Written(
            value["feed"], value["topic"], value["partition"], value.get("offset"), value.get("epoch"), value.get("revision")
        )
    except KeyError as missing:
        return WriteFailed(None, f"the answer to the write has no {missing}. {ADVICE}")


def _failure(problem: Problem) -> Exception:
    code = problem.code or str(problem.status)
    if 400 <= problem.status < 500:
        return WriteRejected(code, problem.detail)
    return WriteFailed(code, f"{problem.detail}. {ADVICE}")
