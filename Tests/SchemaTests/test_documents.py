"""Links between the documents resolve, and cited sections of the protocol exist."""

import json
import re
import sys
import unittest

from repository import PROTOCOL, ROOT

FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
PICTURE = re.compile(r'(?:src|srcset)="([^"]+)"')
# A section or chapter by its number.
CITATION = re.compile(r"(?:\b[Ss]ections?|\b[Cc]hapters?|§) ?([0-9]+(?:\.[0-9]+)?)\b")
COMMENT = re.compile(r"\n\s*(?:///?|#|\*)?\s*")
# A number after one of these belongs to another document.
OTHER_DOCUMENT = re.compile(r"RFC [0-9]+|manual page|required by$")

sys.path.append(str(ROOT / "docs" / "site"))

from pages import github_anchor  # noqa: E402


def files(*folders):
    """The files in some folders, without build results."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and ".build" not in path.parts:
                yield path


def pages():
    """The documents."""
    yield from sorted(ROOT.glob("*.md"))
    folders = ("docs", "Benchmarks", "clients", "conformance", "examples", "deploy", "packaging")
    yield from (path for path in files(*folders) if path.suffix == ".md")


def prose(path):
    return FENCE.sub("", path.read_text())


def anchors(path):
    """The anchors of headings, as on GitHub."""
    found = {}
    for heading in HEADING.findall(prose(path)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = github_anchor(text)
        found[name] = found.get(name, -1) + 1
    return {f"{name}-{number}" if number else name for name, count in found.items() for number in range(count + 1)}


def sections():
    """The numbers of the protocol's sections, in the order of the page."""
    return re.findall(r"^#{2,3} ([0-9]+(?:\.[0-9]+)?) ", prose(PROTOCOL), re.MULTILINE)


class Documents(unittest.TestCase):
    def test_every_link_resolves(self):
        self.assertGreater(len(list(pages())), 8)
        for page in pages():
            text = prose(page)
            for link in LINK.findall(text) + PICTURE.findall(text):
                if re.match(r"[a-z]+:", link):
                    continue
                with self.subTest(page.name, link=link):
                    name, _, anchor = link.partition("#")
                    target = (page.parent / name).resolve() if name else page
                    self.assertTrue(target.exists(), "there is no such file")
                    if anchor:
                        self.assertIn(anchor, anchors(target))

    def test_the_sections_of_the_protocol_are_numbered_in_order(self):
        chapter, section = 0, 0
        for number in sections():
            if "." in number:
                section += 1
                self.assertEqual(number, f"{chapter}.{section}")
            else:
                self.assertGreater(int(number), chapter)
                chapter, section = int(number), 0

    def test_every_cited_section_exists(self):
        known, cited = set(sections()), 0
        folders = (
            "Sources", "Tests", "examples", "web", "config", "conformance", "Fuzz", "Benchmarks", "docs", "deploy", "packaging")
        for path in [*sorted(ROOT.glob("*")), *files(*folders)]:
            if path.suffix not in {".swift", ".py", ".js", ".mjs", ".json5", ".json", ".md", ".toml", ".yaml", ".yml", ".h", ".sh"}:
                continue
            text = COMMENT.sub(" ", path.read_text(errors="replace"))
            for citation in CITATION.finditer(text):
                before, number = text[max(0, citation.start() - 60):citation.start()], citation[1]
                if OTHER_DOCUMENT.search(before):
                    continue
                cited += 1
                with self.subTest(str(path.relative_to(ROOT)), before=before[-30:]):
                    self.assertIn(number, known)
        self.assertGreater(cited, 30)

    def test_the_readme_is_short_and_every_package_is_named(self):
        readme = (ROOT / "README.md").read_text()
        self.assertLess(len(readme.splitlines()), 120)
        contributing = (ROOT / "CONTRIBUTING.md").read_text()
        makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")
        lists = re.findall(r"^[A-Z_]*PACKAGES := (.*)$", makefile, re.MULTILINE)
        self.assertGreater(len(lists), 4)
        for package in " ".join(lists).split():
            if not package.startswith("$("):
                with self.subTest(package):
                    self.assertIn(f"`{package}`", contributing)

    def test_the_sections_in_the_vectors_exist(self):
        manifest = json.loads((ROOT / "conformance" / "manifest.json").read_text())
        for vector in manifest["store"] + manifest["replica"]:
            with self.subTest(vector["name"]):
                self.assertLessEqual(set(vector["sections"]), set(sections()))

    def test_references_within_the_protocol_have_the_right_title(self):
        for text, number in re.findall(r"\[([0-9]+(?:\.[0-9]+)?)\]\(#([0-9]+)-", prose(PROTOCOL)):
            self.assertEqual(text.replace(".", ""), number)


if __name__ == "__main__":
    unittest.main()
