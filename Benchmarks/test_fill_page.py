"""How tables get onto the page, and what is refused."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from fill_page import BadFit, filled, sections

HERE = pathlib.Path(__file__).resolve().parent

PAGE = """# Benchmarks

Measured on 1 May 2026: Some processor, 2 cores.

## Replay

About replay.

| file | time |
| --- | ---: |
| a | 1 s |
| b | 2 s |

More about it.

## Latency

About latency.

*Not yet measured on this machine.*

## How to repeat it

No table here.
"""

OUTPUT = """Measured on 2 May 2026: Some processor, 2 cores.

### Replay

Medians of 5 runs.

| file | time |
| --- | ---: |
| a | 3 s |

### Latency

| load | p50 |
| --- | ---: |
| 5,000/s | 20 ms |
"""


def only(title):
    """The output with one section."""
    start, parts = sections(OUTPUT, "###")
    return "\n".join([*start.lines, *(line for part in parts if part.title == title for line in part.lines)])


class FillPageTests(unittest.TestCase):
    def test_tables_are_replaced_and_the_text_stays(self):
        page = filled(PAGE, OUTPUT)
        self.assertIn("About replay.\n\n| file | time |\n| --- | ---: |\n| a | 3 s |\n\nMore about it.\n", page)
        self.assertIn("About latency.\n\n| load | p50 |\n| --- | ---: |\n| 5,000/s | 20 ms |\n\n## How", page)
        self.assertNotIn("Not yet", page)
        self.assertNotIn("Medians of 5", page)
        self.assertIn("Measured on 2 May 2026: Some processor", page)

    def test_a_second_table_of_a_section_stays(self):
        page = PAGE.replace("More about it.", "More:\n\n| c |\n| --- |\n| 4 s |")
        self.assertEqual(filled(page, OUTPUT), filled(PAGE, OUTPUT).replace("More about it.", "More:\n\n| c |\n| --- |\n| 4 s |"))

    def test_filling_it_again_changes_nothing(self):
        page = filled(PAGE, OUTPUT)
        self.assertEqual(filled(page, OUTPUT), page)

    def test_a_note_that_a_table_is_of_elsewhere_goes_with_the_table(self):
        page = PAGE.replace("| b | 2 s |\n", "| b | 2 s |\n\n*Measured elsewhere: on another day.*\n")
        self.assertEqual(filled(page, OUTPUT), filled(PAGE, OUTPUT))

    def test_some_sections_can_be_measured_again_on_the_same_machine(self):
        page = filled(PAGE, only("Replay"))
        self.assertIn("| a | 3 s |", page)
        self.assertIn("Not yet measured", page)
        self.assertIn("Measured on 1 May 2026", page)

    def test_tables_of_two_machines_do_not_get_onto_one_page(self):
        with self.assertRaisesRegex(BadFit, "another machine; measure these as well: Latency"):
            filled(PAGE, only("Replay").replace("Some processor", "Another processor"))
        self.assertIn("2 May 2026: Another processor", filled(PAGE, OUTPUT.replace("Some processor", "Another processor")))

    def test_what_does_not_fit_is_named(self):
        for page, output, problem in (
            (PAGE, OUTPUT.replace("### Latency", "### Speed"), "no section 'Speed'"),
            (PAGE, OUTPUT.split("| load")[0], "'Latency' of the output has no table"),
            (PAGE.replace("*Not yet", "Not yet"), OUTPUT, "'Latency' of the page has no table"),
            (PAGE.replace("Measured on", "On"), OUTPUT, "no line that begins with 'Measured on '"),
        ):
            with self.assertRaisesRegex(BadFit, problem):
                filled(page, output)

    def test_a_page_stays_as_it_is_if_the_benchmarks_fail(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text(PAGE)
            script = f"import sys; print({OUTPUT!r}); sys.exit(2)"
            run = subprocess.run(
                [sys.executable, HERE / "fill_page.py", page, "--", sys.executable, "-c", script], capture_output=True, text=True
            )
            self.assertEqual(run.returncode, 2)
            self.assertIn("### Replay", run.stdout)
            self.assertEqual(page.read_text(), PAGE)

    def test_the_page_has_a_section_for_each_measurement_that_there_is(self):
        page = (HERE.parent / "docs" / "benchmarks.md").read_text()
        titles = {section.title for section in sections(page, "##")[1]}
        sources = [*(HERE / "Sources" / "Benchmarks").glob("*.swift"), *(HERE / "Members").glob("*.py")]
        measured = {title for source in sources for title in re.findall(r"(?m)^\s*(?:.*\")?### (.*?)(?:\\n.*)?$", source.read_text())}
        self.assertGreater(len(measured), 8)
        self.assertLessEqual(measured, titles)


if __name__ == "__main__":
    unittest.main()
