"""
A server that follows docs/http.md, with changesets from replays. The test decides when each is published, and which
faults occur. To try it: `python3 fake_server.py` plays the demo's history once.
"""

import collections
import contextlib
import http.server
import json
import queue
import re
import socket
import sys
import threading
import time
import urllib.parse

from replay import ROOT, changesets, demo_history

WEB = ROOT / "web"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"
CONFIGURATION = (ROOT / "config/feedstore.json5").read_text()
# The thresholds by name, with their defaults.
PLANNER = {name: float(value) for name, value in
           re.findall(r"(\w+): ([\d.]+),", re.search(r"planner: \{.*?\}", CONFIGURATION, re.DOTALL)[0])}
# Ends a stream in place of bytes.
END = None

Request = collections.namedtuple("Request", "path headers")


class Feed:
    def __init__(self, changesets):
        self.coming = collections.deque(changesets)
        self.published = []
        self.streams = set()
        self.moved_to = None

    @property
    def last(self):
        return self.published[-1] if self.published else None

    @property
    def is_there(self):
        return self.published != [] and self.last.mode != "delete"


class Listener(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A browser may disconnect during a response; other errors are reported."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class FakeServer:
    """Publishes only on request. Settings: `token`, `retry` in milliseconds, and `refusal`."""

    def __init__(self, found=(), token=None, retry=50):
        self.lock = threading.RLock()
        self.token = token
        self.retry = retry
        # The status of responses to all stream requests, and `Retry-After`.
        self.refusal = None
        # While cleared, responses under /v1/ wait.
        self.gate = threading.Event()
        self.gate.set()
        self.requests = []
        self.sockets = set()
        self.counters = collections.Counter()
        self.lag = {0: 0}
        # What /v1/rejected returns.
        self.rejected = []
        self.feeds = {}
        self.add(found)
        server = self

        class Handler(RequestHandler):
            owner = server

        self.http = Listener(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.gate.set()
        self.kill_streams()
        self.http.shutdown()
        self.http.server_close()
        with self.lock:
            for connection in self.sockets:
                # The browser may have closed it already.
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    # Actions of a test.

    def add(self, found):
        """Adds changesets to publish later."""
        by_feed = collections.defaultdict(list)
        for changeset in found:
            by_feed[changeset.feed].append(changeset)
        with self.lock:
            for name, mine in by_feed.items():
                self.feeds.setdefault(name, Feed([])).coming.extend(mine)

    def publish(self, name, count=1):
        """Publishes the next changesets of a feed, which its followers receive together."""
        with self.lock:
            feed = self.feeds[name]
            committed = [self._commit(feed) for _ in range(count)]
            messages = [message(changeset.texts, changeset.id) for changeset in committed]
            # Plain changesets keep a follower up to date.
            is_news = any(changeset.mode in ("reload", "delete") for changeset in committed)
            self._send(feed, b"".join(messages) + (self._up_to_date(feed) if is_news else b""))

    def publish_all(self, name):
        self.publish(name, len(self.feeds[name].coming))

    def lose(self, name):
        """Publishes a changeset without sending it to followers."""
        with self.lock:
            self._commit(self.feeds[name])

    def kill_streams(self):
        """Cuts all connections within their responses."""
        with self.lock:
            for feed in self.feeds.values():
                self._send(feed, END)

    def must_refetch(self, name, reason):
        with self.lock:
            feed = self.feeds[name]
            self._send(feed, event("must-refetch", {"feed": name, "reason": reason}))
            self._send(feed, message(feed.last.state, feed.last.id))
            self._send(feed, self._up_to_date(feed))

    def move(self, name, url):
        with self.lock:
            feed = self.feeds[name]
            feed.moved_to = {"feed": name, "partition": feed.last.partition, "url": url}
            self._send(feed, event("moved", feed.moved_to))
            self._send(feed, END)

    def bring_back(self, name):
        with self.lock:
            self.feeds[name].moved_to = None

    def say(self, name, data):
        """Sends arbitrary bytes to a feed's followers."""
        with self.lock:
            self._send(self.feeds[name], data)

    def state(self, name):
        """The current feed: ids, kinds and data of the items of each section, by the section's id."""
        return self.feeds[name].last.items

    def stream_requests(self):
        with self.lock:
            return [request for request in self.requests if request.path.endswith("/changes")]

    def stream_count(self):
        with self.lock:
            return sum(len(feed.streams) for feed in self.feeds.values())

    def _commit(self, feed):
        changeset = feed.coming.popleft()
        feed.published.append(changeset)
        self.counters["changesets"] += 1
        self.counters[f"{changeset.mode}s"] += 1
        self.counters["records"] += 3
        self.counters["inputBytes"] += 2 * sum(map(len, changeset.texts))
        self.counters["outputBytes"] += sum(map(len, changeset.texts))
        return changeset

    def _send(self, feed, data):
        for stream in feed.streams:
            stream.put(data)

    def _up_to_date(self, feed):
        last = feed.last
        place = {"partition": last.partition} if feed.is_there else {}
        return event("up-to-date", {"feed": last.feed, **place, "epoch": last.epoch, "revision": last.revision})

    # Responses.

    def page(self, parameters):
        limit = int(parameters.get("limit", ["100"])[0])
        after = parameters.get("after", [""])[0].encode()
        search = parameters.get("search", [""])[0].lower()
        with self.lock:
            found = sorted(
                (name for name, feed in self.feeds.items() if feed.is_there and search in name.lower()),
                key=lambda name: name.encode(),
            )
            rest = [name for name in found if name.encode() > after]
            feeds = [self._listed(name) for name in rest[:limit]]
        answer = {"standing": "up-to-date", "count": len(found), "feeds": feeds}
        if len(rest) > limit:
            answer["next"] = f"/v1/feeds?after={urllib.parse.quote(rest[limit - 1], safe='')}"
        return answer

    def _listed(self, name):
        last = self.feeds[name].last
        items = last.items
        return {
            "feed": name, "partition": last.partition, "epoch": last.epoch, "revision": last.revision, "time": last.time,
            "sections": len(items), "items": sum(map(len, items.values())), "checksum": last.checksum,
            "standing": "up-to-date",
        }

    def status(self):
        with self.lock:
            listed = [self._listed(name) for name, feed in self.feeds.items() if feed.is_there]
            names = [
                "records", "rejected", "noOps", "changesets", "reconfigures", "diffs", "reloads", "deletes", "keyframes",
                "flushes", "inputBytes", "outputBytes", "outputRecords",
            ]
            return {
                "version": "0.1.0", "instance": "feedstore", "standing": "up-to-date",
                "startedAt": "2026-11-20T09:00:00.000Z",
                "partitions": [
                    {"partition": number, "standing": "up-to-date", "position": 5120 + number}
                    | ({} if lag is None else {"inputLag": lag})
                    for number, lag in self.lag.items()
                ],
                "feeds": {
                    "count": len(listed), "sections": sum(feed["sections"] for feed in listed),
                    "items": sum(feed["items"] for feed in listed),
                },
                "counters": {name: self.counters[name] for name in names},
                "http": {
                    "connections": 3, "streams": self.stream_count(), "queuedEvents": 0,
                    "droppedEvents": self.counters["dropped"],
                },
                "planner": PLANNER,
            }

    def begin_stream(self, name, last_event_id):
        """A queue of messages for a new stream, with the first messages."""
        with self.lock:
            feed = self.feeds[name]
            stream = queue.Queue()
            stream.put(f"retry: {self.retry}\n\n".encode())
            ids = [changeset.id for changeset in feed.published]
            if last_event_id in ids:
                for changeset in feed.published[ids.index(last_event_id) + 1:]:
                    stream.put(message(changeset.texts, changeset.id))
            else:
                stream.put(message(feed.last.state, feed.last.id))
            stream.put(self._up_to_date(feed))
            feed.streams.add(stream)
            return stream

    def end_stream(self, name, stream):
        with self.lock:
            self.feeds[name].streams.discard(stream)


def message(texts, last_id):
    lines = [f"data: {text}\n\n" for text in texts]
    return ("".join(lines[:-1]) + f"id: {last_id}\n" + lines[-1]).encode()


def event(name, value):
    return f"event: {name}\ndata: {json.dumps(value)}\n\n".encode()


class RequestHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner = None

    def setup(self):
        super().setup()
        with self.owner.lock:
            self.owner.sockets.add(self.connection)

    def finish(self):
        with self.owner.lock:
            self.owner.sockets.discard(self.connection)
        super().finish()

    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        if not address.path.startswith("/v1/"):
            self.send_file("index.html" if address.path == "/" else address.path[1:])
            return
        with self.owner.lock:
            self.owner.requests.append(Request(address.path, dict(self.headers)))
        self.owner.gate.wait()
        token = self.owner.token
        if token is not None and self.headers.get("Authorization") != f"Bearer {token}":
            self.send_problem(401, "token-needed", "a bearer token is needed")
        elif address.path == "/v1/feeds":
            self.send_json(self.owner.page(urllib.parse.parse_qs(address.query)))
        elif address.path == "/v1/rejected":
            self.send_json({"rejected": self.owner.rejected})
        elif address.path == "/v1/status":
            self.send_json(self.owner.status())
        elif address.path.startswith("/v1/feeds/") and address.path.endswith("/changes"):
            self.send_changes(urllib.parse.unquote(address.path[len("/v1/feeds/"):-len("/changes")]))
        else:
            self.send_problem(404, "not-found", "there is no such path")

    def send_changes(self, name):
        owner = self.owner
        feed = owner.feeds.get(name)
        # The test may end it at any time.
        refusal = owner.refusal
        if refusal is not None:
            status, code, detail, seconds = refusal
            self.send_problem(status, code, detail, {"Retry-After": str(seconds)})
        elif feed is None or feed.last is None:
            self.send_problem(404, "unknown-feed", f"this instance knows of no feed {json.dumps(name)}")
        elif feed.moved_to is not None:
            self.send_problem(410, "moved", "the feed's partition went to another instance", {}, feed.moved_to)
        else:
            stream = owner.begin_stream(name, self.headers.get("Last-Event-ID"))
            try:
                self.stream(stream)
            except OSError:
                pass
            finally:
                owner.end_stream(name, stream)
        self.close_connection = True

    def stream(self, stream):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            try:
                data = stream.get(timeout=0.2)
            except queue.Empty:
                # Detects a client that has disconnected.
                data = b":\n\n"
            if data is END:
                # Without the last chunk, as when a process is killed.
                return
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def send_file(self, name):
        path = WEB / name
        if "/" in name or path.suffix not in TYPES or not path.is_file():
            self.send_problem(404, "not-found", "there is no such path")
            return
        self.send_body(200, TYPES[path.suffix], path.read_bytes(), {"Content-Security-Policy": POLICY})

    def send_json(self, value):
        self.send_body(200, "application/json", json.dumps(value).encode(), {})

    def send_problem(self, status, code, detail, headers={}, more={}):
        problem = {"status": status, "code": code, "detail": detail, **more}
        self.send_body(status, "application/problem+json", json.dumps(problem).encode(), headers)

    def send_body(self, status, kind, body, headers):
        self.send_response(status)
        for name, value in {
            "Content-Type": kind, "Content-Length": len(body), "Cache-Control": "no-cache",
            "X-Content-Type-Options": "nosniff", **headers,
        }.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def main():
    found = changesets(demo_history())
    server = FakeServer(found, retry=1000)
    print(server.url, file=sys.stderr)
    for changeset in found:
        time.sleep(0.25)
        server.publish(changeset.feed)
    threading.Event().wait()


if __name__ == "__main__":
    main()
