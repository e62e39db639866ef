"""Access by JSON Web Tokens, made by PyJWT, and from pages of other origins."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import re
import secrets
import tempfile
import time
import unittest
import urllib.parse

import command
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

FEEDS = ["news", "news2", "user-42", "user-42/todo", "user-421/todo", "äß/ö"]
ISSUER, AUDIENCE = "https://issuer.example", "feeds"
SHOWN, HIDDEN = "http://localhost:5173", "http://localhost:5174"


def encoded(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def number(value, size):
    return encoded(value.to_bytes(size, "big"))


def web_key(key, kid):
    """The public JSON Web Key of a private key or secret."""
    if isinstance(key, bytes):
        return {"kty": "oct", "kid": kid, "k": encoded(key)}
    public = key.public_key()
    if isinstance(key, ed25519.Ed25519PrivateKey):
        raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        return {"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": encoded(raw)}
    numbers = public.public_numbers()
    if isinstance(key, rsa.RSAPrivateKey):
        return {"kty": "RSA", "kid": kid, "n": number(numbers.n, 256), "e": number(numbers.e, 3), "use": "sig", "alg": "RS256"}
    return {"kty": "EC", "crv": "P-256", "kid": kid, "x": number(numbers.x, 32), "y": number(numbers.y, 32)}


RSA = rsa.generate_private_key(65537, 2048)
KEYS = {
    "RS256": RSA, "ES256": ec.generate_private_key(ec.SECP256R1()), "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    "HS256": secrets.token_bytes(32),
}
OTHERS = {
    "RS256": rsa.generate_private_key(65537, 2048), "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(), "HS256": secrets.token_bytes(32),
}


def write_keys(path, keys):
    """As operators should: the file is replaced at once."""
    new = path.with_suffix(".new")
    new.touch(mode=0o600)
    new.write_text(json.dumps({"keys": keys}))
    new.rename(path)


def token(read=(), algorithm="ES256", key=None, headers=None, seconds=3600, **claims):
    """A token; claims and fields of the header that are None are left out."""
    claims = {
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": time.time() + seconds, "feedstore": {"read": list(read)}, **claims,
    }
    claims = {name: value for name, value in claims.items() if value is not None}
    headers = {"kid": algorithm, **(headers or {})}
    headers = {name: value for name, value in headers.items() if value is not None}
    return jwt.encode(claims, key or KEYS[algorithm], algorithm, headers=headers)


def by_hand(header, secret, claims):
    """A token that PyJWT refuses to make, from objects or bytes."""
    parts = (part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, claims))
    text = ".".join(map(encoded, parts))
    return text + "." + encoded(hmac.digest(secret, text.encode(), hashlib.sha256))


class Stream:
    """The messages of a response, without plans: pairs of an event and its data."""

    def __init__(self, response):
        self.response = response

    def __iter__(self):
        event = "message"
        for line in self.response:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                event = line.removeprefix("event: ")
            elif line.startswith("data: "):
                if event != "plan":
                    yield event, json.loads(line.removeprefix("data: "))
                event = "message"

    def until(self, event, feed):
        """The messages through one of a feed."""
        seen = []
        for name, data in self:
            seen.append((name, data))
            if name == event and data.get("feed") == feed:
                return seen
        raise AssertionError(f"the stream ended without {event} of {feed}: {seen}")


class ServedFeeds(unittest.TestCase):
    """Daemons with feeds, and requests to them."""

    @classmethod
    def start(cls, keys, *words, **settings):
        """A daemon with the feeds, its port and its broker's address."""
        settings = {
            "http.enabled": "true", "http.port": 0, "http.writes.enabled": "true", "coalesce.window": 0, "http.jwt.keys": keys,
            "http.allowedOrigins": SHOWN, "http.token": "the-token-of-the-operator", "http.jwt.leeway": 0, **settings,
        }
        daemon = cls.enterClassContext(command.Running("run", "--embedded", *words, settings=settings, limit=1200))
        port = int(daemon.wait_for("url=http://127.0.0.1:").split("url=http://127.0.0.1:")[1].split()[0])
        servers = next((line for line in daemon.lines if line.startswith("127.0.0.1:")), None) or daemon.wait_for("127.0.0.1:")
        for feed in FEEDS:
            cls.publish_to(servers.strip(), feed, "first")
        for feed in FEEDS:
            # The daemon's own follower may be slightly behind.
            while cls.ask(port, cls.path(feed), "the-token-of-the-operator")[0] != 200:
                pass
        return daemon, port, servers.strip()

    def publish(self, feed, item):
        self.publish_to(self.servers, feed, item)

    @staticmethod
    def publish_to(servers, feed, item):
        record = {"key": feed, "value": {"op": "item.upsert", "item": item, "section": "top", "data": 1}}
        settings = {"kafka.bootstrap.servers": servers}
        result = command.run("publish", "-", settings=settings, input=json.dumps(record) + "\n")
        assert result.returncode == 0, result.stderr

    @staticmethod
    def path(feed):
        return "/v1/feeds/" + urllib.parse.quote(feed, safe="")

    @classmethod
    def open(cls, port, target, token=None, content=None, method=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=command.TIMEOUT)
        # So that the response has the only reference to the socket.
        headers["Connection"] = "close"
        if token:
            headers["Authorization"] = "Bearer " + token
        body = None if content is None else json.dumps(content)
        connection.request(method or ("GET" if content is None else "POST"), target, body, headers)
        return connection.getresponse()

    @classmethod
    def ask(cls, *arguments, **headers):
        """Status, headers and JSON of a response."""
        with cls.open(*arguments, **headers) as response:
            text = response.read()
            is_json = "json" in (response.headers["Content-Type"] or "")
            return response.status, response.headers, json.loads(text) if is_json else text

    def get(self, target, *arguments, **headers):
        return self.ask(self.port, target, *arguments, **headers)


