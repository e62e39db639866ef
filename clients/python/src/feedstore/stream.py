"""A stream of many feeds at one instance. All methods are called in the store's thread."""

import dataclasses
import json
import logging
import random
import time
from typing import Any, Callable, Dict, List, Optional, Set

from .engine import Engine
from .event_stream import StreamEvent
from .followed import Followed
from .model import Standing
from .transport import EARLY_PAUSE_SECONDS, Origin, Problem, StreamReader, Tokens, answer_of, token_time

log = logging.getLogger("feedstore")

MOST_FEEDS = 256
_MOST_DELAY = 30.0
_RENEWAL_SECONDS = 30.0
# A stream that had events for so long is opened again at once, after a random part of `_AT_ONCE_SECONDS`.
_STEADY_SECONDS = 5.0
_AT_ONCE_SECONDS = 0.05
# The least spread above `Retry-After`.
_LEAST_SPREAD_SECONDS = 1.5


class Stream:
    def __init__(
        self, engine: Engine, url: str, origin: Origin, tokens: Tokens, on_moved: Callable[[], None]
    ):
        self.url = url
        #: What it is to follow, by feed.
        self.wanted: Dict[str, Followed] = {}
        self._engine, self._origin, self._tokens, self._on_moved = engine, origin, tokens, on_moved
        #: What the daemon follows, as far as it was asked.
        self._sent: Dict[str, Followed] = {}
        #: Feeds whose window was changed: until `must-refetch` comes, messages are of the former one.
        self._switching: Set[str] = set()
        #: Feeds to ask for again.
        self._refetching: Set[str] = set()
        self._retry = 3.0
        self._failures = 0
        #: When the first event of the connection arrived.
        self._since: Optional[float] = None
        self._reader: Optional[StreamReader] = None
        self._timer: Optional[Any] = None
        self._renewal: Optional[Any] = None
        self._name: Optional[str] = None
        self._is_patching = False
        self._used_token: Optional[str] = None

    def update(self) -> None:
        """Does what `wanted` needs."""
        if not self.wanted:
            self.close()
        elif self._reader is None and self._timer is None:
            self._connect()
        elif self._name is not None:
            self._patch()

    def close(self) -> None:
        reader, self._reader = self._reader, None
        for timer in (self._timer, self._renewal):
            if timer is not None:
                timer.cancel()
        self._timer = self._renewal = self._name = self._since = None
        self._is_patching = False
        self._sent, self._switching, self._refetching = {}, set(), set()
        if reader is not None:
            reader.close()

    # The connection.

    def _connect(self) -> None:
        # Which reader calls back: those of former connections do not count.
        readers: List[StreamReader] = []

        def counts() -> bool:
            return bool(readers) and self._reader is readers[0]

        def content(token: Optional[str]) -> str:
            return self._engine.run(lambda: self._content(token) if counts() else "{}")

        def opened() -> None:
            if counts():
                for followed in list(self.wanted.values()):
                    followed.opened(self.url)
                self._on_moved()

        def take(events: List[StreamEvent], retry: Optional[float]) -> None:
            try:
                self._retry = self._retry if retry is None else retry
                for event in events:
                    if counts():
                        self._take(event)
            except Exception:
                # Else the stream would stand still in silence.
                log.exception("%s sends what cannot be taken; connecting again", self.url)
                self._restart()
            finally:
                readers[0].taken()

        def end(problem: Optional[Problem], detail: str) -> None:
            if counts():
                self._end(problem, detail)

        def start() -> StreamReader:
            return StreamReader(
                self._origin, self._tokens, content,
                lambda: self._engine.post(opened),
                lambda events, retry: self._engine.post(take, events, retry),
                lambda problem, detail: self._engine.post(end, problem, detail),
            )

        self._reader = start()
        readers.append(self._reader)

    def _content(self, token: Optional[str]) -> str:
        """What to follow, from the versions that there are."""
        self._used_token = token
        self._sent = dict(self.wanted)
        return json.dumps({"feeds": [followed.request(True) for followed in self._sent.values()]})

    def _end(self, problem: Optional[Problem], detail: str) -> None:
        sent = list(self._sent.values())
        is_steady = self._since is not None and self._engine.now() - self._since >= _STEADY_SECONDS
        self.close()
        bad = None if problem is None else _named(problem, "feeds", sent)
        if bad is not None and problem is not None:
            bad.refuse(problem.detail)
            self._on_moved()
            self.update()
            return
        # Every wait has a random part, so that clients do not all come back in the same moment.
        if is_steady or (problem is not None and problem.is_early and self._tokens.has_accepted):
            delay, spread = 0.0, _AT_ONCE_SECONDS
        elif problem is not None and problem.status == 401 and not problem.is_early and self._failures == 0:
            # Another token may be there already.
            delay, spread, self._failures = 0.0, _AT_ONCE_SECONDS, 1
        else:
            after = problem.after if problem else 0
            delay = max(min(self._retry * 2**self._failures, max(_MOST_DELAY, self._retry)), after)
            spread = max(delay / 4, _LEAST_SPREAD_SECONDS if after > 0 else 0)
            self._failures = min(self._failures + 1, 16)
        delay += random.random() * spread
        self._timer = self._engine.later(delay, self._again)
        standing = _standing(problem, detail, time.time() + delay)
        for followed in list(self.wanted.values()):
            if not (problem is None and followed.view.standing.reason == "forbidden"):
                followed.trouble(self.url, standing)
        self._on_moved()

    def _again(self) -> None:
        self._timer = None
        self.update()

    def _restart(self) -> None:
        """Ends the connection, as if the daemon had."""
        if self._reader is not None:
            self._reader.close()

    # Events.

    def _take(self, event: StreamEvent) -> None:
        self._failures = 0
        self._since = self._engine.now() if self._since is None else self._since
        if event.name == "message":
            self._take_message(event.data)
            return
        try:
            value = json.loads(event.data)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            return
        if event.name == "stream":
            self._name = str(value.get("stream"))
            self._renew_later()
            self._patch()
            return
        feed = value.get("feed")
        if feed in self._switching and event.name in ("must-refetch", "absent", "moved", "forbidden"):
            self._switching.discard(feed)
            self._patch()
            if event.name == "must-refetch":
                return
        followed = self._followed(feed)
        if followed is None or feed in self._switching:
            return
        followed.event(self.url, event.name, value)
        if event.name in ("absent", "moved", "up-to-date"):
            self._on_moved()
            self._patch()

    def _take_message(self, text: str) -> None:
        feed = _feed_of(text)
        if feed is None:
            log.warning("%s sends something else than changesets: %s", self.url, text[:80])
            self._restart()
            return
        followed = self._followed(feed)
        if followed is None or feed in self._switching:
            # On its way since the feed was removed, or its window changed.
            return
        home, expected = followed.home, followed.expects_reload
        if followed.message(self.url, text):
            self._refetch(followed)
        if followed.home != home or (expected and not followed.expects_reload):
            self._on_moved()
            self._patch()

    def _followed(self, feed: Any) -> Optional[Followed]:
        followed = self.wanted.get(feed) if isinstance(feed, str) else None
        return followed if followed is not None and self._sent.get(followed.feed) is followed else None

    def _refetch(self, followed: Followed) -> None:
        """Asks for a feed again, the more often in a row the later."""
        followed.must_refetch("a changeset does not fit")
        delay = min(2.0 ** (followed.refetches - 1), _MOST_DELAY) * (1 + random.random() / 4) if followed.refetches else 0
        followed.refetches += 1
        reader = self._reader

        def ask() -> None:
            if self._reader is reader and self._sent.get(followed.feed) is followed:
                self._refetching.add(followed.feed)
                self._patch()

        self._engine.later(delay, ask)

    # Changes of the stream.

    def _patch(self) -> None:
        """Has the daemon follow what is wanted, with one request at a time."""
        if self._is_patching or self._name is None:
            return
        # One change of a window at a time, so that it is clear to which one a message belongs.
        add = [
            followed for feed, followed in self.wanted.items()
            if (self._sent.get(feed) is not followed or feed in self._refetching) and feed not in self._switching
        ]
        remove = [feed for feed in self._sent if feed not in self.wanted or feed in self._refetching]
        if not add and not remove:
            return
        for followed in add:
            feed = followed.feed
            if feed in self._sent and feed not in self._refetching:
                self._switching.add(feed)
        before = (self._sent, set(self._refetching))
        members: Dict[str, Any] = {}
        if add:
            members["add"] = [followed.request(followed.feed not in self._switching) for followed in add]
        if remove:
            members["remove"] = remove
        self._sent = {feed: followed for feed, followed in self._sent.items() if feed not in remove}
        self._switching.difference_update(remove)
        self._sent.update((followed.feed, followed) for followed in add)
        self._refetching.clear()
        self._request(members, self._used_token, lambda problem: self._patched(problem, add, *before))

    def _request(self, members: Dict[str, Any], token: Optional[str], then: Callable[[Optional[Problem]], None]) -> None:
        self._is_patching = True
        reader, path, origin = self._reader, f"/v1/streams/{self._name}", self._origin

        def send() -> Optional[Problem]:
            try:
                connection = origin.connect()
                try:
                    problem = answer_of(origin.send(connection, "PATCH", path, token, json.dumps(members))).problem
                    is_early = self._tokens.answered(token, problem)
                    return problem and dataclasses.replace(problem, is_early=is_early)
                finally:
                    connection.close()
            except Exception as fault:
                # Whatever it is: a stream that does not learn of it would not change any more.
                return Problem(0, None, str(fault))

        def done(problem: Optional[Problem]) -> None:
            if self._reader is reader:
                self._is_patching = False
                then(problem)

        self._engine.in_thread(send, done)

    def _patched(
        self, problem: Optional[Problem], add: List[Followed], sent: Dict[str, Followed], refetching: Set[str]
    ) -> None:
        bad = None if problem is None else _named(problem, "add", add)
        if problem is None:
            self._patch()
        elif bad is not None:
            # Nothing of the request was done. The next one leaves this feed out.
            self._sent, self._refetching = sent, self._refetching | refetching
            self._switching.difference_update(followed.feed for followed in add)
            bad.refuse(problem.detail)
            self._on_moved()
        else:
            if problem.status != 404:
                log.warning("%s does not change the stream: %s", self.url, problem.detail)
            # The next connection asks for everything.
            self._restart()

    # Tokens.

    def _renew_later(self, least: float = 0) -> None:
        end = token_time(self._used_token)
        if end is not None:
            left = end - time.time()
            self._renewal = self._engine.later(max(left - _RENEWAL_SECONDS, left / 2, least), self._renew)

    def _renew(self) -> None:
        reader, used = self._reader, self._used_token
        self._renewal = None

        def fetch() -> Optional[str]:
            try:
                return self._tokens.newer()
            except OSError as fault:
                log.warning("there is no newer token: %s", fault)
                return None

        def send(token: Optional[str]) -> None:
            # The daemon ends the stream if there is nothing newer.
            if self._reader is not reader or token is None or (token_time(token) or 0) <= (token_time(used) or 0):
                return
            if self._is_patching:
                self._renewal = self._engine.later(0.1, lambda: send(token))
                return
            self._request({}, token, renewed(token))

        def renewed(token: str) -> Callable[[Optional[Problem]], None]:
            def take(problem: Optional[Problem]) -> None:
                if problem is None or not problem.is_early:
                    self._used_token = token
                    self._patched(problem, [], self._sent, set())
                else:
                    # The stream goes on with the one before.
                    self._patch()
                self._renew_later(EARLY_PAUSE_SECONDS if problem else 0)

            return take

        self._engine.in_thread(fetch, send)


def _feed_of(text: str) -> Optional[str]:
    """The feed of a changeset, whose first member it is; parsed as a whole if not."""
    if text.startswith('{"feed":'):
        try:
            feed, _ = json.JSONDecoder().raw_decode(text, len('{"feed":'))
            return feed if isinstance(feed, str) else None
        except ValueError:
            pass
    try:
        return str(json.loads(text)["feed"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _named(problem: Problem, list_name: str, followed: List[Followed]) -> Optional[Followed]:
    """The feed whose request a daemon does not accept, if it says which."""
    member = problem.member or ""
    if problem.status != 400 or not member.startswith(f"{list_name}["):
        return None
    index = member[len(list_name) + 1 :].partition("]")[0]
    return followed[int(index)] if index.isascii() and index.isdigit() and int(index) < len(followed) else None


def _standing(problem: Optional[Problem], detail: str, until: float) -> Standing:
    if problem is None:
        return Standing("stale", "disconnected", detail, until)
    reasons = {401: "token-needed", 403: "forbidden"}
    reason = reasons.get(problem.status, "bad-request" if 400 <= problem.status < 500 else "unavailable")
    return Standing("stale", reason, problem.detail, until)
