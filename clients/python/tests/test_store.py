"""What a program has of a store: updates in threads and event loops, views, tokens and writes, over HTTP."""

import asyncio
import base64
import dataclasses
import json
import ssl
import subprocess
import tempfile
import threading
import typing
from unittest import main, mock

from fake_daemon import CHANGE, CHANGED, TWO, StoreTest
from support import PATIENCE_SECONDS, Seen, difference, reload, section

import feedstore
from feedstore import FeedStore, Window
from feedstore.followed import Followed

PATCH = {"op": "item.patch", "item": "a", "data": {"starred": True}}
WRITTEN = {"feed": "news", "topic": "t", "partition": 0, "offset": 5}


class Following(StoreTest):
    def test_a_feed_is_shown_and_changes(self):
        feed, seen, stream = self.followed()
        before = feed.view
        self.assertEqual((before.exists, before.revision, before.partition, len(before.sections)), (True, 1, 0, 2))
        stream.message(difference("news", CHANGED, 2, **CHANGE))
        update = seen.kind("changed")
        self.assertEqual((update.change.mode, update.change.items.reconfigure[0].id), ("reconfigure", "a"))
        self.assertEqual((update.view.item("a").data, before.item("a").data, update.view.standing.name), (7, None, "live"))
        self.assertIs(update.view.item("b"), before.item("b"))
        self.assertIs(update.view.section("more"), before.section("more"))
        self.assertIsNot(update.view.section("top"), before.section("top"))

    def test_a_window_keeps_its_view_until_the_next_one_and_its_objects(self):
        totals = [{"section": "top", "from": 0, "shown": 1, "of": 3}]
        window, shown, stream = self.followed(window=Window(sections=["top"], first=1), sections=[section("top", "a")], totals=totals)
        first = window.view
        self.assertEqual((first.section("top").of, len(first.section("top").items)), (3, 1))
        window.show(Window(first=2))
        self.daemon.next("PATCH").reply(200, {})
        self.assertIs(window.view.sections, first.sections)
        stream.send("must-refetch", {"view": "1", "feed": "news"})
        stream.message(reload("news", [section("top", "a", "b")], window=[{**totals[0], "shown": 2}]))
        self.assertIs(shown.kind("state").view.item("a"), first.item("a"))
        stream.send("window", {"view": "1", "feed": "news", "epoch": "t/0", "revision": 9, "window": [{**totals[0], "of": 312}]})
        third = shown.wait(lambda update: update.view.section("top").of == 312)
        self.assertEqual((third.kind, third.view.item("a") is first.item("a"), third.view.revision), ("standing", True, 1))

    def test_a_feed_that_is_left_keeps_its_view_and_its_objects(self):
        feed, seen, stream = self.followed()
        before = feed.view
        seen.end()
        stream.connection.settimeout(PATIENCE_SECONDS)
        self.assertEqual(stream.connection.recv(1), b"")
        self.assertIs(feed.view, before)
        again = Seen(feed)
        self.assertIs(again.kind("state").view.sections, before.sections)
        self.daemon.stream().message(reload("news", CHANGED, 7), view="2")
        view = again.wait(lambda update: update.view.revision == 7).view
        self.assertIs(view.item("b"), before.item("b"))

    def test_iterations_end_with_the_store_and_begin_with_the_state(self):
        feed, _, stream = self.followed()
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
        feed, _, stream = self.followed()

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

    def test_listeners_may_fail_and_write(self):
        feed, seen, stream = self.followed()
        feed.subscribe(lambda update: 1 / 0)
        revisions, kinds = [], []

        def write(update):
            if update.kind == "changed":
                feed.write(PATCH, wait=0)
                revisions.append(feed.view.is_pending)

        feed.subscribe(write)
        feed.subscribe(lambda update: kinds.append(update.kind))
        stream.message(difference("news", CHANGED, 2, **CHANGE))
        seen.kind("pending")
        # The others see the change before the write.
        self.assertEqual((revisions, kinds), ([True], ["state", "changed", "pending"]))

    def test_data_has_the_program_s_type(self):
        class Album(typing.TypedDict):
            title: str

        @dataclasses.dataclass
        class Song:
            title: str

        data = {"title": "Blue"}
        for kind, wanted in ((Album, data), (lambda value: Song(**value), Song("Blue"))):
            feed, seen, stream = self.followed(data=kind)
            for revision, text in enumerate((reload("news", [section("top", ("b", data))], 5), reload("news", [section("top", ("b", 7))], 6))):
                stream.message(text)
                item = seen.wait(lambda update: update.view.revision == 5 + revision).view.item("b")
                if kind is not Album and revision == 1:
                    # The error of the function belongs to the item.
                    self.assertRaises(TypeError, lambda: item.data)
                else:
                    self.assertEqual(item.data, 7 if revision else wanted)
                self.assertIs(feed.view.item("b"), item)
            feed.write({"op": "item.upsert", "item": "c", "section": "top", "data": data}, wait=0)
            self.assertEqual(feed.view.item("c").data, wanted)
            feed._store.close()
            self.daemon.next("POST")

    def test_wrong_arguments_are_refused_at_once(self):
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


