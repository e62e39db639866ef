"""The cost of an event on a list with many ghosts: removed elements that followers still have."""
import unittest

from costs import CostTests

GHOSTS, EVENTS = 30_000, 6_000


def replaced(section, items):
    return {"op": "section.replace", "section": section, "items": items}


IDS = [f"i{number}" for number in range(GHOSTS)]
EMPTY = {"op": "section.upsert", "section": "empty"}


class Ghosts(CostTests):
    def assert_replacing_costs_alike(self, events):
        """The events cost about the same if they name the section of the ghosts, and another one."""
        before = [replaced("s", IDS), EMPTY, replaced("s", [])]
        self.assert_costs_alike([*before, *events("empty")], [*before, *events("s")])

    def test_replacing_a_list_does_not_walk_them(self):
        self.assert_replacing_costs_alike(
            lambda section: [replaced(section, [("x", "y")[number % 2]]) for number in range(EVENTS)])

    def test_nor_does_a_replacement_by_items_on_both_sides_of_them(self):
        ends = {"s": [IDS[0], IDS[-1]], "empty": ["p", "q"]}
        self.assert_replacing_costs_alike(
            lambda section: [replaced(section, ends[section][:: (-1) ** number]) for number in range(EVENTS // 2)])

    def test_nor_does_clearing_a_feed(self):
        clears = [event for _ in range(EVENTS) for event in ({"op": "feed.clear"}, EMPTY)][:9_000]
        sections = {"op": "feed.replace", "sections": [{"id": id} for id in IDS]}
        # Both make the sections and remove them once; only in the second they are ghosts meanwhile.
        self.assert_costs_alike(
            [sections, {"op": "feed.clear"}, clears], [sections, clears], ["limits.maxSections=1000000"])


if __name__ == "__main__":
    unittest.main()
