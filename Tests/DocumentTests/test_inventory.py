"""Every code block of the documents is tested, or says why not. `python3 blocks.py` lists all of them."""

import re
import unittest

from blocks import ELSEWHERE, FENCE, ILLUSTRATIONS, PAGES, ROOT, TESTED, blocks


class Inventory(unittest.TestCase):
    def test_every_block_says_how_it_is_tested_or_why_not(self):
        found = [block for page in PAGES for block in blocks(page)]
        self.assertGreater(len(found), 60)
        for block in found:
            with self.subTest(block.place):
                self.assertTrue(block.is_known, f"the info string '{block.info}' is not in blocks.py")

    def test_every_kind_of_block_occurs(self):
        kinds = {block.kind for page in PAGES for block in blocks(page)}
        self.assertEqual({*TESTED, *ELSEWHERE, *ILLUSTRATIONS} - kinds, set())

    def test_code_is_fenced(self):
        """Markdown also treats indented lines as code, which cannot have an info string."""
        for page in PAGES:
            text = FENCE.sub("\n", page.read_text())
            with self.subTest(page.name):
                self.assertNotIn("```", text)
                # Indented lines after a list item belong to it.
                paragraphs = re.split(r"\n{2,}", text)
                for before, paragraph in zip(paragraphs, paragraphs[1:]):
                    is_in_list = re.search(r"^ *(?:[-*]|\d+\.) ", before, re.MULTILINE)
                    self.assertFalse(paragraph.startswith("    ") and not is_in_list, paragraph)

    def test_blocks_tested_elsewhere_exist(self):
        for kind, (_, path) in ELSEWHERE.items():
            with self.subTest(kind):
                self.assertTrue((ROOT / path).exists())


if __name__ == "__main__":
    unittest.main()
