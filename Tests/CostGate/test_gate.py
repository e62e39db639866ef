"""The gate's rules: failures, mere reports, and the values that a rewrite keeps."""

import lzma
import pathlib
import re
import tempfile
import unittest

import counting
from committed import BadFile, Committed
from counting import Count, CountingFailed
from gate import Gate
from workloads import ROOT, WORKLOADS, Sample, Workload

ENVIRONMENT = {"architecture": "x86_64", "swift": "6.3.1", "glibc": "2.36", "valgrind": "3.19.0"}


class GateTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "costs.toml"
        self.counts = {workload.name: Count(10, 1_000_000, 1_000) for workload in WORKLOADS}
        self.environment = dict(ENVIRONMENT)

    def gate(self, workloads=None):
        def count(workload):
            result = self.counts[workload.name]
            if isinstance(result, str):
                raise CountingFailed(result)
            return result

        self.told = []
        # Files may be absent on a machine; here all workloads can be counted.
        chosen = workloads or [Workload(workload.name, workload.unit) for workload in WORKLOADS]
        return Gate(self.path, chosen, self.environment, count, self.told.append)

    def commit(self):
        self.assertTrue(self.gate().rewrite())

    def check(self, workloads=None):
        return self.gate(workloads).check()

    def told_of(self, word):
        return [line for line in self.told if word in line]

    def test_the_committed_numbers_pass_and_the_last_line_has_the_total(self):
        self.commit()
        self.assertTrue(self.check())
        self.assertEqual(self.told[-1], f"{2 * len(WORKLOADS)} passed, 0 failed")

    def test_three_percent_more_pass_and_anything_above_fails(self):
        self.commit()
        self.counts["moves"] = Count(10, 1_030_000, 1_030)
        self.assertTrue(self.check())
        self.counts["moves"] = Count(10, 1_030_001, 1_031)
        self.assertFalse(self.check())
        self.assertEqual(
            self.told_of("FAIL"),
            [
                "FAIL: moves: instructions: 1,030,001 counted, 1,000,000 committed, 3.0 % more; 3 % is the most",
                "FAIL: moves: allocations: 1,031 counted, 1,000 committed, 3.1 % more; 3 % is the most",
            ],
        )
        self.assertEqual(self.told[-1], f"{2 * len(WORKLOADS) - 2} passed, 2 failed")

    def test_a_lower_number_passes_and_is_reported(self):
        self.commit()
        self.counts["updates"] = Count(10, 500_000, 970)
        self.assertTrue(self.check())
        self.assertEqual(
            self.told_of("note"),
            ["note: updates: instructions: 500,000 counted, 1,000,000 committed, 50.0 % less; `make update-cost` keeps it so"],
        )

    def test_no_allocations_stay_none(self):
        self.counts["updates"] = Count(10, 1_000_000, 0)
        self.commit()
        self.assertTrue(self.check())
        self.counts["updates"] = Count(10, 1_000_000, 1)
        self.assertFalse(self.check())

    def test_a_workload_without_committed_numbers_fails(self):
        self.assertFalse(self.check())
        self.assertEqual(len(self.told_of("nothing committed")), 2 * len(WORKLOADS))

    def test_committed_numbers_without_a_workload_fail(self):
        self.commit()
        self.path.write_text(self.path.read_text().replace("[moves]", "[jumps]"))
        self.assertFalse(self.check())
        self.assertEqual(len(self.told_of("there is no such workload")), 1)

    def test_a_workload_that_cannot_be_counted_fails_and_the_others_are_compared(self):
        self.commit()
        self.counts["replace"] = "it had not ended after 600 s"
        self.assertFalse(self.check())
        self.assertEqual(self.told_of("FAIL"), ["FAIL: replace: it had not ended after 600 s"])
        self.assertEqual(self.told[-1], f"{2 * len(WORKLOADS) - 2} passed, 2 failed")

    def test_an_absent_file_is_reported_and_fails_nothing(self):
        self.commit()
        absent = Workload("replay", "record", Sample(self.folder / "absent.ndjson.xz", 1))
        self.assertTrue(self.check([absent]))
        self.assertEqual(len(self.told_of("skipped")), 1)
        self.assertEqual(self.told[-1], "0 passed, 0 failed")

    def test_with_another_compiler_or_processor_nothing_is_compared(self):
        self.commit()
        self.counts["moves"] = Count(10, 2_000_000, 2_000)
        for key, value in (("swift", "6.4"), ("architecture", "aarch64")):
            self.environment = ENVIRONMENT | {key: value}
            self.assertTrue(self.check())
            self.assertEqual(len(self.told_of("say nothing here")), 1)
            self.assertEqual(self.told[-1], "0 passed, 0 failed")

    def test_another_patch_version_is_compared_and_named_in_failures(self):
        self.commit()
        self.environment |= {"swift": "6.3.2", "glibc": "2.40"}
        self.assertTrue(self.check())
        self.assertEqual(self.told_of("2.40"), [])
        self.counts["moves"] = Count(10, 2_000_000, 1_000)
        self.assertFalse(self.check())
        self.assertIn("swift 6.3.2 instead of 6.3.1, glibc 2.40 instead of 2.36", self.told_of("other versions")[0])

    def test_a_rewrite_keeps_absent_and_unselected_workloads(self):
        self.commit()
        self.counts = {name: Count(20, 2_000_000, 2_000) for name in self.counts}
        absent = Workload("replay", "record", Sample(self.folder / "absent.ndjson.xz", 1))
        self.assertTrue(self.gate([Workload("moves", "move"), absent]).rewrite())
        committed = Committed.read(self.path)
        self.assertEqual(list(committed.counts), [workload.name for workload in WORKLOADS])
        self.assertEqual(committed.counts.pop("moves"), {"operations": 20, "instructions": 2_000_000, "allocations": 2_000})
        self.assertEqual({table["instructions"] for table in committed.counts.values()}, {1_000_000})

    def test_a_rewrite_that_fails_writes_nothing(self):
        self.commit()
        before = self.path.read_text()
        self.counts |= {"moves": Count(10, 1, 1), "replace": "exit code 1"}
        self.assertFalse(self.gate().rewrite())
        self.assertEqual(self.path.read_text(), before)

    def test_a_file_never_has_numbers_of_two_compilers(self):
        self.commit()
        self.environment["swift"] = "6.4"
        self.assertFalse(self.gate([Workload("moves", "move")]).rewrite())
        self.commit()
        self.assertTrue(self.check())

    def test_an_unreadable_file_is_named_and_can_be_rewritten(self):
        for text in ("[environment", "[updates]\ninstructions = 1\n", '[environment]\n[moves]\noperations = 1\ninstructions = "1"\nallocations = 1\n'):
            self.path.write_text(text)
            with self.assertRaisesRegex(BadFile, "costs.toml: .*`make update-cost`"):
                self.check()
            self.commit()
            self.assertTrue(self.check())


