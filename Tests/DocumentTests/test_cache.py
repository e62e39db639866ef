"""Many readers of a feed through the documented cache of docs/poll.md."""

import asyncio
import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from blocks import ROOT, all_blocks
from sandbox import FEEDSTORE, free_port
from session import PATIENCE_SECONDS, Output

sys.path.append(str(ROOT / "clients" / "python" / "src"))

from feedstore.replica import Replica  # noqa: E402

# Debian's is not in a user's path.
NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
# With more than 1,024, nginx's counter of an address's requests overflows.
READERS = int(os.environ.get("FEEDSTORE_TEST_READERS") or 1200)
CHANGES = 10


class Reader:
    """Follows a feed with one connection for each request, as the page says."""

    def __init__(self, port, number):
        self.port, self.number = port, number
        self.replica = Replica("news")
        self.address = "after="
        self.reached = asyncio.Condition()

    async def request(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            # Clients differ in what they accept.
            accepted = f"Accept-Encoding: identity;q=0.{self.number % 5 + 1}"
            writer.write(f"GET /v1/feeds/news/changes?{self.address} HTTP/1.0\r\nHost: localhost\r\n{accepted}\r\n\r\n".encode())
            head, _, content = (await reader.read()).partition(b"\r\n\r\n")
            return head.decode(), content.decode()
        finally:
            writer.close()

    async def follow(self):
        while True:
            head, content = await self.request()
            if not head.startswith("HTTP/1.1 200 "):
                raise AssertionError(head + content)
            for line in filter(None, content.split("\n")):
                outcome = self.replica.apply(line)
                if self.replica.head.revision != json.loads(line)["revision"]:
                    raise AssertionError(f"{outcome} {line}")
            self.address = re.search(r"^Link: <\?([^>]*)>", head, re.M).group(1)
            async with self.reached:
                self.reached.notify_all()

    async def wait_for(self, revision):
        async with self.reached:
            await self.reached.wait_for(lambda: self.replica.head is not None and self.replica.head.revision >= revision)


@unittest.skipUnless(NGINX, "nginx is not installed")
class CacheTests(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * READERS + 1000)), hard))
        self.token = "a-token-of-the-tests"
        settings = {
            "http.enabled": "true", "http.port": 0, "http.token": self.token, "http.writes.enabled": "true", "http.public": "news", "coalesce.window": 0,
        }
        daemon = self.start(FEEDSTORE, "run", "--embedded", *[f"--set={key}={value}" for key, value in settings.items()])
        listening = re.compile(r"http://127\.0\.0\.1:(\d+)")
        output = Output(daemon.stdout)
        self.assertTrue(output.wait(lambda lines: any(listening.search(line) for line in lines)), output.lines)
        self.daemon = next(int(found.group(1)) for line in output.lines if (found := listening.search(line)))
        self.cache = free_port()
        documented, = all_blocks("nginx cache")
        http_part = documented.code
        for text, other in (
            ("/var/cache/nginx/feeds", "feeds"), ("listen 80;", f"listen 127.0.0.1:{self.cache} backlog=8192;"),
            ("127.0.0.1:8321", f"127.0.0.1:{self.daemon}"),
        ):
            self.assertIn(text, http_part)
            http_part = http_part.replace(text, other)
        paths = "".join(f"{name}_temp_path {name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (self.folder / "nginx.conf").write_text(
            f"daemon off; master_process off; pid nginx.pid; events {{ worker_connections {3 * READERS + 100}; }}"
            f"http {{ access_log off; add_header X-Cache $upstream_cache_status always; {paths} {http_part} }}")
        self.start(NGINX, "-p", self.folder, "-c", self.folder / "nginx.conf", "-e", "stderr")

    def start(self, *command):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")

        def stop():
            process.terminate()
            process.wait()
            process.stdout.close()

        self.addCleanup(stop)
        return process

    def ask(self, method, path, content=None, port=None, token=None):
        token = self.token if port is None else token
        headers = {"Prefer": "wait=30", **({"Authorization": f"Bearer {token}"} if token else {})}
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port or self.daemon, timeout=PATIENCE_SECONDS)) as connection:
            connection.request(method, path, body=content, headers=headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()

    def write(self, number):
        """The revision of a change of the feed."""
        event = {"op": "item.upsert", "item": f"i{number % 7}", "section": "s", "data": number}
        while True:
            status, _, text = self.ask("POST", "/v1/feeds/news/events", json.dumps(event))
            if status == 200:
                return json.loads(text)["revision"]
            # The daemon starts, or has not restored its partitions.
            self.assertIn(status, (202, 503), text)

    def request_count(self):
        """The requests that the daemon has answered, apart from those that ask for this number."""
        _, _, text = self.ask("GET", "/metrics")
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith("feedstore_http_requests_total{"))

    def wait_for_cache(self):
        while True:
            try:
                status, headers, _ = self.ask("GET", "/v1/feeds/news/changes?after=", port=self.cache)
            except OSError:
                continue
            if status == 200:
                return headers

    def test_many_readers_cause_one_request_per_change(self):
        self.write(0)
        self.wait_for_cache()
        asyncio.run(self.run_readers())

    async def run_readers(self):
        readers = [Reader(self.cache, number) for number in range(READERS)]
        following = [asyncio.ensure_future(reader.follow()) for reader in readers]
        failed = asyncio.ensure_future(asyncio.wait(following, return_when=asyncio.FIRST_COMPLETED))

        async def all_reach(revision):
            reached = asyncio.gather(*[reader.wait_for(revision) for reader in readers])
            await asyncio.wait({reached, failed}, return_when=asyncio.FIRST_COMPLETED)
            for task in following:
                if task.done():
                    task.result()
            await reached

        loop = asyncio.get_running_loop()
        await all_reach(1)
        before, begun = await loop.run_in_executor(None, self.request_count), time.monotonic()
        for number in range(1, CHANGES + 1):
            await all_reach(await loop.run_in_executor(None, self.write, number))
        count = await loop.run_in_executor(None, self.request_count) - before
        # The writes, and one for the count.
        polls = count - CHANGES - 1
        # Responses expire after 10 s, and waiting requests end every 30 s.
        expired = 2 * (int((time.monotonic() - begun) / 10) + 1)
        self.assertLessEqual(polls, CHANGES + expired)
        states = {(str(reader.replica.head), str(reader.replica.sections)) for reader in readers}
        self.assertEqual(len(states), 1)
        print(f"{READERS} readers, {CHANGES} changes: {polls:.0f} requests", file=sys.stderr)
        for task in following:
            task.cancel()
        await asyncio.gather(*following, failed, return_exceptions=True)

    def test_the_first_request_for_an_expired_response_receives_a_new_one(self):
        def ask():
            status, headers, _ = self.ask("GET", "/v1/feeds/news/changes?after=", port=self.cache)
            return status, headers["X-Cache"]

        while self.ask("GET", "/v1/feeds/news/changes?after=")[0] != 404:
            pass
        self.assertEqual(ask(), (404, "MISS"))
        self.write(0)
        # The follower of the daemon's feeds may be behind.
        while (answer := ask())[0] == 404:
            self.assertIn(answer[1], ("HIT", "EXPIRED"))
        self.assertEqual(answer, (200, "EXPIRED"))

    def test_the_cache_keeps_what_the_page_says_and_nothing_else(self):
        self.write(0)
        headers = self.wait_for_cache()
        self.assertEqual(headers["Cache-Control"], "public, max-age=1")
        link = re.search(r"<\?(.*)>", headers["Link"]).group(1)
        self.write(1)
        answers = [self.ask("GET", f"/v1/feeds/news/changes?{link}", port=self.cache) for _ in range(2)]
        self.assertEqual(answers[0][2], answers[1][2])
        before = self.request_count()
        self.ask("GET", f"/v1/feeds/news/changes?{link}", port=self.cache)
        self.ask("GET", f"/v1/feeds/news/changes?{link}", port=self.cache)
        self.assertLessEqual(self.request_count() - before, 2)
        # Collapsed requests get an error, too; feeds that are not public pass.
        for path, control in (("news/changes?after=x@1", "public, max-age=1"), ("other/changes?after=", "no-store")):
            _, headers, _ = self.ask("GET", f"/v1/feeds/{path}", port=self.cache)
            self.assertEqual(headers["Cache-Control"], control)
        # Only polls without a token are kept, whatever may be kept otherwise.
        for path, token in (("news", None), (f"news/changes?{link}&first=9", self.token)):
            before = self.request_count()
            for _ in range(2):
                status, headers, _ = self.ask("GET", f"/v1/feeds/{path}", port=self.cache, token=token)
                self.assertEqual(status, 200)
                self.assertIn("public", headers["Cache-Control"])
            # With the request for the number.
            self.assertEqual(self.request_count() - before, 3)
        before = self.request_count()
        self.ask("GET", f"/v1/feeds/news/changes?{link}&first=9", port=self.cache)
        self.assertEqual(self.request_count() - before, 2)
        # A feed that is not public needs its token here, too, and nothing else is reachable.
        self.assertEqual(self.ask("GET", "/v1/feeds/other/changes?after=", port=self.cache)[0], 401)
        self.assertEqual(self.ask("POST", "/v1/feeds/news/events", "{}", port=self.cache)[0], 401)
        for path in ("/v1/status", "/metrics", "/v1/feeds/%2e%2e/status"):
            status, headers, _ = self.ask("GET", path, port=self.cache, token=self.token)
            self.assertEqual((status, headers["Server"].split("/")[0]), (404, "nginx"), path)
