"""Keeps one feed from its changesets, or all feeds of a partition from its records.

The rules are those of chapter 11 of FeedStore's protocol. A replica applies a changeset as a whole, or not at all. Its sections
and items are values: those that a changeset does not change are the same objects afterwards, also after a reload.
"""

from dataclasses import dataclass
from typing import Any, Container, Dict, Generic, Iterable, List, Mapping, Optional, Protocol, Sequence, Tuple, Type, TypeVar, Union

from .changesets import ABSENT, Changeset, Entry, changeset, data_text, entries, invalid, is_count, joined, parsed_key, text
from .checksum import item_term, section_term
from .errors import ReplicaFault
from .jsontext import text_of
from .model import (
    Change, Item, ItemChanges, ItemMove, ItemPlace, ItemPosition, Section, SectionChanges, SectionMove, SectionPlace, sections_json,
)


class _Element(Protocol):
    @property
    def id(self) -> str: ...


_E = TypeVar("_E", bound=_Element)


@dataclass(frozen=True)
class Outcome:
    """What a changeset did to a replica.

    - `applied`: the replica has its revision now; `change` says what it changed.
    - `removed`: the feed was deleted.
    - `skipped`: the replica has that revision, or the record does not concern it.
    - `waiting`: further parts of the changeset are needed.
    - `gap`: an earlier changeset was missed. `other-epoch`: the reload of its epoch was missed.
    - `mismatch`: it does not fit the replica, which keeps its state; `fault` says why.
    """

    type: str
    change: Optional[Change] = None
    fault: Optional[ReplicaFault] = None


_APPLIED_NOTHING = {name: Outcome(name) for name in ("removed", "skipped", "waiting", "gap", "other-epoch")}


@dataclass(frozen=True)
class Head:
    """What a state is besides its sections."""

    epoch: str
    revision: int
    time: str
    checksum: str
    through: Mapping[str, int]


class _State:
    """Elements in order, and their terms of the checksum. The terms are replaced in place, once a changeset is known to fit."""

    def __init__(self) -> None:
        self.sections: Tuple[Section[Any], ...] = ()
        #: The sum of the terms.
        self.total = 0
        self.section_terms: Dict[str, int] = {}
        self.item_terms: Dict[str, int] = {}


