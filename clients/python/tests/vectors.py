"""The package as a command for `conformance/run.py replica`: reads records, and writes the states of their feeds."""

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
    return f'{json.dumps(state)[:-1]}, "sections": {sections_json(replica.sections)}}}'


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
    partitions = {}
    for text in sys.stdin:
        print(answer(take(partitions, json.loads(text))))


if __name__ == "__main__":
    main()
