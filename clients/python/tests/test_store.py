"""What a store shows and writes, with a daemon that does what the test says."""

import asyncio
import threading
import unittest

from fake_daemon import CHANGE, CHANGED, TWO, Clock, StoreTest
from support import PATIENCE_SECONDS, Seen, deletion, difference, plain, reload, section

import feedstore
from feedstore import FeedStore, Window
from feedstore.jsontext import text_of

ONE = {"window": [{"section": "top", "from": 0, "shown": 1, "of": 3}, {"section": "more", "from": 0, "shown": 0, "of": 0}]}
FIRST = [section("top", "a"), section("more")]


class Following(StoreTest):
    def test_a_feed_is_shown_and_changes(self):
        feed, seen, stream = self.followed()
        before = feed.view
        self.assertEqual(plain(before.sections), plain_of(TWO))
        self.assertEqual((before.exists, before.revision, before.partition), (True, 1, 0))
        stream.message(difference("news", CHANGED, 2, **CHANGE))
        update = seen.kind("changed")
        self.assertEqual((update.change.mode, update.change.items.reconfigure[0].id), ("reconfigure", "a"))
        self.assertEqual(update.view.item("a").data, 7)
        self.assertIs(update.view.item("b"), before.item("b"))
        self.assertIs(update.view.section("more"), before.section("more"))
        self.assertIsNot(update.view.section("top"), before.section("top"))
        self.assertIs(before.item("a").data, None)
        self.assertEqual(update.view.standing.name, "live")

    def test_a_deletion_and_a_later_life(self):
        feed, seen, stream = self.followed()
        stream.message(deletion("news", 2))
        view = seen.kind("absent").view
        self.assertEqual((view.exists, view.sections, view.standing.name), (False, (), "live"))
        stream.message(reload("news", TWO, 1, epoch="t/9"))
        self.assertEqual(seen.kind("state").view.epoch, "t/9")

    def test_a_feed_that_does_not_exist(self):
        seen = Seen(self.store().feed("news"))
        stream = self.daemon.stream()
        stream.send("absent", {"feed": "news", "reason": "unknown-feed"})
        self.assertEqual(seen.kind("absent").view.standing.name, "live")
        stream.message(reload("news", TWO))
        self.assertTrue(seen.kind("state").view.exists)

    def test_feeds_of_one_program_share_a_stream(self):
        store = self.store()
        one, two = Seen(store.feed("news")), Seen(store.feed("news"))
        stream = self.daemon.stream()
        # The same feed with another window needs another stream.
        other = Seen(store.feed("news", Window(first=1)))
        window = self.daemon.stream()
        weather = Seen(store.feed("weather"))
        added = self.daemon.patch().content
        self.assertEqual([feed["feed"] for feed in stream.feeds], ["news"])
        self.assertEqual(window.feeds, [{"feed": "news", "first": 1}])
        self.assertEqual(added, {"add": [{"feed": "weather"}]})
        stream.message(reload("news", TWO), reload("weather", []))
        window.message(reload("news", FIRST, **ONE))
        for seen in (one, two, weather):
            seen.kind("state")
        self.assertEqual([one.of for one in other.kind("state").view.sections], [3, 0])
        # The last one that leaves ends it.
        one.end()
        other.end()
        self.wait_for_end(window)
        weather.end()
        self.assertEqual(self.daemon.patch().content, {"remove": ["weather"]})
        two.end()
        self.wait_for_end(stream)

    def test_more_than_256_feeds_have_several_streams(self):
        store = self.store()
        for number in range(300):
            Seen(store.feed(f"f{number}"))
        asked = set()
        streams = [self.daemon.stream()]
        asked.update(feed["feed"] for feed in streams[0].feeds)
        while len(asked) < 300:
            while not self.daemon.patches.empty():
                asked.update(feed["feed"] for feed in self.daemon.patch().content["add"])
            while not self.daemon.streams.empty():
                streams.append(self.daemon.stream())
                asked.update(feed["feed"] for feed in streams[-1].feeds)
        self.assertEqual(len(streams), 2)

    def test_iterations_end_with_the_store_and_begin_with_the_state(self):
        feed, seen, stream = self.followed()
        found = []

        def iterate():
            for update in feed:
                found.append(update.kind)
                if len(found) == 1:
                    stream.message(difference("news", CHANGED, 2, **CHANGE))
                else:
                    threading.Thread(target=feed._store.close).start()

        thread = threading.Thread(target=iterate)
        thread.start()
        thread.join(PATIENCE_SECONDS)
        self.assertFalse(thread.is_alive())
        self.assertEqual(found, ["state", "changed"])
        with self.assertRaisesRegex(feedstore.FeedStoreError, "closed"):
            feed.write({"op": "feed.clear"})

    def test_async_iterations(self):
        feed, seen, stream = self.followed()

        async def main():
            kinds, called = [], []
            feed.subscribe(lambda update: called.append((update.kind, threading.current_thread())))
            async for update in feed:
                kinds.append(update.kind)
                if len(kinds) == 1:
                    stream.message(difference("news", CHANGED, 2, **CHANGE))
                else:
                    break
            while len(called) < 2:
                await asyncio.sleep(0)
            self.assertEqual(called, [("state", threading.current_thread()), ("changed", threading.current_thread())])
            return kinds

        self.assertEqual(asyncio.run(main()), ["state", "changed"])

    def test_a_slow_iteration_gets_the_newest_state(self):
        feed, seen, stream = self.followed()
        updates = iter(feed)
        self.assertEqual(next(updates).kind, "state")
        for revision in range(2, 60):
            stream.message(difference("news", CHANGED, revision, **CHANGE))
        seen.wait(lambda update: update.view.revision == 59)
        revisions, kinds = [], []
        while not revisions or revisions[-1] < 59:
            update = next(updates)
            revisions.append(update.view.revision)
            kinds.append(update.kind)
        self.assertLess(len(revisions), 20)
        self.assertEqual((kinds[0], set(kinds[1:])), ("state", {"changed"}))
        updates.close()

    def test_a_listener_that_fails_does_not_disturb_others(self):
        feed, seen, stream = self.followed()
        feed.subscribe(lambda update: 1 / 0)
        stream.message(difference("news", CHANGED, 2, **CHANGE))
        seen.kind("changed")

    def test_what_is_asked_wrongly_is_refused_at_once(self):
        store = self.store()
        with self.assertRaisesRegex(ValueError, "expected one such as http://127"):
            FeedStore("news")
        with self.assertRaisesRegex(ValueError, "1 to 255 bytes"):
            store.feed("")
        with self.assertRaisesRegex(TypeError, "Window"):
            store.feed("news", {"first": 1})
        with self.assertRaisesRegex(TypeError, "list of ids"):
            Window(sections="top")
        for event in ("text", {"item": "a"}, {"op": "item.patch", "item": "a", "data": float("nan")}, {"op": "x", "data": object()}):
            with self.assertRaises(ValueError):
                store.feed("news").write(event)