class Replica:
    """A copy of one feed."""

    def __init__(self, feed: str, item: Type[Item[Any]] = Item):
        self.feed = feed
        self._item = item
        self.head: Optional[Head] = None
        self._state: Optional[_State] = None
        #: The sections before a restart, from which a reload takes what is equal.
        self._former: Tuple[Section[Any], ...] = ()
        self._parts: List[Changeset] = []
        self._is_stale = False

    @property
    def sections(self) -> Tuple[Section[Any], ...]:
        """The sections with their items, in order; none without a state."""
        return self._state.sections if self._state else ()

    @property
    def is_stale(self) -> bool:
        """Whether changes were missed, so that only a reload is applied; also without a state."""
        return self._is_stale

    @property
    def is_waiting(self) -> bool:
        """Whether some parts of a changeset have arrived, and not all."""
        return self._parts != []

    def apply(self, value: Union[str, bytes, Changeset]) -> Outcome:
        """Applies a changeset, or a part of one. Call it in the order of the topic.

        It raises ReplicaFault if it is not a changeset, or is another feed's; the replica is stale then.
        """
        try:
            record = value if isinstance(value, Changeset) else changeset(value)
            if record.feed != self.feed:
                raise ReplicaFault("invalid-changeset", f"expected feed {self.feed!r}, found {record.feed!r}")
        except ReplicaFault:
            self.become_stale()
            raise
        return self._take(record)

    def become_stale(self) -> None:
        """Notes that something was missed: no difference is applied until the next reload."""
        self._is_stale, self._parts = True, []

    def begin_with(self, sections: Tuple[Section[Any], ...]) -> None:
        """Elements of the first reload that are equal to these become the same objects."""
        self._former = sections

    def to_reload(self) -> str:
        """The state as a reload, as JSON text."""
        head = self.head
        if head is None:
            raise ValueError(f"there is no state of {self.feed}")
        members = {
            "feed": self.feed, "epoch": head.epoch, "revision": head.revision, "base": head.revision, "mode": "reload",
            "reason": "keyframe", "time": head.time, "through": head.through, "checksum": head.checksum,
        }
        return f'{text_of(members)[:-1]},"sections":{sections_json(self.sections)}}}'

    def restart(self) -> None:
        """Forgets the state, so that the next reload is taken, whatever its revision."""
        self._former = self.sections or self._former
        self.head, self._state, self._parts, self._is_stale = None, None, [], False

    def remove(self) -> Outcome:
        """Drops the state: the feed does not exist any more."""
        outcome = _APPLIED_NOTHING["removed" if self._state else "skipped"]
        self.restart()
        self._former = ()
        return outcome

    def note_window(self, window: Any) -> None:
        """Takes over how many items the sections of a window have."""
        if self._state:
            self._state.sections = tuple(_with_totals(self._state.sections, window))

    def _take(self, record: Changeset) -> Outcome:
        head = self.head
        is_same = head is not None and head.epoch == record.epoch
        if record.mode == "delete":
            return self.remove() if head is None or is_same else self._gap("other-epoch")
        if record.mode == "reload":
            if head is not None and is_same and record.revision <= head.revision:
                is_in_step = not self._is_stale and record.checksum == head.checksum
                if record.revision != head.revision or is_in_step:
                    return _APPLIED_NOTHING["skipped"]
                # The same revision with another checksum: the state is wrong.
                self._is_stale = True
        elif head is None:
            return self._gap("gap")
        elif not is_same:
            return self._gap("other-epoch")
        elif record.revision <= head.revision:
            return _APPLIED_NOTHING["skipped"]
        elif self._is_stale or record.base != head.revision:
            return self._gap("gap")
        return self._join(record)

    def _gap(self, outcome: str) -> Outcome:
        self.become_stale()
        return _APPLIED_NOTHING[outcome]

    def _join(self, record: Changeset) -> Outcome:
        """Collects parts until the changeset is complete, and then applies it."""
        if record.part == 0:
            self._parts = []
        first = self._parts[0] if self._parts else record
        is_next = len(self._parts) == record.part and (
            (first.epoch, first.revision, first.mode, first.reason, first.parts, first.checksum)
            == (record.epoch, record.revision, record.mode, record.reason, record.parts, record.checksum)
        )
        if not is_next:
            return self._gap("gap")
        self._parts.append(record)
        if len(self._parts) < record.parts:
            return _APPLIED_NOTHING["waiting"]
        parts, self._parts = self._parts, []
        try:
            change = self._reload(parts) if record.mode == "reload" else self._change(parts)
        except ReplicaFault as fault:
            self._is_stale = True
            return Outcome("mismatch", fault=fault)
        self.head = Head(record.epoch, record.revision, record.time, record.checksum, record.through)
        self._is_stale, self._former = False, ()
        return Outcome("applied", change)

    def _reload(self, parts: List[Changeset]) -> Change:
        self._state = _reloaded(parts, self.sections or self._former, self._item)
        return _change_of(parts[-1], SectionChanges(), ItemChanges())

    def _change(self, parts: List[Changeset]) -> Change:
        assert self._state is not None
        sections, items = (joined([getattr(part, name) for part in parts]) for name in ("sections", "items"))
        difference = _Difference(self._state, sections, items, self._item)
        difference.apply(parts[-1])
        return _change_of(parts[-1], difference.section_changes(), difference.item_changes())


def _change_of(record: Changeset, sections: SectionChanges, items: ItemChanges) -> Change:
    return Change(record.epoch, record.revision, record.base, record.mode, record.reason, record.time, sections, items)


def _check_checksum(record: Changeset, total: int) -> None:
    found = f"{total % 2**32:08x}"
    if found != record.checksum:
        raise ReplicaFault("checksum", f"the result of revision {record.revision} has {found}, expected {record.checksum}")


def _totals(window: Any) -> Dict[str, Tuple[int, int]]:
    """By section, the position of the first item that a window shows, and how many there are."""
    found = {}
    for total in entries(window):
        if not is_count(total.get("from")) or not is_count(total.get("of")):
            raise invalid("window", total)
        found[text(total, "section")] = (total["from"], total["of"])
    return found


def _with_totals(sections: Iterable[Section[Any]], window: Any) -> Iterable[Section[Any]]:
    totals = _totals(window)
    for section in sections:
        from_, of = totals.get(section.id, (0, len(section.items)))
        if (from_, of) == (section.from_, section.of):
            yield section
        else:
            yield Section(section.id, section.data_text, section.order, section.keep, section.items, from_, of, section.is_pending)


