"""An app on another origin, with a token for two feeds: its rights and their limits."""

import http.server
import json
import pathlib
import tempfile
import threading
import time
import unittest

import jwt
from confluent_kafka import Producer
from selenium.webdriver.support.ui import WebDriverWait

from inspector import PATIENCE_SECONDS
from replay import ROOT
from support import shared_browser
from test_daemon import URL, Feedstore

SECRET = "a secret of at least 32 bytes, known to who makes tokens"
CLIENT = ROOT / "clients" / "js" / "src"
APP = pathlib.Path(__file__).with_name("other-origin.mjs")


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_page = self.path == "/"
        file = APP if self.path == "/app.js" else CLIENT / self.path[1:]
        content = b'<script type="module" src="/app.js"></script>' if is_page else file.read_bytes() if file.is_file() else b""
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if is_page else "text/javascript")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class OtherOriginTests(unittest.TestCase):
    def setUp(self):
        site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        threading.Thread(target=site.serve_forever).start()
        self.addCleanup(site.server_close)
        self.addCleanup(site.shutdown)
        self.port = site.server_port
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        keys = pathlib.Path(folder.name) / "keys.json"
        keys.touch(mode=0o600)
        encoded = jwt.utils.base64url_encode(SECRET.encode()).decode()
        keys.write_text(json.dumps({"keys": [{"kty": "oct", "k": encoded}]}))
        settings = {
            "http.enabled": "true", "http.port": 0, "coalesce.window": 20, "http.writes.enabled": "true", "http.jwt.keys": keys,
            "http.allowedOrigins": f"http://localhost:{self.port}",
        }
        options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        daemon = Feedstore(self, "run", "--embedded", *options)
        self.producer = Producer({"bootstrap.servers": daemon.wait_for(r"^127\.0\.0\.1:\d+"), "partitioner": "murmur2"})
        self.base = daemon.wait_for(URL)
        self.driver = shared_browser()
        # The browser logs each refusal; those are not complaints about the tests that follow.
        self.addCleanup(self.driver.get_log, "browser")
        self.addCleanup(self.driver.get, "about:blank")

    def token(self, seconds=3600):
        rights = {"read": ["mine/*", "team"], "write": ["mine/*"]}
        return jwt.encode({"sub": "ada", "exp": int(time.time()) + seconds, "feedstore": rights}, SECRET, "HS256")

    def publish(self, feed, *items):
        for item in items:
            event = {"op": "item.upsert", "item": item, "section": "s"}
            self.producer.produce("feeds.items", key=feed, value=json.dumps(event))
        self.producer.flush()

    def open(self, host):
        self.driver.get(f"http://{host}:{self.port}/")
        self.wait("window.app")
        self.js("app.base = arguments[0]; app.token = arguments[1]", self.base, self.token())

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def ask(self, *arguments):
        script = "const done = arguments[arguments.length - 1]; app.ask(...[...arguments].slice(0, -1)).then(done)"
        answer = self.driver.execute_async_script(script, *arguments)
        return answer["status"], answer

    def wait(self, condition, *arguments):
        WebDriverWait(self.driver, PATIENCE_SECONDS, 0.05).until(lambda _: self.js(f"return {condition}", *arguments), condition)

    def wait_for_items(self, feed, *items):
        self.wait("String(app.items(arguments[0])) === arguments[1]", feed, ",".join(items))

    def test_an_app_sees_and_changes_what_its_token_allows(self):
        self.publish("mine/list", "a")
        self.publish("team", "t")
        self.publish("secret", "hidden")
        self.open("localhost")
        while json.loads(self.ask("/v1/feeds")[1]["content"] or "{}").get("count") != 2:
            pass
        # The third feed, by any route.
        feeds = json.loads(self.ask("/v1/feeds")[1]["content"])["feeds"]
        self.assertEqual([(feed["feed"], feed.get("writable")) for feed in feeds], [("mine/list", True), ("team", None)])
        self.assertEqual(json.loads(self.ask("/v1/feeds?search=secret")[1]["content"])["count"], 0)
        unknown = self.ask("/v1/feeds/unknown")
        for path in ("secret", "secret/changes", "%73ecret"):
            status, answer = self.ask(f"/v1/feeds/{path}")
            self.assertEqual((status, answer["content"]), (403, unknown[1]["content"]))
        for path in ("/metrics", "/v1/status", "/v1/rejected"):
            self.assertEqual(self.ask(path)[0], 403)
        self.js("app.follow(['mine/list', 'team', 'secret'])")
        self.wait_for_items("mine/list", "a")
        self.wait_for_items("team", "t")
        self.wait("app.events.some((it) => it.event === 'forbidden' && it.feed === 'secret' && it.reason === 'not-allowed')")
        stream = self.js("return app.events.find((it) => it.event === 'stream').stream")
        status, answer = self.ask(f"/v1/streams/{stream}", {"add": [{"feed": "secret", "first": 1}]}, {}, "PATCH")
        self.assertEqual(status, 200)

        # It writes to one feed, and sees that its change is real.
        write = {"op": "item.upsert", "item": "b", "section": "s"}
        wait = {"Prefer": "wait=30", "Content-Type": "application/json"}
        status, answer = self.ask("/v1/feeds/mine%2Flist/events", write, wait)
        self.assertEqual((status, json.loads(answer["content"])["revision"]), (200, 2))
        self.wait_for_items("mine/list", "a", "b")
        self.assertEqual(self.ask("/v1/feeds/mine%2Flist/events", {"op": "item.upsert", "item": "c"}, wait)[0], 422)
        for feed in ("team", "secret", "unknown"):
            self.assertEqual(self.ask(f"/v1/feeds/{feed}/events", write, wait)[0], 403)

        # Its token expires, and it continues with another one.
        seconds, status = 1, 401
        while status == 401:
            # On a busy machine it may end before it arrives.
            seconds *= 2
            self.js("app.token = arguments[0]", self.token(seconds))
            status = self.ask(f"/v1/streams/{stream}", {}, {}, "PATCH")[0]
        self.assertEqual(status, 200)
        self.wait("app.hasEnded")
        ended = self.js("return app.events.filter((it) => it.reason === 'token-expired').map((it) => it.feed)")
        self.assertEqual(sorted(ended), ["mine/list", "team"])
        self.assertEqual(self.ask("/v1/feeds")[0], 401)
        self.publish("mine/list", "c", "d")
        self.publish("team", "u")
        self.js("app.token = arguments[0]; app.follow(['mine/list', 'team'])", self.token())
        self.wait_for_items("mine/list", "a", "b", "c", "d")
        self.wait_for_items("team", "t", "u")
        # Only the first state is a reload: missed changesets arrived as changes.
        for modes in self.js("return Object.values(app.modes)"):
            self.assertEqual(["reload"], [mode for mode in modes if mode == "reload"])
        self.assertEqual(self.js("return Object.keys(app.replicas).sort()"), ["mine/list", "team"])

    def test_a_page_of_an_origin_that_is_not_listed_reads_nothing(self):
        self.publish("mine/list", "a")
        self.open("127.0.0.1")
        for path in ("/v1/feeds", "/v1/feeds/mine%2Flist", "/livez"):
            self.assertEqual(self.ask(path)[0], 0)


if __name__ == "__main__":
    unittest.main()
