"""A real daemon, on a cluster or its stand-in: killed and restarted while feeds are followed and written, and in windows."""

import contextlib
import os
import random
import unittest
from contextlib import closing

from confluent_kafka import admin

from support import PATIENCE_SECONDS, SEED, Daemon, LastingRecords, Seen, plain, until
from test_optimistic import random_event, random_sections
from test_replica import check_identities

from feedstore import WHOLE, FeedStore, Window, WriteRejected

SERVERS = os.environ.get("FEEDSTORE_TEST_BOOTSTRAP")


@unittest.skipUnless(SERVERS, "FEEDSTORE_TEST_BOOTSTRAP names no cluster; the suite's runner provides a stand-in")
class OnCluster(unittest.TestCase):
    def settings(self):
        """Topics and a group of this test's own."""
        prefix = f"python{random.randrange(2**48):x}"
        names = {name: f"{prefix}.{name}" for name in ("sections", "items", "changesets", "rejected")}
        topics = [
            admin.NewTopic(topic, num_partitions=2, replication_factor=1, config={"cleanup.policy": "compact"} if name == "changesets" else {})
            for name, topic in names.items()]
        client = admin.AdminClient({"bootstrap.servers": SERVERS})
        for created in client.create_topics(topics).values():
            created.result(PATIENCE_SECONDS)
        return {
            **{f"topics.{name}": topic for name, topic in names.items()}, "kafka.group.id": prefix}

    def start(self, settings, **more):
        daemon = Daemon({**settings, **more}, SERVERS)
        self.addCleanup(lambda: None if daemon.process.stdout.closed else daemon.close())
        return daemon.wait_until_ready()

    def test_a_killed_daemon_is_followed_on_and_written_to(self):
        settings = self.settings()
        daemon = self.start(settings)
        port = daemon.url.rpartition(":")[2]
        with FeedStore(daemon.url) as store:
            feed = store.feed("news")
            seen = Seen(feed)
            items = [{"id": f"i{number}", "data": 0} for number in range(20)]
            feed.write({"op": "feed.replace", "sections": [{"id": "s", "items": items}]}).result(PATIENCE_SECONDS)
            seen.wait(lambda update: update.view.exists)
            seen.live()
            for life in range(1, 4):
                before = feed.view
                daemon.kill()
                seen.standing("stale", "disconnected")
                # What is written meanwhile is not, and is taken back.
                with self.assertRaisesRegex(Exception, "nothing was written"):
                    feed.write({"op": "item.delete", "item": "i0"}).result(PATIENCE_SECONDS)
                self.assertIs(feed.view.section("s"), before.section("s"))
                daemon = self.start(settings, **{"http.port": port})
                seen.live()
                # The state was read again, and its elements are the same.
                self.assertIs(feed.view.section("s"), before.section("s"))
                write = feed.write({"op": "item.patch", "item": f"i{life}", "data": life})
                self.assertTrue(feed.view.item(f"i{life}").is_pending)
                revision = write.result(PATIENCE_SECONDS).revision
                view = seen.wait(lambda update: update.view.revision >= revision and not update.view.is_pending).view
                self.assertEqual(view.item(f"i{life}").data, life)
                self.assertIs(view.item("i0"), before.item("i0"))

    def test_several_instances(self):
        settings = self.settings()
        first, second = self.start(settings), self.start(settings)
        feeds = [f"f{number}" for number in range(12)]
        with FeedStore([first.url, second.url]) as store:
            seen = {name: Seen(store.feed(name)) for name in feeds}
            for name in feeds:
                store.feed(name).write({"op": "item.upsert", "item": "a", "section": "s", "data": name}, wait=0).result(PATIENCE_SECONDS)
            for name, updates in seen.items():
                updates.wait(lambda update: update.view.exists and update.view.item("a").data == name)
            first.kill()
            for name in feeds:
                event = {"op": "item.upsert", "item": "b", "section": "s", "data": name}
                store.feed(name).write(event, wait=0).result(PATIENCE_SECONDS)
            for name, updates in seen.items():
                updates.wait(lambda update: update.view.exists and update.view.item("b") is not None)


