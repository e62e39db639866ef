#!/usr/bin/env python3
"""stream.py: writes the vectors in `stream`, from a model of how a client follows feeds and writes to them.

The model is plain and slow: no input and output, no packages, and nothing at random. `python3 conformance/stream.py` writes the files;
with `--check` it only compares them.
"""

import base64
import json
import math
import urllib.parse

from pending import Model as Overlay
from run import applied, checksum

MOST_ENTRIES = 256
MOST_PENDING = 1000
MOST_UNFINISHED = 4
LATE = 10_000
SILENCE = 60_000
IDLE = 20_000
STEADY = 5_000
FIRST_WAIT = 3_000
MOST_WAIT = 30_000
MOST_AFTER = 300_000
ANSWER = 30_000
MOVING = 30_000
EARLY = 300_000
EARLY_PAUSE = 1_000
MOST_EARLY = 30
RENEWAL = 30_000
SHOWN = ("item.upsert", "item.patch", "item.move", "item.delete", "section.upsert")
SHOWN_PUBLISHED = 5_000
SHOWN_SENT = 60_000


def claims(token):
    """The claims of a JSON Web Token, which is not verified; none of any other token."""
    try:
        text = token.split(".")[1]
        return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (AttributeError, IndexError, ValueError):
        return {}


def claim(token, name):
    """A time in a token, in milliseconds; None if there is none."""
    return 1000 * claims(token)[name] if name in claims(token) else None


class View:
    """A window of a feed, which the daemon knows by its name; all handles with the same window share it."""

    def __init__(self, name, feed, window):
        self.name, self.feed, self.window = name, feed, window
        self.handles = []
        self.places = {}  # By the URL of the instance.
        self.home = None  # The place whose instance has the feed.
        self.named = []  # Instances that others have named.
        self.sections, self.version, self.through = None, None, {}
        self.shown, self.is_pending = None, False
        self.known = None  # The newest version that the daemon has named.
        self.expects_reload = True
        self.is_misfit = False
        self.refetches = 0
        self.round = 0  # Goes up whenever the state is wanted again.
        self.is_absent = False
        self.fault = None  # Why the daemon refuses the entry.
        self.lived, self.live_since = 0, None

    @property
    def wanted(self):
        return self.window, self.round

    def entry(self):
        version = {} if self.expects_reload else {"epoch": self.version[0], "revision": self.version[1]}
        return {"feed": self.feed, "view": self.name, **self.window, **version}


class Place:
    """A view on a stream."""

    def __init__(self, view, stream):
        self.view, self.stream = view, stream
        self.reset()

    def reset(self):
        self.asked = None  # The window and round that the daemon was asked for.
        self.changes = 0  # How many `must-refetch` come because of changes.
        self.notice = None
        self.is_up_to_date = False


class Stream:
    def __init__(self, url):
        self.url = url
        self.places = []
        self.phase = "idle"  # Or asking, connecting, open, waiting.
        self.request = self.name = self.since = self.token = None
        self.sent = {}  # The entries that the daemon was asked to follow, by the names of views.
        self.attempt, self.failures, self.retry, self.heard = 0, 0, FIRST_WAIT, 0
        self.trouble = None  # The standing that it gives its views.
        self.is_patching = self.was_refused = False


class Write:
    def __init__(self, name, feed, events, wait, key):
        self.names, self.feed, self.events, self.wait, self.key = [name], feed, events, wait, key
        self.phase = "queued"  # Or sending, asking, done.
        self.request = None
        self.written, self.is_published = None, False
        self.ends = {}  # By view, the live time at which it is over; 0 if the view includes it.


