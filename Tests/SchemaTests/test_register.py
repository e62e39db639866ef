"""The registers of workarounds for librdkafka and libmicrohttpd name existing code and tests, and are complete."""

import re
import unittest

from repository import ROOT
from test_documents import files

REGISTERS = [ROOT / "docs" / "librdkafka.md", ROOT / "docs" / "libmicrohttpd.md"]
# A row of a table, but not its head or the line below that.
ROW = re.compile(r"^\| (?!code \|)(?!-)(.+) \|$", re.MULTILINE)
CODE = re.compile(r"\[`([\w.]+)`\]\(\.\./([^)]+)\)")
# References to versions in comments: "librdkafka 2.0.2", "libmicrohttpd 0.9.75", "since 2.2", "before 2.1", "issue 4605".
VERSION = re.compile(r"lib(?:rdkafka|microhttpd) \d+\.\d|(?:since|before) \d+\.\d|issue \d{3,}")


def rows():
    """The cells of each row."""
    return [[cell.strip() for cell in row.split(" | ")] for page in REGISTERS for row in ROW.findall(page.read_text())]


class Register(unittest.TestCase):
    def test_rows_are_complete(self):
        self.assertGreater(len(rows()), 20)
        for row in rows():
            with self.subTest(row[0]):
                self.assertEqual(len(row), 5)
                self.assertTrue(all(row))

    def test_code_is_where_the_register_says(self):
        for row in rows():
            for symbol, path in CODE.findall(row[0]):
                with self.subTest(symbol):
                    source = (ROOT / path).read_text()
                    declaration = rf"\b(?:func|var|let|struct|class|enum|extension|int) {symbol.split('.')[-1]}\b"
                    self.assertTrue(re.search(declaration, source), f"{path} does not declare it")

    def test_tests_exist(self):
        suites = {path.stem for path in files("Tests") if path.suffix == ".swift"}
        for row in rows():
            for name in re.findall(r"`(\w+)`", row[3]):
                with self.subTest(name):
                    self.assertIn(name, suites)

    def test_each_file_that_names_a_version_is_registered(self):
        registered = {path for row in rows() for _, path in CODE.findall(row[0])}
        for path in files("Sources"):
            if path.suffix not in {".swift", ".c", ".h"}:
                continue
            # A sentence may continue on the next line of a comment; quoted text does not refer to a version.
            text = re.sub(r"\s*\n\s*///?\s*", " ", path.read_text())
            text = re.sub(r"`[^`\n]*`", "", text)
            if VERSION.search(text):
                with self.subTest(str(path.relative_to(ROOT))):
                    self.assertTrue(str(path.relative_to(ROOT)) in registered, "no row cites it")


if __name__ == "__main__":
    unittest.main()
