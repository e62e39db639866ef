"""The daemon's HTTPS server."""

import http.client
import json
import pathlib
import socket
import ssl
import tempfile
import unittest

import authority
import command
from secured_cluster import SecuredCluster

RECORD = '{"key":"news","value":{"op":"item.upsert","item":"%s","section":"top","data":1}}\n'


class HTTPSTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.ours, cls.others = authority.Authority(cls.folder, "ours"), authority.Authority(cls.folder, "others")
        cls.certificate, cls.key = cls.ours.issue("server")
        cls.cluster = cls.enterClassContext(SecuredCluster())

    def settings(self, **tls):
        files = {"certificate": self.certificate, "key": self.key, **tls}
        return {
            "kafka.bootstrap.servers": self.cluster.servers, "kafka.session.timeout.ms": 6000, "http.enabled": "true",
            "http.port": 0, "coalesce.window": 0, "kafka.group.id": self.id(),
            **{f"http.tls.{name}": path for name, path in files.items()},
        }

    def start(self, settings):
        """A daemon, and the port in its log."""
        daemon = self.enterContext(command.Running("run", settings=settings))
        line = daemon.wait_for("serving HTTP")
        self.assertIn("url=https://127.0.0.1:", line)
        return daemon, int(line.split("url=https://127.0.0.1:")[1].split()[0])

    def connect(self, port, certificate=None, trusted=None):
        context = ssl.create_default_context(cafile=(trusted or self.ours).certificate)
        if certificate:
            context.load_cert_chain(*certificate)
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=command.TIMEOUT)
        self.addCleanup(connection.close)
        return connection

    def get(self, connection, path):
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()

    def read_changeset(self, response):
        """The data of the next message without an event name."""
        is_event = False
        while True:
            line = response.readline().decode()
            self.assertTrue(line, "the stream has ended")
            if line.startswith("data: ") and not is_event:
                return json.loads(line.removeprefix("data: "))
            is_event = line.startswith("event: ")

    def publish(self, settings, item):
        result = command.run("publish", "-", settings=settings, input=RECORD % item)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_feeds_and_streams_are_served_by_https(self):
        settings = self.settings()
        daemon, port = self.start(settings)
        daemon.wait_for("restored")
        connection = self.connect(port)
        self.assertEqual(self.get(connection, "/livez")[0], 200)
        self.publish(settings, "a")
        with command.Running("follow", "--from", "beginning", settings=settings) as follower:
            follower.wait_for('"news"')
        # The daemon's own follower may be slightly behind.
        while self.get(connection, "/v1/feeds/news")[0] != 200:
            pass
        stream = self.connect(port)
        stream.request("GET", "/v1/feeds/news/changes", headers={"Accept": "text/event-stream"})
        response = stream.getresponse()
        self.assertEqual(response.status, 200)
        self.assertEqual(self.read_changeset(response)["mode"], "reload")
        for item in ("the-second", "the-third"):
            self.publish(settings, item)
            self.assertIn(item, json.dumps(self.read_changeset(response)))
        self.assertEqual(daemon.stop(), 0, daemon.lines)

    def test_plain_text_is_refused_with_the_reason(self):
        _, port = self.start(self.settings())
        with socket.create_connection(("127.0.0.1", port), command.TIMEOUT) as plain:
            plain.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b"".join(iter(lambda: plain.recv(4096), b"")).decode()
        self.assertTrue(answer.startswith("HTTP/1.1 400 "), answer)
        self.assertIn("https-only", answer)
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.get(self.connect(port, trusted=self.others), "/livez")
        # Other connections are not affected.
        self.assertEqual(self.get(self.connect(port), "/livez")[0], 200)

    def test_only_clients_with_a_certificate_of_the_authority_are_accepted(self):
        _, port = self.start(self.settings(clientAuthority=self.ours.certificate))
        status, body = self.get(self.connect(port), "/livez")
        self.assertEqual(status, 403)
        self.assertIn(b"client-certificate-needed", body)
        self.assertEqual(self.get(self.connect(port, self.others.issue("client")), "/livez")[0], 403)
        self.assertEqual(self.get(self.connect(port, self.ours.issue("late", is_expired=True)), "/livez")[0], 403)
        self.assertEqual(self.get(self.connect(port, self.ours.issue("client")), "/livez")[0], 200)

    def replace(self, certificate, key, files):
        """Replaces the certificate and key files that a daemon has read."""
        for source, target in zip(files, (certificate, key)):
            target.write_bytes(source.read_bytes())

    def subject(self, connection):
        return dict(pair for part in connection.sock.getpeercert()["subject"] for pair in part)["commonName"]

    def test_a_reload_replaces_the_certificate_for_new_connections(self):
        certificate, key = self.folder / "shown.crt", self.folder / "shown.key"
        key.touch(mode=0o600)
        self.replace(certificate, key, self.ours.issue("first"))
        daemon, port = self.start(self.settings(certificate=certificate, key=key))
        earlier = self.connect(port)
        self.assertEqual(self.get(earlier, "/livez")[0], 200)
        self.assertEqual(self.subject(earlier), "first")
        second = self.ours.issue("second")
        self.replace(certificate, key, (second[0], self.key))
        daemon.reload()
        line = daemon.wait_for("event=config.reload-failed")
        self.assertIn("cannot be used together", line)
        other = self.connect(port)
        self.assertEqual(self.get(other, "/livez")[0], 200)
        self.assertEqual(self.subject(other), "first")
        self.replace(certificate, key, second)
        daemon.reload()
        self.assertIn("http.tls.certificate", daemon.wait_for("event=config.reloaded"))
        later = self.connect(port)
        self.assertEqual(self.get(later, "/livez")[0], 200)
        self.assertEqual(self.subject(later), "second")
        self.assertEqual(self.get(earlier, "/livez")[0], 200)
        daemon.reload()
        self.assertIn("changed=nothing", daemon.wait_for("event=config.reloaded"))
        self.assertEqual(daemon.stop(), 0, daemon.lines)

    def test_a_reload_names_changes_that_need_a_restart(self):
        path = self.folder / "feedstore.json5"

        def write(**tls):
            settings = {"port": 0, "enabled": True, "feeds": False, "tls": {name: str(value) for name, value in tls.items()}}
            path.write_text(json.dumps({"http": settings}))

        others = {"kafka.bootstrap.servers": self.cluster.servers, "kafka.group.id": self.id()}
        files = {"certificate": self.certificate, "key": self.key}
        write()
        with command.Running("run", "--config", path, settings=others) as daemon:
            daemon.wait_for("url=http://")
            write(**files)
            daemon.reload()
            self.assertIn("keys=http.tls.certificate,http.tls.key", daemon.wait_for("event=config.restart-required"))
            write(certificate=self.certificate, key=self.certificate)
            daemon.reload()
            self.assertIn("http.tls.key", daemon.wait_for("event=config.reload-failed"))
            self.assertEqual(daemon.stop(), 0, daemon.lines)
        write(**files)
        with command.Running("run", "--config", path, settings=others) as daemon:
            daemon.wait_for("url=https://")
            write(**files, clientAuthority=self.ours.certificate)
            daemon.reload()
            self.assertIn("keys=http.tls.clientAuthority", daemon.wait_for("event=config.restart-required"))
            write()
            daemon.reload()
            self.assertIn("restart it to serve plain HTTP", daemon.wait_for("event=config.reload-failed"))
            self.assertEqual(daemon.stop(), 0, daemon.lines)
        write(**files, clientAuthority=self.ours.certificate)
        with command.Running("run", "--config", path, settings=others) as daemon:
            daemon.wait_for("url=https://")
            write(**files)
            daemon.reload()
            self.assertIn("restart it", daemon.wait_for("event=config.reload-failed"))
            self.assertEqual(daemon.stop(), 0, daemon.lines)

    def test_unusable_files_are_refused_with_the_remedy(self):
        other_key = self.others.issue("server")[1]
        exposed = self.folder / "exposed.key"
        exposed.write_bytes(self.key.read_bytes())
        exposed.chmod(0o644)
        cases = [
            ({"key": exposed}, "http.tls.key", "chmod"),
            ({"key": other_key}, "http.tls.certificate", "cannot be used together"),
            ({"key": self.certificate}, "http.tls.key", ""),
            ({"key": ""}, "http.tls.key", "both a certificate and its key"),
            ({"certificate": self.folder / "missing"}, "http.tls.certificate", "missing"),
            ({"clientAuthority": self.key}, "http.tls.clientAuthority", "no certificate"),
        ]
        for files, key, words in cases:
            with self.subTest(files):
                result = command.run("run", settings=self.settings(**files))
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(key, result.stderr)
                self.assertIn(words, result.stderr)
                self.assertNotIn("-----BEGIN PRIVATE KEY-----\n", result.stderr)


if __name__ == "__main__":
    unittest.main()
