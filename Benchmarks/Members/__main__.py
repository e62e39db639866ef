"""Measures members that come and go: `python3 Benchmarks/Members --help`."""

import argparse
import dataclasses
import json
import os
import pathlib
import signal
import sys
import time

import gaps
import processes
from group import Cluster, Group

try:
    from confluent_kafka.admin import AdminClient
    from traffic import Follower, Traffic, wait_until_read
except ImportError:
    raise SystemExit("Members needs python3-confluent-kafka: make setup-test installs it") from None

_DESCRIPTION = """
Fills feeds, starts members of one group, updates items at a steady rate, and lets members come and go. For each partition it notes
the longest time between two changesets, as they arrive at a read_committed reader; at the end it checks that no update was
lost. Runs on the cluster that FEEDSTORE_TEST_BOOTSTRAP names, or else on a stand-in. Prints two Markdown tables.
"""
_SIZES = [50_000, 200_000, 600_000, 2_400_000, 5_000_000]
_NOTHING_SECONDS = 10
# What changes, in the order of the first table.
_NOTHING = "nothing changes"
_STOP = "a member is stopped (SIGTERM)"
_RETURN = "it starts again"
_KILL = "a member is killed (`kill -9`)"
_RETURN_AFTER_KILL = "it starts again after the kill"
_JOIN = "one more member joins"
_CHANGES = [_NOTHING, _JOIN, _STOP, _RETURN, _KILL, _RETURN_AFTER_KILL]


def _options():
    parser = argparse.ArgumentParser(prog="Members", description=_DESCRIPTION)
    sizes = ",".join(map(str, _SIZES))
    parser.add_argument("--feedstore", required=True, metavar="FILE", help="the release build of the command")
    parser.add_argument("--items", default=sizes, metavar="N,…", help=f"how many items there are, one size after the other ({sizes})")
    parser.add_argument("--members", type=int, default=4, help="how many members there are (4)")
    parser.add_argument("--partitions", type=int, default=12, help="of each topic (12)")
    parser.add_argument("--rate", type=int, default=2000, help="updates a second, over all partitions (2000)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="a setting of all members; {member} in it stands for the member's number",
    )
    parser.add_argument("--logs", metavar="FOLDER", type=pathlib.Path, help="keeps the members' logs there")
    parser.add_argument("--json", metavar="FILE", help="also writes what was measured, with the gap of each partition")
    options = parser.parse_args()
    try:
        options.sizes = [int(size) for size in options.items.split(",")]
    except ValueError:
        parser.error("--items needs numbers, with commas between them")
    if min(options.sizes) < options.partitions * 1000:
        # A feed has 1,000 items, and each partition needs one.
        parser.error(f"--items needs {options.partitions * 1000} or more for {options.partitions} partitions")
    if options.members < 2 or options.partitions < options.members + 1 or options.rate < 10 * options.partitions:
        parser.error("it takes 2 members, more partitions than members, and 10 updates a second for each partition")
    if options.logs:
        options.logs.mkdir(parents=True, exist_ok=True)
    return options


def _note(text):
    print(text, file=sys.stderr, flush=True)


@dataclasses.dataclass
class Size:
    """What was measured at one size."""

    items: int
    fill_seconds: float = 0
    restore_seconds: float = 0
    # By what changed.
    changes: dict = dataclasses.field(default_factory=dict)
    roll_seconds: float = 0
    roll: gaps.Change | None = None
    peak_bytes: int = 0
    updates: int = 0
    follower_pause_seconds: float = 0


def _check_nothing_was_lost(cluster, traffic, follower):
    wrong = sum(sent != latest for sent, latest in zip(traffic.sent, follower.latest))
    if wrong or follower.went_back:
        raise SystemExit(f"{wrong} items are not as last sent, and {follower.went_back} went back to an earlier update")
    lines = processes.run(cluster.command("verify", "--topic")).splitlines()
    return [line for line in lines if line.strip().startswith(("records  ", "reload", "feeds", "faults", "bytes", "time"))]


