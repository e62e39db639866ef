"""What a program sees of a feed: values that never change."""

import functools
import json
from dataclasses import dataclass, field
from typing import Any, Dict, Generic, Mapping, Optional, Sequence, Tuple, Type, TypeVar

from .jsontext import data_of

OrderKey = Mapping[str, str]
#: The type of the items' data.
D = TypeVar("D")


class _Data(Generic[D]):
    """An element's data, parsed when it is first asked for."""

    __slots__ = ("_parsed",)
    data_text: str

    @staticmethod
    def _made(value: Any) -> Any:
        return value

    @property
    def data(self) -> D:
        """The data as Python's values, or what the program makes of it. Treat it as read-only.

        What Python cannot hold is its JSON text: numbers of more than 4000 digits, numbers like 1e999, and data that is nested
        deeper than Python's parser goes.
        """
        try:
            value: D = getattr(self, "_parsed")
        except AttributeError:
            value = self._made(data_of(self.data_text))
            object.__setattr__(self, "_parsed", value)
        return value


@dataclass(frozen=True, eq=False)
class Item(_Data[D]):
    """A new object if its kind, its data or its section changed; not if it moved within the section."""

    __slots__ = ("id", "kind", "section", "data_text", "is_pending", "expires", "refs")
    id: str
    #: The cell type.
    kind: str
    #: The id of its section.
    section: str
    #: The data as the producer spelled it.
    data_text: str
    #: Whether a write is shown that is not confirmed yet.
    is_pending: bool
    #: When the store deletes it, as RFC 3339 text; None if it does not end.
    expires: Optional[str]
    #: The ids of the contents in its data, by name; None if it refers to none.
    refs: Optional[Mapping[str, str]]

    def is_same(self, other: "Item[Any]") -> bool:
        return (
            self.data_text == other.data_text and self.kind == other.kind and self.section == other.section
            and self.is_pending == other.is_pending and self.id == other.id and self.expires == other.expires
            and self.refs == other.refs
        )


@functools.lru_cache(256)
def item_type(data: Any) -> Type[Item[Any]]:
    """The class of items whose data is of this type, or is made by this function."""
    if data is None or (isinstance(data, type) and issubclass(data, dict)):
        return Item
    return type("Item", (Item,), {"__slots__": (), "_made": staticmethod(data)})


@dataclass(frozen=True, eq=False)
class Section(_Data[Any], Generic[D]):
    """A new object if its own content or one of its items changed."""

    __slots__ = ("id", "data_text", "order", "keep", "items", "from_", "of", "is_pending", "_positions")
    id: str
    #: The data as the producer spelled it.
    data_text: str
    order: Optional[Sequence[OrderKey]]
    keep: Optional[int]
    items: Tuple[Item[D], ...]
    #: The position of the first item that is shown.
    from_: int
    #: How many items the section has, shown or not.
    of: int
    #: Whether a write is shown that is not confirmed yet, in the section or its items.
    is_pending: bool

    def position(self, item: str) -> Optional[int]:
        """Where the item is in `items`; None if it is not there."""
        try:
            positions: Dict[str, int] = getattr(self, "_positions")
        except AttributeError:
            positions = {item.id: index for index, item in enumerate(self.items)}
            object.__setattr__(self, "_positions", positions)
        return positions.get(item)

    def is_same(self, other: "Section[Any]") -> bool:
        return (
            self.data_text == other.data_text and self.from_ == other.from_ and self.of == other.of
            and self.is_pending == other.is_pending and self.order == other.order and self.keep == other.keep
            and self.id == other.id and len(self.items) == len(other.items)
            and all(one is another for one, another in zip(self.items, other.items))
        )


@dataclass(frozen=True)
class Standing:
    """How new a view is.

    - `connecting`: there is no answer yet, for at most 10 seconds.
    - `catching-up`: connected; the state is not the newest yet.
    - `live`: the view is the newest state, or there is no such feed.
    - `stale`: the view may be outdated, for the `reason`: `disconnected` (it is tried again at `until`), `must-refetch` (a change
      was missed; the state comes again), `moved` (another instance has the feed), `unavailable` (503), `token-needed` (401),
      `forbidden` (the token does not allow it, or has ended), `bad-request` (`detail` names what the daemon does not accept).
    """

    name: str
    reason: Optional[str] = None
    #: For people.
    detail: Optional[str] = None
    #: Seconds since 1970.
    until: Optional[float] = None


CONNECTING, CATCHING_UP, LIVE = Standing("connecting"), Standing("catching-up"), Standing("live")


