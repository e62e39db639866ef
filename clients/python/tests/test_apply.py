"""Lists that a program applies: random ones with a plain model of the events, and the fewest moves."""

import itertools
import random
import unittest

from support import SEED, plain, section
from test_optimistic import sections_of

from feedstore import WHOLE
from feedstore.apply import changes
from feedstore.optimistic import shown


def random_list(rng):
    items = [(f"i{number}", rng.choice([None, 1, {"a": 1, "b": 2}])) for number in range(7) if rng.random() < 0.8]
    rng.shuffle(items)
    names = [f"s{number}" for number in range(4) if rng.random() < 0.7]
    rng.shuffle(names)
    cuts = sorted(rng.randint(0, len(items)) for _ in names[1:])
    bounds = list(zip([0, *cuts], [*cuts, len(items)]))
    return [section(name, *items[begin:end], data=rng.choice([None, 5])) for name, (begin, end) in zip(names, bounds)]


def put(names, name, at):
    """Where `at` puts a name in a list without it."""
    if name in names and at is None:
        return
    if name in names:
        names.remove(name)
    place = len(names) if at is None else 0 if at == "first" else names.index(at["after"]) + 1
    names.insert(place, name)


def applied(listed, events):
    """Sections after events, by section and item."""
    order = [one["id"] for one in listed]
    sections = {one["id"]: {"data": one["data"], "items": [item["id"] for item in one["items"]]} for one in listed}
    items = {item["id"]: {"section": one["id"], "kind": item["kind"], "data": item["data"]} for one in listed for item in one["items"]}
    for event in events:
        op = event["op"]
        if op == "section.upsert":
            put(order, event["section"], event.get("at"))
            sections.setdefault(event["section"], {"data": None, "items": []})["data"] = event.get(
                "data", sections.get(event["section"], {}).get("data"))
        elif op == "section.delete":
            order.remove(event["section"])
            for item in sections.pop(event["section"])["items"]:
                del items[item]
        elif op == "item.delete":
            sections[items.pop(event["item"])["section"]]["items"].remove(event["item"])
        else:
            assert op == "item.upsert" or event["item"] in items, event
            item = items.setdefault(event["item"], {"section": None, "kind": "", "data": None})
            former, target = item["section"], event.get("section", item["section"])
            if former not in (None, target):
                sections[former]["items"].remove(event["item"])
            item.update({"section": target, **{name: event[name] for name in ("kind", "data") if name in event}})
            put(sections[target]["items"], event["item"], event.get("at"))
    return [
        {"id": name, "data": sections[name]["data"],
         "items": [{"id": item, "kind": items[item]["kind"], "data": items[item]["data"]} for item in sections[name]["items"]]}
        for name in order]


def fewest_moves(wanted, former):
    """By trying all subsequences."""
    places = [former.index(name) for name in wanted if name in former]
    return min(
        len(places) - len(kept) for count in range(len(places) + 1) for kept in itertools.combinations(places, count)
        if list(kept) == sorted(kept))


class Apply(unittest.TestCase):
    def test_random_lists_need_the_fewest_moves(self):
        moves = 0
        for seed in range(SEED, SEED + 500):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                former, wanted = random_list(rng), random_list(rng)
                confirmed = sections_of(former)
                events = changes(confirmed, wanted)
                self.assertEqual(applied(former, events), wanted)
                found = {one.id: [item.id for item in one.items] for one in confirmed}
                fewest = fewest_moves([one["id"] for one in wanted], list(found)) + sum(
                    fewest_moves([item["id"] for item in one["items"]], found.get(one["id"], [])) for one in wanted)
                there = {item for items in found.values() for item in items}
                placed = [
                    event for event in events if "at" in event and "section" not in event and event["item"] in there
                    or event["op"] == "section.upsert" and "at" in event and event["section"] in found]
                self.assertEqual(len(placed), fewest)
                moves += fewest
                # Views show it at once, but for sections that are deleted.
                if not any(event["op"] == "section.delete" for event in events):
                    self.assertEqual(plain(shown(confirmed, WHOLE, [events], confirmed)), plain(sections_of(wanted)))
                self.assertEqual(changes(sections_of(wanted), sections_of(wanted)), [])
        self.assertGreater(moves, 100)

    def test_omitted_fields_stay_and_ordered_sections_have_no_places(self):
        order = [{"by": "/x"}]
        former = sections_of([{**section("s", ("a", {"x": 1}), ("b", {"x": 2})), "order": order, "keep": 5}, section("t", ("c", [1]))])
        self.assertEqual(changes(former, [{"id": "s", "items": ["a", "b"]}, {"id": "t", "items": [{"id": "c"}]}]), [])
        events = changes(former, [{"id": "s", "items": ["c", "b", {"id": "a", "data": {"x": 9}}]}, {"id": "t", "data": 1, "keep": 2}])
        self.assertEqual(events, [
            {"op": "section.upsert", "section": "t", "data": 1, "keep": 2}, {"op": "item.move", "item": "c", "section": "s"},
            {"op": "item.upsert", "item": "a", "data": {"x": 9}}])
        # Without its order, a section has places.
        events = changes(former, [{"id": "s", "order": None, "items": ["b", "a"]}, former[1]])
        self.assertEqual([event["op"] for event in events], ["section.upsert", "item.move"])

    def test_the_same_data_spelled_otherwise_is_no_change(self):
        former = sections_of([section("s", ("a", {"x": 1, "y": [2]}))])
        self.assertEqual(changes(former, [{"id": "s", "items": [{"id": "a", "data": {"y": [2], "x": 1}}]}]), [])
        self.assertEqual(len(changes(former, [{"id": "s", "items": [{"id": "a", "data": {"y": [2], "x": True}}]}])), 1)

    def test_very_many_events_become_one(self):
        wanted = [section("s", *(f"i{number}" for number in range(10_001)))]
        event, = changes(sections_of([]), wanted)
        self.assertEqual((event["op"], len(event["sections"][0]["items"])), ("feed.replace", 10_001))

    def test_ids_are_strings_that_are_listed_once(self):
        for wanted, text in (
            ([section("s"), section("s")], "section 's' is listed twice"), ([section("s", "a"), section("t", "a")], "item 'a' is listed twice"),
            ([{"id": 7}], "expected a string"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                changes((), wanted)


if __name__ == "__main__":
    unittest.main()
