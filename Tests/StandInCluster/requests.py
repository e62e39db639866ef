"""The implementation of Kafka's requests: https://kafka.apache.org/protocol.html.

Handlers receive the broker, the request's version, its fields, and the response to write.
"""

import asyncio

import errors
import security
import versions
import wire

_BROKER_SETTINGS = {
    "auto.create.topics.enable": "false",
    "group.max.session.timeout.ms": "1800000",
    "group.min.session.timeout.ms": "6000",
    "offsets.retention.minutes": "10080",
    "transaction.max.timeout.ms": "900000",
    "transactional.id.expiration.ms": "604800000",
}


def is_administrative(data):
    """Whether clients do not retry such a request by themselves."""
    return wire.Reader(data).i16() in _ADMINISTRATIVE


def is_of_transaction(data):
    """Whether a producer sends such a request during a transaction."""
    return wire.Reader(data).i16() in _OF_TRANSACTIONS


def is_open_to_all(data):
    """Whether clients may send such a request before authentication."""
    return wire.Reader(data).i16() in _OPEN_TO_ALL


async def handle(broker, data, session):
    """The response to a request; None if it requires none."""
    reader = wire.Reader(data)
    key, version, correlation = reader.i16(), reader.i16(), reader.i32()
    client = reader.text()
    writer = wire.Writer()
    writer.i32(correlation)
    least, most = broker.cluster.offered.get(key, (0, -1))
    if key == _API_VERSIONS and version > most:
        # It is answered as version 0.
        writer.i16(errors.UNSUPPORTED_VERSION)
        _write_versions(broker, writer, 0)
        return bytes(writer.data)
    if not least <= version <= most or (key == 0 and version < versions.LOWEST_PRODUCE):
        raise errors.RefusedRequest(f"there is no version {version} of request {key} (from {client})")
    known, first_flexible, handler = _HANDLERS[key]
    # No client of FeedStore sends it yet.
    assert version <= known, f"version {version} of request {key} is offered, but not implemented"
    if version >= first_flexible:
        reader.is_flexible = writer.is_flexible = True
        reader.tags()
        if key != _API_VERSIONS:
            writer.tags()
    reader.client = client
    reader.session = session
    wants_answer = await handler(broker, version, reader, writer)
    return None if wants_answer is False else bytes(writer.data)


def _code(action):
    """The error code with which an action ends."""
    try:
        action()
    except errors.KafkaError as error:
        return error.code
    return errors.NONE


def _topics(reader, part, name=None):
    """For each topic, its name and what `part` reads for each partition; None for null."""

    def topic():
        key, parts = (name or reader.text)(), reader.array(part)
        reader.tags()
        return key, parts

    return reader.array(topic)


def _write_topics(writer, topics, part, name=None):
    """Writes for each topic its name, and each of its parts with `part`."""

    def topic(entry):
        (name or writer.text)(entry[0])
        writer.array(entry[1], lambda value: part(entry[0], value))
        writer.tags()

    writer.array(topics, topic)


# Versions and metadata


async def _api_versions(broker, version, reader, writer):
    writer.i16(errors.NONE)
    _write_versions(broker, writer, version)


def _write_versions(broker, writer, version):
    def one(entry):
        key, (least, most) = entry
        writer.i16(key)
        writer.i16(least)
        writer.i16(most)
        writer.tags()

    writer.array(list(broker.cluster.offered.items()), one)
    if version >= 1:
        writer.i32(0)
    writer.tags()


async def _sasl_handshake(broker, version, reader, writer):
    code, mechanisms = reader.session.begin(reader.text())
    writer.i16(code)
    writer.array(mechanisms, writer.text)


async def _sasl_authenticate(broker, version, reader, writer):
    code, message, answer = errors.NONE, None, b""
    try:
        answer = reader.session.proceed(reader.block())
    except security.Refusal as refusal:
        code, message = errors.SASL_AUTHENTICATION_FAILED, str(refusal)
    writer.i16(code)
    writer.text(message)
    writer.block(answer)
    if version >= 1:
        writer.i64(0)


