"""The page that the daemon serves at /, in a browser, with a server that the test controls."""

import re

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from inspector import DESKTOP, PHONE
from records import START, large_feed, odd_numbers, records, replaced, section, small_feed, story
from replay import changesets
from support import BrowserTest


def version_in(request):
    """The version of the feed that a request has, and continues from."""
    [asked] = request.body["feeds"]
    return f"{asked['epoch']}@{asked['revision']}" if "revision" in asked else None


class FeedListTests(BrowserTest):
    def test_feeds_appear_by_themselves_and_search_narrows(self):
        found = [one for name in ("hn", "news/Home", "news/ticker") for one in changesets(records(replaced(), feed=name))]
        server, page = self.serve(found)
        page.open()
        page.wait_for_text("#feeds-summary", "No feeds yet")
        self.assertIn("There are no feeds yet", page.text("#welcome"))
        for name in server.feeds:
            server.publish(name)
        page.wait(lambda: page.feeds() == ["hn", "news/Home", "news/ticker"], "the feeds do not appear")
        page.press("/")
        page.wait(lambda: page.is_focused("#search"), "the search has no focus")
        page.press("news/h")
        page.wait(lambda: page.feeds() == ["news/Home"], "the search does not narrow")
        page.wait_for_text("#feeds-summary", "1 feed with “news/h”")
        page.press(Keys.ESCAPE)
        page.wait(lambda: len(page.feeds()) == 3, "the search is not undone")

    def test_feeds_are_loaded_page_by_page(self):
        names = [f"feed{number:03}" for number in range(230)]
        server, page = self.serve_published(changesets([one for name in names for one in records(replaced(), feed=name)]))
        page.open()
        page.wait(lambda: page.feeds() == names[:100], "the first page does not come")
        page.wait_for_text("#feeds-summary", "100 of 230 feeds")
        for count, script in (
            (200, "document.getElementById('more').click()"),
            (230, "document.getElementById('feeds-scroller').scrollTop = 1e6"),
        ):
            page.run(script)
            page.wait(lambda: page.feeds() == names[:count], f"{count} feeds do not come")
        self.assertFalse(page.wait_for("#more").is_displayed())

    def test_a_feed_that_is_not_on_a_loaded_page_is_listed_while_it_is_open(self):
        names = [f"feed{number:03}" for number in range(230)]
        server, page = self.serve_published(changesets([one for name in names for one in records(replaced(), feed=name)]))
        page.follow("feed200")
        page.wait(lambda: page.feeds() == ["feed200", *names[:100]], "the open feed is not listed")
        page.wait_for_text("#feeds-summary", "100 of 230 feeds")
        self.assertEqual(page.wait_for("#feeds [aria-current]").get_attribute("data-feed"), "feed200")
        page.press("/", "feed1")
        page.wait(lambda: page.feeds() == names[100:200], "it is listed among the feeds that are searched for")
        page.press(Keys.ESCAPE)
        page.click('[data-feed="feed003"]')
        page.wait(lambda: page.feeds() == names[:100], "it is listed although it is not open")

    def test_the_list_and_the_head_of_the_open_feed_agree(self):
        server, page = self.serve_published(changesets(small_feed() + records(replaced(), start=1795168900000)))
        page.follow("hn")
        page.wait(lambda: page.feeds() == ["hn"], "the feed is not listed")
        # From here on the list is not answered.
        server.gate.clear()
        for revision in range(2, 10):
            server.publish("hn")
            page.wait_for_revision(revision)
            shown = page.run("""
                const text = (selector) => document.querySelector(selector).textContent;
                return [text('#feeds .facts'), `${text('#fact-items')} items · rev ${text('#fact-revision')} · ${text('#fact-age')}`];
            """)
            self.assertEqual(shown[0], shown[1])
        server.publish("hn")
        page.wait_for_text("#placeholder", "no longer exists")
        self.assertEqual(page.feeds(), [])
        server.publish("hn")
        page.wait(lambda: page.feeds() == ["hn"], "the feed that was created again is not listed")
        server.gate.set()

    def test_partition_and_through_of_a_feed_are_shown(self):
        server, page = self.serve_published(changesets(small_feed()))
        server.feeds["hn"].last.partition = 3
        page.follow("hn")
        self.assertEqual((page.text("#fact-partition"), page.text("#fact-through")), ("3", "feeds.items 0"))
        server.publish("hn")
        page.wait_for_revision(2)
        page.wait_for_text("#fact-through", "feeds.items 1")

    def test_a_link_opens_its_feed_whatever_its_id_is(self):
        names = ["a/b?c#d&e=f", "\U0001f680 launch", "\u05e9\u05dc\u05d5\u05dd", "tab\tand \u202e", "%2F+", "x" * 255]
        found = [one for name in names for one in changesets(records(replaced(section("s", [story("one")])), feed=name))]
        server, page = self.serve_published(found)
        for name in names:
            with self.subTest(name):
                page.follow(name)
                self.assert_shows(page, server, name)
                page.wait_for("#feeds [aria-current]")
                self.assertEqual(page.wait_for("#feeds [aria-current]").get_attribute("data-feed"), name)
        # Characters that change the text direction are never shown unescaped.
        self.assertNotIn("\u202e", page.text("#feeds"))

    def test_an_empty_and_a_missing_feed_have_messages(self):
        server, page = self.serve_published(changesets(records(replaced())))
        page.follow("hn")
        page.wait_for_text("#placeholder", "This feed is empty")
        page.open("nobody")
        page.wait_for_text("#placeholder", "has no such feed")
        # It is created.
        server.add(changesets(records(replaced(section("s", [story("one")])), feed="nobody")))
        server.publish("nobody")
        page.wait_for_standing("live")
        self.assert_shows(page, server, "nobody")


