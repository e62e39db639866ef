"""feedstore-follow of the JavaScript client, with a server that fails as the test requires."""

import http.server
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import unittest

import xxhash

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python" / "tests"))

from support import PATIENCE_SECONDS, ROOT  # noqa: E402

COMMAND = [os.environ.get("NODE", "node"), ROOT / "clients" / "js" / "bin" / "feedstore-follow.mjs"]
CHECKSUM_OF_S = xxhash.xxh32_hexdigest(b"s\0\0s")


def event(name, **members):
    return f"event: {name}\ndata: {json.dumps(members)}\n\n"


def reload(feed, epoch):
    """An event with an empty feed."""
    changeset = {
        "feed": feed, "epoch": epoch, "revision": 1, "base": 1, "mode": "reload", "reason": "keyframe",
        "time": "2026-11-20T10:00:00.000Z", "through": {}, "checksum": "00000000"}
    return f"id: {epoch}@1\ndata: {json.dumps(changeset)}\n\n"


UP_TO_DATE = event("up-to-date", feed="f")
MUST_REFETCH = event("must-refetch", feed="f", reason="the test wants it")
ABSENT = event("absent", feed="f", reason="unknown-feed")


class Server(http.server.ThreadingHTTPServer):
    """Answers each request with `answer`; its port is closed before `server_activate`."""

    daemon_threads = True

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self.server_bind()
        self.answer = answer
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)

    def listen(self):
        self.server_activate()
        self.thread.start()

    def close(self):
        if self.thread.is_alive():
            self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        """Status and events; None closes the connection without a response. A stream ends after its events."""
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, events = self.server.answer([asked["feed"] for asked in content["feeds"]])
        if status is None:
            return
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream" if status == 200 else "application/problem+json")
        self.end_headers()
        views = {asked["feed"]: asked["view"] for asked in content["feeds"]}
        # Reconnects so soon that a test sees many attempts.
        begin = ["retry: 10\n\n", event("stream", stream="1")]
        for text in itertools.chain(begin, events) if status == 200 else ["{}"]:
            feed = re.search(r'"feed": "(.*?)"', text)
            if feed is not None:
                text = text.replace("data: {", f'data: {{"view":"{views[feed[1]]}",', 1)
            self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


