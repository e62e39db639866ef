#!/usr/bin/env python3
"""Follows FeedStore's changesets and prints each feed as it changes.

    apt-get install python3-confluent-kafka python3-xxhash     (or pip install confluent-kafka xxhash)
    python3 examples/follow.py localhost:9092

It reads the compacted topic from its beginning, so it needs no other store, and keeps a replica of every feed. The
rules are those of docs/protocol.md, "Rules for replicas". With --once it prints the feeds at the end of the topic as
JSON, one a line, and exits.
"""
import argparse
import json

import confluent_kafka as kafka
import xxhash


class Feed:
    """A replica of one feed: sections in order, each with its items' ids in order; contents by id."""

    def __init__(self):
        self.epoch, self.revision, self.is_stale = None, 0, True
        self.order, self.sections, self.items, self.contents = [], {}, {}, {}
        self.parts = {}

    def apply(self, changeset):
        """Takes one record's value; returns what it came to: applied, skipped, waiting, removed or gap."""
        if changeset["epoch"] != self.epoch:
            if changeset["mode"] == "delete":
                return "skipped"
            if changeset["mode"] != "reload":
                return "gap"
        elif changeset["mode"] == "delete":
            return "removed"
        elif changeset["revision"] <= self.revision and not self.is_stale:
            return "skipped"
        elif changeset["mode"] != "reload" and (self.is_stale or changeset["base"] != self.revision):
            self.is_stale = True
            return "gap"
        if changeset.get("parts", 1) > 1:
            name = (changeset["epoch"], changeset["revision"], changeset["mode"], changeset.get("reason"))
            # A part that is there twice, or of something else, begins anew.
            self.parts = self.parts if name in self.parts and changeset["part"] not in self.parts[name] else {name: {}}
            self.parts[name][changeset["part"]] = changeset
            if len(self.parts[name]) < changeset["parts"]:
                return "waiting"
            changeset = join([self.parts[name][part] for part in range(changeset["parts"])])
        self.parts = {}
        if changeset["mode"] == "reload":
            self.reload(changeset.get("sections", []))
        else:
            self.change(changeset.get("sections", {}), changeset.get("items", {}))
        self.epoch, self.revision, self.is_stale = changeset["epoch"], changeset["revision"], False
        if self.checksum() != changeset["checksum"]:
            raise ValueError(f"feed {changeset['feed']}, revision {self.revision}: the checksum differs")
        return "applied"

    def reload(self, sections):
        self.order, self.sections, self.items, self.contents = [], {}, {}, {}
        for section in sections:
            if section["id"] not in self.sections:  # a section goes on in the next part
                self.order.append(section["id"])
                self.sections[section["id"]], self.items[section["id"]] = section["data"], []
            for item in section.get("items", []):
                self.items[section["id"]].append(item["id"])
                self.contents[item["id"]] = (item["kind"], item["data"])

    def change(self, sections, items):
        # First everything goes that was somewhere else before: these positions count in the old order.
        gone = {}
        for entry in items.get("delete", []):
            gone.setdefault(entry["section"], {})[entry["index"]] = entry["id"]
            del self.contents[entry["id"]]
        for entry in items.get("move", []):
            gone.setdefault(entry["from"]["section"], {})[entry["from"]["index"]] = entry["id"]
        for section, places in gone.items():
            self.items[section] = without(self.items[section], places)
        leaving = {entry["index"]: entry["id"] for entry in sections.get("delete", [])}
        leaving |= {entry["from"]: entry["id"] for entry in sections.get("move", [])}
        self.order = without(self.order, leaving)
        for entry in sections.get("delete", []):
            for item in self.items.pop(entry["id"]):
                del self.contents[item]
            del self.sections[entry["id"]]
        # Then everything comes to where it is now, from the front.
        coming = [(entry["index"], entry["id"]) for entry in sections.get("insert", [])]
        coming += [(entry["to"], entry["id"]) for entry in sections.get("move", [])]
        for index, section in sorted(coming):
            self.order.insert(index, section)
        for entry in sections.get("insert", []):
            self.items[entry["id"]] = []
        coming = [(entry["index"], entry["section"], entry["id"]) for entry in items.get("insert", [])]
        coming += [(entry["to"]["index"], entry["to"]["section"], entry["id"]) for entry in items.get("move", [])]
        for index, section, item in sorted(coming):
            self.items[section].insert(index, item)
        # Last the contents; a reconfigured item keeps its kind.
        for name in ("insert", "reconfigure", "reload"):
            for entry in sections.get(name, []):
                self.sections[entry["id"]] = entry["data"]
            for entry in items.get(name, []):
                kind = entry["kind"] if "kind" in entry else self.contents[entry["id"]][0]
                self.contents[entry["id"]] = (kind, entry["data"])

    def checksum(self):
        total, previous = 0, ""
        for section in self.order:
            total += xxhash.xxh32_intdigest(f"s\0{previous}\0{section}".encode())
            before = ""
            for item in self.items[section]:
                total += xxhash.xxh32_intdigest(f"i\0{section}\0{before}\0{item}\0{self.contents[item][0]}".encode())
                before = item
            previous = section
        return f"{total % 2**32:08x}"

    def document(self):
        """The feed as a reload has it."""
        return [
            {"id": section, "data": self.sections[section], "items": [
                {"id": item, "kind": self.contents[item][0], "data": self.contents[item][1]}
                for item in self.items[section]]}
            for section in self.order]


