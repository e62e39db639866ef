"""TLS, and SASL with PLAIN, SCRAM (RFC 5802, RFC 7677) and OAUTHBEARER (RFC 7628), as in Kafka's listeners."""

import asyncio
import asyncio.sslproto
import base64
import hashlib
import hmac
import json
import os
import ssl
import time

import errors

_SCRAM_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MECHANISMS = ("PLAIN", *_SCRAM_HASHES, "OAUTHBEARER")
_ITERATIONS = 4096


class Refusal(Exception):
    """Authentication failed; the text is sent to the client, and reveals no more than Kafka's."""


class Security:
    """The requirements of all listeners. Users may change at any time, which affects new connections."""

    def __init__(self, tls=None, mechanisms=(), users=None):
        self.tls = tls
        self.mechanisms = mechanisms
        self.users = dict(users or {})

    def session(self):
        return Session(self)


class _TellingProtocol(asyncio.sslproto.SSLProtocol):
    """Sends the TLS alert with the reason of a failed handshake, as Kafka's brokers do and asyncio does not."""

    def _on_handshake_complete(self, error):
        if error is not None:
            self._process_outgoing()
        super()._on_handshake_complete(error)


asyncio.sslproto.SSLProtocol = _TellingProtocol


def tls_context(certificate, key, client_authority=None):
    """For listeners; with an authority, clients must present a certificate of it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if client_authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_authority)
    return context


class Session:
    """The SASL state of one connection."""

    def __init__(self, security):
        self._security = security
        self._exchange = None
        self.is_open = not security.mechanisms
        # Whether the connection is closed after the response, as after a failed attempt.
        self.is_refused = False

    def begin(self, mechanism):
        """Returns the error code for the mechanism, and the supported mechanisms."""
        known = self._security.mechanisms
        if self.is_open:
            return errors.ILLEGAL_SASL_STATE, known
        if mechanism not in known:
            self.is_refused = True
            return errors.UNSUPPORTED_SASL_MECHANISM, known
        users = self._security.users
        exchanges = {"PLAIN": _plain, "OAUTHBEARER": _bearer}
        self._exchange = exchanges[mechanism](users) if mechanism in exchanges else _scram(users, mechanism)
        next(self._exchange)
        return errors.NONE, known

    def proceed(self, message):
        """Processes a client's token; returns the response. Raises a refusal."""
        if self._exchange is None:
            self.is_refused = True
            raise Refusal("SaslAuthenticate came before SaslHandshake")
        try:
            answer, is_done = self._exchange.send(message)
        except (Refusal, ValueError, KeyError) as error:
            self.is_refused = True
            raise Refusal(str(error) if isinstance(error, Refusal) else "Invalid SASL message") from error
        self.is_open = is_done
        return answer


def _plain(users):
    message = yield
    _, user, password = message.decode().split("\0")
    if not hmac.compare_digest(users.get(user, "").encode(), password.encode()) or user not in users:
        raise Refusal("Authentication failed: Invalid username or password")
    yield b"", True


def _scram(users, mechanism):
    name = _SCRAM_HASHES[mechanism]
    refusal = f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"

    def mac(key, text):
        return hmac.digest(key, text, name)

    first = (yield).decode()
    bare = first.removeprefix("n,,")
    fields = _fields(bare)
    user = fields["n"].replace("=2C", ",").replace("=3D", "=")
    if user not in users:
        raise Refusal(refusal)
    nonce = fields["r"] + base64.b64encode(os.urandom(18)).decode()
    salt = os.urandom(16)
    server_first = f"r={nonce},s={base64.b64encode(salt).decode()},i={_ITERATIONS}"

    final = (yield server_first.encode(), False).decode()
    fields = _fields(final)
    without_proof = final[: final.rindex(",p=")]
    salted = hashlib.pbkdf2_hmac(name, users[user].encode(), salt, _ITERATIONS)
    signed = ",".join((bare, server_first, without_proof)).encode()
    stored = hashlib.new(name, mac(salted, b"Client Key")).digest()
    signature = mac(stored, signed)
    proof = base64.b64decode(fields["p"])
    key = bytes(left ^ right for left, right in zip(proof, signature))
    # Kafka also accepts a longer prefix: librdkafka 2.0.2 repeats its own part.
    if not fields["r"].endswith(nonce) or not hmac.compare_digest(hashlib.new(name, key).digest(), stored):
        raise Refusal(refusal)
    yield b"v=" + base64.b64encode(mac(mac(salted, b"Server Key"), signed)), True


def token(user, password, end):
    """A JSON Web Token of a user, signed with the password (HS256), that ends at a time in seconds since 1970."""
    def encoded(raw):
        return base64.urlsafe_b64encode(raw).rstrip(b"=")

    parts = b".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "HS256"}, {"sub": user, "exp": end}))
    return (parts + b"." + encoded(hmac.digest(password.encode(), parts, "sha256"))).decode()


def _bearer(users):
    message = (yield).decode()
    given = message.split("\x01auth=Bearer ", 1)[-1].split("\x01", 1)[0]
    try:
        payload = given.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        user, end = claims["sub"], claims["exp"]
        is_valid = user in users and end > time.time() and hmac.compare_digest(given, token(user, users[user], end))
    except (ValueError, KeyError, IndexError, TypeError):
        is_valid = False
    if is_valid:
        yield b"", True
    answer = json.dumps({"status": "invalid_token"})
    yield answer.encode(), False
    raise Refusal(answer)


def _fields(message):
    return dict(part.split("=", 1) for part in message.split(","))
