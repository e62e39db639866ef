"""The Debian package: built, and in a clean Debian installed, started by systemd, upgraded, rolled back, removed and purged.

FEEDSTORE_TEST_BOOTSTRAP names the broker; the suite's runner provides a stand-in.
"""

import atexit
import functools
import json
import os
import pathlib
import re
import shutil
import tempfile
import unittest

from machine import ROOT, Machine, missing_tools, run

NEWER = "9.0.0"
CONFIGURATION = "/etc/feedstore/feedstore.json5"
# The topics of this run; both inputs are one topic.
INPUT = f"feedstore.test.package.{os.getpid()}"
BINARY = ROOT / ".build/package/release/feedstore"
DEB_SCRIPT = ROOT / "packaging/deb.sh"
REASON = missing_tools("debootstrap", "systemd-nspawn", "dpkg-buildpackage", "dh", "lintian", "nsenter")


@functools.cache
def built_package():
    """The package's file, built once for all tests of the process."""
    run("make", "-C", ROOT, "package-binary")
    folder = tempfile.mkdtemp(prefix="feedstore-package-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(run(DEB_SCRIPT, BINARY, folder).stdout.split()[-1])


def with_version(package, version, folder):
    """The same package with another version."""
    tree = folder / "tree"
    run("dpkg-deb", "--raw-extract", package, tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {version}", control.read_text()))
    newer = folder / f"feedstore_{version}.deb"
    run("dpkg-deb", "-Znone", "--root-owner-group", "--build", tree, newer)
    return newer


@unittest.skipIf(REASON, REASON)
class PackageTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="feedstore-package-")
        cls.addClassCleanup(folder.cleanup)
        cls.package = built_package()
        cls.newer = with_version(cls.package, NEWER, pathlib.Path(folder.name))

    def test_lintian_has_no_complaints(self):
        self.assertEqual(run("lintian", "--allow-root", "--fail-on=error,warning", self.package, check=False).stdout, "")

    def test_the_binary_needs_no_swift_libraries(self):
        with tempfile.TemporaryDirectory() as folder:
            run("dpkg-deb", "--extract", self.package, folder)
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", f"{folder}/usr/bin/feedstore").stdout)
            self.assertIn("librdkafka.so.1", needed)
            self.assertFalse([name for name in needed if "swift" in name or "Foundation" in name])

    def test_dependencies_are_those_of_the_binary(self):
        depends = run("dpkg-deb", "--field", self.package, "Depends").stdout
        for package in ("libc6", "libcurl3-gnutls", "librdkafka1", "libmicrohttpd12", "zlib1g", "systemd-standalone-sysusers"):
            self.assertRegex(depends, rf"(^|[ |]){package}\b")

    def test_the_examples_find_their_imports(self):
        with tempfile.TemporaryDirectory() as folder:
            run("dpkg-deb", "--extract", self.package, folder)
            example = pathlib.Path(folder) / "usr/share/doc/feedstore/examples/clients/js/bin/feedstore-follow.mjs"
            told = run(os.environ.get("NODE", "node"), example, check=False)
            self.assertEqual((told.returncode, told.stderr.split()[:2]), (2, ["usage:", "feedstore-follow"]))

    def test_the_unit_is_hardened(self):
        with tempfile.TemporaryDirectory() as folder:
            run("dpkg-deb", "--extract", self.package, folder)
            unit = f"{folder}/lib/systemd/system/feedstore.service"
            told = run("systemd-analyze", "security", "--offline=yes", unit, check=False).stdout
            exposure = float(re.search(r"Overall exposure level for feedstore.service: ([0-9.]+)", told)[1])
            self.assertLessEqual(exposure, 2.0, told)

    def test_the_package_can_be_installed_upgraded_and_removed(self):
        if "FEEDSTORE_TEST_BOOTSTRAP" not in os.environ:
            self.skipTest("FEEDSTORE_TEST_BOOTSTRAP names no Kafka cluster")
        machine = Machine("systemd", "systemd-sysv", "man-db")
        self.addCleanup(machine.close)
        before = self.files(machine)
        for package in (self.package, self.newer):
            machine.path(f"/root/{package.name}").write_bytes(package.read_bytes())
        machine.boot_or_skip(self)
        self.machine = machine
        self.install()
        self.start()
        self.upgrade()
        self.roll_back()
        self.remove()
        self.purge(before)

    def files(self, machine):
        """Files that must not exist after a purge, in directories for packages and administrators."""
        return {
            path for folder in ("etc", "usr/bin", "usr/lib", "usr/share", "var/lib", "lib")
            for path in run("find", ".", "-name", "*feedstore*", cwd=machine.root / folder).stdout.split()
        }

    def install(self):
        machine = self.machine
        machine.apt("update")
        machine.apt("install", f"/root/{self.package.name}")
        self.assertRegex(machine.run("feedstore", "--version").stdout, r"^feedstore [0-9.]+ \(commit [0-9a-z-]+, librdkafka [0-9.]+\)\n$")
        status = machine.run("systemctl", "is-enabled", "feedstore", check=False).stdout
        self.assertEqual(status, "disabled\n", "it does not start before the brokers are named")
        self.assertEqual(machine.run("systemctl", "is-active", "feedstore", check=False).stdout, "inactive\n")
        self.assertEqual(machine.run("systemd-analyze", "verify", "feedstore.service").stderr, "")
        self.assertEqual(machine.run("stat", "-c", "%U:%G %a", "/etc/feedstore", CONFIGURATION).stdout, "root:feedstore 750\nroot:feedstore 640\n")
        self.assertEqual(machine.run("getent", "passwd", "feedstore").stdout.split(":")[5:], ["/", "/usr/sbin/nologin\n"])
        self.assertIn("NAME", machine.run("man", "--pager=cat", "feedstore").stdout)

    def start(self):
        machine = self.machine
        # After installation it reports what is missing, and is not restarted repeatedly.
        machine.run("systemctl", "start", "feedstore", check=False)
        machine.wait_until(lambda: self.state() == "failed", "the service has ended without a broker")
        self.assertEqual(machine.run("systemctl", "show", "-P", "ExecMainStatus", "feedstore").stdout, "2\n")
        self.assertIn("kafka.bootstrap.servers is not set; name a broker", self.journal())

        settings = {
            "kafka.bootstrap.servers": os.environ["FEEDSTORE_TEST_BOOTSTRAP"], "kafka.group.id": INPUT, "topics.sections": INPUT,
            "topics.items": INPUT, "topics.changesets": f"{INPUT}.changesets", "topics.rejected": f"{INPUT}.rejected",
        }
        machine.path(CONFIGURATION).write_text(json.dumps(settings))
        self.as_service("topics", "--create", "--partitions", "2", "--replication-factor", "1")
        machine.run("systemctl", "enable", "--now", "feedstore")
        self.publish('{"op":"item.upsert","item":"a","section":"top"}')
        self.wait_for_item("a")
        self.repair()
        machine.run("systemctl", "reload", "feedstore")
        machine.wait_until(lambda: "event=config.reloaded changed=nothing" in self.journal(), "the configuration is read again")
        told = machine.run("systemctl", "show", "--property=User,NoNewPrivileges,ProtectSystem", "feedstore").stdout
        self.assertCountEqual(told.split(), ["User=feedstore", "NoNewPrivileges=yes", "ProtectSystem=strict"])
        status = machine.run("cat", f"/proc/{self.main_process()}/status").stdout
        self.assertRegex(status, r"CapEff:\t0+\n")
        self.assertRegex(status, r"Seccomp:\t2\n")

    def repair(self):
        """Repairs a rejected record, which is then applied."""
        self.publish('{"op":"item.upsert","item":"c"}')
        listed = lambda: self.as_service("rejects", "list", "--json").stdout.splitlines()
        self.machine.wait_until(listed, "the record is rejected")
        (record,) = map(json.loads, listed())
        self.assertEqual((record["code"], record["key"]), ("unknown-section", "news"))
        place = f"{record['partition']}/{record['offset']}"
        self.assertEqual(self.as_service("rejects", "show", place).stdout, '{"op":"item.upsert","item":"c"}')
        self.machine.path("/srv/repaired.json").write_text('{"op":"item.upsert","item":"c","section":"top"}')
        self.as_service("rejects", "publish", place, "--value", "/srv/repaired.json")
        self.wait_for_item("c")
        # The marker that ends the daemon's transaction has an offset as well, but is not a record.
        marker = self.as_service("rejects", "show", f"{record['partition']}/{record['offset'] + 1}", check=False)
        self.assertEqual(marker.returncode, 1)
        self.assertIn("there is no record", marker.stderr)

    def upgrade(self):
        self.replace_by(self.newer, NEWER, "b")

    def roll_back(self):
        version = run("dpkg-deb", "--field", self.package, "Version").stdout.strip()
        self.replace_by(self.package, version, "d")

    def replace_by(self, package, version, item):
        """Another version takes over, and publishes an item."""
        machine = self.machine
        edited = machine.path(CONFIGURATION).read_text()
        process = self.main_process()
        machine.apt("install", "--allow-downgrades", f"/root/{package.name}")
        self.assertEqual(machine.run("dpkg-query", "-W", "-f", "${Version}", "feedstore").stdout, version)
        self.assertEqual(machine.path(CONFIGURATION).read_text(), edited)
        machine.wait_until(lambda: self.main_process() not in (process, 0), "the service was started again")
        self.publish(json.dumps({"op": "item.upsert", "item": item, "section": "top"}))
        self.wait_for_item(item)

    def remove(self):
        machine = self.machine
        edited = machine.path(CONFIGURATION).read_text()
        machine.apt("remove", "feedstore")
        self.assertEqual(machine.path(CONFIGURATION).read_text(), edited)
        self.assertFalse(machine.path("/usr/bin/feedstore").exists())
        self.assertIn("event=shutdown.requested", self.journal())

    def purge(self, before):
        machine = self.machine
        machine.path("/etc/feedstore/environment").write_text("SECRET=x\n")
        machine.run("dpkg", "--purge", "feedstore")
        self.assertNotEqual(machine.run("getent", "passwd", "feedstore", check=False).returncode, 0)
        self.assertNotEqual(machine.run("getent", "group", "feedstore", check=False).returncode, 0)
        self.assertEqual(self.files(machine) - before, set())

    def state(self):
        return self.machine.run("systemctl", "is-active", "feedstore", check=False).stdout.strip()

    def main_process(self):
        return int(self.machine.run("systemctl", "show", "-P", "MainPID", "feedstore").stdout)

    def journal(self):
        return self.machine.run("journalctl", "--unit=feedstore", "--output=cat", "--no-pager").stdout

    def as_service(self, *command, check=True):
        """Runs the command as the service's user, with its configuration."""
        inside = ["setpriv", "--reuid=feedstore", "--regid=feedstore", "--clear-groups", "feedstore", *command, "--config", CONFIGURATION]
        return self.machine.run(*inside, check=check)

    def publish(self, value):
        line = json.dumps({"key": "news", "payload": value})
        self.machine.path("/srv/record.ndjson").write_text(line + "\n")
        self.as_service("publish", "/srv/record.ndjson")

    def wait_for_item(self, item):
        told = lambda: self.as_service("follow", "--snapshot", "--json", "news", check=False).stdout
        try:
            self.machine.wait_until(lambda: f'"id":"{item}"' in told(), f"item {item} is in the feed")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.journal()}") from error


if __name__ == "__main__":
    unittest.main()
