#!/usr/bin/env python3
"""pending.py: writes the vectors in `pending`, from a model of what a client shows while writes are pending.

The model is plain and slow. `python3 conformance/pending.py` writes the files; with `--check` it only compares them.
"""

import functools
import json
import pathlib
import random
import sys

FOLDER = pathlib.Path(__file__).parent / "pending"


class Model:
    """The sections that a window shows, to which records are applied one after the other."""

    def __init__(self, state, window):
        self.sections = json.loads(json.dumps(state))
        self.window = window

    def record(self, events):
        for event in events:
            self.event(event)
        for section in self.sections:
            keep = section.get("keep", section["of"])
            section["of"] = min(section["of"], keep)
            most = min(self.window.get("first", self.window.get("count", section["of"])), keep - section["from"])
            del section["items"][max(0, most):]

    def event(self, event):
        if event["op"] == "section.upsert":
            return self.upsert_section(event)
        section, item = self.find(event["item"])
        if event["op"] == "item.upsert":
            name = event.get("section", section and section["id"])
            if name is None or not self.is_place(name, event):
                return
            if item is None:
                self.put({"id": event["item"], "kind": event.get("kind", ""), "data": event.get("data")}, name, event)
                return
            item.update({key: event[key] for key in ("kind", "data") if key in event})
            self.settle(section, item, name, event)
        elif item is None:
            return
        elif event["op"] == "item.patch":
            item["data"] = merged(item["data"], event["data"])
            self.settle(section, item, section["id"], {})
        elif event["op"] == "item.move" and self.is_place(event.get("section", section["id"]), event):
            if "at" in event or event.get("section", section["id"]) != section["id"]:
                self.settle(section, item, event.get("section", section["id"]), event)
        elif event["op"] == "item.delete":
            self.remove(section, item)

    def settle(self, section, item, name, event):
        """Puts an item where it belongs after a change: it has another place, or its section is sorted and there as a whole."""
        if name != section["id"] or "at" in event or ("order" in section and is_whole(section)):
            self.remove(section, item)
            self.put(item, name, event)

    def put(self, item, name, event):
        section = self.section(name)
        if section is None:
            # The window does not show it.
            return
        items, at = section["items"], event.get("at", "last")
        if "order" in section and is_whole(section):
            position = sum(compared(section["order"], other, item) < 0 for other in items)
        elif "order" in section or at == "last":
            position = section["of"] - section["from"]
        elif at == "first":
            position = -section["from"]
        elif "index" in at:
            position = min(at["index"], section["of"]) - section["from"]
        else:
            anchor = at.get("before", at.get("after"))
            position = [other["id"] for other in items].index(anchor) + ("after" in at)
        section["of"] += 1
        if 0 <= position <= len(items):
            items.insert(position, item)

    def remove(self, section, item):
        section["items"].remove(item)
        section["of"] -= 1

    def is_place(self, name, event):
        """Whether the place is known. The daemon refuses places in an ordered section."""
        at = event.get("at")
        section = next((one for one in self.sections if one["id"] == name), {"items": []})
        if at is None or isinstance(at, str) or "index" in at:
            return at is None or "order" not in section
        anchor = at.get("before", at.get("after"))
        return "order" not in section and anchor != event["item"] and any(item["id"] == anchor for item in section["items"])

    def section(self, name):
        found = next((one for one in self.sections if one["id"] == name), None)
        if found is None and "sections" not in self.window:
            found = {"id": name, "data": None, "from": 0, "of": 0, "items": []}
            self.sections.append(found)
        return found

    def find(self, item):
        return next(((one, it) for one in self.sections for it in one["items"] if it["id"] == item), (None, None))

    def upsert_section(self, event):
        name, at = event["section"], event.get("at")
        others = [one for one in self.sections if one["id"] != name]
        known = len(others) < len(self.sections)
        names = [one["id"] for one in others]
        anchor = at.get("before", at.get("after")) if isinstance(at, dict) else None
        has_all = "sections" not in self.window
        if not known and not has_all or has_all and anchor is not None and anchor not in names:
            return
        section = self.section(name)
        if "data" in event:
            section["data"] = event["data"]
        for key in ("order", "keep"):
            if event.get(key) is not None:
                section[key] = event[key]
            elif key in event:
                section.pop(key, None)
        if event.get("order") and is_whole(section):
            section["items"].sort(key=functools.cmp_to_key(functools.partial(compared, section["order"])))
        if at is not None and has_all:
            index = 0 if at == "first" else len(others) if at == "last" else at.get("index", 0)
            index = index if anchor is None else names.index(anchor) + ("after" in at)
            others.insert(min(index, len(others)), section)
            self.sections = others


