"""What can happen to a store's streams, with a daemon that does what the test says."""

import base64
import json
import random
import ssl
import subprocess
import tempfile
import time
import unittest
from unittest import mock

from fake_daemon import CHANGE, CHANGED, TWO, Clock, StoreTest
from support import PATIENCE_SECONDS, SEED, RandomRecords, Seen, difference, plain, reload, replay, until
from test_replica import check_identities, encoded

from feedstore import FeedStore, Window, WriteFailed, WriteRejected, transport, writes
from feedstore.replica import Replica


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

    def test_a_connection_that_is_not_needed_ends_although_the_daemon_is_silent(self):
        _, seen, stream = self.followed()
        seen.end()
        stream.connection.settimeout(PATIENCE_SECONDS)
        self.assertEqual(stream.connection.recv(1), b"")

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

    def test_a_changeset_that_does_not_fit_is_asked_for_again(self):
        feed, seen, stream = self.followed()
        for text in (
            difference("news", CHANGED, 5, **CHANGE),
            difference("news", TWO, 3, items={"delete": [{"id": "c", "section": "top", "index": 0}]}),
            reload("news", TWO, 3).replace('"checksum":"', '"checksum":"0'), '{"feed":"news"',
        ):
            with self.subTest(text[:60]):
                stream.message(difference("news", CHANGED, 2, **CHANGE))
                seen.kind("changed")
                stream.message(text)
                seen.standing("stale", "must-refetch")
                self.assertEqual(self.daemon.patch().content, {"add": [{"feed": "news"}], "remove": ["news"]})
                # On its way, and skipped.
                stream.message(difference("news", CHANGED, 3, **CHANGE))
                stream.message(reload("news", TWO))
                stream.up_to_date("news")
                seen.live()

    def test_a_feed_that_never_fits_is_asked_for_less_and_less_often(self):
        feed, seen, stream = self.followed()
        engine, delays = feed._store._engine, []
        later = engine.later
        engine.later = lambda seconds, function: (delays.append(seconds), later(0, function))[1]
        for _ in range(8):
            stream.message(difference("news", CHANGED, 7, **CHANGE))
            self.daemon.patch()
            stream.message(reload("news", TWO))
            stream.up_to_date("news")
        self.assertEqual(delays[0], 0)
        for attempt, delay in enumerate(delays[1:]):
            self.assertTrue(min(2**attempt, 30) <= delay <= 1.25 * min(2**attempt, 30), delays)

    def test_a_malformed_stream_is_opened_again(self):
        feed, seen, stream = self.followed()
        stream.message("no changeset")
        seen.standing("stale", "disconnected")
        stream = self.daemon.stream()
        for text in ("event: up-to-date\ndata: 7\n\n", "event: new\ndata: {}\n\n", ":\n", "id: x\n\n", "event: window\ndata: {\n\n"):
            stream.raw(text)
        stream.send("window", {"feed": "news", "window": [7]})
        stream.message(difference("news", CHANGED, 2, **CHANGE))
        seen.kind("changed")

    def test_a_fault_of_the_client_itself_does_not_stop_a_stream(self):
        feed, seen, stream = self.followed()
        with mock.patch.object(Replica, "apply", side_effect=ZeroDivisionError):
            stream.message(difference("news", CHANGED, 2, **CHANGE))
            seen.standing("stale", "disconnected")
        self.daemon.stream().message(difference("news", CHANGED, 2, **CHANGE))
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

    def test_it_comes_again_when_the_daemon_says_so(self):
        for after, expected in (("20", 25), ("2", 4.5), ("7" * 400, 375), ("-7", 3.75), ("Sat, 1 Jan 2000 00:00:00 GMT", 3.75)):
            with self.subTest(after), mock.patch.object(random, "random", return_value=1):
                self.daemon.refuse(503, {"code": "restoring", "detail": "it starts"}, Retry_After=after)
                with FeedStore(self.daemon.url) as store:
                    clock, seen = Clock(store), Seen(store.feed("news"))
                    self.daemon.stream()
                    again = seen.standing("stale", "unavailable").standing.until
                    self.assertEqual(clock.delays, [expected])
                    self.assertAlmostEqual(again, time.time() + expected, delta=PATIENCE_SECONDS)

    def test_a_stream_that_was_open_for_a_while_is_opened_again_at_once(self):
        store = self.store()
        clock = Clock(store)
        feed, seen, stream = self.followed(store)
        with mock.patch.object(random, "random", return_value=1):
            for lasts, expected in ((5, 0.05), (4.9, 3.75), (600, 0.05), (0, 3.75)):
                stream.raw("retry: 3000\n\n")
                clock.advance(lasts)
                stream.end()
                seen.standing("stale", "disconnected")
                self.assertAlmostEqual(clock.delays[0], expected)
                clock.advance(expected)
                stream = self.daemon.stream()
                stream.up_to_date("news")
                seen.live()

    def test_a_silent_connection_is_dead(self):
        with mock.patch.object(transport, "SILENCE_SECONDS", 0.2):
            seen = Seen(self.store().feed("news"))
            self.daemon.stream()
            self.assertIn("timed out", seen.standing("stale", "disconnected").standing.detail)
            self.daemon.stream()

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
        Seen(store.feed("weather"))
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

    def test_a_write_goes_to_the_instance_that_has_the_feed(self):
        feed, seen, first, _ = self.two()
        first.send("moved", {"feed": "news", "url": self.other.url})
        self.other.stream().message(reload("news", TWO, 5))
        seen.wait(lambda update: update.view.revision == 5)
        write = feed._store.feed("news", Window(first=1)).write({"op": "item.delete", "item": "a"})
        self.other.write().reply(422, code="limit-exceeded", detail="because")
        with self.assertRaisesRegex(WriteRejected, "because"):
            write.result(PATIENCE_SECONDS)

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
    """A daemon that has what a replay has written of a feed, and disturbs its followers."""

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
                # One is lost: the client asks for the feed again.
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
        stream.connection.settimeout(PATIENCE_SECONDS)
        self.assertEqual(stream.connection.recv(1), b"")


