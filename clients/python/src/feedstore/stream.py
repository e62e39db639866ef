"""A stream of many views at one instance."""

import dataclasses
import json
import logging
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

from .changesets import Changeset, changeset
from .effects import Answer
from .errors import ReplicaFault
from .event_stream import StreamEvent
from .followed import Place
from .model import Standing
from .tokens import Then

if TYPE_CHECKING:
    from .machine import Machine

log = logging.getLogger("feedstore")

MOST_WAIT = 30.0
_FIRST_WAIT = 3.0
_MOST_AFTER = 300.0
# An attempt without a response, a stream without a byte, and a stream that `reconnect` does not trust.
_LATE_SECONDS = 10.0
_SILENCE_SECONDS = 60.0
_IDLE_SECONDS = 20.0
_ANSWER_SECONDS = 30.0
# A stream that had events for so long is opened again at once, after a random part of `_AT_ONCE_SECONDS`.
_STEADY_SECONDS = 5.0
_AT_ONCE_SECONDS = 0.05
# The least spread above `Retry-After`.
_LEAST_SPREAD_SECONDS = 1.5


class Stream:
    def __init__(self, machine: "Machine", url: str):
        self._machine, self.url = machine, url
        #: The wanted places.
        self.places: List[Place] = []
        #: `idle`, `asking` (for a token), `connecting`, `open` or `waiting`.
        self._phase = "idle"
        #: The number of its request.
        self.request: Optional[int] = None
        #: The standing of its views while it is not open.
        self.trouble: Optional[Standing] = None
        self._name: Optional[str] = None
        #: The places that the daemon was asked to follow, by the names of views.
        self._sent: Dict[str, Place] = {}
        #: When the first event of the connection arrived, and when the last byte did.
        self._since: Optional[float] = None
        self._heard = 0.0
        self._failures, self._retry, self._attempt = 0, _FIRST_WAIT, 0
        self._token: Optional[str] = None
        self._is_patching = self._was_refused = False

    @property
    def is_open(self) -> bool:
        return self._phase == "open"

    def update(self) -> None:
        """Does what `places` need."""
        if not self._wanted():
            self.close()
        elif self._phase == "idle":
            self._connect()
        else:
            self._patch()

    def close(self) -> None:
        if self.request is not None:
            self._machine.abort(self.request)
        self._machine.cancel(*((name, self) for name in ("late", "silence", "wait")))
        self._phase, self.request, self._name, self._since = "idle", None, None, None
        self._is_patching, self._sent = False, {}
        for place in self.places:
            place.reset()
        self._touch()

    def forget(self) -> None:
        if self._phase != "asking":
            self.close()
            self.trouble = None

    def try_again(self, is_first: bool = False) -> None:
        if self._phase == "waiting":
            self._failures = 0 if is_first else self._failures
            self._connect()

    def reconnect(self) -> None:
        self.try_again(is_first=True)
        if self.is_open and self._machine.now - self._heard >= _IDLE_SECONDS:
            self._fail(self._silent(_IDLE_SECONDS), is_at_once=True)

    def _wanted(self) -> List[Place]:
        return [place for place in self.places if place.followed.fault is None]

    def _touch(self) -> None:
        for place in self.places:
            self._machine.touch(place.followed)

    # The connection.

    def _connect(self, then: Optional[Then] = None) -> None:
        self.close()
        self._phase = "asking"
        self._attempt += 1
        attempt = self._attempt
        self._machine.timer(("late", self), _LATE_SECONDS, self._late)
        self._listen()
        tokens = self._machine.tokens
        tokens.get(then or self._open, lambda: (self._phase, self._attempt) == ("asking", attempt), is_stream=True)

    def _open(self, token: Optional[str], fault: Optional[str]) -> None:
        if fault is not None:
            self._fail(Standing("stale", "token-needed", fault))
            return
        self._phase, self._token = "connecting", token
        places = self._wanted()
        self._sent = {place.followed.name: place for place in places}
        body = json.dumps({"feeds": [place.ask() for place in places]})
        url = f"{self.url}/v1/streams"
        self.request = self._machine.request("POST", url, lambda answer: self._ended(answer, places), token, body)

    def _late(self) -> None:
        is_asking = self._phase == "asking"
        reason, who = ("token-needed", "the token's callback") if is_asking else ("disconnected", self.url)
        self.trouble = Standing("stale", reason, f"{who} has not answered for {_LATE_SECONDS:g} s")
        self._touch()

    def _listen(self) -> None:
        self._heard = self._machine.now
        self._machine.timer(("silence", self), _SILENCE_SECONDS, lambda: self._fail(self._silent(_SILENCE_SECONDS)))

    def _silent(self, seconds: float) -> Standing:
        return Standing("stale", "disconnected", f"{self.url} was silent for {seconds:g} s")

    def opened(self) -> None:
        self._machine.cancel(("late", self))
        self._phase, self.trouble = "open", None
        self._machine.tokens.accept(self._token)
        self._listen()
        self._touch()

    def _ended(self, answer: Answer, places: List[Place]) -> None:
        tokens = self._machine.tokens
        self.request = None
        if answer.status == 401:
            is_early = tokens.is_early(self._token, answer)
            if tokens.refuse(self._token, answer) and tokens.in_use is not None:
                self._connect()
                return
            if tokens.has_callback and not is_early and self._failures == 0 and not self._was_refused:
                self._ask_again(answer)
                return
        elif answer.status == 400 and self._refuse_entry(answer, "feeds", places):
            self.close()
            return
        elif answer.status is not None:
            tokens.accept(self._token)
        self._fail(_trouble(answer), answer.after)

    def _ask_again(self, answer: Answer) -> None:
        """Another token may be there already."""
        former, self._was_refused = (self._token, None), True
        self._connect(lambda token, fault: self._open(token, fault or (answer.problem if token in former else None)))

    def _refuse_entry(self, answer: Answer, name: str, places: List[Place]) -> bool:
        """Leaves out the entry for which a request was refused; returns whether there is one."""
        member = str(answer.value.get("member", ""))
        for index, place in enumerate(places):
            if member.startswith(f"{name}[{index}]"):
                place.followed.refuse(answer.problem)
                return True
        return False

    def _fail(self, trouble: Standing, after: float = 0, is_at_once: bool = False) -> None:
        """The stream has ended, or did not begin: it is opened again, at once if it lasted, or after a wait."""
        now = self._machine.now
        is_steady = self._since is not None and now - self._since >= _STEADY_SECONDS
        self.close()
        wait = after = min(after, _MOST_AFTER)
        if not is_steady and not is_at_once:
            wait = max(min(self._retry * 2**self._failures, MOST_WAIT), after)
            self._failures = min(self._failures + 1, 16)
        # Every wait has a random part, so that clients do not all come back at once.
        wait += self._machine.random() * max(wait / 4, _LEAST_SPREAD_SECONDS if after > 0 else 0, _AT_ONCE_SECONDS)
        self._phase, self._was_refused = "waiting", False
        self.trouble = Standing(trouble.name, trouble.reason, trouble.detail, self._machine.wall + wait)
        self._machine.timer(("wait", self), wait, self._connect)
        for place in self.places:
            place.followed.lost(place)
        self._machine.change()

    # Changes of the open stream.

    def _patch(self) -> None:
        """Has the daemon follow what is wanted, with one request at a time."""
        if not self.is_open or self._name is None or self._is_patching:
            return
        wanted, tokens = self._wanted(), self._machine.tokens
        add = [place for place in wanted if place.asked != place.followed.wanted]
        remove = [place for place in self._sent.values() if place not in wanted]
        if not add and not remove and tokens.token in (None, self._token):
            return
        self._is_patching = True
        former, sent, request = [(place, place.asked, place.changes) for place in add], self._sent, self.request
        body: Dict[str, Any] = {}
        if add:
            body["add"] = [place.ask(is_change=place.asked is not None and place.notice != "forbidden") for place in add]
        if remove:
            body["remove"] = [{"feed": place.followed.feed, "view": place.followed.name} for place in remove]
        self._sent = {name: place for name, place in sent.items() if place not in remove}
        self._sent.update((place.followed.name, place) for place in add)

        def is_current() -> bool:
            return self.request == request

        def send(token: Optional[str], then: Any) -> None:
            def answered(answer: Answer) -> None:
                if answer.status == 200 and is_current():
                    self._token = token
                then(answer)

            url = f"{self.url}/v1/streams/{self._name}"
            self._machine.request("PATCH", url, answered, token, json.dumps(body), limit=_ANSWER_SECONDS)

        def take(answer: Answer) -> None:
            if not is_current():
                return
            self._is_patching = False
            self._machine.change()
            if answer.status == 200:
                return
            # Nothing of the request was done.
            self._sent = sent
            for place, asked, changes in former:
                place.asked, place.changes = asked, min(changes, place.changes)
            if answer.is_early and tokens.in_use is not None:
                # The stream goes on with the token before.
                tokens.renew_later()
            elif answer.status != 400 or not self._refuse_entry(answer, "add", add):
                log.warning("%s does not change the stream: %s", self.url, answer.problem)
                # A stream that the daemon does not know has ended.
                ended = dataclasses.replace(answer, status=None, detail=answer.problem)
                self._fail(_trouble(ended if answer.status == 404 else answer), answer.after)

        tokens.request(send, take, False, is_current)

    # Messages of the stream.

    def received(self, events: Sequence[StreamEvent], retry: Optional[float]) -> None:
        self._listen()
        self._retry = self._retry if retry is None else retry
        request = self.request
        try:
            for event in events:
                if self.request == request:
                    self._take(event)
        except Exception as fault:
            # Otherwise the stream would go on without its views.
            log.exception("%s sends what cannot be taken; connecting again", self.url)
            self._fail(Standing("stale", "disconnected", f"{self.url} sends what cannot be taken: {fault!r}"))

    def _take(self, event: StreamEvent) -> None:
        record: Optional[Changeset] = None
        fault = None
        try:
            if event.name == "message":
                record = changeset(event.data)
                view: Any = record.view
            else:
                value = json.loads(event.data)
                view = value.get("view")
        except (ReplicaFault, ValueError, RecursionError, AttributeError) as error:
            fault, view = error, _view_of(event.data)
            if view is None:
                # It does not say which view it is about.
                log.warning("%s sends something else than events: %s", self.url, event.data[:80])
                self._fail(Standing("stale", "disconnected", f"{self.url} sends something else than events"))
                return
        self._failures, self._was_refused = 0, False
        self._since = self._machine.now if self._since is None else self._since
        if event.name == "stream":
            self._name = str(value.get("stream"))
            self._machine.change()
            return
        place = self._sent.get(view) if isinstance(view, str) else None
        if place is None or place.followed.places.get(self.url) is not place:
            return
        self._machine.touch(place.followed)
        if fault is not None:
            place.followed.misfit(str(fault))
        elif record is not None:
            place.message(record)
        else:
            if event.name == "forbidden" and value.get("reason") == "token-expired":
                self._machine.tokens.refuse(self._token, Answer())
            place.event(event.name, value)


def _view_of(text: str) -> Any:
    """The view of a message that is not valid, if it is JSON."""
    try:
        return json.loads(text).get("view")
    except (ValueError, RecursionError, AttributeError):
        return None


def _trouble(answer: Answer) -> Standing:
    if answer.lacks_token:
        return Standing("stale", "token-needed", answer.problem)
    reasons = {None: "disconnected", 401: "token-needed", 403: "forbidden", 429: "unavailable"}
    status = answer.status
    reason = reasons.get(status, "bad-request" if status is not None and 400 <= status < 500 else "unavailable")
    return Standing("stale", reason, answer.problem)
