"""The page served by feedstore itself, with feeds from Kafka."""

import json
import re
import subprocess
import threading
import urllib.error
import urllib.request

from confluent_kafka import Producer
from selenium.webdriver.common.keys import Keys

from inspector import PATIENCE_SECONDS, Inspector
from replay import FEEDSTORE
from support import BrowserTest

URL = re.compile(r"http://127\.0\.0\.1:\d+")


class Feedstore:
    """A command that serves the page during a test."""

    def __init__(self, test, *arguments):
        self.process = subprocess.Popen(
            [str(FEEDSTORE), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
        )
        test.addCleanup(self.end)
        self.lines, self.is_over, self.changed = [], False, threading.Condition()
        # All of it is read: a full pipe would stop the command.
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()
        with self.changed:
            self.is_over = True
            self.changed.notify_all()

    def wait_for(self, pattern):
        """The first match in its output."""
        def found():
            return next(filter(None, (re.search(pattern, line) for line in self.lines)), None)

        with self.changed:
            self.changed.wait_for(lambda: found() or self.is_over, PATIENCE_SECONDS)
            if match := found():
                return match.group()
        raise AssertionError(f"it does not print {pattern}, but: {''.join(self.lines)}")

    def end(self):
        self.process.terminate()
        self.reader.join()
        self.process.stdout.close()
        self.process.wait()


class DaemonTests(BrowserTest):
    def open(self, url):
        page = Inspector(self.driver, url)
        page.emulate()
        self.addCleanup(self.leave, page)
        return page

    def test_the_demo_prints_the_url_of_the_page_and_its_feeds_change(self):
        demo = Feedstore(self, "demo", "--loop")
        page = self.open(demo.wait_for(URL))
        page.follow("newsroom/home")
        page.wait(lambda: len(page.all('[data-testid="changeset"][data-mode="diff"]')) >= 3, "nothing changes")
        page.wait(lambda: page.changes(), "no row is lit")
        # The list is requested by itself, and may be of a time before there were feeds.
        page.wait(lambda: "shop/orders" in page.feeds(), "the other feed is not listed")
        page.screenshot("demo")

    def test_records_sent_to_kafka_appear(self):
        daemon = Feedstore(
            self, "run", "--embedded", "--set", "http.enabled=true", "--set", "http.port=0", "--set", "coalesce.window=20",
        )
        broker = daemon.wait_for(r"^127\.0\.0\.1:\d+")
        url = daemon.wait_for(URL)
        producer = Producer({"bootstrap.servers": broker})

        def send(*events):
            producer.produce("feeds.items", key="a/b", value=json.dumps(events), partition=0)
            producer.flush()

        page = self.open(url)
        page.open()
        page.wait_for_text("#feeds-summary", "No feeds yet")
        send(*({"op": "item.upsert", "item": name, "section": "s", "kind": "k", "data": {"n": 1}} for name in "abcd"))
        page.wait(lambda: page.feeds() == ["a/b"], "the feed does not appear")
        page.follow("a/b")
        page.wait(lambda: page.items() == {"s": ["a", "b", "c", "d"]}, "the items do not appear")
        send(
            {"op": "item.patch", "item": "a", "data": {"n": 2}},
            {"op": "item.upsert", "item": "b", "kind": "other"},
            {"op": "item.upsert", "item": "new", "section": "s", "at": "first"},
            {"op": "item.move", "item": "d", "at": {"after": "a"}},
        )
        page.wait_for_revision(2)
        page.wait(lambda: page.items() == {"s": ["new", "a", "d", "b", "c"]}, "the change does not appear")
        self.assertIn(" as a difference, ", page.text('[data-revision="2"]'))
        changes = page.changes()
        self.assertEqual(set(changes), {"a", "b", "d", "new"})
        for item, change in (("a", "reconfigured"), ("b", "reloaded"), ("new", "inserted"), ("d", "moved")):
            self.assertIn(change, changes[item])
        with urllib.request.urlopen(f"{url}/v1/feeds/a%2Fb") as answer:
            state = json.load(answer)
        self.assertEqual([item["id"] for item in state["sections"][0]["items"]], page.items()["s"])
        self.assertEqual(state["revision"], 2)
        page.wait_for_text("#tile-records", "2")

    def test_items_are_changed_in_the_page(self):
        daemon = Feedstore(
            self, "run", "--embedded", "--set", "http.enabled=true", "--set", "http.port=0", "--set", "coalesce.window=20",
            "--set", "http.writes.enabled=true",
        )
        # Where the daemon writes, too.
        producer = Producer({"bootstrap.servers": daemon.wait_for(r"^127\.0\.0\.1:\d+"), "partitioner": "murmur2_random"})
        url = daemon.wait_for(URL)
        events = [{"op": "item.upsert", "item": name, "section": "s", "data": {"n": 1}} for name in "abc"]
        producer.produce("feeds.items", key="x/y", value=json.dumps(events))
        producer.flush()
        page = self.open(url)
        page.open()
        page.wait(lambda: page.feeds() == ["x/y"], "the feed does not appear")
        page.follow("x/y")
        page.wait_for("#rows[data-writable]")
        page.activate("a")
        page.press_with(Keys.ALT, Keys.ARROW_DOWN)
        page.wait(lambda: page.items() == {"s": ["b", "a", "c"]}, "it does not move")
        page.wait_for_edit("a", None)
        page.press("e")
        page.save_data('{"n":1.0}')
        page.wait(lambda: "1.0" in page.text('[data-item="a"] pre'), "the data does not change")
        page.wait_for_edit("a", None)
        # The browser takes it for JSON, and the daemon does not.
        page.press("e")
        page.save_data('"\\ud800"')
        page.wait_for_edit("a", "refused")
        page.wait_for_text('[data-item="a"] [role="alert"]', "invalid-json: ")
        page.activate("c")
        page.press(Keys.DELETE)
        page.wait_for_frame()
        page.press(Keys.ENTER)
        page.wait(lambda: page.items() == {"s": ["b", "a"]}, "it is not deleted")
        page.wait_for_revision(4)
        with urllib.request.urlopen(f"{url}/v1/feeds/x%2Fy") as answer:
            self.assertIn(b'"items":[{"id":"b","kind":"","data":{"n":1}},{"id":"a","kind":"","data":{"n":1.0}}]', answer.read())

    def test_rejected_records_are_served_and_shown(self):
        daemon = Feedstore(
            self, "run", "--embedded", "--set", "http.enabled=true", "--set", "http.port=0", "--set", "coalesce.window=20",
        )
        producer = Producer({"bootstrap.servers": daemon.wait_for(r"^127\.0\.0\.1:\d+")})
        url = daemon.wait_for(URL)

        def answer(path="/v1/rejected"):
            with urllib.request.urlopen(url + path) as response:
                return json.load(response)["rejected"]

        self.assertEqual(answer(), [])
        # The 4096th byte is within a character.
        long = '{"op":"item.upsert","item":"i","x":1.0,"y":"' + "x" * 4051 + "\u00e9\u00e9" + '"}'
        values = [*(f'{{"op":"item.upsert","item":"{number}","data":1e400}}' for number in range(101)), "\xff", long]
        for value in values:
            producer.produce("feeds.items", key="hn", value=value.encode("latin-1" if value == "\xff" else "utf-8"), partition=0)
        producer.flush()
        page = self.open(url)
        page.open()
        page.wait_for_text("#rejected-button", "103 rejected")
        found = answer()
        self.assertEqual([one["source"]["offset"] for one in found], list(range(102, 2, -1)))
        self.assertEqual(found[0]["value"], long[:4095])
        self.assertEqual(found[0]["valueBytes"], len(long.encode()))
        self.assertEqual((found[1]["code"], found[1]["value"]), ("invalid-utf8", "\ufffd"))
        self.assertEqual((found[2]["code"], found[2]["key"], found[2]["value"]), ("unknown-section", "hn", values[100]))
        self.assertEqual(answer("/v1/rejected?limit=2"), found[:2])
        with self.assertRaises(urllib.error.HTTPError) as refused:
            answer("/v1/rejected?limit=101")
        self.assertEqual(refused.exception.code, 400)
        page.click("#rejected-button")
        page.wait(lambda: len(page.all("#rejected li")) == 100, "they are not shown")
        self.assertIn('"data":1e400', page.text("#rejected li:nth-child(3)"))
