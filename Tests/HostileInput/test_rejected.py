"""The cost of short records that would replace a large list, and are rejected."""
import unittest

from costs import CostTests

ITEMS, RECORDS = 20_000, 1_000
FILLED = {"op": "section.replace", "section": "s", "items": [f"i{number}" for number in range(ITEMS)]}


class Rejected(CostTests):
    def assert_costs_like_others(self, ordinary, hostile, settings=()):
        self.assert_costs_alike([FILLED] + [ordinary] * RECORDS, [FILLED] + [hostile] * RECORDS, settings, rejects=True)

    def test_a_list_is_not_measured_that_a_full_feed_would_lose(self):
        def misplaced(section):
            return {"op": "section.replace", "section": section, "items": ["x"], "at": {"before": "none"}}

        self.assert_costs_like_others(misplaced("t"), misplaced("s"), [f"limits.maxItems={ITEMS}"])


if __name__ == "__main__":
    unittest.main()
