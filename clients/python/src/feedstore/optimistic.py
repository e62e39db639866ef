"""Shows writes before they are published: a state with the writes that are still pending, in their order."""

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .jsontext import text_of
from .merge_patch import merged
from .model import Item, Section, Window

Event = Mapping[str, Any]


class _Draft:
    """A section that writes change."""

    def __init__(self, section: Section):
        self.section = section
        self.data_text = section.data_text
        self.items = list(section.items)
        self.of = section.of

    def index(self, item: str) -> Optional[int]:
        return next((index for index, found in enumerate(self.items) if found.id == item), None)

    def place(self, at: Any) -> Optional[int]:
        """The index in `items` of a place; None if the window does not show it. The element is not in `items`."""
        from_, count = self.section.from_, len(self.items)
        last = count if from_ + count >= self.of else None
        if at is None or at == "last":
            return last
        if at == "first":
            return 0 if from_ == 0 else None
        if not isinstance(at, Mapping):
            return None
        if "index" in at and type(at["index"]) is int:
            index = at["index"] - from_
            return None if index < 0 else index if index < count else last
        anchor = self.index(at.get("before", at.get("after")))
        return None if anchor is None else anchor if "before" in at else anchor + 1


def shown(
    confirmed: Tuple[Section, ...], window: Window, writes: Sequence[Sequence[Event]], former: Sequence[Section]
) -> Tuple[Section, ...]:
    """The sections with the effect of writes. What is equal in what was shown before is the same object."""
    drafts = _Drafts(confirmed, window)
    for events in writes:
        for event in events:
            try:
                drafts.apply(event)
            except (ValueError, LookupError, TypeError, RecursionError):
                # The daemon will say what is wrong with it.
                pass
    return drafts.finish({section.id: section for section in former})


def same(sections: Sequence[Section], others: Sequence[Section]) -> bool:
    """Whether the sections are the same objects."""
    return len(sections) == len(others) and all(one is other for one, other in zip(sections, others))


class _Drafts:
    def __init__(self, confirmed: Tuple[Section, ...], window: Window):
        self.confirmed = confirmed
        self.window = window
        self.sections: Dict[str, Section] = {section.id: section for section in confirmed}
        self.drafts: Dict[str, _Draft] = {}
        #: Items that a write put somewhere.
        self.placed: Dict[str, None] = {}

    def apply(self, event: Event) -> None:
        op = event.get("op")
        if op == "item.upsert":
            self.upsert(event)
        elif op == "item.move":
            self.move(event)
        elif op == "item.patch":
            found = self.find(_text(event, "item"))
            if found is not None:
                draft, index = found
                item = draft.items[index]
                data = merged(item.data_text, text_of(event["data"]))
                draft.items[index] = Item(item.id, item.kind, item.section, data, True)
        elif op == "item.delete":
            found = self.find(_text(event, "item"))
            if found is not None:
                draft, index = found
                del draft.items[index]
                draft.of -= 1
        elif op == "section.upsert" and not {"order", "keep", "at"} & event.keys():
            section = self.draft(_text(event, "section"))
            if section is not None and "data" in event:
                section.data_text = text_of(event["data"])

    def upsert(self, event: Event) -> None:
        found = self.find(_text(event, "item"))
        if found is None:
            kind = _text(event, "kind") if "kind" in event else ""
            item = Item(_text(event, "item"), kind, _text(event, "section"), text_of(event.get("data")), True)
            self.insert(item, event)
            return
        draft, index = found
        item = draft.items[index]
        data = text_of(event["data"]) if "data" in event else item.data_text
        section = _text(event, "section") if "section" in event else item.section
        new = Item(item.id, _text(event, "kind") if "kind" in event else item.kind, section, data, True)
        if section != item.section or "at" in event:
            self.relocate(draft, index, new, event)
        else:
            draft.items[index] = new

    def move(self, event: Event) -> None:
        found = self.find(_text(event, "item"))
        if found is not None:
            draft, index = found
            item = draft.items[index]
            section = _text(event, "section") if "section" in event else item.section
            if section != item.section or "at" in event:
                self.relocate(draft, index, Item(item.id, item.kind, section, item.data_text, True), event)

    def relocate(self, draft: _Draft, index: int, item: Item, event: Event) -> None:
        former = draft.items.pop(index)
        draft.of -= 1
        if not self.insert(item, event):
            draft.items.insert(index, former)
            draft.of += 1

    def insert(self, item: Item, event: Event) -> bool:
        """Puts an item where an event says, if the window shows that place."""
        target = self.draft(item.section)
        # The daemon decides about places in an ordered section, and refuses others.
        if target is None or (target.section.order is not None and "at" in event):
            return False
        place = target.place(event.get("at"))
        if place is None:
            return False
        target.items.insert(place, item)
        target.of += 1
        self.placed[item.id] = None
        return True

    def find(self, item: str) -> Optional[Tuple[_Draft, int]]:
        for name, section in self.sections.items():
            draft = self.drafts.get(name)
            index = draft.index(item) if draft else section.position(item)
            if index is not None:
                found = self.draft(name)
                return None if found is None else (found, index)
        return None

    def draft(self, section: str) -> Optional[_Draft]:
        """A section to change; a new one if the window would show it."""
        draft = self.drafts.get(section)
        if draft is None:
            found = self.sections.get(section)
            if found is None:
                if self.window.sections is not None:
                    return None
                found = self.sections[section] = Section(section, "null", None, None, (), 0, 0, True)
            draft = self.drafts[section] = _Draft(found)
        return draft

    def finish(self, former: Dict[str, Section]) -> Tuple[Section, ...]:
        confirmed = {section.id: section for section in self.confirmed}
        return tuple(
            self.finished(self.drafts[name], confirmed.get(name), former.get(name)) if name in self.drafts else section
            for name, section in self.sections.items()
        )

    def finished(self, draft: _Draft, confirmed: Optional[Section], former: Optional[Section]) -> Section:
        is_moved = confirmed is None or [item.id for item in draft.items] != [item.id for item in confirmed.items]
        items: List[Item] = []
        for item in draft.items:
            before = _in(confirmed, item.id)
            if before is not item and before is not None and not (is_moved and item.id in self.placed):
                if (before.kind, before.data_text) == (item.kind, item.data_text):
                    item = before
            shown_before = _in(former, item.id)
            items.append(shown_before if shown_before is not None and item.is_same(shown_before) else item)
        section = draft.section
        is_pending = (
            confirmed is None or is_moved or draft.data_text != confirmed.data_text or any(item.is_pending for item in items)
        )
        new = Section(section.id, draft.data_text, section.order, section.keep, tuple(items), section.from_, draft.of, is_pending)
        for other in (former, confirmed):
            if other is not None and new.is_same(other):
                return other
        return new


def _text(event: Event, name: str) -> str:
    value = event[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; expected a string")
    return value


def _in(section: Optional[Section], item: str) -> Optional[Item]:
    position = None if section is None else section.position(item)
    return None if section is None or position is None else section.items[position]
