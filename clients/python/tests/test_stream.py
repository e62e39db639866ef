"""The vectors of streams: a store's machine with virtual time, and what it asks for, shows and says."""

import json
import logging
import random
import unittest

from support import CONFORMANCE, SEED, RandomRecords, plain, replay, vectors
from test_replica import check_identities, encoded

from feedstore.effects import Abort, Answer, AskToken, Request, Show
from feedstore.event_stream import StreamEvent
from feedstore.machine import Machine
from feedstore.model import Item, Update, Window
from feedstore.replica import Replica
from feedstore.writes import PendingWrite, events_of


class Program:
    """What uses a machine, in the words of the vectors."""

    def __init__(self, vector):
        self.machine = Machine(vector["urls"], vector.get("hasToken", False), lambda: 0)
        self.followed, self.listeners, self.writes, self.said, self.contents = {}, {}, {}, {}, {}
        #: By the vector's number, the machine's number of a request.
        self.requests = {}

    def step(self, step):
        self.wanted = list(step["then"].get("requests", []))
        self.then = {"requests": [], "aborted": [], "tokenAsks": 0, "updates": {}}
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
                self.then["requests"].append(effect)
            elif isinstance(effect, Abort):
                self.then["aborted"].append(effect.number)
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
                listen(followed_update(followed))
        elif kind == "show":
            self.followed[one["show"]] = machine.show(self.followed[one["show"]], window_of(one), self.listeners[one["show"]])
        elif kind == "leave":
            machine.leave(self.followed.pop(one["leave"]), self.listeners[one["leave"]])
        elif kind == "write":
            write = PendingWrite(*events_of(one["events"]), one.get("wait", 10), one.get("coalesce"))
            self.writes[one["write"]] = write.handles[0]
            machine.write(one["feed"], write)
        elif kind == "setToken":
            machine.set_token(one["setToken"])
        elif kind == "reconnect":
            machine.reconnect()
        elif kind in ("token", "tokenError"):
            machine.token_arrived(one.get("token"), one.get("tokenError"))
        else:
            self.perform()
            self.match()
            self.happen(kind, self.requests[one[kind]], one)

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
            if is_named or without_detail(self.said.get((kind, name), default)) != without_detail(value):
                if name is None:
                    self.then[kind] = value
                else:
                    self.then.setdefault(kind, {})[name] = value
        self.said = now
        return self.then

    def match(self):
        """Finds the vector's requests among those that were sent; returns both that are left."""
        sent = self.then["requests"]
        for request in list(self.wanted):
            same = [one for one in sent if plain_request(one) == {name: value for name, value in request.items() if name != "request"}]
            if same:
                sent.remove(same[0])
                self.wanted.remove(request)
                self.requests[request["request"]] = same[0].number
        return self.wanted, list(map(plain_request, sent))


DO = ("follow", "show", "leave", "write", "setToken", "reconnect", "token", "tokenError", "answer", "event", "comment", "end", "fail")


def followed_update(followed):
    return Update("state" if followed.view.exists else "absent", followed.view)


def window_of(one):
    return Window(**{{"from": "from_"}.get(name, name): value for name, value in one.get("window", {}).items()})


def plain_standing(standing):
    found = {"name": standing.name, "reason": standing.reason, "detail": standing.detail}
    until = None if standing.until is None else round(1000 * standing.until)
    return {name: value for name, value in {**found, "until": until}.items() if value is not None}


def without_detail(value):
    return {name: member for name, member in value.items() if name != "detail"} if isinstance(value, dict) else value


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


