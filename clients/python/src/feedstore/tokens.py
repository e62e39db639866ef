"""The tokens of a store: the program's, those that a daemon accepted or refused, and requests that need one."""

import base64
import binascii
import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple

from .effects import Answer, AskToken

if TYPE_CHECKING:
    from .machine import Machine

# How long a token is kept that is not valid yet, and the pause between two requests with it.
_EARLY_SECONDS = 300.0
_EARLY_PAUSE_SECONDS = 1.0
_MOST_EARLY = 30
_RENEWAL_SECONDS = 30.0

#: Takes a token, or the reason why there is none.
Then = Callable[[Optional[str], Optional[str]], None]


def claim(token: Optional[str], name: str) -> Any:
    """A member of a JSON Web Token, which is not verified; None if it does not have it."""
    try:
        text = (token or "").split(".")[1]
        return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))[name]
    except (IndexError, ValueError, KeyError, TypeError, binascii.Error, RecursionError):
        return None


def token_time(token: Optional[str], name: str = "exp") -> Optional[float]:
    """When a token ends (`exp`) or begins (`nbf`), in seconds since 1970."""
    value = claim(token, name)
    return float(value) if isinstance(value, (int, float)) else None


class Tokens:
    def __init__(self, machine: "Machine", has_callback: bool):
        self._machine, self.has_callback = machine, has_callback
        self.token: Optional[str] = None
        #: Whether it is the token of `set_token`, so that the callback is not asked.
        self._is_given = False
        #: The last token that was accepted, and one that is not valid yet, with the time until which it is kept.
        self._accepted: Optional[str] = None
        self._coming: Optional[Tuple[str, float]] = None
        self._asking: Optional[List[Then]] = None
        #: The person of the last token, by its `sub`; empty if it does not say so.
        self._person: Optional[str] = None

    @property
    def in_use(self) -> Optional[str]:
        """The last token that was accepted, if it has not ended."""
        return self._valid(self._accepted)

    def _valid(self, token: Optional[str]) -> Optional[str]:
        return None if token is None or (token_time(token) or math.inf) <= self._machine.wall else token

    def _kept(self) -> Optional[str]:
        """The token that is not valid yet."""
        return self._coming[0] if self._coming is not None and self._machine.now < self._coming[1] else None

    # Where tokens come from.

    def get(self, then: Then, is_wanted: Callable[[], bool], is_stream: bool = False) -> None:
        """Passes on the token for a request. For a stream the callback is asked even if there is a token."""
        kept, token = self._kept(), self.token
        if kept is not None and (is_stream or token is None):
            then(self.in_use or kept, None)
        elif not self.has_callback or (self._valid(token) is not None and (self._is_given or not is_stream)):
            then(token, None)
        else:
            self.ask(then, is_wanted)

    def ask(self, then: Then, is_wanted: Callable[[], bool]) -> None:
        """Asks the callback, once for all that need a token at a time."""

        def take(token: Optional[str], fault: Optional[str]) -> None:
            if not is_wanted():
                return
            present = self._valid(self.token) or self.in_use
            if token is None and present is not None:
                # Without a newer one, the present one stays in use until it ends.
                self.token, fault = present, None
            elif fault is None:
                self._become(token)
            # A write of another person is not wanted any more.
            if is_wanted():
                then(self.token, fault)

        self._ask(take)

    def _ask(self, take: Then) -> None:
        if self._asking is None:
            self._asking = []
            self._machine.effects.append(AskToken())
        self._asking.append(take)

    def arrived(self, token: Optional[str], fault: Optional[str]) -> None:
        """The callback's answer."""
        asking, self._asking = self._asking, None
        for take in asking or []:
            take(token, fault)

    def give(self, token: Optional[str]) -> None:
        """From now on this token is used; None forgets it."""
        self._coming = None
        if token is None:
            self.token = self._accepted = None
            self._is_given = False
            return
        self._become(token, True)
        self.arrived(token, None)
        self._is_given = True

    def _become(self, token: Optional[str], is_given: bool = False) -> None:
        """Takes a token into use. What one person saw and wrote is not for another one."""
        self.token, self._is_given = token, is_given
        self.renew_later()
        former, self._person = self._person, self._person if token is None else str(claim(token, "sub") or "")
        if former not in (None, self._person):
            self._accepted = self._coming = None
            self._machine.change_person()

    def renew_later(self) -> None:
        """Asks for a newer token 30 s before the end of this one, or at half of what is left if that is later."""
        end = token_time(self.token)
        if end is not None and self.has_callback:
            left = end - self._machine.wall
            self._machine.timer("renewal", max(left - _RENEWAL_SECONDS, left / 2, _EARLY_PAUSE_SECONDS), self._renew)

    def _renew(self) -> None:
        if not any(stream.is_open for stream in self._machine.streams):
            return
        if self._kept() is not None:
            self.token = self._kept()
            self._machine.change()
        else:
            self._ask(self._renewed)

    def _renewed(self, token: Optional[str], fault: Optional[str]) -> None:
        if token is not None and fault is None and token != self.token:
            self._become(token)
            self._machine.change()

    # Answers of daemons to tokens.

    def is_early(self, token: Optional[str], answer: Answer) -> bool:
        """Whether a token is refused because it is not valid yet: two clocks differ."""
        return "not valid yet" in answer.problem or (token_time(token, "nbf") or 0) > self._machine.wall

    def accept(self, token: Optional[str]) -> None:
        self._accepted = token
        if self._coming is not None and self._coming[0] == token:
            self.token, self._coming = token, None

    def refuse(self, token: Optional[str], answer: Answer) -> bool:
        """Returns whether the token is not valid yet, so that it is kept."""
        if token is not None and self.is_early(token, answer):
            if self._coming is None or self._coming[0] != token:
                self._coming = (token, self._machine.now + _EARLY_SECONDS)
            self.token = self.in_use
            return True
        if token == self._accepted:
            self._accepted = None
        if self._coming is not None and self._coming[0] == token:
            self._coming = None
        if token == self.token and self.has_callback:
            self.token, self._is_given = None, False
        return False

    def request(
        self, send: Callable[[Optional[str], Callable[[Answer], None]], None], take: Callable[[Answer], None],
        is_patient: bool = True, is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """Sends a request with the token; again with another one if that is refused, or later if it is not valid yet."""
        early, is_refused = 0, False

        def again() -> None:
            self.get(begin, is_wanted)

        def begin(token: Optional[str], fault: Optional[str]) -> None:
            if fault is not None:
                take(Answer(detail=fault, is_sent=False, lacks_token=True))
            else:
                send(token, lambda answer: answered(token, answer))

        def answered(token: Optional[str], answer: Answer) -> None:
            nonlocal early, is_refused
            if answer.status != 401:
                if answer.status is not None:
                    self.accept(token)
                take(answer)
            elif self.refuse(token, answer):
                early += 1
                if not is_patient or early > _MOST_EARLY:
                    take(dataclasses.replace(answer, is_early=True))
                    return
                pause = _EARLY_PAUSE_SECONDS if self.in_use is None else 0
                self._machine.timer(("early", object()), pause, lambda: again() if is_wanted() else None)
            elif is_refused or not self.has_callback:
                take(answer)
            else:
                is_refused = True
                self.ask(lambda other, fault: take(answer) if fault or other == token else begin(other, None), is_wanted)

        again()
