"""A store, with a daemon that does what the test says."""

import asyncio
import base64
import contextlib
import json
import logging
import random
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from fake_daemon import FakeDaemon
from support import PATIENCE_SECONDS, SEED, RandomRecords, Seen, deletion, difference, plain, reload, replay, section
from test_replica import check_identities, encoded

import feedstore
from feedstore import FeedStore, Window
from feedstore.jsontext import text_of
from feedstore.replica import Replica

TWO = [section("top", "a", "b", "c"), section("more")]
ONE = {"window": [{"section": "top", "from": 0, "shown": 1, "of": 3}, {"section": "more", "from": 0, "shown": 0, "of": 0}]}
FIRST = [section("top", "a"), section("more")]
CHANGED = [section("top", ("a", 7), "b", "c"), section("more")]
CHANGE = {"mode": "reconfigure", "items": {"reconfigure": [{"id": "a", "section": "top", "index": 0, "data": 7}]}}


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

    def followed(self, **more):
        """A feed that is live, its updates, and its stream."""
        feed = self.store(**more).feed("news")
        seen = Seen(feed)
        stream = self.daemon.stream()
        stream.message(reload("news", TWO))
        stream.up_to_date("news")
        seen.live()
        return feed, seen, stream


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


class Interruptions(StoreTest):
    def test_a_lost_connection_is_resumed_from_the_version_that_there_is(self):
        feed, seen, stream = self.followed()
        before = feed.view
        stream.cut()
        standing = seen.standing("stale", "disconnected").standing
        self.assertGreater(standing.until, 0)
        stream = self.daemon.stream()
        self.assertEqual(stream.feeds, [{"feed": "news", "epoch": "t/0", "revision": 1}])
        seen.standing("catching-up")
        self.assertIs(feed.view.section("top"), before.section("top"))
        stream.message(difference("news", CHANGED, 2, **CHANGE))
        self.assertEqual(seen.kind("changed").view.item("a").data, 7)
        stream.up_to_date("news")
        seen.live()

    def test_a_stream_that_ends_within_a_message(self):
        feed, seen, stream = self.followed()
        stream.raw("data: " + difference("news", CHANGED, 2, **CHANGE)[:50])
        stream.end()
        seen.standing("stale", "disconnected")
        self.assertEqual(self.daemon.stream().feeds[0]["revision"], 1)
        self.assertIsNone(feed.view.item("a").data)

    def test_a_daemon_that_is_away(self):
        daemon = self.new_daemon()
        daemon.close()
        seen = Seen(self.store(daemon.url).feed("news"))
        self.assertIn("refused", seen.standing("stale", "disconnected").standing.detail)

    def test_must_refetch_keeps_what_is_equal(self):
        feed, seen, stream = self.followed()
        before = feed.view
        stream.send("must-refetch", {"feed": "news", "reason": "it was slow"})
        view = seen.standing("stale", "must-refetch")
        self.assertIs(view.sections, before.sections)
        stream.message(reload("news", CHANGED, 1))
        view = seen.kind("state").view
        self.assertIs(view.item("b"), before.item("b"))
        self.assertIs(view.section("more"), before.section("more"))
        self.assertEqual(view.item("a").data, 7)

    def test_a_changeset_that_does_not_fit_is_asked_for_anew(self):
        feed, seen, stream = self.followed()
        for attempt, text in enumerate([
            difference("news", CHANGED, 3, **CHANGE),
            difference("news", TWO, 2, items={"delete": [{"id": "c", "section": "top", "index": 0}]}),
            reload("news", TWO, 2).replace('"checksum":"', '"checksum":"0'), '{"feed":"news"',
        ]):
            with self.subTest(text[:60]):
                stream.message(text)
                seen.standing("stale", "must-refetch")
                self.assertEqual(self.daemon.patch().content, {"add": [{"feed": "news"}], "remove": ["news"]})
                # On its way, and skipped.
                stream.message(difference("news", CHANGED, 2, **CHANGE))
                stream.message(reload("news", TWO))
                stream.up_to_date("news")
                seen.live()

    def test_a_malformed_stream_is_opened_again(self):
        feed, seen, stream = self.followed()
        stream.message("no changeset")
        seen.standing("stale", "disconnected")
        stream = self.daemon.stream()
        for text in ("event: up-to-date\ndata: 7\n\n", "event: new\ndata: {}\n\n", "data\n\n", ":\n", "id: x\n\n", "event: window\ndata: {\n\n"):
            stream.raw(text)
        stream.send("window", {"feed": "news", "window": [7]})
        stream.message(difference("news", CHANGED, 2, **CHANGE))
        seen.kind("changed")

    def test_answers_that_are_errors(self):
        cases = [
            (401, "token-needed", "token-needed"), (403, "forbidden", "forbidden"), (503, "restoring", "unavailable"),
            (500, None, "unavailable"), (404, "not-found", "bad-request"),
        ]
        for status, code, reason in cases:
            with self.subTest(status):
                self.daemon.refuse(status, {"status": status, "code": code, "detail": f"it says {status}"})
                with FeedStore(self.daemon.url) as store:
                    seen = Seen(store.feed("news"))
                    self.daemon.stream()
                    self.assertEqual(seen.standing("stale", reason).standing.detail, f"it says {status}")

    def test_an_answer_that_is_no_stream(self):
        self.daemon.refuse(200, b"<html>")
        seen = Seen(self.store().feed("news"))
        seen.standing("stale", "unavailable")

    def test_a_request_that_is_not_accepted_concerns_its_feed_alone(self):
        self.daemon.refuse(400, {"code": "invalid-content", "detail": "is 99999; expected less", "member": "feeds[0].first"})
        store = self.store()
        seen = Seen(store.feed("news", Window(first=99999)))
        asked = self.daemon.stream().feeds
        self.assertIn("99999", seen.standing("stale", "bad-request").standing.detail)
        other = Seen(store.feed("weather"))
        if len(asked) == 1:
            self.assertEqual(self.daemon.stream().feeds, [{"feed": "weather"}])
        else:
            self.assertEqual(asked[1], {"feed": "weather"})
            self.daemon.stream()

    def test_a_change_that_is_not_accepted_concerns_its_feed_alone(self):
        feed, seen, stream = self.followed()
        self.daemon.refuse(400, {"detail": "is -1; expected a number from 0", "member": "add[0].first"}, "PATCH")
        other = Seen(feed._store.feed("weather", Window(first=-1)))
        self.assertEqual(self.daemon.patch().content, {"add": [{"feed": "weather", "first": -1}]})
        self.assertIn("-1", other.standing("stale", "bad-request").standing.detail)
        # The stream goes on, and takes other changes.
        Seen(feed._store.feed("third"))
        self.assertEqual(self.daemon.patch().content, {"add": [{"feed": "third"}]})
        stream.message(difference("news", CHANGED, 2, **CHANGE))
        self.assertEqual(seen.kind("changed").view.standing.name, "live")
        # Another window is asked for again.
        other.feed.show(Window(first=1))
        self.assertEqual(self.daemon.patch().content, {"add": [{"feed": "weather", "first": 1}]})

    def test_a_stream_that_the_daemon_does_not_know_any_more(self):
        feed, seen, stream = self.followed()
        self.daemon.refuse(404, {"code": "unknown-stream"}, "PATCH")
        Seen(feed._store.feed("weather"))
        self.assertEqual({feed["feed"] for feed in self.daemon.stream().feeds}, {"news", "weather"})


