"""The conformance vectors."""

import json
import sys
import unittest

from support import CONFORMANCE, plain, vectors
from vectors import answer, take

from feedstore import Window
from feedstore.changesets import parsed_key
from feedstore.checksum import plain_xxh32, xxh32
from feedstore.errors import ReplicaFault
from feedstore.followed import Followed
from feedstore.merge_patch import merged
from feedstore.partitioner import murmur2, partition_of
from feedstore.writes import FeedWrites

sys.path.append(str(CONFORMANCE))
import run  # noqa: E402


class Vectors(unittest.TestCase):
    def test_replicas(self):
        """Data is compared as it is spelled."""
        vectors_of_replicas = run.manifest()["replica"]
        self.assertGreater(len(vectors_of_replicas), 100)
        for vector in vectors_of_replicas:
            with self.subTest(vector["name"]):
                partitions, states = {}, {}
                for number, line in enumerate(run.lines(vector["file"], run.spelled)):
                    found = run.spelled(answer(take(partitions, line)))
                    then = line["then"]
                    feed = then and (line["partition"], then["feed"])
                    if then and "sections" in then:
                        states[feed] = then["sections"]
                    self.assertIsNone(run.differs(found, then, states.get(feed), True), f"line {number + 1}")

    def test_checksums(self):
        for vector in vectors(CONFORMANCE / "checksum.ndjson"):
            total = 0
            for term in vector["terms"]:
                with self.subTest(term["text"]):
                    for function in (xxh32, plain_xxh32):
                        self.assertEqual(f"{function(term['text'].encode()):08x}", term["xxh32"])
                total += int(term["xxh32"], 16)
            self.assertEqual(f"{total % 2**32:08x}", vector["checksum"])

    def test_the_plain_hash_equals_the_library_s(self):
        for length in range(200):
            data = bytes(number * 37 % 256 for number in range(length))
            self.assertEqual(plain_xxh32(data), xxh32(data))

    def test_keys(self):
        for vector in vectors(CONFORMANCE / "keys.ndjson"):
            with self.subTest(vector["key"]):
                if vector["kind"] is None:
                    with self.assertRaises(ReplicaFault):
                        parsed_key(vector["key"].encode())
                else:
                    self.assertEqual(parsed_key(vector["key"].encode()), (vector["kind"], vector["number"], vector["feed"]))

    def test_partitions(self):
        for vector in vectors(CONFORMANCE / "partitioner.ndjson"):
            with self.subTest(vector["key"]):
                self.assertEqual(f"{murmur2(vector['key'].encode()):08x}", vector["murmur2"])
                for count, partition in vector["partitions"].items():
                    self.assertEqual(partition_of(vector["key"], int(count)), partition)

    def test_merge_patches(self):
        for vector in vectors(CONFORMANCE / "merge-patch.ndjson"):
            with self.subTest(vector["data"] + vector["patch"]):
                self.assertEqual(merged(vector["data"], vector["patch"]), vector["result"])

    def test_windows(self):
        """Each line is an event of a stream. What the client has after it is compared."""
        for path in sorted((CONFORMANCE / "window").glob("*.ndjson")):
            followed = None
            for number, line in enumerate(vectors(path)):
                with self.subTest(path.name, line=number):
                    followed = followed or windowed(line)
                    if line["event"] == "message":
                        followed.message("url", line["data"])
                    else:
                        followed.event("url", line["event"], json.loads(line["data"]))
                    self.check(followed, line["then"])

    def check(self, followed, then):
        head = followed.replica.head
        self.assertEqual(head and head.epoch, then["epoch"])
        if head is None:
            return
        self.assertEqual((head.revision, head.checksum), (then["revision"], then["checksum"]))
        if "sections" in then:
            expected = [
                (section["id"], section["data"], section.get("order"), section.get("keep"),
                 [(item["id"], item["kind"], item["data"]) for item in section["items"]])
                for section in then["sections"]]
            found = [
                (*section[:1], json.loads(section[1]), *section[2:4], [(*item[:2], json.loads(item[2])) for item in section[4]])
                for section in plain(followed.replica.sections)]
            self.assertEqual(found, expected)
        if "window" in then:
            totals = [
                {"section": section.id, "from": section.from_, "shown": len(section.items), "of": section.of}
                for section in followed.replica.sections]
            self.assertEqual(totals, then["window"])


class AnyWindow(Window):
    """The window that the vector is of."""

    def fits(self, totals):
        return True


def windowed(line):
    feed = json.loads(line["data"])["feed"]
    return Followed(feed, AnyWindow(), ("url",), FeedWrites(feed, list, lambda *_: None, lambda *_: None))


if __name__ == "__main__":
    unittest.main()
