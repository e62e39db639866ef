"""A daemon that does what a test says: streams that a test writes, cuts and ends, and answers that are errors."""

import contextlib
import http.server
import json
import logging
import queue
import socket
import threading
import types
import unittest

from support import PATIENCE_SECONDS, Seen, reload, section

from feedstore import FeedStore

TWO = [section("top", "a", "b", "c"), section("more")]
CHANGED = [section("top", ("a", 7), "b", "c"), section("more")]
CHANGE = {"mode": "reconfigure", "items": {"reconfigure": [{"id": "a", "section": "top", "index": 0, "data": 7}]}}


class Stream:
    """A stream that a client has opened."""

    def __init__(self, body, headers):
        self.feeds = body.get("feeds", [])
        self.token = headers.get("Authorization")
        self._pieces = queue.SimpleQueue()
        self.has_ended = threading.Event()

    def send(self, name, value):
        data = value if isinstance(value, str) else json.dumps(value)
        self.raw(f"event: {name}\ndata: {data}\n\n")

    def message(self, *texts):
        for text in texts:
            self.raw(f"data: {text}\n\n")

    def up_to_date(self, feed, **more):
        self.send("up-to-date", {"feed": feed, "partition": 0, **more})

    def raw(self, text):
        self._pieces.put(text.encode())

    def end(self):
        self._pieces.put(None)

    def cut(self):
        """Without the last chunk, as when a process is killed."""
        self._pieces.put(ConnectionError())

    def serve(self, handler):
        try:
            while (piece := self._pieces.get()) is not None:
                if isinstance(piece, Exception):
                    handler.connection.shutdown(socket.SHUT_RDWR)
                    return
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            handler.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass
        finally:
            self.has_ended.set()


class FakeDaemon:
    def __init__(self):
        self.streams, self.patches, self.writes = queue.Queue(), queue.Queue(), queue.Queue()
        #: What is answered instead, to the next requests of a kind: status and content.
        self.answers = {"POST": queue.SimpleQueue(), "PATCH": queue.SimpleQueue()}
        self.numbers = iter(range(1_000_000))
        daemon = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def content(self):
                return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

            def answer(self, status, value, **headers):
                text = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                for name, header in {"Content-Type": "application/json", "Content-Length": str(len(text)), **headers}.items():
                    self.send_header(name.replace("_", "-"), header)
                self.end_headers()
                self.wfile.write(text)

            def do_POST(self):
                content = self.content()
                if self.path.endswith("/events"):
                    write = Asked(self.path, content, self.headers)
                    daemon.writes.put(write)
                    answer = write.answer.get()
                    if answer is None:
                        self.connection.shutdown(socket.SHUT_RDWR)
                    else:
                        self.answer(*answer)
                    return
                stream = Stream(content, self.headers)
                if not daemon.answers["POST"].empty():
                    status, value, headers = daemon.answers["POST"].get()
                    daemon.streams.put(stream)
                    self.answer(status, value, **headers)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.send_header("Connection", "close")
                self.end_headers()
                stream.connection = self.connection
                stream.raw("retry: 1\n\n")
                stream.send("stream", {"stream": f"stream{next(daemon.numbers)}"})
                daemon.streams.put(stream)
                stream.serve(self)

            def do_PATCH(self):
                daemon.patches.put(Asked(self.path, self.content(), self.headers))
                if daemon.answers["PATCH"].empty():
                    self.answer(200, {"added": [], "changed": [], "removed": []})
                else:
                    status, value, headers = daemon.answers["PATCH"].get()
                    self.answer(status, value, **headers)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stream(self):
        """The next stream that is opened, or refused."""
        return self.streams.get(timeout=PATIENCE_SECONDS)

    def patch(self):
        """The next change of a stream."""
        return self.patches.get(timeout=PATIENCE_SECONDS)

    def write(self):
        return self.writes.get(timeout=PATIENCE_SECONDS)

    def refuse(self, status, value, method="POST", **headers):
        """Answers the next request to a stream so."""
        self.answers[method].put((status, value, headers))

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Asked:
    def __init__(self, path, content, headers):
        self.path, self.content, self.headers = path, content, headers
        self.answer = queue.SimpleQueue()

    def reply(self, status, **value):
        self.answer.put((status, value))


class Clock:
    """Time as a test says, for the timers of a store."""

    def __init__(self, store):
        self._engine, self._now, self._timers = store._engine, 0, []
        self._engine.later, self._engine.now = self._later, lambda: self._now

    def _later(self, seconds, function):
        timer = types.SimpleNamespace(due=self._now + seconds, call=function)
        timer.cancel = lambda: timer in self._timers and self._timers.remove(timer)
        self._timers.append(timer)
        return timer

    @property
    def delays(self):
        return [timer.due - self._now for timer in self._timers]

    def advance(self, seconds):
        end = self._now + seconds

        def run():
            while (timer := min(self._timers, key=lambda one: one.due, default=None)) and timer.due <= end:
                self._now = timer.due
                timer.cancel()
                timer.call()
            self._now = end

        self._engine.run(run)


class StoreTest(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.daemon = self.new_daemon()
        logging.getLogger("feedstore").setLevel(logging.CRITICAL)

    def new_daemon(self):
        daemon = FakeDaemon()
        self.stack.callback(daemon.close)
        return daemon

    def store(self, *urls, **more):
        return self.stack.enter_context(FeedStore(urls or self.daemon.url, **more))

    def wait_for_end(self, stream):
        while not stream.has_ended.wait(0.01):
            stream.raw(": heartbeat\n")

    def followed(self, store=None, **more):
        """A feed that is live, its updates, and its stream."""
        feed = (store or self.store(**more)).feed("news")
        seen = Seen(feed)
        stream = self.daemon.stream()
        stream.message(reload("news", TWO))
        stream.up_to_date("news")
        seen.live()
        return feed, seen, stream
