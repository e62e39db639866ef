"""The feeds that a program shows."""

import asyncio
import dataclasses
import logging
import ssl
import threading
import urllib.parse
from collections import deque
from typing import (
    Any, AsyncIterator, Awaitable, Callable, Deque, Dict, Iterator, List, Optional, Sequence, Tuple, Union,
)

from .engine import Engine, resolved, running_loop
from .errors import FeedStoreError
from .followed import Followed
from .model import CONNECTING, WHOLE, FeedView, Update, Window, Written
from .stream import MOST_FEEDS, Stream
from .transport import Origin, Tokens
from .writes import Event, FeedWrites, PendingWrite, Write, events_of, sent

log = logging.getLogger("feedstore")

Listener = Callable[[Update], None]
Token = Union[str, Callable[[], Union[Optional[str], Awaitable[Optional[str]]]]]

# The updates that an iteration may be behind, before it gets the newest state in their place.
_MOST_UPDATES = 16


class FeedStore:
    """The feeds of a daemon, or of several instances. All feeds share one stream.

    `token` is the bearer token, or a function that returns it, also an `async` one: it is asked for each connection, and again
    when a token has been refused or is about to end (`exp` of a JSON Web Token). `ssl_context` is for authorities of your own
    and for client certificates.

    It works in a thread of its own. Views are values: every thread may use them.
    """

    def __init__(
        self, urls: Union[str, Sequence[str]], token: Optional[Token] = None, *, ssl_context: Optional[ssl.SSLContext] = None
    ):
        listed = [urls] if isinstance(urls, str) else list(urls)
        self._urls = tuple(dict.fromkeys(url.rstrip("/") for url in listed))
        if not self._urls:
            raise ValueError("a store needs the URL of a daemon, such as http://127.0.0.1:8321")
        self._ssl_context = ssl_context
        self._origins = {url: Origin(url, ssl_context) for url in self._urls}
        self._token, self._loop = token, running_loop()
        self._tokens = Tokens(self._asked_token)
        self._engine = Engine()
        self._is_closed = False
        self._followed: Dict[Tuple[str, Window], Followed] = {}
        self._writes: Dict[str, FeedWrites] = {}
        self._streams: Dict[str, List[Stream]] = {}
        self._is_to_settle = False
        self._iterations: List["_Iteration"] = []

    def feed(self, feed: str, window: Window = WHOLE) -> "Feed":
        """A feed, or a window of it. It is followed while there is a listener; equal windows are followed once."""
        if not isinstance(feed, str) or not 1 <= len(feed.encode()) <= 255:
            raise ValueError(f"{feed!r} is no id of a feed; expected a string of 1 to 255 bytes")
        if not isinstance(window, Window):
            raise TypeError(f"{window!r} is no Window; write feedstore.Window(first=10)")
        return Feed(self, feed, window)

    def close(self) -> None:
        """Ends everything: the connections, the iterations and the subscriptions."""
        self._run_if_open(self._close)
        self._engine.stop()

    def __enter__(self) -> "FeedStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> "FeedStore":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _run(self, function: Callable[[], Any]) -> Any:
        def run() -> Any:
            if self._is_closed:
                raise FeedStoreError("the store is closed")
            return function()

        return self._engine.run(run)

    def _run_if_open(self, function: Callable[[], None]) -> None:
        try:
            self._run(function)
        except FeedStoreError:
            # Everything has ended already.
            pass

    def _asked_token(self) -> Optional[str]:
        """The token; blocks."""
        try:
            token = self._token if self._token is None or isinstance(self._token, str) else resolved(self._token(), self._loop)
        except Exception as fault:
            # It is a program's own function: whatever it raises, the next attempt asks it again.
            raise ConnectionError(f"the token's function failed: {fault!r}") from fault
        if token is not None and not (str(token).isascii() and str(token).isprintable()):
            # The error of the library would show it.
            raise ConnectionError("the token has a character that no header can hold, such as a line break")
        return None if token is None else str(token)

    # In the engine's thread, from here on.

    def _close(self) -> None:
        self._is_closed = True
        for streams in self._streams.values():
            for stream in streams:
                stream.close()
        for writes in self._writes.values():
            writes.close()
        for iteration in list(self._iterations):
            iteration.end()

    def _join(self, feed: str, window: Window, listener: Listener, view: FeedView, home: Optional[str] = None) -> Followed:
        """Has a listener, which shows a view, follow a feed."""
        followed = self._followed.get((feed, window))
        if followed is None:
            followed = Followed(feed, window, self._urls, self._writes_of(feed))
            followed.replica.begin_with(view.sections)
            followed.home = home
            self._followed[feed, window] = followed
        followed.listeners.append(listener)
        self._settle_soon()
        return followed

    def _leave(self, followed: Followed, listener: Listener) -> None:
        followed.listeners.remove(listener)
        if not followed.listeners:
            del self._followed[followed.feed, followed.window]
            self._settle_soon()
            self._forget_writes(followed.feed)

    def _settle_soon(self) -> None:
        # Once for all calls in one turn.
        if not self._is_to_settle:
            self._is_to_settle = True
            self._engine.post(self._settle)

    def _settle(self) -> None:
        """Puts each feed onto one stream of each instance that is to be asked for it, and nowhere else."""
        self._is_to_settle = False
        if self._is_closed:
            return
        targets = {followed: set(followed.targets) for followed in self._followed.values()}
        for url, streams in self._streams.items():
            for stream in streams:
                for followed in list(stream.wanted.values()):
                    if url not in targets.get(followed, ()):
                        del stream.wanted[followed.feed]
                    else:
                        targets[followed].discard(url)
        for followed, urls in targets.items():
            for url in urls:
                stream_or_none = self._free_stream(url, followed.feed)
                if stream_or_none is not None:
                    stream_or_none.wanted[followed.feed] = followed
                    followed.asked(url)
        for url, streams in self._streams.items():
            for stream in streams:
                stream.update()
            self._streams[url] = [stream for stream in streams if stream.wanted]

    def _free_stream(self, url: str, feed: str) -> Optional[Stream]:
        streams = self._streams.setdefault(url, [])
        for stream in streams:
            if feed not in stream.wanted and len(stream.wanted) < MOST_FEEDS:
                return stream
        if url not in self._origins:
            try:
                self._origins[url] = Origin(url, self._ssl_context)
            except ValueError as fault:
                log.warning("a daemon names an instance that cannot be reached: %s", fault)
                return None
        streams.append(Stream(self._engine, url, self._origins[url], self._tokens, self._settle_soon))
        return streams[-1]

    def _writes_of(self, feed: str) -> FeedWrites:
        writes = self._writes.get(feed)
        if writes is None:
            writes = self._writes[feed] = FeedWrites(feed, lambda: self._views_of(feed), self._send, self._engine.later)
        return writes

    def _forget_writes(self, feed: str) -> None:
        """Keeps nothing for a feed that is neither followed nor written."""
        writes = self._writes_of(feed)
        writes.forget_covered()
        if not writes and not self._views_of(feed):
            del self._writes[feed]

    def _views_of(self, feed: str) -> List[Followed]:
        return [followed for followed in self._followed.values() if followed.feed == feed]

    def _send(self, feed: str, write: PendingWrite, then: Callable[[Union[Written, Exception]], None]) -> None:
        # The instance that has the feed knows whether the record is published; any instance takes it.
        homes = [followed.home for followed in self._views_of(feed) if followed.home in self._origins]
        origins = [self._origins[url] for url in dict.fromkeys([*homes, *self._urls]) if url is not None]
        path = f"/v1/feeds/{urllib.parse.quote(feed, safe='')}/events"

        def answered(outcome: Union[Written, Exception]) -> None:
            then(outcome)
            self._forget_writes(feed)

        self._engine.in_thread(lambda: sent(origins, self._tokens, path, write), answered)


