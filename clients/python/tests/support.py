"""What the tests share: paths, seeds, changesets, and a daemon on a broker of its own."""

import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time
import urllib.request
from collections import deque

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "clients" / "python"
CONFORMANCE = ROOT / "conformance"
SOURCES = PACKAGE / "src"
sys.path[:0] = [str(SOURCES), str(ROOT / "Tests" / "SchemaTests")]

from random_records import LastingRecords, RandomRecords  # noqa: E402, F401
from repository import FEEDSTORE, replay  # noqa: E402, F401

from feedstore.checksum import item_term, section_term  # noqa: E402
from feedstore.jsontext import text_of  # noqa: E402

SEED = int(os.environ.get("FEEDSTORE_SEED", random.randrange(2**32)))
# How long a test waits for what must happen, on a machine that is also used by others.
PATIENCE_SECONDS = float(os.environ.get("PATIENCE", 300))
EPOCH = {"epoch": "t/0", "time": "2026-11-20T10:00:00.000Z", "through": {"t": 0}}


def vectors(path):
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def checksum(sections):
    """That of sections as a reload lists them."""
    total, previous = 0, ""
    for section in sections:
        total += section_term(previous, section["id"])
        previous, before = section["id"], ""
        for item in section.get("items", []):
            total += item_term(section["id"], before, item["id"], item["kind"])
            before = item["id"]
    return f"{total % 2**32:08x}"


def section(name, *items, data=None):
    """A section as a reload lists it; items are ids, or ids with their data."""
    pairs = [item if isinstance(item, tuple) else (item, None) for item in items]
    return {"id": name, "data": data, "items": [{"id": item, "kind": "", "data": data} for item, data in pairs]}


def reload(feed, sections, revision=1, **more):
    head = {"feed": feed, **EPOCH, "revision": revision, "base": revision, "mode": "reload", "reason": "keyframe"}
    return text_of({**head, "checksum": checksum(sections), "sections": sections, **more})


def difference(feed, result, revision, mode="diff", **more):
    """A changeset that leads to sections; `more` has its entries."""
    head = {"feed": feed, **EPOCH, "revision": revision, "base": revision - 1, "mode": mode}
    return text_of({**head, "checksum": checksum(result), **more})


def deletion(feed, revision):
    head = {"feed": feed, **EPOCH, "revision": revision, "base": revision - 1, "mode": "delete"}
    return text_of({**head, "checksum": "00000000"})


def plain(sections):
    """A view's sections as plain values, data as spelled."""
    return [
        (section.id, section.data_text, section.order, section.keep, [(item.id, item.kind, item.data_text) for item in section.items])
        for section in sections
    ]


def until(condition, what):
    """Waits for what must happen; for processes that cannot be waited for."""
    giving_up = time.monotonic() + PATIENCE_SECONDS
    while not (found := condition()):
        if time.monotonic() > giving_up:
            raise AssertionError(f"timed out waiting for {what() if callable(what) else what}")
        time.sleep(0.01)
    return found


class Seen:
    """The updates of a feed, which a test can wait for."""

    def __init__(self, feed):
        self.feed = feed
        self.updates = []
        self._changed = threading.Condition()
        self.end = feed.subscribe(self._take)

    def _take(self, update):
        with self._changed:
            self.updates.append(update)
            self._changed.notify_all()

    def wait(self, condition, what="an update"):
        """The first update, from the last one that was waited for on, that meets a condition."""
        with self._changed:
            def found():
                while self.updates:
                    if condition(self.updates[0]):
                        return True
                    self.updates.pop(0)
                return False
            if not self._changed.wait_for(found, PATIENCE_SECONDS):
                raise AssertionError(f"timed out waiting for {what}; the view is {self.feed.view.standing}, revision {self.feed.view.revision}")
            return self.updates.pop(0)

    def kind(self, kind):
        return self.wait(lambda update: update.kind == kind, f"an update of kind {kind}")

    def standing(self, name, reason=None):
        return self.wait(
            lambda update: (update.view.standing.name, update.view.standing.reason) == (name, reason), f"standing {name} {reason}"
        ).view

    def live(self):
        return self.standing("live")


class Daemon:
    """`feedstore run` with HTTP, on a broker of its own or on `servers`."""

    def __init__(self, settings=None, servers=None):
        settings = {"http.enabled": "true", "http.port": "0", "http.writes.enabled": "true", **(settings or {})}
        command = [FEEDSTORE, "run", *([] if servers else ["--embedded"])]
        if servers:
            settings["kafka.bootstrap.servers"] = servers
        for name, value in settings.items():
            command += ["--set", f"{name}={value}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.servers = servers or self.process.stdout.readline().strip()
        # With port 0, the log has the actual port. The rest is read so that the daemon does not block.
        log = []
        serving = next((line for line in self.process.stderr if log.append(line) or "serving HTTP" in line), None)
        if serving is None:
            raise AssertionError("".join(log))
        self.url = serving.split("url=")[1].split()[0]
        self.reader = threading.Thread(target=deque, args=(self.process.stderr, 0))
        self.reader.start()

    def wait_until_ready(self):
        def is_ready():
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=PATIENCE_SECONDS) as answer:
                    return answer.status == 200
            except OSError:
                return False
        until(is_ready, "a daemon that is ready")
        return self

    def kill(self):
        self.process.kill()
        self.close()

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def publish(self, records):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        subprocess.run(
            [FEEDSTORE, "publish", "-", "--set", f"kafka.bootstrap.servers={self.servers}"],
            input=lines, text=True, check=True, capture_output=True)


def run_command(*arguments, **more):
    """`python -m feedstore`."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), **more.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "feedstore", *arguments], encoding="utf-8", env=environment, timeout=PATIENCE_SECONDS,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})
