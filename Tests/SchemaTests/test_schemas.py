"""The schemas describe FeedStore's input and output: they agree with golden and random replays."""

import collections
import copy
import json
import os
import random
import re
import sys
import unittest

from jsonschema import Draft202012Validator
from random_records import RandomRecords
from repository import (
    PROTOCOL, ROOT, SCHEMAS_BY_URI, asyncapi_validator, golden_replays, headers, named_validator, protocol_example, replay,
    resolver,
)

sys.path.insert(0, str(ROOT / "clients/python/src"))

from feedstore.changesets import changeset  # noqa: E402
from feedstore.errors import ReplicaFault  # noqa: E402

# Codes that a schema can detect; others depend on the feed, on limits, or on several places in the record.
FORM_CODES = {"unknown-op", "missing-field", "invalid-field"}


def references(schema):
    if isinstance(schema, dict):
        for name, value in schema.items():
            if name == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(schema, list):
        for element in schema:
            yield from references(element)


class SchemaTests(unittest.TestCase):
    """The schemas themselves."""

    def test_every_schema_is_valid(self):
        self.assertTrue(SCHEMAS_BY_URI)
        for uri, schema in SCHEMAS_BY_URI.items():
            with self.subTest(uri):
                Draft202012Validator.check_schema(schema)

    def test_every_reference_resolves(self):
        for uri, schema in SCHEMAS_BY_URI.items():
            for reference in references(schema):
                with self.subTest(uri, reference=reference):
                    resolver(uri).resolve(reference)

    def test_operations_reasons_and_codes_are_the_protocols(self):
        protocol = PROTOCOL.read_text()
        operations = re.findall(r"^\| `((?:feed|section|item)\.\w+)` \|", protocol, re.MULTILINE)
        self.assertEqual(named_validator("event").schema["properties"]["op"]["enum"], operations)
        reasons = self.first_column(protocol, "A reload names the first reason that holds:")
        self.assertEqual(named_validator("changeset").schema["properties"]["reason"]["enum"], reasons)
        codes = self.first_column(protocol, "The message names the event's number (from 0) if")
        headers = asyncapi_validator("rejectedHeaders").schema["properties"]
        self.assertEqual(headers["feedstore.error.code"]["enum"], codes)

    def test_the_protocols_example_changeset_is_valid(self):
        shown = re.search(r"^```json changeset\n(.*?)^```", PROTOCOL.read_text(), re.MULTILINE | re.DOTALL)[1]
        named_validator("changeset").validate(json.loads(shown))

    def test_the_schema_for_followers_takes_what_followers_must_take_and_no_more(self):
        """The vectors have changesets that are damaged by each rule of chapter 11; all followers are tested with them."""
        reader = named_validator("changeset-reader")
        applied = reader.evolve(schema={"$ref": "#/$defs/applied"})
        counts = collections.Counter()
        seen = set()
        vectors = json.loads((ROOT / "conformance/manifest.json").read_text())["replica"]
        for vector in vectors:
            lines = (ROOT / "conformance" / vector["file"]).read_text().split("\n")
            for number, line in enumerate(map(json.loads, filter(None, lines)), 1):
                if line.get("payload") is None or line["then"] is None:
                    continue
                # Many feeds have the same changesets.
                case = (re.sub(r'"feed":"f[0-9]+"', "", line["payload"]), line["key"].split("/")[0], line["then"].get("refused"), "sections" in line["then"])
                if case in seen:
                    continue
                seen.add(case)
                value = self.parsed(line["payload"])
                with self.subTest(vector["name"], line=number):
                    taken = self.python_takes(line["payload"])
                    is_valid = value is not None and reader.is_valid(value) and self.has_possible_part(value)
                    self.assertEqual(is_valid, taken, line["payload"])
                    if not line["then"].get("refused"):
                        self.assertTrue(is_valid)
                    elif is_valid and self.is_under_its_key(line["key"], value):
                        self.assertFalse(applied.is_valid(value) and self.is_short(value) and "part" not in value, line["payload"])
                        counts["entries"] += 1
                    if "sections" in line["then"] and value["mode"] != "delete":
                        self.assertTrue(applied.is_valid(value), line["payload"])
                        counts["applied"] += 1
                    counts["refused" if not is_valid else "taken"] += 1
        for what in ("entries", "applied", "refused", "taken"):
            self.assertGreater(counts[what], 150, what)

    def parsed(self, text):
        """The JSON of a value; None if it does not have the form of a changeset."""
        try:
            text.encode()
            value = json.loads(text)
            json.dumps(value, ensure_ascii=False).encode()
        except ValueError:
            return None
        return value if re.search(r":\s*NaN", text) is None else None

    def python_takes(self, text):
        try:
            changeset(text)
        except ReplicaFault:
            return False
        return True

    def has_possible_part(self, value):
        return value.get("part", 0) < value.get("parts", 1)

    def is_under_its_key(self, key, value):
        slot, _, feed = key.partition("/")
        return feed == value["feed"] and (slot == f"k{value.get('part', 0)}" if value["mode"] == "reload" else slot[0] == "d")

    def is_short(self, value):
        """Whether all ids and kinds have at most 255 bytes."""
        if isinstance(value, dict):
            return all(self.is_short(member) and (name not in ("id", "kind") or not isinstance(member, str) or len(member.encode()) <= 255)
                       for name, member in value.items() if name != "data")
        return all(map(self.is_short, value)) if isinstance(value, list) else True

    def test_followers_accept_additions_of_a_later_minor_version(self):
        changeset = protocol_example()["output"][0]["value"]
        later = {**changeset, "reason": "a-new-one", "later": [1]}
        later["sections"] = [{**section, "later": None} for section in later["sections"]]
        self.assertFalse(named_validator("changeset").is_valid(later))
        named_validator("changeset-reader").validate(later)
        self.assertFalse(named_validator("changeset-reader").is_valid({**later, "mode": "transmogrify"}))

    def test_lines_of_rejected_records_match_their_schema(self):
        """RejectedCopyTests has the command's output for the same records."""
        tests = (PROTOCOL.parents[1] / "Tests/FeedToolsTests/Rejects/RejectedCopyTests.swift").read_text()
        lines = re.findall(r'^ +(\{"partition".*\})$', re.sub(r"\\#\n +", "", tests), re.MULTILINE)
        self.assertEqual(len(lines), 2)
        for line in map(json.loads, lines):
            self.assertTrue(named_validator("rejected-line").is_valid(line), line)
            self.assertFalse(named_validator("rejected-line").is_valid(line | {"offset": -1}))

    def first_column(self, text, before):
        """The code in the first column of the table after a sentence."""
        self.assertIn(before, text)
        table = re.search(r"(?:^\|.*\n)+", text[text.index(before):], re.MULTILINE)[0]
        return re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)


