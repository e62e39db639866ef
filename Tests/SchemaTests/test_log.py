"""Every JSON log line of a daemon matches the schema."""

import json
import socket
import subprocess
import unittest

from repository import FEEDSTORE, named_validator

JSON = ["--set", "log.format=json"]


class LogTests(unittest.TestCase):
    def start(self, *arguments):
        process = subprocess.Popen(
            [FEEDSTORE, "run", "--embedded", *JSON, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

        def end():
            process.kill()
            process.wait()
            process.stderr.close()

        self.addCleanup(end)
        return process

    def parse(self, line):
        content = json.loads(line)
        named_validator("log-line").validate(content)
        self.assertEqual(list(content)[:4], ["time", "level", "event", "message"])
        return content

    def test_a_daemon_from_its_start_to_its_end(self):
        daemon = self.start("--set", "log.level=debug", "--set", "http.enabled=true", "--set", "http.port=0")
        lines = []
        for line in daemon.stderr:
            lines.append(self.parse(line))
            if lines[-1]["event"] == "restore.finished":
                daemon.terminate()
        self.assertEqual(daemon.wait(), 0)
        events = [line["event"] for line in lines]
        expected = ["startup.starting", "http.serving", "group.joining", "group.assigned", "restore.finished", "shutdown.requested",
                    "shutdown.stopping", "shutdown.completed"]
        self.assertEqual([event for event in events if event in expected], expected)
        restored = next(line for line in lines if line["event"] == "restore.finished")
        self.assertEqual((restored["feeds"], restored["stateBytes"], restored["worker"]), (0, 0, 0))
        self.assertEqual((lines[-1]["event"], lines[-1]["records"]), ("shutdown.completed", 0))

    def test_a_daemon_that_cannot_start_logs_the_reason(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            daemon = self.start("--set", "http.enabled=true", "--set", f"http.port={port}")
            lines = [self.parse(line) for line in daemon.stderr]
            self.assertEqual(daemon.wait(), 1)
        self.assertEqual((lines[-1]["event"], lines[-1]["level"], lines[-1]["exitCode"]), ("shutdown.failed", "error", 1))
        self.assertIn(str(port), lines[-1]["message"])

    def test_lines_have_the_levels_of_their_events(self):
        daemon = self.start("--set", "log.level=warning")
        first = self.parse(daemon.stderr.readline())
        self.assertEqual((first["event"], first["level"]), ("startup.embedded-broker", "warning"))

    def test_an_invalid_line_is_refused(self):
        line = {"time": "2026-11-20T10:00:00.250Z", "level": "info", "event": "http.serving", "message": "serving HTTP", "url": "x"}
        schema = named_validator("log-line")
        self.assertTrue(schema.is_valid(line))
        for wrong in ({"event": "http.dancing"}, {"time": "2026-11-20T10:00:00Z"}, {"level": "fatal"}, {"x": {}}, {"x": None}):
            self.assertFalse(schema.is_valid(line | wrong), wrong)


if __name__ == "__main__":
    unittest.main()