async def _metadata(broker, version, reader, writer):
    cluster = broker.cluster

    def wanted():
        id = reader.uuid() if version >= 10 else None
        name = reader.text()
        reader.tags()
        return cluster.topic_name(id) if name is None else name

    names = reader.array(wanted)
    if names is None or (version == 0 and not names):
        names = list(cluster.topics)
    if version >= 3:
        writer.i32(0)

    def node(one):
        writer.i32(one.number)
        writer.text(one.host)
        writer.i32(one.port)
        if version >= 1:
            writer.text(None)
        writer.tags()

    up = [one for one in cluster.brokers if one.is_up]
    writer.array(up, node)
    if version >= 2:
        writer.text(cluster.id)
    if version >= 1:
        writer.i32(up[0].number)

    def topic(name):
        known = cluster.topics.get(name)
        writer.i16(errors.NONE if known else errors.UNKNOWN_TOPIC_OR_PARTITION)
        writer.text(name)
        if version >= 10:
            writer.uuid(known.id if known else bytes(16))
        if version >= 1:
            writer.flag(False)

        def part(index):
            leader = cluster.leader(name, index).number
            writer.i16(errors.NONE)
            writer.i32(index)
            writer.i32(leader)
            if version >= 7:
                writer.i32(known.partitions[index].leader_epoch)
            writer.array([one.number for one in cluster.brokers], writer.i32)
            writer.array([one.number for one in up], writer.i32)
            if version >= 5:
                writer.array([one.number for one in cluster.brokers if not one.is_up], writer.i32)
            writer.tags()

        writer.array(range(len(known.partitions)) if known else [], part)
        if version >= 8:
            writer.i32(_NO_OPERATIONS)
        writer.tags()

    writer.array(names, topic)
    if 8 <= version <= 10:
        writer.i32(_NO_OPERATIONS)
    if version >= 13:
        writer.i16(errors.NONE)
    writer.tags()


async def _find_coordinator(broker, version, reader, writer):
    key = reader.text()
    found = broker.cluster.coordinator(key)
    if version >= 1:
        writer.i32(0)
    writer.i16(errors.NONE)
    if version >= 1:
        writer.text(None)
    writer.i32(found.number)
    writer.text(found.host)
    writer.i32(found.port)


# Records


def _led(broker, topic, index, leader_epoch=-1):
    """A partition that this broker leads; a client may name the epoch of the leader that it expects."""
    found = broker.cluster.partition(topic, index)
    if found is None and isinstance(topic, bytes):
        raise errors.KafkaError(errors.UNKNOWN_TOPIC_ID)
    if found is None:
        raise errors.KafkaError(errors.UNKNOWN_TOPIC_OR_PARTITION)
    if broker.cluster.leader(topic, index) is not broker:
        raise errors.KafkaError(errors.NOT_LEADER_OR_FOLLOWER)
    found.check_leader_epoch(leader_epoch)
    return found


async def _produce(broker, version, reader, writer):
    name, acks, _ = reader.text(), reader.i16(), reader.i32()

    def wanted():
        index, data = reader.i32(), reader.block()
        reader.tags()
        return index, data

    topics = _topics(reader, wanted)

    def part(topic, value):
        index, data = value
        offset, start, code = -1, -1, errors.NONE
        try:
            found = _led(broker, topic, index)
            if name is not None:
                # The position of the producer's id and epoch in a batch.
                producer = int.from_bytes(data[43:51], "big", signed=True)
                epoch = int.from_bytes(data[51:53], "big", signed=True)
                if producer not in found.open:
                    broker.cluster.transactions.check(name, producer, epoch, (topic, index))
            offset, start = found.append(data), found.start
        except errors.KafkaError as error:
            code = error.code
        writer.i32(index)
        writer.i16(code)
        writer.i64(offset)
        writer.i64(-1)
        if version >= 5:
            writer.i64(start)
        if version >= 8:
            writer.array([], writer.i32)
            writer.text(None)
        writer.tags()

    _write_topics(writer, topics, part)
    writer.i32(0)
    writer.tags()
    return acks != 0