class ReplayTests(unittest.TestCase):
    """Replays, checked line by line."""

    @classmethod
    def setUpClass(cls):
        cls.records = named_validator("record")
        cls.changesets = named_validator("changeset")
        cls.lines = named_validator("replay-line")
        cls.changeset_keys = asyncapi_validator("changesetKey")
        cls.changeset_headers = asyncapi_validator("changesetHeaders")
        cls.rejected_headers = asyncapi_validator("rejectedHeaders")

    def check_valid(self, validator, value, what):
        error = next(validator.iter_errors(value), None)
        if error is not None:
            where = "/".join(map(str, error.absolute_path))
            self.fail(f"{what} is not valid at '{where}': {error.message[:300]}\n{str(value)[:1000]}")

    def check_output(self, lines):
        """Counts the records by mode or reason."""
        counts = collections.Counter()
        for number, line in enumerate(lines):
            self.check_valid(self.lines, line, f"output line {number}")
            self.check_valid(self.changeset_keys, line["key"], f"the key of output line {number}")
            changeset = line["value"]
            if changeset is None:
                self.assertEqual(line["headers"], [])
                counts["null"] += 1
                continue
            self.check_valid(self.changeset_headers, headers(line), f"the headers of output line {number}")
            self.check_valid(self.changesets, changeset, f"the changeset of output line {number}")
            counts[changeset.get("reason", changeset["mode"])] += 1
            counts["part"] += "part" in changeset
        return counts

    def check_input(self, lines, rejected):
        """Accepted records are valid, and those rejected for their form are not; counts the records by code."""
        codes = {}
        for number, line in enumerate(rejected):
            why = headers(line)
            self.check_valid(self.rejected_headers, why, f"the headers of rejected record {number}")
            source = (why["feedstore.source.topic"], line["partition"], int(why["feedstore.source.offset"]))
            codes[source] = why["feedstore.error.code"]
        counts = collections.Counter()
        offsets = collections.Counter()
        for number, line in enumerate(lines):
            self.check_valid(self.lines, line, f"input line {number}")
            place = (line.get("topic", "feeds.items"), line.get("partition", 0))
            code = codes.get((*place, offsets[place]))
            offsets[place] += 1
            counts[code] += 1
            is_null, value = self.value_of(line, code)
            if code in FORM_CODES:
                self.assertFalse(self.records.is_valid(value), f"rejected with {code}, but valid: {value}")
            elif code is None and not is_null:
                self.check_valid(self.records, value, f"input record {number}, which was taken,")
        return counts

    def value_of(self, line, code):
        """Whether a record is a Kafka null, and its value if that is JSON."""
        text = line.get("payload")
        if "value" in line:
            return line["value"] is None, line["value"]
        if text is None or code == "invalid-json":
            return text is None, None
        return False, json.loads(text)

    def test_golden_replays(self):
        counts = collections.Counter()
        for name, lines in [*golden_replays(), ("the protocol's example", protocol_example())]:
            with self.subTest(name):
                counts += self.check_output(lines["output"]) + self.check_input(lines["input"], lines["rejected"])
        for what in ("reconfigure", "diff", "delete", "null", "initial", "requested", "keyframe", "part", *FORM_CODES):
            self.assertGreater(counts[what], 0, what)

    def test_lines_in_base64(self):
        """The schema accepts the same lines as a replay."""
        values = [{"payloadBase64": "/w=="}, {"keyBase64": "/w==", "payload": ""}, {"keyBase64": "", "payloadBase64": "YWI="}]
        for line in values:
            with self.subTest(line):
                self.check_valid(self.lines, line, "the line")
                self.check_valid(self.lines, replay([line], [])["rejected"][0], "the rejected line")
        topics = [{"topic": topic, "value": None} for topic in ("", ".", "..", "a b", "a/b", "ä", "a" * 250)]
        wrong = ["/w=", "/w", "/x==", "YWJ=", "YW I", "-_==", None, 7]
        for line in [
            *topics, *({"payloadBase64": text} for text in wrong), *({"keyBase64": text, "value": None} for text in wrong),
            {"key": "f", "keyBase64": "Zg==", "value": None}, {"payload": "", "payloadBase64": ""}, {"value": 1, "payloadBase64": ""},
        ]:
            with self.subTest(line):
                self.assertFalse(self.lines.is_valid(line))
                with self.assertRaisesRegex(AssertionError, "ended with 1: .*standard input:1: the line "):
                    replay([line], [])
        for topic in ("...", "a" * 249, "A-z_0.9"):
            with self.subTest(topic):
                line = {"topic": topic, "value": None}
                self.check_valid(self.lines, line, "the line")
                replay([line], [])

    def test_every_error_of_form(self):
        lines = RandomRecords(random.Random(0)).every_mistake()
        rejected = replay(lines, [])["rejected"]
        counts = self.check_input(lines, rejected)
        self.assertGreater(sum(counts[code] for code in FORM_CODES), len(lines) / 2)

    def test_random_replays(self):
        seed = int(os.environ.get("FEEDSTORE_SEED") or random.randrange(1 << 32))
        print(f"schemas, random replays: FEEDSTORE_SEED={seed}")
        counts = collections.Counter()
        for settings in (
            [],
            ["coalesce.window=0", "planner.minimumItems=100", "keyframe.maxDeltas=5"],
            ["coalesce.window=500", "planner.minimumItems=1", "planner.maxKindFraction=0.1", "limits.maxItems=30"],
        ):
            with self.subTest(settings, seed=seed):
                lines = RandomRecords(random.Random(f"{seed} {settings}")).lines(600)
                replayed = replay(lines, settings)
                counts += self.check_output(replayed["output"]) + self.check_input(lines, replayed["rejected"])
        for what in ("reconfigure", "diff", "delete", "null", "initial", "keyframe", None, *FORM_CODES):
            self.assertGreater(counts[what], 0, f"{what}; FEEDSTORE_SEED={seed}")

    def test_a_changeset_with_a_field_missing_or_more_is_refused(self):
        # Omitting one of these cannot be detected otherwise.
        optional = {"sections", "items", "delete", "insert", "move", "reconfigure", "reload"}
        for name, lines in [*golden_replays(), ("the protocol's example", protocol_example())]:
            for line in lines["output"]:
                changeset = line["value"]
                for path, value in self.objects(changeset):
                    self.check_refused(changeset, path, lambda at: at.update(more=1), f"{name}: more")
                    for field in value:
                        is_continued = path == ["sections", 0] and field == "data" and changeset.get("part", 0) > 0
                        if field not in optional and not is_continued:
                            self.check_refused(changeset, path, lambda at: at.pop(field), f"{name}: without {field}")

    def check_refused(self, changeset, path, change, what):
        changed = copy.deepcopy(changeset)
        at = changed
        for step in path:
            at = at[step]
        change(at)
        self.assertFalse(self.changesets.is_valid(changed), f"{what} at {path}: {str(changed)[:1000]}")

    def objects(self, value, path=()):
        """All objects of a changeset with fields defined by the protocol."""
        if isinstance(value, list):
            value = dict(enumerate(value))
        elif isinstance(value, dict):
            yield list(path), value
        else:
            return
        for name, child in value.items():
            if name not in ("data", "through"):
                yield from self.objects(child, (*path, name))


if __name__ == "__main__":
    unittest.main()
