"""The gate: counts workloads, compares them with the committed numbers, or writes these."""

import dataclasses

from committed import MEASURES, BadFile, Committed, Comparison
from counting import CountingFailed
from workloads import WORKLOADS


class Gate:
    """Counts workloads in sequence.

    `count` takes a workload and returns a Count; `announce` prints a line.
    """

    def __init__(self, path, workloads, environment, count, announce=print):
        self.path = path
        self.workloads = workloads
        self.environment = environment
        self.count = count
        self.announce = announce

    def check(self):
        """Compares all counts; returns whether none failed."""
        committed = Committed.read(self.path)
        difference = committed.difference(self.environment)
        telling = [
            f"FAIL: {name} is in {self.path.name}, and there is no such workload; `make update-cost` removes it"
            for name in committed.counts
            if name not in {workload.name for workload in WORKLOADS}
        ]
        passed, failed = 0, len(telling)
        for workload, count in self._counts():
            if isinstance(count, str):
                telling.append(f"FAIL: {workload.name}: {count}")
                failed += len(MEASURES)
                continue
            for measure in MEASURES:
                comparison = Comparison(getattr(count, measure), committed.counts.get(workload.name, {}).get(measure))
                self._print_row(workload, count, measure, comparison)
                if difference:
                    continue
                passed, failed = passed + (not comparison.has_failed), failed + comparison.has_failed
                if line := comparison.telling(f"{workload.name}: {measure}"):
                    telling.append(line)
        for line in telling:
            self.announce(line)
        if difference:
            self.announce(f"the committed numbers say nothing here: {difference}; `make update-cost` counts again")
        if failed and (others := self._other_versions(committed)):
            self.announce(f"other versions than when they were counted, which changes counts a little: {others}")
        self.announce(f"{passed} passed, {failed} failed")
        return failed == 0

    def rewrite(self):
        """Writes the counts; absent or unselected workloads keep theirs. Returns whether nothing failed."""
        try:
            committed = Committed.read(self.path)
        except BadFile as error:
            self.announce(f"written from nothing: {error}")
            committed = Committed({}, {})
        if difference := committed.difference(self.environment):
            if len(self.workloads) < len(WORKLOADS):
                self.announce(f"FAIL: {difference}; count all workloads")
                return False
            self.announce(f"the numbers before say nothing here: {difference}")
            committed = Committed({}, {})
        counts = dict(committed.counts)
        has_failed = False
        for workload, count in self._counts():
            if isinstance(count, str):
                self.announce(f"FAIL: {workload.name}: {count}")
                has_failed = True
                continue
            for measure in MEASURES:
                comparison = Comparison(getattr(count, measure), counts.get(workload.name, {}).get(measure))
                self._print_row(workload, count, measure, comparison)
            counts[workload.name] = dataclasses.asdict(count)
        if has_failed:
            return False
        known = [workload.name for workload in WORKLOADS]
        Committed(self.environment, {name: counts[name] for name in known if name in counts}).write(self.path)
        self.announce(f"wrote {self.path}")
        return True

    def _counts(self):
        """Workloads with their counts or errors; absent ones are reported."""
        for workload in self.workloads:
            if workload.absence:
                self.announce(f"{workload.name:<16}skipped: {workload.absence}")
                continue
            try:
                yield workload, self.count(workload)
            except CountingFailed as error:
                yield workload, str(error)

    def _print_row(self, workload, count, measure, comparison):
        change = "" if comparison.committed is None else f"{comparison.percent:+.1f} %"
        each = comparison.measured / count.operations
        each = f"{each:,.0f}" if each >= 100 else f"{each:.2f}"
        name = workload.name if measure == MEASURES[0] else ""
        self.announce(f"{name:<16}{measure:<14}{comparison.measured:>13,}{change:>10}    {each} for each {workload.unit}")

    def _other_versions(self, committed):
        return ", ".join(
            f"{key} {self.environment[key]} instead of {version}"
            for key, version in committed.environment.items()
            if self.environment.get(key) != version
        )
