"""A reader of docs/install.md, tls.md and monitor.md: in a clean Debian, from the package to a service with TLS and Prometheus.

The commands are those of the pages. Only hosts, ports and versions are replaced.
"""

import pathlib
import re
import sys
import tempfile
import unittest

from machine import ROOT, Machine, missing_tools
from test_package import CONFIGURATION, built_package

sys.path[:0] = [str(ROOT / "Tests/SecurityTests"), str(ROOT / "Tests/DocumentTests")]

import authority
import blocks
from sandbox import free_port
from secured_cluster import SecuredCluster

PAGES = "\n".join((ROOT / "docs" / f"{name}.md").read_text() for name in ("install", "tls", "monitor"))
PASSWORD = "change-me-please"
REASON = missing_tools("debootstrap", "systemd-nspawn", "dpkg-buildpackage", "dh", "nsenter", "openssl")


def section(title):
    """The text below a heading of one of the pages, up to the next heading."""
    return re.search(rf"^#+ {title}$(.*?)(?=^#)", PAGES, re.MULTILINE | re.DOTALL).group(1)


def code(title, info):
    """The blocks of a kind under a heading, without the indentation that they have in a list."""
    return [
        re.sub(rf"(?m)^{found['indent']}", "", found["code"])
        for found in blocks.FENCE.finditer(section(title)) if found["info"] == info
    ]


@unittest.skipIf(REASON, REASON)
class OperatingTests(unittest.TestCase):
    def test_the_page_leads_to_a_secured_and_monitored_service(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        ours = authority.Authority(folder, "ca")
        users = {"feedstore": PASSWORD}
        cluster = self.enterContext(
            SecuredCluster(ours.issue("broker"), mechanisms=["SCRAM-SHA-256"], users=users, has_topics=False)
        )
        machine = self.machine = Machine("systemd", "systemd-sysv", "ca-certificates", "curl")
        self.addCleanup(machine.close)
        machine.path("/etc/apt/apt.conf.d/yes").write_text('APT::Get::Assume-Yes "true";\n')
        machine.boot_or_skip(self)
        self.port = free_port()
        install, create, doctor, start, publish = code("Install", "sh package")
        self.install(install, built_package())
        self.configure(cluster.servers, ours)
        self.shell(create)
        # It ends with 1 if a check fails.
        self.assertIn("right to read", self.shell(doctor))
        # Without its end, the log would be followed for ever.
        self.shell(start.replace(" --follow", " --no-pager"))
        self.assertIn('"title":"Apples"', self.shell(publish).replace(" ", ""))
        (recipe,) = code("HTTPS", "sh recipe")
        self.shell(recipe.replace("feedstore1.example.com:8321", f"localhost:{self.port}"), folder="/etc/feedstore")
        self.watch()

    def shell(self, script, folder="/root"):
        return self.machine.run("bash", "-euc", f"cd {folder}\n{script}").stdout

    def install(self, script, package):
        named = re.search(r"feedstore_\S+\.deb", script)[0]
        self.machine.path(f"/root/{named}").write_bytes(package.read_bytes())
        self.machine.apt("update")
        self.shell(script)

    def configure(self, servers, ours):
        """SCRAM over TLS to the brokers, and HTTPS, as in the recipes."""
        (kafka,) = code("SCRAM over TLS", "json5")
        (https,) = code("HTTPS", "json5")
        kafka = re.sub(r'"broker1\.example\.com:[^"]*"', f'"{servers}"', kafka)
        https = https.replace("enabled: true,", f"enabled: true, feeds: false, port: {self.port},")
        inside = [re.fullmatch(r"\{\n(.*)\}\n", one, re.DOTALL).group(1) for one in (kafka, https)]
        folder = self.machine.path("/etc/feedstore")
        self.machine.path(CONFIGURATION).write_text("{\n" + "".join(inside) + "}\n")
        (folder / "kafka-password").write_text(PASSWORD + "\n")
        (folder / "ca.crt").write_bytes(ours.certificate.read_bytes())
        for name in ("server", "client"):
            for file, end in zip(ours.issue(name), ("crt", "key")):
                (folder / f"{name}.{end}").write_bytes(file.read_bytes())
        # The page says who owns keys, and what others may do with them.
        owner, mode = re.search(r"keys with `(chown \S+)` and `(chmod \d+)`", section("What the package installs")).groups()
        for secret in ("kafka-password", "server.key", "client.key"):
            self.shell(f"{owner} {secret}; {mode} {secret}", folder="/etc/feedstore")

    def watch(self):
        """Prometheus scrapes it and has the rules."""
        machine = self.machine
        port = free_port()
        # Before its first start, as the container has the ports of this machine.
        machine.path("/etc/dpkg/dpkg.cfg.d/keep").write_text("force-confold\n")
        machine.path("/etc/default/prometheus").write_text(f'ARGS="--web.listen-address=127.0.0.1:{port}"\n')
        example = machine.path("/usr/share/doc/feedstore/examples/prometheus/scrape.example.yml")
        text = example.read_text().replace("127.0.0.1:8321", f"127.0.0.1:{self.port}")
        example.write_text(re.sub(r"# (scheme|tls_config):", r"\1:", text))
        (script,) = code("Monitor", "sh package")
        head, prepare = script.split("\n", 1)
        self.shell(head)
        for name in ("ca.crt", "client.crt", "client.key"):
            self.shell(f"install -o prometheus -m 400 /etc/feedstore/{name} /etc/prometheus/{name}")
        self.shell(prepare)
        query = lambda what: machine.run("promtool", "query", "instant", f"http://127.0.0.1:{port}", what, check=False).stdout
        is_up = lambda: re.search(r'^up\{.*job="feedstore".*\} => 1 ', query("up"), re.MULTILINE)
        try:
            machine.wait_until(is_up, "Prometheus has scraped it")
        except AssertionError as error:
            targets = machine.run("curl", "--silent", f"http://127.0.0.1:{port}/api/v1/targets", check=False).stdout
            journal = machine.run("journalctl", "--unit=prometheus", "--output=cat", "--no-pager").stdout
            raise AssertionError(f"{error}\n{query('up')}\n{targets}\n{journal}") from error
        self.assertRegex(query("feedstore_feeds"), "=> 1 ")
        rules = machine.run("curl", "--silent", "--fail", f"http://127.0.0.1:{port}/api/v1/rules").stdout
        self.assertIn("FeedStorePartitionStopped", rules)


if __name__ == "__main__":
    unittest.main()
