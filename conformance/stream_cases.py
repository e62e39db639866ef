"""The cases of `stream.py`: chosen by hand, and random ones."""

import base64
import json
import pathlib
import random
import re
import sys

from run import checksum, fast_xxh32
from stream import Model

FOLDER = pathlib.Path(__file__).parent / "stream"
PAGE = pathlib.Path(__file__).parent.parent / "docs" / "clients.md"
URL = "http://a.test"


def text(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def token(name, **claims):
    """A token with times in seconds; the model does not verify it."""
    part = base64.urlsafe_b64encode(text({"jti": name, **claims}).encode()).decode().rstrip("=")
    return f"e30.{part}.{name}"


# Calls of a program.


def follow(handle, feed="news", **window):
    return {"follow": handle, "feed": feed, **({"window": window} if window else {})}


def show(handle, **window):
    return {"show": handle, "window": window}


def patch_item(item, data):
    return {"op": "item.patch", "item": item, "data": data}


def write(name, events, feed="news", **more):
    return {"write": name, "feed": feed, "events": events, **more}


# Messages of a daemon.


def opened(number):
    return {"answer": number, "status": 200}


def answer(number, status, headers=None, **members):
    return {"answer": number, "status": status, **({"headers": headers} if headers else {}), "json": members}


def event(number, name, **data):
    return {"event": number, "name": name, "data": text(data)}


def named(number, name="s1"):
    return event(number, "stream", stream=name)


def sections_of(items):
    listed = [item if isinstance(item, tuple) else (item, None) for item in items]
    return [{"id": "s", "data": None, "items": [{"id": name, "kind": "", "data": data} for name, data in listed]}]


def changeset(view, feed, epoch, revision, base, mode, **more):
    head = {"view": view, "feed": feed, "epoch": epoch, "revision": revision, "base": base, "mode": mode}
    return {**head, "time": "2026-01-01T00:00:00.000Z", **more}


def reload(number, view, revision, *items, feed="news", epoch="e/1", offset=None, window=None, sum=None):
    sections = sections_of(items)
    more = {} if window is None else {"window": [{"section": "s", "from": window[0], "shown": len(items), "of": window[1]}]}
    through = {"feeds.items": revision if offset is None else offset}
    return event(number, "message", **changeset(
        view, feed, epoch, revision, revision, "reload", reason="keyframe", through=through, checksum=sum or checksum(sections), sections=sections, **more))


def added(number, view, revision, item, *former, feed="news", epoch="e/1", base=None, offset=None, sum=None, data=None, index=None):
    """A difference that inserts an item behind the former ones, or at a wrong index."""
    entry = {"id": item, "section": "s", "index": len(former) if index is None else index, "kind": "", "data": data}
    through = {"feeds.items": revision if offset is None else offset}
    sum = sum or checksum(sections_of([*former, item]))
    return event(number, "message", **changeset(
        view, feed, epoch, revision, revision - 1 if base is None else base, "diff", through=through, checksum=sum, items={"insert": [entry]}))


def changed(number, view, revision, item, data, *items, feed="news", epoch="e/1", offset=None):
    """A difference that gives an item other data."""
    entry = {"id": item, "section": "s", "index": items.index(item), "data": data}
    through = {"feeds.items": revision if offset is None else offset}
    return event(number, "message", **changeset(
        view, feed, epoch, revision, revision - 1, "diff", through=through, checksum=checksum(sections_of(items)), items={"reconfigure": [entry]}))


def deleted(number, view, revision, feed="news", epoch="e/1"):
    return event(number, "message", **changeset(
        view, feed, epoch, revision, revision - 1, "delete", through={"feeds.items": revision}, checksum="00000000"))


def up_to_date(number, view, revision=None, feed="news", epoch="e/1"):
    more = {} if revision is None else {"partition": 0, "epoch": epoch, "revision": revision}
    return event(number, "up-to-date", view=view, feed=feed, **more)


def refetch(number, view, feed="news"):
    return event(number, "must-refetch", view=view, feed=feed, reason="the stream was asked for it again")


def absent(number, view, feed="news"):
    return event(number, "absent", view=view, feed=feed, reason="unknown-feed")


def moved(number, view, url=None, feed="news"):
    return event(number, "moved", view=view, feed=feed, partition=0, **({"url": url} if url else {}))


def forbidden(number, view, reason="not-allowed", feed="news"):
    return event(number, "forbidden", view=view, feed=feed, reason=reason)


def accepted(number, offset, feed="news"):
    return answer(number, 202, feed=feed, topic="feeds.items", partition=0, offset=offset)


def published(number, offset, revision, changed=True, feed="news", epoch="e/1"):
    return answer(number, 200, feed=feed, topic="feeds.items", partition=0, offset=offset, epoch=epoch, revision=revision, changed=changed)


OPEN = [(0, follow("f")), (10, opened(1)), (20, named(1))]
LIVE = [*OPEN, (30, reload(1, "1", 1, "a", "b")), (40, up_to_date(1, "1", 1))]

TWO = {"urls": ["http://a.test", "http://b.test"]}

# Title, options, steps: a time, and what happens then.
CASES = [
    ("a feed is followed until it is live", {}, [*LIVE, (50, added(1, "1", 2, "c", "a", "b"))]),
    ("several calls in one turn make one request", {}, [
        (0, follow("f"), follow("g", "other", first=2), follow("h", sections=["s"])), (10, opened(1)), (20, named(1)),
        (30, reload(1, "3", 1, "a"), reload(1, "2", 1, "x", feed="other", window=(0, 5))), (40, up_to_date(1, "2", 1, "other"))]),
    ("handles with the same window share a view, and the last one ends it", {}, [
        *LIVE, (50, follow("g")), (60, {"leave": "f"}), (70, added(1, "1", 2, "c", "a", "b")), (80, {"leave": "g"}), (90, follow("f"))]),
    ("views of one feed have versions of their own on one stream", {}, [
        *LIVE, (50, follow("g", first=1)), (60, answer(2, 200, added=[{"feed": "news", "view": "2"}], changed=[], removed=[])),
        (70, reload(1, "2", 1, "a", window=(0, 2))), (80, added(1, "1", 2, "c", "a", "b")), (90, up_to_date(1, "2", 2)), (100, {"leave": "g"}), (110, added(1, "2", 3, "x", "a", base=1))]),
    ("another window keeps its view, and shows the former one until its state arrives", {}, [
        *LIVE, (50, show("f", first=1)), (60, added(1, "1", 2, "c", "a", "b")), (70, answer(2, 200, added=[], changed=[{"feed": "news", "view": "1"}], removed=[])),
        (80, refetch(1, "1")), (90, reload(1, "1", 2, "a", window=(0, 3))), (100, up_to_date(1, "1", 2))]),
    ("a stream that had events for 5 s is opened again at once, with the version that there is", {}, [*LIVE, (5020, {"end": 1}), (5030, opened(2)), (5040, named(2, "s2")), (5050, up_to_date(2, "1", 1))]),
    ("a stream that ends earlier is opened again after 3 s, then after 6 s, up to 30 s", {}, [
        *LIVE, (5019, {"end": 1}), (8018, {}), (8019, {}), (8100, {"fail": 2}), (14100, {"fail": 3}), (26100, {"fail": 4}), (50100, {"fail": 5}), (80100, {"fail": 6}), (110100, {})]),
    ("an opening request without a response for 10 s makes the standing stale, and goes on", {}, [(0, follow("f")), (9999, {}), (10000, {}), (11000, opened(1)), (11010, named(1))]),
    ("an opening request without a response for 60 s has failed", {}, [(0, follow("f")), (59999, {}), (60000, {}), (63000, {})]),
    ("a stream without a byte for 60 s has ended", {}, [*LIVE, (50000, {"comment": 1}), (109999, {}), (110000, {})]),
    ("a daemon that has no room says so in the standing", {}, [
        (0, follow("f")), (10, answer(1, 503, {"Retry-After": "5"}, code="too-many-streams", detail="1024 streams are open")), (5009, {}), (5010, {})]),
    ("a changeset that does not fit has the state sent again at once, then after 1 s, 2 s", {}, [
        *LIVE, (50, added(1, "1", 4, "d", "a", "b")), (60, answer(2, 200, added=[], changed=[{"feed": "news", "view": "1"}], removed=[])),
        (70, refetch(1, "1")), (80, reload(1, "1", 4, "a", sum="00000001")), (1079, {}), (1080, {}),
        (1090, answer(3, 200, added=[], changed=[{"feed": "news", "view": "1"}], removed=[]), refetch(1, "1"), reload(1, "1", 4, "a", "d"), up_to_date(1, "1", 4)),
        (1100, added(1, "1", 6, "e", "a", "d")), (3100, {})]),
    ("a feed that does not exist is live and shows nothing until it is created", {}, [
        *OPEN, (30, absent(1, "1")), (40, absent(1, "1")), (50, reload(1, "1", 1, "a")), (60, up_to_date(1, "1", 1)), (70, deleted(1, "1", 2)), (80, up_to_date(1, "1")), (90, follow("g"))]),
    ("a feed that is not allowed to be read, and is allowed later", {"hasToken": True}, [
        (0, follow("f")), (5, {"token": "t1"}), (10, opened(1)), (20, named(1)), (30, forbidden(1, "1")), (40, {"setToken": "t2"}),
        (50, answer(2, 200, added=[], changed=[], removed=[])), (60, reload(1, "1", 1, "a")), (70, up_to_date(1, "1", 1))]),
    ("a refused token is asked for again once at once, then with each attempt", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, answer(1, 401, code="invalid-token", detail="the token has ended")), (30, {"token": "t1"}),
        (3030, {"token": "t1"}), (3040, answer(2, 401, code="invalid-token", detail="the token has ended")), (9040, {"token": "t2"}), (9050, opened(3)), (9060, named(3))]),
    ("a callback that fails names its error, and is asked again with the next attempt", {"hasToken": True}, [
        (0, follow("f")), (10, {"tokenError": "no session"}), (3010, {"token": "t1"}), (3020, opened(1)), (3030, named(1))]),
    ("reconnect tries a waiting stream at once, and its wait starts again at 3 s", {}, [
        (0, follow("f")), (10, {"fail": 1}), (3020, {"fail": 2}), (4000, {"reconnect": True}), (4010, {"fail": 3}), (7010, {})]),
    ("reconnect ends a stream without a byte for 20 s, and no other", {}, [*LIVE, (1000, {"comment": 1}), (20999, {"reconnect": True}), (21000, {"reconnect": True})]),
    ("a write makes two requests, and is shown until a changeset includes it", {}, [
        *LIVE, (50, write("w", patch_item("a", {"x": 1}))), (60, accepted(2, 7)), (70, published(3, 7, 2)), (80, changed(1, "1", 2, "a", {"x": 1}, "a", "b", offset=7))]),
    ("POSTs of a feed go one after the other, and four writes are unfinished", {}, [
        *LIVE, (50, *(write(f"w{number}", patch_item("a", number)) for number in range(6))), (60, accepted(2, 7)), (70, accepted(3, 8)), (80, accepted(4, 8)), (90, accepted(6, 9)), (100, accepted(8, 10)),
        (110, accepted(10, 11)), (120, published(7, 9, 4)), (130, published(5, 8, 3)), (140, accepted(12, 12))]),
    ("a write replaces one with its key that was not sent", {}, [
        *LIVE, (50, write("w1", patch_item("a", 1), coalesce="k")), (51, write("w2", patch_item("a", 2), coalesce="k")), (52, write("w3", patch_item("b", 3))), (53, write("w4", patch_item("a", 4), coalesce="k")),
        (60, accepted(2, 7)), (70, accepted(3, 8))]),
    ("a rejected write is taken back", {}, [*LIVE, (50, write("w", patch_item("a", 1))), (60, accepted(2, 7)), (70, answer(3, 422, code="unknown-item", detail="there is no a"))]),
    ("a write whose condition does not hold is taken back", {}, [
        *LIVE, (50, write("w", {**patch_item("a", 1), "if": {"revision": 1}})), (60, accepted(2, 7)), (70, answer(3, 412, code="condition-failed", detail="found revision 2"))]),
    ("a write whose outcome cannot be learned is done, and stays pending for 60 s", {}, [
        *LIVE, (50, write("w", patch_item("a", 1))), (60, accepted(2, 7)), (70, answer(3, 404, code="not-found", detail="no such path")), (30000, {"comment": 1}), (60069, {}), (60070, {})]),

    # Requests that fail.
    ("each status has its reason", {}, [
        (0, follow("f")), *((at, answer(number, status, code="c", detail=f"status {status}")) for number, (at, status) in enumerate(
            [(10, 403), (4000, 404), (10000, 429), (23000, 500), (48000, 400), (79000, 401)], 1))]),
    ("a response that is not a stream is a failure", {}, [(0, follow("f")), (10, answer(1, 200, feeds=[])), (3010, {})]),
    ("Retry-After lengthens the wait, and never shortens it", {}, [
        (0, follow("f")), (10, answer(1, 503, {"Retry-After": "1"}, code="restoring", detail="wait")), (3010, answer(2, 503, {"Retry-After": "1000"}, code="restoring", detail="wait")),
        (303009, {}), (303010, {})]),
    ("the stream's retry is the first wait, up to 30 s", {}, [
        *OPEN, (30, {**absent(1, "1"), "retry": 500}), (40, {"end": 1}), (540, {}), (550, {"fail": 2}), (1550, opened(3)), (1560, {**named(3), "retry": 90000}), (1570, {"end": 3}), (31570, {})]),
    ("an event starts the waits again, a response alone does not", {}, [
        (0, follow("f")), (10, {"fail": 1}), (3010, opened(2)), (3020, {"end": 2}), (9020, opened(3)), (9030, {"comment": 3}), (9040, {"end": 3}), (21040, opened(4)), (21050, named(4)), (21060, {"fail": 4}), (24060, {})]),
    ("the 5 s of a stream begin with its first event", {}, [
        (0, follow("f")), (10, opened(1)), (6000, {"comment": 1}), (6010, {"end": 1}), (9010, opened(2)), (9020, named(2)), (14020, {"end": 2})]),
    ("a stream without a byte since its response has failed after 60 s", {}, [(0, follow("f")), (9000, opened(1)), (68999, {}), (69000, {}), (72000, {})]),
    ("a feed that the daemon refuses is left out, and all others are followed", {}, [
        (0, follow("f"), follow("g", "other", first=99999), follow("h", "third")), (10, answer(1, 400, code="invalid", member="feeds[1].first", detail="first is above 10000")), (20, opened(2)), (30, named(2)),
        (40, show("g", first=5)), (50, answer(3, 200, added=[], changed=[], removed=[])), (60, reload(2, "2", 1, "x", feed="other", window=(0, 9)))]),
    ("a feed that the daemon refuses to add is left out, and all others are followed", {}, [
        *LIVE, (50, follow("g", "other"), follow("h", "third", first=99999)), (60, answer(2, 400, code="invalid", member="add[1].first", detail="first is above 10000")),
        (70, answer(3, 200, added=[{"feed": "other", "view": "2"}], changed=[], removed=[])), (80, {"leave": "h"}), (90, reload(1, "2", 1, "x", feed="other")), (100, added(1, "1", 2, "c", "a", "b"))]),
    ("a PATCH that is refused because of one feed changes no window of the others", {}, [
        *LIVE, (50, show("f", first=1), follow("g", "other", first=99999)), (60, answer(2, 400, code="invalid", member="add[1].first", detail="first is above 10000")),
        (70, added(1, "1", 2, "c", "a", "b")), (80, answer(3, 200, added=[], changed=[{"feed": "news", "view": "1"}], removed=[])), (90, refetch(1, "1")), (100, reload(1, "1", 2, "a", window=(0, 3))), (110, up_to_date(1, "1", 2))]),
    ("a stream that the daemon does not know is opened again at once if it lasted", {}, [
        *LIVE, (6000, follow("g", "other")), (6010, answer(2, 404, code="unknown-stream", detail="no such stream")), (6020, opened(3)), (6030, named(3, "s2")), (6040, {"leave": "g"}),
        (6050, answer(4, 404, code="unknown-stream", detail="no such stream")), (9050, {})]),
    ("a PATCH that fails ends the stream", {}, [
        *LIVE, (50, follow("g", "other")), (60, {"fail": 2}), (3060, opened(3)), (3070, named(3, "s2")), (8080, show("g", first=1)),
        (8090, answer(4, 503, {"Retry-After": "9"}, code="too-much-waits", detail="too much waits")), (17090, {})]),
    ("a PATCH without an answer for 30 s has failed", {}, [*LIVE, (50, follow("g", "other")), (30049, {}), (30050, {})]),
    ("one PATCH at a time, and what changes meanwhile follows", {}, [
        *LIVE, (50, follow("g", "other")), (60, follow("h", "third"), show("f", first=1)), (70, {"leave": "g"}), (80, answer(2, 200, added=[{"feed": "other", "view": "2"}], changed=[], removed=[])),
        (90, reload(1, "2", 1, "x", feed="other")), (100, answer(3, 200, added=[], changed=[], removed=[]))]),
    ("what changes before the stream has a name follows", {}, [
        (0, follow("f"), follow("g", "other")), (10, show("f", first=1)), (20, {"leave": "g"}), (30, opened(1)), (40, follow("h", "third")), (50, named(1)), (60, reload(1, "1", 1, "a", "b")),
        (70, answer(2, 200, added=[], changed=[], removed=[])), (80, refetch(1, "1")), (90, reload(1, "1", 1, "a", window=(0, 2)))]),

    # Windows and views.
    ("of several changes of a window, the last one counts", {}, [
        *LIVE, (50, show("f", first=1)), (60, show("f", first=2)), (70, answer(2, 200, added=[], changed=[], removed=[])), (80, refetch(1, "1")), (90, reload(1, "1", 1, "a", window=(0, 2))),
        (100, refetch(1, "1")), (110, answer(3, 200, added=[], changed=[], removed=[])), (120, reload(1, "1", 1, "a", "b", window=(0, 2))), (130, up_to_date(1, "1", 1))]),
    ("a window that comes back in the same turn is asked for again", {}, [*LIVE, (50, show("f", first=1), show("f")), (60, answer(2, 200, added=[], changed=[], removed=[])), (70, refetch(1, "1")), (80, reload(1, "1", 1, "a", "b")), (90, up_to_date(1, "1", 1))]),
    ("a window that comes back is asked for again", {}, [*LIVE, (50, show("f", first=1)), (60, show("f")), (70, answer(2, 200, added=[], changed=[], removed=[])), (80, refetch(1, "1"))]),
    ("a handle of a view that others show gets a view of its own, which begins with the former state", {}, [
        *LIVE, (50, follow("g")), (60, show("g", first=1)), (70, answer(2, 200, added=[], changed=[], removed=[])), (80, added(1, "1", 2, "c", "a", "b")), (90, reload(1, "2", 2, "a", window=(0, 3))),
        (100, up_to_date(1, "2", 2)), (110, show("f", first=1)), (120, {"leave": "f"}), (130, added(1, "2", 3, "c", "a", base=2))]),
    ("a handle that joins the view of a feed that does not exist is absent, too", {}, [*LIVE, (50, follow("g", first=1)), (60, answer(2, 200, added=[], changed=[], removed=[])), (70, absent(1, "2")), (80, show("f", first=1))]),
    ("a window that is changed while the stream is away is asked for without a version", {}, [*LIVE, (50, {"end": 1}), (60, show("f", first=1)), (3050, opened(2)), (3060, named(2)), (3070, {"end": 2}), (6070, {})]),
    ("a window that is refused is followed again when it is another one", {}, [*LIVE, (50, show("f", first=99999)), (60, answer(2, 400, code="invalid", member="add[0].first", detail="first is above 10000")), (70, show("f", first=1))]),
    ("a feed that begins while its stream waits has the standing of the stream", {}, [(0, follow("f")), (10, {"fail": 1}), (20, follow("g", "other")), (3010, {})]),
    ("the last feed that leaves ends the stream's wait", {}, [(0, follow("f")), (10, {"fail": 1}), (20, {"leave": "f"}), (3010, {}), (4000, follow("f")), (4010, {"leave": "f"})]),
    ("messages for a view that is not followed are ignored", {}, [*LIVE, (50, event(1, "message", **changeset("9", "news", "e/1", 2, 1, "delete"))), (60, added(1, "2", 2, "c", "a", "b")), (70, event(1, "unheard-of", view="1", feed="news"))]),
    ("256 entries share a stream, and the next one has a second", {}, [(0, *(follow(f"f{number}", f"n{number}") for number in range(257))), (10, opened(1)), (20, {"leave": "f3"}), (30, follow("g", "more"))]),
    ("a window's totals are no new state", {}, [
        (0, follow("f", first=1)), (10, opened(1)), (20, named(1)), (30, reload(1, "1", 1, "a", window=(0, 2))), (40, up_to_date(1, "1", 1)), (50, event(1, "window", view="1", feed="news", epoch="e/1", revision=2, window=[{"section": "s", "from": 0, "shown": 1, "of": 3}])),
        (60, added(1, "1", 3, "c", base=2)), (70, answer(2, 200, added=[], changed=[], removed=[]))]),

    # Changesets.
    ("what the view has already is ignored", {}, [*LIVE, (50, added(1, "1", 2, "c", "a", "b")), (60, added(1, "1", 2, "c", "a", "b")), (70, reload(1, "1", 1, "a", "b")), (80, reload(1, "1", 2, "a", "b", "c")), (90, deleted(1, "1", 3))]),
    ("a reload of the same revision with a wrong checksum does not fit", {}, [*LIVE, (50, reload(1, "1", 1, "a", "b", sum="00000001"))]),
    ("a reload of a live feed leaves it live", {}, [*LIVE, (50, reload(1, "1", 9, "z")), (60, reload(1, "1", 1, "y", epoch="e/2"))]),
    ("a state that was asked for again is taken with any revision", {}, [*LIVE, (50, refetch(1, "1")), (60, added(1, "1", 2, "c", "a", "b")), (70, up_to_date(1, "1", 2)), (80, reload(1, "1", 1, "z")), (90, up_to_date(1, "1", 1))]),
    ("a state that was asked for again is taken with an older revision", {}, [*LIVE, (50, added(1, "1", 2, "c", "a", "b")), (60, refetch(1, "1")), (70, reload(1, "1", 1, "z")), (80, up_to_date(1, "1", 1))]),
    ("another epoch, a wrong index or a wrong checksum does not fit", {}, [
        *LIVE, (50, added(1, "1", 2, "c", "a", "b", epoch="e/2")), (60, answer(2, 200, added=[], changed=[], removed=[])), (70, refetch(1, "1")), (80, reload(1, "1", 1, "a", "b")), (90, added(1, "1", 2, "c", "a", "b", index=9)),
        (1090, answer(3, 200, added=[], changed=[], removed=[])), (1100, refetch(1, "1")), (1110, reload(1, "1", 1, "a", "b")), (1120, added(1, "1", 2, "c", "a", "b", sum="00000001")), (3120, {}),
        (3130, answer(4, 200, added=[], changed=[], removed=[])), (3140, refetch(1, "1")), (3150, reload(1, "1", 1, "a", "b")), (3160, added(1, "1", 2, "c", "a", "b")), (3170, added(1, "1", 5, "d", "a", "b", "c"))]),
    ("until a state is asked for again after a pause, nothing else asks", {}, [
        *LIVE, (50, added(1, "1", 4, "d", "a", "b")), (60, answer(2, 200, added=[], changed=[], removed=[])), (70, refetch(1, "1")), (80, reload(1, "1", 4, "a", sum="00000001")), (90, reload(1, "1", 4, "a", sum="00000001")),
        (100, reload(1, "1", 4, "a", "d")), (1080, {}), (1090, added(1, "1", 7, "d", "a", "b")), (3090, {})]),
    ("a pause of 30 s is the longest", {}, [
        *LIVE, (50, added(1, "1", 4, "d", "a", "b")), *(step for number, (at, wait) in enumerate([(60, 1), (1060, 2), (3060, 4), (7060, 8), (15060, 16), (31060, 30), (61060, 30)]) for step in (
            (at, answer(2 + number, 200, added=[], changed=[], removed=[]), refetch(1, "1"), reload(1, "1", 4, "a", sum="00000001")), (at + 1000 * wait - 1, {"comment": 1}))), (91060, {})]),
    ("a stream that is opened again while a state is awaited asks for it itself", {}, [
        *LIVE, (5030, added(1, "1", 4, "d", "a", "b")), (5040, answer(2, 200, added=[], changed=[], removed=[])), (5050, refetch(1, "1")), (5060, reload(1, "1", 4, "a", sum="00000001")), (5070, {"end": 1}), (5080, opened(3)), (5090, named(3, "s2")), (6100, {})]),
    ("a stream that ends while a state is awaited asks for it without a version, once", {}, [
        *LIVE, (50, added(1, "1", 4, "d", "a", "b")), (60, answer(2, 200, added=[], changed=[], removed=[])), (70, refetch(1, "1")), (80, reload(1, "1", 4, "a", sum="00000001")), (90, {"reconnect": True}), (100, {"end": 1}), (3100, opened(3)), (3110, named(3)), (3200, {}), (4000, reload(3, "1", 4, "a"))]),
    ("data that is not JSON ends the stream", {}, [*LIVE, (50, {"event": 1, "name": "message", "data": "{"}), (3050, {})]),
    ("a deletion shows nothing, and the feed may come again", {}, [*LIVE, (50, deleted(1, "1", 2)), (60, up_to_date(1, "1")), (70, reload(1, "1", 1, "n", epoch="e/2")), (80, {"end": 1}), (3080, opened(2)), (3090, named(2)), (3100, deleted(2, "1", 2, epoch="e/2")), (3110, up_to_date(2, "1"))]),
    ("a feed that moved away is stale until it comes back", {}, [*LIVE, (50, moved(1, "1")), (60, added(1, "1", 2, "c", "a", "b")), (70, reload(1, "1", 2, "a", "b", "c")), (80, up_to_date(1, "1", 2))]),
    ("a feed that is forbidden has no must-refetch when its window changes", {}, [*LIVE, (50, forbidden(1, "1")), (60, show("f", first=1)), (70, answer(2, 200, added=[], changed=[], removed=[])), (80, reload(1, "1", 1, "a", window=(0, 2)))]),
    ("forbidden ends the change of a window", {}, [*LIVE, (50, show("f", first=1)), (60, answer(2, 200, added=[], changed=[], removed=[])), (70, forbidden(1, "1")), (80, reload(1, "1", 1, "a", window=(0, 2)))]),

    ("forbidden ends several changes of a window", {}, [
        *LIVE, (50, show("f", first=1)), (60, answer(2, 200, added=[], changed=[], removed=[])), (70, show("f", first=2)), (80, answer(3, 200, added=[], changed=[], removed=[])), (90, forbidden(1, "1")), (100, reload(1, "1", 1, "a", "b", window=(0, 2)))]),

    # The standing of a store.
    ("the standing of a store is the worst of its feeds", {}, [
        *LIVE, (50, follow("g", "other")), (60, answer(2, 200, added=[], changed=[], removed=[])), (70, forbidden(1, "2", feed="other")), (80, refetch(1, "1")), (90, {"leave": "g"}), (100, {"leave": "f"})]),

    # Tokens.
    ("a callback without a token means requests without one", {"hasToken": True}, [(0, follow("f")), (10, {"token": None}), (20, opened(1)), (30, named(1)), (40, {"end": 1}), (3040, {"token": "t1"})]),
    ("an attempt asks the callback, other requests use the present token", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, opened(1)), (30, named(1)), (40, follow("g", "other"), write("w", patch_item("a", 1), wait=0)), (50, answer(3, 200, added=[], changed=[], removed=[])), (60, accepted(2, 1)), (70, {"end": 1}), (3070, {"token": "t2"})]),
    ("without a newer token the present one stays in use", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, opened(1)), (30, {"end": 1}), (3030, {"tokenError": "no network"}), (3040, {"fail": 2}), (9040, {"token": None})]),
    ("a token that has ended does not stay in use", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": token("t1", exp=2)}), (20, opened(1)), (30, {"end": 1}), (3030, {"tokenError": "no network"}), (9030, {"token": None})]),
    ("a token is renewed 30 s before its end, and sent on the open stream", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": token("t1", exp=100)}), (20, opened(1)), (30, named(1)), (50000, {"comment": 1}), (69999, {}), (70000, {"token": token("t2", exp=110)}), (70010, answer(2, 200, added=[], changed=[], removed=[])),
        (89999, {"comment": 1}), (90000, {}), (90010, {"token": None}), (110000, forbidden(1, "1", "token-expired")), (110010, {"end": 1}), (110020, {"token": token("t3", exp=200)}), (110030, opened(3))]),
    ("a renewal that fails is not repeated, and a token without a newer one is used until it ends", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": token("t1", exp=10)}), (20, opened(1)), (30, named(1)), (5004, {}), (5005, {"tokenError": "no network"}), (9000, write("w1", patch_item("a", 1), wait=0)), (10000, write("w2", patch_item("a", 2), wait=0)), (10010, accepted(2, 1)), (10020, {"token": "t2"})]),
    ("a renewal waits for at least 1 s", {"hasToken": True}, [(0, follow("f")), (10, {"token": token("t1", exp=1)}), (20, opened(1)), (30, named(1)), (1009, {}), (1010, {})]),
    ("no token is renewed while no stream is open", {"hasToken": True}, [(0, follow("f")), (10, {"token": token("t1", exp=100)}), (20, opened(1)), (30, named(1)), (40, {"leave": "f"}), (70000, {})]),
    ("one call of the callback answers all who wait", {"hasToken": True, "urls": ["http://a.test", "http://b.test"]}, [(0, follow("f"), write("w", patch_item("a", 1))), (10, {"token": "t1"}), (20, {"fail": 2}), (30, {"fail": 3}), (3020, {}), (3030, {}), (3040, {"token": "t2"})]),
    ("an open stream gets the newest token", {"hasToken": True, "urls": ["http://a.test", "http://b.test"]}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, opened(1)), (30, named(1)), (40, {"fail": 2}), (3040, {"token": "t2"}), (3050, answer(4, 200, added=[], changed=[], removed=[])), (3060, {"fail": 3}), (9060, {"token": "t2"})]),
    ("a token that another one replaces at once is not asked for twice", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, answer(1, 401, code="invalid-token", detail="the token has ended")), (30, {"token": "t2"}), (40, answer(2, 401, code="invalid-token", detail="the token has ended")), (3040, {"token": "t3"}), (3050, opened(3)), (3060, named(3)),
        (9000, {"end": 3}), (9010, {"token": "t3"}), (9020, answer(4, 401, code="invalid-token", detail="the token has ended")), (9030, {"tokenError": "no session"})]),
    ("no other token after a refusal is no reason to ask the daemon without one", {"hasToken": True}, [(0, follow("f")), (10, {"token": "t1"}), (20, answer(1, 401, code="invalid-token", detail="the token has ended")), (30, {"token": None}), (3030, {"token": None})]),
    ("a callback that does not answer makes the standing stale", {"hasToken": True}, [(0, follow("f")), (9999, {}), (10000, {}), (60000, {}), (60010, {"token": "t1"}), (63000, {"token": "t2"})]),
    ("setToken is used without the callback, and sent on open streams", {"hasToken": True}, [
        *[(0, follow("f")), (10, {"token": "t1"}), (20, opened(1)), (30, named(1))], (40, {"setToken": "t2"}), (50, answer(2, 200, added=[], changed=[], removed=[])), (60, {"setToken": "t2"}), (70, {"end": 1}), (3070, opened(3)), (3080, named(3)),
        (3090, {"setToken": None}), (3100, follow("g", "other")), (3110, {"token": "t3"}), (3120, answer(4, 200, added=[], changed=[], removed=[])), (3130, {"end": 3}), (6130, {"token": "t4"})]),
    ("setToken of null forgets a token that was accepted", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, opened(1)), (30, named(1)), (40, {"setToken": None}), (50, {"end": 1}), (3050, {"token": None})]),
    ("setToken tries waiting streams at once, without a callback too", {}, [
        (0, follow("f")), (10, answer(1, 401, code="token-needed", detail="a token is needed")), (20, {"setToken": "t1"}), (30, answer(2, 401, code="invalid-token", detail="the token has ended")), (6030, {}), (6040, {"setToken": "t2"}), (6050, opened(3)), (6060, named(3)), (6070, answer(4, 200, added=[], changed=[], removed=[]))]),
    ("setToken answers for a callback that is asked", {"hasToken": True}, [(0, follow("f")), (10, {"setToken": "t1"}), (20, {"token": "t0"}), (30, opened(1)), (40, named(1)), (50, {"end": 1})]),
    ("setToken while the callback is asked counts for the attempts that follow", {"hasToken": True}, [
        (0, follow("f")), (10, {"setToken": "t1"}), (20, {"fail": 1}), (30, {"token": "t0"}), (3020, {"fail": 2}), (9020, opened(3))]),
    ("a token of setToken that is refused is asked for", {"hasToken": True}, [(0, {"setToken": "t1"}, follow("f")), (10, answer(1, 401, code="invalid-token", detail="the token has ended")), (20, {"token": "t2"}), (30, opened(2)), (40, {"end": 2}), (3040, {"token": "t3"})]),
    ("a token of setToken that has ended is asked for", {"hasToken": True}, [(0, {"setToken": token("t1", exp=2)}, follow("f")), (10, {"fail": 1}), (3010, {"token": "t2"}), (3020, {"fail": 2}), (9020, {"token": "t3"})]),
    ("a token that is not valid yet is kept, and sent again without asking", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, answer(1, 401, code="invalid-token", detail="the token is not valid yet")), (3020, answer(2, 401, code="invalid-token", detail="the token is not valid yet")), (9020, opened(3)), (9030, named(3)), (9040, {"end": 3}), (12040, {"token": "t2"})]),
    ("a token that is not valid yet is kept for 5 minutes", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), *((at, answer(number, 401, {"Retry-After": "150"}, code="invalid-token", detail="the token is not valid yet")) for number, at in enumerate([20, 150020], 1)), (300019, {}), (300020, {"token": "t2"})]),
    ("a token that is not valid yet is used for nearly 5 minutes", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, answer(1, 401, {"Retry-After": "299"}, code="invalid-token", detail="the token is not valid yet")), (299020, opened(2))]),
    ("a token with which a stream is refused for another reason was accepted", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, answer(1, 503, code="restoring", detail="wait")), (3020, {"token": "t2"}),
        (3030, answer(2, 401, code="invalid-token", detail="the token has ended")), (9030, {"token": None})]),
    ("while a token is not valid yet, the one before is used", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, opened(1)), (30, named(1)), (40, {"end": 1}), (3040, {"token": token("t2", nbf=20)}), (3050, answer(2, 401, code="invalid-token", detail="no")), (3060, opened(3)), (3070, named(3)), (3080, write("w", patch_item("a", 1))),
        (3090, {"end": 3}), (6090, opened(5)), (6100, named(5))]),
    ("a newer token that is not valid yet leaves the stream with the one before", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": token("t1", exp=100)}), (20, opened(1)), (30, named(1)), (60000, {"comment": 1}), (70000, {"token": token("t2", exp=200)}), (70010, answer(2, 401, code="invalid-token", detail="the token is not valid yet")),
        (80000, {"comment": 1}), (85005, answer(3, 200, added=[], changed=[], removed=[]))]),
    ("a write whose token is not valid yet is sent again each second", {"hasToken": True}, [
        (0, write("w", patch_item("a", 1))), (10, {"token": "t1"}), *((at, answer(number, 401, code="invalid-token", detail="the token is not valid yet")) for number, at in enumerate([20, 1020, 2020], 1)), (3030, accepted(4, 1))]),
    ("a write is sent with a token that is not valid yet 31 times", {"hasToken": True}, [
        (0, write("w", patch_item("a", 1))), (10, {"token": "t1"}), *((20 + 1000 * number, answer(number + 1, 401, code="invalid-token", detail="the token is not valid yet")) for number in range(31))]),
    ("a write whose token is refused is sent again with another one", {"hasToken": True}, [
        (0, write("w1", patch_item("a", 1))), (10, {"token": "t1"}), (20, answer(1, 401, code="invalid-token", detail="the token has ended")), (30, {"token": "t2"}), (40, accepted(2, 1)), (50, answer(3, 401, code="invalid-token", detail="the token has ended")), (60, {"token": "t3"}),
        (70, published(4, 1, 2)), (80, write("w2", patch_item("a", 2))), (90, answer(5, 401, code="invalid-token", detail="the token has ended")), (100, {"token": "t3"}), (110, write("w3", patch_item("a", 2))), (120, {"token": "t4"}), (130, answer(6, 401, code="invalid-token", detail="no")), (140, {"token": "t5"}), (150, answer(7, 401, code="invalid-token", detail="no"))]),
    ("a write without a token because the callback fails is not sent", {"hasToken": True}, [(0, write("w", patch_item("a", 1))), (10, {"tokenError": "no session"})]),
    ("a PATCH whose token is refused is sent again with another one", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, opened(1)), (30, named(1)), (40, follow("g", "other")), (50, answer(2, 401, code="invalid-token", detail="the token has ended")), (60, {"token": "t2"}), (70, answer(3, 200, added=[], changed=[], removed=[])),
        (80, follow("h", "third")), (90, answer(4, 401, code="invalid-token", detail="the token has ended")), (100, {"token": "t2"})]),

    # Another person.
    ("a token of another person shows nothing of the former one, and opens the streams again", {"hasToken": True}, [
        (0, follow("f"), follow("g", "other")), (10, {"token": token("t1", sub="ada")}), (20, opened(1)), (30, named(1)), (40, reload(1, "1", 1, "a", "b")), (50, up_to_date(1, "1", 1)), (60, absent(1, "2", "other")),
        (70, {"setToken": token("t2", sub="ada")}), (80, answer(2, 200, added=[], changed=[], removed=[])), (90, {"setToken": token("t3", sub="ben")}), (100, opened(3)), (110, named(3, "s2")), (120, reload(3, "1", 1, "a")), (130, absent(3, "2", "other")),
        (140, {"setToken": None}), (150, {"fail": 3}), (3150, {"token": token("t4", sub="ada")}), (3160, {"fail": 4}), (3170, {"setToken": "opaque"})]),
    ("writes of one person are not sent for another one", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": token("t1", sub="ada")}), (20, opened(1)), (30, named(1)), (40, reload(1, "1", 1, "a", "b")), (50, *(write(f"w{number}", patch_item("a", number)) for number in range(3))), (60, accepted(2, 7)),
        (70, write("w3", patch_item("a", 4), feed="other", wait=0)), (80, answer(5, 401, code="invalid-token", detail="the token has ended")), (90, {"token": token("t2", sub="ben")}), (100, {"token": token("t2", sub="ben")}),
        (110, write("w4", patch_item("a", 5)))]),
    ("a token that is renewed for another person opens the streams again", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": token("t1", sub="ada", exp=100)}), (20, opened(1)), (30, named(1)), (40, reload(1, "1", 1, "a")), (50000, {"comment": 1}), (70000, {"token": token("t2", sub="ben", exp=200)}), (70010, {"token": None})]),
    ("a first token does not change the person", {"hasToken": True}, [(0, follow("f")), (10, {"token": None}), (20, opened(1)), (30, named(1)), (40, reload(1, "1", 1, "a")), (50, {"setToken": token("t1", sub="ada")})]),

    # Reconnecting.
    ("reconnect leaves attempts alone", {}, [(0, follow("f")), (30000, {"reconnect": True}), (30010, opened(1)), (49000, {"reconnect": True})]),

    # Closing.
    ("a closed store ends its stream and its requests, and sends nothing any more", {}, [
        *LIVE, (50, follow("g", "other"), *(write(f"w{number}", patch_item("a", number)) for number in range(3))), (60, accepted(2, 7)), (70, {"close": True}), (80, {"reconnect": True}), (120000, {})]),
    ("a closed store does not open a stream that waits", {}, [(0, follow("f")), (10, {"fail": 1}), (20, {"close": True}), (120000, {})]),
    ("a closed store does not ask for a state again", {}, [
        *LIVE, (50, added(1, "1", 4, "d", "a", "b")), (60, answer(2, 200, added=[], changed=[], removed=[])), (70, refetch(1, "1")), (80, reload(1, "1", 4, "a", sum="00000001")), (90, {"close": True}), (120000, {})]),
    ("a closed store renews no token", {"hasToken": True}, [(0, follow("f")), (10, {"token": token("t1", exp=100)}), (20, opened(1)), (30, named(1)), (40, {"close": True}), (120000, {})]),
    ("a token that arrives after a store is closed is not used", {"hasToken": True}, [(0, follow("f"), write("w", patch_item("a", 1))), (10, {"close": True}), (20, {"token": "t1"}), (120000, {})]),
    ("a write that waits for its token to be valid is not sent by a closed store", {"hasToken": True}, [
        (0, write("w", patch_item("a", 1))), (10, {"token": "t1"}), (20, answer(1, 401, code="invalid-token", detail="the token is not valid yet")), (30, {"close": True}), (120000, {})]),

    # Writes.
    ("a write without a wait makes one request", {}, [*LIVE, (50, write("w", [patch_item("a", 1), patch_item("b", 2)], wait=0)), (60, accepted(2, 7)), (70, added(1, "1", 2, "c", "a", "b", offset=6)), (80, added(1, "1", 3, "d", "a", "b", "c", offset=7))]),
    ("the outcome is waited for as long as the write says", {}, [(0, write("w", patch_item("a", 1), wait=5)), (10, accepted(1, 7)), (35009, {}), (35010, {})]),
    ("a write that the brokers took without an offset is done, and pending until the next changeset", {}, [
        *LIVE, (50, write("w", patch_item("a", 1))), (60, answer(2, 202, feed="news", topic="feeds.items", partition=0)), (70, added(1, "1", 2, "c", "a", "b"))]),
    ("a write that is answered as published needs no second request", {}, [*LIVE, (50, write("w", patch_item("a", 1))), (60, published(2, 7, 2)), (70, changed(1, "1", 2, "a", 1, "a", "b"))]),
    ("a write that fails is taken back", {}, [
        *LIVE, (50, write("w1", patch_item("a", 1))), (60, {"fail": 2}), (70, write("w2", patch_item("a", 1))), (80, answer(3, 503, code="not-written", detail="the brokers are away")), (90, write("w3", patch_item("a", 1))), (100, answer(4, 403, code="forbidden", detail="no")),
        (110, write("w4", patch_item("a", 1))), (30109, {"comment": 1}), (30110, {"comment": 1}), (30120, write("w5", patch_item("a", 1))), (30130, answer(6, 500)), (30140, write("w6", patch_item("a", 1))), (30150, answer(7, 404))]),
    ("a request for an outcome that fails leaves the write with what POST said", {}, [
        *LIVE, (50, write("w1", patch_item("a", 1))), (60, accepted(2, 7)), (70, {"fail": 3}), (80, write("w2", patch_item("b", 1))), (90, accepted(4, 8)), (100, answer(5, 503, code="stopping", detail="the instance stops")), (110, changed(1, "1", 2, "a", 1, "a", "b", offset=7)), (120, changed(1, "1", 3, "b", 1, "a", "b", offset=8))]),
    ("an outcome that is not known in time leaves the write with what POST said", {}, [*LIVE, (50, write("w", patch_item("a", 1))), (60, accepted(2, 7)), (10070, answer(3, 202, feed="news", topic="feeds.items", partition=0, offset=7)), (60000, {"comment": 1}), (70069, {}), (70070, {})]),
    ("a write that changed nothing is not shown any more", {}, [*LIVE, (50, write("w", patch_item("a", 1))), (60, accepted(2, 7)), (70, published(3, 7, 2, changed=False))]),
    ("a write that changed nothing, and whose feed does not exist, is not shown any more", {}, [*LIVE, (50, write("w", patch_item("a", 1))), (60, accepted(2, 7)), (70, answer(3, 200, feed="news", topic="feeds.items", partition=0, offset=7, changed=True))]),
    ("a published write that no changeset includes is shown for 5 s", {}, [*LIVE, (50, write("w", patch_item("a", 1))), (60, accepted(2, 7)), (70, published(3, 7, 2)), (5069, {}), (5070, {})]),
    ("the time of a pending write is that of a live feed", {}, [
        *LIVE, (50, write("w", patch_item("a", 1))), (60, accepted(2, 7)), (70, published(3, 7, 2)), (3070, {"end": 1}), (6070, opened(4)), (6080, named(4)), (20000, up_to_date(4, "1", 1)), (21999, {}), (22000, {})]),
    ("an event that names the write's revision confirms it", {}, [*LIVE, (50, write("w", patch_item("a", 1))), (60, accepted(2, 7)), (70, published(3, 7, 2)), (80, up_to_date(1, "1", 2))]),
    ("totals of a window that name the write's revision confirm it", {}, [
        (0, follow("f", first=1)), (10, opened(1)), (20, named(1)), (30, reload(1, "1", 1, "a", window=(0, 2))), (40, up_to_date(1, "1", 1)), (50, write("w", {"op": "item.upsert", "item": "n", "section": "s", "at": "first"})), (60, accepted(2, 7)),
        (70, event(1, "window", view="1", feed="news", epoch="e/1", revision=2, window=[{"section": "s", "from": 0, "shown": 1, "of": 3}])), (80, published(3, 7, 2))]),
    ("a revision of another epoch confirms nothing", {}, [*LIVE, (50, write("w", patch_item("a", 1))), (60, accepted(2, 7)), (70, published(3, 7, 1, epoch="e/0")), (80, up_to_date(1, "1", 1))]),
    ("a write that a changeset includes before the answer comes", {}, [*LIVE, (50, write("w", patch_item("a", 1))), (60, changed(1, "1", 2, "a", 1, "a", "b", offset=7)), (70, accepted(2, 7)), (80, published(3, 7, 2))]),
    ("a change of something else keeps a write pending", {}, [*LIVE, (50, write("w", patch_item("a", 1))), (60, added(1, "1", 2, "c", "a", "b", offset=6)), (70, accepted(2, 7)), (80, reload(1, "1", 3, "a", "b", offset=6))]),
    ("nothing is shown of a write to a feed that does not exist, or is not known yet", {}, [
        *OPEN, (30, write("w", {"op": "item.upsert", "item": "n", "section": "s"})), (40, absent(1, "1")), (50, accepted(2, 7)), (60, reload(1, "1", 1, "x", offset=6)), (70, reload(1, "1", 2, "x", "n", offset=7))]),
    ("all windows of a feed show a write, those that begin later too", {}, [
        (0, follow("f"), follow("g", first=1)), (10, opened(1)), (20, named(1)), (30, reload(1, "1", 1, "a", "b"), reload(1, "2", 1, "a", window=(0, 2))), (40, up_to_date(1, "1", 1), up_to_date(1, "2", 1)), (50, write("w", {"op": "item.delete", "item": "a"})), (60, accepted(2, 7)),
        (70, {"leave": "f"}), (80, follow("h", sections=["s"])), (90, reload(1, "3", 1, "a", "b"))]),
    ("a write to a feed without followers, whose id needs an encoding", {}, [(0, write("w", {"op": "feed.clear"}, feed="a/b ü")), (10, accepted(1, 7, feed="a/b ü")), (20, published(2, 7, 3, feed="a/b ü"))]),
    ("writes of two feeds do not wait for each other", {}, [(0, write("v", {"op": "feed.clear"}), write("w", {"op": "feed.clear"}, feed="other")), (10, accepted(2, 7, feed="other"))]),
    ("a key replaces in its own feed, and both get the outcome", {}, [
        (0, write("w1", patch_item("a", 1)), write("w2", patch_item("a", 2), coalesce="k"), write("x", patch_item("a", 3), feed="other"), write("y", patch_item("a", 4), feed="other", coalesce="k")), (10, write("w3", patch_item("a", 5), coalesce="k", wait=0), write("w4", patch_item("a", 6), coalesce="j"), write("w5", patch_item("a", 7))),
        (20, accepted(1, 7)), (30, answer(4, 422, code="unknown-item", detail="there is no a")), (40, accepted(5, 8)), (50, accepted(7, 9))]),
    ("the wait of the newer write counts", {}, [(0, write("w1", patch_item("a", 1), wait=0), write("w2", patch_item("a", 2), coalesce="k"), write("w3", patch_item("a", 3), coalesce="k", wait=0)), (10, accepted(1, 7)), (20, accepted(2, 8))]),
    ("a write that is being sent is not replaced", {"hasToken": True}, [(0, write("w1", patch_item("a", 1), coalesce="k")), (10, write("w2", patch_item("a", 2), coalesce="k")), (20, {"token": "t1"}), (30, accepted(1, 7)), (40, write("w3", patch_item("a", 3), coalesce="k"))]),
    ("1,000 writes of a feed are pending at most", {}, [(0, *(write(f"w{number}", {"op": "feed.clear"}, wait=0) for number in range(1001))), (10, accepted(1, 7)), (20, write("w", {"op": "feed.clear"}))]),

    # Several instances.
    ("the instance that has a feed is found, and no other is asked any more", TWO, [
        (0, follow("f")), (10, opened(1)), (20, opened(2)), (30, named(1, "s1")), (40, named(2, "s2")), (50, absent(1, "1")), (60, reload(2, "1", 1, "a")), (70, up_to_date(2, "1", 1)), (80, write("w", patch_item("a", 1))), (90, follow("g", "other")), (100, opened(5)), (110, named(5, "s3"))]),
    ("a feed that no instance has is absent", TWO, [(0, follow("f")), (10, opened(1), opened(2)), (20, named(1, "s1"), named(2, "s2")), (30, absent(1, "1")), (40, absent(2, "1")), (50, reload(1, "1", 1, "a"))]),
    ("a feed that one instance does not have, while another is away, is stale", TWO, [(0, follow("f")), (10, opened(1)), (20, named(1)), (30, absent(1, "1")), (40, {"fail": 2}), (3040, opened(3)), (3050, named(3, "s2")), (3060, absent(3, "1"))]),
    ("a feed whose instance is lost is asked for at all", TWO, [
        (0, follow("f")), (10, opened(1)), (20, named(1)), (30, reload(1, "1", 1, "a")), (40, up_to_date(1, "1", 1)), (50, {"end": 1}), (60, opened(3)), (70, named(3, "s2")), (80, up_to_date(3, "1", 1)), (3050, {})]),
    ("an instance that was asked with the version may go on after another one says that the feed has moved", TWO, [
        (0, follow("f")), (10, opened(1)), (20, named(1)), (30, reload(1, "1", 1, "a")), (40, {"end": 1}), (50, opened(3)), (60, named(3, "s2")), (3040, opened(4)), (3050, named(4, "s3")), (3060, moved(3, "1")), (3070, up_to_date(4, "1", 1)), (3080, added(4, "1", 2, "b", "a"))]),
    ("a feed that moved is asked for at all, and where the daemon says", TWO, [
        (0, follow("f")), (10, opened(1)), (20, named(1)), (30, reload(1, "1", 1, "a")), (40, moved(1, "1", "http://c.test/")), (50, opened(4)), (60, named(4, "s4")), (70, {"fail": 3}), (80, reload(4, "1", 2, "a", "b")), (90, up_to_date(4, "1", 2)), (100, {"leave": "f"})]),
    ("a feed that moved, and that no instance has, is absent after 30 s", TWO, [
        (0, follow("f")), (10, opened(1), opened(2)), (20, named(1, "s1"), named(2, "s2")), (30, reload(1, "1", 1, "a")), (40, moved(1, "1")), (50, opened(3)), (60, named(3, "s3")), (70, absent(3, "1")), (30069, {"comment": 1}, {"comment": 3}), (30070, {})]),
    ("messages of an instance are ignored while another one has the feed", TWO, [
        (0, follow("f")), (10, opened(1), opened(2)), (20, named(1, "s1"), named(2, "s2")), (30, reload(1, "1", 1, "a"), reload(2, "1", 5, "z"), forbidden(2, "1"), absent(2, "1"))]),
    ("a write goes to the instance that is connected, or else to the first", TWO, [(0, write("v", {"op": "feed.clear"}), follow("f", "other")), (10, opened(3)), (20, write("w", {"op": "feed.clear"}, feed="third")), (30, reload(3, "1", 1, "a", feed="other")), (40, write("x", {"op": "feed.clear"}, feed="other"))]),
    ("several instances share nothing but the feed", TWO, [(0, follow("f")), (10, {"fail": 1}), (20, {"reconnect": True}), (30, {"fail": 2}), (40, {"fail": 3}), (50, {"setToken": "t"})]),
    ("URLs may end with a slash, and count once", {"urls": ["http://a.test/feeds/", "http://a.test/feeds"]}, [(0, follow("f")), (10, write("w", {"op": "feed.clear"})), (20, opened(1)), (30, named(1)), (40, absent(1, "1"))]),
    # What clients had no vector for.
    ("a must-refetch of another instance does not concern the one that was asked with the version", TWO, [
        (0, follow("f")), (10, opened(1)), (20, named(1)), (30, reload(1, "1", 1, "a")), (40, {"end": 1}), (50, opened(3)), (60, named(3, "s2")), (3040, opened(4)), (3050, named(4, "s3")), (3060, refetch(3, "1")), (3070, up_to_date(4, "1", 1)), (3080, added(4, "1", 2, "b", "a"))]),
    ("a feed that is deleted is not asked for again", {}, [
        *LIVE, (50, added(1, "1", 4, "d", "a", "b")), (60, answer(2, 200, added=[], changed=[], removed=[])), (70, refetch(1, "1")), (80, reload(1, "1", 4, "a", sum="00000001")), (90, deleted(1, "1", 5)), (100, up_to_date(1, "1")), (5000, {"comment": 1})]),
    ("a window that is awaited already is not requested a second time", {}, [
        *LIVE, (50, show("f", first=1)), (60, show("f"), show("f", first=1)), (70, answer(2, 200, added=[], changed=[], removed=[])),
        (80, refetch(1, "1")), (90, reload(1, "1", 1, "a", window=(0, 2)))]),
    ("a changeset of another feed does not fit", {}, [*LIVE, (50, added(1, "1", 2, "c", "a", "b", feed="other"))]),
    ("if the stream of the instance that has a moved feed ends, those of the program are asked again", {}, [
        *OPEN, (30, moved(1, "1", "http://c.test")), (40, opened(2)), (50, named(2, "s2")), (60, reload(2, "1", 1, "a")), (70, up_to_date(2, "1", 1)), (80, {"end": 2}), (90, opened(3))]),
    ("a token that was not valid yet, and then is refused for another reason, is not kept", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, answer(1, 401, code="invalid-token", detail="the token is not valid yet")), (3020, {}), (3030, answer(2, 401, code="invalid-token", detail="unknown key")), (9030, {}), (9040, {"token": "t2"})]),
    ("without a stream no token is renewed", {"hasToken": True}, [(0, write("w", patch_item("a", 1), wait=0)), (10, {"token": token("t1", exp=100)}), (20, accepted(1, 7)), (99000, {})]),
    ("a renewal that gives the same token is not repeated", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": token("t1", exp=100)}), (20, opened(1)), (30, named(1)), (60000, {"comment": 1}), (70010, {"token": token("t1", exp=100)}), (99000, {"comment": 1})]),
    ("a forgotten token is not used again", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, opened(1)), (30, named(1)), (40, {"setToken": None}), (50, write("w", patch_item("a", 1))), (60, {"tokenError": "gone"})]),
    ("setToken replaces a token that is not valid yet", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, answer(1, 401, code="invalid-token", detail="the token is not valid yet")), (30, {"setToken": "t2"}), (40, opened(2))]),
    ("after an event of its stream, a refused token is asked for again at once", {"hasToken": True}, [
        (0, follow("f")), (10, {"token": "t1"}), (20, answer(1, 401, code="invalid-token", detail="the token has ended")), (30, {"token": "t2"}), (40, opened(2)), (50, named(2)),
        (60, {"setToken": token("t3", sub="other")}), (70, answer(3, 401, code="invalid-token", detail="unknown key")), (80, {"token": token("t4", sub="other")}), (90, opened(4))]),
]


