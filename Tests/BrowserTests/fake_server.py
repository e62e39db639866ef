"""
A server that follows docs/http.md, with changesets from replays. The test decides when each is published, and which
faults occur.
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
import uuid

import xxhash

from replay import ROOT, changesets, demo_history

WEB = ROOT / "web"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"
CONFIGURATION = (ROOT / "config/feedstore.json5").read_text()
# The thresholds by name, with their defaults.
PLANNER = {name: float(value) for name, value in
           re.findall(r"(\w+): ([\d.]+),", re.search(r"planner: \{.*?\}", CONFIGURATION, re.DOTALL)[0])}
compact = json.JSONEncoder(separators=(",", ":")).encode
# Ends a stream in place of bytes.
END = None

Request = collections.namedtuple("Request", "path headers body")


class Feed:
    def __init__(self, changesets):
        self.coming = collections.deque(changesets)
        self.published = []
        self.moved_to = None

    @property
    def last(self):
        return self.published[-1] if self.published else None

    @property
    def is_there(self):
        return self.published != [] and self.last.mode != "delete"


class Stream(queue.Queue):
    """The messages for one client, and what it follows."""

    def __init__(self):
        super().__init__()
        self.id = uuid.uuid4().hex
        self.views = {}


class View:
    """One feed on a stream, as a whole if there is no window."""

    def __init__(self, stream, asked):
        self.stream = stream
        self.feed = asked["feed"]
        self.head = {"view": asked["view"]} if "view" in asked else {}
        self.window = {name: asked[name] for name in ("sections", "first", "from", "count") if name in asked}
        self.version = f"{asked.get('epoch')}@{asked.get('revision')}"

    def say(self, name, value):
        self.stream.put(f"event: {name}\ndata: {compact({**self.head, **value})}\n\n".encode())

    def send(self, texts, last_id):
        head = compact(self.head)[:-1] + ("," if self.head else "")
        lines = [f"data: {head}{text[1:]}\n\n" for text in texts]
        self.stream.put(("".join(lines[:-1]) + f"id: {last_id}\n" + lines[-1]).encode())


def key_of(asked):
    return asked if isinstance(asked, str) else (asked["feed"], asked["view"]) if "view" in asked else asked["feed"]


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
        # Takes a feed and the text of events, and returns a status and an answer; without it feeds may not be changed.
        self.on_write = None
        # Of the newest write.
        self.outcome = None
        # The answer of /v1/rejected.
        self.rejected = []
        self.feeds = {}
        self.streams = {}
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
            # Plain changesets keep a follower up to date.
            is_news = any(changeset.mode in ("reload", "delete") for changeset in committed)
            for view in self._views_of(name):
                if view.window and feed.is_there:
                    # A window is sent as a whole, instead of its changes.
                    self._send_state(feed, view)
                    continue
                for changeset in committed:
                    view.send(changeset.texts, changeset.id)
                if is_news:
                    self._say_up_to_date(feed, view)

    def publish_all(self, name):
        self.publish(name, len(self.feeds[name].coming))

    def kill_streams(self):
        """Cuts all connections within their responses."""
        with self.lock:
            for stream in self.streams.values():
                stream.put(END)

    def must_refetch(self, name, reason):
        with self.lock:
            for view in self._views_of(name):
                view.say("must-refetch", {"feed": name, "reason": reason})
                self._begin(view)

    def move(self, name, url):
        with self.lock:
            feed = self.feeds[name]
            feed.moved_to = {"feed": name, "partition": feed.last.partition, "url": url}
            self._begin_again(name)

    def bring_back(self, name):
        with self.lock:
            self.feeds[name].moved_to = None
            self._begin_again(name)

    def state(self, name):
        """The current feed: ids, kinds and data of the items of each section, by the section's id."""
        return self.feeds[name].last.items

    def stream_requests(self):
        with self.lock:
            return [request for request in self.requests if request.path == "/v1/streams"]

    def stream_count(self):
        with self.lock:
            return len(self.streams)

    def _commit(self, feed):
        changeset = feed.coming.popleft()
        feed.published.append(changeset)
        self.counters["changesets"] += 1
        self.counters[f"{changeset.mode}s"] += 1
        self.counters["records"] += 3
        self.counters["inputBytes"] += 2 * sum(map(len, changeset.texts))
        self.counters["outputBytes"] += sum(map(len, changeset.texts))
        return changeset

    def _views_of(self, name):
        return [view for stream in self.streams.values() for view in stream.views.values() if view.feed == name]

    def _begin_again(self, name):
        for view in self._views_of(name):
            self._begin(view)

    def _begin(self, view, version=None):
        """Sends what a view has missed since a version, or the current state."""
        feed = self.feeds.get(view.feed)
        if feed is not None and feed.moved_to is not None:
            view.say("moved", feed.moved_to)
        elif feed is None or not feed.is_there:
            view.say("absent", {"feed": view.feed, "reason": "unknown-feed"})
        else:
            ids = [changeset.id for changeset in feed.published]
            if version not in ids or view.window:
                self._send_state(feed, view)
                return
            for changeset in feed.published[ids.index(version) + 1:]:
                view.send(changeset.texts, changeset.id)
            self._say_up_to_date(feed, view)

    def _send_state(self, feed, view):
        view.send(shown(feed.last, view.window) if view.window else feed.last.state, feed.last.id)
        self._say_up_to_date(feed, view)

    def _say_up_to_date(self, feed, view):
        last = feed.last
        place = {"partition": last.partition} if feed.is_there else {}
        view.say("up-to-date", {"feed": last.feed, **place, "epoch": last.epoch, "revision": last.revision})

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
                "version": "0.1.0", "librdkafka": "2.0.2", "instance": "feedstore", "standing": "up-to-date",
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

    def begin_stream(self, feeds):
        with self.lock:
            stream = Stream()
            stream.put(f"retry: {self.retry}\n\nevent: stream\ndata: {json.dumps({'stream': stream.id})}\n\n".encode())
            self.streams[stream.id] = stream
            for asked in feeds:
                view = stream.views[key_of(asked)] = View(stream, asked)
                self._begin(view, view.version)
            return stream

    def change_stream(self, stream, add=(), remove=()):
        with self.lock:
            for asked in remove:
                stream.views.pop(key_of(asked), None)
            for asked in add:
                is_there = key_of(asked) in stream.views
                view = stream.views[key_of(asked)] = View(stream, asked)
                if is_there:
                    view.say("must-refetch", {"feed": view.feed, "reason": "the stream was asked for it again"})
                self._begin(view, None if is_there else view.version)

    def end_stream(self, stream):
        with self.lock:
            del self.streams[stream.id]


