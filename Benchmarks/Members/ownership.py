"""Who owns which partitions, as the members' logs tell."""

import re

_NUMBER = re.compile(r"/(\d+)(?:,|$)")


def partitions(text):
    """The numbers in `feeds.items/0,feeds.sections/0,feeds.items/3`; none in `none`."""
    return {int(number) for number in _NUMBER.findall(text)}


class Ownership:
    """What members own, and when each partition was last given to one of them.

    A member is a process: one that is started again is another one.
    """

    def __init__(self, partition_count):
        self.partition_count = partition_count
        self.owned = {}
        # For each partition the time of its last assignment.
        self.given = {}
        self.last_change = 0.0

    def started(self, member):
        self.owned[member] = set()

    def ended(self, member, time):
        self.owned.pop(member, None)
        self.last_change = time

    def apply(self, member, line, time):
        """Takes a line of a member's log, as an object."""
        event = line.get("event")
        if member not in self.owned or event not in ("group.assigned", "group.revoked", "group.lost"):
            return
        named = partitions(line["partitions"])
        if not named:
            return
        self.last_change = time
        if event == "group.assigned":
            self.owned[member] |= named
            self.given.update(dict.fromkeys(named, time))
        else:
            self.owned[member] -= named

    def moved_since(self, start):
        """The partitions that a member was given since."""
        return {partition for partition, time in self.given.items() if time >= start}

    @property
    def is_shared_out(self):
        """Whether each partition has one owner, and each member its share."""
        owners = [partition for owned in self.owned.values() for partition in owned]
        share = self.partition_count // len(self.owned) if self.owned else 0
        return sorted(owners) == list(range(self.partition_count)) and all(len(owned) >= share for owned in self.owned.values())