class ChangeTests(BrowserTest):
    def test_each_change_highlights_its_row_by_kind(self):
        server, page = self.serve_published(changesets(small_feed()))
        page.follow("hn")
        self.assert_shows(page, server, "hn")
        self.assertEqual(page.changes(), {})
        expected = {}
        for revision, (item, change) in enumerate(
            [("honey", "inserted"), ("eggs", "moved"), ("bread", "reconfigured"), ("dates", "reloaded")], start=2
        ):
            server.publish("hn")
            page.wait_for_revision(revision)
            page.wait(lambda: page.changes().get(item) == change, f"{item} is not lit as {change}")
            expected[item] = change
            # Earlier highlights remain for a while, and nothing else is highlighted.
            self.assertLessEqual(page.changes().items(), expected.items())
            self.assert_shows(page, server, "hn")
            if item == "bread":
                page.wait(lambda: "score 1 → 2" in page.first('[data-item="bread"]').text, "it does not say what changed")
                # The kind is also given as a word, and to assistive technology. Its element is replaced when the highlight expires.
                mark = '[data-item="bread"] [data-mark="reconfigured"]'
                page.wait(lambda: "reconfigured" in page.first(mark).text, "the kind is not given as a word")
        server.publish("hn")
        page.wait_for_revision(6)
        self.assert_shows(page, server, "hn")
        self.assertIn("Changesets", page.text("#timeline-pane"))

    def test_an_item_names_its_contents_and_shows_their_changes(self):
        refs = {"author": "user-7", "post": "post-1"}
        first = {"op": "feed.replace", "sections": [section("s", [{**story("one"), "refs": refs}, story("two")])]}
        content = {"ts": START + 5000, "topic": "contents", "key": "user-7", "value": {"name": "Grace"}}
        found = changesets([*records(first), content], ["topics.contents=contents"])
        server, page = self.serve_published(found)
        page.follow("hn")
        mark = page.wait_for('[data-mark="refs"]')
        self.assertEqual(mark.get_attribute("title"), "Refers to author user-7, post post-1")
        self.assertEqual([row["item"] for row in page.drawn() if row["item"]], ["one", "two"])
        self.assertEqual(len(page.all('[data-mark="refs"]')), 1)
        page.click('[data-item="one"] .line')
        page.wait_for_text('[data-item="one"] .panel .refs', "Refers to author user-7, post post-1")
        server.publish("hn")
        page.wait_for_revision(2)
        page.wait(lambda: page.changes() == {"one": "reconfigured"}, "the item is not lit")
        page.wait_for_text('[data-item="one"] .panel pre', "Grace")

    def test_a_deleted_item_fades_out(self):
        server, page = self.serve_published(changesets(small_feed()))
        server.publish("hn", 4)
        page.emulate(is_still=False)
        page.follow("hn")
        self.assert_shows(page, server, "hn")
        page.run("""
            window.gone = [];
            new MutationObserver((records) => {
              for (const { target } of records) if (target.dataset.change === 'deleted') gone.push(target.textContent);
            }).observe(document.getElementById('canvas'), { subtree: true, attributeFilter: ['data-change'] });
        """)
        server.publish("hn")
        page.wait(lambda: any("cherries" in text for text in page.run("return window.gone")), "it does not go")
        page.wait(lambda: page.first(".gone") is None, "it does not leave")
        self.assert_shows(page, server, "hn")

    def test_moved_rows_slide(self):
        server, page = self.serve_published(changesets(small_feed()))
        server.publish("hn")
        page.emulate(is_still=False)
        page.follow("hn")
        page.run("""
            window.slid = [];
            const animate = Element.prototype.animate;
            Element.prototype.animate = function (frames, options) {
              if (frames[0]?.transform) slid.push([this.dataset.item ?? this.dataset.section, frames[0].transform]);
              return animate.call(this, frames, options);
            };
        """)
        self.assert_shows(page, server, "hn")
        before = {row["item"]: row["index"] for row in page.drawn()}
        server.publish("hn")
        page.wait_for_revision(3)
        page.wait(lambda: page.run("return window.slid.length") > 0, "nothing moves")
        slid = dict(page.run("return window.slid"))
        height = page.run("return document.getElementById('row-probe').offsetHeight")
        # It starts at its old position, and rows that make room move as well.
        self.assertEqual(slid["eggs"], f"translateY({before['eggs'] * height}px)")
        self.assertIn("honey", slid)
        self.assertNotIn("figs", slid)
        self.assert_shows(page, server, "hn")

    def test_with_less_motion_nothing_moves(self):
        server, page = self.serve_published(changesets(small_feed()))
        server.publish("hn")
        page.follow("hn")
        self.assert_shows(page, server, "hn")
        page.run("window.count = 0; const animate = Element.prototype.animate; Element.prototype.animate = function (...all) {"
                 " if (all[0][0].transform) count += 1; return animate.apply(this, all); }")
        server.publish("hn")
        page.wait_for_revision(3)
        self.assert_shows(page, server, "hn")
        self.assertEqual(page.run("return window.count"), 0)

    def test_a_reload_is_visibly_one(self):
        server, page = self.serve_published(changesets(small_feed()))
        server.publish("hn", 5)
        page.follow("hn")
        self.assertFalse(page.wait_for("#notice").is_displayed())
        page.run("""
            window.flashes = 0;
            document.getElementById('flash').addEventListener('animationstart', ({ pseudoElement }) => {
              if (pseudoElement === '') flashes += 1;
            });
        """)
        server.publish("hn")
        entry = page.wait_for('[data-testid="changeset"][data-type="changeset"][data-mode="reload"]')
        self.assertEqual(entry.get_attribute("data-reason"), "requested")
        self.assertIn("A producer requested it", entry.text)
        page.wait(lambda: page.is_shown("#notice"), "there is no notice")
        page.wait_for_text("#notice", "Whole feed reloaded (requested): revision 7")
        page.wait(lambda: page.run("return window.flashes") == 1, "nothing flashes")
        self.assertEqual(page.changes(), {})
        page.click("#dismiss-notice")
        page.wait(lambda: not page.is_shown("#notice"), "the notice stays")

    def test_the_notice_of_a_reload_goes_with_the_next_change(self):
        server, page = self.serve_published(changesets(small_feed()))
        server.publish("hn", 5)
        page.follow("hn")
        server.publish("hn")
        page.wait(lambda: page.is_shown("#notice"), "there is no notice")
        server.publish("hn")
        page.wait_for_revision(8)
        self.assertFalse(page.is_shown("#notice"))

    def test_the_notice_of_a_new_feed_does_not_speak_of_a_reload(self):
        server, page = self.serve_published(changesets(small_feed() + records(replaced(), start=1795168900000)))
        server.publish("hn", 8)
        page.follow("hn")
        server.publish("hn")
        page.wait_for_text("#placeholder", "no longer exists")
        server.publish("hn")
        page.wait(lambda: page.is_shown("#notice"), "there is no notice")
        self.assertIn("Feed created: revision 1", page.text("#notice"))
        self.assertNotIn("reloaded", page.text("#notice"))

    def test_marks_have_one_order_and_leave_room_for_the_change(self):
        items = [story("one", score=1), story("two"), story("three")]
        server, page = self.serve_published(changesets(records(
            replaced(section("s", items)),
            {"op": "item.patch", "item": "one", "data": {"score": 2}},
            {"op": "item.upsert", "item": "one", "kind": "ad"},
            {"op": "item.move", "item": "one", "at": "last"},
        )))
        page.emulate((1280, 800))
        page.follow("hn")
        for revision in (2, 3, 4):
            server.publish("hn")
            page.wait_for_revision(revision)
        marks = '[data-item="one"] [data-mark]'
        words = "return [...document.querySelectorAll(arguments[0])].map((it) => it.dataset.mark)"
        page.wait(lambda: page.run(words, marks) == ["moved", "reconfigured", "reloaded"], "the order is another")
        page.wait(lambda: page.run("""
            const right = (selector) => document.querySelector(`[data-item="one"] ${selector}`).getBoundingClientRect().right;
            return right('.change') <= right('.data');
        """), "the change is cut")

    def test_one_item_can_be_moved_and_reconfigured(self):
        server, page = self.serve_published(changesets(small_feed()))
        server.publish("hn", 6)
        page.follow("hn")
        server.publish("hn")
        page.wait(lambda: page.changes() == {"bread": "moved reconfigured"}, "it is not lit as both")

    def test_sections_move_too(self):
        server, page = self.serve_published(changesets(small_feed()))
        server.publish("hn", 7)
        page.follow("hn")
        server.publish("hn")
        page.wait(lambda: page.changes() == {"more": "moved"}, "the section is not lit")
        self.assert_shows(page, server, "hn")

    def test_a_section_shows_its_order_and_bound(self):
        board = {"order": [{"by": "/score", "direction": "descending"}, {"by": "/name"}], "keep": 100_000}
        values = [{"op": "section.upsert", "section": "top", **setting} for setting in (board, {"order": None})]
        server, page = self.serve_published(changesets(records(*values, None)))
        page.follow("hn")
        for note in ("0 of 100,000 items, by /score ↓, /name ↑", "0 of 100,000 items"):
            for size in (DESKTOP, PHONE):
                page.emulate(size, "light")
                page.wait(lambda: page.text("[data-section] .kind") == note, f"it does not say {note}")
                self.assertTrue(page.run("const it = document.querySelector('.section .kind'); return it.scrollWidth <= it.clientWidth"))
            server.publish("hn")

    def test_a_deleted_feed_disappears_and_can_return(self):
        found = changesets(small_feed() + records(replaced(section("s", [story("one")])), start=1795168900000))
        server, page = self.serve_published(found)
        server.publish("hn", 8)
        page.follow("hn")
        server.publish("hn")
        page.wait_for_text("#placeholder", "no longer exists")
        page.wait(lambda: page.drawn() == [], "its rows stay")
        page.wait_for('[data-testid="changeset"][data-mode="delete"]')
        page.wait_for_standing("live")
        server.publish("hn")
        self.assert_shows(page, server, "hn")
        page.wait_for('[data-testid="changeset"][data-reason="initial"]')

    def test_text_is_never_parsed_as_html(self):
        evil = "<img src=x onerror=alert(1)><b>"
        server, page = self.serve_published(changesets(records(
            replaced({"id": evil, "data": evil, "items": [{"id": evil + "i", "kind": evil, "data": {evil: [evil]}}]}),
            {"op": "item.patch", "item": evil + "i", "data": {evil: 7}}, feed=evil,
        )))
        page.follow(evil)
        server.publish(evil)
        page.wait_for_revision(2)
        page.wait(lambda: page.changes() == {evil + "i": "reconfigured"}, "it is not lit")
        page.wait(lambda: page.feeds() == [evil], "the feed is not listed")
        page.press(Keys.TAB)
        self.assertEqual(page.all("#canvas img, #canvas b, #feeds img, .feed-head img"), [])
        self.assertEqual(page.text("#feed-title"), evil)


