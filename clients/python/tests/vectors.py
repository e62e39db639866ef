"""The package as a command for `conformance/run.py`, for replicas and windows: reads records or messages, and writes states."""

import base64
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "src"))

from feedstore.errors import ReplicaFault  # noqa: E402
from feedstore.model import sections_json  # noqa: E402
from feedstore.replica import Replica, ReplicaPartition  # noqa: E402


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


def take_event(known, line):
    """The replica of a message's feed, after the message."""
    value = json.loads(line["data"])
    # The id may be in two partitions: a replica that has the epoch, or one that has nothing.
    replicas = known.setdefault(value["feed"], [])
    epochs = [replica.head and replica.head.epoch for replica in replicas]
    wanted = value.get("epoch") if value.get("epoch") in epochs else None
    if wanted not in epochs:
        replicas.append(Replica(value["feed"]))
        epochs.append(None)
    replica = replicas[epochs.index(wanted)]
    if line["event"] == "message":
        replica.apply(line["data"])
    elif line["event"] == "window":
        replica.note_window(value["window"])
    elif line["event"] == "absent":
        replica.remove()
    elif line["event"] in ("must-refetch", "moved", "forbidden"):
        replica.restart()
    return replica


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
