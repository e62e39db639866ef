"""What docs/architecture.md says of modules is compared with Package.swift."""

import re
import unittest

from blocks import ROOT


class Modules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = (ROOT / "Package.swift").read_text()
        sources = {path.relative_to(ROOT / "Sources").parts[0] for path in (ROOT / "Sources").rglob("*.swift")}
        cls.dependencies = {}
        for target in re.split(r"\.\w*[tT]arget\(", text):
            name = re.match(r'\s*name: "(\w+)"', target)
            if name and name[1] in sources:
                listed = re.search(r"dependencies: \[(.*?)\]", target, re.DOTALL)
                cls.dependencies[name[1]] = sources.intersection(re.findall(r'"(\w+)"', listed[1] if listed else ""))
        page = (ROOT / "docs" / "architecture.md").read_text()
        cls.picture = page.split("```")[1]
        cls.table = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)

    def test_table_lists_every_module_after_those_that_it_depends_on(self):
        self.assertGreater(len(self.dependencies), 15)
        self.assertEqual(sorted(self.table), sorted(self.dependencies))
        for name, dependencies in self.dependencies.items():
            with self.subTest(name):
                self.assertLessEqual(dependencies, set(self.table[: self.table.index(name)]))

    def test_picture_shows_every_module_above_those_that_it_depends_on(self):
        lines = {
            name: number for number, line in enumerate(self.picture.splitlines()) for name in self.dependencies
            if re.search(rf"\b{name}\b", line)
        }
        self.assertEqual(set(lines), set(self.dependencies) - {"Spelling"})
        for name, dependencies in self.dependencies.items():
            for other in dependencies - {"Spelling"}:
                with self.subTest(f"{name} depends on {other}"):
                    self.assertLessEqual(lines[name], lines[other])

    def test_walls_of_the_text_hold(self):
        for name in ("Kafka", "OperatingSystem", "Queues"):
            self.assertEqual(self.dependencies[name], set())
        for name in ("HTTP", "Settings", "Diagnostics"):
            self.assertLessEqual(self.dependencies[name], {"OperatingSystem", "Queues", "Spelling"})
        self.assertEqual(self.dependencies["Feed"], {"Spelling"})
        self.assertFalse(self.dependencies["FeedWorker"] & {"FeedIngest", "FeedHTTP", "FeedTools"})
        self.assertFalse(self.dependencies["FeedIngest"] & {"FeedWorker", "FeedHTTP", "FeedTools"})
        self.assertFalse(self.dependencies["FeedHTTP"] & {"FeedWorker", "FeedIngest", "FeedTransactions", "FeedTools"})
        self.assertNotIn("FeedTools", self.dependencies["FeedDaemon"])


if __name__ == "__main__":
    unittest.main()