class Instances(StoreTest):
    def two(self):
        """A feed that the first of two instances has, and both streams."""
        self.other = self.new_daemon()
        store = self.store(self.daemon.url, self.other.url)
        feed = store.feed("news")
        seen = Seen(feed)
        first, second = self.daemon.stream(), self.other.stream()
        second.send("absent", {"feed": "news"})
        first.message(reload("news", TWO))
        first.up_to_date("news")
        seen.live()
        return feed, seen, first, second

    def test_the_instance_that_has_the_feed_keeps_it(self):
        feed, seen, first, second = self.two()
        self.wait_for_end(second)
        self.assertTrue(feed.view.exists)

    def test_moved_to_another_instance(self):
        feed, seen, first, _ = self.two()
        before = feed.view
        first.send("moved", {"feed": "news", "partition": 0, "url": self.other.url})
        seen.standing("stale", "moved")
        second = self.other.stream()
        second.message(reload("news", TWO, 1))
        view = seen.kind("state").view
        self.assertIs(view.section("top"), before.section("top"))

    def test_moved_to_an_instance_that_was_not_named(self):
        third = self.new_daemon()
        feed, seen, first, _ = self.two()
        first.send("moved", {"feed": "news", "url": third.url + "/"})
        third.stream().message(reload("news", TWO, 5))
        seen.wait(lambda update: update.view.revision == 5)

    def test_moved_to_nowhere_known_asks_all(self):
        feed, seen, first, _ = self.two()
        first.send("moved", {"feed": "news"})
        self.other.stream().message(reload("news", TWO, 5))
        seen.wait(lambda update: update.view.revision == 5)

    def test_with_one_instance_a_moved_feed_comes_back(self):
        feed, seen, stream = self.followed()
        stream.send("moved", {"feed": "news"})
        seen.standing("stale", "moved")
        stream.message(reload("news", TWO, 9))
        self.assertEqual(seen.kind("state").view.revision, 9)

    def test_a_connection_that_fails_has_all_asked_and_nothing_is_lost(self):
        feed, seen, first, _ = self.two()
        self.daemon.close()
        first.cut()
        seen.standing("stale", "disconnected")
        second = self.other.stream()
        self.assertEqual(second.feeds, [{"feed": "news", "epoch": "t/0", "revision": 1}])
        second.message(difference("news", CHANGED, 2, **CHANGE))
        self.assertEqual(seen.kind("changed").view.item("a").data, 7)

    def test_a_feed_is_absent_when_all_have_said_so(self):
        other = self.new_daemon()
        seen = Seen(self.store(self.daemon.url, other.url).feed("news"))
        first, second = self.daemon.stream(), other.stream()
        first.send("absent", {"feed": "news"})
        first.send("absent", {"feed": "news"})
        self.assertEqual(seen.feed.view.standing.name, "connecting")
        second.send("absent", {"feed": "news"})
        seen.kind("absent")
        first.message(reload("news", TWO))
        seen.kind("state")


