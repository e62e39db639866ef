"""Tokens of an identity provider: keys from its address, and rights from its claims."""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import authority
import command
from identity_provider import IdentityProvider
from test_tokens import FEEDS, ISSUER, KEYS, OTHERS, RSA, ServedFeeds, Stream, token, web_key

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "serve.md"
OPERATOR = "the-token-of-the-operator"
FIRST, SECOND = web_key(KEYS["ES256"], "ES256"), web_key(OTHERS["ES256"], "second")
NEWER = token(["*"], key=OTHERS["ES256"], headers={"kid": "second"})


class IdentityTests(ServedFeeds):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.authority = authority.Authority(cls.folder, "own")

    def provide(self, **settings):
        """A provider with the first key, and a daemon that has fetched it."""
        provider = self.enterContext(IdentityProvider(self.authority))
        provider.serve_keys(FIRST)
        self.daemon, self.port, self.servers = self.start(
            provider.url + "/keys", **{"http.jwt.authority": self.authority.certificate, **settings}
        )
        while self.status(token(["news"])) == 503:
            pass
        return provider

    def status(self, text, feed="news"):
        return self.get(self.path(feed), text)[0]

    def fetched(self):
        return self.get("/v1/status", OPERATOR)[2]["tokenKeys"]

    def metric(self):
        return int(self.get("/metrics", OPERATOR)[2].decode().split("\nfeedstore_token_keys_fetch_failed ")[1].split("\n")[0])

    def fails(self, text):
        """Has the keys fetched, until the reason is there why they cannot be."""
        self.daemon.reload()
        while text not in self.fetched().get("failure", ""):
            pass

    def succeeds(self):
        self.daemon.reload()
        while "failure" in self.fetched():
            pass

    # Keys

    def test_keys_are_fetched_from_the_provider_and_follow_its_rotation(self):
        provider = self.provide()
        self.daemon.wait_for("event=http.keys-fetched")
        self.assertEqual(self.metric(), 0)
        fetched = self.fetched()
        self.assertEqual((fetched["url"], fetched["keys"], "failure" in fetched), (provider.url + "/keys", 1, False))
        self.assertEqual(self.status(token(["news"], key=OTHERS["ES256"])), 401)
        self.assertEqual(self.status("no-token-but-a-wrong-secret"), 401)
        # Nothing but an unknown key makes the daemon fetch them again.
        provider.serve_keys(FIRST, SECOND)
        while (answer := self.get(self.path("news"), NEWER))[0] != 200:
            code = answer[2]["code"]
            self.assertIn((answer[0], code), {(401, "invalid-token"), (503, "keys-unavailable")})
            self.assertEqual(answer[1]["Retry-After"], "1" if code == "keys-unavailable" else None)
        self.assertEqual(self.status(token(["news"])), 200)
        # A reload is for operators who do not want to wait.
        provider.serve_keys(SECOND)
        self.daemon.reload()
        while self.fetched()["keys"] != 1:
            pass
        self.assertEqual((self.status(NEWER), self.status(token(["news"]))), (200, 401))

    def test_a_daemon_without_keys_serves_those_who_need_none_and_gets_them_later(self):
        provider = IdentityProvider(self.authority)
        url = provider.url + "/keys"
        self.daemon, self.port, self.servers = self.start(url, **{"http.jwt.authority": self.authority.certificate})
        self.assertIn(url, self.daemon.wait_for("event=http.keys-not-fetched"))
        status, headers, problem = self.get(self.path("news"), token(["news"]))
        self.assertEqual((status, problem["code"], headers["Retry-After"]), (503, "keys-unavailable", "1"))
        self.assertEqual((self.status(OPERATOR), self.status("another-secret")), (200, 401))
        status, _, ready = self.get("/readyz")
        self.assertEqual((status, [reason["code"] for reason in ready["reasons"]]), (503, ["token-keys"]))
        # It needs no token, and the cause may have secrets.
        self.assertNotIn(url, ready["detail"])
        fetched = self.fetched()
        self.assertEqual((fetched["keys"], "fetchedAt" in fetched, self.metric()), (0, False, 1))
        with provider:
            provider.serve_keys(FIRST)
            self.daemon.wait_for("event=http.keys-fetched")
            self.assertEqual((self.status(token(["news"])), self.get("/readyz")[0], self.metric()), (200, 200, 0))
        # The keys stay.
        self.fails(url + ": ")
        self.assertEqual((self.status(token(["news"])), self.get("/readyz")[0], self.metric()), (200, 200, 1))
        self.assertIn("fetchedAt", self.fetched())

    def test_an_answer_without_keys_changes_nothing_and_is_explained(self):
        provider = self.provide()
        other = self.enterContext(IdentityProvider(self.authority))
        other.serve_keys(SECOND)
        own, elsewhere = provider.url + "/keys", other.url + "/keys"
        remedy = "http.jwt.keys must be the address of your identity provider's keys (jwks_uri)"
        moved = f"{own} redirects to another host, {{}}; if that is your identity provider's, set http.jwt.keys to it"
        huge = b'{"keys":[], "x": "' + b"x" * 10_000_000 + b'"}'
        for answer, reason in (
            ((200, {}, b"<!DOCTYPE html><title>Sign in</title>"), f"{own} did not answer with a JSON object"),
            ((200, {}, b"[1]"), remedy),
            ((200, {}, b'{"error":"no"}'), f"{own} is not a set of keys; {remedy}"),
            ((200, {}, b'{"keys":[]}'), f"{own} has no key for RS256, ES256, EdDSA, HS256; add one"),
            ((200, {}, b'{"keys":[],"keys":[]}'), "twice"),
            ((404, {}, b"{}"), f"{own} answered with HTTP status 404; {remedy}"),
            ((302, {"Location": elsewhere}, b""), moved.format(elsewhere)),
            ((302, {"Location": own.replace("https", "http")}, b""), moved.format(own.replace("https", "http"))),
            ((302, {"Location": "//localhost/"}, b""), moved.format("https://localhost/")),
            ((307, {"Location": "/keys"}, b""), f"{own} redirects more than 5 times; {remedy}"),
            ((200, {}, huge), f"{own}: the answer has more than 1048576 bytes"),
            (None, f"{own}: Timeout was reached"),
        ):
            with self.subTest(reason):
                provider.answers["/keys"] = answer
                self.fails(reason)
                # The reason may be an earlier answer's, while the keys are being fetched.
                while (status := self.status(NEWER)) == 503:
                    pass
                self.assertEqual((self.status(token(["news"])), status, self.metric()), (200, 401, 1))
        self.assertEqual(other.requests, [])
        provider.answers["/keys"] = (308, {"Location": "/certs?a=1"}, b"")
        provider.serve_keys(SECOND, path="/certs?a=1")
        self.succeeds()
        self.assertEqual((self.status(token(["news"])), self.status(NEWER), self.metric()), (401, 200, 0))
        # A certificate of another authority.
        stranger = authority.Authority(self.folder, "stranger")
        kept = self.authority.certificate.read_bytes()
        self.authority.certificate.write_bytes(stranger.certificate.read_bytes())
        self.addCleanup(self.authority.certificate.write_bytes, kept)
        self.fails("http.jwt.authority")
        self.assertEqual(self.status(NEWER), 200)

    def test_odd_keys_of_a_set_are_left_out_and_the_others_work(self):
        provider = self.provide()
        rsa = web_key(RSA, "RS256")
        provider.serve_keys(
            {"kty": "AKP", "kid": "type", "pub": "AA"}, {"kty": "EC", "crv": "P-521", "kid": "curve", "x": "AA", "y": "AA"},
            {**rsa, "kid": "algorithm", "alg": "PS512"}, {**rsa, "kid": "short", "n": rsa["n"][:170]}, {"kid": "typeless"},
            web_key(KEYS["HS256"], "HS256"), {**rsa, "kid": "private", "d": "AAAA"}, {**rsa, "kid": "other", "use": "enc"},
            FIRST, {**SECOND, "kid": "ES256"}, rsa,
        )
        self.daemon.reload()
        line = self.daemon.wait_for("event=http.keys-left-out")
        for number in (0, 1, 2, 3, 4, 5, 6, 9):
            self.assertIn(f"keys[{number}]", line)
        self.assertIn("an earlier key has this kid", line)
        self.assertNotIn("keys[7]", line)
        self.assertEqual(self.fetched()["keys"], 2)
        self.assertEqual((self.status(token(["news"])), self.status(token(["news"], "RS256"))), (200, 200))
        # Everyone can read this secret.
        self.assertEqual(self.status(token(["news"], "HS256")), 401)
        self.assertEqual(self.status(token(["news"], key=OTHERS["ES256"])), 401)

    def test_a_discovery_document_leads_to_the_keys(self):
        provider = self.enterContext(IdentityProvider(self.authority))
        keys = self.enterContext(IdentityProvider(self.authority))
        keys.serve_keys(FIRST)
        path = "/realms/a/.well-known/openid-configuration"
        provider.serve(path, {"issuer": "https://another.example", "jwks_uri": keys.url + "/keys"})
        self.daemon, self.port, self.servers = self.start(
            provider.url + path, **{"http.jwt.authority": self.authority.certificate, "http.jwt.issuer": ISSUER}
        )
        self.fails(f'{provider.url}{path} describes the issuer "https://another.example", and http.jwt.issuer is "{ISSUER}"')
        for target in (keys.url.replace("https", "http") + "/keys", "file:///etc/passwd", "/keys"):
            provider.serve(path, {"issuer": ISSUER, "jwks_uri": target})
            self.fails(f'has the jwks_uri "{target}", which is not an https address')
        self.assertEqual(keys.requests, [])
        provider.serve(path, {"issuer": ISSUER, "jwks_uri": keys.url + "/keys", "scopes_supported": ["openid"]})
        self.succeeds()
        self.assertEqual(self.status(token(["news"])), 200)

    def test_the_doctor_fetches_the_keys(self):
        provider = self.enterContext(IdentityProvider(self.authority))
        settings = {
            "http.enabled": "true", "http.jwt.keys": provider.url + "/keys", "http.jwt.authority": self.authority.certificate,
            "kafka.bootstrap.servers": "127.0.0.1:1", "startup.timeout": 500,
        }
        for keys, finding in (((), "fails  tokens"), ((FIRST, {"kid": "typeless"}), "ok     tokens"), ((FIRST, {"kid": "typeless"}), "look   tokens")):
            provider.serve_keys(*keys)
            lines = command.run("doctor", settings=settings).stdout.splitlines()
            self.assertTrue(any(line.startswith(finding) and provider.url in line for line in lines), lines)

    def test_a_wrong_address_is_refused_at_the_start(self):
        for settings, text in (
            ({"http.jwt.keys": "http://127.0.0.1/keys"}, "an https:// address"),
            ({"http.jwt.keys": "https://user:password@127.0.0.1/keys"}, "without a password"),
            ({"http.jwt.keys": "https://127.0.0.1/", "http.jwt.authority": "/nowhere"}, "http.jwt.authority: cannot read /nowhere"),
            ({"http.jwt.read": "user-{sub}*"}, "http.jwt.read[0] is"), ({"http.jwt.claim": "/a~2"}, "http.jwt.claim is"),
        ):
            with self.subTest(settings):
                result = command.run("config", settings={"http.enabled": "true", **settings})
                self.assertEqual(result.returncode, 2, result.stdout)
                self.assertIn(text, result.stderr)

    # Claims

    def readable(self, text):
        return {feed for feed in FEEDS if self.status(text, feed) == 200}

    def test_rights_come_from_the_claims_that_the_configuration_names(self):
        self.provide(**{"http.jwt.claim": "https://example.org/feedstore"})
        own = token(feedstore=None, **{"https://example.org/feedstore": {"read": ["news", "user-42*"]}})
        self.assertEqual(self.readable(own), {"news", "user-42", "user-42/todo", "user-421/todo"})
        # The usual claim has no meaning then.
        self.assertEqual(self.readable(token(["*"])), set())
        status, _, problem = self.get(self.path("news"), token(**{"https://example.org/feedstore": ["*"]}))
        self.assertEqual((status, problem["detail"]), (401, "the claim https://example.org/feedstore is not valid"))

    def provide_patterns(self):
        return self.provide(**{
            "http.jwt.claim": "/resource_access/feeds", "http.jwt.read": '["user-{sub}/*", "{/org/0/name}"]',
            "http.jwt.write": "user-{sub}/todo", "http.writes.enabled": "true",
        })

    def test_patterns_with_claims_give_rights_to_ordinary_tokens(self):
        self.provide_patterns()
        for claims, expected in (
            ({"sub": "42"}, {"user-42/todo"}), ({"sub": "421"}, {"user-421/todo"}), ({"sub": "4"}, set()),
            ({"sub": "42", "org": [{"name": "news"}]}, {"user-42/todo", "news"}),
            ({"sub": "x", "resource_access": {"feeds": {"read": ["n*"]}}}, {"news", "news2"}),
            # None of these may match more than a name.
            ({"sub": None}, set()), ({"sub": ""}, set()), ({"sub": "*"}, set()), ({"sub": "42*"}, set()), ({"sub": "*\u0301"}, set()),
            ({"sub": "42/todo"}, set()), ({"sub": "4%32"}, set()), ({"sub": "{sub}"}, set()),
            ({"sub": "x", "org": [{"name": "*"}]}, set()), ({"sub": "x", "org": [{"name": 1}]}, set()),
            ({"sub": "x", "org": [{"name": ["news"]}]}, set()), ({"sub": "x", "org": []}, set()), ({"sub": "x", "org": "news"}, set()),
        ):
            with self.subTest(claims):
                self.assertEqual(self.readable(token(**claims)), expected)
        content = {"op": "item.upsert", "item": "i", "section": "top", "data": 2}
        for sub, expected in (("42", 202), ("421", 403), ("*", 403)):
            status = self.ask(self.port, self.path("user-42/todo") + "/events", token(sub=sub), content)[0]
            self.assertEqual(status, expected, sub)

    def test_a_newer_token_of_the_provider_changes_what_a_stream_may_follow(self):
        self.provide_patterns()
        response = self.open(
            self.port, "/v1/streams", token(sub="42", org=[{"name": "news"}]),
            {"feeds": [{"feed": "news"}, {"feed": "news2"}, {"feed": "user-42/todo"}]},
        )
        self.addCleanup(response.close)
        stream = Stream(response)
        id = next(iter(stream))[1]["stream"]
        seen = stream.until("up-to-date", "user-42/todo")
        self.assertIn(("forbidden", {"feed": "news2", "reason": "not-allowed"}), seen)
        newer = token(sub="42", org=[{"name": "news2"}])
        self.assertEqual(self.ask(self.port, "/v1/streams/" + id, newer, {}, "PATCH")[0], 200)
        seen = stream.until("up-to-date", "news2")
        self.assertIn(("forbidden", {"feed": "news", "reason": "not-allowed"}), seen)
        # A stream ends with its token.
        for seconds in (4, 16, 64, 256):
            ending = token(sub="42", seconds=seconds, org=[{"name": "news2"}])
            if self.ask(self.port, "/v1/streams/" + id, ending, {}, "PATCH")[0] == 200:
                break
        self.assertIn(("forbidden", {"feed": "news2", "reason": "token-expired"}), list(stream))

    # The page

    def test_the_steps_of_the_page_lead_to_the_feeds_of_a_user(self):
        section = re.search(r"^## Tokens of your identity provider$(.*?)^## ", PAGE.read_text(), re.MULTILINE | re.DOTALL).group(1)
        blocks = re.findall(r"^```([\w ]+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        self.assertEqual([kind for kind, _ in blocks], ["sh provider", "json claims", "json5", "sh provider"])
        (_, decode), (_, claims), (_, configuration), (_, ask) = blocks
        claims = json.loads(claims)
        provider = self.enterContext(IdentityProvider(self.authority))
        issuer = claims["iss"].replace("https://id.example.com", provider.url)
        path = "/realms/main/.well-known/openid-configuration"
        provider.serve(path, {"issuer": issuer, "jwks_uri": provider.url + "/keys"})
        provider.serve_keys(FIRST)
        text = token(**{**claims, "iss": issuer, "feedstore": None})

        def run(commands, **more):
            result = subprocess.run(["bash", "-c", commands], capture_output=True, text=True, timeout=command.TIMEOUT, check=True, **more)
            return [json.loads(line) for line in result.stdout.splitlines()]

        self.assertEqual(run(decode, input=text + "\n"), [{**claims, "iss": issuer}])
        file = self.folder / "page.json5"
        file.write_text(configuration.replace("https://id.example.com", provider.url))
        self.daemon, self.port, self.servers = self.start(
            provider.url + path, "--config", file, **{"http.jwt.authority": self.authority.certificate}
        )
        for feed in ("user-5f7c8ec7/a", "user-5f7c8ec7x", "site/berlin", "site/bern"):
            self.publish(feed, "first")
            while self.status(OPERATOR, feed) != 200:
                pass
        self.daemon.wait_for("event=http.keys-fetched")
        written, listed = run(ask.replace(":8321/", f":{self.port}/"), env=command.environment(TOKEN=text))
        self.assertEqual(written.get("feed"), "user-5f7c8ec7/todo", written)
        # The written feed may be there already.
        feeds = [feed["feed"] for feed in listed["feeds"] if feed["feed"] != "user-5f7c8ec7/todo"]
        self.assertEqual(feeds, ["news", "site/berlin", "user-5f7c8ec7/a"])


if __name__ == "__main__":
    unittest.main()
