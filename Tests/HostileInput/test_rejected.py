"""What short records cost that would empty a large list, and are rejected."""
import unittest

from costs import CostTests

ITEMS, RECORDS = 20_000, 1_000
FILLED = {"op": "section.replace", "section": "s", "items": [f"i{number}" for number in range(ITEMS)]}
WITHOUT_SECTION = {"op": "item.upsert", "item": "new"}


class Rejected(CostTests):
    def assert_costs_like_others(self, ordinary, hostile, settings=()):
        self.assert_costs_alike([FILLED] + [ordinary] * RECORDS, [FILLED] + [hostile] * RECORDS, settings, rejects=True)

    def test_nothing_is_taken_out_for_a_record_that_fails_later(self):
        ordinary = [{"op": "feed.reload"}, WITHOUT_SECTION]
        for emptying in ({"op": "feed.clear"}, {"op": "section.delete", "section": "s"}):
            with self.subTest(emptying["op"]):
                self.assert_costs_like_others(ordinary, [emptying, WITHOUT_SECTION])

    def test_nor_is_a_list_measured_that_a_full_feed_would_lose(self):
        def misplaced(section):
            return {"op": "section.replace", "section": section, "items": ["x"], "at": {"before": "none"}}

        self.assert_costs_like_others(misplaced("t"), misplaced("s"), [f"limits.maxItems={ITEMS}"])


if __name__ == "__main__":
    unittest.main()