async def _fetch(broker, version, reader, writer):
    if version < 15:
        reader.i32()
    wait, least, most = reader.i32(), reader.i32(), reader.i32()
    is_committed = reader.i8() == 1
    if version >= 7:
        # A session: a broker may grant none.
        reader.i64()
    # The identifiers of the request by the names that they have now, or by themselves.
    ids = {}

    def name():
        id = reader.uuid()
        found = broker.cluster.topic_name(id) or id
        ids[found] = id
        return found

    def wanted():
        index = reader.i32()
        leader_epoch = reader.i32() if version >= 9 else -1
        offset = reader.i64()
        if version >= 12:
            reader.i32()
        if version >= 5:
            reader.i64()
        most_of_part = reader.i32()
        reader.tags()
        return index, offset, most_of_part, leader_epoch

    topics = _topics(reader, wanted, name if version >= 13 else None)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait / 1000
    while True:
        results, size, failed = _read_all(broker, topics, most, is_committed)
        left = deadline - loop.time()
        if size >= least or failed or left <= 0:
            break
        news = loop.create_future()
        waited = [broker.cluster.partition(topic, value[0]) for topic, parts in topics for value in parts]
        for found in waited:
            found.wait(news)
        try:
            await asyncio.wait_for(news, left)
        except asyncio.TimeoutError:
            pass
        finally:
            for found in waited:
                found.forget(news)
    writer.i32(0)
    if version >= 7:
        writer.i16(errors.NONE)
        writer.i32(0)

    def part(topic, value):
        code, end, stable, start, aborted, data = results[topic, value[0]]
        writer.i32(value[0])
        writer.i16(code)
        writer.i64(end)
        writer.i64(stable)
        if version >= 5:
            writer.i64(start)

        def one(entry):
            writer.i64(entry[0])
            writer.i64(entry[1])
            writer.tags()

        writer.array(aborted, one)
        if version >= 11:
            writer.i32(-1)
        writer.block(data)
        writer.tags()

    _write_topics(writer, topics, part, (lambda name: writer.uuid(ids[name])) if version >= 13 else None)
    writer.tags()


def _read_all(broker, topics, most, is_committed):
    """The available data of each partition, its size, and whether there was an error."""
    results, size, failed = {}, 0, False
    for topic, parts in topics:
        for index, offset, most_of_part, leader_epoch in parts:
            try:
                found = _led(broker, topic, index, leader_epoch)
                limit = min(most_of_part, max(0, most - size))
                data, aborted = found.read(offset, limit, is_committed) if limit > 0 else (b"", [])
                results[topic, index] = errors.NONE, found.end, found.last_stable, found.start, aborted, data
                size += len(data)
            except errors.KafkaError as error:
                results[topic, index] = error.code, -1, -1, -1, [], b""
                failed = True
    return results, size, failed


async def _list_offsets(broker, version, reader, writer):
    reader.i32()
    is_committed = version >= 2 and reader.i8() == 1

    def wanted():
        index = reader.i32()
        leader_epoch = reader.i32() if version >= 4 else -1
        time = reader.i64()
        reader.tags()
        return index, time, leader_epoch

    topics = _topics(reader, wanted)
    if version >= 2:
        writer.i32(0)

    def part(topic, value):
        index, asked, leader_epoch = value
        time, offset, code, epoch = -1, -1, errors.NONE, -1
        try:
            found = _led(broker, topic, index, leader_epoch)
            epoch = found.leader_epoch
            if asked == -1 and not broker.cluster.is_settled:
                raise errors.KafkaError(errors.LEADER_NOT_AVAILABLE)
            if asked == -1:
                offset = found.last_stable if is_committed else found.end
            elif asked == -2:
                offset = found.start
            else:
                time, offset = found.offset_at(asked)
        except errors.KafkaError as error:
            code = error.code
        writer.i32(index)
        writer.i16(code)
        writer.i64(time)
        writer.i64(offset)
        if version >= 4:
            writer.i32(epoch)
        writer.tags()

    _write_topics(writer, topics, part)
    writer.tags()


