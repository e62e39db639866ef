"""The conformance vectors: they are consistent, and the Python package passes them with their runner."""

import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "conformance"))

import run  # noqa: E402

RUNNER = ROOT / "conformance" / "run.py"
FOLLOWER = [sys.executable, str(ROOT / "clients" / "python" / "tests" / "vectors.py")]


class Conformance(unittest.TestCase):
    def run_vectors(self, *arguments, **more):
        # Without other packages, as on a minimal machine.
        return subprocess.run(
            [sys.executable, "-I", RUNNER, *arguments], capture_output=True, encoding="utf-8", **more)

    def test_the_vectors_are_consistent(self):
        result = self.run_vectors("check")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_states_are_compared_as_data_is_spelled(self):
        output = (RUNNER.parent / "store" / "spelling" / "output.ndjson").read_text("utf-8")
        self.assertIsNone(run.other_states(output, "spelling"))
        self.assertRegex(run.other_states(output.replace('"z":1.0', '"z":1'), "spelling"), "^state 1 is")
        self.assertRegex(run.other_states(output[output.index("\n") + 1:], "spelling"), "^line 1 cannot be applied: ")
        self.assertRegex(run.other_states("", "spelling"), "^0 states, expected ")

    def test_a_follower_may_ignore_orders_and_bounds(self):
        section = {"id": "s", "data": None, "order": [{"by": ""}], "keep": 2, "items": []}
        then = {"stale": False, "waiting": False, "epoch": "e", "revision": 1, "checksum": "00000000"}
        ignored = {"id": "s", "data": None, "items": []}
        self.assertIsNone(run.differs({**then, "sections": [section]}, then, [section], exact=True))
        self.assertIsNone(run.differs({**then, "sections": [ignored]}, then, [section]))
        self.assertIn("sections are", run.differs({**then, "sections": [ignored]}, then, [section], exact=True))
        self.assertIn("sections are", run.differs({**then, "sections": [{**section, "keep": 3}]}, then, [section]))
        self.assertIn("sections are", run.differs({**then, "sections": [section]}, then, [ignored]))

    def test_the_follower_passes(self):
        result = self.run_vectors("replica", *FOLLOWER)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"^(\d+) of \1 vectors passed\n$")

    def test_a_wrong_follower_fails(self):
        """Its first answer is right, because the feed does not exist yet."""
        program = "import sys\nfor line in sys.stdin: print('{\"epoch\":null,\"stale\":false}')"
        result = self.run_vectors("--only", "worked-example", "replica", sys.executable, "-c", program)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("FAILED worked-example: line 1, k0/news: epoch is None", result.stdout)

    def test_a_follower_that_ends_early_fails(self):
        result = self.run_vectors("--only", "worked-example", "replica", sys.executable, "-c", "")
        self.assertIn("line 1: no answer; the program ended with 0", result.stdout)
        self.assertEqual(result.returncode, 1)

    def test_a_follower_that_stops_reads_feeds_that_begin_later_in_another_run(self):
        program = """if True:
            import json, sys
            for line in map(json.loads, sys.stdin):
                feed = line["key"].split("/")[1]
                if line["key"].startswith("d"):
                    print('{"stopped":true}')
                    break
                print('{"epoch":null}' if feed == "f7" else LAST)"""
        first = run.lines("replica/damaged-head-time.ndjson")[0]["then"]
        answer = {name: first[name] for name in ("epoch", "revision", "checksum", "sections")}
        program = program.replace("LAST", repr(run.json.dumps(answer)))
        result = self.run_vectors("--only", "damaged-head-time", "replica", sys.executable, "-c", program)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        # It refuses no reload, and says nothing of a feed that it was not asked for yet.
        self.assertRegex(result.stdout, "FAILED damaged-head-time: line 4, k0/f1: ")

    def test_what_is_decided_of_an_open_output_is_compared(self):
        output = (RUNNER.parent / "store" / "random" / "output.ndjson").read_text("utf-8")
        decided = run.decided(output)
        self.assertGreater(len(decided), 10)
        for old, new in ('"time":"', '"time":"x'), ('"through":{', '"through":{"a":1,'), ('"revision":', '"revision":1'), ('"index":', '"index":1'):
            self.assertNotEqual(run.decided(output.replace(old, new)), decided, old)
        self.assertEqual(run.decided(output.replace('"move":[', '"move":[{"id":"x"},')), decided)


if __name__ == "__main__":
    unittest.main()
