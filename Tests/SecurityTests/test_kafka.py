"""TLS and SASL between the command and brokers: working combinations, and the message for each failure."""

import pathlib
import re
import tempfile
import unittest

import authority
import command
from secured_cluster import SecuredCluster

SECRET = "right-password"
RECORD = '{"key":"news","value":{"op":"item.upsert","item":"a","section":"top","data":1}}\n'
OUTPUT = {"coalesce.window": 0, "kafka.session.timeout.ms": 6000}


def setUpModule():
    global FOLDER, OURS, OTHERS
    FOLDER = pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory()))
    OURS, OTHERS = authority.Authority(FOLDER, "ours"), authority.Authority(FOLDER, "others")


def tls(certificate=None, trusted=None, protocol="ssl"):
    settings = {"kafka.security.protocol": protocol, "kafka.ssl.ca.location": (trusted or OURS).certificate}
    if certificate:
        settings |= {"kafka.ssl.certificate.location": certificate[0], "kafka.ssl.key.location": certificate[1]}
    return settings


def sasl(mechanism, password=SECRET, protocol="sasl_plaintext"):
    return {
        "kafka.security.protocol": protocol, "kafka.sasl.mechanism": mechanism, "kafka.sasl.username": "feedstore",
        "kafka.sasl.password": password,
    }


def users(*mechanisms):
    return {"mechanisms": mechanisms, "users": {"feedstore": SECRET}}


def failures():
    """By name: the cluster's requirements, the client's settings, and words of cause and remedy."""
    broker = OURS.issue("broker")
    mutual = {"certificate": broker, "clients": OURS.certificate}
    return {
        "unknown authority": ({"certificate": broker}, tls(trusted=OTHERS), "not signed by an authority", "ssl.ca.location"),
        "expired certificate": (
            {"certificate": OURS.issue("expired", is_expired=True)}, tls(), "has expired", "renew the broker's certificate",
        ),
        "another host": (
            {"certificate": OURS.issue("elsewhere", hosts="DNS:kafka.example")}, tls(), "not for this host name",
            "advertised.listeners",
        ),
        "no client certificate": (mutual, tls(), "requires a client certificate", "ssl.certificate.location"),
        "a client certificate of others": (mutual, tls(OTHERS.issue("client")), "does not accept", "ssl.truststore.location"),
        "wrong password": (
            users("PLAIN"), sasl("PLAIN", "wrong-password"), "refuses the user name or the password", "sasl.password",
        ),
        "wrong password for SCRAM": (
            users("SCRAM-SHA-256"), sasl("SCRAM-SHA-256", "wrong-password"), "refuses the user name or the password",
            "sasl.password",
        ),
        "unknown mechanism": (users("PLAIN"), sasl("SCRAM-SHA-256"), "it supports PLAIN", "sasl.mechanism"),
        "plain text to TLS": ({"certificate": broker}, {}, "a port for TLS", "security.protocol to ssl"),
        "TLS to plain text": ({}, tls(), "a port without TLS", "security.protocol to plaintext"),
        "SASL to none": ({}, sasl("PLAIN"), "does not support that", "security.protocol to plaintext"),
        "none to SASL": (users("PLAIN"), {}, "a port for SASL", "sasl.mechanism"),
    }


