"""Compares counts with the committed numbers, and writes the latter."""

import dataclasses
import os
import tomllib

# A count this much above the committed number fails; one as far below it is reported.
TOLERANCE_PERCENT = 3
MEASURES = ("instructions", "allocations")

_HEADER = """\
# What the workloads of Tests/CostGate cost. `make check-cost` counts them, and fails if a number is more than {tolerance} % above
# the one here. `make update-cost` writes this file. The operations are only what people divide by.
"""


class BadFile(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Committed:
    environment: dict
    # By workload: operations, instructions and allocations.
    counts: dict

    @classmethod
    def read(cls, path):
        """The committed numbers; empty if there is no file."""
        if not path.is_file():
            return cls({}, {})
        try:
            tables = tomllib.loads(path.read_text())
            environment = tables.pop("environment")
            for name, table in tables.items():
                for key in ("operations", *MEASURES):
                    if not isinstance(table[key], int):
                        raise BadFile(f"{path}: {key} of {name} is no whole number; `make update-cost` rewrites the file")
            return cls(environment, tables)
        except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
            raise BadFile(f"{path}: {error!r}; `make update-cost` rewrites the file") from None

    def write(self, path):
        lines = [_HEADER.format(tolerance=TOLERANCE_PERCENT), "[environment]"]
        lines += [f'{key} = "{value}"' for key, value in self.environment.items()]
        for name, table in self.counts.items():
            lines += ["", f"[{name}]"]
            lines += [f"{key} = {table[key]:_}" for key in ("operations", *MEASURES)]
        # The file is replaced atomically.
        new = path.with_suffix(".new")
        new.write_text("\n".join(lines) + "\n")
        os.replace(new, path)

    def difference(self, environment):
        """Why counts of another environment cannot be compared with these; None if they can."""
        if not self.environment:
            return None
        mine = [_comparable(key, self.environment.get(key, "unknown")) for key in ("architecture", "swift")]
        theirs = [_comparable(key, environment[key]) for key in ("architecture", "swift")]
        if mine == theirs:
            return None
        return f"they were counted with Swift {mine[1]} on {mine[0]}, and this is Swift {theirs[1]} on {theirs[0]}"


def _comparable(key, value):
    """The first two numbers of a compiler's version; the third rarely affects the code."""
    return ".".join(value.split(".")[:2]) if key == "swift" else value


@dataclasses.dataclass(frozen=True)
class Comparison:
    measured: int
    # None if there is no committed number.
    committed: int | None

    @property
    def percent(self):
        if self.committed == self.measured:
            return 0.0
        return (self.measured / self.committed - 1) * 100 if self.committed else float("inf")

    @property
    def has_failed(self):
        return self.committed is None or self.measured * 100 > self.committed * (100 + TOLERANCE_PERCENT)

    @property
    def is_lower(self):
        return not self.has_failed and self.measured * 100 < self.committed * (100 - TOLERANCE_PERCENT)

    def telling(self, what):
        """A failure or a note; None if there is neither."""
        if self.committed is None:
            return f"FAIL: {what}: {self.measured:,} counted, and nothing committed; `make update-cost` adds it"
        numbers = f"{what}: {self.measured:,} counted, {self.committed:,} committed"
        if self.has_failed:
            return f"FAIL: {numbers}, {self.percent:.1f} % more; {TOLERANCE_PERCENT} % is the most"
        if self.is_lower:
            return f"note: {numbers}, {-self.percent:.1f} % less; `make update-cost` keeps it so"
        return None
