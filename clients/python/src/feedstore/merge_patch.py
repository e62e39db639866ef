"""RFC 7396, in the bytes that section 2.6 of the protocol defines."""

from typing import List, NamedTuple, Optional

from .jsontext import Reader


class _Member(NamedTuple):
    name: str
    spelled: str
    text: str


def _members(text: str) -> Optional[List[_Member]]:
    """The members of an object; None if it is something else."""
    reader = Reader(text)
    if reader.next() != "{":
        return None
    return [_Member(name, reader.spelled, reader.skipped()) for name in reader.members()]


def merged(data: str, patch: str) -> str:
    """The data with a patch applied. Both are JSON texts without white space between tokens."""
    changes = _members(patch)
    if changes is None:
        return patch
    latest = {change.name: change for change in changes}
    members = _members(data) or []
    last = {member.name: at for at, member in enumerate(members)}
    result: List[_Member] = []
    for at, member in enumerate(members):
        change = latest.get(member.name)
        if change is None:
            result.append(member)
        elif at == last[member.name] and change.text != "null":
            text = merged(member.text, change.text)
            result.append(member if text == member.text else _Member(change.name, change.spelled, text))
    # In the patch's order, in which the last of a repeated name counts.
    for change in changes:
        if change.name not in last and latest[change.name] is change and change.text != "null":
            result.append(_Member(change.name, change.spelled, merged("null", change.text)))
    return "{" + ",".join(f"{member.spelled}:{member.text}" for member in result) + "}"