async def _offset_for_leader_epoch(broker, version, reader, writer):
    if version >= 3:
        reader.i32()
    topics = _topics(reader, lambda: (reader.i32(), reader.i32(), reader.i32()))
    writer.i32(0)

    def part(topic, value):
        index, current, epoch = value
        code, end = errors.NONE, -1
        try:
            end = _led(broker, topic, index, current).end_of_epoch(epoch)
        except errors.KafkaError as error:
            code, epoch = error.code, -1
        writer.i16(code)
        writer.i32(index)
        writer.i32(epoch)
        writer.i64(end)

    _write_topics(writer, topics, part)


# Groups


def _group(broker, name):
    """A group that this broker coordinates."""
    if broker.cluster.coordinator(name) is not broker:
        raise errors.KafkaError(errors.NOT_COORDINATOR)
    if not broker.cluster.is_settled:
        raise errors.KafkaError(errors.COORDINATOR_LOAD_IN_PROGRESS)
    return broker.cluster.groups.group(name)


async def _join_group(broker, version, reader, writer):
    name, session = reader.text(), reader.i32() / 1000
    rebalance = reader.i32() / 1000 if version >= 1 else session
    member = reader.text()
    instance = reader.text() if version >= 5 else None
    kind = reader.text()
    protocols = reader.array(lambda: (reader.text(), reader.block()))
    code, generation, protocol, leader, members = errors.NONE, -1, "", "", []
    try:
        generation, protocol, leader, member, members = await _group(broker, name).join(
            reader.client, member, instance, session, rebalance, kind, protocols, version >= 4
        )
    except errors.KafkaError as error:
        code = error.code
        member = getattr(error, "member", member)
    if version >= 2:
        writer.i32(0)
    writer.i16(code)
    writer.i32(generation)
    writer.text(protocol)
    writer.text(leader)
    writer.text(member)

    def one(entry):
        writer.text(entry[0])
        if version >= 5:
            writer.text(entry[1])
        writer.block(entry[2])

    writer.array(members, one)


async def _sync_group(broker, version, reader, writer):
    name, generation, member = reader.text(), reader.i32(), reader.text()
    instance = reader.text() if version >= 3 else None
    assignments = dict(reader.array(lambda: (reader.text(), reader.block())))
    code, assignment = errors.NONE, b""
    try:
        assignment = await _group(broker, name).sync(member, generation, instance, assignments)
    except errors.KafkaError as error:
        code = error.code
    if version >= 1:
        writer.i32(0)
    writer.i16(code)
    writer.block(assignment)


async def _heartbeat(broker, version, reader, writer):
    name, generation, member = reader.text(), reader.i32(), reader.text()
    instance = reader.text() if version >= 3 else None
    if version >= 1:
        writer.i32(0)
    writer.i16(_code(lambda: _group(broker, name).heartbeat(member, generation, instance)))


async def _leave_group(broker, version, reader, writer):
    name, member = reader.text(), reader.text()
    if version >= 1:
        writer.i32(0)
    writer.i16(_code(lambda: _group(broker, name).leave(member)))


async def _list_groups(broker, version, reader, writer):
    if version >= 1:
        writer.i32(0)
    writer.i16(errors.NONE)

    def one(group):
        writer.text(group.name)
        writer.text(group.protocol_type)
        if version >= 4:
            writer.text(group.state)
        writer.tags()

    mine = [group for group in broker.cluster.groups.all if broker.cluster.coordinator(group.name) is broker]
    writer.array(mine, one)
    writer.tags()