def is_whole(section):
    return section["from"] == 0 and len(section["items"]) == section["of"]


def merged(target, patch):
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        result.pop(name, None)
        if value is not None:
            result[name] = merged(target.get(name) if isinstance(target, dict) else None, value)
    return result


def value_at(data, pointer):
    for name in pointer.split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        if isinstance(data, list) and name.isascii() and name.isdigit() and str(int(name)) == name and int(name) < len(data):
            data = data[int(name)]
        elif isinstance(data, dict) and name in data:
            data = data[name]
        else:
            return None
    return data


def key_of(value):
    if isinstance(value, bool):
        return 0, value
    if isinstance(value, (int, float)):
        return 1, value
    return (2, value.encode()) if isinstance(value, str) else (3, 0)


def compared(order, one, other):
    for key in order:
        first, second = (key_of(value_at(item["data"], key["by"])) for item in (one, other))
        if first != second:
            is_reversed = key.get("direction") == "descending" and 3 not in (first[0], second[0])
            return -1 if (first < second) != is_reversed else 1
    return -1 if one["id"].encode() < other["id"].encode() else 1


def section(name, *items, data=None, start=0, of=None, **more):
    listed = [{"id": item[0], "kind": "", "data": item[1]} if isinstance(item, tuple) else {"id": item, "kind": "", "data": None} for item in items]
    return {"id": name, "data": data, **more, "from": start, "of": len(listed) if of is None else of, "items": listed}


def upsert(item, section=None, **more):
    return {"op": "item.upsert", "item": item, **({"section": section} if section else {}), **more}


def move(item, **more):
    return {"op": "item.move", "item": item, **more}


def patch(item, data):
    return {"op": "item.patch", "item": item, "data": data}


def head(name, **more):
    return {"op": "section.upsert", "section": name, **more}


SCORES = [{"by": "/n", "direction": "descending"}]
TWO = [section("s", "a", "b", "c"), section("t", "x")]
PART = [section("s", "c", "d", start=2, of=10)]
FIRST = [section("s", "a", "b", of=9), section("t", "x")]
BOARD = [section("s", ("a", {"n": 9}), ("b", {"n": 5}), ("c", {"n": 1}), order=SCORES)]
BOARD_PART = [section("s", ("a", {"n": 9}), ("b", {"n": 5}), order=SCORES, of=7)]

