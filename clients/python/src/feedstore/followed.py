"""One feed and window that a store follows: its replica, its view, and where it is."""

import dataclasses
import json
import logging
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from .changesets import changeset
from .errors import ReplicaFault
from .model import CATCHING_UP, CONNECTING, LIVE, Change, FeedView, Section, Standing, Update, Window
from .optimistic import same, shown
from .replica import Outcome, Replica
from .writes import FeedWrites

log = logging.getLogger("feedstore")


class Followed:
    """What several `Feed`s of one program show, if they have the same id and window."""

    def __init__(self, feed: str, window: Window, urls: Tuple[str, ...], writes: FeedWrites):
        self.feed = feed
        self.window = window
        self.writes = writes
        self.replica = Replica(feed)
        self.view = FeedView(feed, CONNECTING)
        #: Called with each update.
        self.listeners: List[Callable[[Update], None]] = []
        #: Whether the daemon does not accept what is asked for, so that it is not asked again.
        self.is_refused = False
        #: Whether nothing but a reload can come next.
        self.expects_reload = True
        #: How often the feed was asked for again in a row.
        self.refetches = 0
        #: Whether there is a state, or it is known that there is none.
        self.is_known = False
        self._partition: Optional[int] = None
        self._urls = urls
        #: The instance that has the feed, and where another one said that it is.
        self.home: Optional[str] = None
        self._directed: Optional[str] = None
        self._absent_at: Set[str] = set()
        self._troubles: Dict[str, Standing] = {}

    @property
    def targets(self) -> Tuple[str, ...]:
        """The instances to ask."""
        if self.is_refused:
            return ()
        only = self.home or self._directed
        return self._urls if only is None else (only,)

    def request(self, with_version: bool) -> Dict[str, Any]:
        """What to ask a daemon for."""
        head = self.replica.head
        members: Dict[str, Any] = {"feed": self.feed, **self.window.request()}
        if with_version and head is not None and not self.replica.is_stale:
            members.update(epoch=head.epoch, revision=head.revision)
        else:
            self.replica.restart()
            self.expects_reload = True
        return members

    # What an instance sends.

    def message(self, url: str, text: str) -> bool:
        """Takes a changeset; returns whether the feed must be asked for again."""
        if self.home not in (None, url):
            return False
        try:
            record = changeset(text)
            if self.expects_reload and record.mode == "reload" and not self.window.fits(record.window):
                # On its way since another window was asked for.
                return False
            outcome = self.replica.apply(record)
        except (ReplicaFault, KeyError, TypeError) as fault:
            outcome = Outcome("mismatch", fault=ReplicaFault("invalid-changeset", str(fault)))
        if outcome.type in ("applied", "waiting", "skipped"):
            self._settle(url)
        if outcome.type == "applied":
            assert outcome.change is not None
            self.expects_reload = False
            self.is_known = True
            is_reload = outcome.change.mode == "reload"
            self.refetches = self.refetches if is_reload else 0
            self._standing = LIVE if self._standing == LIVE and not is_reload else CATCHING_UP
            self._show("state" if is_reload else "changed", outcome.change)
        elif outcome.type == "removed" or (outcome.type == "skipped" and record.mode == "delete"):
            self._leave(url)
            self._become_absent()
        elif outcome.type in ("gap", "other-epoch", "mismatch") and not (self.expects_reload and outcome.type == "gap"):
            log.warning("feed %s does not continue (%s); asking for it again", self.feed, outcome.fault or outcome.type)
            return True
        return False

    def event(self, url: str, name: str, value: Dict[str, Any]) -> None:
        """Takes any other event of the feed."""
        if self.home not in (None, url):
            return
        if name == "up-to-date":
            self._settle(url)
            if type(value.get("partition")) is int:
                self._partition = value["partition"]
                if self.view.exists and self.view.partition != self._partition:
                    self.view = dataclasses.replace(self.view, partition=self._partition)
            if not self.expects_reload or "partition" not in value:
                self.set_standing(LIVE)
        elif name == "window" and not self.expects_reload:
            try:
                self.replica.note_window(value.get("window"))
            except ReplicaFault as fault:
                log.warning("feed %s: %s", self.feed, fault)
            self._show("standing")
        elif name == "must-refetch":
            self.must_refetch(str(value.get("reason", "")))
        elif name == "absent":
            self._leave(url)
            self._absent_at.add(url)
            if self._absent_at.issuperset(self.targets):
                if self._directed is None:
                    self._become_absent()
                self._directed = None
            elif self.is_known:
                self.set_standing(CATCHING_UP)
        elif name == "moved":
            self._leave(url)
            self._absent_at.add(url)
            to = value.get("url")
            if isinstance(to, str) and to.rstrip("/") != url:
                self._directed = to.rstrip("/")
            self.replica.restart()
            self.expects_reload = True
            if self.is_known or self._absent_at.issuperset(self.targets):
                self.set_standing(Standing("stale", "moved", f"it is at {to}" if to else "another instance has it"))
        elif name == "forbidden":
            reason = str(value.get("reason", ""))
            self.trouble(url, Standing("stale", "forbidden", reason))
            if reason == "not-allowed":
                self.replica.restart()
                self.expects_reload = True
        elif name == "other-partitions":
            log.warning("feed %s is in several partitions, a mistake of its producers: %s", self.feed, json.dumps(value))

    def must_refetch(self, detail: str) -> None:
        self.replica.restart()
        self.expects_reload = True
        if self.is_known:
            self.set_standing(Standing("stale", "must-refetch", detail))

    def asked(self, url: str) -> None:
        """What an instance has said before does not count any more."""
        self._absent_at.discard(url)

    def opened(self, url: str) -> None:
        """An instance answers."""
        self._troubles.pop(url, None)
        self._absent_at.discard(url)
        if self.home in (None, url):
            self.set_standing(CATCHING_UP if self.is_known else CONNECTING)

    def trouble(self, url: str, standing: Standing) -> None:
        """An instance does not answer, or not with the feed. Afterwards all others are asked."""
        if self.home not in (None, url):
            return
        was_home = self.home == url
        self._leave(url)
        self._directed = None
        self._troubles[url] = standing
        others = set(self.targets) - {url}
        if was_home or others <= self._troubles.keys() | self._absent_at:
            self.set_standing(standing)

    def refuse(self, detail: str) -> None:
        self.is_refused = True
        self.set_standing(Standing("stale", "bad-request", detail))

    def _settle(self, url: str) -> None:
        self.home = url
        self._directed = None
        self._absent_at.clear()
        self._troubles.clear()

    def _leave(self, url: str) -> None:
        if self.home == url:
            self.home = None
            # With one instance there is no other to ask.
            self._absent_at.clear()

    def _become_absent(self) -> None:
        was_absent = self.is_known and not self.view.exists
        self.replica.remove()
        self.is_known = self.expects_reload = True
        self._standing = LIVE
        self._show("standing" if was_absent else "absent")

    # What is shown.

    @property
    def _standing(self) -> Standing:
        return self.view.standing

    @_standing.setter
    def _standing(self, standing: Standing) -> None:
        if standing != self.view.standing:
            self.view = dataclasses.replace(self.view, standing=standing)

    def set_standing(self, standing: Standing) -> None:
        if standing != self.view.standing:
            self._standing = standing
            self._emit(Update("standing", self.view))

    def show_writes(self) -> None:
        """The pending writes have changed."""
        if self.view.exists:
            self._show("pending")

    def _show(self, kind: str, change: Optional[Change] = None) -> None:
        head, replica, former = self.replica.head, self.replica, self.view
        if head is None:
            if kind == "pending":
                return
            if kind == "absent" or not former.exists:
                self.view = FeedView(self.feed, self._standing, partition=self._partition)
        else:
            pending = self.writes.pending(self)
            sections: Tuple[Section, ...] = replica.sections
            if pending:
                sections = shown(sections, self.window, [write.events for write in pending], former.sections)
            is_pending = any(section.is_pending for section in sections)
            if kind == "changed" and (is_pending or former.is_pending):
                kind, change = "pending", None
            elif kind == "pending" and former.revision == head.revision and same(sections, former.sections):
                return
            self.view = FeedView(
                self.feed, self._standing, True, head.epoch, head.revision, head.time, head.checksum, head.through, sections,
                is_pending, self._partition,
            )
        self._emit(Update(kind, self.view, change if kind == "changed" else None))
        if kind in ("changed", "pending", "state", "absent"):
            self.writes.forget_covered()

    def _emit(self, update: Update) -> None:
        for listener in list(self.listeners):
            listener(update)
