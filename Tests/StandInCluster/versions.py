"""The versions of requests that brokers offer: by API key, the lowest and the highest.

Tables have only the requests that are answered here. ZooKeeper's (LeaderAndIsr, StopReplica, UpdateMetadata and ControlledShutdown) left
with Kafka 4.0, and KIP-896 removed the oldest versions of others.
"""

# As few as the clients of FeedStore need.
_FEW = {
    0: (3, 7), 1: (4, 5), 2: (1, 2), 3: (0, 4), 8: (2, 7), 9: (1, 7), 10: (0, 2), 11: (0, 5), 12: (0, 3), 13: (0, 1), 14: (0, 3),
    15: (0, 0), 16: (0, 0), 17: (0, 1), 18: (0, 3), 19: (0, 4), 20: (0, 3), 21: (0, 1), 22: (0, 4), 24: (0, 0), 25: (0, 0), 26: (0, 1),
    28: (0, 3), 32: (0, 1), 36: (0, 1), 37: (0, 0),
}  # fmt: skip
_KAFKA_4_0 = {
    0: (0, 12), 1: (4, 17), 2: (1, 10), 3: (0, 13), 8: (2, 9), 9: (1, 9), 10: (0, 6), 11: (2, 9), 12: (0, 4), 13: (0, 5), 14: (0, 5),
    15: (0, 6), 16: (0, 5), 17: (0, 1), 18: (0, 4), 19: (2, 7), 20: (1, 6), 21: (0, 2), 22: (0, 5), 23: (2, 4), 24: (0, 5), 25: (0, 4),
    26: (0, 5), 28: (0, 5), 32: (1, 4), 36: (0, 2), 37: (0, 3),
}  # fmt: skip
# JoinGroup 0 and 1 came back for clients that take them for a sign of Kerberos (KAFKA-19444; also in 4.0.1).
_KAFKA_4_1 = _KAFKA_4_0 | {0: (0, 13), 1: (4, 18), 11: (0, 9)}

OFFERED = {"few": _FEW, "4.0": _KAFKA_4_0, "4.1": _KAFKA_4_1}
# Kafka 4 offers Produce 0 to 2, without which older clients do not compress, and refuses them (KAFKA-18659).
LOWEST_PRODUCE = 3
