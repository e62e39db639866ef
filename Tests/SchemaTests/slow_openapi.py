"""A fuzzer sends what docs/openapi.yaml allows and forbids to a daemon, and checks the answers against it.

FEEDSTORE_FUZZ_SEED repeats a run, and FEEDSTORE_FUZZ_EXAMPLES makes it longer.
"""

import base64
import http.client
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import threading
import time
import unittest

import jwt
from repository import FEEDSTORE, OPENAPI, ROOT, SCHEMAS, openapi

# `make setup-slow-test` installs schemathesis there.
PROGRAMS = ROOT / ".build" / "schemathesis" / "bin"
TOKEN = "a-token-for-the-fuzzer"
# Feeds of the demo, with the names of the document's examples. (schemathesis sends no slash in a path.)
FEEDS = {"newsroom/home": "hn", "grid/outages": "weather"}
SEED = int(os.environ.get("FEEDSTORE_FUZZ_SEED") or random.getrandbits(32))
# Random requests for each operation, in addition to the bounds of its schema.
EXAMPLES = int(os.environ.get("FEEDSTORE_FUZZ_EXAMPLES") or 30)
CONFIGURATION = """
hooks = "{hooks}"
# Streams do not end. Their first two events come at once.
max-stream-events = 2
request-timeout = 120
continue-on-failure = true
# Among them is one that the choice of random requests is slow.
suppress-health-check = ["all"]

[parameters]
"path.id" = {{ dictionary = "feeds", probability = 0.7 }}
"path.stream" = {{ dictionary = "streams", probability = 0.7 }}
"query.partition" = {{ dictionary = "partitions", probability = 0.7 }}

[dictionaries]
feeds.values = {feeds}
partitions.values = [0, 1, 2, 3]
streams.values = {streams}

[checks]
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503]
positive_data_acceptance.expected-statuses = ["2xx", 304, 404, 503, {refusals}]
# An invalid value may also be too long for a head.
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 406, 413, 414, 422, 431, 503]
"""


def with_data(value):
    """A schema with the schema of its content in place of each text, as `fuzzer_hooks` reads them."""
    if isinstance(value, list):
        return [with_data(child) for child in value]
    if not isinstance(value, dict):
        return value
    if "contentSchema" in value:
        return with_data(value["contentSchema"])
    value = {name: with_data(child) for name, child in value.items()}
    if value.get("$ref", "").startswith("./schemas/"):
        value["$ref"] = SCHEMAS.as_uri() + value["$ref"].removeprefix("./schemas")
    return value


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", **more)


@unittest.skipUnless((PROGRAMS / "schemathesis").exists(), f"there is no schemathesis in {PROGRAMS}")
class FuzzerTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def demo(self, *arguments):
        """The port of a daemon whose feeds change all the time."""
        history = run(FEEDSTORE, "demo", "--write", "-").stdout
        for feed, name in FEEDS.items():
            history = history.replace(f'"key":"{feed}"', f'"key":"{name}"')
        file = self.folder / "history.ndjson"
        file.write_text(history)
        command = [FEEDSTORE, "demo", file, "--loop", "--speed", "4", *arguments]
        command += ["--set", "http.port=0", "--set", "http.writes.enabled=true", "--set", "topics.contents=contents"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
        reader = threading.Thread(target=lambda: [None for _ in process.stdout])
        for cleanup in (process.stdout.close, process.wait, reader.join, process.terminate):
            self.addCleanup(cleanup)
        text = ""
        # Each feed has been published.
        while not all(f" {feed} [" in text for feed in FEEDS.values()):
            line = process.stdout.readline()
            self.assertTrue(line, f"the demo has ended: {text}")
            text += line
        # A full pipe would stop it.
        reader.start()
        return int(re.search(r"http://127\.0\.0\.1:(\d+)", text)[1])

    def open_stream(self, port, headers):
        """The id of a stream that stays open."""
        connection = http.client.HTTPConnection("127.0.0.1", port)
        self.addCleanup(connection.close)
        connection.request("POST", "/v1/streams", json.dumps({"feeds": [{"feed": "hn", "first": 2}]}), headers)
        response = connection.getresponse()
        self.addCleanup(response.close)
        for line in response:
            if name := re.search(rb'"stream":"(\w+)"', line):
                return name[1].decode()
        self.fail(f"{response.status}: no stream")

    def fuzz(self, port, document, headers, refusals=""):
        streams = [self.open_stream(port, headers) for _ in range(3)]
        hooks = pathlib.Path(__file__).with_name("fuzzer_hooks.py")
        names = [*FEEDS.values(), "no-such-feed"]
        lists = {"feeds": json.dumps(names), "streams": json.dumps(streams)}
        configuration = CONFIGURATION.format(hooks=hooks, refusals=refusals, **lists)
        (self.folder / "schemathesis.toml").write_text(configuration)
        document = with_data(document)
        asked = document["components"]["schemas"]["requestedFeeds"]["items"]["properties"]
        asked["feed"] = {"anyOf": [{"enum": names}, asked["feed"]]}
        (self.folder / "openapi.json").write_text(json.dumps(document))
        print(f"FEEDSTORE_FUZZ_SEED={SEED}", flush=True)
        result = run(
            PROGRAMS / "schemathesis", "run", "openapi.json", "--url", f"http://127.0.0.1:{port}",
            "--seed", str(SEED), "--max-examples", str(EXAMPLES), "--generation-database", "none",
            "--no-color", "--output-sanitize", "false",
            *(part for name, value in headers.items() for part in ("--header", f"{name}:{value}")),
            cwd=self.folder,
        )
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_the_document_is_openapi(self):
        result = run(PROGRAMS / "python", "-m", "openapi_spec_validator", OPENAPI)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_a_daemon_with_a_token_does_what_the_document_says(self):
        port = self.demo("--set", f"http.token={TOKEN}")
        self.fuzz(port, openapi(), {"Authorization": f"Bearer {TOKEN}"})

    def test_a_daemon_with_tokens_of_users_does_so_too(self):
        secret = random.randbytes(32)
        keys = self.folder / "keys.json"
        keys.touch(mode=0o600)
        value = base64.urlsafe_b64encode(secret).decode().rstrip("=")
        keys.write_text(json.dumps({"keys": [{"kty": "oct", "k": value}]}))
        port = self.demo("--set", f"http.jwt.keys={keys}")
        claims = {"exp": time.time() + 3600, "feedstore": {"read": ["hn"], "write": ["hn", "weather"], "contents": ["hn"]}}
        token = jwt.encode(claims, secret, "HS256")
        self.fuzz(port, openapi(), {"Authorization": f"Bearer {token}"}, refusals="403")

    def test_a_daemon_without_a_token_does_so_too(self):
        document = {name: value for name, value in openapi().items() if name != "security"}
        self.fuzz(self.demo(), document, {})


if __name__ == "__main__":
    unittest.main()
