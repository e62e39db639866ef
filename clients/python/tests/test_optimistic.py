"""Writes that are shown early: the vectors, and beside the daemon's own result."""

import unittest

from support import CONFORMANCE, plain, reload, section, vectors

from feedstore import WHOLE, Window
from feedstore.jsontext import text_of
from feedstore.model import Item, Section
from feedstore.optimistic import shown
from feedstore.replica import Replica


def sections_of(listed, totals=None):
    replica = Replica("f")
    outcome = replica.apply(reload("f", listed, **({} if totals is None else {"window": totals})))
    assert outcome.type == "applied", outcome
    return replica.sections


def random_event(rng):
    items, names = [f"i{number}" for number in range(12)], ["s0", "s1", "s2", "new"]
    places = ["first", "last", {"index": rng.randrange(8)}, {"before": rng.choice(items)}, {"after": rng.choice(items)}]
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


def section_of(value):
    """A section of a vector."""
    items = tuple(Item(item["id"], item["kind"], value["id"], text_of(item["data"]), False, None, None) for item in value["items"])
    return Section(value["id"], text_of(value["data"]), value.get("order"), value.get("keep"), items, value["from"], value["of"], False)


def value_of(section):
    """A section as in a vector."""
    settings = {name: value for name, value in (("order", section.order), ("keep", section.keep)) if value is not None}
    items = [{"id": item.id, "kind": item.kind, "data": item.data} for item in section.items]
    return {"id": section.id, "data": section.data, **settings, "from": section.from_, "of": section.of, "items": items}


class Optimistic(unittest.TestCase):
    def test_the_vectors(self):
        for line in [line for path in sorted((CONFORMANCE / "pending").iterdir()) for line in vectors(path)]:
            with self.subTest(line["title"]):
                confirmed = tuple(map(section_of, line["state"]))
                window = Window(**{{"from": "from_"}.get(name, name): value for name, value in line["window"].items()})
                before, spelled = confirmed, plain(confirmed)
                for count in range(len(line["writes"]) + 1):
                    after = shown(confirmed, window, line["writes"][:count], before)
                    self.check_marks(confirmed, after)
                    # The same again is the same.
                    again = shown(confirmed, window, line["writes"][:count], after)
                    self.assertEqual(list(map(id, again)), list(map(id, after)))
                    before = after
                self.assertEqual(list(map(value_of, after)), line["shown"])
                self.assertEqual(plain(confirmed), spelled)
                self.assertEqual(list(map(id, shown(confirmed, window, [], before))), list(map(id, confirmed)))

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

    def test_what_the_daemon_will_reject_shows_nothing(self):
        confirmed = sections_of([section("s", "a")])
        for event in (
            {"op": "item.upsert", "item": 7, "section": "s"}, {"op": "item.upsert", "item": "b"}, {"op": "item.patch", "item": "a"},
            {"op": "item.upsert", "item": "b", "section": "s", "kind": 7}, {"op": "item.move", "item": "a", "at": 7},
            {"op": "item.upsert", "item": "a", "section": []}, {"op": "section.upsert"}, {"op": "item.delete"}, {"op": "feed.clear"},
            {"op": "section.upsert", "section": "s", "data": 1, "keep": 0}, {"op": "section.upsert", "section": "s", "order": []},
            {"op": "section.upsert", "section": "s", "data": 1, "at": {"after": "z"}}, {"op": "section.upsert", "section": "s", "order": [{"by": "n"}]}, {"op": "item.move", "item": "a", "at": {"before": "a"}},
        ):
            with self.subTest(event):
                self.assertEqual(list(map(id, shown(confirmed, WHOLE, [[event]], confirmed))), list(map(id, confirmed)))

    def test_data_is_spelled_as_the_daemon_will_spell_it(self):
        confirmed = sections_of([section("s", ("a", {"b": 1}))])
        found, = shown(confirmed, WHOLE, [[{"op": "item.patch", "item": "a", "data": {"ü": 1.5}}]], confirmed)
        self.assertEqual(found.items[0].data_text, '{"b":1,"ü":1.5}')


if __name__ == "__main__":
    unittest.main()
