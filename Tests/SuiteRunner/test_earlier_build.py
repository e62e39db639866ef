"""Builds of an earlier commit, and cases without one, with repositories and a compiler that the tests make."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from earlier_build import MARK, PREVIOUS, EarlierBuild, Missing

# Builds by listing what it is to build.
COMPILER = """#!/bin/sh
shift 4
mkdir -p "$3/debug"
(cd "$1" && cat *.txt && echo "$FEEDSTORE_COMMIT") >"$3/debug/feedstore"
"""


class EarlierBuildTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "clone"
        self.root.mkdir()
        self.compiler = pathlib.Path(folder.name) / "compiler"
        self.compiler.write_text(COMPILER)
        self.compiler.chmod(0o755)

    def git(self, *arguments):
        identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return subprocess.run(
            ["git", *identity, *arguments], cwd=self.root, check=True, capture_output=True, text=True, env=environment
        ).stdout.strip()

    def commit(self, **files):
        """A commit with these files and no others; its id."""
        if not (self.root / ".git").exists():
            self.git("init", "--quiet")
        for file in self.root.glob("[!.]*"):
            file.unlink()
        for name, text in ({"changes": ""} | files).items():
            (self.root / (f"{name}.txt" if name != "changes" else "CHANGELOG.md")).write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a commit")
        return self.git("rev-parse", "HEAD")

    def build(self, name=PREVIOUS):
        return EarlierBuild(self.root, name, str(self.compiler)).build().read_text()

    def test_the_previous_commit_is_built_and_nothing_else_changes(self):
        first = self.commit(one="1\n")
        self.commit(one="2\n")
        (self.root / "one.txt").write_text("3\n")
        self.assertEqual(self.build(), f"1\n{first[:12]}\n")
        self.assertEqual((self.root / "one.txt").read_text(), "3\n")
        self.assertEqual(self.git("status", "--porcelain", "one.txt"), "M one.txt")
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)

    def test_another_commit_takes_the_place_of_the_one_built_before_and_what_is_the_same_is_not_written_again(self):
        first = self.commit(one="1\n", same="same\n", gone="gone\n")
        second = self.commit(one="2\n", same="same\n")
        self.assertEqual(self.build("HEAD~1"), f"gone\n1\nsame\n{first[:12]}\n")
        same = self.root / ".build/upgrade/source/same.txt"
        written = same.stat().st_mtime_ns
        self.assertEqual(self.build("HEAD"), f"2\nsame\n{second[:12]}\n")
        self.assertEqual(same.stat().st_mtime_ns, written)

    def test_files_of_an_interrupted_export_are_replaced(self):
        first = self.commit(one="1\n")
        self.commit(one="2\n")
        self.build()
        folder = self.root / ".build/upgrade"
        (folder / "index.lock").touch()
        (folder / "source/other.txt").write_text("other\n")
        self.assertEqual(self.build(), f"1\n{first[:12]}\n")

    def test_without_the_commit_the_remedy_is_told(self):
        with self.assertRaisesRegex(Missing, "no git history here; run it in a clone"):
            self.build()
        self.commit(one="1\n")
        with self.assertRaisesRegex(Missing, "no commit HEAD~1 here; name another one: FEEDSTORE_UPGRADE_FROM=COMMIT"):
            self.build()
        self.commit(one="2\n")
        whole, self.root = self.root, self.root.parent / "shallow"
        subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{whole}", self.root], check=True, capture_output=True)
        with self.assertRaisesRegex(Missing, "shallow and has no HEAD~1; run: git fetch --deepen=1"):
            self.build()

    def test_builds_mix_unless_the_changelog_says_since_then_that_they_do_not(self):
        self.commit(changes="- News.\n")
        self.commit(changes=f"- News. {MARK} cannot have members of both.\n")
        self.commit(changes=f"- News, in other words. {MARK} is to be stopped.\n- More.\n")
        self.assertTrue(EarlierBuild(self.root, "HEAD~1").can_mix())
        self.assertFalse(EarlierBuild(self.root, "HEAD~2").can_mix())


if __name__ == "__main__":
    unittest.main()