@dataclass(frozen=True, eq=False)
class FeedView(Generic[D]):
    """A feed, or a window of it, at one moment. What did not change is the same object (`is`) in the next view."""

    feed: str
    standing: Standing
    #: Whether there is a state. If not, `sections` is empty, and `epoch` to `through` are None.
    exists: bool = False
    epoch: Optional[str] = None
    revision: Optional[int] = None
    #: RFC 3339.
    time: Optional[str] = None
    checksum: Optional[str] = None
    #: For each input topic, the offset of the newest record in the state.
    through: Optional[Mapping[str, int]] = None
    sections: Tuple[Section[D], ...] = ()
    #: Whether a write is shown that is not confirmed yet.
    is_pending: bool = False
    #: The feed's partition, where it is known.
    partition: Optional[int] = None

    def section(self, section: str) -> Optional[Section[D]]:
        return next((found for found in self.sections if found.id == section), None)

    def item(self, item: str) -> Optional[Item[D]]:
        for section in self.sections:
            position = section.position(item)
            if position is not None:
                return section.items[position]
        return None

    def to_json(self) -> str:
        """The feed as one line of JSON. Data is spelled as its producer spelled it."""
        head = {"feed": self.feed, "partition": self.partition, "epoch": self.epoch, "revision": self.revision, "checksum": self.checksum}
        known = {name: value for name, value in head.items() if name != "partition" or value is not None}
        return f'{json.dumps(known)[:-1]}, "sections": {sections_json(self.sections)}}}'


def sections_json(sections: Sequence[Section[Any]]) -> str:
    """Sections as a reload lists them, with empty lists of items."""

    def present(**fields: Any) -> str:
        return "".join(f', "{name}": {json.dumps(value)}' for name, value in fields.items() if value is not None)

    def listed(section: Section[Any]) -> str:
        items = ", ".join(
            f'{{"id": {json.dumps(item.id)}, "kind": {json.dumps(item.kind)}, "data": {item.data_text}'
            f'{present(expires=item.expires, refs=item.refs)}}}' for item in section.items
        )
        settings = present(order=section.order, keep=section.keep)
        return f'{{"id": {json.dumps(section.id)}, "data": {section.data_text}{settings}, "items": [{items}]}}'

    return f"[{', '.join(map(listed, sections))}]"


@dataclass(frozen=True)
class SectionPlace:
    id: str
    index: int


@dataclass(frozen=True)
class SectionMove:
    id: str
    from_: int
    to: int


@dataclass(frozen=True)
class ItemPlace:
    id: str
    section: str
    index: int


@dataclass(frozen=True)
class ItemPosition:
    section: str
    index: int


@dataclass(frozen=True)
class ItemMove:
    id: str
    from_: ItemPosition
    to: ItemPosition


@dataclass(frozen=True)
class SectionChanges:
    delete: Tuple[SectionPlace, ...] = ()
    insert: Tuple[SectionPlace, ...] = ()
    move: Tuple[SectionMove, ...] = ()
    reconfigure: Tuple[SectionPlace, ...] = ()
    reload: Tuple[SectionPlace, ...] = ()


@dataclass(frozen=True)
class ItemChanges:
    """`reconfigure` means new data in the same cell; `reload` means another cell, perhaps of another kind."""

    delete: Tuple[ItemPlace, ...] = ()
    insert: Tuple[ItemPlace, ...] = ()
    move: Tuple[ItemMove, ...] = ()
    reconfigure: Tuple[ItemPlace, ...] = ()
    reload: Tuple[ItemPlace, ...] = ()


@dataclass(frozen=True)
class Change:
    """What one changeset changed. `delete` and `from_` are positions before the change, all others after it.

    Items that are deleted with their section are not listed. A reload replaces everything: its lists are empty.
    """

    epoch: str
    revision: int
    #: The revision that it applies to; a reload applies to any.
    base: int
    #: `reconfigure`, `diff` or `reload`.
    mode: str
    #: Why it is a reload.
    reason: Optional[str]
    #: RFC 3339.
    time: str
    sections: SectionChanges = field(default_factory=SectionChanges)
    items: ItemChanges = field(default_factory=ItemChanges)


@dataclass(frozen=True)
class Update(Generic[D]):
    """What happened to a feed.

    - `state`: show the whole view. It is the first update, comes after a reload, and in place of missed ones.
    - `changed`: `change` leads from the previous view to this one.
    - `absent`: the feed was deleted, or does not exist.
    - `standing`: only the standing, or `from_` and `of` of sections changed.
    - `pending`: a write was shown, confirmed or taken back, or the feed changed while one was shown; the change is not described.
    """

    kind: str
    view: FeedView[D]
    change: Optional[Change] = None


@dataclass(frozen=True)
class Window:
    """A part of a feed; without any member the whole feed."""

    #: The ids of the sections that are shown; without it all are.
    sections: Optional[Sequence[str]] = None
    #: How many items of each section, from its first; 0 for the data of sections alone.
    first: Optional[int] = None
    #: With `count`, of exactly one section: the position of the first item.
    from_: Optional[int] = None
    count: Optional[int] = None

    def __post_init__(self) -> None:
        if isinstance(self.sections, str):
            raise TypeError(f"sections is a list of ids; write sections=[{self.sections!r}]")
        if self.sections is not None:
            object.__setattr__(self, "sections", tuple(self.sections))

    def request(self) -> Dict[str, Any]:
        """The members that ask the daemon for it."""
        members = {"sections": self.sections, "first": self.first, "from": self.from_, "count": self.count}
        return {name: value for name, value in members.items() if value is not None}


WHOLE = Window()


@dataclass(frozen=True)
class Written:
    """Where a write is. `epoch`, `revision` and `changed` are there if what is published covers it."""

    feed: str
    topic: str
    partition: int
    offset: Optional[int] = None
    epoch: Optional[str] = None
    revision: Optional[int] = None
    #: Whether it changed anything.
    changed: Optional[bool] = None
