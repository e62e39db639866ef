"""The feeds that a program shows."""

import asyncio
import contextlib
import logging
import math
import ssl
import threading
import time
from collections import deque
from typing import (
    Any, AsyncIterator, Awaitable, Callable, Deque, Dict, Generic, Iterator, List, Mapping, Optional, Sequence, Type, TypeVar, Union,
    overload,
)

from .apply import changes
from .effects import Abort, Answer, Effect, Request, Show
from .engine import Engine, resolved, running_loop
from .errors import FeedStoreError
from .event_stream import StreamEvent
from .followed import Followed
from .machine import Machine
from .model import CONNECTING, WHOLE, D, FeedView, Item, Section, Standing, Update, Window, Written, item_type
from .transport import Exchange, check_url
from .writes import Event, PendingWrite, Write, events_of

log = logging.getLogger("feedstore")

Token = Union[str, Callable[[], Union[Optional[str], Awaitable[Optional[str]]]]]
_T = TypeVar("_T")

# The updates that an iteration may be behind, before it gets the newest state in their place.
_MOST_UPDATES = 16


class FeedStore:
    """The feeds of a daemon, or of several instances. All feeds share one stream.

    `token` is the bearer token, or a function that returns it, also an `async` one: it is called for each connection, and
    when a token was refused or is about to end (`exp` of a JSON Web Token). `ssl_context` is for authorities of your own
    and for client certificates.

    It works in a thread of its own. Views are values: every thread may use them.
    """

    def __init__(
        self, urls: Union[str, Sequence[str]], token: Optional[Token] = None, *,
        ssl_context: Optional[ssl.SSLContext] = None,
    ):
        listed = list(dict.fromkeys(map(check_url, [urls] if isinstance(urls, str) else urls)))
        if not listed:
            raise ValueError("a store needs the URL of a daemon, such as http://127.0.0.1:8321")
        self._token, self._loop = token, running_loop()
        is_encrypted = any(url.startswith("https:") for url in listed)
        self._ssl_context = ssl.create_default_context() if ssl_context is None and is_encrypted else ssl_context
        self._machine = Machine(listed, token is not None)
        self._engine = Engine()
        self._is_closed = self._is_performing = False
        self._timer: Optional[asyncio.TimerHandle] = None
        self._exchanges: Dict[int, Exchange] = {}
        self._iterations: List["_Iteration[Any]"] = []

    @overload
    def feed(self, feed: str, window: Window = WHOLE) -> "Feed[Any]": ...

    @overload
    def feed(self, feed: str, window: Window = WHOLE, *, data: Type[D]) -> "Feed[D]": ...

    @overload
    def feed(self, feed: str, window: Window = WHOLE, *, data: Callable[[Any], D]) -> "Feed[D]": ...

    def feed(self, feed: str, window: Window = WHOLE, *, data: Any = None) -> "Feed[Any]":
        """A feed, or a window of it. It is followed while there is a listener; equal windows are followed once.

        `data` is the type of the items' data: a `TypedDict`, which is not checked, or a function that makes a value from
        the data, and whose errors `item.data` raises.
        """
        if not isinstance(feed, str) or not 1 <= len(feed.encode()) <= 255:
            raise ValueError(f"{feed!r} is not the id of a feed; expected a string of 1 to 255 bytes")
        return Feed(self, feed, _checked(window), item_type(data))

    @property
    def standing(self) -> Standing:
        """The worst standing of all followed feeds; `live` if there are none."""
        return self._run(lambda: self._machine.standing)

    def set_token(self, token: Optional[str]) -> None:
        """Uses this token from now on, also on open streams. With None the function is asked with the next request."""
        self._run(lambda: self._machine.set_token(None if token is None else _header_value(token)))

    def reconnect(self) -> None:
        """Tries lost connections at once, for example because the network is there again."""
        self._run(self._machine.reconnect)

    def close(self) -> None:
        """Ends everything: the connections, the iterations and the subscriptions."""
        with contextlib.suppress(FeedStoreError):
            self._run(self._close)
        self._engine.stop()

    def __enter__(self) -> "FeedStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> "FeedStore":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _run(self, function: Callable[[], _T]) -> _T:
        """Has the machine take an input, and waits until it has."""
        def run() -> _T:
            if self._is_closed:
                raise FeedStoreError("the store is closed")
            return self._turn(function)

        return self._engine.run(run)

    # In the engine's thread, from here on.

    def _turn(self, function: Callable[[], _T]) -> _T:
        if self._is_performing:
            # A listener's input: its effects come after those that are performed.
            try:
                return function()
            finally:
                self._machine.finish()
        self._is_performing = True
        try:
            self._machine.advance(self._engine.loop.time(), time.time() - self._engine.loop.time())
            return function()
        finally:
            self._machine.finish()
            try:
                while self._machine.effects:
                    self._perform(self._machine.effects.popleft())
            finally:
                self._is_performing = False
                self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = None if self._is_closed else self._machine.due
        self._timer = None if due is None else self._engine.loop.call_at(due, self._turn, lambda: None)

    def _perform(self, effect: Effect) -> None:
        if isinstance(effect, Show):
            effect.listener(effect.update)
        elif isinstance(effect, Request):
            self._send(effect)
        elif isinstance(effect, Abort):
            exchange = self._exchanges.pop(effect.number, None)
            if exchange is not None:
                exchange.close()
        else:
            threading.Thread(target=self._ask_token, name="feedstore token", daemon=True).start()

    def _send(self, request: Request) -> None:
        number = request.number

        def events(events: List[StreamEvent], retry: Optional[float]) -> None:
            try:
                self._machine.received(number, events, retry)
            finally:
                exchange.taken()

        def end(answer: Answer) -> None:
            self._exchanges.pop(number, None)
            self._machine.answered(number, answer)

        def post(function: Callable[[], None]) -> None:
            self._engine.post(self._turn, function)

        exchange = self._exchanges[number] = Exchange(
            request, self._ssl_context, lambda: post(lambda: self._machine.opened(number)),
            lambda found, retry: post(lambda: events(found, retry)), lambda answer: post(lambda: end(answer)))

    def _ask_token(self) -> None:
        """Calls the program's function, in a thread of its own."""
        asked, token, fault = self._token, None, None
        try:
            token = resolved(asked() if callable(asked) else asked, self._loop)
        except Exception as error:
            # It is a program's own function: whatever it raises, the next attempt asks it again.
            fault = f"the token's function failed: {error!r}"
        try:
            token = None if token is None else _header_value(str(token))
        except ValueError as error:
            token, fault = None, str(error)
        self._engine.post(self._turn, lambda: self._machine.token_arrived(token, fault))

    def _close(self) -> None:
        self._machine.close()
        self._is_closed = True
        for iteration in list(self._iterations):
            iteration.end()


