"""The package as a command for `conformance/run.py`, for replicas and windows: reads records or messages, and writes states."""

import base64
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "src"))

from feedstore.errors import ReplicaFault  # noqa: E402
from feedstore.followed import Followed  # noqa: E402
from feedstore.model import Window, sections_json  # noqa: E402
from feedstore.replica import Replica, ReplicaPartition  # noqa: E402
from feedstore.writes import FeedWrites  # noqa: E402


def bytes_of(line, name):
    if f"{name}Base64" in line:
        return base64.b64decode(line[f"{name}Base64"])
    return None if line[name] is None else line[name].encode()


def answer(replica):
    state = {"epoch": None, "stale": replica.is_stale, "waiting": replica.is_waiting}
    if replica.head is None:
        return json.dumps(state)
    state = {**state, "epoch": replica.head.epoch, "revision": replica.head.revision, "checksum": replica.head.checksum}
    state["window"] = [
        {"section": section.id, "from": section.from_, "shown": len(section.items), "of": section.of} for section in replica.sections]
    return f'{json.dumps(state)[:-1]}, "sections": {sections_json(replica.sections)}}}'


class AnyWindow(Window):
    """The window that the vector is of, which may change."""

    def fits(self, totals):
        return True


def take_event(followed, line):
    """The replica of a message's feed, after the message."""
    value = json.loads(line["data"])
    feed = value["feed"]
    # The id may be in two partitions: a replica that has the epoch, or one that has nothing.
    known = followed.setdefault(feed, [])
    heads = [one.replica.head and one.replica.head.epoch for one in known]
    if value.get("epoch") in heads:
        one = known[heads.index(value.get("epoch"))]
    elif None in heads:
        one = known[heads.index(None)]
    else:
        one = Followed(feed, AnyWindow(), ("url",), FeedWrites(feed, list, lambda *_: None, lambda *_: None))
        known.append(one)
    if line["event"] == "message":
        if one.message("url", line["data"]):
            one.replica.become_stale()
    else:
        one.event("url", line["event"], value)
    return one.replica


def take(partitions, line):
    """The replica of a record's feed, after the record."""
    partition = partitions.setdefault(line["partition"], ReplicaPartition())
    key = bytes_of(line, "key")
    try:
        partition.apply(key, bytes_of(line, "payload"))
    except ReplicaFault:
        pass
    feed = (key or b"").decode(errors="replace").partition("/")[2]
    return partition.replicas.get(feed) or Replica(feed)


def main():
    known = {}
    for text in sys.stdin:
        line = json.loads(text)
        print(answer(take_event(known, line) if "event" in line else take(known, line)))


if __name__ == "__main__":
    main()