class SpellingTests(BrowserTest):
    def test_data_and_its_changes_are_shown_as_they_are_spelled(self):
        server, page = self.serve_published(changesets("".join(odd_numbers())))
        page.follow("numbers")
        expected = {
            "id": "{id: 9007199254740993}", "range": "{x: 1e400}", "price": "{v: 1.0}", "twice": "{a: 1, a: 2}",
            "order": "{10: 1, 9: 2}", "zero": "-0", "text": '"caf\\u00e9\\/"',
        }
        self.assertEqual({row["item"]: row["data"] for row in page.drawn() if row["item"]}, expected)
        page.click('[data-item="order"] .line')
        page.wait(lambda: page.text('[data-item="order"] pre') == '{\n  "10": 1,\n  "9": 2\n}', "the order is another")
        page.click('[data-item="twice"] .line')
        page.wait(lambda: page.text('[data-item="twice"] pre') == '{\n  "a": 1,\n  "a": 2\n}', "a member is missing")
        server.publish("numbers")
        page.wait_for_revision(2)
        for item, change in {
            "id": "id 9007199254740993 → 9007199254740992", "range": "x 1e400 → 1e500", "price": "v 1.0 → 1", "twice": "a 1 → 3",
            "order": 'order ["10", "9"] → ["9", "10"]', "zero": "data -0 → 0", "text": 'data "caf\\u00e9\\/" → "caf\u00e9/"',
        }.items():
            with self.subTest(item):
                page.wait(lambda: page.text(f'[data-item="{item}"] .change') == change, f"it does not say {change}")
        # Of members with the same name, the one that changed is marked.
        page.wait(
            lambda: page.run("return [...document.querySelectorAll('[data-item=twice] pre .json-changed')].map((it) => it.textContent)")
            == ['"a"', ": ", "3"], "another member is marked")

    def test_a_change_far_behind_in_a_long_value_is_visible(self):
        text = "word " * 100
        server, page = self.serve_published(changesets(records(
            replaced(section("s", [story("one", text=text + "old")])), {"op": "item.patch", "item": "one", "data": {"text": text + "new"}},
        )))
        page.follow("hn")
        server.publish("hn")
        page.wait(lambda: page.text('[data-item="one"] .change') == 'text … word old" → … word new"', "the change is not shown")


