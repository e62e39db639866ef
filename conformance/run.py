#!/usr/bin/env python3
"""Runs FeedStore's conformance vectors against a program, or checks the vectors themselves.

    python3 conformance/run.py check
    python3 conformance/run.py replica COMMAND [ARGUMENT…]
    python3 conformance/run.py store COMMAND [ARGUMENT…]

`replica` starts COMMAND once for each vector, writes records to its standard input, a line of JSON each, and reads a
line of JSON for each from its standard output. `store` starts COMMAND as `COMMAND replay FILE --output FILE --rejected
FILE --set KEY=VALUE…`. README.md says what the lines are. Needs Python 3.8 and nothing else.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
WORD = 2**32 - 1


def rotated(value, bits):
    return (value << bits | value >> 32 - bits) & WORD


def xxh32(data):
    """XXH32 with seed 0, after https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md."""
    p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393

    def word(at):
        return int.from_bytes(data[at:at + 4], "little")

    at, total = 0, p5
    if len(data) >= 16:
        lanes = [p1 + p2 & WORD, p2, 0, -p1 & WORD]
        for at in range(0, len(data) - 15, 16):
            for number in range(4):
                lanes[number] = rotated(lanes[number] + word(at + 4 * number) * p2 & WORD, 13) * p1 & WORD
        at += 16
        total = sum(rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18)))
    total = total + len(data) & WORD
    while at + 4 <= len(data):
        total = rotated(total + word(at) * p3 & WORD, 17) * p4 & WORD
        at += 4
    for byte in data[at:]:
        total = rotated(total + byte * p5 & WORD, 11) * p1 & WORD
    for shift, factor in ((15, p2), (13, p3)):
        total = (total ^ total >> shift) * factor & WORD
    return total ^ total >> 16


try:
    from xxhash import xxh32_intdigest as fast_xxh32
except ImportError:
    fast_xxh32 = xxh32


def murmur2(data):
    """Kafka's murmur2, as org.apache.kafka.common.utils.Utils has it, without sign."""
    total = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at:at + 4], "little") * 0x5BD1E995 & WORD
        total = (total * 0x5BD1E995 & WORD) ^ ((word ^ word >> 24) * 0x5BD1E995 & WORD)
    if whole < len(data):
        total = (total ^ int.from_bytes(data[whole:], "little")) * 0x5BD1E995 & WORD
    total = (total ^ total >> 13) * 0x5BD1E995 & WORD
    return total ^ total >> 15


def texts(sections):
    """What the checksum is the sum of."""
    previous = ""
    for section in sections:
        yield f"s\0{previous}\0{section['id']}"
        previous, before = section["id"], ""
        for item in section["items"]:
            yield f"i\0{section['id']}\0{before}\0{item['id']}\0{item['kind']}"
            before = item["id"]


def checksum(sections):
    return f"{sum(fast_xxh32(text.encode()) for text in texts(sections)) & WORD:08x}"


TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{},:]|[^][{},:"\s]+')


def spelled(text):
    """JSON in which each `data` is a string with its text, so that its spelling can be compared."""
    pieces, data, depth, before = [], None, 0, ""
    for token in TOKEN.findall(text):
        if data is not None and depth == 0 and token in ",}]":
            pieces.append(json.dumps("".join(data)))
            data = None
        if data is not None:
            data.append(token)
            depth += (token in "[{") - (token in "]}")
        else:
            pieces.append(token)
            if (before, token) == ('"data"', ":"):
                data = []
        before = token
    return json.loads("".join(pieces))


def lines(name, parse=json.loads):
    return parsed((FOLDER / name).read_text("utf-8"), parse)


def parsed(text, parse=json.loads):
    # Only a line feed ends a line: JSON may have other separators in strings.
    return [parse(line) for line in text.split("\n") if line]


def manifest():
    found = json.loads((FOLDER / "manifest.json").read_text("utf-8"))
    if found["format"] != 1:
        sys.exit(f"run.py knows vectors of format 1, and these are of format {found['format']}")
    return found


# The vectors themselves.


def check():
    """What is wrong with the vectors, in words."""
    vectors = manifest()
    for name, file in vectors["files"].items():
        data = (FOLDER / name).read_bytes()
        if len(data) != file["bytes"] or f"{fast_xxh32(data):08x}" != file["xxh32"]:
            yield f"{name} is not the file of the manifest"
    for vector in lines("checksum.ndjson"):
        terms = [{"text": text, "xxh32": f"{xxh32(text.encode()):08x}"} for text in texts(vector["sections"])]
        if terms != vector["terms"] or checksum(vector["sections"]) != vector["checksum"]:
            yield f"checksum.ndjson: {vector['checksum']} is wrong"
    for vector in lines("partitioner.ndjson"):
        value = murmur2(vector["key"].encode())
        found = {count: (value & 0x7FFFFFFF) % int(count) for count in vector["partitions"]}
        if f"{value:08x}" != vector["murmur2"] or found != vector["partitions"]:
            yield f"partitioner.ndjson: {vector['key']} is wrong"
    names = [vector["name"] for vector in lines("rejections.ndjson")]
    if len(set(names)) < len(names):
        yield "rejections.ndjson: a name comes twice"
    for vector in vectors["replica"] + vectors["window"]:
        for number, line in enumerate(lines(vector["file"]), 1):
            then = line["then"] or {}
            if "sections" in then and checksum(then["sections"]) != then["checksum"]:
                yield f"{vector['file']}, line {number}: the checksum is wrong"
    for vector in vectors["store"]:
        name = f"store/{vector['name']}"
        for number, line in enumerate(lines(f"{name}/states.ndjson"), 1):
            if "sections" in line and checksum(line["sections"]) != line["checksum"]:
                yield f"{name}/states.ndjson, line {number}: the checksum is wrong"
        difference = other_states((FOLDER / name / "output.ndjson").read_text("utf-8"), vector["name"])
        if difference:
            yield f"{name}/output.ndjson: {difference}"


# Followers.


def same(found, expected):
    """Whether JSON values are the same: true is not 1, and 1.0 is 1."""
    if isinstance(found, bool) or isinstance(expected, bool):
        return found is expected
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[name], expected[name]) for name in found)
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return found == expected


def settings(section):
    """What a section has besides its id and items; without an order, a bound or a ttl, it has none."""
    return {name: section[name] for name in ("data", "order", "keep", "ttl") if name in section}


def content(entry, *names):
    """Fields of an item; without an end, it has none. Followers need not know of references."""
    return {name: entry[name] for name in names} | ({"expires": entry["expires"]} if "expires" in entry else {})


def ignores_orders(sections):
    return not any({"order", "keep"} & set(section) for section in sections)


def without_ends(element):
    """A section, or an item, without `ttl` and `expires`."""
    if not isinstance(element, dict):
        return element
    rest = {name: value for name, value in element.items() if name not in ("ttl", "expires")}
    if isinstance(rest.get("items"), list):
        rest["items"] = [without_ends(item) for item in rest["items"]]
    return rest


def differs(answer, then, known, exact=False):
    """How an answer differs from what the vector says; None if it does not. `known` is the newest state of the feed."""
    if then is None:
        return None
    for name in ("stale", "waiting"):
        if answer.get(name, False) is not then.get(name, False):
            return f"{name} is {answer.get(name, False)}, expected {then.get(name, False)}"
    # What is stale may be kept or not.
    if then.get("stale") and answer.get("epoch") is None:
        return None
    for name in ("epoch", "revision", "checksum", *({"window"} & set(then))):
        if answer.get(name) != then.get(name):
            return f"{name} is {answer.get(name)}, expected {then.get(name)}"
    # What ends is not in the vectors: a follower may ignore it.
    if isinstance(answer.get("sections"), list):
        answer = {**answer, "sections": [without_ends(section) for section in answer["sections"]]}
    # A follower of version 1.0 ignores orders and bounds.
    if known and not exact and ignores_orders(answer.get("sections") or []):
        known = [{name: value for name, value in section.items() if name not in ("order", "keep")} for section in known]
    if then["epoch"] is not None and not same(answer.get("sections"), known):
        return f"sections are {json.dumps(answer.get('sections'))}, expected {json.dumps(known)}"
    return None