class Model:
    def __init__(self, urls, has_token=False):
        self.urls, self.has_callback = list(dict.fromkeys(url.rstrip("/") for url in urls)), has_token
        self.now, self.numbers, self.last_request, self.view_names = 0, 0, 0, 0
        self.timers = {}
        self.handles, self.views, self.streams, self.writes = {}, [], [], {}
        self.open = {}  # Requests without an end, by number: what takes what happens to them.
        self.token = self.accepted = self.coming = self.asking = None
        self.is_given = False  # Whether the token is that of setToken.
        self.person = None  # Whose the last token was, by its `sub`; empty if it does not say so.
        self.noted = {}
        self.then = {}

    # Steps.

    def step(self, at, *inputs):
        """Advances the time, then takes inputs of one turn. Returns all output since the step before."""
        self.then = {}
        self.run_timers(at)
        for one in inputs:
            self.take(one)
        self.flush()
        self.run_timers(at)
        self.note_changes()
        return self.then

    def run_timers(self, until):
        while self.timers and min(self.timers.values(), key=lambda timer: timer[:2])[0] <= until:
            key, (due, _, run) = min(self.timers.items(), key=lambda timer: timer[1][:2])
            del self.timers[key]
            self.now = max(self.now, due)
            run()
            self.flush()
        self.now = until

    def timer(self, key, milliseconds, run):
        self.numbers += 1
        self.timers[key] = (self.now + milliseconds, self.numbers, run)

    def cancel(self, *keys):
        for key in keys:
            self.timers.pop(key, None)

    def take(self, one):
        if "follow" in one:
            self.follow(one["follow"], one["feed"], one.get("window", {}))
        elif "show" in one:
            self.show(one["show"], one.get("window", {}))
        elif "leave" in one:
            self.leave(one["leave"])
        elif "write" in one:
            self.write(Write(one["write"], one["feed"], one["events"], one.get("wait", 10), one.get("coalesce")))
        elif "token" in one or "tokenError" in one:
            asking, self.asking = self.asking, None
            for then in asking or []:
                then(one.get("token"), one.get("tokenError"))
        elif "setToken" in one:
            self.set_token(one["setToken"])
        elif "reconnect" in one:
            self.reconnect()
        elif "close" in one:
            self.close_all()
        elif "answer" in one:
            self.open[one["answer"]]({"headers": {}, "json": {}, **one})
        elif one:
            self.open[next(one[kind] for kind in ("event", "comment", "end", "fail") if kind in one)](one)

    # Output.

    def request(self, method, url, take, token, body=None, wait=None, limit=None):
        number = self.last_request = self.last_request + 1
        self.open[number] = take if limit is None else lambda what: (self.ended(number), take(what))
        optional = {"token": token, "body": body, "wait": wait}
        self.then.setdefault("requests", []).append(
            {"request": number, "method": method, "url": url, **{key: value for key, value in optional.items() if value is not None}})
        if limit is not None:
            self.timer(("answer", number), limit, lambda: self.open[number]({"fail": number}))
        return number

    def ended(self, number):
        self.cancel(("answer", number))
        self.open.pop(number, None)

    def abort(self, stream):
        if stream.request in self.open:
            self.ended(stream.request)
            self.then.setdefault("aborted", []).append(stream.request)

    def note_changes(self):
        """Notes the standings and contents that have changed since the step before."""
        standings = {name: self.standing(view) for name, view in self.handles.items()}
        order = ["live", "catching-up", "connecting", "stale"]
        worst = max(standings.values(), key=lambda one: order.index(one["name"]), default={"name": "live"})
        for name, view in self.handles.items():
            if self.noted.get(("standing", name)) != standings[name]:
                self.noted["standing", name] = standings[name]
                self.then.setdefault("standings", {})[name] = standings[name]
            content = self.content(view)
            if self.noted.get(("shown", name)) != content:
                self.noted["shown", name] = content
                self.then.setdefault("shown", {})[name] = content
        if self.noted.get("store", {"name": "live"}) != worst:
            self.noted["store"] = self.then["store"] = worst

    @staticmethod
    def content(view):
        if view.shown is None:
            return None
        items = [item["id"] for section in view.shown for item in section["items"]]
        return {"revision": view.version[1], "items": items, **({"isPending": True} if view.is_pending else {})}

    def update(self, view, kind):
        for handle in view.handles:
            self.update_one(handle, kind)

    def standing(self, view):
        places = view.places.values()
        if view.fault is not None:
            return {"name": "stale", "reason": "bad-request", "detail": view.fault}
        home = view.home
        if home is not None and home.stream.phase == "open" and home.notice is None:
            if view.is_misfit:
                return {"name": "stale", "reason": "must-refetch"}
            is_live = home.is_up_to_date and home.changes == 0 and home.asked == view.wanted
            return {"name": "live" if is_live else "catching-up"}
        if view.is_absent and self.is_nowhere(view):
            return {"name": "live"}
        if any(place.stream.phase == "open" and place.notice is None for place in places):
            return {"name": "catching-up"}
        for notice in ("moved", "forbidden"):
            if any(place.notice == notice for place in places):
                return {"name": "stale", "reason": notice}
        for place in places:
            if place.stream.trouble is not None:
                return {"name": "stale", **place.stream.trouble}
        return {"name": "connecting"}

    # Handles and views.

    def follow(self, handle, feed, window):
        view = self.view(feed, window)
        self.join(handle, view)
        if view.shown is not None or view.is_absent:
            self.update_one(handle, "state" if view.shown is not None else "absent")

    def update_one(self, handle, kind):
        self.then.setdefault("updates", {}).setdefault(handle, []).append(kind)

    def view(self, feed, window, former=None):
        found = next((one for one in self.views if (one.feed, one.window) == (feed, window)), None)
        if found is None:
            self.view_names += 1
            found = View(str(self.view_names), feed, window)
            self.views.append(found)
            if former is not None:
                # The state of the former window is shown until there is one of this window.
                found.sections, found.version, found.through = former.sections, former.version, former.through
                self.refresh(found)
        return found

    def join(self, handle, view):
        self.handles[handle] = view
        view.handles.append(handle)

    def leave(self, handle):
        view = self.handles.pop(handle)
        self.noted.pop(("standing", handle), None)
        self.noted.pop(("shown", handle), None)
        view.handles.remove(handle)
        if not view.handles:
            self.views.remove(view)
            for place in view.places.values():
                place.stream.places.remove(place)
            self.cancel(("refetch", view), ("moving", view), ("pending", view))
            self.forget_writes(view.feed)

    def show(self, handle, window):
        view = self.handles[handle]
        if view.window == window:
            return
        if len(view.handles) == 1 and not any((one.feed, one.window) == (view.feed, window) for one in self.views):
            view.window, view.fault, view.expects_reload, view.is_misfit = window, None, True, False
            # Back again before the daemon was asked: it would send no state.
            view.round += view.home is not None and view.home.changes == 0 and view.home.asked is not None and view.home.asked[0] == window
            self.refresh(view)
            return
        is_there = any((one.feed, one.window) == (view.feed, window) for one in self.views)
        other = self.view(view.feed, window, view)
        noted = {key: self.noted.get((key, handle)) for key in ("standing", "shown")}
        self.leave(handle)
        self.join(handle, other)
        self.noted.update({(key, handle): value for key, value in noted.items()})
        if is_there and (other.shown is not None or other.is_absent):
            self.update_one(handle, "state" if other.shown is not None else "absent")

    # Where views are followed.

    def flush(self):
        for view in self.views:
            urls = [view.home.stream.url] if view.home is not None else [*self.urls, *view.named]
            for url, place in list(view.places.items()):
                if url not in urls:
                    del view.places[url]
                    place.stream.places.remove(place)
            for url in urls:
                if url not in view.places:
                    stream = self.stream_at(url)
                    view.places[url] = Place(view, stream)
                    stream.places.append(view.places[url])
        for stream in list(self.streams):
            wanted = [place for place in stream.places if place.view.fault is None]
            if not wanted:
                self.close(stream)
                if not stream.places:
                    self.streams.remove(stream)
            elif stream.phase == "idle":
                self.connect(stream)
            else:
                self.patch(stream)
        for view in self.views:
            was_live = view.live_since is not None
            self.live_time(view)
            if was_live != (view.live_since is not None):
                self.refresh(view)

    def stream_at(self, url):
        for stream in self.streams:
            if stream.url == url and len(stream.places) < MOST_ENTRIES:
                return stream
        self.streams.append(Stream(url))
        return self.streams[-1]

    def close(self, stream):
        self.abort(stream)
        self.cancel(("late", stream), ("silence", stream), ("wait", stream))
        stream.phase, stream.request, stream.name, stream.since, stream.sent = "idle", None, None, None, {}
        stream.attempt += 1
        stream.is_patching = False
        for place in stream.places:
            place.reset()

    def connect(self, stream, then=None):
        self.close(stream)
        stream.phase = "asking"
        self.timer(("late", stream), LATE, lambda: self.late(stream))
        self.listen(stream)
        attempt = stream.attempt = stream.attempt + 1
        self.with_token(then or (lambda token, error: self.post_stream(stream, token, error)), lambda: stream.attempt == attempt, is_stream=True)

    def post_stream(self, stream, token, error):
        if error is not None:
            return self.fail(stream, {"reason": "token-needed", "detail": error})
        stream.phase, stream.token = "connecting", token
        places = [place for place in stream.places if place.view.fault is None]
        for place in places:
            place.asked = place.view.wanted
            place.view.is_misfit = False
            self.cancel(("refetch", place.view))
        stream.sent = {place.view.name: place for place in places}
        body = {"feeds": [place.view.entry() for place in places]}
        stream.request = self.request(
            "POST", stream.url + "/v1/streams", lambda what: self.take_stream(stream, what, places), token, body)

    def late(self, stream):
        if stream.phase == "asking":
            stream.trouble = {"reason": "token-needed", "detail": "the token's callback has not answered for 10 s"}
        else:
            stream.trouble = {"reason": "disconnected", "detail": f"{stream.url} has not answered for 10 s"}

    def listen(self, stream):
        stream.heard = self.now
        self.timer(("silence", stream), SILENCE, lambda: self.fail(stream, {"reason": "disconnected"}))

    def take_stream(self, stream, what, places):
        number = stream.request
        if "status" in what:
            self.cancel(("late", stream))
            if what["status"] == 200 and not what["json"]:
                stream.phase, stream.trouble = "open", None
                self.note_token(stream.token)
                return self.listen(stream)
            self.ended(number)
            return self.refused(stream, what, places)
        if "fail" not in what and stream.phase != "open":
            raise ValueError("a request without a response has no events and no end")
        if "end" in what or "fail" in what:
            self.ended(number)
            return self.fail(stream, {"reason": "disconnected"})
        self.listen(stream)
        if "event" in what:
            stream.retry = what.get("retry", stream.retry)
            self.take_event(stream, what["name"], what["data"])

    def refused(self, stream, what, places):
        status, problem = what["status"], what["json"]
        if status == 401:
            if self.refuse_token(stream.token, problem) and self.in_use() is not None:
                return self.connect(stream)
            if self.has_callback and not self.is_early(stream.token, problem) and stream.failures == 0 and not stream.was_refused:
                # Another token may be there already.
                stream.was_refused, former = True, stream.token

                def again(token, error):
                    if error is None and token in (former, None):
                        error = problem.get("detail", "")
                    self.post_stream(stream, token, error)

                return self.connect(stream, again)
        elif status == 400 and self.refuse_entry(problem, "feeds", places):
            return self.close(stream)
        else:
            self.note_token(stream.token)
        return self.fail(stream, trouble_of(status, problem), after_of(what))

    @staticmethod
    def refuse_entry(problem, name, places):
        """Leaves out the entry that a request was refused for; returns whether there is one."""
        member = problem.get("member", "")
        for index, place in enumerate(places):
            if member.startswith(f"{name}[{index}]"):
                place.view.fault = problem["detail"]
                return True
        return False

    def fail(self, stream, trouble, after=0, at_once=False):
        """A stream has ended, or did not begin: it is opened again, at once if it lasted, or after a wait."""
        is_steady = stream.since is not None and self.now - stream.since >= STEADY
        self.close(stream)
        wait = after
        if not is_steady and not at_once:
            wait = max(min(stream.retry * 2 ** stream.failures, MOST_WAIT), after)
            stream.failures += 1
        stream.phase, stream.was_refused = "waiting", False
        stream.trouble = {**trouble, "until": self.now + wait}
        self.timer(("wait", stream), wait, lambda: self.connect(stream))
        for place in stream.places:
            if place.view.home is place and (self.urls != [stream.url] or place.view.named):
                place.view.home = None
        return None

    def reconnect(self):
        for stream in self.streams:
            if stream.phase == "waiting":
                stream.failures = 0
                self.connect(stream)
            elif stream.phase == "open" and self.now - stream.heard >= IDLE:
                self.fail(stream, {"reason": "disconnected"}, at_once=True)

    def close_all(self):
        """The program ends the store: it asks for nothing any more, and takes nothing."""
        self.end_writes()
        for stream in self.streams:
            self.close(stream)
        self.handles, self.views, self.streams = {}, [], []

    # Changes of an open stream.

    def patch(self, stream):
        if stream.phase != "open" or stream.name is None or stream.is_patching:
            return
        wanted = [place for place in stream.places if place.view.fault is None]
        add = [place for place in wanted if place.asked != place.view.wanted]
        remove = [place for name, place in stream.sent.items() if place not in wanted]
        # Every open stream gets the newest token.
        is_newer = self.token is not None and self.token != stream.token
        if not add and not remove and not is_newer:
            return
        stream.is_patching = True
        changed = [place for place in add if place.asked is not None and place.notice != "forbidden"]
        former = {place: place.asked for place in add}
        for place in add:
            place.asked = place.view.wanted
            place.changes += place in changed
        body = {
            **({"add": [place.view.entry() for place in add]} if add else {}),
            **({"remove": [{"feed": place.view.feed, "view": place.view.name} for place in remove]} if remove else {}),
        }
        sent = dict(stream.sent)
        stream.sent = {place.view.name: place for place in [*stream.sent.values(), *add] if place not in remove}
        url, request = f"{stream.url}/v1/streams/{stream.name}", stream.request
        is_current = lambda: stream.request == request

        def take(what):
            if not is_current():
                return
            stream.is_patching = False
            if what.get("status") == 200:
                stream.token = token_sent[0]
                return
            stream.sent = sent
            for place in add:
                place.asked = former[place]
                place.changes -= place in changed and place.changes > 0
            if what.get("isEarly") and self.in_use() is not None:
                # The stream goes on with the token before.
                self.renew_later()
            elif not (what.get("status") == 400 and self.refuse_entry(what["json"], "add", add)):
                status = what.get("status")
                # A stream that the daemon does not know has ended.
                self.fail(stream, trouble_of(None if status == 404 else status, what.get("json") if status != 404 else None), after_of(what))

        token_sent = [None]

        def send(token, answer):
            token_sent[0] = token
            self.request("PATCH", url, answer, token, body, limit=ANSWER)

        self.with_answer(send, take, False, is_current)

    # Messages of streams.

    def take_event(self, stream, name, data):
        try:
            value = json.loads(data)
        except ValueError:
            # Its view is unknown.
            return self.fail(stream, {"reason": "disconnected"})
        stream.failures, stream.was_refused = 0, False
        stream.since = self.now if stream.since is None else stream.since
        if name == "stream":
            stream.name = value["stream"]
            return None
        place = next((one for one in stream.places if one.view.name == value.get("view") and one.asked is not None), None)
        if place is None:
            return None
        view = place.view
        if name == "forbidden":
            place.changes, place.notice, place.is_up_to_date = 0, "forbidden", False
            if value["reason"] == "token-expired":
                self.refuse_token(stream.token, {})
            return None
        if name == "must-refetch" and place.changes > 0:
            place.changes -= 1
            place.notice, place.is_up_to_date = None, False
        elif place.changes == 0 and place.asked == view.wanted and view.home in (None, place):
            self.take_view(place, view, name, value)
        return None

    def take_view(self, place, view, name, value):
        if name in ("absent", "moved"):
            # Another instance may have been asked with the version.
            view.expects_reload = view.expects_reload or view.home is place
            place.notice, view.home, view.is_misfit = name, None, False
            place.is_up_to_date = False
            url = value.get("url", "").rstrip("/")
            if url and url not in self.urls and url not in view.named:
                view.named.append(url)
            return self.be_absent(view)
        if name == "must-refetch":
            # Another instance may have been asked with the version.
            if view.home is place:
                view.expects_reload = view.is_misfit = True
            place.is_up_to_date = False
            return None
        # Until a reload, everything else is of a state that the view does not have.
        is_other = name == "message" and value["mode"] == "diff" or name == "up-to-date" and "partition" in value or name == "window"
        if name not in ("message", "up-to-date", "window") or view.expects_reload and is_other:
            return None
        if name == "message" and value["mode"] == "delete" and view.is_absent:
            return None
        if view.home is None:
            view.home, view.named = place, []
        place.notice = None
        if name == "message":
            return self.take_changeset(view, value)
        if name == "up-to-date":
            place.is_up_to_date = True
        for section, totals in zip(view.sections or [], value.get("window", [])):
            section.update({"from": totals["from"], "of": totals["of"]})
        if "epoch" in value and not view.expects_reload:
            view.known = (value["epoch"], value["revision"])
            self.refresh(view)
        return None

    def take_changeset(self, view, value):
        if value["feed"] != view.feed:
            return self.misfit(view)
        version = (value["epoch"], value["revision"])
        if value["mode"] == "delete":
            return self.remove(view)
        if value["mode"] == "reload":
            if not view.expects_reload and version[0] == view.version[0] and version[1] <= view.version[1]:
                # A keyframe of what there is, unless one of both is wrong.
                if version != view.version or value["checksum"] == checksum(view.sections):
                    return None
        elif version[0] != view.version[0]:
            return self.misfit(view)
        elif version[1] <= view.version[1]:
            return None
        elif value["base"] != view.version[1]:
            return self.misfit(view)
        try:
            sections = applied([value], view.sections)
            if checksum(sections) != value["checksum"]:
                return self.misfit(view)
        except LookupError:
            return self.misfit(view)
        view.sections, view.version, view.known = sections, version, version
        view.through = {**view.through, **value["through"]}
        view.is_absent = False
        for section, totals in zip(sections, value.get("window", [])):
            section.update({"from": totals["from"], "of": totals["of"]})
        # This is what writes wait for that have no offset.
        for write in self.writes.get(view.feed, []):
            if write.written is not None and "offset" not in write.written:
                write.ends[view] = 0
        if value["mode"] == "reload":
            view.expects_reload = view.is_misfit = False
            self.cancel(("refetch", view))
        else:
            view.refetches = 0
        return self.refresh(view, "state" if value["mode"] == "reload" else "changed")

    def misfit(self, view):
        view.expects_reload = view.is_misfit = True
        if ("refetch", view) not in self.timers:
            wait = min(1000 * 2 ** (view.refetches - 1), MOST_WAIT) if view.refetches else 0
            view.refetches += 1
            self.timer(("refetch", view), wait, lambda: self.refetch(view))

    @staticmethod
    def refetch(view):
        view.round += 1

    def remove(self, view):
        view.expects_reload, view.is_misfit = True, False
        self.cancel(("refetch", view))
        if not view.is_absent:
            view.is_absent = True
            view.sections = view.version = view.known = None
            self.refresh(view, "absent")

    def is_nowhere(self, view):
        """Whether all instances have said that they do not have the feed."""
        notices = [place.notice for place in view.places.values()]
        return len(notices) >= len(self.urls) and "absent" in notices and all(one in ("absent", "moved") for one in notices)

    def be_absent(self, view):
        """There is no such feed, unless it is moving: the instance that gets it says for a while that there is none."""
        if self.is_nowhere(view):
            if any(place.notice == "moved" for place in view.places.values()):
                self.timer(("moving", view), MOVING, lambda: self.is_nowhere(view) and self.remove(view))
            else:
                self.remove(view)

    # Tokens.

    def in_use(self):
        """The last token that was accepted, if it has not ended."""
        return self.accepted if self.is_valid(self.accepted) else None

    def is_valid(self, token):
        return token is not None and (claim(token, "exp") or math.inf) > self.now

    def with_token(self, then, is_wanted, is_stream=False):
        """Passes on the token for a request. For a stream the callback is asked even if there is one."""
        if self.coming is not None and self.now < self.coming[1] and (is_stream or self.token is None):
            return then(self.in_use() or self.coming[0], None)
        if self.is_valid(self.token) and (self.is_given or not is_stream) or not self.has_callback:
            return then(self.token, None)
        return self.ask(lambda token, error: is_wanted() and self.use(then, is_wanted, token, error))

    def use(self, then, is_wanted, token, error):
        """Without a newer token, the present one stays in use until it ends."""
        present = self.token if self.is_valid(self.token) else self.in_use()
        if token is None and present is not None:
            self.token, error = present, None
        elif error is None:
            self.become(token)
        # A write of another person is not.
        return then(self.token, error) if is_wanted() else None

    def become(self, token, is_given=False):
        """Takes a token into use. What one person saw and wrote is not for another one."""
        self.token, self.is_given = token, is_given
        self.renew_later()
        former, self.person = self.person, self.person if token is None else claims(token).get("sub", "")
        if former in (None, self.person):
            return
        self.accepted = self.coming = None
        self.end_writes()
        for view in self.views:
            kind = "pending" if view.shown is None else "state"
            view.sections = view.version = view.known = view.home = None
            view.expects_reload, view.is_misfit, view.is_absent, view.through = True, False, False, {}
            self.refresh(view, kind)
        for stream in self.streams:
            if stream.phase != "asking":
                self.close(stream)
                stream.trouble = None

    def ask(self, then):
        if self.asking is None:
            self.asking = []
            self.then["tokenAsks"] = self.then.get("tokenAsks", 0) + 1
        self.asking.append(then)

    def is_early(self, token, problem):
        return "not valid yet" in problem.get("detail", "") or (claim(token, "nbf") or 0) > self.now

    def note_token(self, token):
        self.accepted = token
        if self.coming is not None and self.coming[0] == token:
            self.token, self.coming = token, None

    def refuse_token(self, token, problem):
        """Returns whether the token is not valid yet, so that it is kept."""
        if token is not None and self.is_early(token, problem):
            if self.coming is None or self.coming[0] != token:
                self.coming = (token, self.now + EARLY)
            self.token = self.in_use()
            return True
        if token == self.accepted:
            self.accepted = None
        if self.coming is not None and self.coming[0] == token:
            self.coming = None
        if token == self.token and self.has_callback:
            self.token, self.is_given = None, False
        return False

    def with_answer(self, send, take, is_patient=True, is_wanted=lambda: True):
        """Sends a request with the token, and again with another one if that is refused, or later if it is not valid yet."""
        sent = {"early": 0, "refused": False}

        def begin(token, error):
            if error is not None:
                return take({"noToken": error})
            return send(token, lambda what: answered(token, what))

        def answered(token, what):
            if what.get("status") != 401:
                if "status" in what:
                    self.note_token(token)
                return take(what)
            if self.refuse_token(token, what["json"]):
                sent["early"] += 1
                if not is_patient or sent["early"] > MOST_EARLY:
                    return take({**what, "isEarly": True})
                pause = 0 if self.in_use() is not None else EARLY_PAUSE
                return self.timer(("early", token, id(sent)), pause, lambda: is_wanted() and self.with_token(begin, is_wanted))
            if sent["refused"] or not self.has_callback:
                return take(what)
            sent["refused"] = True
            return self.ask(lambda other, error: is_wanted() and self.use(
                lambda newer, fault: take(what) if fault is not None or newer == token else begin(newer, None), is_wanted, other, error))

        self.with_token(begin, is_wanted)

    def renew_later(self):
        """Asks for a newer token 30 s before its end, or at half of what is left if that is later."""
        end = claim(self.token, "exp")
        if end is not None and self.has_callback:
            left = end - self.now
            self.timer("renewal", max(left - RENEWAL, left / 2, EARLY_PAUSE), self.renew)

    def renew(self):
        if any(stream.phase == "open" for stream in self.streams):
            if self.coming is not None and self.now < self.coming[1]:
                self.token = self.coming[0]
            else:
                self.ask(self.renewed)

    def renewed(self, token, error):
        if token is not None and error is None and token != self.token:
            self.become(token)

    def set_token(self, token):
        self.coming = None
        if token is None:
            self.token = self.accepted = None
            return
        self.become(token, True)
        asking, self.asking = self.asking, None
        for then in asking or []:
            then(token, None)
        self.is_given = True
        for stream in self.streams:
            if stream.phase == "waiting":
                self.connect(stream)

    # Writes.

    def write(self, write):
        writes = self.writes.setdefault(write.feed, [])
        if len(writes) >= MOST_PENDING:
            return self.outcome(write, {"failed": "too-many-writes", "isSent": False})
        former = next((one for one in writes if one.phase == "queued" and write.key is not None and one.key == write.key), None)
        if former is None:
            writes.append(write)
        else:
            former.names, former.events, former.wait = [*former.names, *write.names], write.events, write.wait
        self.refresh_feed(write.feed)
        return self.pump(write.feed)

    def pump(self, feed):
        """Sends the next write: one request at a time decides the order."""
        writes = self.writes.get(feed, [])
        unfinished = [one for one in writes if one.phase in ("sending", "asking")]
        queued = [one for one in writes if one.phase == "queued"]
        if queued and len(unfinished) < MOST_UNFINISHED and not any(one.phase == "sending" for one in unfinished):
            self.post(queued[0])

    def post(self, write):
        write.phase = "sending"
        home = next((view.home for view in self.views if view.feed == write.feed and view.home is not None), None)
        connected = next((stream for stream in self.streams if stream.phase == "open"), None)
        server = home.stream.url if home is not None else connected.url if connected is not None else self.urls[0]
        url = f"{server}/v1/feeds/{urllib.parse.quote(write.feed, safe='')}/events"

        def send(token, answer):
            write.request = self.request("POST", url, answer, token, write.events, limit=ANSWER)

        def take(what):
            status, value = what.get("status"), what.get("json") or {}
            if status not in (200, 202):
                self.drop(write, failure_of(status, value, what.get("noToken")))
            elif status == 202 and write.wait > 0 and "offset" in value:
                write.phase, write.written = "asking", value
                self.get_outcome(write, f"{url}?partition={value['partition']}&offset={value['offset']}")
                self.refresh_feed(write.feed)
            else:
                self.finish(write, value, status == 200)
            self.pump(write.feed)

        self.with_answer(send, take, is_wanted=lambda: write in self.writes.get(write.feed, []))

    def get_outcome(self, write, url):
        def send(token, answer):
            write.request = self.request("GET", url, answer, token, wait=write.wait, limit=1000 * write.wait + ANSWER)

        def take(what):
            if what.get("status") in (412, 422):
                self.drop(write, failure_of(what["status"], what["json"], None))
            else:
                is_published = what.get("status") == 200
                self.finish(write, what["json"] if is_published else write.written, is_published)
            self.pump(write.feed)

        self.with_answer(send, take, is_wanted=lambda: write in self.writes.get(write.feed, []))

    def outcome(self, write, outcome):
        for name in write.names:
            self.then.setdefault("writes", {})[name] = outcome

    def end_writes(self):
        writes, self.writes = self.writes, {}
        for write in [write for feed in writes.values() for write in feed if write.phase != "done"]:
            self.outcome(write, {"failed": None, "isSent": write.phase == "asking" or write.request in self.open})
            self.ended(write.request)

    def finish(self, write, written, is_published):
        write.phase, write.written, write.is_published = "done", written, is_published
        self.outcome(write, {"written": written})
        self.refresh_feed(write.feed)
        self.forget_writes(write.feed)

    def drop(self, write, outcome):
        self.writes[write.feed].remove(write)
        self.outcome(write, outcome)
        self.refresh_feed(write.feed)

    def shows(self, view, write):
        """Whether a write is still to be shown."""
        if write.written is None:
            return True
        topic, offset, revision = (write.written.get(key) for key in ("topic", "offset", "revision"))
        is_included = (
            offset is not None and view.through.get(topic, -1) >= offset
            or revision is not None and view.known is not None and view.known[0] == write.written["epoch"] and view.known[1] >= revision
            or write.is_published and (revision is None or write.written.get("changed") is False)
        )
        if is_included:
            write.ends[view] = 0
        elif write.phase == "done":
            write.ends.setdefault(view, self.live_time(view) + (SHOWN_PUBLISHED if write.is_published else SHOWN_SENT))
        return write.ends.get(view, math.inf) > self.live_time(view)

    def live_time(self, view):
        is_live = self.standing(view)["name"] == "live"
        if is_live and view.live_since is None:
            view.live_since = self.now
        elif not is_live and view.live_since is not None:
            view.lived, view.live_since = view.lived + self.now - view.live_since, None
        return view.lived + (self.now - view.live_since if is_live else 0)

    def refresh_feed(self, feed):
        for view in self.views:
            if view.feed == feed:
                self.refresh(view)

    def refresh(self, view, kind="pending"):
        """Makes what a view shows: the published sections with the writes that these do not include."""
        former = view.shown, view.version, view.is_pending
        writes = [write for write in self.writes.get(view.feed, []) if self.shows(view, write)]
        view.shown, view.is_pending = view.sections, False
        if view.sections is not None:
            totals = [{"from": 0, "of": len(section["items"]), **section} for section in view.sections]
            overlay = Overlay(totals, view.window)
            for write in writes:
                events = write.events if isinstance(write.events, list) else [write.events]
                overlay.record([one for one in events if one["op"] in SHOWN])
            view.is_pending = overlay.sections != totals
            if view.is_pending:
                view.shown = overlay.sections
        if kind == "changed" and (view.is_pending or former[2]):
            kind = "pending"
        if kind != "pending" or former != (view.shown, view.version, view.is_pending):
            self.update(view, kind)
        ends = [write.ends[view] for write in writes if view in write.ends]
        self.cancel(("pending", view))
        if ends and self.standing(view)["name"] == "live":
            self.timer(("pending", view), min(ends) - self.live_time(view), lambda: self.refresh_feed(view.feed))
        self.forget_writes(view.feed)

    def forget_writes(self, feed):
        views = [view for view in self.views if view.feed == feed]
        kept = [one for one in self.writes.get(feed, []) if one.phase != "done" or any(self.shows(view, one) for view in views)]
        self.writes[feed] = kept


def trouble_of(status, problem):
    reasons = {None: "disconnected", 401: "token-needed", 403: "forbidden", 429: "unavailable"}
    reason = reasons.get(status, "bad-request" if status is not None and 400 <= status < 500 else "unavailable")
    detail = (problem or {}).get("detail")
    return {"reason": reason, **({"detail": detail} if detail is not None else {})}


def after_of(what):
    return min(1000 * int(what.get("headers", {}).get("Retry-After", 0)), MOST_AFTER)


def failure_of(status, problem, error):
    if error is not None:
        return {"failed": None, "isSent": False}
    if status is None or not 400 <= status < 500:
        return {"failed": problem.get("code"), "isSent": True}
    return {"rejected": problem.get("code", str(status))}


if __name__ == "__main__":
    import stream_cases

    stream_cases.main()
