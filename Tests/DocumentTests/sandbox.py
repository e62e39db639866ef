"""A copy of the checkout made of links, in which blocks run with the debug build and free ports."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

from blocks import ROOT

FEEDSTORE = pathlib.Path(os.environ.get("FEEDSTORE", ROOT / ".build" / "debug" / "feedstore"))

# `make build` has already run, and other targets take minutes: make reads their commands, but runs none.
MAKE = """#!/bin/sh
exec {make} --silent --dry-run --directory {root} "$@" >/dev/null
"""
# The command, with the test's port for HTTP.
COMMAND = """#!/bin/sh
if [ "$1" = run ]; then exec {feedstore} "$@" --set http.port={port}; fi
exec {feedstore} "$@"
"""
# Skips builds that exist, and does not run other suites; a filter must name an existing suite.
SWIFT = """#!/bin/sh
case "$1 $2" in
  "build --product") grep -q "name: \\"$3\\"" {root}/Package.swift ;;
  "test --filter") test -d {root}/Tests/$3 ;;
  run*) exec {swift} "$@" ;;
  *) echo "the test of documents does not know: swift $*" >&2; exit 1 ;;
esac
"""
PYTHON = """#!/bin/sh
exec /usr/bin/python3 "$@"
"""
FOLLOWER = """#!/bin/sh
exec /usr/bin/python3 {root}/clients/python/tests/vectors.py
"""


def free_port(count=1):
    """The first of a number of consecutive free ports."""
    while True:
        sockets = [socket.socket() for _ in range(count)]
        try:
            sockets[0].bind(("127.0.0.1", 0))
            port = sockets[0].getsockname()[1]
            for number, other in enumerate(sockets[1:], start=1):
                other.bind(("127.0.0.1", port + number))
            return port
        except (OSError, OverflowError):
            continue
        finally:
            for each in sockets:
                each.close()


class Sandbox:
    """`servers` are brokers that replace those in the documents."""

    def __init__(self, servers):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="feedstore-documents-"))
        self.checkout = self.folder / "checkout"
        self.home = self.folder / "home"
        self.port = free_port()
        self.replacements = {
            "8321": str(self.port), "19092": str(free_port(3)), "localhost:9092": servers, "broker:9092": servers,
        }
        (self.checkout / ".build" / "release").mkdir(parents=True)
        self.home.mkdir()
        for entry in ROOT.iterdir():
            if entry.name not in {".build", ".git"}:
                (self.checkout / entry.name).symlink_to(entry)
        # As `npm install` does it.
        (self.checkout / "node_modules").mkdir()
        (self.checkout / "node_modules" / "feedstore").symlink_to(ROOT / "clients" / "js")
        names = {
            "root": ROOT, "port": self.port, "feedstore": FEEDSTORE, "make": shutil.which("make"), "swift": shutil.which("swift"),
        }
        for path, text in (
            ("bin/make", MAKE), ("bin/swift", SWIFT), ("bin/python3", PYTHON), ("bin/feedstore", COMMAND),
            ("checkout/.build/release/feedstore", COMMAND), ("checkout/my-follower", FOLLOWER),
        ):
            file = self.folder / path
            file.parent.mkdir(exist_ok=True)
            file.write_text(text.format(**names))
            file.chmod(0o755)

    def write(self, name, text):
        (self.checkout / name).write_text(text)

    @property
    def environment(self):
        return os.environ | {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "HOME": str(self.home), "PYTHONDONTWRITEBYTECODE": "1",
        }

    def adapt(self, code):
        for written, used in self.replacements.items():
            code = code.replace(written, used)
        return code

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class StandIn:
    """Brokers with transactions and groups, for the duration of the tests."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["/usr/bin/python3", ROOT / "Tests" / "StandInCluster"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8")
        self.servers = self.process.stdout.readline().partition("bootstrap.servers=")[2].rpartition(", control port")[0]

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