class TimelineTests(BrowserTest):
    def test_entries_describe_changesets_and_reasons(self):
        names = [f"i{number}" for number in range(100)]
        server, page = self.serve_published(changesets(records(
            replaced(section("s", [story(name) for name in names])),
            [{"op": "item.delete", "item": name} for name in names[:12]],
            [{"op": "item.patch", "item": name, "data": {"score": 2}} for name in names[12:]],
            [{"op": "item.delete", "item": name} for name in names[12:70]],
            [{"op": "item.upsert", "item": name, "kind": "ad"} for name in names[70:95]],
            replaced(section("s", [story(f"other{number}") for number in range(60)])),
        )))
        page.follow("hn")
        page.wait_for_text("#tile-changesets .value", "1")
        server.publish_all("hn")
        page.wait_for_revision(6)
        entries = {
            int(entry.get_attribute("data-revision")): entry for entry in page.all('[data-testid="changeset"]')
        }
        self.assertEqual(sorted(entries), [1, 2, 3, 4, 5, 6])
        expected = {
            1: ("state", "100 items"),
            2: ("diff", "12 changes in 100 items are 12 %; above 50 % it would be a reload."),
            3: ("reconfigure", "Only data changed"),
            4: ("reload: fraction", "more than 50 % of 88 items: 58 gone"),
            5: ("diff", "fewer than 50 a difference"),
            6: ("reload: disjoint", "None of the 30 items before the change is among the 60 items after it."),
        }
        for revision, (mode, why) in expected.items():
            with self.subTest(revision=revision):
                text = entries[revision].get_property("textContent")
                self.assertIn(mode, text)
                self.assertIn(why, text)
                self.assertRegex(text, r"\d+(\.\d)? k?B")
        count = entries[2].find_element(By.CSS_SELECTOR, '[data-mark="deleted"]')
        self.assertEqual(count.get_attribute("data-count"), "12")
        # Newest first.
        order = [entry.get_attribute("data-revision") for entry in page.all('[data-testid="changeset"]')]
        self.assertEqual(order, ["6", "5", "4", "3", "2", "1"])

    def test_the_number_of_entries_is_limited(self):
        values = [{"op": "item.patch", "item": "one", "data": {"score": number}} for number in range(300)]
        server, page = self.serve_published(changesets(records(replaced(section("s", [story("one")])), *values)))
        page.follow("hn")
        server.publish_all("hn")
        page.wait_for_revision(301)
        self.assertEqual(len(page.all('[data-testid="changeset"]')), 200)

    def test_an_entry_shows_its_changes_again(self):
        middle, history = large_feed(1000)
        server, page = self.serve_published(changesets(history))
        page.follow("hn")
        server.publish("hn")
        page.wait_for_revision(2)
        self.assertIsNone(page.first(f'[data-item="{middle}"]'))
        page.click('[data-revision="2"] button')
        page.wait_for(f'[data-item="{middle}"][data-change="reconfigured"]')
        self.assertEqual(page.active_row(), middle)


