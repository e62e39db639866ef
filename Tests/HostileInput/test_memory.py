"""The memory of feeds without content, from the peak memory of replays of few and of many."""
import pathlib
import tempfile
import unittest

from costs import replay

FEW, MANY = 2_000, 22_000

EMPTY = '{"op":"feed.replace","sections":[]}'
FILLED = '{"op":"section.replace","section":"s","items":[%s]}' % ",".join(
    '{"id":"%d","kind":"k%d"}' % (number, number) for number in range(50))


def bytes_per_feed(*values):
    with tempfile.TemporaryDirectory() as folder:
        peaks = []
        for count in (FEW, MANY):
            path = pathlib.Path(folder) / "in"
            with path.open("w") as lines:
                time = 0
                for feed in range(count):
                    for value in values:
                        # Each has its own window, so that pending changes are negligible compared with the feeds.
                        time += 1_000
                        lines.write('{"ts":%d,"key":"feed %d","value":%s}\n' % (time, feed, value))
            # It starts at the parent's peak, which is less here.
            peaks.append(replay(path).ru_maxrss * 1024)
    return (peaks[1] - peaks[0]) / (MANY - FEW)


class EmptyFeeds(unittest.TestCase):
    def test_a_feed_without_sections_takes_about_a_kilobyte(self):
        # 1,000 to 1,075 were measured while other processes used the processors.
        self.assertIn(bytes_per_feed(EMPTY), Between(100, 1_150))

    def test_a_feed_with_deleted_sections_takes_little_more(self):
        # Before tables released memory, it took 15 kB.
        self.assertIn(bytes_per_feed(FILLED, EMPTY), Between(100, 1_300))


class Between:
    """Asserts a range. Less than the minimum would mean that something else was measured."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def __contains__(self, number):
        return self.low < number < self.high

    def __repr__(self):
        return f"{self.low} to {self.high}"


if __name__ == "__main__":
    unittest.main()
