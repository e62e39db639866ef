"""Blocks of data: responses of the daemon, vectors, messages of a stream, and configurations."""

import configparser
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
import zlib

import yaml

from blocks import ROOT, all_blocks
from sandbox import FEEDSTORE, Sandbox, free_port
from session import PATIENCE_SECONDS, Program

sys.path.append(str(ROOT / "conformance"))

import run as conformance  # noqa: E402

# Debian's is not in a user's path.
NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
# Absent until the brokers have reported it.
OPTIONAL = {"inputLag"}


def complete(text):
    """JSON without the fields that the page omits."""
    text = re.sub(r"…(?=[\]}])|,…", "", text)
    return json.loads(text)


def shape(value):
    """The names and types of a value's members; a list is represented by its first element."""
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items() if name not in OPTIONAL}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=60) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return json.load(error)


class Responses(unittest.TestCase):
    def setUp(self):
        self.sandbox = Sandbox("127.0.0.1:1")
        self.addCleanup(self.sandbox.close)

    def daemon(self, *arguments):
        """A daemon that listens, and its address."""
        command = " ".join([str(FEEDSTORE), "run", *arguments, "--set http.enabled=true --set http.port=0"])
        program = Program(self.sandbox, command)
        self.addCleanup(program.close)
        listening = re.compile(r"http://127\.0\.0\.1:\d+")
        self.assertTrue(program.output.wait(lambda lines: any(listening.search(line) for line in lines)), program.output.lines)
        return program, next(found.group() for line in program.output.lines if (found := listening.search(line)))

    def daemon_with_feeds(self):
        """The address of a daemon with two feeds and a broker of its own."""
        program, url = self.daemon("--embedded")
        self.assertTrue(program.output.wait(lambda lines: any(line.startswith("127.0.0.1:") for line in lines)))
        servers = next(line for line in program.output.lines if line.startswith("127.0.0.1:"))
        records = [{"key": "hn", "value": {"op": "item.upsert", "item": "rejected"}}]
        records += [{"key": key, "value": {"op": "item.upsert", "item": "a", "section": "s"}} for key in ("hn", "news")]
        subprocess.run(
            [FEEDSTORE, "publish", "-", "--set", f"kafka.bootstrap.servers={servers}"], check=True, capture_output=True,
            input="".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        for feed in ("hn", "news"):
            self.wait_for_feed(url, feed)
        return url

    def test_responses_have_the_fields_of_the_examples(self):
        url = self.daemon_with_feeds()
        _, away = self.daemon("--set", "kafka.bootstrap.servers=127.0.0.1:1")
        found = all_blocks("json response")
        self.assertEqual(len(found), 5)
        for block in found:
            with self.subTest(block.place):
                host = away if block.argument == "/readyz" else url
                self.assertEqual(shape(get(host + block.argument)), shape(json.loads(block.code)))

    @unittest.skipUnless(NGINX, "nginx is not installed")
    def test_nginx_passes_on_a_stream_at_once(self):
        url = self.daemon_with_feeds()
        defaults = f"location / {{ proxy_pass {url}; }}"
        compressing = "gzip on; gzip_types *; gzip_proxied any; gzip_min_length 1;"
        documented, = all_blocks("nginx location")
        self.assertIn("http://127.0.0.1:8321;", documented.code)
        for server in (documented.code.replace("http://127.0.0.1:8321", url), defaults, compressing + defaults):
            with self.subTest(server), self.nginx(server) as port:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
                self.addCleanup(connection.close)
                connection.request("GET", "/v1/feeds/hn/changes", headers={"Accept-Encoding": "gzip"})
                response, text = connection.getresponse(), b""
                self.assertEqual(response.status, 200)
                inflate = zlib.decompressobj(wbits=31) if response.headers["Content-Encoding"] else None
                self.assertEqual(inflate is not None, compressing in server)
                # The stream does not end, so a collected response never arrives.
                while b"event: up-to-date" not in text:
                    piece = response.read1()
                    self.assertTrue(piece)
                    text += inflate.decompress(piece) if inflate else piece

    @contextlib.contextmanager
    def nginx(self, server):
        """The port of an nginx with these lines in its `server`."""
        port = free_port()
        paths = "".join(f"{name}_temp_path {name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        configuration = self.sandbox.folder / "nginx.conf"
        configuration.write_text(
            f"daemon off; master_process off; pid nginx.pid; events {{}}"
            f"http {{ access_log off; {paths} server {{ listen 127.0.0.1:{port}; {server} }} }}")
        process = subprocess.Popen([NGINX, "-p", self.sandbox.folder, "-c", configuration, "-e", "stderr"])
        try:
            while True:
                self.assertIsNone(process.poll(), "nginx ended")
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    threading.Event().wait(0.05)
            yield port
        finally:
            process.terminate()
            process.wait()

    def wait_for_feed(self, url, feed):
        """Repeats the request until the feed exists; until then, responses are immediate."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while feed not in [found["feed"] for found in get(f"{url}/v1/feeds").get("feeds", [])]:
            self.assertLess(time.monotonic(), deadline, f"there is no feed {feed}")
            threading.Event().wait(0.05)

    def test_the_messages_of_a_stream_can_be_parsed(self):
        schema = json.loads((ROOT / "docs" / "schemas" / "changeset.schema.json").read_text())
        fields = set(re.findall(r'"(\w+)":', json.dumps(schema)))
        for block in all_blocks("text stream"):
            for message in block.code.split("\n\n"):
                lines = dict(line.split(": ", 1) for line in message.strip().splitlines())
                self.assertLessEqual(set(lines), {"retry", "id", "event", "data"})
                if "data" in lines:
                    data = complete(lines["data"])
                    if lines.get("event") != "plan":
                        self.assertLessEqual(set(data), fields | {"partition", "stream", "window"})


class Vectors(unittest.TestCase):
    def test_a_line_has_the_fields_of_the_vectors(self):
        for block in all_blocks("json vector"):
            shown = complete(block.code)
            name = "stream/rules" if "steps" in shown else "window/following-first" if "event" in shown else "replica/worked-example"
            line = conformance.lines(f"{name}.ndjson")[0]
            self.assertEqual(list(shown), list(line))
            if "steps" in shown:
                shown, line = shown["steps"][0], line["steps"][0]
            self.assertEqual(set(shown["then"]), set(line["then"]))

    def test_the_models_of_the_clients_make_their_vectors_and_the_table_of_states(self):
        for name in ("pending.py", "stream.py", "stream_rules.py"):
            with self.subTest(name):
                subprocess.run([sys.executable, ROOT / "conformance" / name, "--check"], check=True)

    def test_the_checksum_of_an_answer_is_that_of_its_sections(self):
        for block in all_blocks("json answer"):
            answer = json.loads(block.code)
            self.assertEqual(answer["checksum"], conformance.checksum(answer["sections"]))


class Configurations(unittest.TestCase):
    def test_the_command_reads_them(self):
        for block in all_blocks("json5"):
            with self.subTest(block.place), tempfile.TemporaryDirectory() as folder:
                # The files and variables that it names contain valid secrets.
                for name in re.findall(r"/etc/feedstore/([\w.-]+)", block.code):
                    path = pathlib.Path(folder, name)
                    path.write_text("a-secret-for-tests")
                    path.chmod(0o600)
                variables = {name: "a-secret-for-tests" for name in re.findall(r"\$\{env:(\w+)\}", block.code)}
                path = pathlib.Path(folder, "of-the-page.json5")
                path.write_text(block.code.replace("/etc/feedstore/", f"{folder}/"))
                path.chmod(0o600)
                result = subprocess.run(
                    [FEEDSTORE, "replay", "-", "--config", path], input="", capture_output=True, encoding="utf-8",
                    env=os.environ | variables)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_unit_has_the_keys_of_the_packages_unit(self):
        unit = (ROOT / "packaging" / "debian" / "feedstore.service").read_text()
        for block in all_blocks("ini unit"):
            parser = configparser.ConfigParser()
            parser.optionxform = str
            parser.read_string(block.code)
            for name, value in parser["Service"].items():
                with self.subTest(block.place, name=name):
                    self.assertRegex(unit, rf"(?m)^{name}=")
                    if name == "ExecStart":
                        self.assertIn(f"ExecStart={value}\n", unit)

    def test_services_and_profiles_are_those_of_compose(self):
        compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
        profiles = {name for service in compose["services"].values() for name in service.get("profiles", [])}
        for block in all_blocks("sh compose"):
            for name in re.findall(r"--profile (\S+)", block.code):
                self.assertIn(name, profiles)
            for name in re.findall(r"docker compose exec (\S+)", block.code):
                self.assertIn(name, compose["services"])


if __name__ == "__main__":
    unittest.main()