class Feed(Generic[D]):
    """A feed, or a window of it: `for update in feed`, `async for update in feed`, or `feed.subscribe(listener)`."""

    def __init__(self, store: FeedStore, feed: str, window: Window, item: Type[Item[Any]]):
        self.id = feed
        self._store = store
        self._window, self._item = window, item
        self._nothing: FeedView[D] = FeedView(feed, CONNECTING)
        #: The followed feed, also after the last listener has left.
        self._followed: Optional[Followed] = None
        self._listeners: List[Callable[[Update[D]], None]] = []

    @property
    def window(self) -> Window:
        """What is shown; `WHOLE` for the whole feed."""
        return self._window

    @property
    def view(self) -> FeedView[D]:
        """The newest view. It is the same object until something changes."""
        followed = self._followed
        # Without listeners nothing updates the view, so a view of another person must be hidden here.
        return followed.view if followed is not None and followed.persons == self._store._machine.persons else self._nothing

    def show(self, window: Window = WHOLE) -> None:
        """Changes the window. Until the state of the new one arrives, the view stays."""
        self._store._run(lambda: self._show(_checked(window)))

    def subscribe(
        self, listener: Callable[[Update[D]], None], *, loop: Optional[asyncio.AbstractEventLoop] = None
    ) -> Callable[[], None]:
        """Calls a function with each update, first with the present state if there is one. Returns what ends that.

        In a program with an event loop the function is called there: in the loop that runs now, or in `loop`. Otherwise it
        is called in the store's thread, and must not block.
        """
        target = loop or running_loop()

        def call(update: Update[D]) -> None:
            try:
                listener(update)
            except Exception:
                log.exception("a listener of feed %s failed", self.id)

        def deliver(update: Update[D]) -> None:
            if target is None:
                call(update)
            else:
                try:
                    target.call_soon_threadsafe(call, update)
                except RuntimeError:
                    # The loop is closed.
                    self._store._run(lambda: self._remove(deliver))

        self._store._run(lambda: self._add(deliver))

        def end() -> None:
            with contextlib.suppress(FeedStoreError):
                self._store._run(lambda: self._remove(deliver))

        return end

    def write(
        self,
        events: Union[Event, Sequence[Event]],
        wait: float = 10,
        *,
        coalesce: Optional[str] = None,
        if_: Optional[Mapping[str, Any]] = None,
    ) -> Write[Written]:
        """Writes one event or several, all of them or nothing. Views show the effect at once, as pending.

        The result is the outcome: `feed.write(event).result()`, or `await feed.write(event)`. `wait` is how many seconds the
        daemon waits for it, at most 30; with 0 only for the brokers' confirmation. The writes of one feed keep their order.
        A write replaces one with the same `coalesce` key that has not been sent yet. `if_` must hold before it, such as
        `{"revision": 7}`; otherwise `WriteRejected` has the code `condition-failed`, and its text says what is there.
        """
        if if_ is not None:
            first, *rest = ([events] if isinstance(events, Mapping) else events) or [{}]
            events = [{**first, "if": if_}, *rest]
        write: Write[Written] = self._write(events, wait, coalesce)
        return write

    def apply(
        self, sections: Sequence[Union[Section[D], Mapping[str, Any]]], wait: float = 10
    ) -> Write[Optional[Written]]:
        """Makes the feed what `sections` says, from what is shown now, with the fewest moves. Views show it at once.

        Sections and items are those of views, or mappings as in `feed.replace`; fields that these omit stay as they are.
        The result is None if there is nothing to do.
        """
        if self._window != WHOLE:
            raise FeedStoreError(f"feed {self.id} is shown in a window; apply needs the whole feed: store.feed({self.id!r})")
        view = self.view
        if not self._listeners or not view.exists or view.standing.name == "stale":
            standing = view.standing.name if self._listeners else "not followed"
            raise FeedStoreError(f"feed {self.id} is {standing}; subscribe to it, and wait until it is live")
        events = changes(view.sections, sections)
        if events:
            return self._write(events, wait, None)
        write: Write[Optional[Written]] = Write()
        write._end(None)
        return write

    def _write(self, events: Union[Event, Sequence[Event]], wait: float, coalesce: Optional[str]) -> Write[Any]:
        listed, text = events_of(events)
        if not 0 <= wait <= 30:
            raise ValueError(f"wait is {wait}; expected 0 to 30 seconds")
        write = PendingWrite(listed, text, math.ceil(wait), coalesce)
        # A write that replaces another one hands over its handles.
        handle = write.handles[0]
        self._store._run(lambda: self._store._machine.writes(self.id).add(write))
        return handle

    def __iter__(self) -> Iterator[Update[D]]:
        """Updates, one after the other. A slow iteration gets the newest state in place of those that it missed."""
        iteration = _Iteration(self)
        try:
            while True:
                update = iteration.next()
                if update is None:
                    return
                yield update
        finally:
            iteration.close()

    async def __aiter__(self) -> AsyncIterator[Update[D]]:
        iteration = _Iteration(self, asyncio.get_running_loop())
        try:
            while True:
                update = iteration.next(blocks=False)
                if update is not None:
                    yield update
                elif iteration.has_ended:
                    return
                else:
                    await iteration.wait()
        finally:
            iteration.close()

    # In the engine's thread, from here on.

    def _add(self, listener: Callable[[Update[D]], None]) -> None:
        self._listeners.append(listener)
        if len(self._listeners) == 1:
            self._followed = self._store._machine.follow(self.id, self._window, self._item, self._take, self._followed)
        followed = self._followed
        if followed is not None and followed.is_known:
            update = Update("state" if followed.view.exists else "absent", followed.view)
            self._store._machine.effects.append(Show(listener, update))

    def _remove(self, listener: Callable[[Update[D]], None]) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)
            if not self._listeners and self._followed is not None:
                self._store._machine.leave(self._followed, self._take)

    def _show(self, window: Window) -> None:
        self._window = window
        if self._listeners and self._followed is not None:
            self._followed = self._store._machine.show(self._followed, window, self._take)

    def _take(self, update: Update[D]) -> None:
        for listener in list(self._listeners):
            listener(update)


