"""Writes that are shown early: beside a plain oracle, and beside the daemon's own result."""

import json
import random
import unittest

from support import SEED, plain, reload, replay, section
from test_replica import states

from feedstore import WHOLE, Window
from feedstore.optimistic import shown
from feedstore.replica import Replica


def sections_of(listed, totals=None):
    replica = Replica("f")
    outcome = replica.apply(reload("f", listed, **({} if totals is None else {"window": totals})))
    assert outcome.type == "applied", outcome
    return replica.sections


def merged(data, patch):
    """RFC 7396, as it is written there."""
    if not isinstance(patch, dict):
        return patch
    result = dict(data) if isinstance(data, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


class Oracle:
    """A feed in plain lists, to which events are applied one after the other."""

    def __init__(self, sections):
        self.sections = [[one.id, json.loads(one.data_text), [[item.id, item.kind, json.loads(item.data_text)] for item in one.items]] for one in sections]

    def section(self, name):
        for one in self.sections:
            if one[0] == name:
                return one[2]
        self.sections.append([name, None, []])
        return self.sections[-1][2]

    def find(self, item):
        for _, _, items in self.sections:
            for found in items:
                if found[0] == item:
                    return items, found
        return None, None

    def place(self, items, found, at):
        """Returns whether the place exists."""
        anchors = [one[0] for one in items]
        if at in ("first", "last"):
            index = 0 if at == "first" else len(items)
        elif "index" in at:
            index = min(at["index"], len(items))
        else:
            anchor = at.get("before", at.get("after"))
            if anchor not in anchors:
                return False
            index = anchors.index(anchor) + ("after" in at)
        items.insert(index, found)
        return True

    def apply(self, event):
        op, at = event["op"], event.get("at")
        if op == "section.upsert":
            self.section(event["section"])
            next(one for one in self.sections if one[0] == event["section"])[1] = event.get("data")
            return
        items, found = self.find(event["item"])
        if op == "item.delete" and found:
            items.remove(found)
        elif op == "item.patch" and found:
            found[2] = merged(found[2], event["data"])
        elif op == "item.move" and found:
            self.relocate(items, found, found, event, at)
        elif op == "item.upsert":
            former = found or [event["item"], "", None]
            new = [event["item"], event.get("kind", former[1]), event["data"] if "data" in event else former[2]]
            if found is None:
                self.place(self.section(event["section"]), new, at or "last")
            else:
                self.relocate(items, found, new, event, at)

    def relocate(self, items, found, new, event, at):
        target = self.section(event["section"]) if "section" in event else items
        index = items.index(found)
        if target is items and at is None:
            items[index] = new
            return
        del items[index]
        if not self.place(target, new, at or "last"):
            items.insert(index, found)

    def plain(self):
        return [(name, data, [tuple(item) for item in items]) for name, data, items in self.sections]


def random_event(rng, has_anchors=True):
    items, names = [f"i{number}" for number in range(12)], ["s0", "s1", "s2", "new"]
    places = ["first", "last", {"index": rng.randrange(8)}]
    if has_anchors:
        places += [{"before": rng.choice(items)}, {"after": rng.choice(items)}]
    item = rng.choice(items)
    at = {"at": rng.choice(places)} if rng.random() < 0.5 else {}
    if at and item in str(at):
        at = {}
    op = rng.choice(["item.upsert", "item.upsert", "item.patch", "item.patch", "item.move", "item.delete", "section.upsert"])
    if op == "item.upsert":
        event = {"op": op, "item": item, "section": rng.choice(names), **at}
        if rng.random() < 0.7:
            event["data"] = rng.choice([None, 1, "x", {"a": 1, "b": {"c": 2}}])
        if rng.random() < 0.5:
            event["kind"] = rng.choice(["", "story"])
        return event
    if op == "item.patch":
        return {"op": op, "item": item, "data": rng.choice([7, {"a": None}, {"a": 2, "b": {"c": None, "d": 1}}, {"starred": True}])}
    if op == "item.move":
        return {"op": op, "item": item, **({"section": rng.choice(names)} if rng.random() < 0.5 else {}), **at}
    if op == "item.delete":
        return {"op": op, "item": item}
    return {"op": op, "section": rng.choice(names), "data": rng.choice([None, {"title": "T"}])}


def random_sections(rng):
    items = [(f"i{number}", rng.choice([None, 1, {"a": 1}, {"b": {"c": 1}}])) for number in range(10) if rng.random() < 0.8]
    rng.shuffle(items)
    cuts = sorted(rng.randint(0, len(items)) for _ in range(2))
    return [section("s0", *items[: cuts[0]]), section("s1", *items[cuts[0] : cuts[1]]), section("s2", *items[cuts[1] :])]


def parsed(sections):
    return [(one.id, one.data, [(item.id, item.kind, item.data) for item in one.items]) for one in sections]


class Optimistic(unittest.TestCase):
    def test_random_writes_equal_those_of_a_plain_oracle(self):
        print(f"FEEDSTORE_SEED={SEED}")
        for seed in range(SEED, SEED + 1000):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                confirmed = sections_of(random_sections(rng))
                spelled = plain(confirmed)
                oracle, writes, before = Oracle(confirmed), [], confirmed
                for _ in range(6):
                    events = [random_event(rng) for _ in range(rng.choice([1, 1, 3]))]
                    for event in events:
                        oracle.apply(event)
                    writes.append(events)
                    after = shown(confirmed, WHOLE, writes, before)
                    self.assertEqual(parsed(after), oracle.plain(), writes)
                    self.check_marks(confirmed, after)
                    # The same again is the same.
                    again = shown(confirmed, WHOLE, writes, after)
                    self.assertEqual(list(map(id, again)), list(map(id, after)))
                    before = after
                self.assertEqual(plain(confirmed), spelled)
                self.assertEqual(list(map(id, shown(confirmed, WHOLE, [], before))), list(map(id, confirmed)))

    def check_marks(self, confirmed, after):
        """What differs is marked, and what does not is the confirmed object."""
        items = {item.id: item for one in confirmed for item in one.items}
        sections = {one.id: one for one in confirmed}
        for one in after:
            for item in one.items:
                other = items.get(item.id)
                if not item.is_pending:
                    self.assertIs(item, other)
                elif other is not None and (item.kind, item.section, item.data_text) == (other.kind, other.section, other.data_text):
                    # It was moved.
                    self.assertNotEqual([one.id for one in one.items], [one.id for one in sections[one.id].items])
            if not one.is_pending:
                self.assertIs(one, sections[one.id])

    def test_random_writes_equal_what_the_daemon_makes_of_them(self):
        """Records that the daemon accepts lead to the same feed."""
        for seed in range(SEED, SEED + 10):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                first = random_sections(rng)
                events = [random_event(rng, has_anchors=False) for _ in range(15)]
                records = [{"key": "f", "value": {"op": "feed.replace", "sections": first}}]
                records += [{"key": "f", "value": event} for event in events]
                result = replay(records, [])
                self.assertEqual(result["rejected"], [])
                confirmed = sections_of(first)
                after = shown(confirmed, WHOLE, [[event] for event in events], confirmed)
                self.assertEqual(plain(after), states(result["output"])["f"])

    def test_in_a_window_what_it_does_not_show_changes_nothing(self):
        totals = [{"section": "s", "from": 2, "shown": 2, "of": 10}]
        confirmed = sections_of([section("s", "c", "d")], totals)
        window = Window(sections=("s",), from_=2, count=2)

        def after(**event):
            found = shown(confirmed, window, [[event]], confirmed)
            return [item.id for item in found[0].items] if found[0] is not confirmed[0] else None

        for at in ("first", "last", {"index": 0}, {"index": 9}, {"before": "a"}, {"after": "j"}):
            self.assertIsNone(after(op="item.move", item="c", at=at), at)
            self.assertIsNone(after(op="item.upsert", item="new", section="s", at=at), at)
        self.assertIsNone(after(op="item.upsert", item="new", section="other"))
        self.assertIsNone(after(op="item.patch", item="a", data=1))
        self.assertEqual(after(op="item.move", item="d", at={"index": 2}), ["d", "c"])
        self.assertEqual(after(op="item.upsert", item="new", section="s", at={"after": "c"}), ["c", "new", "d"])
        self.assertEqual(after(op="item.delete", item="c"), ["d"])

    def test_in_an_ordered_section_items_keep_their_places(self):
        confirmed = sections_of([{**section("s", ("a", {"n": 1}), ("b", {"n": 2})), "order": [{"by": "/n"}]}])
        events = [
            {"op": "item.patch", "item": "a", "data": {"n": 3}}, {"op": "item.move", "item": "b", "at": "first"},
            {"op": "item.upsert", "item": "c", "section": "s", "data": {"n": 0}}]
        found, = shown(confirmed, WHOLE, [events], confirmed)
        self.assertEqual([(item.id, item.data["n"]) for item in found.items], [("a", 3), ("b", 2), ("c", 0)])

    def test_what_the_daemon_will_reject_shows_nothing(self):
        confirmed = sections_of([section("s", "a")])
        for event in (
            {"op": "item.upsert", "item": 7, "section": "s"}, {"op": "item.upsert", "item": "b"}, {"op": "item.patch", "item": "a"},
            {"op": "item.upsert", "item": "b", "section": "s", "kind": 7}, {"op": "item.move", "item": "a", "at": 7},
            {"op": "item.upsert", "item": "a", "section": []}, {"op": "section.upsert"}, {"op": "item.delete"}, {"op": "feed.clear"},
            {"op": "section.upsert", "section": "s", "data": 1, "keep": 7}, {"op": "item.move", "item": "a", "at": {"before": "a"}},
        ):
            with self.subTest(event):
                self.assertEqual(list(map(id, shown(confirmed, WHOLE, [[event]], confirmed))), list(map(id, confirmed)))

    def test_data_is_spelled_as_the_daemon_will_spell_it(self):
        confirmed = sections_of([section("s", ("a", {"b": 1}))])
        found, = shown(confirmed, WHOLE, [[{"op": "item.patch", "item": "a", "data": {"ü": 1.5}}]], confirmed)
        self.assertEqual(found.items[0].data_text, '{"b":1,"ü":1.5}')


if __name__ == "__main__":
    unittest.main()