async def _describe_groups(broker, version, reader, writer):
    def member(one):
        writer.text(one.id)
        if version >= 4:
            writer.text(one.instance)
        writer.text(one.client)
        writer.text("/127.0.0.1")
        writer.block(dict(one.protocols).get(group.protocol, b""))
        writer.block(one.assignment)
        writer.tags()

    def one(name):
        nonlocal group
        code = errors.NONE
        try:
            group = _group(broker, name)
        except errors.KafkaError as error:
            code, group = error.code, None
        writer.i16(code)
        writer.text(name)
        writer.text(group.state if group else "")
        writer.text(group.protocol_type if group else "")
        writer.text(group.protocol if group else "")
        writer.array(list(group.members.values()) if group else [], member)
        if version >= 3:
            writer.i32(_NO_OPERATIONS)
        writer.tags()

    group = None
    if version >= 1:
        writer.i32(0)
    writer.array(reader.array(reader.text), one)
    writer.tags()


async def _offset_commit(broker, version, reader, writer):
    name, generation, member = reader.text(), reader.i32(), reader.text()
    instance = reader.text() if version >= 7 else None
    if version <= 4:
        reader.i64()
    topics = _topics(reader, lambda: _read_offset(reader, version >= 6))
    offsets = {(topic, index): (offset, note) for topic, parts in topics for index, offset, note in parts}
    code = _code(lambda: _group(broker, name).commit(member, generation, instance, offsets))
    if version >= 3:
        writer.i32(0)
    _write_codes(writer, topics, code)
    writer.tags()


def _read_offset(reader, has_epoch):
    index, offset = reader.i32(), reader.i64()
    if has_epoch:
        reader.i32()
    note = reader.text()
    reader.tags()
    return index, offset, note


def _write_codes(writer, topics, code):
    def part(_, value):
        writer.i32(value[0])
        writer.i16(code)
        writer.tags()

    _write_topics(writer, topics, part)


async def _offset_fetch(broker, version, reader, writer):
    def wanted():
        name = reader.text()
        if version >= 9:
            # A member, for the newer group protocol.
            reader.text()
            reader.i32()
        topics = _topics(reader, reader.i32)
        if version >= 8:
            reader.tags()
        return name, topics

    wanted_of_groups = reader.array(wanted) if version >= 8 else [wanted()]
    is_stable = version >= 7 and reader.flag()
    if version >= 3:
        writer.i32(0)

    def one(entry):
        name, topics = entry
        code, group = errors.NONE, None
        try:
            group = _group(broker, name)
        except errors.KafkaError as error:
            code = error.code
        if topics is None:
            places = sorted(group.offsets) if group else []
            topics = [(topic, [index for of, index in places if of == topic]) for topic in sorted({p[0] for p in places})]

        def part(topic, index):
            offset, note = group.offsets.get((topic, index), (-1, "")) if group else (-1, "")
            part_code = code
            if group and is_stable and group.is_unstable((topic, index)):
                offset, part_code = -1, errors.UNSTABLE_OFFSET_COMMIT
            writer.i32(index)
            writer.i64(offset)
            if version >= 5:
                writer.i32(-1)
            writer.text(note)
            writer.i16(part_code)
            writer.tags()

        if version >= 8:
            writer.text(name)
        _write_topics(writer, topics, part)
        if version >= 2:
            writer.i16(code)
        writer.tags()

    if version >= 8:
        writer.array(wanted_of_groups, one)
        writer.tags()
    else:
        one(wanted_of_groups[0])


# Transactions


def _transactions(broker, name):
    """The coordinator of a transactional id, if this broker is it."""
    if name is not None and broker.cluster.coordinator(name) is not broker:
        raise errors.KafkaError(errors.NOT_COORDINATOR)
    if name is not None and not broker.cluster.is_settled:
        raise errors.KafkaError(errors.COORDINATOR_LOAD_IN_PROGRESS)
    return broker.cluster.transactions


