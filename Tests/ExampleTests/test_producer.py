"""The producer in docs/protocol.md, against a daemon with an embedded broker."""

import json
import pathlib
import re
import subprocess
import sys
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python" / "tests"))

from support import FEEDSTORE, PATIENCE_SECONDS, ROOT, run_command  # noqa: E402

PRODUCER = re.search(r"^```python producer\n(.*?)^```", (ROOT / "docs" / "protocol.md").read_text(), re.MULTILINE | re.DOTALL)


class Producer(unittest.TestCase):
    def test_it_is_short(self):
        self.assertLessEqual(len([line for line in PRODUCER[1].splitlines() if line]), 20)

    def test_its_records_reach_one_feed(self):
        daemon = subprocess.Popen([FEEDSTORE, "run", "--embedded"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            servers = daemon.stdout.readline().decode().strip()
            for run in (1, 2):
                result = subprocess.run(
                    [sys.executable, "-c", PRODUCER[1], servers], capture_output=True, encoding="utf-8",
                    timeout=PATIENCE_SECONDS)
                self.assertEqual(result.returncode, 0, result.stderr)
                topics, partitions, offsets = zip(*(line.split("/") for line in result.stdout.splitlines()))
                self.assertEqual(sorted(topics), ["feeds.items", "feeds.items", "feeds.sections"])
                # Both topics have the same partitioner: there is one feed, in the partition that the Java client
                # chooses.
                self.assertEqual(set(partitions), {self.partition("news", 4)})
            # The item's records may be published in two changesets, so another score may come before.
            giving_up = time.monotonic() + PATIENCE_SECONDS
            while (found := self.items(servers)) != [{"score": 4}] and time.monotonic() < giving_up:
                pass
            self.assertEqual(found, [{"score": 4}])
        finally:
            daemon.terminate()
            daemon.wait()
            daemon.stdout.close()

    def partition(self, key, count):
        for line in (ROOT / "conformance" / "partitioner.ndjson").read_text("utf-8").split("\n"):
            if line and json.loads(line)["key"] == key:
                return str(json.loads(line)["partitions"][str(count)])
        raise AssertionError(f"the vectors have no key {key}")

    def items(self, servers):
        """The data of the items of all feeds now."""
        lines = run_command("follow", servers, "--once", check=True).stdout.splitlines()
        return [item["data"] for feed in map(json.loads, lines) for section in feed["sections"] for item in section["items"]]


if __name__ == "__main__":
    unittest.main()