def shown(changeset, window):
    """The text of a feed's state as a window has it."""
    sections, totals, checksum, before = [], [], 0, ""
    start = window.get("from", 0)
    end = start + window.get("count", window.get("first", sys.maxsize))
    for text in changeset.state:
        # A section that continues in another part is listed again, without its data.
        sections += [section for section in json.loads(text).get("sections", []) if "data" in section]
    for section in sections:
        all_items = changeset.items[section["id"]]
        section["items"] = all_items[start:end]
        totals.append({"section": section["id"], "from": start, "shown": len(section["items"]), "of": len(all_items)})
        checksum += xxhash.xxh32_intdigest(f"s\0{before}\0{section['id']}".encode())
        before, last = section["id"], ""
        for item in section["items"]:
            checksum += xxhash.xxh32_intdigest(f"i\0{before}\0{last}\0{item['id']}\0{item['kind']}".encode())
            last = item["id"]
    head = {name: value for name, value in json.loads(changeset.state[0]).items() if name not in ("part", "parts")}
    return [json.dumps({**head, "checksum": f"{checksum % 2 ** 32:08x}", "window": totals, "sections": sections})]


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
        if not self.is_admitted(address.path):
            return
        if address.path == "/v1/feeds":
            self.send_json(self.owner.page(urllib.parse.parse_qs(address.query)))
        elif address.path.endswith("/events"):
            self.send_json(self.owner.outcome)
        elif address.path == "/v1/rejected":
            self.send_json({"rejected": self.owner.rejected})
        elif address.path == "/v1/status":
            self.send_json(self.owner.status())
        else:
            self.send_problem(404, "not-found", "there is no such path")

    def is_admitted(self, path, body=None):
        """Notes a request, and refuses it without the token."""
        with self.owner.lock:
            self.owner.requests.append(Request(path, dict(self.headers), body))
        self.owner.gate.wait()
        token = self.owner.token
        is_admitted = token is None or self.headers.get("Authorization") == f"Bearer {token}"
        if not is_admitted:
            self.send_problem(401, "token-needed", "a bearer token is needed")
        return is_admitted

    def read_body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def do_PATCH(self):
        body = self.read_body()
        if not self.is_admitted(self.path, body):
            return
        stream = self.owner.streams.get(self.path.rpartition("/")[2])
        if stream is None:
            self.send_problem(404, "unknown-stream", "there is no such stream")
        else:
            self.owner.change_stream(stream, **body)
            self.send_json({"added": [], "changed": [], "removed": []})

    def do_HEAD(self):
        self.send_body(200, "text/event-stream", b"", {"Feedstore-Writable": "true"} if self.owner.on_write else {})

    def do_POST(self):
        owner = self.owner
        if self.path != "/v1/streams":
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if self.is_admitted(self.path, text):
                status, answer = owner.on_write(urllib.parse.unquote(self.path.split("/")[3]), text)
                if status == 200 and "Prefer" not in self.headers:
                    # The outcome is asked for.
                    status, owner.outcome = 202, answer
                self.send_body(status, "application/json", json.dumps(answer).encode(), {})
            return
        body = self.read_body()
        if not self.is_admitted(self.path, body):
            return
        # The test may end it at any time.
        refusal = owner.refusal
        if refusal is not None:
            status, code, detail, seconds = refusal
            self.send_problem(status, code, detail, {"Retry-After": str(seconds)})
        else:
            stream = owner.begin_stream(body["feeds"])
            try:
                self.stream(stream)
            except OSError:
                pass
            finally:
                owner.end_stream(stream)
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
        if ".." in name or path.suffix not in TYPES or not path.is_file():
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
