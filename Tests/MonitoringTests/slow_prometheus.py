"""A real Prometheus scrapes the daemon under load: every query of rules and dashboard returns data, and alerts fire.

    python3 Tests/StandInCluster -- python3 -m unittest slow_prometheus
"""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from collections import deque

from monitoring import ABSENT, FEEDSTORE, RULES, dashboard_queries, metric_names, program, rules

BOOTSTRAP = os.environ.get("FEEDSTORE_TEST_BOOTSTRAP")
# No wait takes this long unless something hangs.
PATIENCE_SECONDS = 300
TOKEN = "a-token-for-tests"
PARTITIONS = 4
# The follower's thread, which has a second copy of the feeds.
FOLLOWER = "feed client"


def wait_for(what, condition):
    """Waits for a condition, and returns its first true value."""
    limit = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < limit:
        if value := condition():
            return value
        time.sleep(0.2)
    raise AssertionError(f"waited {PATIENCE_SECONDS} s for {what}")


def free_port():
    with contextlib.closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Child:
    """A process that is stopped with the test, and whose log is kept."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more)
        self.lines = deque(maxlen=200)
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()

    @property
    def log(self):
        return "".join(list(self.lines))


class Daemon(Child):
    def __init__(self, settings, **more):
        all_settings = {"http.enabled": "true", "http.feeds": "false", "http.port": 0} | settings
        assignments = [part for key, value in all_settings.items() for part in ("--set", f"{key}={value}")]
        environment = os.environ | {"FEEDSTORE_HTTP_TOKEN": TOKEN}
        super().__init__([FEEDSTORE, "run", *assignments], env=environment, **more)
        self.port = wait_for("a daemon that serves HTTP", self.served_port)

    def served_port(self):
        if self.process.poll() is not None:
            raise AssertionError(self.log)
        found = re.search(r"event=http\.serving url=http://127\.0\.0\.1:(\d+)", self.log)
        return found and int(found[1])

    def get(self, path, accept="*/*"):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", headers={"Authorization": f"Bearer {TOKEN}", "Accept": accept}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return answer.headers["Content-Type"], answer.read().decode()

    def is_ready(self):
        try:
            return bool(self.get("/readyz"))
        except OSError:
            if self.process.poll() is not None:
                raise AssertionError(self.log) from None
            return False

    @property
    def threads(self):
        names = []
        for thread in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            # It may have ended meanwhile.
            with contextlib.suppress(OSError):
                names.append((thread / "comm").read_text().strip())
        return sorted(names)


class Prometheus(Child):
    def __init__(self, folder, targets):
        self.port = free_port()
        (folder / "token").write_text(TOKEN)
        shutil.copy(RULES, folder)
        # JSON is valid YAML. Rules are evaluated often, so that the test need not wait.
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [RULES.name],
            "scrape_configs": [{
                "job_name": "feedstore",
                "authorization": {"credentials_file": "token"},
                "static_configs": [{"targets": targets}],
            }],
        }))
        super().__init__([
            program("prometheus"), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn",
        ], cwd=folder)

    def ask(self, path, **parameters):
        query = urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{query}", timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            # It has only just started.
            if error.code == 503:
                return None
            raise AssertionError(f"{parameters}: {error.read().decode()}") from None
        except OSError:
            if self.process.poll() is not None:
                raise AssertionError(self.log) from None
            return None

    def query(self, expression):
        answer = self.ask("query", query=expression)
        return answer["result"] if answer else []

    def is_firing(self, alert):
        return self.query(f'ALERTS{{alertname="{alert}",alertstate="firing"}}')


class Load:
    """Sends valid and invalid records of all kinds until it is stopped."""

    def __init__(self, settings):
        self.random = random.Random(7)
        self.topics = [settings["topics.items"], settings["topics.sections"]]
        command = [FEEDSTORE, "publish", "-"]
        for key in "kafka.bootstrap.servers", "topics.items", "topics.sections":
            command += ["--set", f"{key}={settings[key]}"]
        self.publisher = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.is_ended = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        with contextlib.suppress(BrokenPipeError), self.publisher.stdin as pipe:
            while not self.is_ended.is_set():
                lines = "".join(json.dumps(self.record()) + "\n" for _ in range(100))
                pipe.write(lines.encode())
                pipe.flush()
                # The pace of the load, not a wait for anything.
                self.is_ended.wait(0.1)

    def record(self):
        item, feed = f"i{self.random.randrange(40)}", f"feed-{self.random.randrange(30)}"
        at = self.random.choice(["first", "last"])
        operations = [
            {"op": "item.upsert", "item": item, "section": "s", "kind": self.random.choice("ab"), "at": at},
            {"op": "item.upsert", "item": item, "section": "s", "data": self.random.random()},
            {"op": "item.move", "item": item, "at": at},
            {"op": "item.delete", "item": item}, {"op": "item.reload", "item": item}, {"op": "feed.reload"},
            {"op": "item.upsert", "item": "none"}, {"op": "no.such"},
        ]
        weights = [8, 8, 4, 2, 1, 1, 1, 1]
        value = self.random.choices(operations, weights)[0]
        topic = self.random.choice(self.topics)
        return {"ts": int(1000 * time.time()), "topic": topic, "key": feed, "value": value}

    def end(self):
        self.is_ended.set()
        self.thread.join()
        self.publisher.wait()


@unittest.skipUnless(BOOTSTRAP, "FEEDSTORE_TEST_BOOTSTRAP names no cluster")
@unittest.skipUnless(program("prometheus") and program("promtool"), ABSENT)
class PrometheusTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ends = contextlib.ExitStack()
        cls.addClassCleanup(cls.ends.close)
        name = f"feedstore.test.monitoring-{os.getpid()}-{random.randrange(10**9)}"
        cls.settings = {
            "kafka.bootstrap.servers": BOOTSTRAP, "kafka.group.id": name, "kafka.session.timeout.ms": "6000",
            "topics.items": f"{name}.items", "topics.sections": f"{name}.sections",
            "topics.changesets": f"{name}.changesets", "topics.rejected": f"{name}.rejected",
        }
        assignments = [part for key, value in cls.settings.items() for part in ("--set", f"{key}={value}")]
        subprocess.run(
            [FEEDSTORE, "topics", "--create", "--partitions", str(PARTITIONS), *assignments], check=True, capture_output=True
        )
        cls.daemons = [Daemon(cls.settings | {"workers": 2}) for _ in range(2)]
        for daemon in cls.daemons:
            cls.ends.callback(daemon.end)
        folder = pathlib.Path(cls.ends.enter_context(tempfile.TemporaryDirectory()))
        cls.prometheus = Prometheus(folder, [f"127.0.0.1:{daemon.port}" for daemon in cls.daemons])
        cls.ends.callback(cls.prometheus.end)
        for daemon in cls.daemons:
            wait_for("a daemon that is ready", daemon.is_ready)
        load = Load(cls.settings)
        cls.ends.callback(load.end)
        wait_for("commits", lambda: cls.prometheus.query("sum(feedstore_flushes_total) > 100"))
        wait_for("every kind of record", lambda: cls.prometheus.query(
            'count(sum by (code) (feedstore_rejected_records_total) > 0) >= 2 and sum(feedstore_noops_total) > 0'
        ))

    def test_promtool_finds_nothing_wrong_with_the_metrics(self):
        for daemon in self.daemons:
            kind, text = daemon.get("/metrics")
            self.assertIn("version=0.0.4", kind)
            checked = subprocess.run([program("promtool"), "check", "metrics"], input=text, capture_output=True, text=True)
            self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))

    def test_prometheus_accepts_openmetrics(self):
        # Prometheus requests that format, and an invalid sample would fail the whole scrape.
        def are_up():
            answer = self.prometheus.ask("targets")
            targets = answer["activeTargets"] if answer else []
            for target in targets:
                # A scrape is given up after its interval, which is a second here.
                if "deadline exceeded" not in target["lastError"]:
                    self.assertEqual(target["lastError"], "")
            return len(targets) == len(self.daemons) and all(target["health"] == "up" for target in targets)

        wait_for("targets that are up", are_up)
        kind, _ = self.daemons[0].get("/metrics", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
        self.assertIn("application/openmetrics-text", kind)

    def test_both_formats_have_the_same_series(self):
        for daemon in self.daemons:
            # Series may be added between two requests.
            wait_for("the same series in both formats", lambda: self.series(daemon, "text/plain")
                     == self.series(daemon, "application/openmetrics-text"))

    @staticmethod
    def series(daemon, accept):
        """Names and labels of all samples."""
        _, text = daemon.get("/metrics", accept)
        return {line.rsplit(" ", 1)[0] for line in text.splitlines() if line and not line.startswith("#")}

    def test_every_query_of_the_dashboard_returns_data(self):
        job, instance = "feedstore", f"127.0.0.1:{self.daemons[0].port}"
        for title, expression in dashboard_queries(job, instance):
            with self.subTest(title, expression=expression):
                wait_for(f"data of {title}: {expression}", lambda: self.prometheus.query(expression))

    def test_every_recording_rule_returns_data(self):
        for rule in rules():
            if "record" in rule:
                with self.subTest(rule["record"]):
                    wait_for(f"data of {rule['record']}", lambda: self.prometheus.query(rule["record"]))

    def test_every_metric_of_alerts_exists(self):
        for rule in rules():
            for name in metric_names(rule["expr"]):
                with self.subTest(name):
                    wait_for(f"data of {name}", lambda: self.prometheus.query(name))

    def test_no_rule_fails(self):
        groups = wait_for("rules that were evaluated", lambda: [
            group for group in (self.prometheus.ask("rules") or {"groups": []})["groups"] if group["lastEvaluation"] > "2"
        ])
        self.assertEqual(len(groups), 1)
        for group in groups:
            for rule in group["rules"]:
                self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""), rule["name"])

    def test_no_label_grows_with_feeds_and_no_follower_runs(self):
        for daemon in self.daemons:
            _, text = daemon.get("/metrics")
            self.assertNotIn("feed-", text)
            self.assertNotIn(FOLLOWER, daemon.threads)
        # A scrape that took too long has no samples, and partitions are on their way after a rebalance.
        wait_for(
            f"{PARTITIONS} partitions with an owner",
            lambda: self.prometheus.query(f"sum(feedstore_partitions_owned) == {PARTITIONS}"),
        )

    def test_a_missing_instance_is_detected(self):
        settings = self.settings | {"kafka.group.id": self.settings["kafka.group.id"] + ".other"}
        daemon = Daemon(settings | {"http.feeds": "true"})
        wait_for("a daemon that is ready", daemon.is_ready)
        # Metrics that another test expects to be absent.
        wait_for("the follower's thread", lambda: FOLLOWER in daemon.threads)
        with tempfile.TemporaryDirectory() as folder:
            prometheus = Prometheus(pathlib.Path(folder), [f"127.0.0.1:{daemon.port}"])
            try:
                wait_for("an instance that is up", lambda: prometheus.query("up == 1 and feedstore_ready == 1"))
                daemon.end(signal.SIGKILL)
                wait_for("an instance that is down", lambda: prometheus.query("up == 0"))
                wait_for("the alert", lambda: prometheus.is_firing("FeedStoreDown"))
            finally:
                prometheus.end()


if __name__ == "__main__":
    unittest.main()
