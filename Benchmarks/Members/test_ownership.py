"""What the log's lines say of partitions."""

import unittest

from ownership import Ownership, partitions


def line(event, *numbers):
    return {"event": event, "partitions": ",".join(f"a.items/{number},a.sections/{number}" for number in numbers) or "none"}


class OwnershipTests(unittest.TestCase):
    def test_partitions_of_both_inputs_are_counted_once(self):
        self.assertEqual(partitions("a-1.items/0,a-1.sections/0,a-1.items/11"), {0, 11})
        self.assertEqual(partitions("none"), set())

    def test_partitions_are_shared_out_once_each_member_has_its_share(self):
        group = Ownership(4)
        self.assertFalse(group.is_shared_out)
        group.started("a")
        group.apply("a", line("group.assigned", 0, 1, 2, 3), 1)
        self.assertTrue(group.is_shared_out)
        group.started("b")
        self.assertFalse(group.is_shared_out)
        group.apply("b", line("group.assigned"), 2)
        self.assertEqual(group.last_change, 1)
        group.apply("a", line("group.revoked", 1, 3), 3)
        self.assertFalse(group.is_shared_out)
        group.apply("b", line("group.assigned", 1, 3), 4)
        self.assertTrue(group.is_shared_out)
        self.assertEqual(group.moved_since(2), {1, 3})
        self.assertEqual(group.last_change, 4)

    def test_a_member_that_has_ended_owns_nothing(self):
        group = Ownership(2)
        group.started("a")
        group.started("b")
        group.apply("a", line("group.assigned", 0), 1)
        group.apply("b", line("group.assigned", 1), 1)
        self.assertTrue(group.is_shared_out)
        group.ended("a", 2)
        self.assertFalse(group.is_shared_out)
        # Its log was not read to its end.
        group.apply("a", line("group.revoked", 0), 3)
        group.apply("b", line("group.assigned", 0), 4)
        self.assertTrue(group.is_shared_out)
        self.assertEqual(group.moved_since(2), {0})

    def test_a_partition_that_comes_back_to_its_member_has_moved(self):
        group = Ownership(1)
        group.started("a")
        group.apply("a", line("group.assigned", 0), 1)
        group.apply("a", line("group.lost", 0), 2)
        group.apply("a", line("group.assigned", 0), 3)
        self.assertEqual(group.moved_since(2), {0})

    def test_other_lines_change_nothing(self):
        group = Ownership(1)
        group.started("a")
        group.apply("a", {"event": "restore.finished", "partitions": "0"}, 1)
        group.apply("a", {"level": "info"}, 1)
        self.assertEqual((group.owned, group.last_change), ({"a": set()}, 0))


if __name__ == "__main__":
    unittest.main()