class Connections(StoreTest):
    def test_a_lost_connection_is_resumed_at_once_on_request(self):
        feed, seen, stream = self.followed()
        before = feed.view
        # Within a message.
        stream.raw('retry: 30000\n\ndata: {"view":"1",' + difference("news", CHANGED, 2, **CHANGE)[1:50])
        stream.cut()
        standing = seen.standing("stale", "disconnected").standing
        self.assertEqual((standing.detail, standing.until > 0), (f"the connection to {self.daemon.url} was lost", True))
        feed._store.reconnect()
        self.daemon.stream().message(difference("news", CHANGED, 2, **CHANGE))
        self.assertEqual(seen.kind("changed").view.item("a").data, 7)
        self.assertIs(feed.view.section("more"), before.section("more"))

    def test_details_say_why(self):
        daemon = self.new_daemon()
        daemon.close()
        feed = self.store(daemon.url).feed("news")
        detail = Seen(feed).standing("stale", "disconnected").standing.detail
        self.assertRegex(detail, f"{daemon.url} cannot be reached: .*refused")
        with self.assertRaisesRegex(feedstore.WriteFailed, f"{daemon.url} cannot be reached.*nothing was written"):
            feed.write(PATCH).result(PATIENCE_SECONDS)
        for status, value, headers, reason, text in (
            (200, b"<html>", {}, "unavailable", "not a stream"),
            (503, {"code": "restoring", "detail": "it starts"}, {"Retry_After": "2"}, "unavailable", "it starts"),
            (500, b"[]", {"Retry_After": "Sat, 1 Jan 2000 00:00:00 GMT"}, "unavailable", "answers 500"),
        ):
            with FeedStore(self.daemon.url) as store:
                seen = Seen(store.feed("news"))
                self.daemon.next("POST").reply(status, value, **headers)
                self.assertIn(text, seen.standing("stale", reason).standing.detail)
                self.assertEqual(store.standing.reason, reason)

    def test_a_malformed_stream_is_opened_again(self):
        feed, seen, stream = self.followed()
        stream.raw("data: no changeset\n\n")
        seen.standing("stale", "disconnected")
        stream = self.daemon.stream()
        for text in ("event: new\ndata: {}\n\n", ":\n", "id: x\n\n", 'event: window\ndata: {"view":"1","window":[7]}\n\n'):
            stream.raw(text)
        stream.message(difference("news", CHANGED, 2, **CHANGE))
        seen.kind("changed")
        # A changeset that is not valid concerns its view alone.
        stream.raw('data: {"view":"1","feed":7}\n\n')
        self.assertIn("feed is not valid", seen.standing("stale", "must-refetch").standing.detail)

    def test_a_fault_of_the_client_itself_does_not_stop_a_stream(self):
        feed, seen, stream = self.followed()
        with mock.patch.object(Followed, "changeset", side_effect=ZeroDivisionError):
            stream.message(difference("news", CHANGED, 2, **CHANGE))
            self.assertIn("ZeroDivisionError", seen.standing("stale", "disconnected").standing.detail)
        self.daemon.stream().message(difference("news", CHANGED, 2, **CHANGE))
        seen.kind("changed")

    def test_https(self):
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        certificate, key = f"{folder}/certificate", f"{folder}/key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
             certificate, "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.daemon.server.socket = context.wrap_socket(self.daemon.server.socket, server_side=True)
        self.daemon.url = self.daemon.url.replace("http:", "https:")
        seen = Seen(self.store().feed("news"))
        self.assertIn("CERTIFICATE_VERIFY_FAILED", seen.standing("stale", "disconnected").standing.detail)
        feed, seen, stream = self.followed(self.store(ssl_context=ssl.create_default_context(cafile=certificate)))
        feed._store.close()
        stream.connection.settimeout(PATIENCE_SECONDS)
        self.assertEqual(stream.connection.recv(1), b"")