async def _init_producer_id(broker, version, reader, writer):
    name, timeout = reader.text(), reader.i32()
    producer, epoch = (reader.i64(), reader.i16()) if version >= 3 else (-1, -1)
    code = errors.NONE
    try:
        producer, epoch = _transactions(broker, name).initialize(name, timeout, producer, epoch)
    except errors.KafkaError as error:
        code, producer, epoch = error.code, -1, -1
        if version < 4 and code == errors.PRODUCER_FENCED:
            code = errors.INVALID_PRODUCER_EPOCH
    writer.i32(0)
    writer.i16(code)
    writer.i64(producer)
    writer.i16(epoch)
    writer.tags()


async def _add_partitions(broker, version, reader, writer):
    name, producer, epoch = reader.text(), reader.i64(), reader.i16()
    topics = _topics(reader, reader.i32)
    places = [(topic, index) for topic, parts in topics for index in parts]
    code = _code(lambda: _transactions(broker, name).add(name, producer, epoch, places))
    writer.i32(0)
    _write_codes(writer, [(topic, [(index,) for index in parts]) for topic, parts in topics], code)


async def _add_offsets(broker, version, reader, writer):
    name, producer, epoch, group = reader.text(), reader.i64(), reader.i16(), reader.text()
    writer.i32(0)
    writer.i16(_code(lambda: _transactions(broker, name).add(name, producer, epoch, group=group)))


async def _end_transaction(broker, version, reader, writer):
    name, producer, epoch, is_commit = reader.text(), reader.i64(), reader.i16(), reader.flag()
    writer.i32(0)
    writer.i16(_code(lambda: _transactions(broker, name).end(name, producer, epoch, is_commit)))


async def _transaction_offsets(broker, version, reader, writer):
    name, group, producer, epoch = reader.text(), reader.text(), reader.i64(), reader.i16()
    generation, member, instance = -1, "", None
    if version >= 3:
        generation, member, instance = reader.i32(), reader.text(), reader.text()
    topics = _topics(reader, lambda: _read_offset(reader, version >= 2))
    offsets = {(topic, index): (offset, note) for topic, parts in topics for index, offset, note in parts}

    def commit():
        coordinated = _group(broker, group)
        if not coordinated.has_open(producer):
            broker.cluster.transactions.check_group(name, producer, epoch, group)
        coordinated.commit_later(producer, epoch, member, generation, instance, offsets)

    code = _code(commit)
    writer.i32(0)
    _write_codes(writer, topics, code)
    writer.tags()


# Administration


async def _create_topics(broker, version, reader, writer):
    def wanted():
        name, count, _ = reader.text(), reader.i32(), reader.i16()
        reader.array(lambda: (reader.i32(), reader.array(reader.i32)))
        return name, count, dict(reader.array(lambda: (reader.text(), reader.text())))

    topics = reader.array(wanted)
    reader.i32()
    only_checks = version >= 1 and reader.flag()
    if version >= 2:
        writer.i32(0)

    def one(entry):
        code = errors.NONE if only_checks else _code(lambda: broker.cluster.create(*entry))
        writer.text(entry[0])
        writer.i16(code)
        if version >= 1:
            writer.text(None)

    writer.array(topics, one)


async def _delete_topics(broker, version, reader, writer):
    names = reader.array(reader.text)
    if version >= 1:
        writer.i32(0)

    def one(name):
        writer.text(name)
        writer.i16(_code(lambda: broker.cluster.delete(name)))
        writer.tags()

    writer.array(names, one)
    writer.tags()


