"""What a follower and a producer share."""

import logging
from typing import Any, Dict, List, Mapping, Union

import confluent_kafka

from .errors import KafkaRefused

log = logging.getLogger("feedstore")

WAIT_SECONDS = 10.0

Settings = Union[str, Mapping[str, Any]]


def settings_of(servers: Settings, **defaults: Any) -> Dict[str, Any]:
    """Settings of a client: the brokers alone, or settings of librdkafka, which count more than the defaults."""
    chosen = {"bootstrap.servers": servers} if isinstance(servers, str) else dict(servers)
    return {"error_cb": lambda error: log.warning("Kafka: %s", error.str()), **defaults, **chosen}


def is_about_group(error: Any) -> bool:
    """Whether it says that the user has no right to the group, whose coordinator librdkafka looks for although nothing joins it."""
    return error is not None and bool(error.code() == confluent_kafka.KafkaError.GROUP_AUTHORIZATION_FAILED)


def partitions_of(client: Any, topic: str) -> List[int]:
    """The numbers of a topic's partitions."""
    try:
        # All topics, because requesting one by name could create it.
        found = client.list_topics(timeout=WAIT_SECONDS).topics.get(topic)
    except confluent_kafka.KafkaException as error:
        raise KafkaRefused(f"no broker answers: {error.args[0].str()}; check the address, and that they are up") from None
    if found is None:
        raise KafkaRefused(f"there is no topic {topic}, or you may not read it; check its name and your rights")
    if found.error is not None:
        raise KafkaRefused(f"cannot read topic {topic}: {found.error.str()}; check your rights")
    for partition in found.partitions.values():
        if partition.error is not None:
            log.warning("waiting for partition %s of %s: %s", partition.id, topic, partition.error.str())
    return sorted(found.partitions)