class History:
    """A daemon that has what a replay has written of a feed, and disturbs whoever follows it."""

    def __init__(self, daemon, lines, rng):
        self.daemon, self.rng = daemon, rng
        # Changesets as they are sent, and after each the feed as a reload.
        self.texts, self.reloads, replica = [], [], Replica("f")
        for line in lines:
            key, value = encoded(line)
            if value is None or key.decode().partition("/")[2] != "f":
                continue
            if line["value"].get("reason") == "keyframe":
                continue
            replica.apply(value)
            self.texts.append(value.decode())
            self.reloads.append(replica.to_reload() if replica.head else None)
        self.last = replica

    def version(self, index):
        return (self.value(index)["epoch"], self.value(index)["revision"])

    def value(self, index):
        return json.loads(self.texts[index])

    def state(self, stream, index):
        if self.reloads[index] is None:
            stream.send("absent", {"feed": "f"})
        else:
            stream.message(self.reloads[index])
            stream.up_to_date("f")

    def play(self):
        """Sends everything, over as many streams as it takes; returns how often the client was disturbed."""
        index, disturbed = -1, 0
        stream = None
        while index < len(self.texts) - 1 or stream is None:
            if stream is None:
                stream = self.daemon.stream()
                asked = stream.feeds[0]
                known = [
                    number for number in range(index + 1)
                    if "epoch" in asked and self.version(number) == (asked["epoch"], asked["revision"]) and self.reloads[number]]
                if known and self.rng.random() < 0.8:
                    stream.message(*self.texts[known[-1] + 1 : index + 1])
                    stream.up_to_date("f", **({} if self.reloads[index] else {"partition": None}))
                elif index >= 0:
                    self.state(stream, index)
                continue
            index += 1
            what = self.rng.random()
            if what < 0.04:
                disturbed += 1
                self.rng.choice([stream.cut, stream.end])()
                stream = None
            elif what < 0.08:
                disturbed += 1
                stream.send("must-refetch", {"feed": "f", "reason": "it was slow"})
                self.state(stream, index)
            elif what < 0.1 and index > 1:
                # It is sent twice.
                stream.message(self.texts[index], self.texts[index])
            elif what < 0.13 and self.value(index)["mode"] in ("diff", "reconfigure") and index + 1 < len(self.texts):
                # One is lost: the client asks for the feed anew.
                follows = self.value(index + 1)
                if follows["mode"] in ("diff", "reconfigure") and follows["epoch"] == self.value(index)["epoch"]:
                    disturbed += 1
                    index += 1
                    stream.message(self.texts[index])
                    asked = self.daemon.patch().content
                    assert asked == {"add": [{"feed": "f"}], "remove": ["f"]}, asked
                    self.state(stream, index)
                else:
                    stream.message(self.texts[index])
            else:
                stream.message(self.texts[index])
        self.state(stream, index)
        return disturbed