class Tokens(StoreTest):
    def test_a_token_may_be_a_text_a_function_or_a_coroutine(self):
        async def token():
            return "three"

        for given, sent in (("one", "one"), (lambda: "two", "two"), (token, "three")):
            store = self.store(token=given)
            Seen(store.feed("news"))
            stream = self.daemon.stream()
            self.assertEqual(stream.token, f"Bearer {sent}")
            store.set_token("new")
            request = self.daemon.next("PATCH")
            self.assertEqual((request.path, request.token, request.content), ("/v1/streams/s", "Bearer new", {}))
            store.close()

    def test_a_feed_without_listeners_shows_nothing_of_a_former_person(self):
        def token(person):
            claims = base64.urlsafe_b64encode(json.dumps({"sub": person}).encode()).decode().rstrip("=")
            return f"x.{claims}.x"

        store = self.store(token=token("one"))
        feed, seen, _ = self.followed(store)
        seen.end()
        self.assertTrue(feed.view.exists)
        store.set_token(token("one"))
        self.assertTrue(feed.view.exists)
        store.set_token(token("two"))
        self.assertEqual((feed.view.exists, feed.view.sections, feed.view.standing.name), (False, (), "connecting"))

    def test_a_token_that_no_header_can_hold_is_refused_and_not_shown(self):
        for token in ("secret\n", "secret\u20ac"):
            feed = self.store(token=token).feed("news")
            standing = Seen(feed).standing("stale", "token-needed").standing
            self.assertIn("the token", standing.detail)
            with self.assertRaisesRegex(feedstore.WriteFailed, "^nothing was written: the token") as caught:
                feed.write(PATCH).result(PATIENCE_SECONDS)
            with self.assertRaisesRegex(ValueError, "header") as other:
                feed._store.set_token(token)
            self.assertNotIn("secret", f"{standing} {caught.exception} {other.exception}")

    def test_the_error_of_a_function_is_in_the_standing_and_in_a_write(self):
        feed = self.store(token=lambda: 1 / 0).feed("news")
        self.assertIn("ZeroDivisionError", Seen(feed).standing("stale", "token-needed").standing.detail)
        with self.assertRaisesRegex(feedstore.WriteFailed, "^nothing was written: .*ZeroDivisionError"):
            feed.write(PATCH).result(PATIENCE_SECONDS)