class Windows(StoreTest):
    def test_a_window_is_changed_and_the_old_view_stays_until_the_new_one_is_there(self):
        feed, seen, stream = self.windowed()
        a = feed.view.item("a")
        feed.show(Window(first=2))
        self.assertEqual(self.daemon.patch().content, {"add": [{"feed": "news", "first": 2}]})
        # What is on its way is of the former window.
        stream.message(difference("news", [section("top", ("a", 1)), section("more")], 2, **CHANGE, window=ONE["window"]))
        stream.send("must-refetch", {"feed": "news", "reason": "the stream was asked for it again"})
        self.assertEqual(len(feed.view.section("top").items), 1)
        two = {"window": [{**ONE["window"][0], "shown": 2}, ONE["window"][1]]}
        stream.message(reload("news", [section("top", "a", "b"), section("more")], 2, **two))
        view = seen.kind("state").view
        self.assertEqual(([item.id for item in view.section("top").items], view.section("top").of), (["a", "b"], 3))
        self.assertIs(view.item("a"), a)
        self.assertEqual(feed.window, Window(first=2))

    def windowed(self):
        store = self.store()
        feed = store.feed("news", Window(first=1))
        seen = Seen(feed)
        stream = self.daemon.stream()
        stream.message(reload("news", FIRST, **ONE))
        stream.up_to_date("news")
        seen.live()
        return feed, seen, stream

    def test_windows_that_change_fast_lead_to_the_last_one(self):
        feed, seen, stream = self.windowed()
        for first in range(2, 50):
            feed.show(Window(first=first))
        asked = self.daemon.patch().content["add"]
        while asked != [{"feed": "news", "first": 49}]:
            # The next one is asked for once the stream has come to this one.
            stream.send("must-refetch", {"feed": "news", "reason": "the stream was asked for it again"})
            asked = self.daemon.patch().content["add"]
        stream.send("must-refetch", {"feed": "news", "reason": "the stream was asked for it again"})
        whole = {"window": [{**ONE["window"][0], "shown": 3}, ONE["window"][1]]}
        stream.message(reload("news", TWO, 2, **whole))
        self.assertEqual(len(seen.kind("state").view.section("top").items), 3)

    def test_totals_that_change(self):
        feed, seen, stream = self.windowed()
        before = feed.view
        totals = [{**ONE["window"][0], "of": 312}, ONE["window"][1]]
        stream.send("window", {"feed": "news", "epoch": "t/0", "revision": 9, "window": totals})
        view = seen.kind("standing").view
        self.assertEqual((view.section("top").of, view.revision), (312, 1))
        self.assertIsNot(view.section("top"), before.section("top"))
        self.assertIs(view.section("more"), before.section("more"))
        self.assertIs(view.item("a"), before.item("a"))

    def test_a_feed_that_comes_back_with_another_window_takes_no_state_of_the_former_one(self):
        store = self.store()
        weather = Seen(store.feed("weather"))
        seen = Seen(store.feed("news", Window(first=1)))
        stream = self.daemon.stream()
        stream.message(reload("weather", []))
        weather.kind("state")
        if len(stream.feeds) == 1:
            self.daemon.patch()
        stream.message(reload("news", FIRST, **ONE))
        seen.kind("state")
        seen.end()
        self.assertEqual(self.daemon.patch().content, {"remove": ["news"]})
        again = Seen(store.feed("news", Window(first=2)))
        self.assertEqual(self.daemon.patch().content["add"], [{"feed": "news", "first": 2}])
        stream.message(reload("news", FIRST, **ONE))
        two = {"window": [{**ONE["window"][0], "shown": 2}, ONE["window"][1]]}
        stream.message(reload("news", [section("top", "a", "b"), section("more")], 2, **two))
        self.assertEqual(len(again.kind("state").view.section("top").items), 2)