class StreamTests(BrowserTest):
    def test_a_killed_stream_resumes(self):
        server, page = self.serve_published(changesets(small_feed()))
        page.follow("hn")
        server.publish("hn")
        page.wait_for_revision(2)
        last = server.feeds["hn"].last.id
        server.kill_streams()
        page.wait(lambda: len(server.stream_requests()) == 2, "it does not come again")
        self.assertEqual(version_in(server.stream_requests()[1]), last)
        page.wait_for_standing("live")
        page.wait_for_text("#announcements", "live again")
        server.publish("hn", 2)
        page.wait_for_revision(4)
        self.assert_shows(page, server, "hn")
        # Missed changesets are sent individually, not as a reload.
        self.assertEqual(page.all('[data-testid="changeset"][data-type="fault"]'), [])
        self.assertEqual(len(page.all('[data-testid="changeset"][data-mode="reload"]')), 1)

    def test_it_reconnects_with_a_state_if_the_server_has_nothing_else(self):
        server, page = self.serve_published(changesets(small_feed()))
        page.follow("hn")
        server.gate.clear()
        server.kill_streams()
        page.wait_for_standing("disconnected")
        server.publish("hn", 3)
        del server.feeds["hn"].published[:-1]
        server.gate.set()
        page.wait_for('[data-testid="changeset"][data-type="state"][data-revision="4"]')
        self.assert_shows(page, server, "hn")
        page.wait_for_text("#notice", "This page missed the changes in between")

    def test_the_server_may_request_a_restart(self):
        server, page = self.serve_published(changesets(small_feed()))
        page.follow("hn")
        server.must_refetch("hn", "the epoch is another")
        entry = page.wait_for('[data-testid="changeset"][data-type="fault"]')
        self.assertIn("the epoch is another", entry.text)
        page.wait_for_standing("live")
        self.assertEqual(len(server.stream_requests()), 1)
        server.publish("hn")
        page.wait_for_revision(2)
        self.assert_shows(page, server, "hn")

    def test_a_moved_feed_links_to_its_instance_and_can_return(self):
        server, page = self.serve_published(changesets(small_feed()))
        page.follow("hn")
        server.move("hn", "http://host-3:8321")
        page.wait_for_standing("moved")
        self.assertEqual(page.wait_for("#standing-link").get_attribute("href"), "http://host-3:8321/#feed=hn")
        # The stream stays, because the feed may come back.
        self.assertEqual((len(server.stream_requests()), server.stream_count()), (1, 1))
        # The known state stays on the screen.
        self.assert_shows(page, server, "hn")
        server.bring_back("hn")
        page.wait_for_standing("live")
        self.assertFalse(page.wait_for("#standing-link").is_displayed())
        server.move("hn", "javascript:alert(1)")
        page.wait_for_standing("moved")
        self.assertFalse(page.wait_for("#standing-link").is_displayed())

    def test_it_retries_later_if_the_server_asks(self):
        server, page = self.serve_published(changesets(small_feed()))
        server.refusal = (503, "restoring", "partition 0 is being restored", 1)
        page.open("hn")
        page.wait_for_standing("unavailable")
        page.wait_for_text("#standing-detail", "partition 0 is being restored")
        server.refusal = None
        page.wait_for_standing("live")

    def test_a_split_changeset_is_one_entry(self):
        settings = ["limits.maxDataBytes=1000", "output.maxMessageBytes=66536"]
        big = [story(f"i{number}", text="x" * 900) for number in range(200)]
        server, page = self.serve_published(changesets(records(
            replaced(section("s", big)),
            [{"op": "item.patch", "item": f"i{number}", "data": {"text": "y" * 900}} for number in range(200)],
        ), settings))
        self.assertGreater(len(server.feeds["hn"].last.texts), 1)
        page.follow("hn")
        server.publish("hn")
        page.wait_for_revision(2)
        self.assertIn("in 3 parts", page.text('[data-revision="2"]'))
        self.assertEqual(len(page.all('[data-testid="changeset"]')), 2)