class Writers(unittest.TestCase):
    def test_programs_that_write_one_feed_end_with_the_same_view(self):
        """Each shows its own writes at once, applied to what the others have written."""
        print(f"FEEDSTORE_SEED={SEED}")
        rng = random.Random(SEED)
        with contextlib.ExitStack() as stack:
            daemon = stack.enter_context(closing(Daemon().wait_until_ready()))
            feeds = [stack.enter_context(FeedStore(daemon.url)).feed("f", window) for window in (WHOLE, WHOLE, Window(first=4))]
            seen = [Seen(feed) for feed in feeds]
            feeds[0].write({"op": "feed.replace", "sections": random_sections(rng)}).result(PATIENCE_SECONDS)
            for updates in seen:
                updates.wait(lambda update: update.view.exists)
            writes, shown_early = [], 0
            for _ in range(150):
                feed = rng.choice(feeds)
                before = feed.view
                writes.append(feed.write([random_event(rng) for _ in range(rng.choice([1, 1, 2]))], wait=rng.choice([0, 10])))
                shown_early += feed.view is not before
            outcomes = {type(write._future.exception(PATIENCE_SECONDS)) for write in writes}
            feeds[0].write({"op": "item.upsert", "item": "end", "section": "s0", "at": "first"}).result(PATIENCE_SECONDS)
            for feed in feeds:
                until(lambda: feed.view.item("end") and not feed.view.is_pending and feed.view.standing.name == "live",
                      lambda: f"the end of {feed.view}")
            self.assertEqual(plain(feeds[0].view.sections), plain(feeds[1].view.sections))
            self.assertEqual(plain(feeds[2].view.sections), [one[0] for one in shown(plain(feeds[0].view.sections), Window(first=4))])
            self.assertGreater(shown_early, 20)
            # Some anchors are gone when the daemon sees them.
            self.assertEqual(outcomes, {type(None), WriteRejected})


def shown(sections, window):
    """The slice of plain sections that a window shows, and its totals."""
    found = []
    for name, data, order, keep, items in sections:
        if window.sections is not None and name not in window.sections:
            continue
        begin = window.from_ or 0
        count = window.count if window.count is not None else window.first
        part = items[begin:] if count is None else items[begin : begin + count]
        found.append(((name, data, order, keep, part), begin, len(items)))
    return found


def random_window(rng):
    name = f"s{rng.randrange(5)}"
    return rng.choice([
        Window(first=rng.randrange(6)), Window(sections=(name,), from_=rng.randrange(8), count=rng.randrange(5)),
        Window(sections=(name, "s0")), Window(sections=(name,), first=rng.randrange(6)), Window()])


class OnItsOwnBroker(unittest.TestCase):
    def test_random_windows_equal_slices_of_the_feed(self):
        print(f"FEEDSTORE_SEED={SEED}")
        rng = random.Random(SEED)
        with contextlib.ExitStack() as stack:
            daemon = stack.enter_context(closing(Daemon({"limits.maxDataBytes": "1000"}).wait_until_ready()))
            store = stack.enter_context(FeedStore(daemon.url))
            whole = {name: store.feed(name) for name in ("f", "g", "ü/ber")}
            windows = [store.feed(rng.choice(sorted(whole)), random_window(rng)) for _ in range(6)]
            # By themselves: a window that another `Feed` shows already has the objects of that one.
            alone = [stack.enter_context(FeedStore(daemon.url)).feed(rng.choice(sorted(whole)), random_window(rng)) for _ in range(4)]
            windows += alone
            seen = [Seen(feed) for feed in (*whole.values(), *windows)]
            faults = []
            for feed in alone:
                self.check_each_update(feed, faults)
            compared = 0
            records = LastingRecords(rng)
            for round_ in range(12):
                daemon.publish({"key": line["key"], "payload": line["payload"]} for line in records.lines(40))
                marks = [
                    (name, feed.write({"op": "section.upsert", "section": "mark", "data": round_}).result(PATIENCE_SECONDS))
                    for name, feed in whole.items()]
                for name, written in marks:
                    until(lambda: (whole[name].view.revision or 0) >= written.revision and whole[name].view.epoch == written.epoch,
                          "the end of the round")
                for feed in windows:
                    def found():
                        sections = feed.view.sections
                        return [(one, section.from_, section.of) for one, section in zip(plain(sections), sections)]

                    def wanted():
                        return shown(plain(whole[feed.id].view.sections), feed.window)

                    until(lambda: found() == wanted(), lambda: f"{wanted()} in place of {found()}; {feed.window} of {feed.view}")
                    compared += len(feed.view.sections)
                for feed in rng.sample(windows, 6):
                    for _ in range(rng.choice([1, 1, 4])):
                        feed.show(random_window(rng))
            self.assertGreater(compared, 100)
            self.assertEqual((faults, len(seen)), ([], 13))

    def check_each_update(self, feed, faults):
        """Also between the views of two windows, what is equal is the same object."""
        last = [()]

        def check(update):
            try:
                check_identities(last[0], update.view.sections)
            except AssertionError as fault:
                faults.append((feed.window, update.kind, fault))
            last[0] = update.view.sections

        feed.subscribe(check)


if __name__ == "__main__":
    unittest.main()
