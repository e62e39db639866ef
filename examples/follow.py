#!/usr/bin/env python3
"""Follows FeedStore's changesets and prints each feed as it changes.

    apt-get install python3-confluent-kafka python3-xxhash     (or pip install confluent-kafka xxhash)
    python3 examples/follow.py localhost:9092

It reads the compacted topic from its beginning, so it needs no other store, and keeps a replica of every feed. The
rules are those of docs/protocol.md, section 11. With --once it prints the feeds at the end of the topic as
JSON, one per line, and exits; data is printed as its producer spelled it. Once it has started, it waits for brokers
that are unavailable. If Kafka refuses a request, for example because the topic does not exist, it exits with code 1.
"""
import argparse
import errno
import json
import os
import re
import sys

import confluent_kafka as kafka
import xxhash


class Feed:
    """A replica of one feed: sections in order, each with its items' ids in order; contents by id."""

    def __init__(self):
        # None until the first reload arrives.
        self.epoch, self.revision, self.is_stale = None, 0, False
        self.order, self.sections, self.items, self.contents = [], {}, {}, {}
        self.parts = []

    def apply(self, changeset):
        """Applies one record's value; returns the outcome: applied, skipped, waiting, removed or gap."""
        is_same, is_reload = changeset["epoch"] == self.epoch, changeset["mode"] == "reload"
        if changeset["mode"] == "delete":
            return "removed" if is_same or self.epoch is None else self.gap()
        if is_same and changeset["revision"] <= self.revision:
            if not is_reload or changeset["revision"] < self.revision:
                return "skipped"
            # A keyframe of the same revision with another checksum means that this replica is wrong.
            self.is_stale = self.is_stale or changeset["checksum"] != self.checksum()
            if not self.is_stale:
                return "skipped"
        if not is_reload and (not is_same or self.is_stale or changeset["base"] != self.revision):
            return self.gap()
        part = changeset.get("part", 0)
        if part == 0:
            self.parts = []
        if len(self.parts) != part or any(
                self.parts[0].get(field) != changeset.get(field) for field in SAME_IN_PARTS if self.parts):
            return self.gap()
        self.parts.append(changeset)
        if len(self.parts) < changeset.get("parts", 1):
            return "waiting"
        parts, self.parts = self.parts, []
        if is_reload:
            self.reload([section for part in parts for section in listed(part, "sections")])
        else:
            self.change(join(parts, "sections"), join(parts, "items"))
        if self.checksum() != changeset["checksum"]:
            raise ValueError(f"feed {changeset['feed']}, revision {changeset['revision']}: the checksum differs")
        self.epoch, self.revision, self.is_stale = changeset["epoch"], changeset["revision"], False
        return "applied"

    def gap(self):
        """Marks the replica as stale: no change can be applied until the next reload."""
        self.is_stale, self.parts = True, []
        return "gap"

    def reload(self, sections):
        self.order, self.sections, self.items, self.contents = [], {}, {}, {}
        for section in sections:
            if "data" in section:
                once(self.sections, text(section, "id"))
                self.order.append(section["id"])
                self.sections[section["id"]], self.items[section["id"]] = content(section), []
            else:  # it continues in the next part
                check(self.order, len(self.order) - 1, section["id"])
            for item in listed(section, "items"):
                once(self.contents, text(item, "id"))
                self.items[section["id"]].append(item["id"])
                self.contents[item["id"]] = (text(item, "kind", 0), item["data"])

    def change(self, sections, items):
        # First remove everything that is deleted or moved: these positions refer to the old order.
        gone = {}
        for entry in items.get("delete", []):
            gone.setdefault(entry["section"], []).append((entry["index"], entry["id"]))
            del self.contents[entry["id"]]
        for entry in items.get("move", []):
            gone.setdefault(entry["from"]["section"], []).append((entry["from"]["index"], entry["id"]))
        for section, places in gone.items():
            self.items[section] = without(self.items[section], places)
        leaving = [(entry["index"], entry["id"]) for entry in sections.get("delete", [])]
        leaving += [(entry["from"], entry["id"]) for entry in sections.get("move", [])]
        self.order = without(self.order, leaving)
        for entry in sections.get("delete", []):
            for item in self.items.pop(entry["id"]):
                del self.contents[item]
            del self.sections[entry["id"]]
        # Then insert everything at its new position.
        coming = [(entry["index"], entry["id"]) for entry in sections.get("insert", [])]
        coming += [(entry["to"], entry["id"]) for entry in sections.get("move", [])]
        self.order = merged(self.order, coming)
        for entry in sections.get("insert", []):
            once(self.items, text(entry, "id"))
            self.items[entry["id"]] = []
        coming = {}
        for entry in items.get("insert", []):
            coming.setdefault(entry["section"], []).append((entry["index"], entry["id"]))
        for entry in items.get("move", []):
            coming.setdefault(entry["to"]["section"], []).append((entry["to"]["index"], entry["id"]))
        for section, places in coming.items():
            self.items[section] = merged(self.items[section], places)
        # Finally replace contents; a reconfigured item keeps its kind.
        for name in ("insert", "reconfigure", "reload"):
            for entry in sections.get(name, []):
                check(self.order, entry["index"], entry["id"])
                self.sections[entry["id"]] = content(entry)
            for entry in items.get(name, []):
                check(self.items[entry["section"]], entry["index"], entry["id"])
                if name == "insert":
                    once(self.contents, text(entry, "id"))
                kind = self.contents[entry["id"]][0] if name == "reconfigure" else text(entry, "kind", 0)
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
        """The feed as a reload lists it. Data is its JSON text."""
        return [
            {"id": section, **self.sections[section], "items": [
                {"id": item, "kind": self.contents[item][0], "data": self.contents[item][1]}
                for item in self.items[section]]}
            for section in self.order]


