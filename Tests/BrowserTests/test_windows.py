"""Windows of feeds, and streams of many feeds, in a browser, served by feedstore itself."""

import json
import re
import urllib.request

from confluent_kafka import Producer
from selenium.webdriver.common.keys import Keys

from inspector import Inspector
from support import BrowserTest
from test_daemon import URL, Feedstore

FEW = 10
MANY = 1_000_000
BATCH = 2000

FOLLOW = """
    const [feeds, done] = arguments;
    import('/client/index.js').then(({ FeedStore }) => {
      window.reloads = 0;
      window.store = new FeedStore(location.origin, { onMessage: (_, name, { mode }) => { if (mode === 'reload') reloads += 1; } });
      window.feeds = feeds.map((feed) => store.feed(feed, { first: 3 }));
      for (const feed of window.feeds) feed.subscribe(() => {});
      done();
    });
"""
ITEMS = "return Object.fromEntries(feeds.map(({ id, view }) => [id, view.sections.flatMap(({ items }) => items.map(({ id }) => id))]))"


class WindowTests(BrowserTest):
    def setUp(self):
        super().setUp()
        daemon = Feedstore(
            self, "run", "--embedded", "--set", "http.enabled=true", "--set", "http.port=0", "--set", "coalesce.window=20",
            "--set", "limits.maxItems=2000000",
            # The embedded broker keeps 5 MiB, and a keyframe of a million items has 40: the server might miss a part of it.
            "--set", "planner.maxChanges=2000000", "--set", "keyframe.maxDeltas=500000", "--set", "keyframe.maxBytesRatio=1000000",
        )
        self.producer = Producer({"bootstrap.servers": daemon.wait_for(r"^127\.0\.0\.1:\d+"), "linger.ms": 0})
        self.url = daemon.wait_for(URL)
        self.page = Inspector(self.driver, self.url)
        self.page.emulate()
        self.addCleanup(self.leave, self.page)

    def send(self, feed, *events):
        self.producer.produce("feeds.items", key=feed, value=json.dumps(events, separators=(",", ":")), partition=0)
        self.producer.flush()

    def read(self, path):
        with urllib.request.urlopen(self.url + path) as answer:
            return answer.read().decode()

    def content_bytes(self):
        """The server's messages so far."""
        return int(re.search(r"^feedstore_http_content_bytes_total ([0-9]+)", self.read("/metrics"), re.MULTILINE)[1])

    def wait_for_rows(self):
        """Waits until every row on the screen has its item, in the feed's order."""
        def expected(index):
            number = index - 1 if index <= FEW else index - 2
            return {0: "few", FEW + 1: "many"}.get(index, f"item{number}")

        def are_there():
            rows = self.page.drawn()
            return len(rows) > 20 and all((row["item"] or row["section"]) == expected(row["index"]) for row in rows)

        self.page.wait_for_frame()
        self.page.wait(are_there, f"the rows are {self.page.drawn()}")

    def test_a_feed_of_a_million_items_opens_with_what_is_on_the_screen(self):
        page, last = self.page, FEW + MANY - 1
        self.send("large", *({"op": "item.upsert", "item": f"item{number}", "section": "few"} for number in range(FEW)))
        for start in range(FEW, FEW + MANY, BATCH):
            self.send("large", *(
                {"op": "item.upsert", "item": f"item{number}", "section": "many"} for number in range(start, start + BATCH)))
        page.wait(
            lambda: [feed["items"] for feed in json.loads(self.read("/v1/feeds"))["feeds"]] == [FEW + MANY], "the feed is not complete")

        before = self.content_bytes()
        page.follow("large")
        self.wait_for_rows()
        self.assertEqual((page.text("#fact-items"), page.text("#fact-sections")), (f"{FEW + MANY:,}", "2"))
        self.assertTrue(page.is_shown("#coverage"))
        for fraction in (0.5, 1, 0.25, 0, 0.5):
            page.scroll_to(fraction)
            self.wait_for_rows()
        # The files of the page, too.
        self.assertLess(self.content_bytes() - before, 1_000_000)

        # Changes in the middle, and at the end.
        middle = page.drawn()[20]["item"]
        self.send("large", {"op": "item.upsert", "item": middle, "data": {"n": 1}})
        page.wait(lambda: page.changes() == {middle: "reconfigured"}, "the change is not shown")
        self.send("large", {"op": "item.upsert", "item": "new", "section": "many", "at": {"before": middle}})
        page.wait(lambda: page.changes().get("new") == "inserted", "the new item is not shown")
        ids = [row["item"] for row in page.drawn()]
        self.assertEqual(ids.index("new") + 1, ids.index(middle))
        page.wait_for_text("#fact-items", f"{FEW + MANY + 1:,}")
        page.click("#rows")
        page.press(Keys.END)
        page.wait(lambda: page.active_row() == f"item{last}", "End does not lead to the end")
        self.send("large", {"op": "item.upsert", "item": "at the end", "section": "many"})
        page.wait_for_text("#fact-items", f"{FEW + MANY + 2:,}")
        page.press(Keys.END)
        page.wait(lambda: page.active_row() == "at the end", "the new end is not shown")
        self.send("large", {"op": "item.delete", "item": "new"}, {"op": "item.delete", "item": "at the end"})
        page.wait(lambda: page.drawn()[-1]["item"] == f"item{last}", "the deleted item stays")
        page.press(Keys.UP)
        page.wait(lambda: page.active_row() == f"item{last - 1}", "the row before is not active")

        # Eight tabs at once.
        first = self.driver.current_window_handle
        for number in range(7):
            self.driver.switch_to.new_window("tab")
            self.addCleanup(self.close_window, self.driver.current_window_handle)
            page.follow("large")
            page.scroll_to(number / 7)
            self.wait_for_rows()
        self.driver.switch_to.window(first)
        self.send("large", {"op": "item.upsert", "item": f"item{last}", "data": {"n": 2}})
        page.wait(lambda: "{n: 2}" in page.drawn()[-1]["data"], "the first tab does not follow")

    def test_one_stream_has_forty_feeds(self):
        page, feeds = self.page, [f"feed{number}" for number in range(40)]

        def send(feed, *items):
            self.send(feed, *({"op": "item.upsert", "item": item, "section": "s", "at": "first"} for item in items))

        for feed in feeds[1:]:
            send(feed, *"abcde")
        page.open()
        self.driver.execute_async_script(FOLLOW, feeds)
        expected = {feed: ["e", "d", "c"] for feed in feeds[1:]} | {feeds[0]: []}
        page.wait(lambda: page.run(ITEMS) == expected, "the feeds do not come")
        for feed in feeds:
            send(feed, "f")
        expected = {feed: ["f", "e", "d"] for feed in feeds[1:]} | {feeds[0]: ["f"]}
        page.wait(lambda: page.run(ITEMS) == expected, "the changes do not come")
        self.assertEqual(page.run("return reloads"), len(feeds))
        self.assertIn("feedstore_http_streams 1\n", self.read("/metrics"))
        page.run("store.close()")
