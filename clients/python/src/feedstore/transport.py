"""Requests to a daemon, by the standard library. Everything here blocks, and runs in threads of its own."""

import base64
import binascii
import dataclasses
import http.client
import json
import math
import socket
import ssl
import threading
import time
import urllib.parse
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Tuple

from .event_stream import EventStreamParser, StreamEvent

SILENCE_SECONDS = 60.0
CONNECT_SECONDS = 10.0
MOST_AFTER_SECONDS = 300.0
# How long a token is kept that is not valid yet, and the pause between two tries with it.
EARLY_SECONDS = 300.0
EARLY_PAUSE_SECONDS = 1.0
# Of what was read of a stream, and not yet taken.
_MOST_PIECES = 16
_PIECE_BYTES = 65536


@dataclasses.dataclass(frozen=True)
class Problem:
    """An answer that is an error."""

    status: int
    code: Optional[str] = None
    detail: str = ""
    #: Where content is not valid, such as `feeds[2].first`.
    member: Optional[str] = None
    #: After how many seconds to come again.
    after: float = 0
    #: Whether the token is refused because it is not valid yet.
    is_early: bool = False


class Answer(NamedTuple):
    status: int
    value: Any
    problem: Optional[Problem]


class Origin:
    """Where an instance is."""

    def __init__(self, url: str, context: Optional[ssl.SSLContext]):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the URL of a daemon; expected one such as http://127.0.0.1:8321")
        self.path = parts.path.rstrip("/")
        self._host, self._port = parts.hostname, parts.port
        self._context = (context or ssl.create_default_context()) if parts.scheme == "https" else None

    def connect(self) -> http.client.HTTPConnection:
        if self._context is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_SECONDS)
        else:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=CONNECT_SECONDS, context=self._context)
        connection.connect()
        return connection

    def send(
        self, connection: http.client.HTTPConnection, method: str, path: str, token: Optional[str], content: str, **more: str
    ) -> http.client.HTTPResponse:
        headers = {"Content-Type": "application/json", **more}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        connection.request(method, self.path + path, content.encode(), headers)
        return connection.getresponse()


def answer_of(response: http.client.HTTPResponse) -> Answer:
    content = response.read()
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None
    if response.status < 300:
        return Answer(response.status, value, None)
    members: Mapping[str, Any] = value if isinstance(value, dict) else {}
    after = response.getheader("Retry-After", "")
    seconds = min(float(after), MOST_AFTER_SECONDS) if after.isascii() and after.isdigit() else 0
    problem = Problem(
        response.status, members.get("code"), str(members.get("detail") or f"the daemon answers {response.status}"),
        members.get("member"), seconds,
    )
    return Answer(response.status, value, problem)


def token_time(token: Optional[str], claim: str = "exp") -> Optional[float]:
    """When a JSON Web Token ends (`exp`) or begins (`nbf`), in seconds since 1970; None if it does not say so."""
    try:
        claims = (token or "").split(".")[1]
        end = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))[claim]
        return float(end) if isinstance(end, (int, float)) else None
    except (IndexError, ValueError, KeyError, TypeError, binascii.Error, RecursionError):
        return None


