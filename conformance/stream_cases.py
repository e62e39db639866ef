"""The cases of `stream.py`: chosen by hand, and random ones."""

import base64
import json
import pathlib
import sys

from run import checksum
from stream import Model

FOLDER = pathlib.Path(__file__).parent / "stream"
URL = "http://a.test"


def text(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def token(name, **claims):
    """A token with times in seconds; nobody verifies it here."""
    part = base64.urlsafe_b64encode(text({"sub": name, **claims}).encode()).decode().rstrip("=")
    return f"e30.{part}.{name}"


# What a program does.


def follow(handle, feed="news", **window):
    return {"follow": handle, "feed": feed, **({"window": window} if window else {})}


def show(handle, **window):
    return {"show": handle, "window": window}


def patch_item(item, data):
    return {"op": "item.patch", "item": item, "data": data}


def write(name, events, feed="news", **more):
    return {"write": name, "feed": feed, "events": events, **more}


# What a daemon sends.


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
        *LIVE, (50, *(write(f"w{number}", patch_item("a", number)) for number in range(6))), (60, accepted(2, 7)), (70, accepted(3, 8)), (80, accepted(5, 9)), (90, accepted(7, 10)),
        (100, published(6, 8, 3)), (110, accepted(9, 11)), (120, published(4, 7, 2))]),
    ("a write replaces one with its key that was not sent", {}, [
        *LIVE, (50, write("w1", patch_item("a", 1), coalesce="k")), (51, write("w2", patch_item("a", 2), coalesce="k")), (52, write("w3", patch_item("b", 3))), (53, write("w4", patch_item("a", 4), coalesce="k")),
        (60, accepted(2, 7)), (70, accepted(3, 8))]),
    ("a rejected write is taken back", {}, [*LIVE, (50, write("w", patch_item("a", 1))), (60, accepted(2, 7)), (70, answer(3, 422, code="unknown-item", detail="there is no a"))]),
    ("a write whose outcome cannot be learned is done, and stays pending for 60 s", {}, [
        *LIVE, (50, write("w", patch_item("a", 1))), (60, accepted(2, 7)), (70, answer(3, 404, code="not-found", detail="no such path")), (30000, {"comment": 1}), (60069, {}), (60070, {})]),
]


def line(title, options, steps):
    model = Model(options.get("urls", [URL]), options.get("hasToken", False))
    done = [{"at": step[0], "do": list(step[1:]), "then": model.step(*step)} for step in steps]
    case = {"title": title, "urls": model.urls, **({"hasToken": True} if options.get("hasToken") else {}), "steps": done}
    return text(case) + "\n"


def files():
    yield "rules.ndjson", "".join(line(*case) for case in CASES)


def main():
    is_same = True
    for name, content in files():
        path = FOLDER / name
        if "--check" in sys.argv:
            is_same = is_same and path.read_text("utf-8") == content
        else:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(content, "utf-8")
    sys.exit(0 if is_same else "conformance/stream is not what the model makes; run: python3 conformance/stream.py")
