"""The newest librdkafka, where it cannot be had."""

import os
import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).with_name("newest_librdkafka.py")


class NewestLibrdkafkaTests(unittest.TestCase):
    def test_a_registry_that_cannot_be_reached_is_named(self):
        # Nothing listens at port 9.
        unreachable = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
        result = subprocess.run(
            [sys.executable, SCRIPT, "--", "echo", "unexpected"], env=os.environ | unreachable, capture_output=True, text=True
        )
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("cannot be fetched from PyPI; check the network", result.stderr)


if __name__ == "__main__":
    unittest.main()
