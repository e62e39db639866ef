"""The vectors of streams: a store's machine with virtual time, and what it asks for, shows and says."""

import json
import logging
import unittest

from support import CONFORMANCE, plain, vectors

from feedstore.effects import Abort, Answer, AskToken, Request, Show
from feedstore.event_stream import StreamEvent
from feedstore.machine import Machine
from feedstore.model import Item, Update, Window
from feedstore.writes import PendingWrite, events_of


class Program:
    """What uses a machine, in the words of the vectors."""

    def __init__(self, vector):
        self.machine = Machine(vector["urls"], vector.get("hasToken", False), lambda: 0)
        self.followed, self.listeners, self.writes, self.said, self.contents = {}, {}, {}, {}, {}
        #: By the vector's numbers.
        self.requests = {}

    def step(self, step):
        self.wanted = list(step["then"].get("requests", []))
        self.sent, self.then = [], {"tokenAsks": 0, "updates": {}}
        self.machine.advance(step["at"] / 1000)
        for one in step["do"]:
            self.do(one)
        self.machine.finish()
        self.perform()
        return self.noted(step["then"])

    def perform(self):
        while self.machine.effects:
            effect = self.machine.effects.popleft()
            if isinstance(effect, Show):
                effect.listener(effect.update)
            elif isinstance(effect, Request):
                self.sent.append(effect)
            elif isinstance(effect, Abort):
                self.match()
                number = next(number for number, request in self.requests.items() if request.number == effect.number)
                if self.requests[number].url.endswith("/v1/streams"):
                    self.then.setdefault("aborted", set()).add(number)
            else:
                assert isinstance(effect, AskToken)
                self.then["tokenAsks"] += 1

    def do(self, one):
        machine = self.machine
        kind = next((name for name in DO if name in one), None)
        if kind is None:
            return
        if kind == "follow":
            name = one["follow"]

            def listen(update):
                former = self.contents.get(name)
                self.contents[name] = content(update.view)
                if update.kind != "standing" and not (update.kind == "pending" and former == content(update.view)):
                    self.then["updates"].setdefault(name, []).append(update.kind)

            self.listeners[name] = listen
            followed = self.followed[name] = machine.follow(one["feed"], window_of(one), Item, listen)
            if followed.is_known:
                listen(Update("state" if followed.view.exists else "absent", followed.view))
        elif kind == "show":
            self.followed[one["show"]] = machine.show(self.followed[one["show"]], window_of(one), self.listeners[one["show"]])
        elif kind == "leave":
            machine.leave(self.followed.pop(one["leave"]), self.listeners[one["leave"]])
        elif kind == "write":
            write = PendingWrite(*events_of(one["events"]), one.get("wait", 10), one.get("coalesce"))
            self.writes[one["write"]] = write.handles[0]
            machine.writes(one["feed"]).add(write)
        elif kind == "setToken":
            machine.set_token(one["setToken"])
        elif kind == "reconnect":
            machine.reconnect()
        elif kind == "close":
            machine.close()
            self.followed.clear()
        elif kind in ("token", "tokenError"):
            machine.token_arrived(one.get("token"), one.get("tokenError"))
        else:
            self.perform()
            self.match()
            self.happen(kind, self.requests[one[kind]].number, one)

    def happen(self, kind, number, one):
        if kind == "answer" and one["status"] == 200 and "json" not in one:
            self.machine.opened(number)
        elif kind == "answer":
            after = float(one.get("headers", {}).get("Retry-After", 0))
            self.machine.answered(number, Answer(one["status"], one.get("json", {}), after=after))
        elif kind in ("event", "comment"):
            events = [StreamEvent(one["name"], one["data"])] if kind == "event" else []
            self.machine.received(number, events, one["retry"] / 1000 if "retry" in one else None)
        else:
            self.machine.answered(number, Answer(detail="the network fails"))

    def noted(self, then):
        """What differs from the step before."""
        now = {("store", None): plain_standing(self.machine.standing)}
        for name, followed in self.followed.items():
            now["standings", name] = plain_standing(followed.view.standing)
            now["shown", name] = plain_view(followed.view)
        for name, write in self.writes.items():
            if write.done():
                now["writes", name] = outcome(write)
        for (kind, name), value in now.items():
            default = {"name": "live"} if kind == "store" else None if kind == "shown" else ()
            # A vector has only the details that are prescribed.
            is_named = kind in then if name is None else name in then.get(kind, {})
            if is_named or differs(value, self.said.get((kind, name), default)):
                if name is None:
                    self.then[kind] = value
                else:
                    self.then.setdefault(kind, {})[name] = value
        self.said = {key: {**value, "detail": None} if "name" in (value or ()) else value for key, value in now.items()}
        return self.then

    def match(self):
        """Finds the vector's requests among those that were sent; returns both that are left."""
        for request in list(self.wanted):
            same = [one for one in self.sent if plain_request(one) == {name: value for name, value in request.items() if name != "request"}]
            if same:
                self.sent.remove(same[0])
                self.wanted.remove(request)
                self.requests[request["request"]] = same[0]
        return self.wanted, list(map(plain_request, self.sent))