def shared(sections: Sequence[Section[Any]], former: Sequence[Section[Any]]) -> Tuple[Section[Any], ...]:
    """The sections, each as the former object if that is equal, and so their items."""
    former_sections = {section.id: section for section in former}
    former_items = {item.id: item for section in former for item in section.items}

    def kept(item: Item[Any]) -> Item[Any]:
        other = former_items.get(item.id)
        return other if other is not None and item.is_same(other) else item

    result = []
    for section in sections:
        if former_sections.get(section.id) is not section:
            items = tuple(map(kept, section.items))
            section = Section(
                section.id, section.data_text, section.order, section.keep, items, section.from_, section.of, section.is_pending
            )
            other = former_sections.get(section.id)
            section = other if other is not None and section.is_same(other) else section
        result.append(section)
    return tuple(result)


def _settings(entry: Entry) -> Tuple[str, Any, Any]:
    """A section's data, order and bound."""
    return data_text(entry), entry.get("order"), entry.get("keep")


def _content(entry: Entry) -> Tuple[str, bool, Optional[str], Optional[Mapping[str, str]]]:
    """An item's data, that it is not pending, its end and its references. A value of another form counts as none."""
    expires, refs = entry.get("expires"), entry.get("refs")
    return data_text(entry), False, expires if type(expires) is str else None, refs if type(refs) is dict else None


def _reloaded(parts: List[Changeset], former: Sequence[Section[Any]], item_type: Type[Item[Any]]) -> _State:
    """The state that a reload describes."""
    state, total = _State(), 0
    sections: List[Tuple[str, Tuple[str, Any, Any], List[Item[Any]]]] = []
    for entry in (entry for part in parts for entry in entries(part.sections)):
        name = text(entry, "id")
        # A section that continues from the previous part is listed again, without its data.
        if "data" in entry or not sections or sections[-1][0] != name:
            _check_new(name, state.section_terms)
            term = section_term(sections[-1][0] if sections else "", name)
            state.section_terms[name] = term
            total += term
            sections.append((name, _settings(entry), []))
        items = sections[-1][2]
        previous = items[-1].id if items else ""
        for listed in entries(entry.get("items", ABSENT)):
            item = item_type(text(listed, "id"), text(listed, "kind", 0), name, *_content(listed))
            _check_new(item.id, state.item_terms)
            term = item_term(name, previous, item.id, item.kind)
            state.item_terms[item.id] = term
            total += term
            items.append(item)
            previous = item.id
    _check_checksum(parts[-1], total)
    state.total = total
    found = (Section(name, *settings, tuple(items), 0, len(items), False) for name, settings, items in sections)
    window = parts[-1].window
    state.sections = shared(list(found if window is None else _with_totals(found, window)), former)
    return state


def _check_new(name: str, taken: Container[str]) -> None:
    if name in taken:
        raise ReplicaFault("unknown-element", f"{name!r} is inserted, but already exists")


def _at(elements: Sequence[_E], name: Any, index: Any) -> _E:
    """The element at a position, which must have that id."""
    found: Optional[_E] = elements[index] if is_count(index) and index < len(elements) else None
    if found is None or found.id != name:
        raise ReplicaFault("position", f"expected {name!r} at {index!r}, found {found.id if found else 'nothing'!r}")
    return found


def _index(place: Any) -> Any:
    return place.get("index") if type(place) is dict else None


class _ListEdit(Generic[_E]):
    """Removes elements from a list and inserts others, in one pass."""

    def __init__(self, base: Sequence[_E]):
        self.base = base
        self.result: List[_E] = list(base)
        #: Positions in the result of elements whose predecessor may have changed.
        self.displaced: List[int] = []
        self._taken: Dict[int, None] = {}
        self._placed: List[Tuple[int, _E]] = []

    def take(self, name: Any, index: Any) -> _E:
        element = _at(self.base, name, index)
        if index in self._taken:
            raise ReplicaFault("position", f"{name!r} is removed from its place twice")
        self._taken[index] = None
        return element

    def place(self, element: _E, index: Any) -> None:
        if not is_count(index):
            raise ReplicaFault("position", f"{element.id!r} cannot be placed at {index!r}")
        self._placed.append((index, element))

    def rest(self) -> List[_E]:
        """What was not taken."""
        return [element for index, element in enumerate(self.base) if index not in self._taken]

    def finish(self) -> None:
        if not self._taken and not self._placed:
            return
        base, at = self.base, 0
        result: List[_E] = []
        taken = [*sorted(self._taken), len(base)]
        next_taken, left = 0, len(base) - len(self._taken)

        def keep(count: int) -> None:
            nonlocal at, next_taken, left
            left -= count
            while count > 0:
                if at == taken[next_taken]:
                    at, next_taken = at + 1, next_taken + 1
                    continue
                end = min(taken[next_taken], at + count)
                self.displaced.append(len(result))
                result.extend(base[at:end])
                count, at = count - (end - at), end

        for index, element in sorted(self._placed, key=lambda placed: placed[0]):
            before = index - len(result)
            if not 0 <= before <= left:
                raise ReplicaFault("position", f"{element.id!r} cannot be placed at {index!r}")
            keep(before)
            self.displaced.append(len(result))
            result.append(element)
        keep(left)
        self.result = result


