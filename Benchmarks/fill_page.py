"""Runs the benchmarks, and writes their tables into the page that describes them.

    python3 Benchmarks/fill_page.py docs/benchmarks.md -- Benchmarks/.build/release/Benchmarks --feedstore .build/release/feedstore

The output has sections that begin with `### `, the page has the same ones with `## `, and each has a table. The first table of a section
of the page is replaced; others in it were not measured by the program, and stay. Lines that begin with `*Not yet measured` or
`*Measured elsewhere` go. The line that begins with `Measured on ` describes the machine. A page never has tables of two machines: on another machine, measure all sections.
"""

import itertools
import pathlib
import re
import subprocess
import sys

_NOTE = re.compile(r"\*(?:Not yet measured|Measured elsewhere)")
_MACHINE = re.compile(r"Measured on [^:]*: (.*)")


class BadFit(Exception):
    pass


class Section:
    """A heading and the lines up to the next one."""

    def __init__(self, title, lines):
        self.title = title
        self.lines = lines

    @property
    def table(self):
        """Where its first table begins and ends; None if it has none."""
        first = next((number for number, line in enumerate(self.lines) if line.startswith("|")), None)
        if first is None:
            return None
        rest = itertools.takewhile(lambda line: line.startswith("|"), self.lines[first:])
        return first, first + len(list(rest))

    def fill(self, table):
        notes = [number for number, line in enumerate(self.lines) if _NOTE.match(line)]
        if place := self.table:
            self.lines[place[0] : place[1]] = table
        elif notes:
            self.lines[notes[0] : notes[0] + 1] = table
        else:
            raise BadFit(f"section '{self.title}' of the page has no table")
        self.lines = _without_notes(self.lines)


def sections(text, mark):
    """What comes before the first heading, and the sections."""
    parts = [Section(None, [])]
    for line in text.splitlines():
        if line.startswith(mark + " "):
            parts.append(Section(line.removeprefix(mark + " "), []))
        parts[-1].lines.append(line)
    return parts[0], parts[1:]


def _without_notes(lines):
    kept = []
    for line in lines:
        if _NOTE.match(line) or (not line and kept and not kept[-1]):
            continue
        kept.append(line)
    return kept


def _machine(lines):
    """The number of the line that tells the machine, and what it is."""
    for number, line in enumerate(lines):
        if found := _MACHINE.match(line):
            return number, found[1]
    raise BadFit("there is no line that begins with 'Measured on '")


def filled(page, output):
    """The page with the tables of the output."""
    start, of_page = sections(page, "##")
    output_start, measured = sections(output, "###")
    by_title = {section.title: section for section in of_page}
    number, machine = _machine(start.lines)
    output_number, output_machine = _machine(output_start.lines)
    with_tables = {section.title for section in of_page if section.table or any(map(_NOTE.match, section.lines))}
    missing = with_tables - {section.title for section in measured}
    if not missing:
        start.lines[number] = output_start.lines[output_number]
    elif machine != output_machine:
        raise BadFit(f"the page is of another machine; measure these as well: {', '.join(sorted(missing))}")
    for section in measured:
        if section.title not in by_title:
            raise BadFit(f"the page has no section '{section.title}'")
        if not (place := section.table):
            raise BadFit(f"section '{section.title}' of the output has no table")
        by_title[section.title].fill(section.lines[place[0] : place[1]])
    return "\n".join(line for part in (start, *of_page) for line in part.lines) + "\n"


def main():
    if len(sys.argv) < 4 or sys.argv[2] != "--":
        print(__doc__, file=sys.stderr)
        return 2
    page = pathlib.Path(sys.argv[1])
    output = []
    with subprocess.Popen(sys.argv[3:], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            output.append(line)
    if process.returncode != 0:
        return process.returncode
    try:
        page.write_text(filled(page.read_text(), "".join(output)))
    except BadFit as error:
        print(f"{page} stays as it is: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
