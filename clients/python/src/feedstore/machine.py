"""What a store follows and writes, without input and output: each method is an input, and `effects` has the outputs.

Time is a value. Call `advance` before an input and `finish` after it, and `advance` again at `due`.
"""

import logging
import random
from collections import deque
from typing import Any, Callable, Deque, Dict, Hashable, List, Optional, Sequence, Tuple, Type

from .effects import Abort, Answer, Effect, Request, Show
from .event_stream import StreamEvent
from .followed import Followed, Place
from .model import LIVE, Item, Standing, Update, Window
from .stream import Stream
from .tokens import Tokens
from .writes import FeedWrites

log = logging.getLogger("feedstore")

MOST_ENTRIES = 256
_STANDINGS = ("live", "catching-up", "connecting", "stale")

Listener = Callable[[Update[Any]], None]


class Machine:
    def __init__(self, urls: Sequence[str], has_callback: bool = False, rng: Callable[[], float] = random.random):
        self.urls = tuple(dict.fromkeys(url.rstrip("/") for url in urls))
        #: From 0 to 1.
        self.random = rng
        #: Seconds of a clock that never jumps, and what to add for seconds since 1970.
        self.now, self._offset = 0.0, 0.0
        self.effects: Deque[Effect] = deque()
        self.tokens = Tokens(self, has_callback)
        self.streams: List[Stream] = []
        self._views: Dict[Tuple[str, Window, Type[Item[Any]]], Followed] = {}
        self.all_writes: Dict[str, FeedWrites] = {}
        self.requests: Dict[int, Callable[[Answer], None]] = {}
        self.timers: Dict[Hashable, Tuple[float, int, Callable[[], object]]] = {}
        self._requested = self._timed = self._named = 0
        #: How often the tokens were those of another person than before.
        self.persons = 0
        self._is_changed = False
        self._touched: Dict[Followed, None] = {}

    # Time.

    @property
    def wall(self) -> float:
        """Seconds since 1970."""
        return self.now + self._offset

    @property
    def due(self) -> Optional[float]:
        """When a timer is due."""
        return min((due for due, _, _ in self.timers.values()), default=None)

    def advance(self, now: float, offset: float = 0.0) -> None:
        """Goes on to a time. Timers that are due before run at theirs."""
        self._offset = offset
        while self.timers:
            key, (due, _, run) = min(self.timers.items(), key=lambda timer: timer[1][:2])
            if due > now:
                break
            del self.timers[key]
            self.now = max(self.now, due)
            run()
            self._update()
        self.now = max(self.now, now)

    def finish(self) -> None:
        """Ends a turn, in which there may have been several inputs."""
        self._update()
        self.advance(self.now, self._offset)

    def timer(self, key: Hashable, seconds: float, run: Callable[[], object]) -> None:
        self._timed += 1
        self.timers[key] = (round(self.now + seconds, 6), self._timed, run)

    def cancel(self, *keys: Hashable) -> None:
        for key in keys:
            self.timers.pop(key, None)

    # Calls of the program.

    def follow(
        self, feed: str, window: Window, item: Type[Item[Any]], listener: Listener, former: Optional[Followed] = None
    ) -> Followed:
        """Has a listener follow a feed. Until there is a state, it sees that of `former`."""
        followed = self._views.get((feed, window, item))
        if followed is None:
            self._named += 1
            followed = self._views[feed, window, item] = Followed(self, str(self._named), feed, window, item)
            self.touch(followed)
        if former is not None and former.persons == self.persons and not followed.is_known:
            followed.begin_with(former)
        followed.listeners.append(listener)
        self.change()
        return followed

    def leave(self, followed: Followed, listener: Listener) -> None:
        followed.listeners.remove(listener)
        if not followed.listeners:
            del self._views[followed.key]
            self._touched.pop(followed, None)
            for place in followed.places.values():
                place.stream.places.remove(place)
            followed.places = {}
            self.cancel(*(((name, followed)) for name in ("refetch", "moving", "pending")))
            self.writes(followed.feed).forget()
            self.change()

    def show(self, followed: Followed, window: Window, listener: Listener) -> Followed:
        """Has a listener follow another window."""
        if window == followed.window:
            return followed
        if len(followed.listeners) == 1 and (followed.feed, window, followed.item) not in self._views:
            followed.change_window(window)
            self._views = {one.key: one for one in self._views.values()}
            self.change()
            return followed
        is_there = (followed.feed, window, followed.item) in self._views
        other = self.follow(followed.feed, window, followed.item, listener, followed)
        self.leave(followed, listener)
        if is_there and other.is_known:
            self.effects.append(Show(listener, Update("state" if other.view.exists else "absent", other.view)))
        return other

    def token_arrived(self, token: Optional[str], fault: Optional[str] = None) -> None:
        """The callback has returned a token, or has failed."""
        self.tokens.arrived(token, fault)
        self.change()

    def set_token(self, token: Optional[str]) -> None:
        self.tokens.give(token)
        if token is not None:
            for stream in self.streams:
                stream.try_again()
        self.change()

    def reconnect(self) -> None:
        """Streams that wait are tried at once, and those that were silent for 20 s are opened again."""
        for stream in self.streams:
            stream.reconnect()

    @property
    def standing(self) -> Standing:
        """The worst of all followed feeds."""
        standings = [followed.view.standing for followed in self._views.values()]
        return max(standings, key=lambda standing: _STANDINGS.index(standing.name), default=LIVE)

    def close(self) -> None:
        for stream in self.streams:
            stream.close()
        for writes in list(self.all_writes.values()):
            writes.close("the store was closed")
        self.streams, self._views, self.timers, self._touched, self._is_changed = [], {}, {}, {}, False

    # Answers to requests.

    def opened(self, number: int) -> None:
        """The response is a stream."""
        for stream in self._with_request(number):
            stream.opened()

    def received(self, number: int, events: Sequence[StreamEvent], retry: Optional[float] = None) -> None:
        """Bytes of a stream have arrived, with the events that are complete."""
        for stream in self._with_request(number):
            stream.received(events, retry)

    def _with_request(self, number: int) -> List[Stream]:
        return [stream for stream in self.streams if stream.request == number]

    def answered(self, number: int, answer: Answer) -> None:
        """A request has ended."""
        take = self.requests.pop(number, None)
        self.cancel(("answer", number))
        if take is not None:
            take(answer)

    # For its parts.

    def request(
        self, method: str, url: str, take: Callable[[Answer], None], token: Optional[str], body: Optional[str] = None,
        wait: int = 0, limit: Optional[float] = None,
    ) -> int:
        self._requested += 1
        number = self._requested
        self.requests[number] = take
        self.effects.append(Request(number, method, url, token, body, wait))

        def give_up() -> None:
            self.effects.append(Abort(number))
            self.answered(number, Answer(detail=f"{url} has not answered for {limit:g} s"))

        if limit is not None:
            self.timer(("answer", number), limit, give_up)
        return number

    def abort(self, number: int) -> None:
        if self.requests.pop(number, None) is not None:
            self.effects.append(Abort(number))

    def change_person(self) -> None:
        """Forgets the former person's views and writes, and has new streams opened."""
        self.persons += 1
        for writes in list(self.all_writes.values()):
            writes.close("another person's token is in use")
        for followed in self._views.values():
            followed.forget()
        for stream in self.streams:
            stream.forget()
        self.change()

    def change(self) -> None:
        """Notes that streams may have to follow something else."""
        self._is_changed = True

    def touch(self, followed: Followed) -> None:
        """Notes that the standing may have changed."""
        self._touched[followed] = None

    def writes(self, feed: str) -> FeedWrites:
        writes = self.all_writes.get(feed)
        if writes is None:
            writes = self.all_writes[feed] = FeedWrites(self, feed)
        return writes

    def views_of(self, feed: str) -> List[Followed]:
        return [followed for followed in self._views.values() if followed.feed == feed]

    def _update(self) -> None:
        while self._is_changed or self._touched:
            if self._is_changed:
                self._is_changed = False
                self._place()
            touched, self._touched = self._touched, {}
            for followed in touched:
                followed.update_standing()

    def _place(self) -> None:
        """Puts each view onto one stream of each instance that is to be asked for it, and nowhere else."""
        for followed in self._views.values():
            urls = [followed.home.stream.url] if followed.home is not None else [*self.urls, *followed.named]
            for url, place in list(followed.places.items()):
                if url not in urls:
                    del followed.places[url]
                    place.stream.places.remove(place)
                    self.touch(followed)
            for url in urls:
                if url not in followed.places:
                    stream = self._free_stream(url)
                    place = followed.places[url] = Place(followed, stream)
                    stream.places.append(place)
                    self.touch(followed)
        for stream in self.streams:
            stream.update()
        self.streams = [stream for stream in self.streams if stream.places]

    def _free_stream(self, url: str) -> Stream:
        for stream in self.streams:
            if stream.url == url and len(stream.places) < MOST_ENTRIES:
                return stream
        self.streams.append(Stream(self, url))
        return self.streams[-1]