class LargeFeedTests(BrowserTest):
    def test_ten_thousand_items_stay_usable(self):
        middle, history = large_feed()
        server, page = self.serve_published(changesets(history))
        page.follow("hn")
        page.wait_for_text("#fact-items", "10,000")
        page.wait_for('#rows[aria-rowcount="10011"]')
        self.assertLess(len(page.drawn()), 80)

        page.scroll_to(1)
        row = page.wait_for('[data-item="item9999"]')
        self.assertEqual((row.get_attribute("aria-posinset"), row.get_attribute("aria-setsize")), ("1000", "1000"))
        self.assertLess(len(page.drawn()), 80)

        # An update outside the visible area is shown after scrolling to it.
        server.publish("hn")
        page.wait_for_revision(2)
        page.scroll_to(0.5 + 0.05)
        row = page.wait_for(f'[data-item="{middle}"]')
        self.assertIn("-1", row.text)

        # Visible rows stay in place when rows are inserted above them.
        before = page.run("return document.querySelector(arguments[0]).getBoundingClientRect().top", f'[data-item="{middle}"]')
        server.publish("hn")
        page.wait_for('[data-item="new"][data-change="inserted"]')
        server.publish("hn")
        page.wait_for('[data-item="item0"][data-change="moved"]')
        indices = {row["item"]: row["index"] for row in page.drawn()}
        self.assertEqual(indices["item0"], indices[middle] + 1)
        after = page.run("return document.querySelector(arguments[0]).getBoundingClientRect().top", f'[data-item="{middle}"]')
        self.assertLess(abs(after - before), 40)

        page.click("#rows")
        page.press(Keys.END)
        page.wait(lambda: page.active_row() == "item9999", "End does not lead to the end")
        server.publish("hn")
        page.wait_for_revision(5)
        page.press(Keys.END)
        page.wait_for('[data-item="at-the-end"]')
        page.press(Keys.HOME)
        page.wait(lambda: page.active_row() == "s0", "Home does not lead to the beginning")
        self.assertLess(len(page.drawn()), 80)


class TokenTests(BrowserTest):
    def test_a_token_is_requested_and_kept(self):
        server, page = self.serve_published(changesets(small_feed()), token="correct-horse-battery")
        page.open("hn")
        page.wait(lambda: page.is_shown("#token-dialog"), "no token is asked for")
        page.wait(lambda: page.is_focused("#token"), "the token's field has no focus")
        self.assertFalse(page.wait_for("#token-refused").is_displayed())
        page.press("wrong", Keys.ENTER)
        page.wait(lambda: page.is_shown("#token-refused"), "a wrong token is not refused")
        self.assertTrue(page.wait_for("#token-dialog").is_displayed())
        page.wait_for("#token").send_keys("correct-horse-battery", Keys.ENTER)
        page.wait_for_standing("live")
        self.assertFalse(page.wait_for("#token-dialog").is_displayed())
        self.assert_shows(page, server, "hn")
        self.driver.refresh()
        page.wait_for_standing("live")
        self.assertFalse(page.wait_for("#token-dialog").is_displayed())
        page.click("#forget-token")
        # The page is loaded again, and has no dialog for a while.
        page.wait(lambda: page.is_shown("#token-dialog"), "the token is not forgotten")
        self.assertNotIn("correct-horse", self.driver.current_url)


class PointerTests(BrowserTest):
    def test_a_click_opens_the_row_that_it_hits_wherever_the_list_is_scrolled_to(self):
        _, page = self.serve_published(changesets(large_feed(100)[1]))
        page.follow("hn")
        page.run("document.getElementById('rows').scrollTop = 50")
        page.wait_for_frame()
        page.click('[data-item="item8"] .line')
        page.wait_for('[data-item="item8"][aria-expanded="true"] pre')
        self.assertEqual(page.run("return document.getElementById('rows').scrollTop"), 50)


