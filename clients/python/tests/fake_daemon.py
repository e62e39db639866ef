"""A daemon that does what a test says: it answers each request, or makes a stream of it."""

import contextlib
import http.server
import json
import logging
import queue
import socket
import threading
import unittest

from support import PATIENCE_SECONDS, Seen, reload, section

from feedstore import FeedStore

TWO = [section("top", "a", "b", "c"), section("more")]
CHANGED = [section("top", ("a", 7), "b", "c"), section("more")]
CHANGE = {"mode": "reconfigure", "items": {"reconfigure": [{"id": "a", "section": "top", "index": 0, "data": 7}]}}


class Asked:
    """A request. What a test sends goes to the client in pieces."""

    def __init__(self, handler):
        self.method, self.path, self.headers, self.connection = handler.command, handler.path, handler.headers, handler.connection
        text = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        self.content = json.loads(text) if text else None
        self.token = self.headers.get("Authorization")
        self._pieces = queue.SimpleQueue()

    def reply(self, status, value, **headers):
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        lines = {"Content-Length": len(text), **{name.replace("_", "-"): header for name, header in headers.items()}}
        head = "".join(f"{name}: {header}\r\n" for name, header in lines.items())
        self._pieces.put(f"HTTP/1.1 {status} -\r\n{head}\r\n".encode() + text)
        self._pieces.put(None)

    def open(self):
        """Begins a stream."""
        self._pieces.put(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        self.raw("retry: 1\n\n")
        self.send("stream", {"stream": "s"})
        return self

    def raw(self, text):
        data = text.encode()
        self._pieces.put(b"%x\r\n%s\r\n" % (len(data), data))

    def send(self, name, value):
        self.raw(f"event: {name}\ndata: {json.dumps(value)}\n\n")

    def message(self, *texts, view="1"):
        for text in texts:
            self.raw(f'data: {{"view":"{view}",{text[1:]}\n\n')

    def up_to_date(self, view="1"):
        self.send("up-to-date", {"view": view, "feed": "news", "partition": 0})

    def cut(self):
        """Without the last chunk, as when a process is killed."""
        self._pieces.put(None)

    def serve(self):
        with contextlib.suppress(OSError):
            while (piece := self._pieces.get()) is not None:
                self.connection.sendall(piece)
            self.connection.shutdown(socket.SHUT_RDWR)


class FakeDaemon:
    def __init__(self):
        asked = self._asked = queue.Queue()

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def serve(self):
                request = Asked(self)
                asked.put(request)
                request.serve()

            do_GET = do_POST = do_PATCH = serve

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def next(self, method=None):
        """The next request."""
        request = self._asked.get(timeout=PATIENCE_SECONDS)
        assert method in (None, request.method), f"{request.method} {request.path} {request.content}"
        return request

    def stream(self):
        return self.next("POST").open()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


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

    def followed(self, store=None, sections=TWO, totals=None, **more):
        """A feed that is live, its updates, and its stream."""
        feed = (store or self.store()).feed("news", **more)
        seen = Seen(feed)
        stream = self.daemon.stream()
        stream.message(reload("news", sections, **({"window": totals} if totals else {})))
        stream.up_to_date()
        seen.live()
        return feed, seen, stream
