"""The health check of the image, beside a daemon in processes and mounts of their own, as in a container."""

import os
import pathlib
import socket
import tempfile
import unittest

from machine import ROOT, missing_tools, run

FEEDSTORE = os.environ.get("FEEDSTORE_TEST_COMMAND", ROOT / ".build/debug/feedstore")
REASON = missing_tools("unshare")
# The check while the daemon answers, and while it does not.
SCRIPT = """
mount -t proc proc /proc && cd "$0" || exit 9
coproc DAEMON { exec "$@" 2>&1; }
while read -r line <&"${DAEMON[0]}" && [[ $line != *event=http.serving* ]]; do :; done
"$CHECK"; echo "live $?"
kill -STOP "$DAEMON_PID"
"$CHECK"; echo "hanging $?"
kill -KILL "$DAEMON_PID"
"""


def free_port(address):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


@unittest.skipIf(REASON, REASON)
class HealthCheckTests(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check(self, address, *words, text="{}", **variables):
        """The health check's verdict on a daemon of `feedstore run` with these words, a file and variables."""
        port = free_port(address)
        (self.folder / "feedstore.json5").write_text(text.replace("PORT", str(port)))
        words = [str(word).replace("PORT", str(port)) for word in words]
        variables = {name: value.replace("PORT", str(port)) for name, value in variables.items()}
        environment = {"PATH": os.environ["PATH"], "CHECK": str(ROOT / "packaging/image/healthcheck"), **variables}
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", SCRIPT]
        result = run(*apart, self.folder, FEEDSTORE, "run", "--embedded", *words, env=environment)
        self.assertEqual(result.stdout.split("\n"), ["live 0", "hanging 1", ""], result.stderr)
        self.assertIn(f"GET /livez at {address} port {port}: no answer", result.stderr)

    def test_it_asks_the_address_of_the_file(self):
        text = '{ http: { enabled: true, address: "::1", port: PORT } }'
        self.check("::1", "--config", "feedstore.json5", text=text)
        self.check("127.0.0.3", "--config=feedstore.json5", text=text.replace("::1", "127.0.0.3"))

    def test_it_asks_the_address_of_set_which_counts_more(self):
        text = '{ http: { enabled: true, address: "::1", port: 1 } }'
        words = ["--config", "feedstore.json5", "--set", "http.address=127.0.0.2", "--set=http.port=PORT"]
        self.check("127.0.0.2", *words, text=text)

    def test_it_asks_the_address_of_the_variables(self):
        variables = {"FEEDSTORE_HTTP_ENABLED": "true", "FEEDSTORE_HTTP_PORT": "PORT", "FEEDSTORE_HTTP_TOKEN": "0123456789abcdef"}
        for address in ("::", "0.0.0.0"):
            self.check(address, FEEDSTORE_HTTP_ADDRESS=address, **variables)


if __name__ == "__main__":
    unittest.main()
