"""The configurations in docs/tls.md, with other hosts and paths."""

import http.client
import pathlib
import re
import ssl
import tempfile
import time
import unittest

import authority
import command
from secured_cluster import SecuredCluster, security

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tls.md"


def recipe(title):
    """The first JSON5 block under a heading."""
    section = re.search(rf"^## {title}$(.*?)^#", PAGE.read_text(), re.MULTILINE | re.DOTALL).group(1)
    return re.search(r"^```json5\n(.*?)^```$", section, re.MULTILINE | re.DOTALL).group(1)


class RecipeTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.ours = authority.Authority(cls.folder, "ca")
        for name in ("client", "server"):
            for source, end in zip(cls.ours.issue(name), ("crt", "key")):
                source.rename(cls.folder / f"{name}.{end}")

    def configuration(self, title, servers=""):
        text = recipe(title).replace("/etc/feedstore/", f"{self.folder}/")
        text = re.sub(r'"broker1\.example\.com:[^"]*"', f'"{servers}"', text)
        self.assertNotIn("example.com", text)
        path = self.folder / "feedstore.json5"
        path.write_text(text)
        return path

    def check(self, title, **rules):
        """Asserts that the daemon and each tool work with it."""
        with SecuredCluster((self.folder / "server.crt", self.folder / "server.key"), **rules) as cluster:
            path = self.configuration(title, cluster.servers)
            with command.Running("run", "--config", path, settings={}) as daemon:
                daemon.wait_for("restored")
                self.assertEqual(daemon.stop(), 0, daemon.lines)
            record = '{"key":"f","value":{}}\n'
            for words in (
                ("topics", "--check"), ("publish", "-"), ("follow", "--snapshot"), ("verify", "--topic"), ("rejects", "list"),
            ):
                result = command.run(*words, "--config", path, settings={}, input=record)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_one_way_tls(self):
        self.check("One-way TLS")

    def test_mutual_tls(self):
        self.check("Mutual TLS", clients=self.ours.certificate)

    def test_scram_over_tls(self):
        password = self.folder / "kafka-password"
        password.touch(mode=0o600)
        password.write_text("change-me-please\n")
        self.check("SCRAM over TLS", mechanisms=["SCRAM-SHA-256"], users={"feedstore": "change-me-please"})

    def test_tokens_of_oauth(self):
        program = self.folder / "kafka-token"
        token = security.token("feedstore", "secret", time.time() + 3600)
        program.write_text(f"#!/bin/sh\n[ $1 = --audience=kafka ] && echo {token}\n")
        program.chmod(0o700)
        self.check("Tokens of OAuth", mechanisms=["OAUTHBEARER"], users={"feedstore": "secret"})

    def test_https(self):
        with SecuredCluster() as cluster:
            settings = {"kafka.bootstrap.servers": cluster.servers, "http.port": 0, "http.address": "127.0.0.1"}
            with command.Running("run", "--config", self.configuration("HTTPS"), settings=settings) as daemon:
                line = daemon.wait_for("serving HTTP")
                port = int(line.split("url=https://127.0.0.1:")[1].split()[0])
                context = ssl.create_default_context(cafile=self.ours.certificate)
                context.load_cert_chain(self.folder / "client.crt", self.folder / "client.key")
                connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=command.TIMEOUT)
                connection.request("GET", "/livez")
                self.assertEqual(connection.getresponse().status, 200)
                connection.close()


if __name__ == "__main__":
    unittest.main()