def _measure(options, address, items):
    name = f"feedstore.benchmark.{os.getpid()}.{items}"
    topics = {topic: f"{name}.{topic}" for topic in ("sections", "items", "changesets", "rejected")}
    cluster = Cluster(options.feedstore, address, name, topics, options.partitions, options.settings, options.logs)
    create = ("--create", "--partitions", str(options.partitions), "--replication-factor", "1")
    processes.run(cluster.command("topics", *create))
    result = Size(items)
    seconds = 120 + items // 10_000
    group = Group(cluster, seconds)
    members = list(range(1, options.members + 1))
    traffic = Traffic(address, topics, items, options.partitions, options.rate)

    def tell(what, change=None):
        parts = [f"{items:,} items, {time.strftime('%H:%M:%S')}: {what}"]
        if change:
            for word, summary in (("moved", change.moved), ("stayed", change.stayed)):
                if summary.count:
                    parts.append(f"{summary.count} {word}: at most {summary.worst:.2f} s, {summary.over_one_second} over 1 s")
        _note("; ".join(parts))

    start = time.monotonic()
    traffic.fill()
    # By one alone: brokers count a member that is stopped while it waits to join for as long as its session lasts.
    group.start(members[0])
    wait_until_read(address, cluster.group, topics["items"], options.partitions, seconds, group.check)
    group.end_all()
    result.fill_seconds = time.monotonic() - start
    group.peak_bytes = 0
    tell(f"filled in {result.fill_seconds:.1f} s")

    follower = Follower(address, topics["changesets"], items, options.partitions)
    arrivals = follower.arrivals
    group.checks = [traffic.check, follower.check]
    start = time.monotonic()
    traffic.start()
    for member in members:
        group.start(member)
    group.wait_until_publishing(arrivals, start)
    result.restore_seconds = max(gaps.first_after(times, start) for times in arrivals.values()) - start
    group.wait_until_quiet(arrivals, start)
    tell(f"restored in {result.restore_seconds:.2f} s")

    first, second, another = members[0], members[1], options.members + 1

    def measure(what, action):
        result.changes[what] = group.measure(arrivals, action)
        tell(what, result.changes[what])

    measure(_NOTHING, lambda: time.sleep(_NOTHING_SECONDS))
    measure(_JOIN, lambda: group.start(another))
    group.measure(arrivals, lambda: group.end(another))
    measure(_STOP, lambda: group.end(first))
    measure(_RETURN, lambda: group.start(first))
    measure(_KILL, lambda: group.end(second, signal.SIGKILL))
    measure(_RETURN_AFTER_KILL, lambda: group.start(second))

    def roll():
        start = time.monotonic()
        for member in members:
            began = time.monotonic()
            group.end(member)
            group.start(member)
            group.wait_until_publishing(arrivals, began)
        result.roll_seconds = time.monotonic() - start

    result.roll = group.measure(arrivals, roll)
    tell(f"all members restarted in {result.roll_seconds:.1f} s", result.roll)

    traffic.stop()
    wait_until_read(address, cluster.group, topics["items"], options.partitions, seconds, group.check)
    group.end_all()
    # What is committed is with the reader soon.
    end = time.monotonic() + 30
    while traffic.sent != follower.latest and time.monotonic() < end:
        time.sleep(0.1)
    follower.stop()
    result.peak_bytes = group.peak_bytes
    result.updates = traffic.sent_count
    result.follower_pause_seconds = follower.longest_pause
    tell(f"{traffic.sent_count:,} updates sent, the reader was not run for {follower.longest_pause:.2f} s at most")
    tell("verified: " + ", ".join(" ".join(line.split()) for line in _check_nothing_was_lost(cluster, traffic, follower)))
    # Kept: a client that goes takes its requests with it.
    admin = AdminClient({"bootstrap.servers": address})
    for future in admin.delete_topics(list(topics.values())).values():
        future.result()
    return result


def _seconds(value):
    return "" if value is None else f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def _table(header, rows):
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "".join("| " + " | ".join(map(str, cells)) + " |\n" for cells in (header, rule, *rows))


def _print(options, results, where):
    settings = "".join(f", `{setting}`" for setting in options.settings)
    conditions = (
        f"{options.members} members of one worker each, {options.partitions} partitions, feeds of 1,000 items with 200 bytes of data, "
        f"{options.rate:,} updates a second; defaults{settings}; on {where}. Each size was measured once."
    )
    print(f"### Members that come and go\n\n{conditions}\n")
    header = ["change", "items", "partitions that move", "longest gap", "median", "over 1 s", "partitions that stay", "longest gap", "over 1 s"]
    rows = []
    for what in _CHANGES:
        for size in results:
            moved, stayed = size.changes[what].moved, size.changes[what].stayed
            cells = [moved.count, _seconds(moved.worst), _seconds(moved.median), moved.over_one_second] if moved.count else ["0", "", "", ""]
            cells += [stayed.count, _seconds(stayed.worst), stayed.over_one_second] if stayed.count else ["0", "", ""]
            rows.append([what, f"{size.items:,}", *cells])
    print(_table(header, rows))
    print("### Members and the size of the state\n\nThe same runs.\n")
    header = ["items", "restore all", "hand over one", "roll all", "longest gap meanwhile", "most memory of a member"]
    rows = [
        [
            f"{size.items:,}",
            _seconds(size.restore_seconds),
            _seconds(size.changes[_JOIN].moved.median),
            _seconds(size.roll_seconds),
            _seconds(max(size.roll.gaps.values())),
            f"{round(size.peak_bytes / 1e6):,} MB",
        ]
        for size in results
    ]
    print(_table(header, rows), flush=True)


def main():
    options = _options()
    # So that what was started ends as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    given = os.environ.get("FEEDSTORE_TEST_BOOTSTRAP")
    results = []
    for items in options.sizes:
        # One for each size, as it keeps everything in memory.
        stand_in = None if given else processes.StandIn()
        results.append(_measure(options, given or stand_in.address, items))
        if stand_in:
            stand_in.stop()
        if options.json:
            with open(options.json, "w") as file:
                json.dump([dataclasses.asdict(result) for result in results], file, indent=1)
    where = f"the cluster at {given}" if given else "Tests/StandInCluster, two brokers in one process, which is written in Python"
    _print(options, results, where)
    return 0


if __name__ == "__main__":
    sys.exit(main())