def _checked(window: Window) -> Window:
    if not isinstance(window, Window):
        raise TypeError(f"{window!r} is not a Window; write feedstore.Window(first=10)")
    return window


def _header_value(token: str) -> str:
    if not (token.isascii() and token.isprintable()):
        # The error of the library would show it.
        raise ValueError("the token has a character that no header can hold, such as a line break")
    return token


class _Iteration(Generic[D]):
    """The updates that an iteration has not taken yet."""

    def __init__(self, feed: Feed[D], loop: Optional[asyncio.AbstractEventLoop] = None):
        self._feed = feed
        self._updates: Deque[Update[D]] = deque()
        self._changed = threading.Condition()
        self._loop, self._event = loop, asyncio.Event() if loop else None
        self.has_ended = False
        feed._store._run(self._begin)

    def _begin(self) -> None:
        self._feed._store._iterations.append(self)
        self._feed._add(self._put)

    def _put(self, update: Update[D]) -> None:
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
            # The loop may be closed.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._event.set)

    def next(self, blocks: bool = True) -> Optional[Update[D]]:
        with self._changed:
            self._changed.wait_for(lambda: self._updates or self.has_ended or not blocks)
            return self._updates.popleft() if self._updates else None

    async def wait(self) -> None:
        assert self._event is not None
        await self._event.wait()
        self._event.clear()

    def close(self) -> None:
        with contextlib.suppress(FeedStoreError):
            self._feed._store._run(self._close)

    def _close(self) -> None:
        self._feed._remove(self._put)
        self._feed._store._iterations.remove(self)
