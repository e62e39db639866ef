"""Replicas, with the output of replays and by themselves: what they have, and which objects stay the same."""

import json
import random
import unittest

from support import GOLDEN, SEED, RandomRecords, checksum, deletion, difference, plain, reload, replay, section

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


def check_identities(before, after):
    """What is equal is the same object, and what is not is another one; nothing that was handed out has changed."""
    items = {item.id: item for one in before for item in one.items}
    sections = {one.id: one for one in before}
    same = 0
    for new in after:
        for item in new.items:
            other = items.get(item.id)
            if other is not None:
                is_equal = (item.kind, item.data_text, item.section) == (other.kind, other.data_text, other.section)
                assert (item is other) == is_equal, item
                same += item is other
        other = sections.get(new.id)
        if other is not None:
            is_equal = own(new) == own(other) and len(new.items) == len(other.items) and all(
                one is another for one, another in zip(new.items, other.items))
            assert (new is other) == is_equal, new.id
    return same


def random_difference(rng):
    """A feed as the items of each section, and a random difference's sections and items; some have a wrong position."""
    def some(ids):
        return [identifier for identifier in ids if rng.random() < 0.3]

    def strewn(ids, kept):
        for identifier in ids:
            kept.insert(rng.randint(0, len(kept)), identifier)

    base = {f"s{number}": [f"i{number}.{item}" for item in range(rng.randrange(10))] for number in range(rng.randrange(6))}
    deleted = some(base)
    moved = some(section for section in base if section not in deleted)
    new = [f"new{number}" for number in range(rng.randrange(3))]
    order = [section for section in base if section not in deleted + moved]
    strewn(moved + new, order)
    sections = {
        "delete": [{"id": section, "index": list(base).index(section)} for section in deleted],
        "move": [{"id": section, "from": list(base).index(section), "to": order.index(section)} for section in moved],
        "insert": [{"id": section, "index": order.index(section), "data": None} for section in new]}

    places = {item: {"section": section, "index": index} for section, ids in base.items() for index, item in enumerate(ids)}
    deleted = some(places)
    moved = some(item for item in places if item not in deleted) if order else []
    new = [f"new{number}" for number in range(rng.randrange(8))] if order else []
    result = {section: [item for item in base.get(section, []) if item not in deleted + moved] for section in order}
    for item in moved + new:
        strewn([item], result[rng.choice(order)])
    results = {item: {"section": section, "index": index} for section, ids in result.items() for index, item in enumerate(ids)}
    items = {
        "delete": [{"id": item, **places[item]} for item in deleted],
        "move": [{"id": item, "from": places[item], "to": results[item]} for item in moved],
        "insert": [{"id": item, **results[item], "kind": "", "data": None} for item in new]}

    positions = [(entry, field) for entries in sections.values() for entry in entries for field in ("index", "from", "to")]
    positions += [(place, "index") for entries in items.values() for entry in entries for place in (entry, *entry.values())]
    positions = [(place, field) for place, field in positions if isinstance(place, dict) and field in place]
    if positions and rng.random() < 0.5:
        place, field = rng.choice(positions)
        place[field] = rng.choice([-1, place[field] - 1, place[field] + 1, 1000])
    for entries in (*sections.values(), *items.values()):
        rng.shuffle(entries)
    return base, sections, items