class _Difference:
    """Applies the entries of a difference to a state: the algorithm of section 11.5 of the protocol."""

    def __init__(
        self, state: _State, sections: Dict[str, List[Entry]], items: Dict[str, List[Entry]], item: Type[Item[Any]]
    ):
        self._state, self._item = state, item
        self._section_entries, self._item_entries = sections, items
        self._sections = {section.id: section for section in state.sections}
        self._order = _ListEdit(state.sections)
        self._edits: Dict[str, _ListEdit[Item[Any]]] = {}
        #: What is new of the checksum's terms; None for what is gone.
        self._section_terms: Dict[str, Optional[int]] = {}
        self._item_terms: Dict[str, Optional[int]] = {}

    def apply(self, record: Changeset) -> None:
        moved = self._take_items()
        self._edit_sections()
        self._place_items(moved)
        self._change_content()
        self._renew_terms()
        state = self._state
        total = state.total
        for terms, new in ((state.section_terms, self._section_terms), (state.item_terms, self._item_terms)):
            total += sum((term or 0) - terms.get(name, 0) for name, term in new.items())
        _check_checksum(record, total)
        totals = None if record.window is None else _totals(record.window)
        sections = [self._result(section, totals) for section in self._order.result]
        # Everything that can fail is over before the state changes.
        state.sections = tuple(sections)
        state.total = total % 2**32
        for terms, new in ((state.section_terms, self._section_terms), (state.item_terms, self._item_terms)):
            for name, term in new.items():
                if term is None:
                    terms.pop(name, None)
                else:
                    terms[name] = term

    def _take_items(self) -> List[Tuple[Item[Any], Any]]:
        """Called before sections change, because `delete` and `from` refer to the old ones. Returns what moves, and where to."""
        for entry in self._item_entries["delete"]:
            item = self._edit(entry).take(entry.get("id"), entry.get("index"))
            self._item_terms[item.id] = None
        moved = []
        for entry in self._item_entries["move"]:
            from_ = entry.get("from")
            item = self._edit(from_).take(entry.get("id"), _index(from_))
            moved.append((item, entry.get("to")))
        return moved

    def _edit_sections(self) -> None:
        order = self._order
        section: Section[Any]
        for entry in self._section_entries["delete"]:
            section = order.take(entry.get("id"), entry.get("index"))
            # Items that are still in it are deleted with it, unlisted.
            edit = self._edits.pop(section.id, None)
            for item in edit.rest() if edit else section.items:
                self._item_terms[item.id] = None
            self._sections.pop(section.id, None)
            self._section_terms[section.id] = None
        for entry in self._section_entries["move"]:
            order.place(order.take(entry.get("id"), entry.get("from")), entry.get("to"))
        for entry in self._section_entries["insert"]:
            name = text(entry, "id")
            _check_new(name, self._sections)
            section = Section(name, *_settings(entry), (), 0, 0, False)
            self._sections[name] = section
            order.place(section, entry.get("index"))
        order.finish()

    def _place_items(self, moved: List[Tuple[Item[Any], Any]]) -> None:
        for item, to in moved:
            edit = self._edit(to)
            if item.section != to["section"]:
                item = self._item(item.id, item.kind, to["section"], item.data_text, False, item.expires, item.refs)
            edit.place(item, _index(to))
        for entry in self._item_entries["insert"]:
            name = text(entry, "id")
            if self._item_terms.get(name, self._state.item_terms.get(name)) is not None:
                _check_new(name, {name})
            edit = self._edit(entry)
            edit.place(self._item(name, text(entry, "kind", 0), entry["section"], *_content(entry)), entry.get("index"))
            self._item_terms[name] = 0
        for edit in self._edits.values():
            edit.finish()

    def _change_content(self) -> None:
        order = self._order.result
        for entry in self._section_entries["reconfigure"] + self._section_entries["reload"]:
            section = _at(order, entry.get("id"), entry.get("index"))
            order[entry["index"]] = Section(
                section.id, *_settings(entry), section.items, section.from_, section.of, section.is_pending
            )
        for name in ("reconfigure", "reload"):
            for entry in self._item_entries[name]:
                edit = self._edit(entry)
                item = _at(edit.result, entry.get("id"), entry.get("index"))
                kind = item.kind if name == "reconfigure" else text(entry, "kind", 0)
                new = self._item(item.id, kind, item.section, *_content(entry))
                if not new.is_same(item):
                    edit.result[entry["index"]] = new
                if kind != item.kind:
                    edit.displaced.append(entry["index"])

    def _renew_terms(self) -> None:
        order = self._order.result
        for index in self._order.displaced:
            self._section_terms[order[index].id] = section_term(order[index - 1].id if index else "", order[index].id)
        for section, edit in self._edits.items():
            for index in edit.displaced:
                item = edit.result[index]
                self._item_terms[item.id] = item_term(section, edit.result[index - 1].id if index else "", item.id, item.kind)

    def _result(self, section: Section[Any], totals: Optional[Mapping[str, Tuple[int, int]]]) -> Section[Any]:
        edit, former = self._edits.get(section.id), self._sections[section.id]
        if edit is None and section is former and totals is None:
            return section
        items = section.items if edit is None else tuple(edit.result)
        from_, of = (totals or {}).get(section.id, (0, len(items)))
        new = Section(section.id, section.data_text, section.order, section.keep, items, from_, of, False)
        return former if new.is_same(former) else new

    def _edit(self, place: Any) -> "_ListEdit[Item[Any]]":
        """The list of the section that a place names."""
        name = text(place, "section")
        section = self._sections.get(name)
        if section is None:
            raise ReplicaFault("unknown-element", f"there is no section {name!r}")
        edit = self._edits.get(name)
        if edit is None:
            edit = self._edits[name] = _ListEdit(section.items)
        return edit

    def section_changes(self) -> SectionChanges:
        def places(name: str) -> Tuple[SectionPlace, ...]:
            return tuple(SectionPlace(entry["id"], entry["index"]) for entry in self._section_entries[name])

        moves = tuple(SectionMove(entry["id"], entry["from"], entry["to"]) for entry in self._section_entries["move"])
        return SectionChanges(places("delete"), places("insert"), moves, places("reconfigure"), places("reload"))

    def item_changes(self) -> ItemChanges:
        def places(name: str) -> Tuple[ItemPlace, ...]:
            return tuple(ItemPlace(entry["id"], entry["section"], entry["index"]) for entry in self._item_entries[name])

        moves = tuple(
            ItemMove(entry["id"], *(ItemPosition(entry[side]["section"], entry[side]["index"]) for side in ("from", "to")))
            for entry in self._item_entries["move"]
        )
        return ItemChanges(places("delete"), places("insert"), moves, places("reconfigure"), places("reload"))


