"""Shows writes before they are published: a state with the writes that are still pending, in their order."""

from functools import cmp_to_key, partial
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Type

from .jsontext import data_of, text_of
from .merge_patch import merged
from .model import Item, OrderKey, Section, Window

Event = Mapping[str, Any]


class _Draft:
    """A section that writes change."""

    def __init__(self, section: Section[Any]):
        self.section = section
        self.data_text, self.order, self.keep = section.data_text, section.order, section.keep
        self.items = list(section.items)
        self.of = section.of

    @property
    def is_whole(self) -> bool:
        return self.section.from_ == 0 and len(self.items) == self.of

    def index(self, item: str) -> Optional[int]:
        return next((index for index, found in enumerate(self.items) if found.id == item), None)

    def put(self, item: Item[Any], at: Any = None) -> None:
        """Adds an item; it is not shown if the window does not show the place."""
        end, start = self.of - self.section.from_, -self.section.from_
        if self.order is not None:
            place = _place(item, self.items, self.order) if self.is_whole else end
        elif at is None or at in ("first", "last"):
            place = start if at == "first" else end
        elif "index" in at:
            place = min(at["index"] + start, end)
        else:
            place = (self.index(at.get("before", at.get("after"))) or 0) + ("after" in at)
        self.of += 1
        if 0 <= place <= len(self.items):
            self.items.insert(place, item)

    def change(self, index: int, item: Item[Any]) -> None:
        """Gives an item other content, which may give it another place in an ordered section."""
        if self.order is not None and self.is_whole:
            del self.items[index]
            index = _place(item, self.items, self.order)
            self.items.insert(index, item)
        else:
            self.items[index] = item

    def remove(self, index: int) -> None:
        del self.items[index]
        self.of -= 1

    def cut(self, most: Optional[int]) -> None:
        """Takes away what is beyond the bound of the section, or of the window."""
        keep = self.of if self.keep is None else self.keep
        self.of = min(self.of, keep)
        room = keep - self.section.from_
        del self.items[max(0, room if most is None else min(most, room)) :]


def shown(
    confirmed: Tuple[Section[Any], ...], window: Window, writes: Sequence[Sequence[Event]], former: Sequence[Section[Any]],
    item: Type[Item[Any]] = Item,
) -> Tuple[Section[Any], ...]:
    """The sections with the effect of writes. What is equal in what was shown before is the same object."""
    drafts = _Drafts(confirmed, window, item)
    for events in writes:
        for event in events:
            try:
                drafts.apply(event)
            except (ValueError, LookupError, TypeError, RecursionError):
                # The daemon will say what is wrong with it.
                pass
        for draft in drafts.drafts.values():
            draft.cut(window.first if window.first is not None else window.count)
    return drafts.finish({section.id: section for section in former})


def same(sections: Sequence[Section[Any]], others: Sequence[Section[Any]]) -> bool:
    """Whether the sections are the same objects."""
    return len(sections) == len(others) and all(one is other for one, other in zip(sections, others))