# The states of a followed feed at one instance: steps that lead there, and the request of its stream.
LOST = [*LIVE, (50, {"end": 1})]
STATES = {
    "connecting": ([(0, follow("f"))], 1),
    "catching-up": (LIVE[:4], 1),
    "live": (LIVE, 1),
    "absent": ([*OPEN, (30, absent(1, "1"))], 1),
    "outdated": ([*LIVE, (50, refetch(1, "1"))], 1),
    "moved": ([*LIVE, (50, moved(1, "1"))], 1),
    "forbidden": ([*LIVE, (50, forbidden(1, "1"))], 1),
    "waiting": (LOST, None),
    "retrying": ([*LOST, (3050, {})], 2),
    "refused": ([(0, follow("f", first=99999)), (10, answer(1, 400, code="invalid", member="feeds[0].first", detail="first is above 10000"))], None),
}
TRYING, STREAMING, ALL = ["connecting", "retrying"], ["catching-up", "live", "absent", "outdated", "moved", "forbidden"], list(STATES)
# The events, the states in which they can happen, and the steps: milliseconds since the last step, and an input, for the request of the stream.
EVENTS = {
    "a stream of events begins": (TRYING, lambda n: [(10, opened(n))]),
    "no response for 10 s": (TRYING, lambda n: [(10_000, {})]),
    "no response for 60 s": (TRYING, lambda n: [(60_000, {})]),
    "the request fails": (TRYING, lambda n: [(10, {"fail": n})]),
    "503, or another error": (TRYING, lambda n: [(10, answer(n, 503, {"Retry-After": "7"}, code="restoring", detail="feeds are read"))]),
    "401, without a callback": (TRYING, lambda n: [(10, answer(n, 401, code="token-needed", detail="a token is needed"))]),
    "400, which names the feed": (TRYING, lambda n: [(10, answer(n, 400, code="invalid", member="feeds[0].first", detail="first is above 10000"))]),
    "the wait is over": (["waiting"], lambda n: [(3_000, {})]),
    "a reload": (STREAMING, lambda n: [(10, reload(n, "1", 2, "a", "b", "c"))]),
    "a change that fits": (STREAMING, lambda n: [(10, added(n, "1", 2, "c", "a", "b"))]),
    "a change that does not fit": (STREAMING, lambda n: [(10, added(n, "1", 4, "c", "a", "b"))]),
    "a deletion": (STREAMING, lambda n: [(10, deleted(n, "1", 2))]),
    "`up-to-date`": (STREAMING, lambda n: [(10, up_to_date(n, "1", 1))]),
    "`window`": (STREAMING, lambda n: [(10, event(n, "window", view="1", feed="news", epoch="e/1", revision=2, window=[]))]),
    "`must-refetch`": (STREAMING, lambda n: [(10, refetch(n, "1"))]),
    "`absent`": (STREAMING, lambda n: [(10, absent(n, "1"))]),
    "`moved`": (STREAMING, lambda n: [(10, moved(n, "1"))]),
    "`forbidden`": (STREAMING, lambda n: [(10, forbidden(n, "1"))]),
    "the stream ends": (STREAMING, lambda n: [(10, {"end": n})]),
    "the stream ends after 5 s": (STREAMING, lambda n: [(5_000, {"end": n})]),
    "no byte for 60 s": (STREAMING, lambda n: [(60_000, {})]),
    "a `PATCH` fails": (STREAMING, lambda n: [(10, {"setToken": "t"}), (10, answer(n + 1, 503, code="too-much-waits", detail="too much waits"))]),
    "`show` of another window": (ALL, lambda n: [(10, show("f", first=1))]),
    "a write": (ALL, lambda n: [(10, write("w", patch_item("a", 1)))]),
    "`setToken`": (ALL, lambda n: [(10, {"setToken": "t"})]),
    "`reconnect`": (ALL, lambda n: [(10, {"reconnect": True})]),
    "`reconnect`, no byte for 20 s": (STREAMING, lambda n: [(20_000, {"reconnect": True})]),
    "the program leaves": (ALL, lambda n: [(10, {"leave": "f"})]),
}


