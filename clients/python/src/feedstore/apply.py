"""The events that lead from one list of sections to another, with the fewest moves."""

import json
from bisect import bisect_left
from typing import Any, Dict, List, Mapping, Sequence, Set, Union

from .jsontext import data_of
from .model import Item, Section

Event = Dict[str, Any]

# A record may have so many (`limits.maxEvents`).
_MOST_EVENTS = 10_000


def changes(shown: Sequence[Section[Any]], wanted: Sequence[Union[Section[Any], Mapping[str, Any]]]) -> List[Event]:
    """What to write so that the sections that are shown become those that are wanted."""
    sections = [_section(one) for one in wanted]
    _check_ids([section["id"] for section in sections], "section")
    _check_ids([item["id"] for section in sections for item in section["items"]], "item")
    former = {section.id: section for section in shown}
    items = {item.id: item for section in shown for item in section.items}
    names = {section["id"] for section in sections}
    kept = {item["id"] for section in sections for item in section["items"]}
    events: List[Event] = [
        {"op": "item.delete", "item": item.id}
        for section in shown if section.id in names for item in section.items if item.id not in kept
    ]
    stay, previous = _staying([section["id"] for section in sections], [section.id for section in shown]), None
    for section in sections:
        name, there = section["id"], former.get(section["id"])
        fields = _different(there, section, "data", "order", "keep")
        if there is None or name not in stay:
            fields["at"] = "first" if previous is None else {"after": previous}
        if there is None or fields:
            events.append({"op": "section.upsert", "section": name, **fields})
        previous = name
    for section in sections:
        events += _item_events(section, former.get(section["id"]), items)
    events += [{"op": "section.delete", "section": section.id} for section in shown if section.id not in names]
    replacement: Event = {"op": "feed.replace", "sections": sections}
    return events if len(events) <= _MOST_EVENTS else [replacement]


def _item_events(section: Mapping[str, Any], there: Any, items: Mapping[str, Item[Any]]) -> List[Event]:
    name, previous = section["id"], None
    events: List[Event] = []
    is_ordered = section.get("order", there and there.order) is not None
    stay = _staying([item["id"] for item in section["items"]], [item.id for item in there.items] if there else [])
    for wanted in section["items"]:
        item = items.get(wanted["id"])
        fields = _different(item, wanted, "kind", "data")
        is_elsewhere = item is None or item.section != name
        if is_elsewhere:
            fields["section"] = name
        # In a section that is new, each is the last one.
        if not is_ordered and there is not None and wanted["id"] not in stay:
            fields["at"] = "first" if previous is None else {"after": previous}
        if fields:
            op = "item.move" if item is not None and not {"kind", "data"} & fields.keys() else "item.upsert"
            events.append({"op": op, "item": wanted["id"], **fields})
        previous = wanted["id"]
    return events


def _section(wanted: Union[Section[Any], Mapping[str, Any]]) -> Dict[str, Any]:
    """As `feed.replace` lists it."""
    if isinstance(wanted, Section):
        fields: Event = {name: getattr(wanted, name) for name in ("id", "data", "order", "keep", "items")}
    else:
        fields = {name: wanted[name] for name in ("id", "data", "order", "keep", "items") if name in wanted}
    return {**fields, "items": [_item(item) for item in fields.get("items", ())]}


def _item(wanted: Union[Item[Any], Mapping[str, Any], str]) -> Dict[str, Any]:
    if isinstance(wanted, Item):
        return {"id": wanted.id, "kind": wanted.kind, "data": data_of(wanted.data_text)}
    if isinstance(wanted, str):
        return {"id": wanted}
    return {name: wanted[name] for name in ("id", "kind", "data") if name in wanted}


def _check_ids(ids: Sequence[str], what: str) -> None:
    seen: Set[str] = set()
    for name in ids:
        if not isinstance(name, str):
            raise ValueError(f"the id of a {what} is {name!r}; expected a string")
        if name in seen:
            raise ValueError(f"{what} {name!r} is listed twice")
        seen.add(name)


def _different(there: Any, wanted: Mapping[str, Any], *names: str) -> Event:
    return {name: wanted[name] for name in names if name in wanted and not _is_same(there, name, wanted[name])}


def _is_same(there: Any, key: str, value: Any) -> bool:
    """Whether an element has this value; one that is not there has the protocol's defaults."""
    if key == "data":
        text = "null" if there is None else there.data_text
        return _sorted(value) == _sorted(data_of(text))
    return bool((getattr(there, key, None) or None) == (value or None))


def _sorted(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _staying(wanted: Sequence[str], former: Sequence[str]) -> Set[str]:
    """The most elements that can keep their places: the longest increasing subsequence of the former positions."""
    places = {name: index for index, name in enumerate(former)}
    ends: List[int] = []
    chains: List[Any] = []
    for name in wanted:
        if name in places:
            at = bisect_left(ends, places[name])
            chain = (name, chains[at - 1] if at else None)
            ends[at : at + 1], chains[at : at + 1] = [places[name]], [chain]
    stay, chain = set(), chains[-1] if chains else None
    while chain is not None:
        stay.add(chain[0])
        chain = chain[1]
    return stay
