"""What a machine asks of the store around it, and the answers."""

from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, NamedTuple, Optional, Union

from .model import Update


class Request(NamedTuple):
    """A request to a daemon. Only those of streams have the path /v1/streams and the method POST."""

    number: int
    method: str
    url: str
    token: Optional[str]
    body: Optional[str] = None
    #: How long the daemon waits for an outcome, in seconds.
    wait: int = 0


class Abort(NamedTuple):
    """The answer to this request is no longer needed."""

    number: int


class AskToken(NamedTuple):
    """The program's callback is to be called; `Machine.token_arrived` takes the token."""


class Show(NamedTuple):
    listener: Callable[[Update[Any]], None]
    update: Update[Any]


Effect = Union[Request, Abort, AskToken, Show]


@dataclass(frozen=True)
class Answer:
    """How a request ended."""

    #: None without a response.
    status: Optional[int] = None
    value: Mapping[str, Any] = field(default_factory=dict)
    #: Why there is no response.
    detail: Optional[str] = None
    #: The seconds of `Retry-After`.
    after: float = 0
    #: Whether the daemon may have received the request.
    is_sent: bool = True
    #: Whether the token is not valid yet.
    is_early: bool = False
    #: Whether there was no token to send it with.
    lacks_token: bool = False

    @property
    def problem(self) -> str:
        """The explanation of an error, for people."""
        if self.status is None:
            return self.detail or "there is no response"
        return str(self.value.get("detail") or f"the daemon answers {self.status}")
