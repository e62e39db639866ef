"""What `python -m feedstore watch` draws."""

import os
import pty
import select
import signal
import subprocess
import sys
import threading
import unittest

from fake_daemon import FakeDaemon
from support import PATIENCE_SECONDS, SOURCES, difference, reload, run_command, section

from feedstore.__main__ import clean, lines_of
from feedstore.model import FeedView, Standing
from feedstore.replica import Replica

TOP = [section("top", ("a", {"title": "Apples"}), ("b", "日本"), data={"title": "Top"}), section("more")]


def view(sections=TOP, **more):
    replica = Replica("news")
    replica.apply(reload("news", sections))
    return FeedView("news", Standing("live"), True, "t/0", 1, sections=replica.sections, **more)


class Drawing(unittest.TestCase):
    def test_a_feed(self):
        self.assertEqual(lines_of(view(), 24), [
            "news  live  revision 1: 2 sections, 2 items", '▌top  {"title":"Top"}', '  a  {"title":"Apples"}', '  b  "日本"', "▌more"])
        self.assertEqual(len(lines_of(view([section("s", *map(str, range(1000)))]), 24)), 24)

    def test_what_could_control_a_terminal_is_shown_as_text(self):
        self.assertEqual(clean("a\x1b[2Jb\u202ec\x9b"), "a\\x1b[2Jb\\u202ec\\x9b")
        lines = lines_of(view([section("s\x1b", ("i\n", "\x9b"))]), 24)
        self.assertTrue(all(map(str.isprintable, lines)), lines)


class Command(unittest.TestCase):
    def setUp(self):
        self.daemon = FakeDaemon()
        self.addCleanup(self.daemon.close)

    def start(self, **more):
        environment = {**os.environ, "PYTHONPATH": str(SOURCES), "FEEDSTORE_HTTP_TOKEN": "secret", "TERM": "xterm"}
        process = subprocess.Popen(
            [sys.executable, "-m", "feedstore", "watch", "news", "--url", self.daemon.url], env=environment, **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_without_a_terminal_it_prints_a_line_for_each_change(self):
        process = self.start(stdout=subprocess.PIPE, encoding="utf-8")
        self.addCleanup(process.stdout.close)
        stream = self.daemon.stream()
        self.assertEqual((stream.token, stream.content), ("Bearer secret", {"feeds": [{"feed": "news", "view": "1"}]}))
        stream.message(reload("news", TOP))
        stream.up_to_date()
        change = {"reconfigure": [{"id": "a", "section": "top", "index": 0, "data": 1}]}
        stream.message(difference("news", TOP, 2, "reconfigure", items=change))
        stream.send("absent", {"view": "1", "feed": "news"})
        limit = threading.Timer(PATIENCE_SECONDS, process.kill)
        limit.start()
        self.addCleanup(limit.cancel)
        self.assertEqual([process.stdout.readline() for _ in range(5)], [
            "news: catching-up\n", "news state revision 1: 2 sections, 2 items\n", "news: live\n", "news reconfigure revision 2: 2 sections, 2 items\n",
            "news: there is no such feed\n"])

    def test_in_a_terminal_it_draws_what_fits(self):
        main, other = pty.openpty()
        self.addCleanup(os.close, main)
        process = self.start(stdout=other, stdin=other, stderr=other)
        os.close(other)
        stream = self.daemon.stream()
        first = stream.content["feeds"][0]["first"]
        window = {"window": [{"section": "top", "from": 0, "shown": 2, "of": 2}, {"section": "more", "from": 0, "shown": 0, "of": 0}]}
        stream.message(reload("news", TOP, **window))
        stream.up_to_date()
        text = b""
        while b"live" not in text:
            self.assertTrue(select.select([main], [], [], PATIENCE_SECONDS)[0], text)
            text += os.read(main, 65536)
        self.assertIn("▌top", text.decode())
        self.assertGreater(first, 0)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_SECONDS), 130)
        self.assertIn(b"\x1b[?7h", os.read(main, 65536))

    def test_a_wrong_url_and_help(self):
        result = run_command("watch", "news", "--url", "news")
        self.assertEqual(result.returncode, 1)
        self.assertIn("expected one such as http://127.0.0.1:8321", result.stderr)
        self.assertIn("usage: python -m feedstore ", run_command("--help").stdout)
        self.assertEqual(run_command().returncode, 2)


if __name__ == "__main__":
    unittest.main()
