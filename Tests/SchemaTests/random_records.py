"""Random records for a few feeds: valid ones, and ones with an invalid form."""

import json
import pathlib

SCHEMA = json.loads((pathlib.Path(__file__).parents[2] / "docs/schemas/event.schema.json").read_text())


def fields_of(schema):
    """The names of an operation's fields, and whether each is required."""
    base = fields_of(SCHEMA["$defs"][schema["$ref"].split("/")[-1]]) if "$ref" in schema else {}
    required = schema.get("required", [])
    return base | {name: name in required for name in [*required, *schema.get("properties", {})]}


def schema_of(op):
    choices = ((choice["if"]["properties"]["op"], choice["then"]) for choice in SCHEMA["allOf"])
    return next((schema for ops, schema in choices if op in [*ops.get("enum", []), ops.get("const")]), {})


FIELDS = {op: fields_of(schema_of(op)) for op in SCHEMA["properties"]["op"]["enum"]}

# Too many deletions and replacements would leave little to change.
WEIGHTS = {"feed.delete": 0.2, "feed.clear": 0.2, "feed.replace": 0.3, "feed.reload": 0.5, "item.upsert": 8}

WRONG = {
    "op": [7, None, "item.explode", ["item.delete"]],
    "sections": [
        None, {}, "s", [7], ["s"], [{"items": []}], [{"id": 7}], [{"id": ""}], [{"id": "s", "items": {}}],
        [{"id": "s", "items": [7]}],
    ],
    "items": [
        None, {}, "i", [7], [None], [""], [{"kind": ""}], [{"id": 1}], [{"id": "i", "kind": 1}],
        [{"id": "i", "kind": None}],
    ],
    "order": [
        7, "/a", {}, [], [7], [{}], [{"by": "a"}], [{"by": "/~2"}], [{"by": "/~"}], [{"by": 1}], [{"direction": "ascending"}],
        [{"by": "/a", "direction": "DESCENDING"}], [{"by": "/a", "direction": None}], [{"by": "/" + "x" * 255}], 5 * [{"by": "/a"}],
    ],
    "keep": [0, -1, 1.5, "5", [], {}, True, 2147483648],
    "ttl": [0, -1, 1.5, "5", [], {}, True, 3155760000001],
    "expires": [
        -1, 1.5, [], {}, True, 253402300800000, "", "soon", "5", "2026-11-20", "2026-11-20T10:00:00", "2026-13-01T00:00:00Z",
        "2026-11-20T24:00:00Z", "2026-11-20 10:00:00Z", "2026-11-20T10:00:00+1", "10000-01-01T00:00:00Z",
    ],
    "section": [None, 7, "", [], {}],
    "item": [None, 7, "", [], {}],
    "kind": [None, 7, [], {}],
    "at": [
        None, 7, "", "middle", [], {}, {"index": -1}, {"index": "1"}, {"index": 0.5}, {"index": None}, {"before": 1},
        {"before": ""}, {"after": 1}, {"after": ""}, {"before": "i1", "after": "i2"}, {"after": "i1", "index": 0}, {"behind": "i1"},
    ],
}

# Not an event at all.
NO_EVENTS = [7, "item.delete", True, None, [None], [[]], ["item.delete"], [7]]