class History:
    """A stream of what a replay has written of a feed, with disturbances."""

    def __init__(self, lines, rng):
        self.rng = rng
        # Changesets as they are sent, and after each the feed as a reload.
        self.texts, self.reloads, self.last = [], [], Replica("f")
        for line in lines:
            key, value = encoded(line)
            if value is None or key.decode().partition("/")[2] != "f" or line["value"].get("reason") == "keyframe":
                continue
            self.last.apply(value)
            self.texts.append(value.decode())
            self.reloads.append(self.last.to_reload() if self.last.head else None)
        self.machine, self.disturbed, self.faults = Machine(["http://a"], rng=lambda: 0), 0, []
        self.sections, self.stream, self.index = (), None, -1
        self.followed = self.machine.follow("f", Window(), Item, self.check)

    def check(self, update):
        try:
            check_identities(self.sections, update.view.sections)
        except AssertionError as fault:
            self.faults.append(fault)
        self.sections = update.view.sections

    def turn(self, function=lambda: None, seconds=0.0):
        """Takes an input, and answers what the machine asks for."""
        self.machine.advance(self.machine.now + seconds)
        function()
        self.machine.finish()
        while self.machine.effects:
            effect = self.machine.effects.popleft()
            if isinstance(effect, Show):
                effect.listener(effect.update)
            elif isinstance(effect, Request):
                self.answer(effect)

    def answer(self, request):
        entry, = json.loads(request.body).get("feeds") or json.loads(request.body)["add"]
        if request.method == "PATCH":
            self.machine.answered(request.number, Answer(200))
            self.send(("must-refetch", {"view": "1", "feed": "f"}))
            return self.state()
        self.stream = request.number
        self.machine.opened(self.stream)
        self.send(("stream", {"stream": "s"}))
        known = [
            number for number in range(self.index + 1)
            if "epoch" in entry and self.version(number) == (entry["epoch"], entry["revision"]) and self.reloads[number]]
        if known and self.rng.random() < 0.8:
            self.send(*self.texts[known[-1] + 1 : self.index + 1], ("up-to-date", {"view": "1", "feed": "f", "partition": None}))
        elif self.index >= 0:
            self.state()

    def version(self, index):
        value = json.loads(self.texts[index])
        return value["epoch"], value["revision"]

    def send(self, *events):
        events = [
            StreamEvent("message", f'{{"view":"1",{event[1:]}') if isinstance(event, str) else StreamEvent(event[0], json.dumps(event[1]))
            for event in events]
        self.turn(lambda: self.machine.received(self.stream, events))

    def state(self):
        reload = self.reloads[self.index]
        self.send(*(
            [("absent", {"view": "1", "feed": "f"})] if reload is None else
            [reload, ("up-to-date", {"view": "1", "feed": "f", "partition": 0})]))

    def play(self):
        self.turn()
        while self.index < len(self.texts) - 1:
            self.index += 1
            what = self.rng.random()
            self.disturbed += what < 0.11
            if what < 0.04:
                self.turn(lambda: self.machine.answered(self.stream, Answer(detail="it has ended")))
                self.turn(seconds=60)
            elif what < 0.08:
                self.send(("must-refetch", {"view": "1", "feed": "f"}))
                self.state()
            elif what > 0.11:
                # Sometimes twice. Otherwise it is lost.
                self.send(*[self.texts[self.index]] * (2 if what > 0.95 else 1))
        self.state()
        self.turn(seconds=60)


class Streams(unittest.TestCase):
    def test_the_vectors(self):
        ran = 0
        for path in sorted((CONFORMANCE / "stream").glob("*.ndjson")):
            for vector in vectors(path):
                with self.subTest(f"{path.name}: {vector['title']}"):
                    ran += 1
                    self.run_vector(vector)
        self.assertGreater(ran, 20)

    def run_vector(self, vector):
        program, numbers = Program(vector), {}
        for step in vector["steps"]:
            then = step["then"]
            found = program.step(step)
            where = f"at {step['at']}: {step['do']}"
            self.assertEqual(program.match(), ([], []), where)
            numbers = {actual: number for number, actual in program.requests.items()}
            streams = {request["request"] for request in [
                one for other in vector["steps"] for one in other["then"].get("requests", [])] if request["url"].endswith("/v1/streams")}
            found["aborted"] = sorted(numbers[number] for number in found["aborted"] if numbers[number] in streams)
            for name in ("requests", "aborted", "tokenAsks", "updates", "standings", "store", "shown", "writes"):
                if name != "requests":
                    empty = 0 if name == "tokenAsks" else [] if name == "aborted" else {}
                    wanted, value = then.get(name, empty), found.get(name, empty)
                    self.assertFalse(differs(sorted(value) if name == "aborted" else value, sorted(wanted) if name == "aborted" else wanted), f"{where}: {name}: expected {wanted}, found {value}")

    def test_whatever_happens_to_a_stream_the_end_is_that_of_the_replay(self):
        print(f"FEEDSTORE_SEED={SEED}")
        logging.getLogger("feedstore").setLevel(logging.CRITICAL)
        disturbed = 0
        for seed in range(SEED, SEED + 10):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                lines = [{**line, "key": "f"} for line in RandomRecords(rng).lines(250)]
                lines.append({"key": "f", "ts": 10**6, "value": {"op": "item.upsert", "section": "end", "item": "end"}})
                history = History(replay(lines, ["coalesce.window=0"])["output"], rng)
                history.play()
                disturbed += history.disturbed
                view, head = history.followed.view, history.last.head
                self.assertEqual((view.epoch, view.revision, view.standing.name), (head.epoch, head.revision, "live"))
                self.assertEqual(plain(view.sections), plain(history.last.sections))
                self.assertEqual((view.checksum, history.faults), (head.checksum, []))
        self.assertGreater(disturbed, 10)


if __name__ == "__main__":
    unittest.main()