class Writes(StoreTest):
    PATCH = {"op": "item.patch", "item": "a", "data": {"starred": True}}

    def test_a_write_is_shown_at_once_and_confirmed_by_its_revision(self):
        feed, seen, stream = self.followed()
        before = feed.view
        write = feed.write(self.PATCH)
        pending = feed.view
        self.assertEqual((pending.item("a").data, pending.item("a").is_pending), ({"starred": True}, True))
        self.assertTrue(pending.is_pending and pending.section("top").is_pending)
        self.assertIs(pending.item("b"), before.item("b"))
        self.assertIs(pending.section("more"), before.section("more"))
        self.assertIs(before.item("a").data, None)
        asked = self.daemon.write()
        self.assertEqual((asked.path, asked.content, asked.headers["Prefer"]), ("/v1/feeds/news/events", self.PATCH, "wait=10"))
        asked.reply(200, feed="news", topic="t", partition=0, offset=5, epoch="t/0", revision=2)
        self.assertEqual(write.result(PATIENCE_SECONDS), feedstore.Written("news", "t", 0, 5, "t/0", 2))
        # Until the changeset is there.
        self.assertIs(feed.view.item("a"), pending.item("a"))
        starred = [section("top", ("a", {"starred": True}), "b", "c"), section("more")]
        change = {"reconfigure": [{"id": "a", "section": "top", "index": 0, "data": {"starred": True}}]}
        stream.message(difference("news", starred, 2, items=change, through={"t": 5}))
        view = seen.wait(lambda update: update.view.revision == 2).view
        self.assertEqual((view.item("a").data, view.is_pending), ({"starred": True}, False))
        self.assertIs(view.item("b"), before.item("b"))

    def test_it_is_applied_again_to_what_arrives(self):
        feed, seen, stream = self.followed()
        write = feed.write(self.PATCH)
        a = feed.view.item("a")
        later = [section("top", "a", "b"), section("more", "c")]
        move = {"move": [{"id": "c", "from": {"section": "top", "index": 2}, "to": {"section": "more", "index": 0}}]}
        stream.message(difference("news", later, 2, items=move))
        view = seen.wait(lambda update: update.view.revision == 2)
        self.assertEqual((view.kind, view.change), ("pending", None))
        self.assertIs(view.view.item("a"), a)
        self.assertEqual(view.view.item("c").section, "more")
        # Another writer deletes the item: the operation shows nothing any more.
        last = [section("top", "b"), section("more", "c")]
        stream.message(difference("news", last, 3, items={"delete": [{"id": "a", "section": "top", "index": 0}]}))
        view = seen.wait(lambda update: update.view.revision == 3).view
        self.assertEqual((view.item("a"), view.is_pending), (None, False))
        self.daemon.write().reply(202, feed="news", topic="t", partition=0, offset=5)
        self.assertIsNone(write.result(PATIENCE_SECONDS).revision)

    def test_a_202_is_confirmed_by_through(self):
        feed, seen, stream = self.followed()
        write = feed.write(self.PATCH, wait=0)
        asked = self.daemon.write()
        self.assertIsNone(asked.headers["Prefer"])
        asked.reply(202, feed="news", topic="t", partition=0, offset=5)
        self.assertEqual(write.result(PATIENCE_SECONDS).offset, 5)
        stream.message(difference("news", CHANGED, 2, **CHANGE, through={"t": 4}))
        self.assertTrue(seen.wait(lambda update: update.view.revision == 2).view.is_pending)
        stream.message(difference("news", CHANGED, 3, **CHANGE, through={"t": 6}))
        self.assertFalse(seen.wait(lambda update: update.view.revision == 3).view.is_pending)

    def test_a_202_without_an_offset_is_confirmed_by_the_next_changeset(self):
        feed, seen, stream = self.followed()
        write = feed.write(self.PATCH)
        self.daemon.write().reply(202, feed="news", topic="t", partition=0)
        write.result(PATIENCE_SECONDS)
        self.assertTrue(feed.view.is_pending)
        stream.message(difference("news", CHANGED, 2, **CHANGE))
        self.assertFalse(seen.wait(lambda update: update.view.revision == 2).view.is_pending)

    def test_what_nothing_covers_is_shown_for_a_minute_in_which_the_feed_is_live(self):
        for status, more in ((202, {"offset": 5}), (202, {}), (200, {"offset": 5, "epoch": "t/0", "revision": 9})):
            with self.subTest(status=status, more=more):
                store = self.store()
                clock = Clock(store)
                feed, seen, stream = self.followed(store)
                before = feed.view
                write = feed.write(self.PATCH)
                self.daemon.write().reply(status, feed="news", topic="t", partition=0, **more)
                write.result(PATIENCE_SECONDS)
                clock.advance(30)
                stream.end()
                seen.standing("stale", "disconnected")
                clock.advance(600)
                stream = self.daemon.stream()
                seen.standing("catching-up")
                clock.advance(600)
                stream.up_to_date("news")
                seen.live()
                clock.advance(29)
                self.assertTrue(feed.view.is_pending)
                clock.advance(1)
                self.assertEqual(seen.updates[-1].kind, "pending")
                self.assertIs(feed.view.section("top"), before.section("top"))
                self.assertFalse(store._writes["news"])

    def test_a_rejected_write_is_taken_back(self):
        for status, code in ((422, "unknown-anchor"), (403, "forbidden"), (413, "record-too-large")):
            with self.subTest(status):
                feed, seen, _ = self.followed()
                before = feed.view
                write = feed.write(self.PATCH)
                self.daemon.write().reply(status, code=code, detail="because")
                with self.assertRaisesRegex(feedstore.WriteRejected, "because") as caught:
                    write.result(PATIENCE_SECONDS)
                self.assertEqual(caught.exception.code, code)
                self.assertIs(feed.view.section("top"), before.section("top"))
                self.assertFalse(feed.view.is_pending)

    def test_a_write_without_an_answer_is_taken_back_and_may_be_published(self):
        feed, seen, _ = self.followed()
        write = feed.write(self.PATCH)
        self.daemon.write().answer.put(None)
        with self.assertRaisesRegex(feedstore.WriteFailed, "may be published.*10.2"):
            write.result(PATIENCE_SECONDS)
        self.assertFalse(feed.view.is_pending)
        write = feed.write(self.PATCH)
        self.daemon.write().reply(503, code="not-written", detail="no leader")
        with self.assertRaisesRegex(feedstore.WriteFailed, "no leader.*may be published") as caught:
            write.result(PATIENCE_SECONDS)
        self.assertEqual(caught.exception.code, "not-written")

    def test_no_instance_that_can_be_reached(self):
        daemon = self.new_daemon()
        daemon.close()
        with self.assertRaisesRegex(feedstore.WriteFailed, "nothing was written"):
            self.store(daemon.url).feed("news").write(self.PATCH).result(PATIENCE_SECONDS)
        # Any instance takes writes.
        write = self.store(daemon.url, self.daemon.url).feed("news").write(self.PATCH)
        self.daemon.write().reply(202, feed="news", topic="t", partition=0, offset=1)
        write.result(PATIENCE_SECONDS)

    def test_the_writes_of_a_feed_are_sent_one_after_the_other_and_shown_in_their_order(self):
        feed, seen, _ = self.followed()
        first = feed.write({"op": "item.upsert", "item": "a", "data": 1})
        second = feed.write({"op": "item.upsert", "item": "a", "data": 2})
        self.assertEqual(feed.view.item("a").data, 2)
        asked = self.daemon.write()
        self.assertTrue(self.daemon.writes.empty())
        asked.reply(422, code="limit-exceeded", detail="")
        self.assertEqual(self.daemon.write().content["data"], 2)
        with self.assertRaises(feedstore.WriteRejected):
            first.result(PATIENCE_SECONDS)
        self.assertEqual((feed.view.item("a").data, second.done()), (2, False))

    def test_a_token_that_was_refused_is_asked_for_again(self):
        tokens = iter(["a", "b", "c"])
        write = self.store(token=lambda: next(tokens)).feed("news").write(self.PATCH)
        self.daemon.write().reply(401, code="invalid-token", detail="")
        asked = self.daemon.write()
        self.assertEqual(asked.headers["Authorization"], "Bearer b")
        asked.reply(202, feed="news", topic="t", partition=0, offset=1)
        write.result(PATIENCE_SECONDS)

    def test_nothing_is_kept_of_feeds_that_are_neither_followed_nor_written(self):
        store = self.store()
        write = store.feed("weather").write(self.PATCH, wait=0)
        self.daemon.write().reply(202, feed="weather", topic="t", partition=0, offset=1)
        write.result(PATIENCE_SECONDS)
        seen = Seen(store.feed("news"))
        self.daemon.stream().message(reload("news", TWO))
        seen.kind("state")
        seen.end()
        self.assertEqual((store._run(lambda: dict(store._writes)), store._followed), ({}, {}))

    def test_pending_writes_are_bounded(self):
        feed = self.store().feed("news")
        writes = [feed.write(self.PATCH) for _ in range(1001)]
        with self.assertRaisesRegex(feedstore.WriteFailed, "1000 writes"):
            writes[-1].result(0)
        self.assertFalse(writes[-2].done())

    def test_a_store_that_is_closed_ends_writes(self):
        store = self.store()
        write = store.feed("news").write(self.PATCH)
        self.daemon.write()
        store.close()
        with self.assertRaisesRegex(feedstore.WriteFailed, "closed"):
            write.result(0)

    def test_writes_can_be_awaited(self):
        async def main():
            async with FeedStore(self.daemon.url) as store:
                write = store.feed("news").write(self.PATCH)
                (await asyncio.to_thread(self.daemon.write)).reply(202, feed="news", topic="t", partition=0, offset=1)
                return (await write).offset

        self.assertEqual(asyncio.run(main()), 1)


def plain_of(sections):
    return [
        (one["id"], text_of(one["data"]), None, None, [(item["id"], "", text_of(item["data"])) for item in one["items"]])
        for one in sections]


if __name__ == "__main__":
    unittest.main()