class RandomRecords:
    def __init__(self, random):
        self.random = random

    def lines(self, count):
        return [
            {"ts": 40 * number, "key": self.random.choice(["f", "g", "ü/ber"]), "payload": self._payload()}
            for number in range(count)
        ]

    def every_mistake(self):
        """One record for each missing field of each operation, and for each invalid value."""
        payloads = []
        for op, fields in FIELDS.items():
            whole = {"op": op, **{field: self._value(field) for field in fields}}
            for name in whole:
                payloads.append({field: value for field, value in whole.items() if field != name})
                payloads += [{**whole, name: wrong} for wrong in WRONG.get(name, [])]
        payloads += NO_EVENTS
        return [{"key": "f", "payload": json.dumps(payload)} for payload in payloads]

    def _payload(self):
        if self.random.random() < 0.02:
            return None
        if self.random.random() < 0.03:
            return json.dumps(self.random.choice(NO_EVENTS))
        events = [self._event() for _ in range(self.random.choice([1, 1, 1, 0, 2, 5]))]
        if events and self.random.random() < 0.2:
            self._spoil(self.random.choice(events))
        return json.dumps(events[0] if len(events) == 1 and self.random.random() < 0.8 else events)

    def _event(self):
        op = self.random.choices(list(FIELDS), [WEIGHTS.get(op, 1) for op in FIELDS])[0]
        event = {"op": op}
        for field, is_required in FIELDS[op].items():
            if is_required or self.random.random() < 0.6:
                event[field] = self._value(field)
        if self.random.random() < 0.1:
            # Fields that are invalid only in other operations are ignored here.
            name = self.random.choice([name for name in [*WRONG, "note"] if name not in {"op", *FIELDS[op]}])
            event[name] = self.random.choice(WRONG.get(name, ["any"]))
        return event

    def _value(self, field):
        return getattr(self, "_" + field)()

    def _spoil(self, event):
        name = self.random.choice([name for name in event if name in WRONG])
        if self.random.random() < 0.3:
            del event[name]
        else:
            event[name] = self.random.choice(WRONG[name])

    def _order(self):
        keys = [{"by": ""}, {"by": "/a"}, {"by": "/a/b", "direction": "descending"}, {"by": "/c", "direction": "ascending"}]
        return self.random.choice([None, keys[:1], keys[1:2], keys[2:], keys])

    def _keep(self):
        return self.random.choice([None, 1, 5, 2147483647])

    def _ttl(self):
        return self.random.choice([None, 1, 500, 60_000, 3155760000000])

    def _expires(self):
        return self.random.choice(
            [None, self.random.randrange(60_000), 253402300799999, "1970-01-01T00:00:09Z", "1970-01-01T01:00:20.5+01:00", "9999-12-31t23:59:59z"])

    def _section(self):
        return f"s{self.random.randrange(5)}"

    def _item(self):
        return self.random.choice(["ä" * 100, "a/b", *(f"i{number}" for number in range(40))])

    def _kind(self):
        return self.random.choice(["", "story", "ad"])

    def _data(self):
        objects = [{}, {"a": {"b": 1}}, {"a": {"b": 2}, "c": "x" * 900}]
        return self.random.choice([None, 1, 2.5, True, "text", [1, [2]], *objects])

    def _refs(self):
        # Without topics.contents, it is ignored.
        return self.random.choice([None, 7, {}, {"a": "u"}, {"a": None}])

    def _at(self):
        place = self.random.choice(["first", "last", "before", "after", "index", "index"])
        if place in ("first", "last"):
            return place
        if place == "index":
            return {place: self.random.choice([0, 1, 5, 1000])}
        return {place: self.random.choice([self._item, self._section])()}

    def _items(self):
        ids = list(dict.fromkeys(self._item() for _ in range(self.random.randrange(30))))
        return [self._listed(id) for id in ids]

    def _listed(self, id):
        if self.random.random() < 0.3:
            return id
        listed = {"id": id}
        if self.random.random() < 0.7:
            listed["kind"] = self._kind()
        if self.random.random() < 0.7:
            listed["data"] = self._data()
        return listed

    def _sections(self):
        items = self._items()
        sections = []
        for number in self.random.sample(range(5), self.random.randrange(5)):
            count = self.random.randrange(len(items) + 1)
            section = {"id": f"s{number}"}
            for field in ("data", "order", "keep"):
                if self.random.random() < 0.5:
                    section[field] = self._value(field)
            if self.random.random() < 0.9:
                section["items"], items = items[:count], items[count:]
            sections.append(section)
        return sections


class LastingRecords(RandomRecords):
    """Records of items that do not end soon, because a daemon's clock would end them at other times than a replay does."""

    def _ttl(self):
        return self.random.choice([None, 3155760000000])

    def _expires(self):
        return self.random.choice([None, 253402300799999, "9999-12-31t23:59:59z"])
