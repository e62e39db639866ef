"""Requests to a daemon, by the standard library. Everything here blocks, in a thread for each request."""

import http.client
import json
import socket
import ssl
import threading
import urllib.parse
from typing import Any, Callable, Dict, List, Optional

from .effects import Answer, Request
from .event_stream import EventStreamParser, StreamEvent

_CONNECT_SECONDS = 10.0
# Of what was read of a stream, and not yet taken.
_MOST_PIECES = 16
_PIECE_BYTES = 65536


def check_url(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not the URL of a daemon; expected one such as http://127.0.0.1:8321")
    return url


class Exchange:
    """A request and its response. `on_open` and `on_events` are called for a stream, `on_end` at the end, in its thread.

    `on_events` returns at once; for each call, call `taken` when the events are taken. What is not taken is bounded.
    """

    def __init__(
        self, request: Request, context: Optional[ssl.SSLContext], on_open: Callable[[], object],
        on_events: Callable[[List[StreamEvent], Optional[float]], object], on_end: Callable[[Answer], object],
    ):
        self._request, self._context = request, context
        self._on_open, self._on_events = on_open, on_events
        self._room = threading.Semaphore(_MOST_PIECES)
        self._lock = threading.Lock()
        # The connection itself forgets its socket when the response says that it is the last one.
        self._socket: Optional[socket.socket] = None
        self._is_closed = self._is_sent = False
        threading.Thread(target=lambda: on_end(self._run()), name="feedstore request", daemon=True).start()

    def taken(self) -> None:
        self._room.release()

    def close(self) -> None:
        """Ends the request. `on_end` may still be called."""
        with self._lock:
            self._is_closed = True
            connected = self._socket
        self._room.release()
        _shut(connected)

    def _run(self) -> Answer:
        url = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(self._request.url))
        try:
            connection = self._connection()
            try:
                connection.connect()
            except OSError as fault:
                return Answer(detail=f"{url} cannot be reached: {fault}", is_sent=False)
            try:
                return self._exchange(connection)
            finally:
                _shut(self._socket)
                connection.close()
        except (http.client.IncompleteRead, http.client.RemoteDisconnected, ConnectionError):
            return Answer(detail=f"the connection to {url} was lost", is_sent=self._is_sent)
        except Exception as fault:
            # Whatever it is: a store that does not learn of it would wait forever.
            return Answer(detail=f"{url}: {fault or type(fault).__name__}", is_sent=self._is_sent)

    def _connection(self) -> http.client.HTTPConnection:
        parts = urllib.parse.urlsplit(self._request.url)
        if parts.scheme != "https":
            return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_CONNECT_SECONDS)
        context = self._context or ssl.create_default_context()
        return http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=_CONNECT_SECONDS, context=context)

    def _exchange(self, connection: http.client.HTTPConnection) -> Answer:
        with self._lock:
            if self._is_closed:
                return Answer(is_sent=False)
            self._socket = connection.sock
        # The machine knows how long to wait.
        connection.sock.settimeout(None)
        request, parts = self._request, urllib.parse.urlsplit(self._request.url)
        is_stream = request.method == "POST" and parts.path.endswith("/v1/streams")
        headers = {"Accept": "text/event-stream"} if is_stream else {}
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        if request.wait > 0:
            headers["Prefer"] = f"wait={request.wait}"
        if request.token is not None:
            headers["Authorization"] = f"Bearer {request.token}"
        self._is_sent = True
        connection.request(
            request.method, f"{parts.path}?{parts.query}" if parts.query else parts.path,
            None if request.body is None else request.body.encode(), headers)
        response = connection.getresponse()
        kind = response.getheader("Content-Type", "").partition(";")[0].strip().lower()
        if response.status != 200 or not is_stream:
            return _answer(response)
        if kind != "text/event-stream":
            return Answer(200, {"detail": "the answer is not a stream of events"})
        self._on_open()
        parser = EventStreamParser()
        while not self._is_closed:
            data = response.read1(_PIECE_BYTES)
            if not data:
                break
            events = list(parser.push(data))
            self._room.acquire()
            self._on_events(events, parser.retry)
        return Answer(detail="the daemon has ended the stream")


def _answer(response: http.client.HTTPResponse) -> Answer:
    try:
        value = json.loads(response.read())
    except (ValueError, RecursionError):
        value = None
    after = response.getheader("Retry-After", "")
    members: Dict[str, Any] = value if isinstance(value, dict) else {}
    return Answer(response.status, members, after=float(after) if after.isascii() and after.isdigit() else 0)


def _shut(connected: Optional[socket.socket]) -> None:
    """Ends what another thread reads."""
    try:
        if connected is not None:
            connected.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
