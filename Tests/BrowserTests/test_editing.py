"""Changing items in the inspector, where the feed may be changed."""

import json
import threading

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from records import records, replaced, section, story
from replay import changesets
from support import BrowserTest

FEED = replaced(
    section("top", [story(name, score=1) for name in ("apples", "bread", "cherries")]),
    {**section("best", [story("dates", score=2)]), "order": [{"by": "/score"}]},
)


class EditingTests(BrowserTest):
    def serve_writable(self, *changes):
        """A server with a writable feed, and the publication of each change."""
        server, page = self.serve_published(changesets(records(FEED, *changes)))
        self.written, self.answers, self.gate = [], [], threading.Event()
        self.addCleanup(self.gate.set)

        def take(feed, text):
            self.written.append(json.loads(text))
            self.gate.wait()
            if self.answers:
                return self.answers.pop(0)
            server.publish(feed)
            last = server.feeds[feed].last
            return 200, {
                "feed": feed, "epoch": last.epoch, "revision": last.revision, "topic": "feeds.items", "partition": 0, "offset": 1,
            }

        server.on_write = take
        page.follow("hn")
        page.wait_for("#rows[data-writable]")
        return server, page

    def test_a_feed_that_may_not_be_changed_has_no_editor(self):
        server, page = self.serve_published(changesets(records(FEED)))
        page.follow("hn")
        page.activate("apples")
        page.press("e", Keys.DELETE)
        page.press_with(Keys.ALT, Keys.ARROW_DOWN)
        page.press(Keys.ENTER)
        page.wait_for("#canvas pre")
        self.assertIsNone(page.first(".editor"))
        self.assertFalse(page.is_shown(".grip"))

    def test_data_is_edited_as_text_and_is_pending_until_it_is_published(self):
        _, page = self.serve_writable({"op": "item.upsert", "item": "bread", "data": {"title": "Rye", "score": 2}})
        page.activate("bread")
        page.press("e")
        page.save_data('{"title": Rye}')
        page.wait_for_text('[data-item="bread"] [role="alert"]', "invalid-json")
        self.assertEqual(self.written, [])
        page.save_data('{"title":"Rye","score":2}')
        page.wait_for_edit("bread", "pending")
        self.assertIn("saving", page.text('[data-item="bread"] .marks'))
        self.gate.set()
        page.wait_for_edit("bread", None)
        self.assertEqual(self.written, [{"op": "item.upsert", "item": "bread", "data": {"title": "Rye", "score": 2}}])
        page.wait(lambda: "Rye" in page.text('[data-item="bread"] pre'), "the new data is not shown")
        page.wait(lambda: not page.is_shown("textarea"), "the editor stays")
        # The keys work on the rows again.
        self.assertTrue(page.is_focused("#rows"))

    def test_what_is_typed_stays_while_others_change_the_item(self):
        server, page = self.serve_writable({"op": "item.patch", "item": "bread", "data": {"score": 5}})
        page.activate("bread")
        page.press("e")
        page.wait(lambda: page.is_focused("textarea"), "the text does not get the focus")
        page.press_with(Keys.CONTROL, "a")
        page.press("[1]")
        server.publish("hn")
        page.wait(lambda: "The data has changed" in page.first('[data-item="bread"]').text, "it does not say so")
        self.assertTrue(page.is_focused("textarea"))
        # A slash is text here.
        page.press("/")
        self.assertEqual(page.run("return document.activeElement.value"), "[1]/")
        page.press(Keys.ESCAPE)
        page.wait_for_edit("bread", "draft")
        page.press("e")
        self.assertEqual(page.run("return document.activeElement.value"), "[1]/")

    def test_items_are_moved_with_keys(self):
        _, page = self.serve_writable(
            {"op": "item.move", "item": "apples", "at": {"after": "bread"}},
            {"op": "item.move", "item": "apples", "at": "last"},
            {"op": "item.move", "item": "apples", "section": "best"},
        )
        self.gate.set()
        page.activate("apples")
        # An ordered section is one place.
        for expected, place in (
            ({"top": ["bread", "apples", "cherries"], "best": ["dates"]}, {"section": "top", "at": {"after": "bread"}}),
            ({"top": ["bread", "cherries", "apples"], "best": ["dates"]}, {"section": "top", "at": {"after": "cherries"}}),
            ({"top": ["bread", "cherries"], "best": ["apples", "dates"]}, {"section": "best"}),
        ):
            page.press_with(Keys.ALT, Keys.ARROW_DOWN)
            page.wait(lambda: page.items() == expected, f"it does not become {expected}")
            page.wait_for_edit("apples", None)
            self.assertEqual(self.written.pop(), {"op": "item.move", "item": "apples", **place})
            self.assertEqual(page.active_row(), "apples")

    def test_items_are_dragged(self):
        server, page = self.serve_writable(
            {"op": "item.move", "item": "cherries", "at": "first"}, {"op": "item.move", "item": "bread", "section": "best"},
        )
        self.gate.set()
        self.drag(page, "cherries", "apples", -5)
        page.wait(lambda: page.items()["top"] == ["cherries", "apples", "bread"], "it does not move")
        self.assertEqual(self.written.pop(), {"op": "item.move", "item": "cherries", "section": "top", "at": {"before": "apples"}})
        self.drag(page, "bread", "dates", 5)
        page.wait(lambda: "bread" in page.items()["best"], "it does not move to the ordered section")
        self.assertEqual(self.written.pop(), {"op": "item.move", "item": "bread", "section": "best"})
        # Within an ordered section there is nowhere to go.
        self.drag(page, "bread", "dates", 5)
        page.wait_for_frame()
        self.assertEqual(self.written, [])

    def drag(self, page, item, target, below_the_middle):
        page.wait_for_frame()
        line = page.wait_for(f'[data-item="{target}"] .line')
        actions = ActionChains(page.driver)
        actions.click_and_hold(page.wait_for(f'[data-item="{item}"] .grip'))
        actions.move_to_element_with_offset(line, 0, 0).move_to_element_with_offset(line, 0, below_the_middle)
        actions.release().perform()

    def test_an_item_is_deleted_once_that_is_confirmed(self):
        _, page = self.serve_writable({"op": "item.delete", "item": "bread"})
        self.gate.set()
        page.activate("bread")
        page.press(Keys.DELETE)
        page.wait_for_frame()
        page.press(Keys.TAB, Keys.ENTER)
        page.wait(lambda: page.is_focused("#rows"), "the focus does not come back")
        self.assertEqual(self.written, [])
        page.press(Keys.DELETE)
        page.wait_for_frame()
        page.press(Keys.ENTER)
        page.wait(lambda: "bread" not in page.items()["top"], "it stays")
        self.assertEqual(self.written, [{"op": "item.delete", "item": "bread"}])

    def test_a_rejection_is_shown_at_the_item_and_what_was_typed_is_kept(self):
        _, page = self.serve_writable()
        self.answers = [(422, {"status": 422, "code": "limit-exceeded", "detail": "the record is too large"})]
        self.gate.set()
        page.activate("bread")
        page.press("e")
        page.save_data("[1]")
        page.wait_for_edit("bread", "refused")
        page.wait_for_text('[data-item="bread"] [role="alert"]', "limit-exceeded: the record is too large")
        self.assertEqual(page.run("return document.querySelector('textarea').value"), "[1]")

    def test_a_rejection_of_an_item_that_is_gone_is_shown_above_the_rows(self):
        server, page = self.serve_writable({"op": "item.delete", "item": "bread"})
        self.answers = [(422, {"status": 422, "code": "unknown-section", "detail": "there is no item"})]
        page.activate("bread")
        page.press("e")
        page.save_data("[1]")
        page.wait_for_edit("bread", "pending")
        server.publish("hn")
        page.wait(lambda: "bread" not in page.items()["top"], "it stays")
        self.gate.set()
        page.wait_for_text("#refusal", "unknown-section: there is no item")
        page.click("#dismiss-refusal")
        page.wait(lambda: not page.is_shown("#refusal"), "it stays")
