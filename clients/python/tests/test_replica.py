"""Replicas, with the output of replays and by themselves: what they have, and which objects stay the same."""

import json
import random
import unittest

from support import SEED, RandomRecords, checksum, deletion, difference, plain, reload, replay, section

from feedstore.errors import ReplicaFault
from feedstore.jsontext import text_of
from feedstore.replica import Replica, ReplicaPartition


def encoded(line):
    value = line["value"]
    return line["key"].encode(), None if value is None else text_of(value).encode()


def states(output):
    """The final feeds, from reloads alone; the replay writes one after each changeset."""
    found = {}
    for line in output:
        kind, _, name = line["key"].partition("/")
        value = line["value"]
        if value is None and kind == "k0":
            found.pop(name, None)
        elif value is not None and value["mode"] == "reload":
            sections = found.setdefault(name, []) if value.get("part", 0) else []
            for listed in value.get("sections", []):
                if sections and sections[-1]["id"] == listed["id"]:
                    sections[-1]["items"] += listed.get("items", [])
                else:
                    sections.append({**listed, "items": listed.get("items", [])})
            found[name] = sections
    return {name: expected(sections) for name, sections in found.items()}


def expected(sections):
    """Sections of a reload in the form of `plain`."""
    return [
        (one["id"], text_of(one["data"]), one.get("order"), one.get("keep"),
         [(item["id"], item["kind"], text_of(item["data"])) for item in one["items"]])
        for one in sections]


def own(section):
    return section.data_text, section.order, section.keep, section.from_, section.of, section.is_pending


def compared(item):
    return item.kind, item.data_text, item.section, item.expires, item.refs


def check_identities(before, after):
    """What is equal is the same object, and what is not is another one; nothing that was handed out has changed."""
    items = {item.id: item for one in before for item in one.items}
    sections = {one.id: one for one in before}
    same = 0
    for new in after:
        for item in new.items:
            other = items.get(item.id)
            if other is not None:
                is_equal = compared(item) == compared(other)
                assert (item is other) == is_equal, item
                same += item is other
        other = sections.get(new.id)
        if other is not None:
            is_equal = own(new) == own(other) and len(new.items) == len(other.items) and all(
                one is another for one, another in zip(new.items, other.items))
            assert (new is other) == is_equal, new.id
    return same


def entries_of(change):
    """The entries that a change reports, as a changeset lists them."""
    found = {"items": {}, "sections": {}}
    for part, lists in found.items():
        for name, places in vars(getattr(change, part)).items():
            entries = [
                {key.rstrip("_"): vars(value) if part == "items" and name == "move" and key != "id" else value
                 for key, value in vars(place).items()} for place in places]
            lists.update({name: entries} if entries else {})
    return found