class KafkaSecurityTests(unittest.TestCase):
    def check_flow(self, settings):
        """Asserts that the running daemon publishes its input."""
        result = command.run("publish", "-", settings=settings, input=RECORD)
        self.assertEqual(result.returncode, 0, result.stderr)
        with command.Running("follow", "--from", "beginning", settings=settings) as follower:
            follower.wait_for('"news"')
            self.assertEqual(follower.stop(), 0, follower.lines)

    def check_service(self, cluster, settings):
        """Asserts that every command works: the daemon publishes, and the others read it."""
        settings = settings | OUTPUT | {"kafka.bootstrap.servers": cluster.servers}

        def check(*words):
            result = command.run(*words, settings=settings)
            self.assertEqual(result.returncode, 0, result.stderr)

        check("topics", "--check")
        with command.Running("run", settings=settings) as daemon:
            daemon.wait_for("restored")
            self.check_flow(settings)
            self.assertEqual(daemon.stop(), 0, daemon.lines)
        check("verify", "--topic")
        check("rejects", "list")
        check("doctor")

    def test_the_service_works_with_certificates_and_passwords(self):
        broker = OURS.issue("broker")
        cases = {
            "one-way TLS": ({"certificate": broker}, tls()),
            "mutual TLS": ({"certificate": broker, "clients": OURS.certificate}, tls(OURS.issue("client"))),
            "PLAIN": (users("PLAIN"), sasl("PLAIN")),
            "SCRAM over TLS": (
                {"certificate": broker, **users("SCRAM-SHA-256")}, tls() | sasl("SCRAM-SHA-256", protocol="sasl_ssl"),
            ),
            "SCRAM-SHA-512": (users("SCRAM-SHA-512", "SCRAM-SHA-256"), sasl("SCRAM-SHA-512")),
        }
        for name, (rules, settings) in cases.items():
            with self.subTest(name), SecuredCluster(**rules) as cluster:
                self.check_service(cluster, settings)

    def test_each_failure_is_logged_once_with_cause_and_remedy_and_stops_the_daemon(self):
        for name, (rules, settings, cause, remedy) in failures().items():
            with self.subTest(name), SecuredCluster(**rules) as cluster:
                settings = settings | {"kafka.bootstrap.servers": cluster.servers, "startup.timeout": 1500}
                result = command.run("run", settings=settings)
                self.assertEqual(result.returncode, 1, result.stderr)
                *lines, last = result.stderr.splitlines()
                complaints = command.complaints(lines)
                self.assertEqual(len(complaints), 1, result.stderr)
                told = complaints[0]
                self.assertIn("event=kafka.client.connection-refused", told)
                for line in (told, last):
                    self.assertIn(cause, line)
                    self.assertIn(remedy, line)
                self.assertIn("startup.timeout", last)
                self.assertNotIn("-password", result.stderr)

    def test_the_doctor_names_a_refused_password_and_certificates_that_end(self):
        rules, settings, cause, remedy = failures()["wrong password"]
        with SecuredCluster(**rules) as cluster:
            settings = settings | {"kafka.bootstrap.servers": cluster.servers, "startup.timeout": 500}
            ended, key = OURS.issue("expired", is_expired=True)
            settings |= {"http.enabled": "true", "http.tls.certificate": ended, "http.tls.key": key}
            settings |= {"kafka.ssl.key.location": "/nowhere/key"}
            result = command.run("doctor", settings=settings | {"http.tls.clientAuthority": OURS.certificate})
            self.assertEqual(result.returncode, 1, result.stderr)
            lines = [re.split(" {2,}", line, maxsplit=2) for line in result.stdout.splitlines()]
            findings = {(verdict, check): text for verdict, check, text in lines}
            self.assertIn(cause, findings["fails", "brokers"])
            self.assertIn(remedy, findings["fails", "brokers"])
            self.assertIn("valid until 2020-01-02T00:00:00.000Z; renew it", findings["fails", "http.tls.certificate"])
            self.assertIn("kafka.ssl.key.location: cannot read /nowhere/key", findings["fails", "key files"])
            # The tests' authority ends in two days.
            self.assertIn("renew it", findings["look", "http.tls.clientAuthority"])
            self.assertNotIn("-password", result.stdout + result.stderr)

    def test_the_tools_report_the_same_and_exit(self):
        tools = [("topics",), ("publish", "-"), ("follow",), ("follow", "--snapshot"), ("verify", "--topic"), ("rejects", "list")]
        tools.append(("config", "--check"))
        rules, settings, cause, remedy = failures()["wrong password for SCRAM"]
        with SecuredCluster(**rules) as cluster:
            settings = settings | {"kafka.bootstrap.servers": cluster.servers, "startup.timeout": 500}
            for words in tools:
                with self.subTest(" ".join(words)):
                    result = command.run(*words, settings=settings, input='{"key":"f","value":{}}\n')
                    self.assertEqual(result.returncode, 1, result.stderr)
                    *lines, last = result.stderr.splitlines()
                    self.assertEqual(len(command.complaints(lines)), 1, result.stderr)
                    self.assertIn(cause, last)
                    self.assertIn(remedy, last)

    def test_a_command_that_gives_up_earlier_reports_the_reason(self):
        rules, settings, cause, remedy = failures()["wrong password"]
        with SecuredCluster(**rules) as cluster:
            settings = settings | {"kafka.bootstrap.servers": cluster.servers, "startup.timeout": 600_000}
            result = command.run("verify", "--topic", settings=settings)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(cause, result.stderr.splitlines()[-1])
            self.assertIn(remedy, result.stderr.splitlines()[-1])

    def test_a_cluster_that_is_down_is_waited_for(self):
        with SecuredCluster(**users("SCRAM-SHA-256")) as cluster:
            servers = cluster.servers
        settings = sasl("SCRAM-SHA-256") | {"kafka.bootstrap.servers": servers, "startup.timeout": 0}
        with command.Running("run", settings=settings) as daemon:
            # The startup timeout is zero, and yet the daemon waits.
            daemon.wait_for("event=startup.waiting-for-brokers")
            ports = [int(server.rpartition(":")[2]) for server in servers.split(",")]
            with SecuredCluster(**users("SCRAM-SHA-256"), ports=ports):
                daemon.wait_for("event=restore.finished")
                self.assertEqual(daemon.stop(), 0)

    def test_a_later_password_change_is_logged_and_does_not_stop_the_daemon(self):
        with SecuredCluster(**users("SCRAM-SHA-256")) as cluster:
            settings = sasl("SCRAM-SHA-256") | OUTPUT | {"kafka.bootstrap.servers": cluster.servers, "startup.timeout": 0}
            with command.Running("run", settings=settings) as daemon:
                daemon.wait_for("restored")
                cluster.rules.users["feedstore"] = "another"
                cluster.cut()
                line = daemon.wait_for("refuses the user name or the password")
                self.assertIn("sasl.password", line)
                cluster.rules.users["feedstore"] = SECRET
                self.check_flow(settings)
                self.assertEqual(daemon.stop(), 0, daemon.lines)
                told = [line for line in command.complaints(daemon.lines) if "refuses the user name or the password" in line]
                self.assertEqual(len(told), 1, told)


if __name__ == "__main__":
    unittest.main()