def jwt(end, name, **more):
    claims = base64.urlsafe_b64encode(json.dumps({"exp": end, "name": name, **more}).encode()).decode().rstrip("=")
    return f"x.{claims}.y"


EARLY = {"code": "invalid-token", "detail": "the token is not valid yet"}


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
        clock, seen = Clock(store), Seen(store.feed("news"))
        self.assertEqual(self.daemon.stream().token, "Bearer old")
        self.assertEqual(seen.standing("stale", "token-needed").standing.detail, "it has ended")
        clock.advance(0.05)
        stream = self.daemon.stream()
        self.assertEqual(stream.token, "Bearer new")
        stream.message(reload("news", TWO))
        seen.kind("state")

    def test_a_token_that_no_header_can_hold_is_refused_and_not_shown(self):
        for token in ("secret\n", "secret\u20ac"):
            feed = self.store(token=token).feed("news")
            standing = Seen(feed).standing("stale", "token-needed").standing
            self.assertIn("the token", standing.detail)
            with self.assertRaisesRegex(WriteFailed, "^nothing was written: the token") as caught:
                feed.write({"op": "feed.clear"}).result(PATIENCE_SECONDS)
            self.assertNotIn("secret", f"{standing} {caught.exception}")

    def test_a_function_that_fails_is_asked_again(self):
        feed = self.store(token=lambda: 1 / 0).feed("news")
        self.assertIn("ZeroDivisionError", Seen(feed).standing("stale", "token-needed").standing.detail)
        with self.assertRaisesRegex(WriteFailed, "^nothing was written: .*ZeroDivisionError"):
            feed.write({"op": "feed.clear"}).result(PATIENCE_SECONDS)

    def test_without_a_newer_token_the_present_one_stays_in_use(self):
        for newer in (lambda: None, lambda: 1 / 0):
            given = iter(["one"])
            feed, seen, stream = self.followed(token=lambda given=given, newer=newer: next(given, None) or newer())
            stream.end()
            self.assertEqual(self.daemon.stream().token, "Bearer one")
            feed._store.close()

    def test_a_token_that_is_about_to_end_is_renewed(self):
        now = time.time()
        tokens = [jwt(now + 0.1, "old"), jwt(now + 3600, "new")]
        feed, seen, stream = self.followed(token=lambda: tokens.pop(0) if len(tokens) > 1 else tokens[0])
        patch = self.daemon.patch()
        self.assertEqual((patch.content, patch.headers["Authorization"]), ({}, f"Bearer {tokens[0]}"))
        # And is used from then on.
        Seen(feed._store.feed("weather"))
        self.assertEqual(self.daemon.patch().headers["Authorization"], f"Bearer {tokens[0]}")

    def test_a_token_that_is_not_valid_yet_is_kept_and_sent_again(self):
        later = time.time() + 3600
        for first, detail in (("one", EARLY["detail"]), (jwt(later, "one", nbf=later - 60), "no")):
            with self.subTest(detail):
                tokens = iter([first, "two", "three"])
                for _ in range(2):
                    self.daemon.refuse(401, {"detail": detail})
                store = self.store(token=lambda tokens=tokens: next(tokens))
                clock, seen = Clock(store), Seen(store.feed("news"))
                for _ in range(2):
                    self.assertEqual(self.daemon.stream().token, f"Bearer {first}")
                    self.assertGreater(seen.standing("stale", "token-needed").standing.until, 0)
                    clock.advance(30)
                stream = self.daemon.stream()
                self.assertEqual(stream.token, f"Bearer {first}")
                stream.message(reload("news", TWO))
                stream.up_to_date("news")
                seen.live()
                # The one that was accepted stays in use while the next one is not valid yet.
                self.daemon.refuse(401, EARLY)
                stream.cut()
                for expected in ("two", first):
                    seen.standing("stale", "disconnected" if expected == "two" else "token-needed")
                    clock.advance(30 if expected == "two" else 0.05)
                    self.assertEqual(self.daemon.stream().token, f"Bearer {expected}")

    def test_a_token_that_never_becomes_valid_is_replaced(self):
        tokens = iter(["one", "two"])
        with mock.patch.object(transport, "EARLY_SECONDS", -1):
            self.daemon.refuse(401, EARLY)
            store = self.store(token=lambda: next(tokens))
            clock, seen = Clock(store), Seen(store.feed("news"))
            self.daemon.stream()
            seen.standing("stale", "token-needed")
            clock.advance(30)
            self.assertEqual(self.daemon.stream().token, "Bearer two")

    def test_a_renewed_token_that_is_not_valid_yet_does_not_disturb_the_stream(self):
        now = time.time()
        tokens = [jwt(now + 3600, "old"), jwt(now + 7200, "new")]
        given = iter(tokens)
        store = self.store(token=lambda: next(given))
        clock = Clock(store)
        feed, seen, stream = self.followed(store)
        self.daemon.refuse(401, EARLY, "PATCH")
        clock.advance(3600)
        self.assertEqual(self.daemon.patch().headers["Authorization"], f"Bearer {tokens[1]}")
        until(lambda: clock.delays, "another attempt")
        Seen(store.feed("weather"))
        self.assertEqual(self.daemon.patch().headers["Authorization"], f"Bearer {tokens[0]}")
        until(lambda: not store._streams[self.daemon.url][0]._is_patching, "the answer")
        clock.advance(3600)
        self.assertEqual(self.daemon.patch().headers["Authorization"], f"Bearer {tokens[1]}")
        until(lambda: max(clock.delays, default=0) > 3600, "its own renewal")
        self.assertEqual(feed.view.standing.name, "live")

    def test_a_write_waits_for_its_token_to_be_valid(self):
        tokens = iter(["one", "two"])
        feed = self.store(token=lambda: next(tokens)).feed("news")
        with mock.patch.object(writes, "EARLY_PAUSE_SECONDS", 0):
            write = feed.write({"op": "feed.clear"})
            for _ in range(3):
                asked = self.daemon.write()
                self.assertEqual(asked.headers["Authorization"], "Bearer one")
                asked.reply(401, **EARLY)
            self.daemon.write().reply(202, feed="news", topic="t", partition=0)
            self.assertEqual(write.result(PATIENCE_SECONDS).topic, "t")

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


if __name__ == "__main__":
    unittest.main()