def content(section):
    """What a section consists of besides its items: data, and an order and a bound if it has them."""
    return {"data": section["data"], **{name: section[name] for name in ("order", "keep") if name in section}}


SAME_IN_PARTS = ("epoch", "revision", "mode", "reason", "parts", "checksum")


def check(ids, index, identifier):
    if type(index) is not int or not 0 <= index < len(ids) or ids[index] != identifier:
        raise ValueError(f"{identifier} is not at {index}")


def once(ids, identifier):
    if identifier in ids:
        raise ValueError(f"{identifier} is there twice")


def without(ids, places):
    """The list without the ids at these positions, which must match."""
    gone = dict(places)
    if len(gone) < len(places):
        raise ValueError("something is removed from one position twice")
    for index, identifier in places:
        check(ids, index, identifier)
    return [identifier for index, identifier in enumerate(ids) if index not in gone]


def merged(ids, places):
    """The list with further ids at these positions, which count in the result."""
    # One pass: list.insert would shift the rest of the list for each of them.
    result, used = [], 0
    for inserted, (index, identifier) in enumerate(sorted(places)):
        before = index - inserted if type(index) is int else -1  # so many of the old ids come before it
        if not used <= before <= len(ids):
            raise ValueError(f"{identifier} cannot be put at {index}")
        result += ids[used:before]
        result.append(identifier)
        used = before
    return result + ids[used:]


def join(parts, field):
    """Joins the lists of sections or of items in all parts of a difference."""
    return {
        name: [entry for part in parts for entry in listed(part.get(field, {}), name)]
        for name in ("delete", "insert", "move", "reconfigure", "reload")}


def listed(value, name):
    """The elements of a list, which may be absent."""
    if not isinstance(value, dict) or not isinstance(value.get(name, []), list):
        raise ValueError(f"{name} is not a list")
    return value.get(name, [])


def text(entry, name, fewest=1):
    """An id or a kind."""
    if not isinstance(entry[name], str) or not fewest <= len(entry[name].encode()) <= 255:
        raise ValueError(f"{name} is no text of {fewest} to 255 bytes")
    return entry[name]


class Refused(Exception):
    """A permanent error; the message has the remedy."""


# Python's json is recursive, and its numbers are limited. Values of unknown fields beyond that become text.
MOST_DIGITS, MOST_LEVELS = 600, 100


def integer(text):
    if text == "-0":
        return -0.0
    return int(text) if len(text) <= MOST_DIGITS else text


def no_json(name):
    raise ValueError(f"{name} is not JSON")


def shallow(text):
    """Serialises a value; parts that are nested too deeply become strings."""
    pieces, level, end, in_string = [], 0, 0, False
    # Short tokens only: a pattern of whole strings would seek the end of an open one from each of its quotes.
    for token in re.finditer(r'\\.|["\[\]{}]', text):
        if token[0] == '"':
            in_string = not in_string
        elif in_string:
            continue
        elif token[0] in "[{":
            level += 1
            if level == MOST_LEVELS + 1:
                pieces.append(text[end:token.start()])
                end = token.start()
        elif token[0] in "]}":
            if level == MOST_LEVELS + 1:
                pieces.append(json.dumps(text[end:token.end()]))
                end = token.end()
            level -= 1
    return "".join(pieces) + text[end:]


TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]')
LISTS = [(kind, name) for kind in ("sections", "items") for name in ("insert", "reconfigure", "reload")]
# Where data is: the names of the members that lead to it, and None for each list.
DATA = {("sections", None, "data"), ("sections", None, "items", None, "data"), *((*names, None, "data") for names in LISTS)}


def with_data_as_text(text):
    """Replaces all data by strings that hold its JSON: parsed, numbers and repeated members would lose their spelling."""
    pieces, end, names, before = [], 0, [], None
    start = None  # of the data that is being read
    for token in TOKEN.finditer(text):
        kind = token[0]
        if start is None and kind == ":":
            names[-1] = json.loads(before[0])
            if tuple(names) in DATA:
                start, level = token.end(), len(names)
        if kind in ",}]" and start is not None and len(names) == level:
            pieces += [text[end:start], json.dumps(text[start:token.start()].strip())]
            start, end = None, token.start()
        if kind in "[{":
            names.append(None)
        elif kind in "]}":
            names.pop()
        before = token
    return "".join(pieces) + text[end:]


def parse(value):
    """A changeset, with all data in it as JSON text."""
    text = value.decode()
    # Whether it is JSON, whatever its numbers are.
    load(text, parse_int=str, parse_float=str)
    return load(with_data_as_text(text), parse_int=integer)


def load(text, **numbers):
    if text.count("[") + text.count("{") > MOST_LEVELS:
        text = shallow(text)
    return json.loads(text, parse_constant=no_json, **numbers)


def written(document):
    """A document as JSON."""
    def with_data(element, **members):
        fields = {"id": json.dumps(element["id"]), **members}
        return "{" + "".join(f'"{name}": {value}, ' for name, value in fields.items()) + f'"data": {element["data"]}'

    def settings(section):
        return "".join(f', "{name}": {json.dumps(section[name])}' for name in ("order", "keep") if name in section)

    def listed(elements):
        return "[" + ", ".join(elements) + "]"

    return listed(
        with_data(section) + settings(section) + ', "items": ' + listed(
            with_data(item, kind=json.dumps(item["kind"])) + "}" for item in section["items"]) + "}"
        for section in document)


KEY = re.compile(r"(?P<kind>k0|[kd][1-9][0-9]{0,6})/(?P<feed>.+)", re.DOTALL)
TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
FIELDS = {
    "feed": str, "epoch": str, "revision": int, "base": int, "mode": str, "reason": str, "time": str, "through": dict,
    "checksum": str, "part": int, "parts": int}


def parse_key(key):
    """The first part of a key, such as k0 or d7, and the feed."""
    match = KEY.fullmatch(key.decode())
    if match is None or int(match["kind"][1:]) > 1_000_000:
        raise ValueError(f"{key!r} is no key of a changesets topic")
    return match["kind"], match["feed"]


def parse_changeset(value, kind, feed):
    changeset = {"part": 0, "parts": 1, "reason": "", **parse(value)}
    for field, type_ in FIELDS.items():
        if type(changeset.get(field)) is not type_ or type_ is int and not 0 <= changeset[field] < 2**53:
            raise ValueError(f"{field} is missing, or of the wrong type")
    through = changeset["through"]
    if len(through) > 200 or not all(map(TOPIC.fullmatch, through)) or any(
            type(offset) is not int or not 0 <= offset < 2**53 for offset in through.values()):
        raise ValueError("through has something else than offsets of topics")
    if not re.fullmatch("[0-9a-f]{8}", changeset["checksum"]):
        raise ValueError("checksum is not eight hexadecimal digits")
    if changeset["feed"] != feed or changeset["mode"] not in ("reconfigure", "diff", "reload", "delete"):
        raise ValueError("it is of another feed, or of a mode that is not known")
    if not changeset["part"] < changeset["parts"] <= 1_000_001:
        raise ValueError("there is no such part")
    if kind != f"k{changeset['part']}" if changeset["mode"] == "reload" else kind[0] != "d":
        raise ValueError("its key is that of another record")
    return changeset


def warn(text):
    print(f"follow.py: {text}", file=sys.stderr, flush=True)