def slowly(base, sections, items):
    """The feed after a difference, one element at a time as the protocol's section 11.5 says; None if a position is wrong."""
    order, lists = list(base), {section: list(ids) for section, ids in base.items()}
    leaving = [(lists[entry["section"]], entry["index"], entry["id"]) for entry in items["delete"]]
    leaving += [(lists[entry["from"]["section"]], entry["from"]["index"], entry["id"]) for entry in items["move"]]
    leaving += [(order, entry["index"], entry["id"]) for entry in sections["delete"]]
    leaving += [(order, entry["from"], entry["id"]) for entry in sections["move"]]
    if not all(0 <= index < len(ids) and ids[index] == identifier for ids, index, identifier in leaving):
        return None
    for ids, _, identifier in leaving:
        ids.remove(identifier)
    lists.update({entry["id"]: [] for entry in sections["insert"]})
    coming = [(entry["index"], entry["id"], order) for entry in sections["insert"]]
    coming += [(entry["to"], entry["id"], order) for entry in sections["move"]]
    coming += [(entry["index"], entry["id"], lists[entry["section"]]) for entry in items["insert"]]
    coming += [(entry["to"]["index"], entry["id"], lists[entry["to"]["section"]]) for entry in items["move"]]
    for index, identifier, ids in sorted(coming, key=lambda entry: entry[0]):
        if not 0 <= index <= len(ids):
            return None
        ids.insert(index, identifier)
    # Positions count in the result, so two elements of a list cannot have the same one.
    if any(ids[index] != identifier for index, identifier, ids in coming):
        return None
    return [(section, lists[section]) for section in order]