def feed_of(record):
    return record["then"] and (record.get("partition"), record["then"]["feed"])


def follow(command, vector, parse):
    """What is wrong with a program's answers for a vector; None if nothing."""
    left = list(enumerate(zip(lines(vector["file"]), lines(vector["file"], parse)), 1))
    # A program that stops reads nothing more: feeds that begin later are given to another run of it.
    while left:
        fault, read = follow_once(command, left, parse)
        if fault:
            return fault
        begun = {feed_of(record) for _, (_, record) in left[:read]}
        left = [line for line in left[read:] if feed_of(line[1][1]) not in begun]
    return None


def follow_once(command, numbered, parse):
    """What is wrong with the answers of one run, and how many records it has read."""
    asked = "".join(
        json.dumps({name: value for name, value in record.items() if name != "then"}) + "\n" for _, (record, _) in numbered)
    result = subprocess.run(command, input=asked, stdout=subprocess.PIPE, encoding="utf-8")
    answers = result.stdout.split("\n")[:-1]
    states = {}
    for place, (number, (_, record)) in enumerate(numbered):
        then, feed = record["then"], feed_of(record)
        if then and "sections" in then:
            states[feed] = then["sections"]
        if place >= len(answers):
            return f"line {number}: no answer; the program ended with {result.returncode}", place
        answer = parse(answers[place])
        # A program that stops at a record that is not a changeset is right.
        if answer.get("stopped") and (then is None or then.get("refused")):
            return None, place + 1
        difference = differs(answer, then, states.get(feed), parse is spelled)
        if difference:
            return f"line {number}, {record.get('key') or record.get('event')}: {difference}", place
    if len(answers) > len(numbered):
        return f"{len(answers)} answers to {len(numbered)} records", place
    return None, len(numbered)


# Stores.


def taken(elements, index, name):
    """Takes an element out of a list, in which None remains."""
    if not 0 <= index < len(elements) or elements[index] is None or elements[index]["id"] != name:
        raise LookupError(f"{name} is not at {index}")
    element, elements[index] = elements[index], None
    return element


def put(elements, arriving):
    """A list without what was taken, and with elements at their positions in the result."""
    elements[:] = [element for element in elements if element is not None]
    for index, element in sorted(arriving, key=lambda pair: pair[0]):
        if not 0 <= index <= len(elements):
            raise LookupError(f"{element['id']} cannot be at {index}")
        elements.insert(index, element)


def applied(parts, sections):
    """The sections after a changeset, by chapter 11 of the protocol."""
    if parts[0]["mode"] == "reload":
        result = []
        for section in (section for part in parts for section in part.get("sections", [])):
            if "data" in section:
                result.append({"id": section["id"], **settings(section), "items": []})
            elif not result or result[-1]["id"] != section["id"]:
                raise LookupError(f"section {section['id']} has no data")
            result[-1]["items"] += [content(item, "id", "kind", "data") for item in section.get("items", [])]
        return result

    def entries(group, *names):
        return [entry for name in names for part in parts for entry in part.get(group, {}).get(name, [])]

    result = [{**section, "items": list(section["items"])} for section in sections]
    items = {section["id"]: section["items"] for section in result}
    arriving = {}

    def arrive(place, item):
        arriving.setdefault(place["section"], []).append((place["index"], item))

    for entry in entries("items", "delete"):
        taken(items[entry["section"]], entry["index"], entry["id"])
    for entry in entries("items", "move"):
        arrive(entry["to"], taken(items[entry["from"]["section"]], entry["from"]["index"], entry["id"]))
    for entry in entries("sections", "delete"):
        taken(result, entry["index"], entry["id"])
    coming = [(entry["to"], taken(result, entry["from"], entry["id"])) for entry in entries("sections", "move")]
    coming += [
        (entry["index"], {"id": entry["id"], **settings(entry), "items": []}) for entry in entries("sections", "insert")]
    put(result, coming)
    for entry in entries("items", "insert"):
        arrive(entry, content(entry, "id", "kind", "data"))
    items = {section["id"]: section["items"] for section in result}
    for name in [*items, *(name for name in arriving if name not in items)]:
        put(items[name], arriving.get(name, []))
    # The base keeps its elements as they were.
    for entry in entries("sections", "reconfigure", "reload"):
        section = taken(result, entry["index"], entry["id"])
        result[entry["index"]] = {"id": section["id"], **settings(entry), "items": section["items"]}
    for name in "reconfigure", "reload":
        for entry in entries("items", name):
            elements, index = items[entry["section"]], entry["index"]
            elements[index] = content({"kind": taken(elements, index, entry["id"])["kind"], **entry}, "id", "kind", "data")
    return result


