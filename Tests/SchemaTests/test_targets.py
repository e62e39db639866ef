"""Each folder with Swift files in Sources and Tests is a target; files in other folders would silently not be built."""

import re
import unittest

from repository import ROOT


class Targets(unittest.TestCase):
    def test_folders_are_targets(self):
        targets = set(re.findall(r'name: "(\w+)"', (ROOT / "Package.swift").read_text()))
        folders = [folder for parent in ("Sources", "Tests") for folder in sorted((ROOT / parent).iterdir())]
        self.assertGreater(len(folders), 20)
        for folder in folders:
            if any(folder.rglob("*.swift")):
                with self.subTest(folder.name):
                    self.assertIn(folder.name, targets)


if __name__ == "__main__":
    unittest.main()