class Writes(StoreTest):
    def test_a_write_is_shown_at_once_and_awaited(self):
        feed, seen, stream = self.followed()
        before = feed.view
        write = feed.write(PATCH)
        pending = feed.view
        self.assertTrue(pending.is_pending and pending.section("top").is_pending and pending.item("a").is_pending)
        self.assertIs(pending.item("b"), before.item("b"))
        self.assertIs(before.item("a").data, None)
        request = self.daemon.next("POST")
        self.assertEqual((request.path, request.headers["Prefer"]), ("/v1/feeds/news/events", None))
        request.reply(202, WRITTEN)
        request = self.daemon.next("GET")
        self.assertEqual((request.path, request.headers["Prefer"]), ("/v1/feeds/news/events?partition=0&offset=5", "wait=10"))
        request.reply(200, {**WRITTEN, "epoch": "t/0", "revision": 2, "changed": True})

        async def outcome():
            return await write

        self.assertEqual(asyncio.run(outcome()), feedstore.Written("news", "t", 0, 5, "t/0", 2, True))
        self.assertIs(feed.view.item("a"), pending.item("a"))

    def test_failures_say_whether_the_write_may_be_published(self):
        feed, _, _ = self.followed()
        before = feed.view
        for status, value, fault, text in (
            (422, {"code": "unknown-anchor", "detail": "because"}, feedstore.WriteRejected, "^because$"),
            (412, {"code": "condition-failed", "detail": "found 2"}, feedstore.WriteRejected, "^found 2$"),
            (503, {"code": "not-written", "detail": "no leader"}, feedstore.WriteFailed, "no leader.*may be published.*10.2"),
            (202, {}, feedstore.WriteFailed, "may be published"), (None, None, feedstore.WriteFailed, "was lost.*may be published"),
        ):
            write = feed.write(PATCH)
            request = self.daemon.next("POST")
            if status is None:
                request.cut()
            else:
                request.reply(status, value)
            with self.assertRaisesRegex(fault, text) as caught:
                write.result(PATIENCE_SECONDS)
            self.assertEqual(caught.exception.code, value.get("code") if value else None)
            self.assertIs(feed.view.section("top"), before.section("top"))

    def test_a_condition_goes_with_the_first_event(self):
        feed = self.store(self.daemon.url).feed("news")
        condition = {"revision": 7}
        for events in (PATCH, [PATCH, {"op": "item.delete", "item": "b"}]):
            write = feed.write(events, if_=condition)
            first, *rest = [events] if isinstance(events, dict) else events
            request = self.daemon.next("POST")
            self.assertEqual(request.content, [{**first, "if": condition}, *rest])
            request.reply(202, WRITTEN)
            self.daemon.next("GET").reply(412, {"code": "condition-failed", "detail": "found revision 8"})
            with self.assertRaisesRegex(feedstore.WriteRejected, "^found revision 8$") as caught:
                write.result(PATIENCE_SECONDS)
            self.assertEqual(caught.exception.code, "condition-failed")
        with self.assertRaisesRegex(ValueError, "not an event"):
            feed.write([], if_=condition)

    def test_a_write_goes_to_an_instance_that_can_be_reached(self):
        away = self.new_daemon()
        away.close()
        write = self.store(away.url, self.daemon.url).feed("news").write(PATCH, wait=0)
        self.daemon.next("POST").reply(202, WRITTEN)
        self.assertEqual(write.result(PATIENCE_SECONDS).offset, 5)

    def test_nothing_is_kept_of_feeds_that_are_neither_followed_nor_written(self):
        store = self.store()
        write = store.feed("weather").write(PATCH, wait=0)
        self.daemon.next("POST").reply(202, WRITTEN)
        write.result(PATIENCE_SECONDS)
        seen = self.followed(store)[1]
        seen.end()
        machine = store._machine
        self.assertEqual(store._run(lambda: (machine.all_writes, machine._views, machine.requests, machine.streams)), ({}, {}, {}, []))

    def test_a_list_is_applied_to_the_feed_that_is_shown(self):
        feed, seen, stream = self.followed()
        write = feed.apply([section("top", "c", "a", "b"), section("more")])
        self.assertEqual([item.id for item in feed.view.section("top").items], ["c", "a", "b"])
        request = self.daemon.next("POST")
        self.assertEqual(request.content, [{"op": "item.move", "item": "c", "at": "first"}])
        request.reply(200, WRITTEN)
        self.assertEqual(write.result(PATIENCE_SECONDS).offset, 5)
        self.assertIsNone(feed.apply(feed.view.sections).result(0))
        for other, text in (
            (feed._store.feed("news", Window(first=2)), r"needs the whole feed: store.feed\('news'\)"), (feed._store.feed("x"), "not followed"),
        ):
            with self.assertRaisesRegex(feedstore.FeedStoreError, text):
                other.apply([])



if __name__ == "__main__":
    main()
