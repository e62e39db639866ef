"""Tokens for the brokers (SASL OAUTHBEARER) from a command: renewal, and each way in which the command can fail."""

import http.client
import json
import os
import pathlib
import select
import socket
import sys
import tempfile
import threading
import time
import unittest

import command
from secured_cluster import SecuredCluster, security

SECRET = "right-password"
RULES = {"mechanisms": ["OAUTHBEARER"], "users": {"feedstore": SECRET}}
RECORD = '{"key":"news","value":{"op":"item.upsert","item":"a","section":"top","data":1}}\n'
# Asks the test what to do.
PROGRAM = """
import json, socket, subprocess, sys, time
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
stream = connection.makefile("rw")
answer = json.loads(stream.readline())
if "hang" in answer:
    child = subprocess.Popen(["sleep", "100000"])
    print(child.pid, file=stream, flush=True)
    child.wait()
sys.stderr.write(answer.get("error", ""))
sys.stdout.write(answer.get("output", "") * answer.get("times", 1))
sys.exit(answer.get("code", 0))
"""


def token(seconds=3600, password=SECRET):
    return security.token("feedstore", password, time.time() + seconds)


def getter(daemon):
    """A function that gets a path of a daemon."""
    port = int(daemon.wait_for("serving HTTP").split("url=http://127.0.0.1:")[1].split()[0])

    def get(path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=command.TIMEOUT)
        connection.request("GET", path)
        text = connection.getresponse().read().decode()
        connection.close()
        return text

    return get


class Issuer:
    """Answers the command's runs; a context."""

    def __init__(self, folder, answer):
        """`answer` makes the next answer."""
        self.answer = answer
        self.runs = 0
        self.children = []
        self._changed = threading.Condition()
        self._folder = pathlib.Path(folder)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._folder / "issuer"))
        self._listener.listen(64)
        self._program = self._folder / "program.py"
        self._program.write_text(PROGRAM)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rw") as stream:
                answer = self.answer()
                stream.write(json.dumps(answer) + "\n")
                stream.flush()
                if "hang" in answer:
                    # On a busy machine it may be killed before it has a child.
                    if line := stream.readline():
                        self.children.append(os.pidfd_open(int(line)))
            with self._changed:
                self.runs += 1
                self._changed.notify_all()

    def wait_for_runs(self, count):
        with self._changed:
            if not self._changed.wait_for(lambda: self.runs >= count, command.TIMEOUT):
                raise AssertionError(f"the command ran {self.runs} times, not {count}")

    def close(self):
        self._listener.close()

    def settings(self, cluster):
        return {
            "kafka.bootstrap.servers": cluster.servers, "kafka.security.protocol": "sasl_plaintext",
            "kafka.sasl.mechanism": "OAUTHBEARER", "coalesce.window": 0,
            "kafka.oauth.command": json.dumps([sys.executable, str(self._program), str(self._folder / "issuer")]),
        }


