"""Counts the cost of workloads: `python3 Tests/CostGate --help`, or `make check-cost`."""

import argparse
import pathlib
import sys

import counting
from committed import TOLERANCE_PERCENT, BadFile
from gate import Gate
from workloads import ROOT, WORKLOADS

_DESCRIPTION = f"""
Builds the package in Benchmarks, counts instructions and allocations of its workloads, and compares them with
Benchmarks/costs.toml. Ends with 1 if a number is more than {TOLERANCE_PERCENT} % above the committed one.
"""


def main():
    parser = argparse.ArgumentParser(prog="CostGate", description=_DESCRIPTION)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="all, if none is named")
    parser.add_argument("--rewrite", action="store_true", help="write the numbers instead of comparing them")
    parser.add_argument("--no-build", action="store_true", help="count with what was built before")
    parser.add_argument("--file", type=pathlib.Path, default=ROOT / "Benchmarks" / "costs.toml", help="the committed numbers")
    options = parser.parse_args()
    by_name = {workload.name: workload for workload in WORKLOADS}
    if unknown := [name for name in options.workloads if name not in by_name]:
        parser.error(f"there is no workload {unknown[0]}; there are {', '.join(by_name)}")
    chosen = [by_name[name] for name in options.workloads] or WORKLOADS
    try:
        if not options.no_build:
            counting.build()
        if obstacle := counting.obstacle():
            print(f"skipped: {obstacle}\n0 passed, 0 failed")
            return 0
        gate = Gate(options.file, chosen, counting.environment(), counting.count)
        return 0 if (gate.rewrite() if options.rewrite else gate.check()) else 1
    except (counting.CountingFailed, BadFile) as error:
        print(f"FAIL: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