def partitions_of(consumer, topic):
    """The numbers of the topic's partitions."""
    try:
        # All topics, because requesting one by name could create it.
        found = consumer.list_topics(timeout=10).topics.get(topic)
    except kafka.KafkaException as error:
        raise Refused(f"no broker answers: {error.args[0].str()}; check the address, and that they are up") from None
    if found is None:
        raise Refused(f"there is no topic {topic}, or you may not read it; check its name and your rights")
    if found.error is not None:
        raise Refused(f"cannot read topic {topic}: {found.error.str()}; check your rights")
    for partition in found.partitions.values():
        if partition.error is not None:
            warn(f"waiting for partition {partition.id} of {topic}: {partition.error.str()}")
    return sorted(found.partitions)


def follow(servers, topic, once, on_change):
    """Calls `on_change(partition, name, changeset, feed)`; returns the feeds at the end, by partition and name."""
    consumer = kafka.Consumer({
        "bootstrap.servers": servers, "group.id": "follow.py", "enable.auto.commit": False,
        "isolation.level": "read_committed", "enable.partition.eof": True, "error_cb": lambda error: warn(error.str())})
    partitions = partitions_of(consumer, topic)
    consumer.assign([kafka.TopicPartition(topic, number, kafka.OFFSET_BEGINNING) for number in partitions])
    feeds, ended = {}, set()
    while not (once and len(ended) == len(partitions)):
        message = consumer.poll(1)
        if message is None:
            continue
        error = message.error()
        if error is None:
            take(message, feeds, on_change)
        elif error.code() == kafka.KafkaError._PARTITION_EOF:
            ended.add(message.partition())
        else:
            raise Refused(f"cannot read topic {topic}: {error.str()}; check its name and your rights")
    consumer.close()
    return {key: feed for key, feed in feeds.items() if feed.epoch is not None and not feed.is_stale}


def take(message, feeds, on_change):
    """Applies a record to its feed. The same id in two partitions denotes two feeds."""
    key, feed = None, None
    try:
        kind, name = parse_key(message.key())
        key = (message.partition(), name)
        feed = feeds.get(key) or Feed()
        if message.value() is None:
            changeset = {"mode": "delete"}
            # Only a deletion makes deltas null, so a feed without a state is not waited for any more.
            outcome = "removed" if kind == "k0" or kind[0] == "d" and feed.epoch is None else "skipped"
        else:
            changeset = parse_changeset(message.value(), kind, name)
            outcome = feed.apply(changeset)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as fault:
        # An invalid changeset, or one that does not fit: the feed's next reload corrects it.
        place = f"partition {message.partition()}, offset {message.offset()}"
        warn(f"{place} is skipped: {type(fault).__name__}: {fault}")
        if feed:
            feed.gap()
            feeds[key] = feed
        return
    if outcome == "removed":
        # A deletion is not reported if the feed was never reported.
        if feeds.pop(key, feed).epoch is not None:
            on_change(*key, changeset, None)
        return
    if outcome != "skipped":
        feeds[key] = feed
    if outcome == "applied":
        on_change(*key, changeset, feed)


def show(partition, name, changeset, feed):
    size = f"{len(feed.order)} sections, {len(feed.contents)} items" if feed else "gone"
    print(f"{name} [{partition}] {changeset['mode']} revision {changeset.get('revision', '-')}: {size}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("servers", help="bootstrap.servers")
    parser.add_argument("--topic", default="feeds.changesets")
    parser.add_argument("--once", action="store_true", help="print all feeds as JSON and exit")
    arguments = parser.parse_args()
    # The terminal's encoding may lack some characters. JSON is always UTF-8.
    sys.stdout.reconfigure(encoding="utf-8" if arguments.once else None, errors="backslashreplace")
    try:
        feeds = follow(arguments.servers, arguments.topic, arguments.once, (lambda *_: None) if arguments.once else show)
    except Refused as error:
        sys.exit(f"follow.py: {error}")
    except KeyboardInterrupt:
        feeds = {}
    for (partition, name), feed in sorted(feeds.items()):
        head = {"feed": name, "partition": partition, "epoch": feed.epoch, "revision": feed.revision, "checksum": feed.checksum()}
        print(f'{json.dumps(head)[:-1]}, "sections": {written(feed.document())}}}')
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        # Whatever is left would fail again at the exit. A pipe whose reader has gone (`| head -1`) is no failure.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(None if error.errno == errno.EPIPE else f"follow.py: cannot write standard output: {error.strerror}")