class KeyboardTests(BrowserTest):
    def test_rows_that_come_after_the_focus_are_reachable(self):
        found = changesets(records(replaced(), replaced(section("top", [story("apples")]))))
        server, page = self.serve_published(found)
        page.open("hn")
        page.wait_for_standing("live")
        page.run("document.getElementById('rows').focus()")
        self.assertIsNone(page.active_row())
        server.publish("hn")
        page.wait(lambda: page.active_row() == "top", "no row is active")

    def test_enter_in_the_search_leads_to_what_is_searched_for(self):
        server, page = self.serve_published(changesets(records(replaced(), feed="hn") + records(replaced(), feed="other")))
        page.open()
        page.wait(lambda: page.feeds() == ["hn", "other"], "the feeds do not appear")
        server.gate.clear()
        page.press("/", "other", Keys.ENTER)
        page.wait(lambda: page.is_focused("#search"), "the search has no focus")
        server.gate.set()
        page.wait(lambda: page.is_focused('[data-feed="other"]'), "the list has no focus")
        self.assertEqual(page.feeds(), ["other"])

    def test_everything_is_reachable(self):
        found = changesets(small_feed()) + changesets(records(replaced(), feed="other"))
        server, page = self.serve_published(found)
        page.open()
        page.wait(lambda: page.feeds() == ["hn", "other"], "the feeds do not appear")
        page.press("/", "h", Keys.ENTER)
        page.wait(lambda: page.is_focused('[data-feed="hn"]'), "the list has no focus")
        page.press("j")
        page.press("k", "k")
        page.wait(lambda: page.is_focused("#search"), "the search has no focus")
        page.press(Keys.ESCAPE)
        page.wait(lambda: page.feeds() == ["hn", "other"], "the search is not undone")
        page.press(Keys.ARROW_DOWN)
        page.wait(lambda: page.is_focused('[data-feed="hn"]'), "the list has no focus")
        page.press(Keys.ARROW_DOWN)
        page.wait(lambda: page.is_focused('[data-feed="other"]'), "the next feed has no focus")
        page.press("k", Keys.ENTER)
        page.wait_for_standing("live")
        page.wait(lambda: self.driver.current_url == server.url + "/#feed=hn", "the URL does not have the feed")
        page.press(Keys.ENTER)
        page.wait(lambda: page.is_focused("#rows"), "the items have no focus")
        page.wait(lambda: page.active_row() == "top", "no row is active")
        page.press("j", Keys.ARROW_DOWN)
        page.wait(lambda: page.active_row() == "bread", "the active row is another")
        page.press(Keys.ENTER)
        panel = page.wait_for('[data-item="bread"][aria-expanded="true"] pre')
        self.assertEqual(panel.text, '{\n  "title": "Bread",\n  "score": 1\n}')
        # The expanded row is updated.
        server.publish("hn", 3)
        page.wait(lambda: '"score": 2' in page.text('[data-item="bread"] pre'), "the data does not change")
        self.assertEqual(page.active_row(), "bread")
        page.press(Keys.ARROW_LEFT)
        page.wait(lambda: page.first("#canvas pre") is None, "it is not closed")
        page.press(Keys.ARROW_LEFT)
        page.wait(lambda: page.active_row() == "top", "the section is not active")
        page.press(Keys.ESCAPE)
        page.wait(lambda: page.is_focused('[data-feed="hn"]'), "the list has no focus")
        page.press("?")
        page.wait(lambda: page.is_shown("#help-dialog"), "there is no help")
        page.press(Keys.ESCAPE)
        page.wait(lambda: not page.is_shown("#help-dialog"), "the help stays")

    def test_a_click_shows_all_data(self):
        server, page = self.serve_published(changesets(small_feed()))
        page.follow("hn")
        page.click('[data-item="apples"] .line')
        page.wait_for('[data-item="apples"] pre')
        below = page.wait_for('[data-item="bread"]').rect["y"]
        panel = page.wait_for('[data-item="apples"] .panel').rect
        page.wait(lambda: page.first('[data-item="bread"]').rect["y"] >= panel["y"] + panel["height"] - 1, f"{below} overlaps")
        page.click('[data-item="apples"] .line')
        page.wait(lambda: page.first("#canvas pre") is None, "it is not closed")


class AccessibilityTests(BrowserTest):
    def test_roles_and_names(self):
        server, page = self.serve_published(changesets(small_feed()))
        page.follow("hn")
        # Links are to be among the nodes.
        page.wait(lambda: page.feeds() == ["hn"], "the feed is not listed")
        nodes = page.command("Accessibility.getFullAXTree")["nodes"]
        shown = [node for node in nodes if not node.get("ignored")]
        roles = {}
        for node in shown:
            roles.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
        self.assertEqual(roles["navigation"], ["Feeds"])
        self.assertEqual(len(roles["main"]), 1)
        self.assertEqual(roles["complementary"], ["Changesets"])
        self.assertEqual(roles["searchbox"], ["Search feeds by id"])
        self.assertEqual(roles["treegrid"], ["Sections and items of hn"])
        self.assertEqual(len(roles["row"]), 1 + 2 + 7)
        for role in ("button", "link", "textbox", "searchbox", "dialog", "region"):
            self.assertNotIn("", [name.strip() for name in roles.get(role, [])], f"a {role} without a name")
        rows = [node for node in shown if node["role"]["value"] == "row"]
        apples = next(node for node in rows if "apples" in node["name"]["value"])
        properties = {each["name"]: each["value"].get("value") for each in apples["properties"]}
        self.assertEqual((properties["level"], properties["expanded"]), (2, False))

    def test_changes_are_announced_together(self):
        server, page = self.serve_published(changesets(small_feed()))
        page.follow("hn")
        page.wait_for_text("#announcements", "hn: shown, revision 1")
        page.run("""
            window.said = [];
            const region = document.getElementById('announcements');
            new MutationObserver(() => said.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
        """)
        server.publish("hn", 4)
        page.wait(lambda: page.run("return window.said.length") > 0, "nothing is announced")
        self.assertEqual(page.run("return window.said"), ["4 changes in hn, revision 5"])
        self.assertEqual(page.wait_for("#announcements").get_attribute("aria-live"), "polite")

    def test_text_has_enough_contrast(self):
        """Text and background have a contrast of at least 4.5 to 1, as WCAG AA requires."""
        server, page = self.serve_published(changesets(small_feed()))
        for scheme in ("light", "dark"):
            page.emulate(scheme=scheme)
            page.follow("hn")
            for name in ("text", "dim", "accent", "inserted", "moved", "reconfigured", "reloaded", "deleted", "json-name", "json-text", "json-value"):
                for ground in ("surface", "raised", "ground"):
                    with self.subTest(scheme=scheme, name=name, ground=ground):
                        colours = [self.colour(page, one) for one in (name, ground)]
                        self.assertGreaterEqual(contrast(*colours), 4.5)

    def colour(self, page, name):
        text = page.run(
            "const it = document.createElement('i'); it.style.color = `var(--${arguments[0]})`; document.body.append(it);"
            "const { color } = getComputedStyle(it); it.remove(); return color", name,
        )
        return [int(part) for part in re.findall(r"\d+", text)[:3]]