class BrokerTokenTests(unittest.TestCase):
    def issuer(self, answer):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        issuer = Issuer(folder, answer)
        self.addCleanup(issuer.close)
        return issuer

    def publish(self, settings):
        """Asserts that the running daemon publishes its input."""
        result = command.run("publish", "-", settings=settings, input=RECORD)
        self.assertEqual(result.returncode, 0, result.stderr)
        with command.Running("follow", "--from", "beginning", settings=settings) as follower:
            follower.wait_for('"news"')
            self.assertEqual(follower.stop(), 0, follower.lines)

    def test_all_clients_of_a_process_share_one_token(self):
        issuer = self.issuer(lambda: {"output": token() + "\n"})
        with SecuredCluster(**RULES) as cluster, command.Running("run", settings=issuer.settings(cluster)) as daemon:
            daemon.wait_for("restored")
            self.assertEqual(issuer.runs, 1)
            for words in (("topics", "--check"), ("verify", "--topic"), ("rejects", "list"), ("config", "--check")):
                result = command.run(*words, settings=issuer.settings(cluster))
                self.assertEqual(result.returncode, 0, result.stderr)
            self.publish(issuer.settings(cluster))
            self.assertEqual(daemon.stop(), 0, daemon.lines)

    def test_a_token_is_renewed_before_it_ends(self):
        issuer = self.issuer(lambda: {"output": json.dumps({"access_token": token(5), "expires_in": 5, "token_type": "Bearer"})})
        with SecuredCluster(**RULES) as cluster, command.Running("run", settings=issuer.settings(cluster)) as daemon:
            daemon.wait_for("restored")
            # After two renewals the first token has ended, and new connections need the last.
            issuer.wait_for_runs(issuer.runs + 2)
            cluster.cut()
            others = self.issuer(lambda: {"output": token()})
            self.publish(others.settings(cluster))
            self.assertEqual(daemon.stop(), 0, daemon.lines)
            self.assertEqual([line for line in daemon.lines if "kafka.token-failed" in line], [])

    def test_each_failure_of_the_command_is_reported_without_secrets(self):
        hidden = "hunter2-hunter2"
        said = f"could not sign in\nclient_secret={hidden}\nAuthorization: Bearer {token()}\n"
        cases = {
            "exit code": ({"code": 3, "error": said}, "ended with code 3", "could not sign in"),
            "nothing": ({}, "printed nothing"),
            "HTML": ({"output": "<!doctype html><title>Sign in</title>"}, "printed neither a JWT nor JSON with access_token"),
            "1 MB": ({"output": "x" * 1_000, "times": 1_000}, "printed more than 65536 bytes"),
            "a token that has ended": ({"output": token(-60)}, "printed a token that ended at 20"),
            "an opaque token": ({"output": "opaque"}, "without its end", "expires_in"),
            "an error": (
                {"output": json.dumps({"error": "invalid_client", "error_description": f"secret: {hidden}"})},
                "reports an error: invalid_client",
            ),
        }
        with SecuredCluster(**RULES) as cluster:
            for name, (answer, *reasons) in cases.items():
                with self.subTest(name):
                    issuer = self.issuer(lambda: answer)
                    settings = issuer.settings(cluster) | {"startup.timeout": 0}
                    result = command.run("topics", "--check", settings=settings)
                    self.assertEqual(result.returncode, 1, result.stderr)
                    *lines, last = result.stderr.splitlines()
                    complaints = command.complaints(lines)
                    self.assertEqual(len(complaints), 1, result.stderr)
                    self.assertIn("event=kafka.token-failed", complaints[0])
                    for reason in reasons:
                        self.assertIn(reason, complaints[0])
                        self.assertIn(reason, last)
                    self.assertNotIn(hidden, result.stderr)
                    self.assertNotIn("eyJ", result.stderr)
            issuer = self.issuer(lambda: {"code": 1})
            with command.Running("run", settings=issuer.settings(cluster) | {"startup.timeout": 5000}) as daemon:
                self.assertIn("ended with code 1", daemon.wait_for("event=kafka.token-failed"))
                self.assertIn("there is no token", daemon.wait_for("feedstore: "))
            settings = issuer.settings(cluster) | {"http.enabled": "true", "http.port": 0, "startup.timeout": 3_600_000}
            with command.Running("run", settings=settings) as daemon:
                get = getter(daemon)
                daemon.wait_for("event=kafka.token-failed")
                self.assertEqual([reason["code"] for reason in json.loads(get("/readyz"))["reasons"]], ["starting", "broker-token"])
                daemon.stop()

    def test_a_failure_while_running_is_in_the_status_until_the_command_works_again(self):
        answers = {"is_fine": True}
        issuer = self.issuer(lambda: {"output": token(5)} if answers["is_fine"] else {"code": 1, "error": "no network"})
        with SecuredCluster(**RULES) as cluster:
            settings = issuer.settings(cluster) | {"http.enabled": "true", "http.port": 0}
            with command.Running("run", settings=settings) as daemon:
                get = getter(daemon)
                daemon.wait_for("restored")
                self.assertNotIn("brokerTokenFailure", get("/v1/status"))
                self.assertIn("\nfeedstore_broker_token_failed 0\n", get("/metrics"))
                answers["is_fine"] = False
                daemon.wait_for("event=kafka.token-failed")
                self.assertIn("no network", json.loads(get("/v1/status"))["brokerTokenFailure"])
                self.assertIn("\nfeedstore_broker_token_failed 1\n", get("/metrics"))
                answers["is_fine"] = True
                # The second run begins after the first has been noted.
                issuer.wait_for_runs(issuer.runs + 3)
                self.assertNotIn("brokerTokenFailure", get("/v1/status"))
                cluster.cut()
                others = self.issuer(lambda: {"output": token()})
                self.publish(others.settings(cluster))
                self.assertEqual(daemon.stop(), 0, daemon.lines)

    def test_a_command_that_hangs_is_killed_with_its_children(self):
        issuer = self.issuer(lambda: {"hang": True})
        with SecuredCluster(**RULES) as cluster, command.Running("run", settings=issuer.settings(cluster)) as daemon:
            line = daemon.wait_for("event=kafka.token-failed")
            self.assertIn("did not end within 10000 ms", line)
            issuer.answer = lambda: {"output": token()}
            for child in issuer.children:
                self.assertTrue(select.select([child], [], [], command.TIMEOUT)[0])
                os.close(child)
            daemon.wait_for("restored")
            self.assertEqual(daemon.stop(), 0, daemon.lines)

    def test_a_token_that_the_broker_rejects_is_reported_as_such(self):
        issuer = self.issuer(lambda: {"output": token(password="wrong-password")})
        with SecuredCluster(**RULES) as cluster:
            settings = issuer.settings(cluster) | {"startup.timeout": 0}
            for words in (("run",), ("topics", "--check")):
                with self.subTest(words[0]):
                    result = command.run(*words, settings=settings)
                    self.assertEqual(result.returncode, 1, result.stderr)
                    *lines, last = result.stderr.splitlines()
                    self.assertEqual(len(command.complaints(lines)), 1, result.stderr)
                    self.assertIn("event=kafka.client.connection-refused", command.complaints(lines)[0])
                    self.assertIn("the broker refuses the token", last)
                    self.assertNotIn("eyJ", result.stderr)

    def test_settings_that_do_not_fit_are_refused(self):
        base = {"kafka.bootstrap.servers": "127.0.0.1:9", "kafka.security.protocol": "sasl_ssl"}
        given = {"kafka.oauth.command": '["/usr/bin/token", "--client-secret=hunter2"]'}
        oauth = {"kafka.sasl.mechanism": "OAUTHBEARER"}
        oidc = {
            "kafka.sasl.oauthbearer.method": "oidc", "kafka.sasl.oauthbearer.client.id": "feedstore",
            "kafka.sasl.oauthbearer.client.secret": "hunter2", "kafka.sasl.oauthbearer.token.endpoint.url": "https://127.0.0.1:9/",
        }
        cases = {
            "another mechanism": (given | {"kafka.sasl.mechanism": "PLAIN"}, "goes with kafka.sasl.mechanism OAUTHBEARER"),
            "another protocol": (given | oauth | {"kafka.security.protocol": "ssl"}, "kafka.security.protocol sasl_ssl"),
            "two sources": (given | oauth | oidc, "no other source of tokens"),
            "no source": (oauth, "kafka.oauth.command is not set"),
            "a list of others": (oauth | {"kafka.oauth.command": "[null]"}, "a list of a program and its arguments"),
        }
        for name, (settings, reason) in cases.items():
            with self.subTest(name):
                result = command.run("config", settings=base | settings)
                self.assertEqual(result.returncode, 2, result.stdout)
                self.assertIn(reason, result.stderr)
                self.assertNotIn("hunter2", result.stderr)
        result = command.run("config", settings=base | oauth | given)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("hunter2", result.stdout + result.stderr)
        # A librdkafka without libcurl cannot obtain tokens itself.
        result = command.run("config", settings=base | oauth | oidc)
        self.assertNotIn("hunter2", result.stdout + result.stderr)
        if result.returncode != 0:
            self.assertIn("libcurl", result.stderr)
            self.assertIn("kafka.oauth.command", result.stderr)


if __name__ == "__main__":
    unittest.main()
