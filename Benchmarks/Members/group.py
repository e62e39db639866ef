"""A group of members under load, and what its changes do."""

import dataclasses
import pathlib
import signal
import threading
import time

import gaps
import processes
from ownership import Ownership

_CHECK_SECONDS = 0.02
# How long nothing must have changed for a change to be over.
QUIET_SECONDS = 3


@dataclasses.dataclass
class Cluster:
    """What members need to be started."""

    feedstore: str
    address: str
    name: str
    topics: dict
    partition_count: int
    # `KEY=VALUE`; `{member}` in a value stands for the member's name.
    settings: list
    # A folder for the members' logs, or None.
    logs: pathlib.Path | None

    @property
    def group(self):
        return self.name

    def log(self, member):
        return self.logs and self.logs / f"{self.name}.member-{member}.log"

    def command(self, word, *arguments, member=None):
        settings = [f"kafka.bootstrap.servers={self.address}", *(f"topics.{key}={name}" for key, name in self.topics.items())]
        if member is not None:
            settings += [f"kafka.group.id={self.group}", "log.format=json"]
            settings += [setting.replace("{member}", str(member)) for setting in self.settings]
        return [self.feedstore, word, *arguments, *(part for setting in settings for part in ("--set", setting))]


class Group:
    """Members by name, and what is known of their partitions."""

    def __init__(self, cluster, seconds):
        """- seconds: within which a change must be over."""
        self._cluster = cluster
        self._seconds = seconds
        # Called while the group is waited for.
        self.checks = []
        self._members = {}
        self._lock = threading.Lock()
        self._ownership = Ownership(cluster.partition_count)
        self.peak_bytes = 0

    def _notice(self, member, line, now):
        with self._lock:
            self._ownership.apply(member, line, now)

    def start(self, name):
        with self._lock:
            command = self._cluster.command("run", member=name)
            member = processes.Member(command, name, self._cluster.log(name), self._notice)
            self._ownership.started(member)
        self._members[name] = member

    def end(self, name, number=signal.SIGTERM):
        member = self._members.pop(name)
        self.peak_bytes = max(self.peak_bytes, member.peak_bytes)
        member.end(number)
        with self._lock:
            self._ownership.ended(member, time.monotonic())

    def end_all(self):
        for name in list(self._members):
            self.end(name)

    def check(self):
        """Fails if a member has ended by itself, or one of the checks does."""
        for check in self.checks:
            check()
        for member in self._members.values():
            if member.has_ended:
                member.fail("has ended")

    def _wait(self, what, is_true):
        end = time.monotonic() + self._seconds
        while not is_true():
            self.check()
            if time.monotonic() > end:
                lines = [f"{member.name}: {line}" for member in self._members.values() for line in member.lines[-10:]]
                raise SystemExit("\n".join([f"{what} takes more than {self._seconds} s:", *lines]))
            time.sleep(_CHECK_SECONDS)

    def wait_until_publishing(self, arrivals, start):
        """Waits until all partitions are shared out, and each has published since start and since it was last given to a member."""

        def is_publishing():
            with self._lock:
                if not self._ownership.is_shared_out:
                    return False
                given = dict(self._ownership.given)
            return all(times and times[-1] > max(start, given[number]) for number, times in arrivals.items())

        self._wait("until all partitions publish", is_publishing)

    def wait_until_quiet(self, arrivals, start):
        """The same, and until nothing has changed for a while."""

        def is_quiet():
            with self._lock:
                return time.monotonic() > max(start, self._ownership.last_change) + QUIET_SECONDS

        while True:
            self._wait("until nothing changes any more", is_quiet)
            with self._lock:
                last_change = self._ownership.last_change
            self.wait_until_publishing(arrivals, max(start, last_change))
            if is_quiet():
                return

    def measure(self, arrivals, action):
        """Does something to the group, waits until it is over, and returns the gaps of the partitions."""
        start = time.monotonic()
        action()
        self.wait_until_publishing(arrivals, start)
        self.wait_until_quiet(arrivals, start)
        end = time.monotonic()
        with self._lock:
            moved = self._ownership.moved_since(start)
        # The reader appends meanwhile.
        return gaps.change({number: list(times) for number, times in arrivals.items()}, moved, start, end)
