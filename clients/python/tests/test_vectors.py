"""The conformance vectors."""

import subprocess
import sys
import unittest

from support import CONFORMANCE, vectors
from vectors import answer, take, take_event

from feedstore.changesets import parsed_key
from feedstore.checksum import plain_xxh32, xxh32
from feedstore.errors import ReplicaFault
from feedstore.merge_patch import merged
from feedstore.partitioner import murmur2, partition_of

sys.path.append(str(CONFORMANCE))
import run  # noqa: E402


class Vectors(unittest.TestCase):
    def test_replicas(self):
        self.check(run.manifest()["replica"], take, lambda line: (line["partition"], line["then"]["feed"]))

    def test_windows(self):
        self.check(run.manifest()["window"], take_event, lambda line: line["then"]["feed"])

    def check(self, vectors, take, feed_of):
        """What there is after each record or message. Data is compared as it is spelled."""
        self.assertGreater(len(vectors), 5)
        for vector in vectors:
            known, states = {}, {}
            for number, (line, spelled) in enumerate(zip(run.lines(vector["file"]), run.lines(vector["file"], run.spelled))):
                with self.subTest(vector["name"], line=number + 1):
                    then = spelled["then"]
                    feed = then and feed_of(line)
                    if then and "sections" in then:
                        states[feed] = then["sections"]
                    found = run.spelled(answer(take(known, line)))
                    self.assertIsNone(run.differs(found, then, states.get(feed), True))

    def test_the_vectors_of_pending_writes_are_those_of_the_model(self):
        subprocess.run([sys.executable, str(CONFORMANCE / "pending.py"), "--check"], check=True)

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


if __name__ == "__main__":
    unittest.main()