DO = ("follow", "show", "leave", "write", "setToken", "reconnect", "close", "token", "tokenError", "answer", "event", "comment", "end", "fail")


def window_of(one):
    return Window(**{{"from": "from_"}.get(name, name): value for name, value in one.get("window", {}).items()})


def plain_standing(standing):
    found = {"name": standing.name, "reason": standing.reason, "detail": standing.detail}
    until = None if standing.until is None else round(1000 * standing.until)
    return {name: value for name, value in {**found, "until": until}.items() if value is not None}


def plain_view(view):
    if not view.exists:
        return None
    items = [item.id for section in view.sections for item in section.items]
    return {"revision": view.revision, "items": items, **({"isPending": True} if view.is_pending else {})}


def content(view):
    return plain(view.sections), [(one.from_, one.of) for one in view.sections], view.is_pending


def plain_request(request):
    found = {
        "method": request.method, "url": request.url, "token": request.token, "wait": request.wait or None,
        "body": None if request.body is None else json.loads(request.body)}
    return {name: value for name, value in found.items() if value is not None}


def outcome(write):
    fault = write._future.exception()
    if fault is None:
        return {"written": {name: value for name, value in vars(write.result()).items() if value is not None}}
    if type(fault).__name__ == "WriteRejected":
        return {"rejected": fault.code}
    return {"failed": fault.code, "isSent": "may be published" in str(fault)}


def differs(found, wanted):
    """Texts of `detail` contain those of the vector."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        names = found.keys() | wanted.keys()
        return any(
            (wanted.get(name) is not None and wanted[name] not in (found.get(name) or "")) if name == "detail"
            else name not in wanted or name not in found or differs(found[name], wanted[name])
            for name in names)
    return found != wanted


class Streams(unittest.TestCase):
    def test_the_vectors(self):
        logging.getLogger("feedstore").setLevel(logging.CRITICAL)
        ran = 0
        for path in sorted((CONFORMANCE / "stream").glob("*.ndjson")):
            for vector in vectors(path):
                with self.subTest(f"{path.name}: {vector['title']}"):
                    ran += 1
                    self.run_vector(vector)
        self.assertGreater(ran, 400)

    def run_vector(self, vector):
        program = Program(vector)
        for step in vector["steps"]:
            found, wanted = program.step(step), {**step["then"], "aborted": set(step["then"].get("aborted", []))}
            where = f"at {step['at']}: {step['do']}"
            self.assertEqual(program.match(), ([], []), where)
            for name in found.keys() | wanted.keys() - {"requests"}:
                one, other = found.get(name) or None, wanted.get(name) or None
                self.assertFalse(differs(one, other), f"{where}: {name}: expected {other}, found {one}")


if __name__ == "__main__":
    unittest.main()