def contrast(one, other):
    """See https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour):
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


class TabTests(BrowserTest):
    def test_a_hidden_page_gives_its_stream_up_and_resumes_it(self):
        server, page = self.serve_published(changesets(small_feed()))
        page.follow("hn")
        self.assertEqual(server.stream_count(), 1)
        self.show(page, False)
        page.wait(lambda: server.stream_count() == 0, "the stream stays open")
        last = server.feeds["hn"].last.id
        server.publish("hn", 2)
        self.show(page, True)
        page.wait_for_revision(3)
        page.wait_for_standing("live")
        self.assertEqual(version_in(server.stream_requests()[-1]), last)
        self.assertEqual(len(page.all('[data-testid="changeset"][data-mode="reload"]')), 1)
        self.assert_shows(page, server, "hn")

    def test_a_page_that_opens_hidden_connects_when_it_is_shown(self):
        server, page = self.serve_published(changesets(small_feed()))
        page.open()
        page.wait(lambda: page.feeds() == ["hn"], "the feed does not appear")
        self.show(page, False)
        page.run("location.hash = 'feed=hn'")
        page.wait(lambda: page.text("#feed-title") == "hn", "the feed is not open")
        self.assertEqual(server.stream_requests(), [])
        self.show(page, True)
        page.wait_for_standing("live")

    def test_visible_windows_share_one_stream(self):
        server, page = self.serve_published(changesets(small_feed()))
        page.follow("hn")
        for _ in range(6):
            self.driver.switch_to.new_window("window")
            self.addCleanup(self.close_window, self.driver.current_window_handle)
            page.follow("hn")
            # Requests are answered, too.
            page.wait_for_text("#instance-standing", "up to date")
            page.wait(lambda: page.feeds() == ["hn"], "the feeds are not listed")
        self.assertEqual(server.stream_count(), 1)
        server.publish("hn")
        for handle in self.driver.window_handles:
            self.driver.switch_to.window(handle)
            page.wait_for_revision(2)
            self.assert_shows(page, server, "hn")

    def show(self, page, is_visible):
        """The browser's report to a page: a headless browser shows all its pages."""
        page.run("""
            Object.defineProperty(document, 'hidden', { configurable: true, get: () => !arguments[0] });
            document.dispatchEvent(new Event('visibilitychange'));
        """.replace("arguments[0]", "true" if is_visible else "false"))


class StatusTests(BrowserTest):
    def test_rejected_records_are_shown_with_their_reasons(self):
        server, page = self.serve_published(changesets(small_feed()))
        page.open()
        page.wait_for_text("#records-note", "none rejected")
        self.assertFalse(page.is_shown("#rejected-button"))

        def rejected(offset, **more):
            return {
                "time": "2026-11-20T10:00:00.250Z", "code": "unknown-section", "message": f"field 'section' is missing {offset}",
                "key": "hn", "source": {"topic": "feeds.items", "partition": 1, "offset": offset}, **more,
            }

        server.rejected = [rejected(8, value='{"x":1.0', valueBytes=5000), rejected(7, value='<b>{"x":1e400}', valueBytes=14)]
        server.counters["rejected"] = 2
        page.wait_for_text("#rejected-button", "2 rejected")
        page.click("#rejected-button")
        page.wait(lambda: len(page.all("#rejected li")) == 2, "they are not shown")
        first, second = (entry.text for entry in page.all("#rejected li"))
        for text in ("unknown-section", "hn", "field 'section' is missing 8", "feeds.items, partition 1, offset 8", '{"x":1.0', "5.0 kB"):
            self.assertIn(text, first)
        self.assertIn('<b>{"x":1e400}', second)
        self.assertNotIn("beginning", second)
        # It is kept up to date while it is open.
        server.rejected = [rejected(9), *server.rejected]
        server.counters["rejected"] = 3
        page.wait(lambda: len(page.all("#rejected li")) == 3, "the new one is not shown")
        self.assertIn("The value is null.", page.text("#rejected li"))
        page.press(Keys.ESCAPE)

    def test_counters_and_lag_are_shown_and_updated(self):
        server, page = self.serve_published(changesets(small_feed()))
        server.lag = {0: 5, 3: 1200, 7: None}
        page.follow("hn")
        page.wait_for_text("#tile-lag .value", "1,205")
        page.wait_for_text("#tile-changesets .value", "1")
        server.publish("hn", 3)
        server.counters["rejected"] = 2
        page.wait_for_text("#tile-changesets .value", "4")
        page.wait_for_text("#tile-records .note", "2 rejected")
        page.wait_for("#tile-records[data-alert]")
        page.click("#partitions-button")
        rows = ["0 up-to-date 5,120 5", "3 up-to-date 5,123 1,200", "7 up-to-date 5,127 not known"]
        # Each answer of the server replaces them.
        page.wait(lambda: [row.text for row in page.all("#partitions tr")] == rows, f"the partitions are not {rows}")
        page.wait_for_text("#planner", "more than 5,000 changes")
        page.press(Keys.ESCAPE)

    def test_an_unreachable_daemon_is_reported(self):
        server, page = self.serve_published(changesets(small_feed()))
        page.follow("hn")
        page.wait_for_text("#instance-standing", "up to date")
        server.close()
        page.wait_for_text("#instance-standing", "cannot be reached")
        page.wait_for_standing("disconnected")
        self.assert_shows(page, server, "hn")
