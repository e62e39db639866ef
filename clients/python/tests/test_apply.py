"""Lists that a program applies: random ones with a plain model of the events, and the fewest moves."""

import itertools
import random
import sys
import unittest

from support import CONFORMANCE, SEED, plain, section
from test_optimistic import sections_of

from feedstore import WHOLE
from feedstore.apply import changes
from feedstore.optimistic import shown

sys.path.append(str(CONFORMANCE))
from pending import Model  # noqa: E402


def random_list(rng):
    items = [(f"i{number}", rng.choice([None, 1, {"a": 1, "b": 2}])) for number in range(7) if rng.random() < 0.8]
    rng.shuffle(items)
    names = [f"s{number}" for number in range(4) if rng.random() < 0.7]
    rng.shuffle(names)
    cuts = sorted(rng.randint(0, len(items)) for _ in names[1:])
    bounds = list(zip([0, *cuts], [*cuts, len(items)]))
    return [section(name, *items[begin:end], data=rng.choice([None, 5])) for name, (begin, end) in zip(names, bounds)]


def applied(listed, events):
    """Sections after events, by the vectors' model, which does not delete sections."""
    model = Model([{**one, "from": 0, "of": len(one["items"])} for one in listed], {})
    for event in events:
        if event["op"] == "section.delete":
            model.sections.remove(model.section(event["section"]))
        else:
            model.event(event)
    return [{name: one[name] for name in ("id", "data", "items")} for one in model.sections]


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