class RandomHistories(StoreTest):
    def test_whatever_happens_to_the_stream_the_end_is_that_of_the_replay(self):
        print(f"FEEDSTORE_SEED={SEED}")
        disturbed = 0
        for seed in range(SEED, SEED + 10):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                lines = [{**line, "key": "f"} for line in RandomRecords(rng).lines(250)]
                lines.append({"key": "f", "ts": 10**6, "value": {"op": "item.upsert", "section": "end", "item": "end"}})
                history = History(self.daemon, replay(lines, ["coalesce.window=0"])["output"], rng)
                feed, faults = self.store().feed("f"), []
                last = [()]

                def check(update):
                    try:
                        check_identities(last[0], update.view.sections)
                    except AssertionError as fault:
                        faults.append(fault)
                    last[0] = update.view.sections

                feed.subscribe(check)
                seen = Seen(feed)
                disturbed += history.play()
                head = history.last.head
                seen.wait(lambda update: (update.view.epoch, update.view.revision, update.view.standing.name) == (
                    head.epoch, head.revision, "live"), "the end")
                self.assertEqual(plain(feed.view.sections), plain(history.last.sections))
                self.assertEqual((feed.view.checksum, faults), (head.checksum, []))
                feed._store.close()
        self.assertGreater(disturbed, 10)


class Encrypted(StoreTest):
    def test_https(self):
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        certificate, key = f"{folder}/certificate", f"{folder}/key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
             certificate, "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.daemon.server.socket = context.wrap_socket(self.daemon.server.socket, server_side=True)
        url = self.daemon.url.replace("http:", "https:")
        seen = Seen(self.store(url).feed("news"))
        self.assertIn("CERTIFICATE_VERIFY_FAILED", seen.standing("stale", "disconnected").standing.detail)
        store = self.store(url, ssl_context=ssl.create_default_context(cafile=certificate))
        seen = Seen(store.feed("news"))
        stream = self.daemon.stream()
        stream.message(reload("news", TWO))
        seen.kind("state")
        Seen(store.feed("weather"))
        self.assertEqual(self.daemon.patch().content, {"add": [{"feed": "weather"}]})
        store.close()
        self.wait_for_end(stream)


def jwt(end, name):
    claims = base64.urlsafe_b64encode(json.dumps({"exp": end, "name": name}).encode()).decode().rstrip("=")
    return f"x.{claims}.y"


class Tokens(StoreTest):
    def test_the_token_is_asked_for_each_connection(self):
        tokens = iter(["one", "two"])
        feed, seen, stream = self.followed(token=lambda: next(tokens))
        self.assertEqual(stream.token, "Bearer one")
        stream.end()
        self.assertEqual(self.daemon.stream().token, "Bearer two")

    def test_it_may_be_a_text_or_a_coroutine(self):
        async def token():
            return "three"

        self.assertEqual(self.followed(token="four")[2].token, "Bearer four")
        self.assertEqual(self.followed(token=token)[2].token, "Bearer three")

    def test_a_refused_token_is_asked_for_again(self):
        tokens = iter(["old", "new"])
        self.daemon.refuse(401, {"code": "invalid-token", "detail": "it has ended"}, Retry_After="0")
        store = self.store(token=lambda: next(tokens))
        seen = Seen(store.feed("news"))
        self.assertEqual(self.daemon.stream().token, "Bearer old")
        self.assertEqual(seen.standing("stale", "token-needed").standing.detail, "it has ended")
        stream = self.daemon.stream()
        self.assertEqual(stream.token, "Bearer new")
        stream.message(reload("news", TWO))
        seen.kind("state")

    def test_a_function_that_fails_is_asked_again(self):
        seen = Seen(self.store(token=lambda: 1 / 0).feed("news"))
        self.assertIn("ZeroDivisionError", seen.standing("stale", "disconnected").standing.detail)

    def test_a_token_that_is_about_to_end_is_renewed(self):
        now = time.time()
        tokens = [jwt(now + 0.1, "old"), jwt(now + 3600, "new")]
        feed, seen, stream = self.followed(token=lambda: tokens.pop(0) if len(tokens) > 1 else tokens[0])
        patch = self.daemon.patch()
        self.assertEqual((patch.content, patch.headers["Authorization"]), ({}, f"Bearer {tokens[0]}"))
        # And is used from then on.
        Seen(feed._store.feed("weather"))
        self.assertEqual(self.daemon.patch().headers["Authorization"], f"Bearer {tokens[0]}")

    def test_a_token_that_ends_is_replaced_by_another_connection(self):
        tokens = iter(["old", "new"])
        feed, seen, stream = self.followed(token=lambda: next(tokens))
        stream.send("forbidden", {"feed": "news", "reason": "token-expired"})
        self.assertEqual(seen.standing("stale", "forbidden").standing.detail, "token-expired")
        stream.end()
        stream = self.daemon.stream()
        self.assertEqual((stream.token, stream.feeds[0]["revision"]), ("Bearer new", 1))
        stream.up_to_date("news")
        seen.live()

    def test_a_feed_that_may_not_be_read(self):
        seen = Seen(self.store().feed("news"))
        self.daemon.stream().send("forbidden", {"feed": "news", "reason": "not-allowed"})
        self.assertFalse(seen.standing("stale", "forbidden").exists)


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
