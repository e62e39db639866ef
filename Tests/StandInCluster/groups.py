"""Consumer groups with the classic protocol: members, generations, and offsets, including those of open transactions."""

import asyncio
import time
import uuid

import errors

# How long a group's first member waits for others.
_INITIAL_DELAY = 0.2
_MIN_SESSION = 6
_MAX_SESSION = 1800


class Member:
    def __init__(self, client, instance):
        self.id = f"{instance or client}-{uuid.uuid4()}"
        self.client = client
        self.instance = instance
        self.session = 6.0
        self.rebalance = 60.0
        self.protocols = []
        self.assignment = b""
        self.heard = time.monotonic()
        # The responses that it waits for.
        self.joining = None
        self.syncing = None

    def hear(self):
        """Restarts its session."""
        self.heard = time.monotonic()

    @property
    def is_waiting(self):
        return self.joining is not None or self.syncing is not None

    def answer(self, name, result):
        """Completes a pending response with a value, or with an error code to raise."""
        future = getattr(self, name)
        if future is None:
            return
        setattr(self, name, None)
        self.hear()
        if not future.done():
            if isinstance(result, errors.KafkaError):
                future.set_exception(result)
            else:
                future.set_result(result)


class Group:
    EMPTY, PREPARING, COMPLETING, STABLE = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"

    def __init__(self, name):
        self.name = name
        self.state = Group.EMPTY
        self.generation = 0
        self.protocol_type = ""
        self.protocol = ""
        self.leader = ""
        self.members = {}
        # Assigned ids, which the next request must contain.
        self._promised = set()
        self._deadline = 0.0
        self._not_before = 0.0
        self.offsets = {}
        # Offsets of open transactions by producer, and the latest epoch of each.
        self._pending = {}
        self._epochs = {}

    # Members

    async def join(self, client, member, instance, session, rebalance, kind, protocols, asks_for_id):
        """Joins the next generation.

        Returns its number, the protocol, the leader's id, the member's own id, and for the leader all members.
        """
        if not _MIN_SESSION <= session <= _MAX_SESSION:
            raise errors.KafkaError(errors.INVALID_SESSION_TIMEOUT)
        common = self._common_protocols()
        if self.members and (kind != self.protocol_type or not any(name in common for name, _ in protocols)):
            raise errors.KafkaError(errors.INCONSISTENT_GROUP_PROTOCOL)
        static = next((one for one in self.members.values() if instance and one.instance == instance), None)
        if static is not None and member == "":
            return await self._replace(static, client, instance, session, rebalance, protocols)
        if static is not None and static.id != member:
            raise errors.KafkaError(errors.FENCED_INSTANCE_ID)
        one = self.members.get(member)
        is_new = one is None
        if is_new:
            if member and member not in self._promised:
                raise errors.KafkaError(errors.UNKNOWN_MEMBER_ID)
            one = Member(client, instance)
            if member:
                self._promised.discard(member)
                one.id = member
            elif instance is None and asks_for_id:
                self._promised.add(one.id)
                failure = errors.KafkaError(errors.MEMBER_ID_REQUIRED)
                failure.member = one.id
                raise failure
            self.members[one.id] = one
            self.protocol_type = kind
        is_same = protocols == one.protocols
        one.session, one.rebalance, one.protocols = session, rebalance, protocols
        one.hear()
        if not is_new and is_same:
            if self.state == Group.COMPLETING or (self.state == Group.STABLE and one.id != self.leader):
                return self._generation(one)
        return await self._rejoin(one)

    async def _rejoin(self, one):
        one.answer("joining", errors.KafkaError(errors.REBALANCE_IN_PROGRESS))
        one.joining = asyncio.get_running_loop().create_future()
        future = one.joining
        self._prepare()
        self.proceed()
        return await future

    async def _replace(self, old, client, instance, session, rebalance, protocols):
        """Handles a member that restarts with the same instance name."""
        one = Member(client, instance)
        one.session, one.rebalance = session, rebalance
        one.protocols, one.assignment = protocols, old.assignment
        for name in ("joining", "syncing"):
            old.answer(name, errors.KafkaError(errors.FENCED_INSTANCE_ID))
        self.members = {one.id if key == old.id else key: one if key == old.id else m for key, m in self.members.items()}
        leader = self.leader
        if leader == old.id:
            self.leader = one.id
        if self.state == Group.STABLE and self._common_protocols()[:1] == [self.protocol]:
            # It receives the old leader's id, so that it syncs for its old partitions and assigns none.
            return self.generation, self.protocol, leader, one.id, []
        return await self._rejoin(one)

    def _prepare(self):
        if self.state == Group.PREPARING:
            return
        now = time.monotonic()
        self._not_before = now + (_INITIAL_DELAY if self.state == Group.EMPTY else 0)
        self._deadline = now + max((one.rebalance for one in self.members.values()), default=0)
        self.state = Group.PREPARING
        for one in self.members.values():
            one.assignment = b""
            one.answer("syncing", errors.KafkaError(errors.REBALANCE_IN_PROGRESS))

    def proceed(self):
        """Removes silent members, and begins the next generation once all have joined."""
        now = time.monotonic()
        for one in list(self.members.values()):
            if not one.is_waiting and now > one.heard + one.session:
                self._remove(one)
        if self.state != Group.PREPARING or now < self._not_before:
            return
        if now > self._deadline:
            for one in list(self.members.values()):
                if one.joining is None and one.instance is None:
                    self._remove(one)
        joined = [one for one in self.members.values() if one.joining is not None]
        if not self.members:
            self.generation += 1
            self.state = Group.EMPTY
        elif joined and (len(joined) == len(self.members) or now > self._deadline):
            self._begin_generation(joined)

    def _common_protocols(self):
        """The protocols that all members support, in the order of the first member."""
        known = [[name for name, _ in one.protocols] for one in self.members.values()]
        return [name for name in known[0] if all(name in names for names in known)] if known else []

    def _begin_generation(self, joined):
        self.generation += 1
        self.state = Group.COMPLETING
        self.protocol = self._common_protocols()[0]
        if all(one.id != self.leader for one in joined):
            self.leader = joined[0].id
        for one in self.members.values():
            one.answer("joining", self._generation(one))

    def _generation(self, one):
        members = []
        if one.id == self.leader:
            members = [(m.id, m.instance, dict(m.protocols)[self.protocol]) for m in self.members.values()]
        return self.generation, self.protocol, self.leader, one.id, members

    def _remove(self, one):
        del self.members[one.id]
        for name in ("joining", "syncing"):
            one.answer(name, errors.KafkaError(errors.UNKNOWN_MEMBER_ID))
        if self.state in (Group.STABLE, Group.COMPLETING):
            self._prepare()

    def check(self, member, generation, instance):
        """Checks that a request comes from a member of this generation."""
        if instance is not None:
            static = next((one for one in self.members.values() if one.instance == instance), None)
            if static is not None and static.id != member:
                raise errors.KafkaError(errors.FENCED_INSTANCE_ID)
        one = self.members.get(member)
        if one is None:
            raise errors.KafkaError(errors.UNKNOWN_MEMBER_ID)
        if generation != self.generation:
            raise errors.KafkaError(errors.ILLEGAL_GENERATION)
        return one

    async def sync(self, member, generation, instance, assignments):
        """Waits for the leader's assignments; returns the member's."""
        one = self.check(member, generation, instance)
        one.hear()
        if self.state == Group.PREPARING:
            raise errors.KafkaError(errors.REBALANCE_IN_PROGRESS)
        if self.state == Group.STABLE:
            return one.assignment
        one.syncing = asyncio.get_running_loop().create_future()
        future = one.syncing
        if member == self.leader:
            self.state = Group.STABLE
            for known in self.members.values():
                known.assignment = assignments.get(known.id, b"")
                known.answer("syncing", known.assignment)
        return await future

    def heartbeat(self, member, generation, instance):
        self.check(member, generation, instance).hear()
        if self.state == Group.PREPARING:
            raise errors.KafkaError(errors.REBALANCE_IN_PROGRESS)

    def leave(self, member):
        one = self.members.get(member)
        if one is None:
            raise errors.KafkaError(errors.UNKNOWN_MEMBER_ID)
        self._remove(one)
        self.proceed()

    def hear_all(self):
        """Restarts all members' sessions, as a new coordinator does."""
        for one in self.members.values():
            one.hear()

    # Offsets

    def commit(self, member, generation, instance, offsets):
        if generation >= 0 or self.members:
            self.check(member, generation, instance).hear()
            if self.state == Group.COMPLETING:
                raise errors.KafkaError(errors.REBALANCE_IN_PROGRESS)
        self.offsets.update(offsets)

    def has_open(self, producer):
        """Whether it has offsets of an open transaction."""
        return producer in self._pending

    def commit_later(self, producer, epoch, member, generation, instance, offsets):
        """Stores offsets of a transaction, which take effect when it is committed."""
        if epoch < self._epochs.get(producer, epoch):
            raise errors.KafkaError(errors.INVALID_PRODUCER_EPOCH)
        if member or generation >= 0:
            self.check(member, generation, instance)
        self._epochs[producer] = epoch
        self._pending.setdefault(producer, {}).update(offsets)

    def end_transaction(self, producer, epoch, is_commit):
        self._epochs[producer] = epoch
        offsets = self._pending.pop(producer, {})
        if is_commit:
            self.offsets.update(offsets)

    def is_unstable(self, place):
        return any(place in offsets for offsets in self._pending.values())

    def forget_topic(self, topic):
        for offsets in [self.offsets, *self._pending.values()]:
            for place in [place for place in offsets if place[0] == topic]:
                del offsets[place]


class Groups:
    def __init__(self):
        self._known = {}

    def delay(self, seconds):
        """Extends the members' sessions."""
        for group in self._known.values():
            for one in group.members.values():
                one.heard += seconds

    def group(self, name):
        if name not in self._known:
            self._known[name] = Group(name)
        return self._known[name]

    @property
    def all(self):
        return list(self._known.values())

    def forget_topic(self, topic):
        for group in self._known.values():
            group.forget_topic(topic)