async def _create_partitions(broker, version, reader, writer):
    def replicas():
        numbers = reader.array(reader.i32)
        reader.tags()
        return numbers

    def wanted():
        entry = reader.text(), reader.i32(), reader.array(replicas)
        reader.tags()
        return entry

    topics = reader.array(wanted)
    reader.i32()
    only_checks = reader.flag()
    writer.i32(0)

    def one(entry):
        writer.text(entry[0])
        writer.i16(errors.NONE if only_checks else _code(lambda: broker.cluster.extend(*entry[:2])))
        writer.text(None)
        writer.tags()

    writer.array(topics, one)
    writer.tags()


async def _delete_records(broker, version, reader, writer):
    def wanted():
        index, offset = reader.i32(), reader.i64()
        reader.tags()
        return index, offset

    topics = _topics(reader, wanted)
    writer.i32(0)

    def part(topic, value):
        index, offset = value
        start, code = -1, errors.NONE
        try:
            start = _led(broker, topic, index).delete_before(offset)
        except errors.KafkaError as error:
            code = error.code
        writer.i32(index)
        writer.i64(start)
        writer.i16(code)
        writer.tags()

    _write_topics(writer, topics, part)
    writer.tags()


async def _describe_configs(broker, version, reader, writer):
    resources = reader.array(lambda: (reader.i8(), reader.text(), reader.array(reader.text)))
    writer.i32(0)

    def one(resource):
        kind, name, wanted = resource
        known = broker.cluster.topics.get(name)
        if kind == 2 and known is None:
            settings, code = {}, errors.UNKNOWN_TOPIC_OR_PARTITION
        elif kind == 2:
            settings, code = known.all_settings, errors.NONE
        else:
            settings, code = _BROKER_SETTINGS, errors.NONE
        writer.i16(code)
        writer.text(None)
        writer.i8(kind)
        writer.text(name)

        def setting(entry):
            is_own = known is not None and entry[0] in known.settings
            writer.text(entry[0])
            writer.text(entry[1])
            writer.flag(False)
            if version >= 1:
                # Set for the topic, or a default.
                writer.i8(1 if is_own else 5)
            else:
                writer.flag(not is_own)
            writer.flag(False)
            if version >= 1:
                writer.array([], writer.text)

        writer.array([entry for entry in settings.items() if wanted is None or entry[0] in wanted], setting)

    writer.array(resources, one)


# The client did not ask which operations it is authorized for.
_NO_OPERATIONS = -(2**31)
_API_VERSIONS = 18
_NEVER = 99
_OPEN_TO_ALL = (17, _API_VERSIONS, 36)
# Topics are created, deleted, described and extended.
_ADMINISTRATIVE = (19, 20, 32, 37)
# Produce, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, TxnOffsetCommit.
_OF_TRANSACTIONS = (0, 24, 25, 26, 28)
# By API key: the highest version that is implemented, the first flexible one, and the handler.
_HANDLERS = {
    0: (11, 9, _produce),
    1: (18, 12, _fetch),
    2: (7, 6, _list_offsets),
    3: (13, 9, _metadata),
    8: (9, 8, _offset_commit),
    9: (9, 6, _offset_fetch),
    10: (2, _NEVER, _find_coordinator),
    11: (5, _NEVER, _join_group),
    12: (3, _NEVER, _heartbeat),
    13: (1, _NEVER, _leave_group),
    14: (3, _NEVER, _sync_group),
    15: (5, 5, _describe_groups),
    16: (4, 3, _list_groups),
    17: (1, _NEVER, _sasl_handshake),
    _API_VERSIONS: (4, 3, _api_versions),
    19: (4, _NEVER, _create_topics),
    20: (4, 4, _delete_topics),
    21: (2, 2, _delete_records),
    22: (4, 2, _init_producer_id),
    23: (2, _NEVER, _offset_for_leader_epoch),
    24: (0, _NEVER, _add_partitions),
    25: (0, _NEVER, _add_offsets),
    26: (1, _NEVER, _end_transaction),
    28: (3, 3, _transaction_offsets),
    32: (1, _NEVER, _describe_configs),
    36: (1, _NEVER, _sasl_authenticate),
    37: (2, 2, _create_partitions),
}
