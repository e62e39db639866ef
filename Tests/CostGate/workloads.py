"""The workloads, and the files that two of them replay."""

import dataclasses
import itertools
import lzma
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Real histories exist next to the checkout on some machines only.
DATA = pathlib.Path(os.environ.get("FEEDSTORE_DATA", ROOT.parent / "shared" / "data"))


@dataclasses.dataclass(frozen=True)
class Sample:
    """The first lines of a replay file compressed with xz."""

    path: pathlib.Path
    line_count: int

    def unpack(self, folder):
        """The path of a file with the lines."""
        target = folder / self.path.stem
        with lzma.open(self.path) as packed, target.open("wb") as lines:
            lines.writelines(itertools.islice(packed, self.line_count))
        return target


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    # The name of one operation.
    unit: str
    sample: Sample | None = None

    @property
    def absence(self):
        """Why it cannot be counted on this machine; None if it can."""
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
