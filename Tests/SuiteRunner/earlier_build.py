"""Builds `feedstore` of an earlier commit, and runs a command with it: `python3 Tests/SuiteRunner/earlier_build.py -- COMMAND…`.

The commit is FEEDSTORE_UPGRADE_FROM, or the previous one. The command finds the built program in FEEDSTORE_TEST_EARLIER. If
FEEDSTORE_TEST_EARLIER_CANNOT_MIX is set, the changelog says that the two builds cannot be members of one group.
"""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
VARIABLE = "FEEDSTORE_UPGRADE_FROM"
PREVIOUS = "HEAD~1"
# How the changelog begins a sentence on builds that cannot be members of one group.
MARK = "**Incompatible:** a group"


class Missing(Exception):
    """There is no earlier commit here, for a reason that the message gives with the remedy."""


class EarlierBuild:
    def __init__(self, root, name=PREVIOUS, swift="swift"):
        self.root = root
        self.name = name
        self.swift = swift.split()
        self.folder = root / ".build" / "upgrade"
        self.source = self.folder / "source"
        self.commit = self._find()

    def _find(self):
        if not (self.root / ".git").exists() or shutil.which("git") is None:
            raise Missing("there is no git history here; run it in a clone, with git installed")
        found = self._git("rev-parse", "--verify", "--quiet", f"{self.name}^{{commit}}", check=False)
        if found.returncode == 0:
            return found.stdout.strip()
        if self._git("rev-parse", "--is-shallow-repository").stdout.strip() == "true":
            raise Missing(f"this clone is shallow and has no {self.name}; run: git fetch --deepen=1, or --unshallow")
        raise Missing(f"there is no commit {self.name} here; name another one: {VARIABLE}=COMMIT")

    def build(self):
        """The built program. Files that have not changed since the last build, of any commit, are not built again."""
        self._check_out()
        short = self.commit[:12]
        print(f"building feedstore of {self.name} ({short}) in {self.folder}", flush=True)
        command = [
            *self.swift, "build", "--product", "feedstore", "--package-path", self.source, "--scratch-path", self.folder / "build",
        ]
        if subprocess.run(command, env=os.environ | {"FEEDSTORE_COMMIT": short}).returncode != 0:
            raise SystemExit(f"feedstore of {self.name} ({short}) cannot be built here; name another commit: {VARIABLE}=COMMIT")
        return self.folder / "build" / "debug" / "feedstore"

    def can_mix(self):
        """Whether no sentence of the changelog says that members of the two builds cannot be in one group."""
        then = self._git("show", f"{self.commit}:CHANGELOG.md", check=False).stdout
        return (self.root / "CHANGELOG.md").read_text().count(MARK) <= then.count(MARK)

    def _check_out(self):
        """Writes the commit's files that differ from those that are there. An index of its own says what is there."""
        index = self.folder / "index"
        if not index.exists() or not self._read_tree(index):
            # None yet, or what an interruption has left.
            shutil.rmtree(self.source, ignore_errors=True)
            for file in self.folder.glob("index*"):
                file.unlink()
            self.source.mkdir(parents=True)
            if not self._read_tree(index):
                raise SystemExit(f"the files of {self.name} cannot be written to {self.source}")

    def _read_tree(self, index):
        return self._git(
            f"--work-tree={self.source}", "read-tree", "--reset", "-u", self.commit, check=False, GIT_INDEX_FILE=str(index)
        ).returncode == 0

    def _git(self, *arguments, check=True, **environment):
        # In a hook, variables name the index of the new commit.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return subprocess.run(
            ["git", *arguments], cwd=self.root, check=check, capture_output=True, text=True, env=inherited | environment
        )


def main():
    command = sys.argv[sys.argv.index("--") + 1 :]
    name = os.environ.pop(VARIABLE, "")
    try:
        earlier = EarlierBuild(ROOT, name or PREVIOUS, os.environ.get("SWIFT", "swift"))
    except Missing as missing:
        if name:
            raise SystemExit(str(missing))
        print(f"skipped: {missing}")
        return
    os.environ["FEEDSTORE_TEST_EARLIER"] = str(earlier.build())
    if not earlier.can_mix():
        os.environ["FEEDSTORE_TEST_EARLIER_CANNOT_MIX"] = "1"
    sys.stdout.flush()
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