class _Drafts:
    def __init__(self, confirmed: Tuple[Section[Any], ...], window: Window, item: Type[Item[Any]]):
        self.item = item
        self.confirmed = confirmed
        self.window = window
        self.sections: Dict[str, Section[Any]] = {section.id: section for section in confirmed}
        self.drafts: Dict[str, _Draft] = {}
        #: Sections that a write moved, and items that one put somewhere.
        self.moved: Set[str] = set()
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
                draft.change(index, self.item(item.id, item.kind, item.section, data, True, item.expires, item.refs))
        elif op == "item.delete":
            found = self.find(_text(event, "item"))
            if found is not None:
                found[0].remove(found[1])
        elif op == "section.upsert":
            self.upsert_section(event)

    def upsert(self, event: Event) -> None:
        name = _text(event, "item")
        found = self.find(name)
        former = found[0].items[found[1]] if found else None
        section = _text(event, "section") if "section" in event or former is None else former.section
        kind = _text(event, "kind") if "kind" in event else former.kind if former else ""
        data = text_of(event["data"]) if "data" in event else former.data_text if former else "null"
        expires, refs = (former.expires, former.refs) if former else (None, None)
        if self.is_place(section, name, event.get("at")):
            self.relocate(found, self.item(name, kind, section, data, True, expires, refs), event)

    def move(self, event: Event) -> None:
        found = self.find(_text(event, "item"))
        if found is not None:
            item = found[0].items[found[1]]
            section = _text(event, "section") if "section" in event else item.section
            if (section != item.section or "at" in event) and self.is_place(section, item.id, event.get("at")):
                moved = self.item(item.id, item.kind, section, item.data_text, True, item.expires, item.refs)
                self.relocate(found, moved, event)

    def relocate(self, found: Optional[Tuple[_Draft, int]], item: Item[Any], event: Event) -> None:
        if found is not None:
            draft, index = found
            if item.section == draft.section.id and "at" not in event:
                draft.change(index, item)
                return
            draft.remove(index)
        target = self.draft(item.section)
        if target is not None:
            target.put(item, event.get("at"))
            self.placed[item.id] = None

    def is_place(self, section: str, item: str, at: Any) -> bool:
        """Whether a place is known. The daemon decides about places in an ordered section, and refuses others."""
        target = self.drafts.get(section) or self.sections.get(section)
        if at is None or (target is not None and target.order is not None):
            return at is None
        if not isinstance(at, Mapping):
            return at in ("first", "last")
        if "index" in at:
            return type(at["index"]) is int and at["index"] >= 0
        anchor = at.get("before", at.get("after"))
        return anchor != item and target is not None and any(one.id == anchor for one in target.items)

    def upsert_section(self, event: Event) -> None:
        name, at = _text(event, "section"), event.get("at")
        order, keep = _order(event.get("order")), event.get("keep")
        if keep is not None and (type(keep) is not int or keep < 1):
            raise TypeError(f"keep is {keep!r}; expected a number from 1")
        names = [other for other in self.sections if other != name]
        if self.window.sections is not None:
            at = None
        index = len(names)
        if isinstance(at, Mapping):
            anchor = at.get("before", at.get("after"))
            index = min(at["index"], index) if "index" in at else names.index(anchor) + ("after" in at)
        draft = self.draft(name)
        if draft is None:
            return
        draft.data_text = text_of(event["data"]) if "data" in event else draft.data_text
        draft.order = order if "order" in event else draft.order
        draft.keep = keep if "keep" in event else draft.keep
        if order is not None and draft.is_whole:
            draft.items.sort(key=cmp_to_key(partial(_compared, order)))
        if at is not None:
            names.insert(0 if at == "first" else index, name)
            if names != list(self.sections):
                self.sections = {one: self.sections[one] for one in names}
                self.moved.add(name)

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

    def finish(self, former: Dict[str, Section[Any]]) -> Tuple[Section[Any], ...]:
        confirmed = {section.id: section for section in self.confirmed}
        return tuple(
            self.finished(self.drafts[name], confirmed.get(name), former.get(name)) if name in self.drafts else section
            for name, section in self.sections.items()
        )

    def finished(self, draft: _Draft, confirmed: Optional[Section[Any]], former: Optional[Section[Any]]) -> Section[Any]:
        is_moved = confirmed is None or [item.id for item in draft.items] != [item.id for item in confirmed.items]
        items: List[Item[Any]] = []
        for item in draft.items:
            before = _in(confirmed, item.id)
            if before is not item and before is not None and not (is_moved and item.id in self.placed):
                if (before.kind, before.data_text) == (item.kind, item.data_text):
                    item = before
            shown_before = _in(former, item.id)
            items.append(shown_before if shown_before is not None and item.is_same(shown_before) else item)
        section = draft.section
        is_pending = (
            confirmed is None or is_moved or section.id in self.moved or any(item.is_pending for item in items)
            or (draft.data_text, draft.order, draft.keep, draft.of) != (confirmed.data_text, confirmed.order, confirmed.keep, confirmed.of)
        )
        new = Section(section.id, draft.data_text, draft.order, draft.keep, tuple(items), section.from_, draft.of, is_pending)
        for other in (former, confirmed):
            if other is not None and new.is_same(other):
                return other
        return new


def _order(order: Any) -> Optional[List[Dict[str, str]]]:
    """The keys of an order; raises an error if they are not valid."""
    if order is None:
        return None
    if not isinstance(order, list) or not 1 <= len(order) <= 4 or not all(key["by"] == "" or key["by"][0] == "/" for key in order):
        raise TypeError(f"order is {order!r}; expected one to four keys such as {{'by': '/score'}}")
    return [{"by": key["by"], **({"direction": "descending"} if key.get("direction") == "descending" else {})} for key in order]


def _place(item: Item[Any], items: Sequence[Item[Any]], order: Sequence[OrderKey]) -> int:
    """Where an item belongs among those of an ordered section."""
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if _compared(order, items[middle], item) < 0:
            low = middle + 1
        else:
            high = middle
    return low


def _compared(order: Sequence[OrderKey], one: Item[Any], other: Item[Any]) -> int:
    """The order of section 2.13 of the protocol, except that numbers are compared as Python has them."""
    for key in order:
        first, second = (_rank(_value(_raw(item), key["by"])) for item in (one, other))
        if first != second:
            is_reversed = key.get("direction") == "descending" and _UNSORTABLE not in (first, second)
            return -1 if (first < second) != is_reversed else 1
    return -1 if one.id.encode("utf-8", "surrogatepass") < other.id.encode("utf-8", "surrogatepass") else 1


def _raw(item: Item[Any]) -> Any:
    """The data as Python's values, which are kept unless a program makes something else of them."""
    return item.data if type(item) is Item else data_of(item.data_text)


_UNSORTABLE: Tuple[int, Any] = (3, 0)


def _rank(value: Any) -> Tuple[int, Any]:
    if isinstance(value, bool):
        return (0, value)
    if isinstance(value, (int, float)):
        return (1, value)
    return (2, value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else _UNSORTABLE


def _value(data: Any, pointer: str) -> Any:
    """What a JSON Pointer leads to."""
    for name in pointer.split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        if isinstance(data, list) and name.isascii() and name.isdigit() and str(int(name)) == name and int(name) < len(data):
            data = data[int(name)]
        elif isinstance(data, dict) and name in data:
            data = data[name]
        else:
            return None
    return data


def _text(event: Event, name: str) -> str:
    value = event[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; expected a string")
    return value


def _in(section: Optional[Section[Any]], item: str) -> Optional[Item[Any]]:
    position = None if section is None else section.position(item)
    return None if section is None or position is None else section.items[position]
