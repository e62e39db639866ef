"""Gaps between arrivals, and whose they are."""

import random
import unittest

from gaps import Summary, change, first_after, longest_gap


class LongestGapTests(unittest.TestCase):
    def test_only_gaps_that_overlap_the_time_count(self):
        times = [0, 5, 6, 7, 7.5, 12]
        self.assertEqual(longest_gap(times, 5, 7), 1)
        self.assertEqual(longest_gap(times, 5.5, 7.2), 1)

    def test_a_gap_counts_whole_if_it_began_before_or_ends_after(self):
        self.assertEqual(longest_gap([0, 5, 6], 4, 5.5), 5)
        self.assertEqual(longest_gap([0, 1, 9], 0.5, 2), 8)
        self.assertEqual(longest_gap([0, 10], 4, 5), 10)

    def test_a_gap_that_has_not_ended_lasts_until_the_end(self):
        self.assertEqual(longest_gap([0, 1], 0, 4), 3)
        self.assertEqual(longest_gap([0, 1], 2, 4), 3)

    def test_without_an_arrival_before_it_begins_at_the_start(self):
        self.assertEqual(longest_gap([5, 6], 1, 7), 4)
        self.assertEqual(longest_gap([], 1, 7), 6)

    def test_an_arrival_at_the_start_or_at_the_end_is_one(self):
        self.assertEqual(longest_gap([0, 4, 5, 9], 4, 5), 1)

    def test_it_is_what_a_plain_search_finds(self):
        seed = random.randrange(2**32)
        print("seed", seed)
        source = random.Random(seed)
        for _ in range(2000):
            times = sorted(source.randrange(30) for _ in range(source.randrange(12)))
            start = source.randrange(30)
            end = start + 1 + source.randrange(10)
            # Gaps between neighbours, and those at the edges, each by its definition.
            bounds = ([start] if not times or times[0] > start else []) + times + ([end] if not times or times[-1] < end else [])
            plain = max(b - a for a, b in zip(bounds, bounds[1:]) if b > start and a < end)
            self.assertEqual(longest_gap(times, start, end), plain, (times, start, end))


class FirstAfterTests(unittest.TestCase):
    def test_it_is_later_than_the_start(self):
        self.assertEqual(first_after([1, 2, 3], 2), 3)
        self.assertIsNone(first_after([1, 2, 3], 3))
        self.assertIsNone(first_after([], 3))


class ChangeTests(unittest.TestCase):
    def test_partitions_that_moved_and_that_stayed_are_apart(self):
        arrivals = {0: [0, 1, 2, 3], 1: [0, 0.5, 1, 2.5, 3], 2: [0, 2.5, 3], 3: [0, 0.25, 3]}
        result = change(arrivals, {2, 3}, 0, 3)
        self.assertEqual(result.moved, Summary(2, 2.75, 2.625, 2))
        self.assertEqual(result.stayed, Summary(2, 1.5, 1.25, 1))
        self.assertEqual(result.gaps, {0: 1, 1: 1.5, 2: 2.5, 3: 2.75})
        self.assertEqual(result.moved_partitions, [2, 3])

    def test_nothing_need_have_moved_or_stayed(self):
        arrivals = {0: [0, 1, 2], 1: [0, 1, 2]}
        self.assertEqual(change(arrivals, set(), 0, 2).moved, Summary(0, None, None, 0))
        self.assertEqual(change(arrivals, {0, 1}, 0, 2).stayed, Summary(0, None, None, 0))

    def test_a_gap_of_a_second_is_not_over_a_second(self):
        self.assertEqual(Summary.of([1, 1.001, 0.2]).over_one_second, 1)


if __name__ == "__main__":
    unittest.main()