class Replicas(unittest.TestCase):
    def test_golden_replays_have_no_gaps(self):
        for path in sorted(GOLDEN.glob("*.output.ndjson")):
            with self.subTest(path.name):
                partition = ReplicaPartition()
                for line in path.read_text().splitlines():
                    _, outcome = partition.apply(*encoded(json.loads(line)))
                    self.assertIn(outcome.type, ("applied", "removed", "skipped", "waiting"))

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
                wanted = states(replay(lines, settings + ["keyframe.maxBytesRatio=0"])["output"])
                self.assertEqual({name: plain(replica.sections) for name, replica in partition.replicas.items()}, wanted)
        self.assertGreater(same, 1000)

    def test_a_page_that_applies_the_reported_changes_has_the_same_order(self):
        for seed in range(SEED, SEED + 3):
            with self.subTest(seed=seed):
                partition, pages = ReplicaPartition(), {}
                for line in replay(RandomRecords(random.Random(seed)).lines(300), ["planner.maxChangedFraction=9"])["output"]:
                    feed, outcome = partition.apply(*encoded(line))
                    if outcome.type != "applied":
                        continue
                    shown = [(one.id, [item.id for item in one.items]) for one in partition.replicas[feed].sections]
                    change = outcome.change
                    if change.mode != "reload":
                        sections = {
                            "delete": [vars(place) for place in change.sections.delete],
                            "move": [{"id": move.id, "from": move.from_, "to": move.to} for move in change.sections.move],
                            "insert": [vars(place) for place in change.sections.insert]}
                        items = {
                            "delete": [vars(place) for place in change.items.delete],
                            "move": [{"id": move.id, "from": vars(move.from_), "to": vars(move.to)} for move in change.items.move],
                            "insert": [vars(place) for place in change.items.insert]}
                        self.assertEqual(slowly(dict(pages[feed]), sections, items), shown)
                    pages[feed] = shown

    def test_random_differences_equal_those_applied_one_element_at_a_time(self):
        outcomes = set()
        for seed in range(SEED, SEED + 1000):
            with self.subTest(seed=seed):
                base, sections, items = random_difference(random.Random(seed))
                replica = Replica("f")
                replica.apply(reload("f", [section(name, *ids) for name, ids in base.items()]))
                wanted = slowly(base, sections, items)
                result = [section(name, *ids) for name, ids in wanted or []]
                before = replica.sections
                outcome = replica.apply(difference("f", result, 2, sections=sections, items=items))
                found = [(one.id, [item.id for item in one.items]) for one in replica.sections]
                self.assertEqual(outcome.type, "mismatch" if wanted is None else "applied", outcome.fault)
                self.assertEqual(found, [*base.items()] if wanted is None else wanted)
                if wanted is None:
                    self.assertIs(replica.sections, before)
                    self.assertTrue(replica.is_stale)
                outcomes.add(outcome.type)
        self.assertEqual(outcomes, {"applied", "mismatch"})

    def test_after_a_difference_the_checksum_goes_on(self):
        """The terms of elements that were displaced are renewed: the next difference is checked with them."""
        for seed in range(SEED, SEED + 300):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                base, sections, items = random_difference(rng)
                wanted = slowly(base, sections, items)
                if not wanted:
                    continue
                replica = Replica("f")
                replica.apply(reload("f", [section(name, *ids) for name, ids in base.items()]))
                result = [section(name, *ids) for name, ids in wanted]
                replica.apply(difference("f", result, 2, sections=sections, items=items))
                result.append(section("last"))
                insert = {"insert": [{"id": "last", "index": len(result) - 1, "data": None}]}
                self.assertEqual(replica.apply(difference("f", result, 3, sections=insert)).type, "applied")

    def test_a_missing_record_is_a_gap_until_the_next_reload(self):
        replica = Replica("f")
        first, second = [section("s", ("a", 1))], [section("s", ("a", 2))]
        change = {"reconfigure": [{"id": "a", "section": "s", "index": 0, "data": 2}]}
        outcomes = [replica.apply(text).type for text in (
            reload("f", first), difference("f", second, 3, items=change), reload("f", second, 4), difference("f", second, 5, items=change))]
        self.assertEqual(outcomes, ["applied", "gap", "applied", "applied"])

    def test_an_id_that_occurs_twice_does_not_fit_whatever_the_checksum(self):
        def move(*indices):
            source, target = ({"section": "s", "index": index} for index in indices)
            return {"id": "a", "from": source, "to": target}

        insertion = {"insert": [{"id": "a", "section": "s", "index": 0, "kind": "", "data": 2}]}
        for first, more in (
            ([section("s", "a"), section("s")], None),
            ([section("s", "a"), section("t", "a")], None),
            ([section("s", "a", "a")], None),
            ([section("s", "a")], {"items": insertion}),
            ([section("s", "a", "b")], {"items": {"move": [move(0, 1), move(0, 2)]}}),
            ([section("s", "a")], {"sections": {"insert": [{"id": "s", "index": 1, "data": None}]}}),
        ):
            with self.subTest(first=first, more=more):
                replica = Replica("f")
                outcome = replica.apply(reload("f", first))
                if more is not None:
                    outcome = replica.apply(difference("f", first, 2, **more))
                self.assertEqual(outcome.type, "mismatch")
                self.assertRegex(str(outcome.fault), "already exists|twice")

    def test_a_reload_keeps_equal_elements_also_after_a_restart(self):
        replica = Replica("f")
        replica.apply(reload("f", [section("s", "a", ("b", 1)), section("t", "c")]))
        before = replica.sections
        replica.restart()
        self.assertEqual(replica.apply(reload("f", [section("s", "a", ("b", 2)), section("t", "c")])).type, "applied")
        s, t = replica.sections
        self.assertIs(t, before[1])
        self.assertIs(s.items[0], before[0].items[0])
        self.assertIsNot(s.items[1], before[0].items[1])

    def test_a_deletion_and_a_later_life(self):
        replica = Replica("f")
        replica.apply(reload("f", [section("s", "a")]))
        self.assertEqual(replica.apply(deletion("f", 2)).type, "removed")
        self.assertEqual(replica.apply(deletion("f", 2)).type, "skipped")
        self.assertEqual((replica.head, replica.sections), (None, ()))
        self.assertEqual(replica.apply(reload("f", [])).type, "applied")

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

    def test_a_saved_replica_goes_on(self):
        replica, other = Replica("f"), Replica("f")
        sections = [{**section("s", ("a", {"x": [1, 2]}), data="ü"), "order": [{"by": "/x"}], "keep": 3}]
        replica.apply(reload("f", sections, 7))
        other.apply(replica.to_reload())
        self.assertEqual(plain(other.sections), plain(replica.sections))
        self.assertEqual(other.head, replica.head)
        self.assertEqual(other.head.checksum, checksum(sections))


if __name__ == "__main__":
    unittest.main()