class TokenTests(ServedFeeds):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.keys = cls.folder / "keys.json"
        write_keys(cls.keys, [web_key(key, name) for name, key in KEYS.items()])
        _, cls.port, cls.servers = cls.start(cls.keys, **{"http.jwt.issuer": ISSUER, "http.jwt.audience": AUDIENCE})

    # Tokens

    def test_tokens_of_all_algorithms_are_accepted(self):
        for algorithm in KEYS:
            with self.subTest(algorithm):
                self.assertEqual(self.get(self.path("news"), token(["news"], algorithm))[0], 200)
                self.assertEqual(self.get(self.path("news"), token(["news"], algorithm, headers={"kid": None}))[0], 200)
                self.assertEqual(self.get(self.path("news"), token(["news"], algorithm, aud=["others", AUDIENCE]))[0], 200)
        # Among so many signatures, some have numbers that begin with zeros.
        for _ in range(300):
            self.assertEqual(self.get(self.path("news"), token(["news"]))[0], 200)

    def test_other_tokens_are_refused_with_the_reason(self):
        claims = {"iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 3600, "feedstore": {"read": ["*"]}}
        pem = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        modulus = base64.urlsafe_b64decode(web_key(RSA, "")["n"] + "==")
        own = {"kid": None, "jwk": web_key(OTHERS["ES256"], "own")}

        def raw(text, header=b'{"alg":"HS256","kid":"HS256"}'):
            """A token with claims as they are after those that are needed."""
            rest = json.dumps({**claims, "feedstore": {"read": ["news"]}}).encode()
            return by_hand(header, KEYS["HS256"], rest[:-1] + text)

        good = token(["*"])
        signature = "the signature is not valid"
        unsupported = "the algorithm must be one of RS256, ES256, EdDSA, HS256"
        refused = {
            "a word": ("secret-secret-secret", "it is not a signed JSON Web Token"),
            "two parts": (good.rsplit(".", 1)[0], "it is not a signed JSON Web Token"),
            "encrypted": (".".join("ey" * 3 for _ in range(5)), "it is not a signed JSON Web Token"),
            "deep JSON": (encoded(b"[" * 6000) + ".e30.AA", "it is not a signed JSON Web Token"),
            "no signature": (good.rsplit(".", 1)[0] + ".", signature),
            "changed claims": (".".join([good.split(".")[0], token(["news"]).split(".")[1], good.split(".")[2]]), signature),
            "none": (by_hand({"alg": "none"}, b"", claims), unsupported),
            "none in capitals": (by_hand({"alg": "NONE"}, b"", claims), unsupported),
            "PS256": (token(["*"], "PS256", RSA), unsupported),
            "the public key as a secret": (by_hand({"alg": "HS256", "kid": "RS256"}, pem, claims), signature),
            "and without a name": (by_hand({"alg": "HS256"}, pem, claims), signature),
            "the modulus as a secret": (by_hand({"alg": "HS256", "kid": "RS256"}, modulus, claims), signature),
            "the empty secret": (by_hand({"alg": "HS256", "kid": "HS256"}, b"", claims), signature),
            "an unknown key": (token(["*"], headers={"kid": "another"}), signature),
            "a key in the header": (token(["*"], key=OTHERS["ES256"], headers=own), signature),
            "a critical extension": (token(["*"], headers={"crit": ["exp"]}), "crit is not supported"),
            "expired": (token(["*"], seconds=-1), "the token has expired"),
            "no end": (token(["*"], exp=None), "the claim exp is missing"),
            "an end that is no number": (token(["*"], exp="soon"), "the claim exp is not valid"),
            "not yet": (token(["*"], nbf=time.time() + 1000), "the token is not valid yet"),
            "another issuer": (token(["*"], iss=ISSUER + "/"), "the issuer is another one"),
            "no issuer": (token(["*"], iss=None), "the issuer is another one"),
            "another audience": (token(["*"], aud=["feeds2", "Feeds"]), "the token is for another audience"),
            "no audience": (token(["*"], aud=None), "the token is for another audience"),
            "a list of claims": (by_hand({"alg": "HS256", "kid": "HS256"}, KEYS["HS256"], [1]), "the claims are not an object"),
            "rights that are no object": (token(feedstore="*"), "the claim feedstore is not valid"),
            "patterns that are no list": (token(feedstore={"read": "*"}), "the claim feedstore.read is not valid"),
            "a pattern that is no text": (token(feedstore={"write": ["a", 1]}), "the claim feedstore.write[1] is not valid"),
            "10 kB": (token(["x" * 10_000]), "the token has more than 8192 bytes"),
            "rights twice": (raw(b',"feedstore":{"read":["*"]}}'), "the claims have a name twice"),
            "an end twice, once with an escape": (raw(b',"\\u0065xp":1}'), "the claims have a name twice"),
            "a name twice where it does not matter": (raw(b',"x":[{"a":1,"a":1}]}'), "the claims have a name twice"),
            "the algorithm twice": (raw(b"}", b'{"alg":"HS256","alg":"none"}'), "the header has a name twice"),
            "no UTF-8": (raw(b',"x":"\xff"}'), "the claims are not an object"),
            "a byte order mark": (by_hand({"alg": "HS256"}, KEYS["HS256"], b"\xef\xbb\xbf" + json.dumps(claims).encode()), "the claims are not an object"),
            "UTF-16": (by_hand({"alg": "HS256"}, KEYS["HS256"], json.dumps(claims).encode("utf-16-le")), "the claims are not an object"),
            "padding": (good + "=", "it is not a signed JSON Web Token"),
        }
        for algorithm, key in OTHERS.items():
            refused[f"another key for {algorithm}"] = (token(["*"], algorithm, key), signature)
        for name, (text, reason) in refused.items():
            with self.subTest(name):
                status, headers, problem = self.get(self.path("news"), text)
                self.assertEqual((status, problem.get("code"), problem.get("detail")), (401, "invalid-token", reason))
                self.assertEqual(headers["WWW-Authenticate"], f'Bearer error="invalid_token", error_description="{reason}"')
                self.assertEqual(self.get("/v1/nowhere", text)[0], 401)
        self.assertEqual(self.get(self.path("news"), token(["x" * 20_000]))[0], 431)
        status, headers, problem = self.get(self.path("news"))
        self.assertEqual((status, problem["code"], headers["WWW-Authenticate"]), (401, "token-needed", "Bearer"))

    def test_clocks_may_differ_by_the_leeway(self):
        _, port, _ = self.start(self.keys, **{"http.jwt.leeway": "5m"})
        for claims in ({"nbf": time.time() + 200}, {"seconds": -100}, {"nbf": time.time() + 100, "seconds": 150}):
            with self.subTest(claims):
                text = token(["news"], **claims)
                self.assertEqual(self.ask(port, self.path("news"), text)[0], 200)
                # A stream does not end at once.
                with self.open(port, "/v1/streams", text, {"feeds": [{"feed": "news"}]}) as response:
                    Stream(response).until("up-to-date", "news")
        for claims, reason in (({"nbf": time.time() + 1000}, "the token is not valid yet"), ({"seconds": -1000}, "the token has expired")):
            status, _, problem = self.ask(port, self.path("news"), token(["news"], **claims))
            self.assertEqual((status, problem["detail"]), (401, reason))

    # Rights

    def readable(self, text):
        """The feeds that a token can read, which all routes must agree on."""
        found = {feed for feed in FEEDS if self.get(self.path(feed), text)[0] == 200}
        for search in (None, "", "e", "USER-42", "421", "ß/"):
            query = "" if search is None else "?search=" + urllib.parse.quote(search)
            page = self.get("/v1/feeds" + query, text)[2]
            matching = {feed for feed in found if (search or "").lower() in feed.lower()}
            self.assertEqual({feed["feed"] for feed in page["feeds"]}, matching, search)
            self.assertEqual(page["count"], len(matching))
        with self.open(self.port, "/v1/streams", text, {"feeds": [{"feed": feed} for feed in FEEDS]}) as response:
            first, follows, refused = None, set(), set()
            for event, data in Stream(response):
                first = first or event
                follows |= {data["feed"]} if event == "up-to-date" else set()
                refused |= {data["feed"]} if event == "forbidden" else set()
                if event == "forbidden":
                    self.assertEqual(data["reason"], "not-allowed")
                if len(follows | refused) == len(FEEDS):
                    break
        self.assertEqual(first, "stream")
        self.assertEqual((follows, follows & refused), (found, set()))
        return found

    def test_feeds_are_read_that_a_pattern_matches(self):
        for patterns, expected in {
            (): set(),
            ("*",): set(FEEDS),
            ("news",): {"news"},
            ("News", "new", "news*s", " news", "news/", "ne?s", "[n]ews", "n.*s"): set(),
            ("user-42/*",): {"user-42/todo"},
            ("user-42*",): {"user-42", "user-42/todo", "user-421/todo"},
            ("*/todo", "news2"): {"user-42/todo", "user-421/todo", "news2"},
            ("user-42%2Ftodo", "%C3%A4*"): set(),
            ("äß/*",): {"äß/ö"},
            ("n*" * 500 + "x", "*n*e*w*s*" + "*" * 1000): {"news", "news2"},
        }.items():
            with self.subTest(patterns):
                self.assertEqual(self.readable(token(patterns)), expected)
        self.assertEqual(self.readable("the-token-of-the-operator"), set(FEEDS))
        self.assertEqual(self.readable(token(feedstore=None)), set())
        self.assertEqual(self.readable(token(feedstore={"write": ["*"]})), set())

    def test_a_feed_that_may_not_be_read_cannot_be_told_from_none(self):
        text = token(["news"])

        def answer(target, **headers):
            status, headers, problem = self.get(target, text, **headers)
            headers = {name: value for name, value in headers.items() if name != "Date"}
            return status, headers, problem

        for suffix in ("", "/changes", "?partition=0", "?partition=x", "/changes?first=x", "/changes?lastEventId=a@1"):
            for feed in ("user-42/todo", "user-42%2ftodo", "%75ser-42%2Ftodo"):
                with self.subTest(suffix, feed=feed):
                    there = answer("/v1/feeds/" + feed.replace("/", "%2F") + suffix)
                    self.assertEqual((there[0], there[2]["code"]), (403, "forbidden"))
                    self.assertEqual(there, answer("/v1/feeds/no-such-feed" + suffix))
        # Routes about all feeds require the right to read all.
        for target in ("/metrics", "/v1/status", "/v1/rejected", "/v1/rejected?limit=x"):
            with self.subTest(target):
                self.assertEqual(answer(target)[0], 403)
                self.assertNotEqual(self.get(target, token(["*"]))[0], 403)
        status, _, problem = self.get("/v1/feeds/news/nowhere", text)
        self.assertEqual((status, problem["code"]), (404, "not-found"))

    def test_conditions_need_the_right_to_read(self):
        path, wait = self.path("news2") + "/events", {"Prefer": "wait=30"}
        event = {"op": "item.patch", "item": "first", "data": 2}
        conditional = {**event, "if": {"item": "first", "data": {"": 7}}}
        both = token(feedstore={"read": ["news2"], "write": ["news2"]})
        blind = token(feedstore={"read": ["news"], "write": ["news2"]})
        status, _, problem = self.get(path, both, conditional, **wait)
        self.assertEqual((status, problem["code"]), (412, "condition-failed"))
        self.assertIn("found the number 1", problem["detail"])
        for content, headers in ((conditional, {}), (event, {"If-Match": '"a@1"'})):
            status, _, problem = self.get(path, blind, content, **headers)
            self.assertEqual((status, problem["code"]), (403, "forbidden"))
        # The outcome of another's record.
        status, _, written = self.get(path, both, conditional)
        self.assertEqual(status, 202)
        place = f"{path}?partition={written['partition']}&offset={written['offset']}"
        for text, is_said in ((both, True), (blind, False)):
            status, _, problem = self.get(place, text, **wait)
            self.assertEqual((status, "number" in problem["detail"]), (412, is_said))

    def test_contents_need_a_right_of_their_own(self):
        _, port, _ = self.start(self.keys, **{"topics.contents": "contents", "http.jwt.contents": "user-{sub}"})
        rights = {"read": ["*"], "write": ["*"], "contents": ["post-*", "äß/*"]}
        own = token(feedstore=rights)
        for id, text, expected in (
            ("post-1", own, 202), ("äß/ö", own, 202), ("user-ada", own, 202), ("user-bob", own, 403), ("posts", own, 403),
            ("news", token(feedstore={"read": ["*"], "write": ["*"]}), 403), ("user-bob", token(feedstore=None, sub="bob"), 202),
            ("post-1", "the-token-of-the-operator", 202), ("post-1", None, 401),
        ):
            for content, method in (({"name": "Ada"}, "POST"), (None, "DELETE")):
                with self.subTest(id, method=method):
                    path = "/v1/contents/" + urllib.parse.quote(id, safe="")
                    status, _, answer = self.ask(port, path, text, content, method)
                    self.assertEqual(status, expected, answer)
                    if status == 202:
                        self.assertEqual(answer["content"], id)
        # Feeds show it, also such that the token may not write.
        operator = "the-token-of-the-operator"
        event = {"op": "item.upsert", "item": "refers", "section": "top", "data": {}, "refs": {"author": "user-ada"}}
        self.assertEqual(self.ask(port, self.path("news") + "/events", operator, event)[0], 202)
        self.assertEqual(self.ask(port, "/v1/contents/user-ada", token(feedstore=None), {"name": "Grace"})[0], 202)
        while '"author":{"name":"Grace"}' not in json.dumps(self.ask(port, self.path("news"), operator)[2], separators=(",", ":")):
            pass
        # It gives no right to feeds.
        path = self.path("post-1") + "/events"
        status = self.ask(port, path, token(feedstore={"contents": ["*"]}), {"op": "item.delete", "item": "a"})[0]
        self.assertEqual(status, 403)

    # Streams

    def stream(self, text, *feeds, **members):
        """A stream of feeds, and its id."""
        response = self.open(self.port, "/v1/streams", text, {"feeds": [{"feed": feed, **members} for feed in feeds]})
        self.addCleanup(response.close)
        self.assertEqual(response.status, 200)
        stream = Stream(response)
        event, data = next(iter(stream))
        self.assertEqual(event, "stream")
        return stream, data["stream"]

    def patch(self, text, id, **content):
        return self.ask(self.port, "/v1/streams/" + id, text, content, "PATCH")

    def test_a_newer_token_changes_what_a_stream_may_follow(self):
        stream, id = self.stream(token(["news", "news2"]), "news", "news2", "user-42")
        seen = stream.until("up-to-date", "news2")
        self.assertIn(("forbidden", {"feed": "user-42", "reason": "not-allowed"}), seen)
        self.assertEqual(self.patch(token(["news", "user-42"]), id, add=[{"feed": "user-42/todo"}])[0], 200)
        seen = stream.until("up-to-date", "user-42")
        for feed in ("news2", "user-42/todo"):
            self.assertIn(("forbidden", {"feed": feed, "reason": "not-allowed"}), seen)
        for feed in ("news2", "news"):
            self.publish(feed, "second")
        seen = stream.until("message", "news")
        self.assertEqual([data["feed"] for event, data in seen], ["news"], seen)
        # Only the person who opened it.
        for other in (token(["*"], sub="bob"), token(["*"], sub=None), "the-token-of-the-operator"):
            status, _, problem = self.patch(other, id)
            unknown = self.patch(other, "0" * 32)
            self.assertEqual((status, problem["code"], unknown[0]), (404, "unknown-stream", 404))
            self.assertEqual(problem["detail"].replace(id, "0" * 32), unknown[2]["detail"])
        self.assertEqual(self.patch(token(["*"]), id, remove=["user-42/todo"])[2]["removed"], ["user-42/todo"])
        stream.until("up-to-date", "news2")

    def test_a_stream_ends_with_its_token_unless_a_newer_one_came(self):
        # So long that the stream is renewed before, even on a slow machine.
        for seconds in (4, 16, 64, 256):
            text = token(["news"], seconds=seconds)
            response = self.open(self.port, "/v1/streams", text, {"feeds": [{"feed": "news"}]})
            single = self.open(self.port, self.path("news") + "/changes", text)
            for opened in (response, single):
                self.addCleanup(opened.close)
            if 401 in (response.status, single.status):
                continue
            renewed = Stream(response)
            id = next(iter(renewed))[1]["stream"]
            if self.patch(token(["news"]), id)[0] == 200:
                break
        renewed.until("up-to-date", "news")
        ending, id = self.stream(token(["*"]), "news", "news2")
        version = ending.until("up-to-date", "news")[-1][1]
        while self.patch(token(["*"], seconds=seconds), id)[0] != 200:
            pass
        reasons = [data for event, data in ending if event == "forbidden"]
        self.assertCountEqual(reasons, [{"feed": feed, "reason": "token-expired"} for feed in ("news", "news2")])
        self.assertEqual(list(Stream(single))[-1:], [("forbidden", {"feed": "news", "reason": "token-expired"})])
        item = f"after-{seconds}"
        self.publish("news", item)
        self.assertIn(item, json.dumps(renewed.until("message", "news")))
        # Who comes back loses nothing.
        again, _ = self.stream(token(["news"]), "news", epoch=version["epoch"], revision=version["revision"])
        event, data = next(iter(again))
        self.assertEqual((event, data["base"], item in json.dumps(data)), ("message", version["revision"], True))

    def test_a_request_that_waits_for_changes_ends_with_its_token(self):
        status, headers, _ = self.ask(self.port, self.path("news") + "/changes?after=", token(["news"]))
        self.assertEqual((status, headers["Cache-Control"]), (200, "no-store"))
        address = re.search(r"<\?(.*)>", headers["Link"]).group(1)
        # It may also end before, with the 30 s of all requests.
        while status == 200:
            with self.open(self.port, f"{self.path('news')}/changes?{address}", token(["news"], seconds=4)) as response:
                status, headers, text = response.status, response.headers, response.read()
        problem = json.loads(text)
        self.assertEqual((status, problem["code"], problem["detail"]), (401, "invalid-token", "the token has expired"))
        self.assertIn("the token has expired", headers["WWW-Authenticate"])

    def test_a_new_token_of_the_server_ends_only_the_streams_of_the_former(self):
        file = self.folder / "token"
        file.touch(mode=0o600)
        file.write_text("the-token-of-the-operator")
        daemon, self.port, self.servers = self.start(self.keys, **{"http.token": "", "http.tokenFile": file})
        former, _ = self.stream("the-token-of-the-operator", "news")
        other, _ = self.stream(token(["news"], iss="anyone"), "news")
        former.until("up-to-date", "news")
        other.until("up-to-date", "news")
        file.write_text("another-token-of-the-operator")
        daemon.reload()
        daemon.wait_for("event=config.reloaded")
        self.assertEqual(list(former), [])
        self.publish("news", "after the reload")
        self.assertIn("after the reload", json.dumps(other.until("message", "news")))

    # Keys

    def test_keys_are_replaced_while_the_daemon_runs(self):
        keys = self.folder / "rotated.json"
        first, second = web_key(KEYS["ES256"], "ES256"), web_key(OTHERS["ES256"], "second")
        write_keys(keys, [first])
        daemon, self.port, self.servers = self.start(keys)
        newer = token(["*"], key=OTHERS["ES256"], headers={"kid": "second"})

        def accepted():
            return [self.get(self.path("news"), text)[0] == 200 for text in (token(["*"]), newer)]

        def check_reload(event, text):
            daemon.reload()
            self.assertIn(text, daemon.wait_for("event=config." + event))

        self.assertEqual(accepted(), [True, False])
        # Half of a file.
        whole = json.dumps({"keys": [first, second]})
        keys.write_text(whole[: len(whole) // 2])
        check_reload("reload-failed", "is not a set of keys")
        self.assertEqual(accepted(), [True, False])
        keys.write_text(whole)
        check_reload("reloaded", "http.jwt.keys")
        self.assertEqual(accepted(), [True, True])
        many = [web_key(ec.generate_private_key(ec.SECP256R1()), f"key-{count}") for count in range(2000)]
        write_keys(keys, many + [second])
        check_reload("reloaded", "http.jwt.keys")
        self.assertEqual(accepted(), [False, True])
        problem = self.get(self.path("news"), token(["*"], headers={"kid": None}))[2]
        self.assertEqual(problem["detail"], "the token must name its key (kid)")
        for wrong, text in (
            (many * 3, "has 6000 keys"),
            ([{"kty": "EC", "crv": "P-521", "x": "AA", "y": "AA"}], "has no key for"),
            ([first, {**second, "d": "AAAA"}], "keys[1] is a private key"),
            ([{**first, "x": "A"}], "keys[0] (kid \\\"ES256\\\"): a member is missing"),
            ([{**web_key(RSA, ""), "n": encoded(b"\xff" * 128)}], "keys[0] (kid "),
            ([web_key(b"short", "")], "keys[0] (kid "),
            ([{"kid": 1}], "(keys[0]"),
            ({}, "see keys"),
        ):
            with self.subTest(text):
                write_keys(keys, wrong)
                check_reload("reload-failed", text)
                self.assertEqual(accepted(), [False, True])
                # Which is not silent.
                self.assertIn(b"\nfeedstore_configuration_reload_failed 1\n", self.get("/metrics", newer)[2])
                self.assertIn(str(keys), self.get("/v1/status", newer)[2]["reloadFailure"])
        # The others of the file work, and those that do not are named.
        odd = [{}, {"kty": "RSA", "kid": "x5c", "x5c": ["MIIB"]}, {**first, "kid": 7}, 7, web_key(b"short", "short")]
        write_keys(keys, [*odd, first])
        daemon.reload()
        left_out = daemon.wait_for("event=http.keys-left-out")
        daemon.wait_for("event=config.reloaded")
        for place in ("keys[0]", "keys[1] (kid ", "keys[2]", "keys[3]", "keys[4] (kid "):
            self.assertIn(place, left_out)
        self.assertEqual(accepted(), [True, False])
        self.assertIn(b"\nfeedstore_configuration_reload_failed 0\n", self.get("/metrics", token(["*"]))[2])
        self.assertNotIn("reloadFailure", self.get("/v1/status", token(["*"]))[2])
        settings = {"http.enabled": "true", "http.jwt.keys": keys}
        self.assertIn("keys[1] (kid ", command.run("config", settings=settings).stderr)
        write_keys(keys, [second])
        check_reload("reloaded", "http.jwt.keys")
        write_keys(keys, [web_key(KEYS["HS256"], "HS256")])
        os.chmod(keys, 0o644)
        check_reload("reload-failed", "holds a secret, and others have access to it")
        os.chmod(keys, 0o600)
        check_reload("reloaded", "http.jwt.keys")
        self.assertEqual(self.get(self.path("news"), token(["*"], "HS256"))[0], 200)
        # Keys for other purposes are not used.
        write_keys(keys, [{**first, "use": "enc"}, {**web_key(RSA, "RS256"), "alg": "RS512"}, second])
        check_reload("reloaded", "http.jwt.keys")
        self.assertEqual(accepted(), [False, True])
        self.assertEqual(self.get(self.path("news"), token(["*"], "RS256"))[0], 401)

    def test_a_start_fails_with_a_private_key(self):
        keys = self.folder / "private.json"
        write_keys(keys, [{**web_key(RSA, "a"), "d": "AAAA"}])
        settings = {"http.enabled": "true", "http.port": 0, "http.jwt.keys": keys}
        result = command.run("run", "--embedded", settings=settings)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(f"http.jwt.keys: {keys}: keys[0] is a private key", result.stderr)

    # Pages of other origins

    def test_pages_of_listed_origins_may_read_responses(self):
        text = token(["news"])
        for target, token_sent, status in (
            (self.path("news"), text, 200), (self.path("news2"), text, 403), ("/nowhere", text, 404), ("/v1/feeds", None, 401),
            (self.path("news") + "/changes", text, 200),
        ):
            for origin in (SHOWN, HIDDEN, "null", SHOWN.upper(), SHOWN + ".example"):
                with self.subTest(target, origin=origin), self.open(self.port, target, token_sent, Origin=origin) as response:
                    self.assertEqual(response.status, status)
                    headers = response.headers
                    self.assertEqual(headers["Access-Control-Allow-Origin"], SHOWN if origin == SHOWN else None)
                    self.assertIn("Origin", headers["Vary"])
                    self.assertNotIn("Access-Control-Allow-Credentials", headers)
                    if origin == SHOWN:
                        self.assertIn("Feedstore-Partition", headers["Access-Control-Expose-Headers"])
        asked = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "authorization"}
        status, headers, _ = self.ask(self.port, "/v1/streams/x", None, None, "OPTIONS", Origin=SHOWN, **asked)
        self.assertEqual((status, headers["Access-Control-Allow-Methods"]), (204, "PATCH"))
        self.assertEqual(headers["Access-Control-Allow-Origin"], SHOWN)
        self.assertIn("Authorization", headers["Access-Control-Allow-Headers"])
        self.assertEqual(self.ask(self.port, "/v1/streams/x", None, None, "OPTIONS", Origin=HIDDEN, **asked)[0], 401)
        self.assertEqual(self.ask(self.port, "/v1/streams/x", None, None, "OPTIONS", Origin=SHOWN)[0], 401)


if __name__ == "__main__":
    unittest.main()
