"""The workloads that are counted, and the files that two of them replay."""

import dataclasses
import itertools
import lzma
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Real histories lie beside the checkout on some machines only.
DATA = pathlib.Path(os.environ.get("FEEDSTORE_DATA", ROOT.parent / "shared" / "data"))


@dataclasses.dataclass(frozen=True)
class Sample:
    """The first lines of a replay file that is packed with xz."""

    path: pathlib.Path
    line_count: int

    def unpack(self, folder):
        """The path of the lines in a file of their own."""
        target = folder / self.path.stem
        with lzma.open(self.path) as packed, target.open("wb") as lines:
            lines.writelines(itertools.islice(packed, self.line_count))
        return target


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    # One of the things that it does, for people.
    unit: str
    sample: Sample | None = None

    @property
    def absence(self):
        """Why it cannot be counted here; None if it can."""
        if self.sample and not self.sample.path.is_file():
            return f"{self.sample.path} is not there"
        return None


WORKLOADS = [
    Workload("updates", "update"),
    Workload("moves", "move"),
    Workload("inserts", "insert"),
    Workload("replace", "item"),
    Workload("restore", "changeset"),
    Workload("replay", "record", Sample(ROOT / "Benchmarks" / "Samples" / "demo.ndjson.xz", 10_000)),
    Workload("replay-outages", "record", Sample(DATA / "power-outages.events.ndjson.xz", 5_000)),
]
