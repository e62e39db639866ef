"""What `python -m feedstore watch` draws."""

import os
import pty
import re
import select
import subprocess
import sys
import threading
import unittest

from fake_daemon import FakeDaemon
from support import PATIENCE_SECONDS, SOURCES, difference, reload, run_command, section

from feedstore.model import FeedView, Standing
from feedstore.replica import Replica
from feedstore.terminal import Line, Screen, clean, fitted, lines_of

TOP = [section("top", ("a", {"title": "Apples"}), ("b", "日本"), data={"title": "Top"}), section("more")]


def view(sections=TOP, **more):
    replica = Replica("news")
    replica.apply(reload("news", sections))
    return FeedView("news", Standing("live"), True, "t/0", 1, sections=replica.sections, **more)


class Terminal:
    """A terminal that knows the sequences of `Screen`."""

    def __init__(self):
        self.rows, self.row, self.drawn = {}, 1, 0

    def write(self, text):
        for code, plain in re.findall(r"\x1b\[([0-9;?]*[A-Za-z])|([^\x1b]+)", text):
            if plain:
                self.rows[self.row] = plain
                self.drawn += 1
            elif code.endswith("H"):
                self.row = int(code.partition(";")[0])
            elif code == "2J":
                self.rows = {}
            elif code == "J":
                self.rows = {row: text for row, text in self.rows.items() if row < self.row}
        return self

    def lines(self):
        return [self.rows.get(row, "") for row in range(1, max(self.rows, default=0) + 1)]


class Drawing(unittest.TestCase):
    def test_a_feed(self):
        self.assertEqual([line.text for line in lines_of(view(), 24)], [
            "news  live  revision 1: 2 sections, 2 items", '▌top  {"title":"Top"}', '  a  {"title":"Apples"}', '  b  "日本"', "▌more"])
        self.assertEqual(len(lines_of(view([section("s", *map(str, range(1000)))]), 24)), 24)

    def test_standings(self):
        for standing, exists, text in (
            (Standing("connecting"), False, "news  connecting  no state yet"),
            (Standing("live"), False, "news  live  there is no such feed; waiting for it"),
            (Standing("stale", "disconnected", "refused"), False, "news  stale: disconnected (refused)  no state yet"),
        ):
            self.assertEqual(lines_of(FeedView("news", standing, exists), 24)[0].text, text)

    def test_what_could_control_a_terminal_is_shown_as_text(self):
        self.assertEqual(clean("a\x1b[2Jb\u202ec\x9b"), "a\\x1b[2Jb\\u202ec\\x9b")
        lines = lines_of(view([section("s\x1b", ("i\n", "\x9b"))]), 24)
        self.assertTrue(all(line.text.isprintable() for line in lines), lines)

    def test_lines_are_cut_where_the_terminal_ends(self):
        for text, width, cut in (("abc", 3, "abc"), ("abcd", 3, "abc"), ("日本", 3, "日"), ("日本", 4, "日本"), ("e\u0301e", 1, "e\u0301")):
            self.assertEqual(fitted(text, width), cut)

    def test_only_lines_that_change_are_drawn(self):
        screen, terminal = Screen(), Terminal()
        terminal.write(screen.drawn(lines_of(view(), 24), 80))
        drawn = terminal.drawn
        changed = [section("top", ("a", {"title": "Pears"}), ("b", "日本"), data={"title": "Top"}), section("more")]
        self.assertEqual(screen.drawn(lines_of(view(), 24), 80), "")
        terminal.write(screen.drawn(lines_of(view(changed), 24), 80))
        self.assertEqual(terminal.drawn, drawn + 1)
        self.assertEqual(terminal.lines()[2], '  a  {"title":"Pears"}')
        terminal.write(screen.drawn([Line("gone")], 80))
        self.assertEqual(terminal.lines(), ["gone"])
        # Another width draws everything.
        self.assertIn("gone", screen.drawn([Line("gone")], 40))


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
        process.terminate()
        self.assertEqual(process.wait(PATIENCE_SECONDS), 130)
        text = b""
        while b"\x1b[?1049l" not in text:
            self.assertTrue(select.select([main], [], [], PATIENCE_SECONDS)[0], text)
            text += os.read(main, 65536)
        self.assertNotIn(b"Traceback", text)

    def test_a_wrong_url(self):
        result = run_command("watch", "news", "--url", "news")
        self.assertEqual(result.returncode, 1)
        self.assertIn("expected one such as http://127.0.0.1:8321", result.stderr)

    def test_help(self):
        self.assertIn("usage: python -m feedstore ", run_command("--help").stdout)
        self.assertEqual(run_command().returncode, 2)


if __name__ == "__main__":
    unittest.main()
