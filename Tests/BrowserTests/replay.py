"""The output of `feedstore replay`, to be served step by step."""

import functools
import json
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FEEDSTORE = pathlib.Path(os.environ.get("FEEDSTORE", ROOT / ".build" / "debug" / "feedstore"))


class Changeset:
    """A changeset, and the resulting feed as a reload; both as the texts of their parts."""

    def __init__(self, head):
        self.feed = head["feed"]
        self.epoch = head["epoch"]
        self.revision = head["revision"]
        self.mode = head["mode"]
        self.time = head["time"]
        self.checksum = head["checksum"]
        self.partition = 0
        self.texts = []
        self.state = []

    @property
    def id(self):
        return f"{self.epoch}@{self.revision}"

    @functools.cached_property
    def items(self):
        """The resulting feed: ids, kinds and data of the items of each section, by the section's id."""
        found = {}
        for text in self.state:
            for section in json.loads(text).get("sections", []):
                found.setdefault(section["id"], []).extend(section.get("items", []))
        return found


def run(arguments, text=""):
    if not FEEDSTORE.exists():
        raise AssertionError(f"there is no {FEEDSTORE}; build it with: swift build --product feedstore")
    result = subprocess.run([str(FEEDSTORE), *arguments], input=text, capture_output=True, encoding="utf-8")
    if result.returncode != 0:
        raise AssertionError(f"feedstore {arguments[0]} ended with {result.returncode}: {result.stderr}")
    return result.stdout


def changesets(records, settings=()):
    """The changesets for records, given as replay lines or text. A keyframe after each provides the states."""
    text = records if isinstance(records, str) else "".join(json.dumps(record) + "\n" for record in records)
    arguments = ["replay", "-", "--set", "keyframe.maxBytesRatio=0"]
    for setting in settings:
        arguments += ["--set", setting]
    found = []
    for line in run(arguments, text).splitlines():
        record = json.loads(line)
        head = record["value"]
        if head is None:
            continue
        # The value's own bytes: it is the last field, and quotes within a string are escaped.
        value = line[line.index(',"value":') + len(',"value":'):-1]
        if head.get("reason") == "keyframe":
            newest = next(one for one in reversed(found) if one.feed == head["feed"])
            newest.state.append(value)
            continue
        if head.get("part", 0) == 0:
            found.append(Changeset(head))
        found[-1].partition = record["partition"]
        found[-1].texts.append(value)
        if head["mode"] == "reload":
            found[-1].state.append(served(value, head))
    return found


def served(value, head):
    """A published reload in the form of a server's response, with its data as spelled."""
    for name, text in (("base", head["revision"]), ("reason", '"keyframe"')):
        value = re.sub(rf'"{name}":("[a-z]+"|[0-9]+)', f'"{name}":{text}', value, count=1)
    return value


def demo_history():
    """The records of `feedstore demo`, as text."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "demo.ndjson"
        run(["demo", "--write", str(path)])
        return path.read_text()