# Title, window, state, records.
CASES = [
    ("an item is added at the end", {}, TWO, [[upsert("n", "s", kind="k", data={"x": 1})]]),
    ("an item is added at its place", {}, TWO, [[upsert("n", "s", at="first"), upsert("o", "s", at={"index": 2}), upsert("p", "s", at={"after": "c"}), upsert("q", "s", at={"before": "x"})]]),
    ("an item gets other data and another kind", {}, TWO, [[upsert("a", data=1), upsert("b", "s", kind="k")], [patch("a", {"x": {"y": None, "z": 2}})]]),
    ("an upsert moves an item", {}, TWO, [[upsert("a", "t", data=7)], [upsert("b", at="last")]]),
    ("an item is moved", {}, TWO, [[move("c", at="first"), move("a", section="t", at={"before": "x"}), move("b")]]),
    ("items are deleted", {}, TWO, [[{"op": "item.delete", "item": "a"}], [{"op": "item.delete", "item": "z"}, patch("a", 1)]]),
    ("a place beside an item that is not there shows nothing", {}, TWO, [[upsert("a", data=1, at={"before": "x"})], [move("b", at={"after": "b"})], [upsert("n", "s", at={"after": "z"})]]),
    ("a new item makes its section", {}, TWO, [[upsert("n", "new", data=1)], [move("a", section="newer")]]),
    ("an item that moves out of the window disappears", {"sections": ["s"], "from": 2, "count": 2}, PART, [[move("c", at="first")], [move("d", at={"index": 9})]]),
    ("an item that moves to a section that the window does not show disappears", {"sections": ["s"], "from": 2, "count": 2}, PART, [[upsert("c", "other", data=1)]]),
    ("a new item outside of the window is counted", {"sections": ["s"], "from": 2, "count": 2}, PART, [[upsert("n", "s", at="first"), upsert("o", "s"), upsert("p", "s", at={"index": 1})]]),
    ("a full window is cut", {"first": 2}, FIRST, [[upsert("n", "s", at="first"), upsert("o", "t")], [upsert("p", "t")]]),
    ("a window is cut after each record", {"first": 2}, FIRST, [[upsert("n", "s", at="first"), {"op": "item.delete", "item": "a"}], [upsert("o", "s", at="first")], [{"op": "item.delete", "item": "n"}]]),
    ("a window that names sections shows no new ones", {"sections": ["s", "new"], "first": 2}, FIRST[:1], [[upsert("n", "new"), head("new", data=1)], [head("s", data=2, at="last")]]),
    ("a section gets other data, a place, and is made", {}, TWO, [[head("t", data=1, at="first")], [head("new", at={"before": "s"})], [head("newer", data=[]), head("s", at={"index": 1})], [head("t", data=2, at={"after": "z"})]]),
    ("a section gets a bound, and loses it", {}, TWO, [[head("s", keep=2)], [upsert("n", "s", at="first")], [head("s", keep=None), upsert("o", "s")]]),
    ("a bound counts after the record", {}, [section("s", "a", "b", keep=2)], [[upsert("n", "s", at="first"), {"op": "item.delete", "item": "a"}], [upsert("o", "s", at="first")]]),
    ("a bound cuts what is outside of the window, too", {"first": 2}, FIRST, [[head("s", keep=4)], [head("t", keep=1), upsert("n", "t", at="first")]]),
    ("a section gets an order, and loses it", {}, [section("s", ("a", 2), ("b", 10), ("c", 1))], [[head("s", order=[{"by": ""}])], [upsert("n", "s", data=5)], [head("s", order=None), upsert("o", "s", data=0)]]),
    ("a new item of an ordered section goes where it belongs", {}, BOARD, [[upsert("n", "s", data={"n": 7})], [upsert("o", "s", data={"n": 5.0})], [upsert("p", "s")], [upsert("q", "s", data={"n": 1e3})]]),
    ("an item whose key changes goes where it belongs", {}, BOARD, [[patch("c", {"n": 6})], [upsert("a", data={"n": "text"})], [patch("b", {"m": 1})]]),
    ("an item that comes from another section goes where it belongs", {}, BOARD + TWO[1:], [[upsert("x", "s", data={"n": 8})], [move("c", section="t")]]),
    ("a place in an ordered section shows nothing", {}, BOARD + TWO[1:], [[upsert("n", "s", data={"n": 8}, at="first"), upsert("a", data={"n": 0}, at="last"), move("x", section="s", at="first"), move("b", at="last")]]),
    ("an ordered section that is not there as a whole keeps its places", {"first": 2}, BOARD_PART, [[patch("b", {"n": 99}), patch("a", {"n": 0})], [upsert("n", "s", data={"n": 50})]]),
    ("a new item of an ordered section that is not there as a whole is last", {"first": 2}, BOARD_PART, [[upsert("n", "s", data={"n": 7})]]),
    ("a bound counts what is before the window", {"sections": ["s"], "from": 2, "count": 2}, PART, [[head("s", keep=3)]]),
    ("an order of a section that is not there as a whole moves nothing", {"first": 2}, [section("s", ("a", 2), ("b", 1), of=5)], [[head("s", order=[{"by": ""}])]]),
    ("a bound of an ordered section cuts the last", {}, [{**BOARD[0], "keep": 3}], [[upsert("n", "s", data={"n": 7})], [upsert("o", "s", data={"n": 0})]]),
    ("everything has its rank in an order, and what has none is last in either direction", {}, [
        section("up", order=[{"by": "/v"}]), section("down", order=[{"by": "/v", "direction": "descending"}])], [
        [upsert(f"{name}{index}", name, data=data) for index, data in enumerate([
            {"v": "b"}, {"v": 2}, {"v": True}, {"v": None}, {"v": [1]}, {"v": False}, {"v": -1.5}, {}, 7, {"v": "a"}, {"v": ""}, {"v": {"v": 1}}, {"v": 10}])] for name in ("up", "down")]),
    ("several keys, pointers with escapes and indices, and ids decide", {}, [
        section("s", order=[{"by": "/a~1b/~0"}, {"by": "/l/1", "direction": "descending"}])], [
        [upsert(f"i{index}", "s", data=data) for index, data in enumerate([
            {"a/b": {"~": 1}, "l": [0, 1]}, {"a/b": {"~": 1}, "l": [0, 2]}, {"a/b": {"~": 0}}, {"l": [5]}, {"l": {"1": 3}}, {"a/b": {"~": 1}, "l": [0, 2]}])]]),
    ("strings are compared by the bytes of their UTF-8", {}, [section("s", order=[{"by": ""}])], [
        [upsert("1", "s", data="\U0001f600"), upsert("2", "s", data="\uff5e"), upsert("3", "s", data="é"), upsert("4", "s", data="z"), upsert("\U0001f600", "s"), upsert("\uff5e", "s")]]),
]


