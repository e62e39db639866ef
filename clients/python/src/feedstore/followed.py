"""One feed and window that a store follows: its replica, its view, and where it is."""

import dataclasses
import logging
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple, Type

from .changesets import Changeset
from .effects import Show
from .errors import ReplicaFault
from .model import CATCHING_UP, CONNECTING, LIVE, Change, FeedView, Item, Section, Standing, Update, Window
from .optimistic import same, shown
from .replica import Head, Outcome, Replica

if TYPE_CHECKING:
    from .machine import Machine
    from .stream import Stream

log = logging.getLogger("feedstore")

_MOST_WAIT = 30.0
# How long a feed is not absent after an instance has lost it: the next one says for a while that there is none.
_MOVING_SECONDS = 30.0


class Followed:
    """A view, which the daemon knows by its name. All `Feed`s with the same id, window and type share it."""

    def __init__(self, machine: "Machine", name: str, feed: str, window: Window, item: Type[Item[Any]]):
        self._machine = machine
        self.name, self.feed, self.window, self.item = name, feed, window, item
        self.writes = machine.writes(feed)
        self.replica = Replica(feed, item)
        self.view: FeedView[Any] = FeedView(feed, CONNECTING)
        #: Called with each update.
        self.listeners: List[Callable[[Update[Any]], None]] = []
        #: By the URLs of instances, the streams that it is on.
        self.places: Dict[str, Place] = {}
        #: The place whose instance has the feed, and instances that others have named.
        self.home: Optional[Place] = None
        self.named: List[str] = []
        #: Why the daemon does not accept what is asked for, so that it is not asked again.
        self.fault: Optional[str] = None
        self.is_absent = False
        #: Whether nothing but a reload can come next, and why if a change was missed.
        self.expects_reload = True
        self._misfit: Optional[str] = None
        #: How often the feed was asked for again in a row, and how often in all.
        self._refetches = self._round = 0
        #: The published state, and the newest version that the daemon has named.
        self.confirmed: Tuple[Section[Any], ...] = ()
        self.head: Optional[Head] = None
        self.known: Optional[Tuple[str, int]] = None
        self.through: Mapping[str, int] = {}
        self._partition: Optional[int] = None
        self._lived = 0.0
        self._live_since: Optional[float] = None
        self.persons = machine.persons

    @property
    def key(self) -> Tuple[str, Window, Type[Item[Any]]]:
        return self.feed, self.window, self.item

    @property
    def is_known(self) -> bool:
        """Whether there is a state, or it is known that there is none."""
        return self.head is not None or self.is_absent

    @property
    def wanted(self) -> Tuple[Window, int]:
        """What a daemon is to be asked for."""
        return self.window, self._round

    def entry(self) -> Dict[str, Any]:
        head, version = self.replica.head, {}
        if head is not None and not self.expects_reload:
            version = {"epoch": head.epoch, "revision": head.revision}
        return {"feed": self.feed, "view": self.name, **self.window.request(), **version}

    # Calls of the program.

    def begin_with(self, former: "Followed") -> None:
        """Shows the state of another window until there is one of this window."""
        self.replica.begin_with(former.confirmed)
        self.confirmed, self.head = former.confirmed, former.head
        self.known, self.through = former.known, former.through
        self.view = dataclasses.replace(former.view, standing=self.view.standing)
        self.refresh()

    def change_window(self, window: Window) -> None:
        self.window, self.fault = window, None
        home = self.home
        if home is not None and home.changes == 0 and home.asked is not None and home.asked[0] == window:
            # Back again before the daemon was asked: it would send no state.
            self._round += 1
        self.expect_reload()
        self.refresh()
        self._machine.touch(self)

    def forget(self) -> None:
        """Shows nothing of a former person."""
        self.persons = self._machine.persons
        self.replica.remove()
        self.home = self.head = self.known = self._misfit = None
        self.confirmed, self.through, self.is_absent, self.expects_reload = (), {}, False, True
        self.refresh("state" if self.view.exists else "pending")
        self._machine.touch(self)

    # Messages of daemons.

    def begun(self) -> None:
        """A new stream was asked for it."""
        self._misfit = None
        self._machine.cancel(("refetch", self))

    def refuse(self, fault: str) -> None:
        self.fault = fault
        self._machine.touch(self)
        self._machine.change()

    def lost(self, place: "Place") -> None:
        """The stream has ended. Another instance may have the feed now."""
        if self.home is place and self._machine.urls != (place.stream.url,):
            self.home = None

    def set_home(self, place: "Place") -> None:
        """An instance has the feed; the others are not asked for it any more."""
        if self.home is None:
            self.home, self.named = place, []
            if len(self.places) > 1:
                self._machine.change()

    def leave(self, url: Any) -> None:
        """An instance does not have the feed, or not any more."""
        self._misfit = None
        # Otherwise another instance may have been asked with the version.
        if self.home is not None:
            self.home = None
            self.expect_reload()
            self._machine.change()
        url = url.rstrip("/") if isinstance(url, str) else ""
        if url and url not in self._machine.urls and url not in self.named:
            self.named.append(url)
            self._machine.change()
        if self._is_nowhere():
            if any(place.notice == "moved" for place in self.places.values()):
                self._machine.timer(("moving", self), _MOVING_SECONDS, self._has_moved)
            else:
                self._become_absent()

    def _has_moved(self) -> None:
        if self._is_nowhere():
            self._become_absent()

    def misfit(self, fault: str) -> None:
        """A changeset does not fit: the feed is asked for again, the more often in a row the later."""
        log.warning("feed %s does not continue (%s); asking for it again", self.feed, fault)
        self.expect_reload(f"a changeset does not fit: {fault}")
        if not ("refetch", self) in self._machine.timers:
            wait = min(2.0 ** (self._refetches - 1), _MOST_WAIT) if self._refetches else 0
            wait *= 1 + self._machine.random() / 4
            self._refetches = min(self._refetches + 1, 16)
            self._machine.timer(("refetch", self), wait, self._refetch)

    def _refetch(self) -> None:
        self._round += 1
        self._machine.change()

    def expect_reload(self, misfit: Optional[str] = None) -> None:
        self.replica.restart()
        self.expects_reload = True
        # The first reason counts.
        self._misfit = misfit and (self._misfit or misfit)

    def changeset(self, record: Changeset) -> None:
        try:
            outcome = self.replica.apply(record)
        except ReplicaFault as fault:
            outcome = Outcome("mismatch", fault=fault)
        if outcome.type == "applied":
            self._applied(outcome.change)
        elif outcome.type == "removed" or record.mode == "delete":
            self._become_absent()
        elif outcome.type in ("gap", "other-epoch", "mismatch"):
            self.misfit(str(outcome.fault or outcome.type))

    def _applied(self, change: Optional[Change]) -> None:
        head = self.replica.head
        assert head is not None and change is not None
        self.confirmed, self.head, self.known = self.replica.sections, head, (head.epoch, head.revision)
        self.through = {**self.through, **head.through}
        self.is_absent = False
        self.writes.advanced(self)
        if change.mode == "reload":
            self.expects_reload, self._misfit = False, None
            self._machine.cancel(("refetch", self))
        else:
            self._refetches = 0
        self.refresh("state" if change.mode == "reload" else "changed", change)

    def up_to_date(self, place: "Place", value: Dict[str, Any]) -> None:
        if type(value.get("partition")) is int and self._partition != value["partition"]:
            self._partition = value["partition"]
            self._set_view(dataclasses.replace(self.view, partition=self._partition))
        place.is_up_to_date = True
        self._name_version(value)

    def totals(self, value: Dict[str, Any]) -> None:
        try:
            self.replica.note_window(value.get("window"))
            self.confirmed = self.replica.sections
        except ReplicaFault as fault:
            log.warning("feed %s: %s", self.feed, fault)
        self._name_version(value)

    def _name_version(self, value: Dict[str, Any]) -> None:
        if not self.expects_reload:
            if "epoch" in value:
                self.known = (value["epoch"], value["revision"])
            self.refresh()

    def _become_absent(self) -> None:
        self.replica.remove()
        self.expects_reload, self._misfit = True, None
        self._machine.cancel(("refetch", self))
        if not self.is_absent:
            self.is_absent = True
            self.confirmed, self.head, self.known = (), None, None
            self._machine.touch(self)
            self.refresh("absent")

    def _is_nowhere(self) -> bool:
        """Whether all instances have said that they do not have the feed."""
        notices = [place.notice for place in self.places.values()]
        return len(notices) >= len(self._machine.urls) and "absent" in notices and {*notices} <= {"absent", "moved"}

    # What is shown.

    @property
    def live_seconds(self) -> float:
        return self._lived + (0 if self._live_since is None else self._machine.now - self._live_since)

    def _standing(self) -> Standing:
        home = self.home
        if self.fault is not None:
            return Standing("stale", "bad-request", self.fault)
        if home is not None and home.is_served:
            if self._misfit is not None:
                return Standing("stale", "must-refetch", self._misfit)
            return LIVE if home.is_up_to_date and home.changes == 0 and home.asked == self.wanted else CATCHING_UP
        places = list(self.places.values())
        if self.is_absent and self._is_nowhere():
            return LIVE
        if any(place.is_served for place in places):
            return CATCHING_UP
        for notice in ("moved", "forbidden"):
            for place in places:
                if place.notice == notice:
                    return Standing("stale", notice, place.detail)
        return next((place.stream.trouble for place in places if place.stream.trouble is not None), CONNECTING)

    def update_standing(self) -> None:
        standing = self._standing()
        if standing != self.view.standing:
            was_live = self.view.standing == LIVE
            self._set_view(dataclasses.replace(self.view, standing=standing))
            self._emit("standing")
            if was_live != (standing == LIVE):
                self.refresh()

    def _set_view(self, view: FeedView[Any]) -> None:
        if (view.standing == LIVE) != (self._live_since is not None):
            self._lived = self.live_seconds
            self._live_since = self._machine.now if view.standing == LIVE else None
        self.view = view

    def refresh(self, kind: str = "pending", change: Optional[Change] = None) -> None:
        """Makes what is shown: the published state with the writes that it does not include."""
        head, former, pending = self.head, self.view, self.writes.shown(self)
        if head is not None:
            sections = self.confirmed
            if pending:
                sections = shown(sections, self.window, [write.events for write in pending], former.sections, self.item)
            is_pending = any(section.is_pending for section in sections)
            if kind == "changed" and (is_pending or former.is_pending):
                kind, change = "pending", None
            is_same = former.exists and former.revision == head.revision and same(sections, former.sections)
            if kind == "pending" and not is_same and not (is_pending or former.is_pending):
                # The positions of a window.
                kind = "standing"
            if kind not in ("pending", "standing") or not is_same:
                self._set_view(FeedView(
                    self.feed, self._standing(), True, head.epoch, head.revision, head.time, head.checksum, head.through,
                    sections, is_pending, self._partition,
                ))
                self._emit(kind, change if kind == "changed" else None)
        elif kind in ("absent", "state"):
            self._set_view(FeedView(self.feed, self._standing(), partition=self._partition))
            self._emit(kind)
        self.writes.forget_later(self)

    def _emit(self, kind: str, change: Optional[Change] = None) -> None:
        update = Update(kind, self.view, change)
        self._machine.effects.extend(Show(listener, update) for listener in self.listeners)


