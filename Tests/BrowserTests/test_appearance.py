"""
The appearance of the inspector: screenshots for review, in .build/screenshots, light and dark, wide and narrow, and of
difficult content. The tests only check that nothing overflows.
"""

from selenium.webdriver.common.keys import Keys

from fake_server import FakeServer
from inspector import DESKTOP, PHONE, Inspector, start_browser
from records import records, replaced, section, story
from replay import changesets, demo_history
from support import BrowserTest


LAPTOP = (1280, 800)
TABLET = (768, 1024)
REJECTED = {
    "time": "2026-11-20T10:00:00.250Z", "code": "unknown-section", "key": "a-long-key/" * 20,
    "message": "field 'section' is missing; a new item requires its section, and there is no item \"i\" yet",
    "value": '{"op":"item.upsert","item":"i","data":"' + "a long text " * 300, "valueBytes": 5000,
    "source": {"topic": "feeds.items", "partition": 0, "offset": 17},
}


def hard_feed():
    deep = "the bottom"
    for depth in range(80):
        deep = {"next": deep} if depth % 2 else [deep, depth]
    long_id = "a-very-long-id/" + "abcdefghij" * 23
    return long_id, records(
        replaced(
            section("\u05e2\u05d1\u05e8\u05d9\u05ea", [story("\u05e9\u05dc\u05d5\u05dd-1"), story("\u0645\u0631\u062d\u0628\u0627", note="\u0645\u0631\u062d\u0628\u0627 world")]),
            section("emoji \u2728", [story("\U0001f469\u200d\U0001f680"), story("e\u0301 and \u00e9")]),
            section(long_id, [
                story(long_id + "x"), {"id": "deep", "kind": "a-kind-with-a-long-name", "data": deep},
                {"id": "no data"}, {"id": "   spaces ", "data": "   "}, {"id": "control \u0001\t\u202e", "data": 1e300},
                {"id": "list", "data": list(range(1000))}, {"id": "long text", "data": "words and more words " * 500},
            ]),
        ),
        {"op": "item.patch", "item": "deep", "data": {"new": long_id}},
        {"op": "item.upsert", "item": "list", "data": [1, 2, 3], "at": "first"},
        feed=long_id,
    )