def without(ids, places):
    """The list without the ids at these places, which must be there."""
    for index, identifier in places.items():
        if index >= len(ids) or ids[index] != identifier:
            raise ValueError(f"{identifier} is not at {index}")
    return [identifier for index, identifier in enumerate(ids) if index not in places]


def join(parts):
    """One changeset of all its parts."""
    whole = dict(parts[0])
    for part in parts[1:]:
        for field in ("sections", "items"):
            if whole["mode"] == "reload":
                whole[field] = whole.get(field, []) + part.get(field, [])
            else:
                lists = whole[field] = dict(whole.get(field, {}))
                for name, entries in part.get(field, {}).items():
                    lists[name] = lists.get(name, []) + entries
    return whole


def follow(servers, topic, once, on_change):
    consumer = kafka.Consumer({
        "bootstrap.servers": servers, "group.id": "follow.py", "enable.auto.commit": False,
        "isolation.level": "read_committed", "enable.partition.eof": True})
    partitions = consumer.list_topics(topic, 10).topics[topic].partitions
    consumer.assign([kafka.TopicPartition(topic, number, kafka.OFFSET_BEGINNING) for number in partitions])
    feeds, ended = {}, set()
    while not (once and len(ended) == len(partitions)):
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            if message.error().code() != kafka.KafkaError._PARTITION_EOF:
                raise kafka.KafkaException(message.error())
            ended.add(message.partition())
            continue
        kind, _, name = message.key().decode().partition("/")
        feed = (message.partition(), name)
        if message.value() is None:
            outcome = "removed" if kind == "k0" else "skipped"
        else:
            changeset = json.loads(message.value())
            outcome = feeds.setdefault(feed, Feed()).apply(changeset)
            if outcome == "applied":
                on_change(name, changeset, feeds[feed])
        if outcome == "removed" and feeds.pop(feed, None):
            on_change(name, {"mode": "delete"}, None)
    consumer.close()
    return {name: feed for (_, name), feed in feeds.items() if not feed.is_stale}


def show(name, changeset, feed):
    size = f"{len(feed.order)} sections, {len(feed.contents)} items" if feed else "gone"
    print(f"{name} {changeset['mode']} revision {changeset.get('revision', '-')}: {size}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("servers", help="bootstrap.servers")
    parser.add_argument("--topic", default="feeds.changesets")
    parser.add_argument("--once", action="store_true", help="print all feeds as JSON and exit")
    arguments = parser.parse_args()
    try:
        feeds = follow(arguments.servers, arguments.topic, arguments.once, (lambda *_: None) if arguments.once else show)
    except KeyboardInterrupt:
        feeds = {}
    for name, feed in sorted(feeds.items()):
        print(json.dumps({
            "feed": name, "epoch": feed.epoch, "revision": feed.revision, "checksum": feed.checksum(),
            "sections": feed.document()}))
