"""How long partitions published nothing: arithmetic on the times at which records arrived. Times are seconds of one clock."""

import bisect
import dataclasses
import statistics


def longest_gap(times, start, end):
    """The longest time between two consecutive arrivals that overlaps the time from start to end.

    A gap counts with its whole length, also if it began before start. If the last arrival is before end, the gap that follows it
    lasts at least until end. Without any arrival the gap is the time from start to end.

    - times: sorted.
    """
    first = max(bisect.bisect_right(times, start) - 1, 0)
    last = bisect.bisect_left(times, end)
    # The arrival before start, those within, and the first one at or after end.
    edges = times[first : last + 1]
    if not edges:
        return end - start
    if edges[0] > start:
        edges = [start, *edges]
    if edges[-1] < end:
        edges = [*edges, end]
    return max(later - earlier for earlier, later in zip(edges, edges[1:]))


def first_after(times, start):
    """The first arrival after start; None if there is none."""
    position = bisect.bisect_right(times, start)
    return times[position] if position < len(times) else None


@dataclasses.dataclass(frozen=True)
class Summary:
    """The longest gap of each of several partitions."""

    count: int
    # None without partitions.
    worst: float | None
    median: float | None
    over_one_second: int

    @classmethod
    def of(cls, gaps):
        gaps = list(gaps)
        if not gaps:
            return cls(0, None, None, 0)
        return cls(len(gaps), max(gaps), statistics.median(gaps), sum(gap > 1 for gap in gaps))


@dataclasses.dataclass(frozen=True)
class Change:
    """What a change of the group did to the partitions."""

    moved: Summary
    stayed: Summary
    # By partition.
    gaps: dict
    moved_partitions: list


def change(arrivals, moved, start, end):
    """Splits the gaps of a change into those of partitions that moved and those of partitions that stayed.

    - arrivals: for each partition its sorted times.
    - moved: the partitions that a member was given since start, also if it is the one that had them before.
    """
    gaps = {partition: longest_gap(times, start, end) for partition, times in arrivals.items()}
    moved = sorted(set(moved) & set(gaps))
    return Change(
        Summary.of(gaps[partition] for partition in moved),
        Summary.of(gap for partition, gap in gaps.items() if partition not in moved),
        gaps,
        moved,
    )