class Place:
    """A view on a stream."""

    def __init__(self, followed: Followed, stream: "Stream"):
        self.followed, self.stream = followed, stream
        self.reset()

    def reset(self) -> None:
        #: The window and round that the daemon was asked for, and how many `must-refetch` come because of changes of that.
        self.asked: Optional[Tuple[Window, int]] = None
        self.changes = 0
        #: `absent`, `moved` or `forbidden`, if the daemon has said that.
        self.notice: Optional[str] = None
        self.detail: Optional[str] = None
        self.is_up_to_date = False

    @property
    def is_served(self) -> bool:
        return self.stream.is_open and self.notice is None

    def ask(self, is_change: Optional[bool] = None) -> Dict[str, Any]:
        """Notes that the daemon is asked; by a new stream unless it says whether that is a change of one."""
        self.asked = self.followed.wanted
        if is_change is None:
            self.followed.begun()
        elif is_change:
            self.changes += 1
        self.followed._machine.touch(self.followed)
        return self.followed.entry()

    def _is_current(self) -> bool:
        """Whether messages are of what was asked for last, and not of an instance that is not the feed's any more."""
        return self.changes == 0 and self.asked == self.followed.wanted and self.followed.home in (None, self)

    def message(self, record: Changeset) -> None:
        followed = self.followed
        # Until a reload, everything else is of a state that there is not.
        is_other = followed.is_absent if record.mode == "delete" else followed.expects_reload and record.mode != "reload"
        if self._is_current() and not is_other:
            self._served()
            followed.changeset(record)

    def _served(self) -> None:
        self.followed.set_home(self)
        self.notice = None

    def event(self, name: str, value: Dict[str, Any]) -> None:
        followed = self.followed
        if name == "forbidden":
            self.changes, self.is_up_to_date = 0, False
            self.notice, self.detail = "forbidden", str(value.get("reason", ""))
        elif name == "must-refetch" and self.changes > 0:
            self.changes -= 1
            self.notice, self.is_up_to_date = None, False
        elif not self._is_current():
            return
        elif name in ("absent", "moved"):
            url = value.get("url")
            self.notice, self.is_up_to_date = name, False
            self.detail = f"it is at {url}" if url else "another instance has it"
            followed.leave(url)
        elif name == "must-refetch":
            self.is_up_to_date = False
            # Another instance may have been asked with the version.
            if followed.home is self:
                followed.expect_reload(str(value.get("reason", "")))
        elif name == "up-to-date" and not (followed.expects_reload and "partition" in value):
            self._served()
            followed.up_to_date(self, value)
        elif name == "window" and not followed.expects_reload:
            self._served()
            followed.totals(value)
        elif name == "other-partitions":
            log.warning("feed %s is in several partitions, a mistake of its producers: %s", followed.feed, value)