class Follower:
    """The running command, and its output."""

    def __init__(self, *arguments):
        self.lines, self.errors, self.changed = [], [], threading.Condition()
        self.process = subprocess.Popen(
            [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        pipes = [(self.process.stdout, self.lines), (self.process.stderr, self.errors)]
        self.readers = [threading.Thread(target=self.read, args=pipe) for pipe in pipes]
        for reader in self.readers:
            reader.start()

    def read(self, pipe, lines):
        for line in pipe:
            with self.changed:
                lines.append(line.rstrip("\n"))
                self.changed.notify_all()

    def wait(self, condition):
        with self.changed:
            return self.changed.wait_for(condition, PATIENCE_SECONDS)

    def close(self):
        """Ends it, after which its output is complete."""
        self.process.terminate()
        self.process.wait()
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


class PageTests(unittest.TestCase):
    def serve(self, answer):
        server = Server(answer)
        self.addCleanup(server.close)
        return server

    def follow(self, *arguments):
        follower = Follower(*arguments)
        self.addCleanup(follower.close)
        return follower

    def test_an_invalid_url_is_refused_at_once(self):
        for url in ["notaurl", "localhost:8321", "ftp://localhost", "http://", "http://localhost:99999", "http://a:b@c"]:
            with self.subTest(url):
                result = subprocess.run(
                    [*COMMAND, url, "news"], capture_output=True, encoding="utf-8", timeout=PATIENCE_SECONDS)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(f'"{url}" is not the URL of a daemon', result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_an_unreachable_daemon_is_reported_once_for_each_outage(self):
        attempts, changed = [], threading.Condition()
        is_up = threading.Event()
        is_down = threading.Event()
        is_up.set()

        def answer(feeds):
            if is_up.is_set():
                return 200, events(feeds)
            with changed:
                attempts.append(feeds)
                changed.notify_all()
            return None, []

        def events(feeds):
            for feed in feeds:
                yield reload(feed, "t/0")
            # The stream is open until the daemon stops.
            is_down.wait(PATIENCE_SECONDS)

        server = self.serve(answer)
        follower = self.follow(server.url + "/", "a", "b")
        # The server is not listening yet.
        self.assertTrue(follower.wait(lambda: follower.errors), "it does not report that the server is unreachable")
        server.listen()
        self.assertTrue(follower.wait(lambda: len(follower.lines) == 2), "it does not go on trying")
        self.assertEqual(
            sorted(follower.lines), [f"{feed} reload revision 1: 0 sections, 0 items" for feed in "ab"])
        self.assertEqual(len(follower.errors), 1)
        # It stops, and many attempts fail.
        is_up.clear()
        is_down.set()
        with changed:
            asked = changed.wait_for(lambda: len(attempts) >= 4, PATIENCE_SECONDS)
        self.assertTrue(asked, f"it does not go on trying: {attempts}")
        follower.close()
        self.assertEqual(len(follower.errors), 2, follower.errors)
        for line in follower.errors:
            self.assertRegex(line, f"cannot reach {server.url}/;.* trying again")

    def test_an_error_response_is_reported_once_until_it_changes(self):
        answers = iter([
            (200, [ABSENT]), (200, [reload("f", "t/0"), UP_TO_DATE]), (503, []), (503, []), (400, []), (503, []),
            (200, [reload("f", "t/1"), UP_TO_DATE]), (503, []),
        ])
        is_over = threading.Event()

        def answer(_):
            found = next(answers, None)
            if found is None:
                is_over.set()
            return found or (503, [])

        server = self.serve(answer)
        server.listen()
        follower = self.follow(server.url, "f")
        self.assertTrue(is_over.wait(PATIENCE_SECONDS), follower.lines)
        follower.close()
        shown = "f reload revision 1: 0 sections, 0 items"
        self.assertEqual(follower.lines, ["f: absent", shown, shown])
        unavailable, refused = (f"feedstore-follow: f: {text}" for text in (
            "unavailable: the daemon answered 503", "bad-request: the daemon answered 400"))
        errors = [line for line in follower.errors if "cannot reach" not in line]
        self.assertEqual(errors, [unavailable, refused, unavailable, unavailable])

    def test_json_reports_a_missing_and_a_deleted_feed(self):
        delete = {**json.loads(reload("f", "t/0").split("data: ")[1]), "revision": 2, "mode": "delete"}
        answers = iter([
            (200, [ABSENT]), (200, [ABSENT]),
            # It is deleted while it is followed, and created again.
            (200, [reload("f", "t/0"), UP_TO_DATE, f"data: {json.dumps(delete)}\n\n", UP_TO_DATE]), (200, [ABSENT]),
            # It is deleted while the follower is disconnected, once after its state was declared outdated.
            (200, [reload("f", "t/1"), UP_TO_DATE]), (None, []), (200, [ABSENT]), (503, []), (200, [ABSENT]),
            (200, [reload("f", "t/2"), UP_TO_DATE, MUST_REFETCH]), (200, [ABSENT]),
            (200, [reload("f", "t/3"), UP_TO_DATE]),
        ])
        server = self.serve(lambda _: next(answers, (503, [])))
        server.listen()
        follower = self.follow(server.url, "f", "--json")
        self.assertTrue(follower.wait(lambda: any("t/3" in line for line in follower.lines)), follower.lines)
        gone = {"feed": "f", "mode": "delete"}
        states = [
            {"feed": "f", "epoch": f"t/{life}", "revision": 1, "checksum": "00000000", "sections": []}
            for life in range(4)]
        expected = [{"feed": "f", "error": "absent"}, states[0], gone, states[1], gone, states[2], gone, states[3]]
        self.assertEqual([json.loads(line) for line in follower.lines], expected)
        error = "feedstore-follow: f: unavailable: the daemon answered 503"
        self.assertTrue(follower.wait(lambda: error in follower.errors), follower.errors)

    def test_a_standard_output_that_cannot_be_written_is_an_error(self):
        server = self.serve(lambda _: (200, [reload("f", "t/0"), UP_TO_DATE]))
        server.listen()
        reader, closed = os.pipe()
        os.close(reader)
        with open("/dev/full", "wb") as full, open(closed, "wb") as closed:
            for output, code, text in ((full, 1, b"cannot write standard output: "), (closed, 0, b"")):
                run = subprocess.run([*COMMAND, server.url, "f"], stdout=output, stderr=subprocess.PIPE, check=False)
                self.assertEqual(run.returncode, code, run.stderr)
                self.assertIn(text, run.stderr)

    def test_data_is_printed_as_it_is_spelled_whatever_its_depth(self):
        data = f'[9007199254740993,1e400,1.0,-0,{{"10":1,"9":2,"9":"\\u00e9"}},{"[" * 20_000 + "]" * 20_000}]'
        change = json.loads(reload("f", "t/0").split("data: ")[1])
        # The checksum of one section s, from xxHash.
        whole = json.dumps({**change, "checksum": CHECKSUM_OF_S})[:-1] + f',"sections":[{{"id":"s","data":{data}}}]}}'
        answers = iter([(200, [f"data: {whole}\n\n", UP_TO_DATE])])
        server = self.serve(lambda _: next(answers, (503, [])))
        server.listen()
        follower = self.follow(server.url, "f", "--json")
        self.assertTrue(follower.wait(lambda: follower.lines), follower.errors)
        self.assertIn(f'"sections":[{{"id":"s","data":{data},"items":[]}}]}}', follower.lines[0])

    def test_a_token_that_is_refused_ends_it_with_exit_code_1(self):
        server = self.serve(lambda _: (401, []))
        server.listen()
        for options in ([], ["--json"]):
            with self.subTest(options):
                result = subprocess.run(
                    [*COMMAND, server.url, "f", *options], capture_output=True, encoding="utf-8", timeout=PATIENCE_SECONDS)
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assertEqual(result.stderr, "feedstore-follow: f: the daemon answered 401\n")


if __name__ == "__main__":
    unittest.main()