class Tokens:
    """The token of a program. One that is not valid yet is kept, and sent again later; until then, the one before stays in use."""

    def __init__(self, ask: Callable[[], Optional[str]]):
        self._ask = ask
        self._lock = threading.Lock()
        #: The last one that was accepted, and one that is not valid yet, with the time until which it is kept.
        self._accepted: Optional[str] = None
        self._early: Optional[Tuple[Optional[str], float]] = None

    def newer(self) -> Optional[str]:
        """Another one than the one in use; blocks."""
        with self._lock:
            if self._early is not None and time.monotonic() < self._early[1]:
                return self._early[0]
        # Without a newer one, the one in use stays until it ends.
        try:
            token = self._ask()
        except ConnectionError:
            if not self.has_accepted:
                raise
            token = None
        return self._accepted if token is None and self.has_accepted else token

    def get(self) -> Optional[str]:
        """That of a request; blocks."""
        return self._accepted if self._early is not None and self.has_accepted else self.newer()

    @property
    def has_accepted(self) -> bool:
        return self._accepted is not None and (token_time(self._accepted) or math.inf) > time.time()

    def answered(self, token: Optional[str], problem: Optional[Problem]) -> bool:
        """Takes what a daemon says of a token; returns whether that is not valid yet."""
        is_refused = problem is not None and problem.status == 401
        is_early = problem is not None and is_refused and (
            "not valid yet" in problem.detail or (token_time(token, "nbf") or 0) > time.time()
        )
        with self._lock:
            if not is_refused:
                self._accepted = token
            elif token == self._accepted:
                self._accepted = None
            if is_early and (self._early is None or self._early[0] != token):
                self._early = (token, time.monotonic() + EARLY_SECONDS)
            elif not is_early and self._early is not None and self._early[0] == token:
                self._early = None
        return is_early


class StreamReader:
    """Opens a stream and reads it, in a thread. `on_events` and `on_end` are called there, one after the other.

    `on_events` returns at once; for each call of it, call `taken` when the events are taken. What is not taken is bounded.
    """

    def __init__(
        self,
        origin: Origin,
        tokens: Tokens,
        content: Callable[[Optional[str]], str],
        on_open: Callable[[], object],
        on_events: Callable[[List[StreamEvent], Optional[float]], object],
        on_end: Callable[[Optional[Problem], str], object],
    ):
        self._origin, self._tokens, self._content = origin, tokens, content
        self._on_open, self._on_events, self._on_end = on_open, on_events, on_end
        self._room = threading.Semaphore(_MOST_PIECES)
        self._lock = threading.Lock()
        # The connection itself forgets its socket when the response says that it is the last one.
        self._socket: Optional[socket.socket] = None
        self._is_closed = False
        threading.Thread(target=self._run, name="feedstore stream", daemon=True).start()

    def taken(self) -> None:
        self._room.release()

    def close(self) -> None:
        """Ends the stream. `on_end` may still be called."""
        with self._lock:
            self._is_closed = True
            connected = self._socket
        self._room.release()
        if connected is not None:
            _shut(connected)

    def _run(self) -> None:
        problem, detail = None, "the stream ended"
        try:
            try:
                token = self._tokens.get()
            except ConnectionError as fault:
                self._on_end(Problem(401, None, str(fault)), "")
                return
            connection = self._origin.connect()
            connected = connection.sock
            try:
                problem = self._follow(connection, token)
            finally:
                _shut(connected)
                connection.close()
        except Exception as fault:
            # Whatever it is: a store that does not learn of it would wait forever.
            detail = str(fault) or type(fault).__name__
        self._on_end(problem, detail)

    def _follow(self, connection: http.client.HTTPConnection, token: Optional[str]) -> Optional[Problem]:
        with self._lock:
            if self._is_closed:
                return None
            self._socket = connection.sock
        connection.sock.settimeout(SILENCE_SECONDS)
        response = self._origin.send(
            connection, "POST", "/v1/streams", token, self._content(token), Accept="text/event-stream"
        )
        kind = response.getheader("Content-Type", "").partition(";")[0].strip().lower()
        if response.status != 200 or kind != "text/event-stream":
            problem = answer_of(response).problem or Problem(response.status, None, "the answer is not a stream of events")
            return dataclasses.replace(problem, is_early=self._tokens.answered(token, problem))
        self._tokens.answered(token, None)
        self._on_open()
        parser = EventStreamParser()
        while not self._is_closed:
            data = response.read1(_PIECE_BYTES)
            if not data:
                break
            events = list(parser.push(data))
            self._room.acquire()
            self._on_events(events, parser.retry)
        return None


def _shut(connected: socket.socket) -> None:
    """Ends what another thread reads."""
    try:
        connected.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