def states(output):
    """The state of each revision that a store's output publishes, in order, as lines of `states.ndjson`."""
    feeds, parts = {}, []
    for number, line in enumerate(output.split("\n")[:-1], 1):
        record = spelled(line)
        changeset = record["value"]
        if changeset is None:
            continue
        parts.append(changeset)
        if len(parts) < changeset.get("parts", 1):
            continue
        feed = record["partition"], changeset["feed"]
        state = {"partition": feed[0], **{name: changeset[name] for name in ("feed", "epoch", "revision")}}
        try:
            if changeset["mode"] == "delete":
                feeds.pop(feed)
                state["deleted"] = True
            else:
                state["checksum"] = changeset["checksum"]
                state["sections"] = feeds[feed] = applied(parts, feeds.get(feed))
                if checksum(feeds[feed]) != changeset["checksum"]:
                    raise LookupError(f"the checksum is {changeset['checksum']}, expected {checksum(feeds[feed])}")
        except (LookupError, TypeError) as error:
            raise LookupError(f"line {number} cannot be applied: {error}") from error
        parts = []
        # A keyframe has the state of the revision before it.
        if changeset["base"] < changeset["revision"]:
            yield state


def other_states(output, name):
    """How the states of an output differ from those of a vector; None if they do not."""
    expected = lines(f"store/{name}/states.ndjson", spelled)
    try:
        found = list(states(output))
    except LookupError as error:
        return str(error)
    for number, pair in enumerate(zip(found, expected), 1):
        if not same(*pair):
            return f"state {number} is\n{json.dumps(pair[0])}\nexpected\n{json.dumps(pair[1])}"
    return None if len(found) == len(expected) else f"{len(found)} states, expected {len(expected)}"


def decided(output):
    """What the protocol decides of an output where several sets of moves are correct: everything but moves, and what depends on their bytes."""
    found = []
    for line in output.split("\n")[:-1]:
        record = spelled(line)
        changeset = record["value"]
        headers = dict(zip(record["headers"][::2], record["headers"][1::2]))
        # Parts, keyframes and the numbers of keys depend on the bytes of differences.
        if changeset is None or changeset.get("reason") == "keyframe" or changeset.get("part", 0) > 0:
            continue
        head = {name: value for name, value in changeset.items() if name not in ("part", "parts", "sections", "items")}
        if "parts" not in changeset and changeset["mode"] in ("diff", "reconfigure"):
            for group in ("sections", "items"):
                head[group] = {name: entries for name, entries in changeset.get(group, {}).items() if name != "move"}
        plan = json.loads(headers.pop("feedstore.plan", "null"))
        headers["plan"] = plan and {name: value for name, value in plan.items() if name not in ("weight", "differenceBytes")}
        found.append({"partition": record["partition"], "ts": record["ts"], "head": head, "headers": headers})
    return found