class Replicas(unittest.TestCase):
    def test_random_replays_lead_to_the_daemon_s_states_and_keep_what_did_not_change(self):
        settings = ["limits.maxDataBytes=1000", "output.maxMessageBytes=66536"]
        same = 0
        for seed in range(SEED, SEED + 5):
            with self.subTest(seed=seed):
                lines = RandomRecords(random.Random(seed)).lines(300)
                partition = ReplicaPartition()
                for line in replay(lines, settings)["output"]:
                    key, value = encoded(line)
                    feed = key.decode().partition("/")[2]
                    before = partition.replicas[feed].sections if feed in partition.replicas else ()
                    spelled = plain(before)
                    _, outcome = partition.apply(key, value)
                    self.assertIn(outcome.type, ("applied", "removed", "skipped", "waiting"))
                    self.assertEqual(plain(before), spelled)
                    if outcome.type == "applied":
                        same += check_identities(before, partition.replicas[feed].sections)
                    if outcome.change and outcome.change.mode != "reload" and line["value"].get("parts", 1) == 1:
                        listed = {part: line["value"].get(part, {}) for part in ("items", "sections")}
                        for part, lists in entries_of(outcome.change).items():
                            names = ("id", "section", "index", "from", "to")
                            self.assertEqual(lists, {
                                name: [{key: entry[key] for key in names if key in entry} for entry in entries]
                                for name, entries in listed[part].items()})
                wanted = states(replay(lines, settings + ["keyframe.maxBytesRatio=0"])["output"])
                self.assertEqual({name: plain(replica.sections) for name, replica in partition.replicas.items()}, wanted)
        self.assertGreater(same, 1000)

    def test_views_cannot_be_changed(self):
        replica = Replica("f")
        replica.apply(reload("f", [section("s", ("a", {"x": 1}))]))
        for target, name in ((replica.sections[0], "of"), (replica.sections[0].items[0], "kind")):
            with self.assertRaises(AttributeError):
                setattr(target, name, 7)

    def test_data_is_kept_as_it_is_spelled_and_given_as_values(self):
        deep = "[" * 200_000 + "]" * 200_000
        for spelled, value in [
            ("1.0", 1.0), ("-0", 0.0), ("123", 123), ('"caf\\u00e9"', "café"), ('{"a":1,"a":2}', {"a": 2}), ("null", None),
            ("7" * 5000, "7" * 5000), ("1e999", "1e999"), (deep, deep), ('[ 1 , {"x" : "}]"} ]', [1, {"x": "}]"}]),
            ('{"b":1,"a":{"data":"\\\\"},"data":2}', {"b": 1, "a": {"data": "\\"}, "data": 2}),
        ]:
            with self.subTest(spelled[:30]):
                sections = [section("s", "a")]
                text = reload("f", sections).replace('"kind":"","data":null', f'"kind":"","data":{spelled}')
                replica = Replica("f")
                self.assertEqual(replica.apply(text).type, "applied")
                item = replica.sections[0].items[0]
                self.assertEqual(item.data_text, spelled)
                self.assertEqual(item.data, value)
                self.assertIs(item.data, item.data)

    def test_unknown_fields_may_be_beyond_python_s_limits(self):
        for value in ("7" * 5000, "1e999", "[" * 5_000 + "]" * 5_000, '[{"data":1}]'):
            with self.subTest(value[:20]):
                replica = Replica("f")
                self.assertEqual(replica.apply(reload("f", [section("s", "a")])[:-1] + f',"new":{value}}}').type, "applied")

    def test_what_is_no_changeset_is_refused(self):
        good = reload("f", [section("s", "a")])
        for value in (
            b"", b"\xff", b"7", b"null", b"[]", b"{}", b"NaN", b'{"a":NaN}', b"[" * 100_000, b'{"mode":[]}', good.encode() + b"}",
            good.replace('"revision":1', '"revision":1.0').encode(), good.replace('"f"', '"g"').encode(), good.encode()[:-1],
            # A scan that looks for the end of the string from each of its quotes takes hours for the long ones.
            *(b"[" * 2000 + b'"' + rest for rest in (
                b"]" * 2001, b"a" * 1000, b'\\"' + b"]" * 2001, b"\\", b'\\"' * 500_000, b'\\"' * 500_000 + b"]" * 2001)),
        ):
            with self.subTest(value[:40]):
                replica = Replica("f")
                with self.assertRaises(ReplicaFault):
                    replica.apply(value)
                self.assertTrue(replica.is_stale)
                self.assertEqual(replica.apply(good).type, "applied")

    def test_items_have_their_ends_and_references(self):
        full, other = section("s", "a", "b"), {"expires": 5, "refs": []}
        end = {"expires": "2026-11-20T10:00:00.000Z", "refs": {"author": "user-7"}}
        full["items"] = [{**full["items"][0], **end}, {**full["items"][1], **other}]
        replica = Replica("f")
        replica.apply(reload("f", [full]))
        a, b = replica.sections[0].items
        self.assertEqual([(a.expires, a.refs), (b.expires, b.refs)], [(end["expires"], end["refs"]), (None, None)])
        replica.apply(reload("f", [full], 2))
        self.assertIs(replica.sections[0].items[0], a)
        for revision, more in enumerate(({**end, "refs": {"author": "user-8"}}, {"expires": end["expires"]}, {}), 3):
            entry = {"id": "a", "section": "s", "index": 0, "data": None, **more}
            outcome = replica.apply(difference("f", [full], revision, "reconfigure", items={"reconfigure": [entry]}))
            self.assertEqual(outcome.type, "applied")
            item = replica.sections[0].items[0]
            self.assertEqual((item.expires, item.refs), (more.get("expires"), more.get("refs")))

    def test_a_saved_replica_goes_on(self):
        replica, other = Replica("f"), Replica("f")
        sections = [{**section("s", ("a", {"x": [1, 2]}), data="ü"), "order": [{"by": "/x"}], "keep": 3}]
        sections[0]["items"][0].update(expires="2026-11-20T10:00:00.000Z", refs={"y": "ü"})
        replica.apply(reload("f", sections, 7))
        other.apply(replica.to_reload())
        self.assertEqual(plain(other.sections), plain(replica.sections))
        self.assertEqual(*([compared(item) for item in one.sections[0].items] for one in (other, replica)))
        self.assertEqual(other.head, replica.head)
        self.assertEqual(other.head.checksum, checksum(sections))


if __name__ == "__main__":
    unittest.main()
