"""A topic: its settings and its partitions."""

import uuid

import partition

# The defaults of Apache Kafka 3.9, for the settings used here.
DEFAULTS = {
    "cleanup.policy": "delete",
    "delete.retention.ms": "86400000",
    "max.message.bytes": "1048588",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.ms": "604800000",
}
# A topic with segments shorter than this is compacted during a test.
_CLEANED_SEGMENT_MILLISECONDS = 60_000


class Topic:
    def __init__(self, count, settings):
        # The topic's own settings.
        self.settings = settings
        self.id = uuid.uuid4().bytes
        self.partitions = []
        self.extend(count)

    def extend(self, count):
        """Adds partitions up to a number."""
        size = int(self.setting("max.message.bytes"))
        segment = int(self.setting("segment.bytes"))
        self.partitions += [partition.Partition(size, segment) for _ in range(count - len(self.partitions))]

    @property
    def all_settings(self):
        return DEFAULTS | self.settings

    def setting(self, name):
        return self.settings.get(name, DEFAULTS[name])

    def clean(self):
        """Compacts it if its policy says so, except its last segment."""
        lag = int(self.setting("segment.ms"))
        if "compact" in self.setting("cleanup.policy") and lag <= _CLEANED_SEGMENT_MILLISECONDS:
            for one in self.partitions:
                one.clean(max(lag, int(self.setting("min.compaction.lag.ms"))))
