"""The form of the pages: their length, the length of lines and of cells, and how sentences name things."""

import re
import unittest

from blocks import FENCE, PAGES, ROOT

# The protocol is one page, so that it can be read and cited as a whole.
LONG = {"docs/protocol.md"}
WORDS = (
    "tells? telling told whoever nobody somebody besides news settles? settled once.more made.anew go(?:es|ing)?.on "
    "looks?.at").replace(" ", "|")
# Where a sentence does not name the thing, or does not say who does what.
VAGUE = re.compile(
    rf"(?i:\b(?:{WORDS})\b)"
    r"|(?<!here )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|later\b|earlier\b)\w"
    r"|(?:^|[.:;] |\*\*)What (?!to\b)[^?\n]*?(?=[.\n])"
    r"|\b(?:of|to|for|from|with|by|than) what\b(?! to\b)"
    r"|\b(?:that|those) (?:of|with|for|in|from) (?:the|an?|which|whom|all|its|this|that|these)\b"
    r"|\b(?:has|have|had) it \w+ed\b|\b(?:who|which)ever (?:has|had|is)\b",
    re.MULTILINE)
EXAMPLES = [
    "What it has told before.", "The value is no event.", "A list of what came.", "The offset is that of the record.",
    "A pause has it stopped.", "Whoever has the key.",
]
PLAIN = ["The last counters.", "There is no order.", "It is no longer there.", "What is a feed?", "It says what to do."]


def pages(folder=""):
    """The pages below a folder, by their names."""
    names = {page.relative_to(ROOT).as_posix(): page for page in PAGES}
    return {name: page for name, page in names.items() if name.startswith(folder)}


def prose(page):
    """The text without code, and links without their targets."""
    text = re.sub(r"`[^`\n]*`", "x", FENCE.sub("", page.read_text()))
    return re.sub(r"\]\([^)]*\)", "]", text)


class Text(unittest.TestCase):
    def test_pages_are_short(self):
        for name, page in pages("docs/").items():
            if name not in LONG:
                with self.subTest(name):
                    self.assertLessEqual(len(page.read_text().splitlines()), 400)

    def test_lines_and_cells_are_short(self):
        for name, page in pages("docs/").items():
            for line in FENCE.sub("", page.read_text()).splitlines():
                with self.subTest(name, line=line[:60]):
                    if line.lstrip().startswith("|"):
                        text = re.sub(r"\]\([^)]*\)", "]", line)
                        self.assertLessEqual(max(len(cell.strip()) for cell in text.split(" | ")), 200)
                    elif " " in line.strip():
                        self.assertLessEqual(len(line), 140)

    def test_the_pattern_finds_vague_sentences_only(self):
        self.assertEqual([text for text in EXAMPLES + PLAIN if VAGUE.search(text)], EXAMPLES)

    def test_sentences_name_the_thing(self):
        """At most 2 in 1,000 words; some hits are plain English."""
        for name, page in pages().items():
            words = len(prose(page).split())
            found = [match[0] for match in VAGUE.finditer(prose(page))]
            with self.subTest(name, found=found):
                self.assertLessEqual(len(found), max(2 * words / 1_000, 1))


if __name__ == "__main__":
    unittest.main()
