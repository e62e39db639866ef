"""examples/follow.py as a command for `conformance/run.py replica`: reads records, and writes the states of their feeds."""

import base64
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples"))

import follow  # noqa: E402


class Message:
    """A line of a vector in the form of a record from Kafka's client."""

    def __init__(self, line):
        self.line = line

    def bytes(self, name):
        if f"{name}Base64" in self.line:
            return base64.b64decode(self.line[f"{name}Base64"])
        return None if self.line[name] is None else self.line[name].encode()

    def key(self):
        return self.bytes("key")

    def value(self):
        return self.bytes("payload")

    def partition(self):
        return self.line["partition"]

    def offset(self):
        return self.line["offset"]


def answer(feed):
    feed = feed or follow.Feed()
    state = {"epoch": None, "stale": feed.is_stale, "waiting": feed.parts != []}
    # A stale feed may be partially changed, and is not written.
    if feed.epoch is None or feed.is_stale:
        return state
    return {
        **state, "epoch": feed.epoch, "revision": feed.revision, "checksum": feed.checksum(),
        "sections": json.loads(follow.written(feed.document()))}


def main():
    feeds = {}
    follow.warn = lambda text: None
    for text in sys.stdin:
        line = json.loads(text)
        follow.take(Message(line), feeds, lambda *_: None)
        feed = feeds.get((line["partition"], line.get("key", "").partition("/")[2]))
        print(json.dumps(answer(feed)))


if __name__ == "__main__":
    main()