class Feed:
    """A feed, or a window of it: `for update in feed`, `async for update in feed`, or `feed.subscribe(listener)`."""

    def __init__(self, store: FeedStore, feed: str, window: Window):
        self.id = feed
        self._store = store
        self._window = window
        self._view = FeedView(feed, CONNECTING)
        self._followed: Optional[Followed] = None
        self._listeners: List[Listener] = []

    @property
    def window(self) -> Window:
        """What is shown; `WHOLE` for the whole feed."""
        return self._window

    @property
    def view(self) -> FeedView:
        """The newest view. It is the same object until something changes."""
        return self._view

    def show(self, window: Window = WHOLE) -> None:
        """Changes the window. Until the state of the new one arrives, the view stays."""
        if not isinstance(window, Window):
            raise TypeError(f"{window!r} is no Window; write feedstore.Window(first=10)")
        self._store._run(lambda: self._show(window))

    def subscribe(self, listener: Listener, *, loop: Optional[asyncio.AbstractEventLoop] = None) -> Callable[[], None]:
        """Calls a function with each update, first with the present state if there is one. Returns what ends that.

        In a program with an event loop the function is called there: in the loop that runs now, or in `loop`. Otherwise it is
        called in the store's thread, and must not block.
        """
        target = loop or running_loop()

        def call(update: Update) -> None:
            try:
                listener(update)
            except Exception:
                log.exception("a listener of feed %s failed", self.id)

        def deliver(update: Update) -> None:
            if target is None:
                call(update)
            else:
                try:
                    target.call_soon_threadsafe(call, update)
                except RuntimeError:
                    # The loop is closed.
                    self._remove(deliver)

        self._store._run(lambda: self._add(deliver))
        return lambda: self._store._run_if_open(lambda: self._remove(deliver))

    def write(self, events: Union[Event, Sequence[Event]], wait: float = 10) -> Write:
        """Writes one event or several, all of them or nothing. Views show the effect at once, as pending.

        The result says what became of it: `feed.write(event).result()`, or `await feed.write(event)`. `wait` is how many seconds
        the daemon waits for the outcome, at most 30; with 0 only for the brokers' confirmation. The writes of one feed are sent
        one after the other.
        """
        listed, text = events_of(events)
        if not 0 <= wait <= 30:
            raise ValueError(f"wait is {wait}; expected 0 to 30 seconds")
        write = PendingWrite(listed, text, wait)
        self._store._run(lambda: self._store._writes_of(self.id).add(write))
        return write.handle

    def __iter__(self) -> Iterator[Update]:
        """Updates, one after the other. A slow iteration gets the newest state in place of the updates that it missed."""
        iteration = _Iteration(self)
        try:
            while True:
                update = iteration.next()
                if update is None:
                    return
                yield update
        finally:
            iteration.close()

    async def __aiter__(self) -> AsyncIterator[Update]:
        iteration = _Iteration(self, asyncio.get_running_loop())
        try:
            while True:
                update = iteration.next_if_any()
                if update is not None:
                    yield update
                elif iteration.has_ended:
                    return
                else:
                    await iteration.wait()
        finally:
            iteration.close()

    # In the engine's thread, from here on.

    def _add(self, listener: Listener) -> None:
        self._listeners.append(listener)
        if self._followed is None:
            self._followed = self._store._join(self.id, self._window, self._take, self._view)
            self._adopt()
        elif self._followed.is_known or self._view.exists:
            listener(Update("state" if self._view.exists else "absent", self._view))

    def _remove(self, listener: Listener) -> None:
        if listener not in self._listeners:
            return
        self._listeners.remove(listener)
        if not self._listeners and self._followed is not None:
            self._store._leave(self._followed, self._take)
            self._followed = None

    def _show(self, window: Window) -> None:
        if window == self._window:
            return
        self._window = window
        former = self._followed
        if former is not None:
            self._followed = self._store._join(self.id, window, self._take, self._view, former.home)
            self._store._leave(former, self._take)
            self._adopt()

    def _adopt(self) -> None:
        """Takes over what is known of the window already."""
        followed = self._followed
        if followed is not None and followed.is_known:
            self._take(Update("state" if followed.view.exists else "absent", followed.view))

    def _take(self, update: Update) -> None:
        followed = self._followed
        if followed is not None and not followed.is_known and self._view.exists:
            # The view of the former window stays.
            update = Update("standing", dataclasses.replace(self._view, standing=update.view.standing))
        self._view = update.view
        for listener in list(self._listeners):
            listener(update)