class ReplicaPartition:
    """The feeds of one partition of the changesets topic, from its committed records in the order of their offsets."""

    def __init__(self) -> None:
        self.replicas: Dict[str, Replica] = {}

    def apply(self, key: Optional[bytes], value: Optional[bytes]) -> Tuple[str, Outcome]:
        """Applies a record; returns its feed and what it did.

        It raises ReplicaFault if the record is not valid on a changesets topic; the feed in its key, if there is one, is stale then.
        """
        kind, number, feed = parsed_key(key)
        replica = self.replicas.get(feed) or Replica(feed)
        if value is None:
            # A follower that missed the deletion sees only its nulls. Only a deletion makes deltas null, so a feed without a
            # state is not waited for any more.
            if number != 0 if kind == "k" else replica.head is not None:
                return feed, _APPLIED_NOTHING["skipped"]
            self.replicas.pop(feed, None)
            return feed, replica.remove()
        self.replicas[feed] = replica
        try:
            record = changeset(value)
            if (kind != "k" or number != record.part) if record.mode == "reload" else kind != "d":
                raise ReplicaFault("invalid-changeset", f"the key {key!r} is not that of its value")
            outcome = replica.apply(record)
        except ReplicaFault:
            replica.become_stale()
            raise
        if replica.head is None and not replica.is_stale and not replica.is_waiting:
            del self.replicas[feed]
        return feed, outcome