class AppearanceTests(BrowserTest):
    def assert_fits(self, page):
        sizes = page.run("""
            const { scrollWidth, scrollHeight, clientWidth, clientHeight } = document.documentElement;
            return [scrollWidth, clientWidth, scrollHeight, clientHeight];
        """)
        self.assertLessEqual(sizes[0], sizes[1], f"the page is too wide: {sizes}")
        self.assertLessEqual(sizes[2], sizes[3], "the page is too tall")
        outside = page.run("""
            const isSeen = (it) => it.checkVisibility({ visibilityProperty: true });
            return [...document.querySelectorAll('button, input, .tile, .note, .entry, .row, h2')].filter((it) => {
              const { left, right } = it.getBoundingClientRect();
              return isSeen(it) && !it.matches('.skip') && (left < -1 || right > innerWidth + 1);
            }).map((it) => it.outerHTML.slice(0, 100));
        """)
        self.assertEqual(outside, [])

    def shoot(self, page, name):
        page.screenshot(name)
        self.assert_fits(page)

    def test_an_item_that_is_changed(self):
        long_id, found = hard_feed()
        server, page = self.serve_published(changesets(found))
        server.on_write = lambda feed, text: (422, {"code": "limit-exceeded", "detail": "a reason that is long " * 20})
        for scheme, size, width in (("light", DESKTOP, "wide"), ("dark", PHONE, "narrow")):
            page.emulate(size, scheme)
            page.follow(long_id)
            page.wait_for("#rows[data-writable]")
            page.click('[data-item="   spaces "] .line')
            page.click('[data-item="   spaces "] .editor button')
            page.wait(lambda: page.is_focused("textarea"), "the text does not get the focus")
            self.shoot(page, f"{width}-{scheme}-editing")
            page.press(Keys.BACKSPACE, 'x"')
            page.click('[data-item="   spaces "] .editor [aria-label="Edit the data"] button')
            page.wait_for_text('[data-item="   spaces "] [role="alert"]', "limit-exceeded")
            self.shoot(page, f"{width}-{scheme}-refused")
            page.press(Keys.DELETE)
            page.wait(lambda: page.is_shown('[aria-label="Delete the item?"]'), "it does not ask")
            self.shoot(page, f"{width}-{scheme}-deleting")

    def test_light_and_dark_wide_and_narrow(self):
        found = changesets(demo_history())
        for scheme in ("light", "dark"):
            for size, width in ((DESKTOP, "wide"), (LAPTOP, "laptop"), (TABLET, "tablet"), (PHONE, "narrow")):
                with self.subTest(scheme=scheme, width=width):
                    server, page = self.serve_published(found)
                    server.publish("shop/orders", 8)
                    server.rejected = [REJECTED]
                    page.emulate(size, scheme)
                    page.open()
                    page.wait_for("#feeds a")
                    page.wait_for_text("#tile-feeds .value", "5")
                    self.shoot(page, f"{width}-{scheme}-welcome")
                    page.follow("newsroom/home")
                    server.publish("newsroom/home", 2)
                    page.wait_for_revision(3)
                    page.wait_for('[data-item][data-change~="moved"]')
                    page.click('[data-item="story-2"] .line')
                    page.wait_for("#canvas pre")
                    self.shoot(page, f"{width}-{scheme}-changes")
                    if size in (TABLET, PHONE):
                        for pane in ("timeline", "instance", "feeds"):
                            page.click(f'[data-show="{pane}"]')
                            self.shoot(page, f"{width}-{scheme}-{pane}")
                    server.counters["rejected"] = len(server.rejected)
                    if size in (TABLET, PHONE):
                        page.click('[data-show="instance"]')
                    page.wait(lambda: page.is_shown("#rejected-button"), "no record is rejected")
                    page.click("#rejected-button")
                    page.wait(lambda: page.all("#rejected li"), "the rejected record is not shown")
                    self.shoot(page, f"{width}-{scheme}-rejected")
                    page.press(Keys.ESCAPE)
                    page.follow("grid/outages")
                    server.publish("grid/outages", 2)
                    page.wait_for_revision(3)
                    while server.feeds["grid/outages"].last.mode != "reload":
                        server.publish("grid/outages")
                    page.wait(lambda: page.is_shown("#notice"), "there is no reload")
                    self.shoot(page, f"{width}-{scheme}-reload")
                    server.move("grid/outages", "http://host-3:8321")
                    page.wait_for_standing("moved")
                    self.shoot(page, f"{width}-{scheme}-moved")
                    page.press("?")
                    page.wait(lambda: page.is_shown("#help-dialog"), "there is no help")
                    self.shoot(page, f"{width}-{scheme}-help")

    def test_difficult_content_is_shown(self):
        long_id, history = hard_feed()
        found = changesets(history) + changesets(records(replaced(), feed="\u05e9\u05dc\u05d5\u05dd/\U0001f680"))
        for size, width in ((DESKTOP, "wide"), (PHONE, "narrow")):
            with self.subTest(width=width):
                server, page = self.serve_published(found)
                page.emulate(size, "light")
                page.follow(long_id)
                server.publish(long_id, 2)
                page.wait_for('[data-item="list"][data-change]')
                page.wait_for("#feeds a")
                page.click('[data-item="list"] .line')
                page.wait_for("#canvas pre")
                self.shoot(page, f"{width}-hard")
                if size == PHONE:
                    page.click('[data-show="feeds"]')
                    self.shoot(page, f"{width}-hard-feeds")
                page.run("document.querySelector('[data-item=deep] .line').click()")
                page.wait(lambda: len(page.all("#canvas pre")) == 2, "the data is not shown")
                page.scroll_to(1)
                self.shoot(page, f"{width}-hard-end")

    def test_a_token_is_asked_for(self):
        for scheme in ("light", "dark"):
            server, page = self.serve(token="a-token-of-enough-characters")
            page.emulate(PHONE, scheme)
            page.open()
            page.wait(lambda: page.is_shown("#token-dialog"), "no token is asked for")
            self.shoot(page, f"narrow-{scheme}-token")

    def test_text_at_twice_its_size(self):
        server = FakeServer(changesets(demo_history()))
        self.addCleanup(server.close)
        driver = start_browser(preferences={"webkit": {"webprefs": {"default_font_size": 32}}})
        self.addCleanup(driver.quit)
        for name in server.feeds:
            server.publish(name)
        page = Inspector(driver, server.url)
        for size, width in ((DESKTOP, "wide"), (PHONE, "narrow")):
            with self.subTest(width=width):
                page.emulate(size, "light")
                page.follow("newsroom/home")
                self.assertEqual(page.run("return getComputedStyle(document.documentElement).fontSize"), "32px")
                server.publish("newsroom/home")
                page.wait_for_revision(server.feeds["newsroom/home"].last.revision)
                self.shoot(page, f"{width}-large-text")
        self.assertEqual(page.complaints(), [])