class _Iteration:
    """The updates that an iteration has not taken yet."""

    def __init__(self, feed: Feed, loop: Optional[asyncio.AbstractEventLoop] = None):
        self._feed = feed
        self._updates: Deque[Update] = deque()
        self._changed = threading.Condition()
        self._loop, self._event = loop, asyncio.Event() if loop else None
        self.has_ended = False
        feed._store._run(self._begin)

    def _begin(self) -> None:
        self._feed._store._iterations.append(self)
        self._feed._add(self._put)

    def _put(self, update: Update) -> None:
        with self._changed:
            if len(self._updates) >= _MOST_UPDATES:
                kinds = {missed.kind for missed in self._updates}
                self._updates.clear()
                kind = "state" if update.view.exists else "absent" if "absent" in kinds else update.kind
                update = Update(kind, update.view)
            self._updates.append(update)
            self._changed.notify_all()
        self._wake()

    def end(self) -> None:
        with self._changed:
            self.has_ended = True
            self._changed.notify_all()
        self._wake()

    def _wake(self) -> None:
        if self._loop is not None and self._event is not None:
            try:
                self._loop.call_soon_threadsafe(self._event.set)
            except RuntimeError:
                # The loop is closed.
                pass

    def next(self) -> Optional[Update]:
        with self._changed:
            self._changed.wait_for(lambda: self._updates or self.has_ended)
            return self._updates.popleft() if self._updates else None

    def next_if_any(self) -> Optional[Update]:
        with self._changed:
            return self._updates.popleft() if self._updates else None

    async def wait(self) -> None:
        assert self._event is not None
        await self._event.wait()
        self._event.clear()

    def close(self) -> None:
        self._feed._store._run_if_open(self._close)

    def _close(self) -> None:
        self._feed._remove(self._put)
        self._feed._store._iterations.remove(self)