class CountingTests(unittest.TestCase):
    """Counting with a script in place of valgrind."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def count(self, workload, script):
        return counting.count(workload, self.valgrind(script), self.folder / "profiles")

    def valgrind(self, script):
        path = self.folder / "valgrind"
        path.write_text(f'#!/bin/sh\nfor word in "$@"; do case $word in --callgrind-out-file=*) out=${{word#*=}};; esac; last=$word; done\n{script}\n')
        path.chmod(0o755)
        return str(path)

    def test_instructions_come_from_callgrind_and_the_rest_from_the_output(self):
        script = """printf 'summary: 5\\ntotals: 1234\\n' > "$out"; echo '{"operations":7,"allocations":3}'"""
        self.assertEqual(self.count(Workload("moves", "move"), script), Count(7, 1234, 3))

    def test_the_first_lines_of_a_sample_are_replayed(self):
        packed = self.folder / "some.ndjson.xz"
        packed.write_bytes(lzma.compress(b"one\ntwo\nthree\n"))
        script = """echo totals: 9 > "$out"; printf '{"operations":%d,"allocations":0}' $(tr -cd '\\n' < "$last" | wc -c)"""
        self.assertEqual(self.count(Workload("replay", "record", Sample(packed, 2)), script).operations, 2)

    def test_a_failing_programs_output_is_reported(self):
        with self.assertRaisesRegex(CountingFailed, "(?s)exit code 3 of: .* moves\n.*nothing was published"):
            self.count(Workload("moves", "move"), "echo nothing was published >&2; exit 3")

    def test_an_empty_collection_is_an_error(self):
        with self.assertRaisesRegex(CountingFailed, "collected nothing"):
            self.count(Workload("moves", "move"), """echo totals: 0 > "$out"; echo '{"operations":7,"allocations":3}'""")

    def test_without_valgrind_the_message_names_the_package(self):
        with self.assertRaisesRegex(CountingFailed, "setup-test"):
            counting.count(Workload("moves", "move"), str(self.folder / "none"), self.folder)

    def test_the_workloads_are_those_of_the_program(self):
        source = (ROOT / "Benchmarks" / "Sources" / "Costs" / "CostsCommand.swift").read_text()
        names = set(re.findall(r'case \("([a-z]+)", ', source))
        self.assertEqual(names, {"replay" if workload.sample else workload.name for workload in WORKLOADS})


if __name__ == "__main__":
    unittest.main()