def state_of(model):
    """The state of the first view, as the table names it."""
    if not model.views:
        return "left"
    view = model.views[0]
    standing, phases = model.standing(view), [place.stream.phase for place in view.places.values()]
    if view.fault is not None:
        return "refused"
    if standing["name"] == "live" and view.is_absent:
        return "absent"
    if standing["name"] != "stale":
        return standing["name"]
    if "open" in phases:
        return {"must-refetch": "outdated"}.get(standing["reason"], standing["reason"])
    return "waiting" if "waiting" in phases else "retrying"


def cells():
    """Each event in each state in which it can happen: the case, and the words of its cell."""
    for name, (states, steps_of) in EVENTS.items():
        # An event of a request, of a stream, of a wait, or of the program: no cell of these is left out.
        assert states in (TRYING, STREAMING, ["waiting"], ALL) and set(TRYING + STREAMING + ["waiting", "refused"]) == set(ALL)
        for state in states:
            before, number = STATES[state]
            steps, at = list(before), before[-1][0]
            for milliseconds, one in steps_of(number):
                at += milliseconds
                steps.append((at, one))
            model = Model([URL])
            thens = [model.step(*step) for step in steps]
            yield name, state, (f"{state}: {name}", {}, [*steps, (at + 1, {}), (at + 3_100, {}), (at + 40_000, {})]), cell(model, state, thens[-1])


