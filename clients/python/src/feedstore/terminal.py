"""Draws a feed in a terminal."""

import unicodedata
from typing import Any, List, NamedTuple

from .model import FeedView, Section, Standing

_BOLD, _DIM, _PLAIN = "1", "2", ""


class Line(NamedTuple):
    text: str
    #: The parameters of the escape sequence for its style.
    style: str = _PLAIN


def clean(text: str) -> str:
    """The text without what could control a terminal."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def fitted(text: str, width: int) -> str:
    """The text, cut where a terminal of that width ends."""
    used = 0
    for index, character in enumerate(text):
        if unicodedata.combining(character) == 0:
            used += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used > width:
            return text[:index]
    return text


def described(standing: Standing) -> str:
    detail = "".join(f" ({clean(part)})" for part in [standing.detail] if part)
    return standing.name if standing.reason is None else f"{standing.name}: {standing.reason}{detail}"


def size(view: FeedView[Any]) -> str:
    return f"{len(view.sections)} sections, {sum(section.of for section in view.sections)} items"


def lines_of(view: FeedView[Any], height: int) -> List[Line]:
    """What a screen of that height shows of a feed."""
    state = f"revision {view.revision}: {size(view)}" if view.exists else "no state yet"
    if not view.exists and view.standing.name == "live":
        state = "there is no such feed; waiting for it"
    lines = [Line(f"{clean(view.feed)}  {described(view.standing)}  {state}", _BOLD)]
    for section in view.sections:
        lines.append(Line(_heading(section), _BOLD if not section.is_pending else _DIM))
        for item in section.items:
            kind = f" [{clean(item.kind)}]" if item.kind else ""
            lines.append(Line(f"  {clean(item.id)}{kind}  {clean(item.data_text)}", _DIM if item.is_pending else _PLAIN))
        if len(lines) > height:
            break
    return lines[:height]


def _heading(section: Section[Any]) -> str:
    shown = "" if section.of == len(section.items) else f" ({len(section.items)} of {section.of})"
    data = "" if section.data_text == "null" else f"  {clean(section.data_text)}"
    return f"▌{clean(section.id)}{shown}{data}"


class Screen:
    """What a terminal shows, so that only other lines are drawn."""

    BEGIN = "\x1b[?1049h\x1b[?25l\x1b[2J"
    END = "\x1b[?25h\x1b[?1049l"

    def __init__(self) -> None:
        self._lines: List[Line] = []
        self._width = 0

    def drawn(self, lines: List[Line], width: int) -> str:
        """What to write so that the terminal shows these lines."""
        pieces = []
        if width != self._width:
            self._lines, self._width = [], width
            pieces.append("\x1b[2J")
        for index, line in enumerate(lines):
            if index >= len(self._lines) or self._lines[index] != line:
                text = fitted(line.text, width)
                styled = f"\x1b[{line.style}m{text}\x1b[0m" if line.style else text
                pieces.append(f"\x1b[{index + 1};1H{styled}\x1b[K")
        if len(self._lines) > len(lines):
            pieces.append(f"\x1b[{len(lines) + 1};1H\x1b[J")
        self._lines = list(lines)
        return "".join(pieces)