def replay(command, text, settings):
    """What a store makes of input: output, and rejected records."""
    with tempfile.TemporaryDirectory() as folder:
        names = {name: str(pathlib.Path(folder, name)) for name in ("input", "output", "rejected")}
        pathlib.Path(names["input"]).write_bytes(text)
        command = [*command, "replay", names["input"], "--output", names["output"], "--rejected", names["rejected"]]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return pathlib.Path(names["output"]).read_bytes(), parsed(pathlib.Path(names["rejected"]).read_text("utf-8"))


def codes(rejected):
    for line in rejected:
        headers = dict(zip(line["headers"][::2], line["headers"][1::2]))
        yield {
            "topic": headers["feedstore.source.topic"], "partition": int(headers["feedstore.source.partition"]),
            "offset": int(headers["feedstore.source.offset"]), "ts": line["ts"], "code": headers["feedstore.error.code"]}


def keep(command, vector):
    folder = FOLDER / "store" / vector["name"]
    output, rejected = replay(command, (folder / "input.ndjson").read_bytes(), vector["settings"])
    if list(codes(rejected)) != lines(f"store/{vector['name']}/rejected.ndjson"):
        return "other records are rejected, or for other reasons, or with other timestamps"
    if vector["exact"]:
        expected = (folder / "output.ndjson").read_bytes()
        for number, pair in enumerate(zip(output.split(b"\n"), expected.split(b"\n")), 1):
            if pair[0] != pair[1]:
                return f"line {number} is\n{pair[0].decode()}\nexpected\n{pair[1].decode()}"
        if len(output) != len(expected):
            return f"{len(output)} bytes of output, expected {len(expected)}"
    else:
        found, expected = (decided(text) for text in (output.decode(), (folder / "output.ndjson").read_text("utf-8")))
        for number, pair in enumerate(zip(found, expected), 1):
            if pair[0] != pair[1]:
                return f"changeset {number} is, without its moves,\n{json.dumps(pair[0])}\nexpected\n{json.dumps(pair[1])}"
        if len(found) != len(expected):
            return f"{len(found)} changesets, expected {len(expected)}"
    return other_states(output.decode(), vector["name"])


def reject(command, vector):
    text = "".join(json.dumps(record) + "\n" for record in vector["records"])
    _, rejected = replay(command, text.encode(), vector["settings"])
    found = [None] * len(vector["records"])
    for line in codes(rejected):
        found[line["offset"]] = line["code"]
    return None if found == vector["codes"] else f"the codes are {found}, expected {vector['codes']}"


# A configuration of FeedStore's command refuses so small parts; a store of your own need not.
LEAST_MESSAGE_BYTES = 65537


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="only vectors whose names have this text")
    parser.add_argument("--small-parts", action="store_true", help="with store: also where output.maxMessageBytes is small")
    parser.add_argument("--exact", action="store_true", help="with replica and window: compare the spelling of data, not only its value")
    parser.add_argument("what", choices=("check", "replica", "window", "store"))
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run")
    options = parser.parse_args()
    if options.what == "check":
        faults = list(check())
        print("\n".join(faults) or "the vectors are sound")
        return 1 if faults else 0
    if not options.command:
        parser.error(f"{options.what} needs a command")
    if options.what in ("replica", "window"):
        parse = spelled if options.exact else json.loads
        runs = [(vector["name"], lambda *run: follow(*run, parse), vector) for vector in manifest()[options.what]]
    else:
        runs = [(vector["name"], keep, vector) for vector in manifest()["store"]
                if options.small_parts or vector["settings"].get("output.maxMessageBytes", 2**31) >= LEAST_MESSAGE_BYTES]
        runs += [(f"rejection: {vector['name']}", reject, vector) for vector in lines("rejections.ndjson")]
    runs = [run for run in runs if options.only in run[0]]
    failed = 0
    # Most of the time is that of starting programs.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = pool.map(lambda one: one[1](options.command, one[2]), runs)
        for (name, _, _), fault in zip(runs, faults):
            if fault:
                failed += 1
                print(f"FAILED {name}: {fault}", flush=True)
    print(f"{len(runs) - failed} of {len(runs)} vectors passed")
    return 1 if failed or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
