"""Builds the web site from the documents, and tests its search."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from blocks import ROOT

BUILD = [sys.executable, str(ROOT / "docs" / "site" / "build.py")]


# In Debian, the theme is a directory; in other packages, a module.
HAS_THEME = pathlib.Path("/usr/share/mkdocs/themes/material").exists() or importlib.util.find_spec("material") is not None


@unittest.skipUnless(importlib.util.find_spec("mkdocs") and HAS_THEME, "mkdocs and mkdocs-material are not installed")
class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.output = pathlib.Path(folder.name) / "site"
        # Checks every link and anchor, and that nothing is loaded from other sites.
        cls.result = subprocess.run([*BUILD, "--output", cls.output], capture_output=True, encoding="utf-8")

    def test_the_site_has_no_broken_links(self):
        self.assertEqual(self.result.returncode, 0, self.result.stdout + self.result.stderr)

    def test_the_protocol_has_an_anchor_for_each_section(self):
        page = (self.output / "protocol.html").read_text()
        for anchor in ("1-the-model", "43-checksum", "115-applying-a-difference", "135-a-merge-patch-with-repeated-names"):
            self.assertIn(f'id="{anchor}"', page)

    def test_the_search_index_has_every_page(self):
        index = json.loads((self.output / "search" / "search_index.json").read_text())
        places = {entry["location"].partition("#")[0] for entry in index["docs"]}
        self.assertGreaterEqual(places, {path.name for path in self.output.glob("*.html")} - {"404.html", "index.html"})

    def test_the_api_has_the_public_types(self):
        api = self.output / "api" / "documentation"
        for place in ("feed/snapshot", "feed/replica", "feedstore/feedstore", "feedclient/feedclient"):
            self.assertTrue((api / place / "index.html").exists(), place)


if __name__ == "__main__":
    unittest.main()