def random_case(rng):
    ids = [f"i{number}" for number in range(9)]
    rng.shuffle(ids)
    window = rng.choice([{}, {}, {"first": 3}, {"sections": ["s0", "s1"]}, {"sections": ["s0"], "from": 1, "count": 2}])
    data = lambda: rng.choice([None, 1, "x", {"n": rng.randrange(5)}, {"n": rng.randrange(5), "m": 1}])
    model = Model([], {})
    for name in ("s0", "s1", "s2"):
        order = {"order": [{"by": "/n"}]} if rng.random() < 0.3 else {}
        model.record([head(name, data=data(), **order, **({"keep": rng.randrange(2, 5)} if rng.random() < 0.2 else {}))])
        model.record([upsert(item, name, data=data()) for item in ids[:3]])
        del ids[:rng.randrange(4)]
    state = [one for one in model.sections if one["id"] in window.get("sections", [one["id"]])]
    for one in state:
        one["from"] = window.get("from", 0)
        one["items"] = one["items"][one["from"]:][:window.get("first", window.get("count", 99))]
    known = [item["id"] for one in state for item in one["items"]] + ["i0", "i1", "new", "newer"]
    place = lambda names: rng.choice([{}, {}, {"at": "first"}, {"at": "last"}, {"at": {"index": rng.randrange(5)}}, {"at": {"before": rng.choice(names)}}, {"at": {"after": rng.choice(names)}}])
    maybe = lambda **more: more if rng.random() < 0.5 else {}
    names = ["s0", "s1", "s2", "s3"]
    event = lambda: rng.choice([
        lambda: upsert(rng.choice(known), rng.choice(names), **maybe(kind="k"), **maybe(data=data()), **place(known)),
        lambda: patch(rng.choice(known), rng.choice([{"n": rng.randrange(5)}, {"n": None}, 3])),
        lambda: move(rng.choice(known), **maybe(section=rng.choice(names)), **place(known)),
        lambda: {"op": "item.delete", "item": rng.choice(known)},
        lambda: head(rng.choice(names), **maybe(data=data()), **(maybe(order=rng.choice([None, [{"by": "/n"}]]))), **(maybe(keep=rng.choice([None, 2]))), **place(["s0", "s1", "s9"])),
    ])()
    return window, state, [[event() for _ in range(rng.choice([1, 1, 2]))] for _ in range(rng.randrange(1, 5))]


def line(title, window, state, records):
    model = Model(state, window)
    for record in records:
        model.record(record)
    case = {"title": title, "window": window, "state": state, "writes": records, "shown": model.sections}
    return json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n"


def files():
    rng = random.Random(2026)
    yield "rules.ndjson", "".join(line(*case) for case in CASES)
    yield "random.ndjson", "".join(line(f"random writes, {number}", *random_case(rng)) for number in range(300))


if __name__ == "__main__":
    is_same = True
    for name, text in files():
        path = FOLDER / name
        if "--check" in sys.argv:
            is_same = is_same and path.read_text("utf-8") == text
        else:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
    sys.exit(0 if is_same else "conformance/pending is not what the model makes; run: python3 conformance/pending.py")