def cell(model, state, then):
    after = state_of(model)
    words = ["·" if after == state else after]
    words += [request["method"] for request in then.get("requests", [])]
    kinds = {"state": "new state", "changed": "change", "pending": "pending", "absent": "nothing"}
    words += [f"shows {kinds[kind]}" for kind in then.get("updates", {}).get("f", [])]
    return ", ".join(words)


def table():
    """The table of docs/clients.md."""
    found = {(name, state): words for name, state, _, words in cells()}
    columns = list(STATES)
    yield f"| event | {' | '.join(columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for name in EVENTS:
        yield f"| {name} | {' | '.join(found.get((name, state), '–') for state in columns)} |"


class Random:
    """A program and daemons that do anything that can happen, and a model that follows."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.options = self.rng.choice([{}, {}, {"hasToken": True}, TWO])
        self.model = Model(self.options.get("urls", [URL]), self.options.get("hasToken", False))
        self.requests, self.names, self.at, self.writes, self.tokens, self.asks = {}, {}, 0, 0, 0, 0
        self.feeds = {"news": 1, "other": 1}
        self.sent = {}

    def steps(self):
        for _ in range(self.rng.randrange(12, 40)):
            self.at += self.rng.choice([1, 7, 13, 101, 997, 2203, 6007, 11003, 21001])
            # The time alone, so that the step knows which requests there are.
            yield self.step(self.at)
            one = self.input()
            if one is not None:
                self.at += 1
                yield self.step(self.at, one)

    def step(self, at, *inputs):
        then = self.model.step(at, *inputs)
        for request in then.get("requests", []):
            self.requests[request["request"]] = request
        self.asks += then.get("tokenAsks", 0)
        return at, inputs, then

    def input(self):
        rng = self.rng
        requests = [self.requests[number] for number in self.model.open]
        if self.model.asking is not None and rng.random() < 0.6:
            self.tokens += 1
            return rng.choice([{"token": f"t{self.tokens}"}] * 4 + [{"token": None}, {"tokenError": "no session"}])
        if requests and rng.random() < 0.75:
            return self.answer(rng.choice(requests))
        handles = list(self.model.handles)
        free = [name for name in "fgh" if name not in handles]
        windows = [{}, {}, {"first": 1}, {"first": 2}]
        return rng.choice([
            lambda: follow(free[0], rng.choice(list(self.feeds)), **rng.choice(windows)) if free else None,
            lambda: follow(free[0], rng.choice(list(self.feeds)), **rng.choice(windows)) if free else None,
            lambda: show(rng.choice(handles), **rng.choice(windows)) if handles else None,
            lambda: {"leave": rng.choice(handles)} if handles and rng.random() < 0.5 else None,
            lambda: {"reconnect": True},
            lambda: {"setToken": rng.choice([f"s{self.tokens}", None])} if rng.random() < 0.3 else None,
            self.write, self.write,
        ])()

    def write(self):
        self.writes += 1
        more = {"coalesce": "k"} if self.rng.random() < 0.4 else {"wait": 0} if self.rng.random() < 0.2 else {}
        one = self.rng.choice([patch_item("i1", self.writes), {"op": "item.delete", "item": "i2"}, {"op": "item.upsert", "item": f"w{self.writes}", "section": "s"}])
        return write(f"w{self.writes}", one, self.rng.choice(list(self.feeds)), **more)

    def answer(self, request):
        rng, number = self.rng, request["request"]
        stream = next((one for one in self.model.streams if one.request == number), None)
        if rng.random() < 0.08:
            return {"fail": number}
        if rng.random() < 0.08:
            status = rng.choice([400, 401, 403, 404, 429, 500, 503])
            return answer(number, status, rng.choice([None, {"Retry-After": "8"}]), code="c", detail=f"status {status}") if stream is None or stream.phase != "open" else {"end": number}
        if request["method"] == "PATCH":
            return answer(number, 200, added=[], changed=[], removed=[])
        if stream is None:
            feed = request["url"].split("/")[5]
            return published(number, 7, self.feeds[feed] + rng.randrange(2), rng.random() < 0.8, feed) if request["method"] == "GET" and rng.random() < 0.7 else accepted(number, rng.randrange(9), feed)
        if stream.phase == "connecting":
            return opened(number)
        if stream.name is None:
            return named(number, f"s{number}")
        return self.event(number, stream)

    def event(self, number, stream):
        rng = self.rng
        places = [place for place in stream.places if place.asked is not None]
        if not places or rng.random() < 0.1:
            return {"comment": number}
        place = rng.choice(places)
        view, feed = place.view.name, place.view.feed
        revision = self.feeds[feed]
        items = [f"i{index}" for index in range(revision)][:place.view.window.get("first")]
        if place.changes and rng.random() < 0.6:
            return refetch(number, view, feed)
        kind = rng.random()
        if place.view.expects_reload and kind < 0.5 or kind < 0.1:
            return reload(number, view, revision, *items, feed=feed, window=(0, revision) if place.view.window else None, sum="00000001" if rng.random() < 0.1 else None)
        if kind < 0.3 and not place.view.window:
            self.feeds[feed] += 1
            return added(number, view, revision + 1, f"i{revision}", *items, feed=feed)
        return rng.choice([
            lambda: up_to_date(number, view, revision, feed), lambda: up_to_date(number, view, revision, feed), lambda: up_to_date(number, view, revision, feed),
            lambda: refetch(number, view, feed), lambda: absent(number, view, feed), lambda: deleted(number, view, revision + 1, feed), lambda: up_to_date(number, view, feed=feed),
            lambda: moved(number, view, rng.choice([None, "http://b.test", "http://c.test"]), feed), lambda: forbidden(number, view, rng.choice(["not-allowed", "token-expired"]), feed),
            lambda: added(number, view, revision + 5, "x", *items, feed=feed), lambda: {"event": number, "name": "message", "data": "["},
        ])()


def random_line(seed):
    one = Random(seed)
    steps = [{"at": at, "do": list(inputs), "then": then} for at, inputs, then in one.steps()]
    return case_line(f"random, seed {seed}", one.options, [step for step in steps if step["do"] or step["then"]])


def line(title, options, steps):
    model = Model(options.get("urls", [URL]), options.get("hasToken", False))
    done = [{"at": at, "do": inputs, "then": model.step(at, *inputs)} for at, *inputs in steps]
    return case_line(title, options, done)


def case_line(title, options, steps):
    return text({"title": title, "urls": options.get("urls", [URL]), **({"hasToken": True} if options.get("hasToken") else {}), "steps": steps}) + "\n"


def files():
    yield "rules.ndjson", "".join(line(*case) for case in CASES)
    yield "random.ndjson", "".join(random_line(seed) for seed in range(1, 151))
    yield "table.ndjson", "".join(line(*case) for _, _, case, _ in cells())


def page():
    """docs/clients.md with the table."""
    before, _, after = re.split(r"(TABLE\n|(?:\|.*\n)+)", PAGE.read_text("utf-8").partition("## States and events")[2], maxsplit=1)
    start = PAGE.read_text("utf-8").partition("## States and events")[0]
    return start + "## States and events" + before + "\n".join(table()) + "\n" + after


def note_in_manifest():
    path = FOLDER.parent / "manifest.json"
    content = path.read_text("utf-8")
    for file in sorted(FOLDER.glob("*.ndjson")):
        data = file.read_bytes()
        entry = f'"stream/{file.name}":{{"bytes":{len(data)},"xxh32":"{fast_xxh32(data):08x}"}}'
        content = re.sub(rf'"stream/{file.name}":{{.*?}}', entry, content)
    path.write_text(content, "utf-8")


def main():
    written = {FOLDER / name: content for name, content in files()}
    written[PAGE] = page()
    if "--check" not in sys.argv:
        FOLDER.mkdir(exist_ok=True)
        for path, content in written.items():
            path.write_text(content, "utf-8")
        note_in_manifest()
    different = [path.name for path, content in written.items() if path.read_text("utf-8") != content]
    sys.exit(f"{', '.join(different)}: not what the model makes; run: python3 conformance/stream.py" if different else 0)
