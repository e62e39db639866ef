"""The image: builds the Dockerfile, and runs the result without privileges on a read-only root.

debootstrap makes the base images. The one with the compiler contains an existing binary (`make package-binary`) in
place of the compiler; everything else in the Dockerfile is executed unchanged.
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

from machine import ROOT, Machine, missing_tools, run

BINARY = ROOT / ".build/package/release/feedstore"
REASON = missing_tools("debootstrap", "buildah", "unshare")
# The commands that the Makefile and the Dockerfile run.
COMPILER = """#!/bin/sh
case "$1" in
  --version) echo 'Swift version 6.3.1' ;;
  build) for folder; do :; done; mkdir -p "$folder/release" && cp /opt/built/feedstore "$folder/release/feedstore" ;;
esac
"""


@unittest.skipIf(REASON, REASON)
class ImageTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        run("make", "-C", ROOT, "package-binary")
        folder = tempfile.TemporaryDirectory(prefix="feedstore-image-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.storage = pathlib.Path(folder.name)
        try:
            cls.buildah("from", "scratch")
        except AssertionError as error:
            raise unittest.SkipTest(f"buildah does not work here: {error}") from error
        machine = Machine("ca-certificates")
        cls.addClassCleanup(machine.close)
        cls.commit_image(machine, "localhost/debian:test")
        # As in Swift's own image.
        machine.apt("update")
        machine.apt("install", "binutils")
        compiler = machine.path("/usr/bin/swift")
        compiler.write_text(COMPILER)
        compiler.chmod(0o755)
        machine.path("/opt/built").mkdir(parents=True)
        machine.path("/opt/built/feedstore").write_bytes(BINARY.read_bytes())
        machine.path("/opt/built/feedstore").chmod(0o755)
        cls.commit_image(machine, "localhost/swift:test")
        cls.buildah(
            "bud", "--isolation=chroot", "--format=docker", "--layers=false", "--build-arg=SWIFT_IMAGE=localhost/swift:test",
            "--build-arg=DEBIAN_IMAGE=localhost/debian:test", "--build-arg=FEEDSTORE_COMMIT=0123456789ab", "--tag=feedstore:test", ROOT,
        )
        cls.container = cls.buildah("from", "feedstore:test").stdout.strip()
        cls.root = pathlib.Path(cls.buildah("mount", cls.container).stdout.strip())

    @classmethod
    def buildah(cls, *arguments):
        place = ["--storage-driver=vfs", f"--root={cls.storage}/root", f"--runroot={cls.storage}/run"]
        return run("buildah", *place, *arguments)

    @classmethod
    def commit_image(cls, machine, name):
        container = cls.buildah("from", "scratch").stdout.strip()
        cls.buildah("add", "--quiet", container, machine.root, "/")
        cls.buildah("commit", "--quiet", "--rm", container, name)

    def command(self, *words):
        """A command line that runs words as the image's user, without capabilities, on the read-only root."""
        script = (
            'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && '
            'exec chroot "$0" setpriv --reuid=10001 --regid=10001 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs "$@"'
        )
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, str(self.root), *words]

    def in_image(self, *words, check=True, **environment):
        return run(*self.command(*words), check=check, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"} | environment)

    def configuration(self):
        return json.loads(self.buildah("inspect", "--type=image", "feedstore:test").stdout)["Docker"]["config"]

    def test_it_runs_as_an_unprivileged_user(self):
        told = self.configuration()
        self.assertEqual(told["User"], "10001:10001")
        self.assertEqual((told["Entrypoint"], told["Cmd"]), (["feedstore"], ["run"]))
        self.assertEqual(told["Healthcheck"]["Test"], ["CMD", "/usr/lib/feedstore/healthcheck"])
        self.assertEqual(self.in_image("id", "-un").stdout, "feedstore\n")
        changed = run("find", self.root, "-xdev", "-perm", "/6000", "-newer", self.root / "usr/lib/feedstore/healthcheck").stdout
        self.assertEqual(changed, "", "nothing in it gives rights of its own")

    def test_the_command_runs_and_prints_its_version(self):
        self.assertRegex(self.in_image("feedstore", "--version").stdout, r"^feedstore [0-9.]+ \(commit [0-9a-z-]+, librdkafka [0-9.]+\)\n$")
        self.assertFalse((self.root / "usr/lib/feedstore/sbom.sh").exists())
        self.assertTrue((self.root / "usr/share/doc/feedstore/copyright").exists())

    def test_the_daemon_writes_no_files(self):
        command = self.command("feedstore", "run", "--embedded", "--set", "http.enabled=true", "--set", "http.port=0")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as daemon:
            try:
                url = None
                for line in daemon.stderr:
                    if found := re.search(r"event=http\.serving url=(\S+)", line):
                        url = found[1]
                        break
                self.assertIsNotNone(url, "the daemon serves HTTP")
                self.assertRegex(daemon.stdout.readline(), r"^127\.0\.0\.1:\d+")
                port = re.search(r":(\d+)", url.removeprefix("http:"))[1]
                alive = self.in_image("/usr/lib/feedstore/healthcheck", check=False, FEEDSTORE_HTTP_PORT=port)
                expected = 0 if self.status(port) == 200 else 1
                self.assertEqual(alive.returncode, expected, alive.stderr)
            finally:
                # The process group: the daemon runs as another user, and is not killed with its parent.
                os.killpg(daemon.pid, signal.SIGKILL)
                daemon.communicate()

    def status(self, port):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=60).status
        except urllib.error.HTTPError as error:
            return error.code

    def test_the_health_check_requests_livez(self):
        for answer, expected in (("HTTP/1.1 200 OK", 0), ("HTTP/1.1 503 Service Unavailable", 1), ("", 1)):
            with self.subTest(answer), answering(answer) as port:
                told = self.in_image("/usr/lib/feedstore/healthcheck", check=False, FEEDSTORE_HTTP_PORT=str(port))
                self.assertEqual(told.returncode, expected, told.stderr)
        self.assertEqual(self.in_image("/usr/lib/feedstore/healthcheck", FEEDSTORE_HTTP_PORT=str(port)).returncode, 0, "HTTP is off")

    def test_the_bill_of_materials_lists_every_package(self):
        bill = json.loads((self.root / "usr/share/feedstore/sbom.spdx.json").read_text())
        self.assertEqual((bill["spdxVersion"], bill["dataLicense"]), ("SPDX-2.3", "CC0-1.0"))
        identifiers = [package["SPDXID"] for package in bill["packages"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        for identifier in identifiers:
            self.assertRegex(identifier, r"^SPDXRef-[A-Za-z0-9.-]+$")
        named = {package["name"]: package for package in bill["packages"]}
        installed = run("chroot", self.root, "dpkg-query", "-W", "-f", "${Package}\n").stdout.split()
        self.assertEqual(set(installed) | {"feedstore", "swift-runtime", "xxhash"}, set(named))
        for package in named.values():
            self.assertTrue(package["versionInfo"], package)
            self.assertRegex(package["externalRefs"][0]["referenceLocator"], r"^pkg:[a-z/]+/[A-Za-z0-9.%-]+@[A-Za-z0-9._%-]+(\?arch=\w+)?$")
        related = {relation["relatedSpdxElement"] for relation in bill["relationships"]}
        self.assertEqual(related, set(identifiers))


class answering:
    """A server that answers one request; afterwards the port is free."""

    def __init__(self, answer):
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))

    def __enter__(self):
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return self._listener.getsockname()[1]

    def _serve(self):
        connection, _ = self._listener.accept()
        with connection:
            # The whole head, which arrives in several pieces.
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += connection.recv(4096)
            connection.sendall(f"{self._answer}\r\n\r\n".encode() if self._answer else b"")

    def __exit__(self, *_):
        self._thread.join()
        self._listener.close()


if __name__ == "__main__":
    unittest.main()
