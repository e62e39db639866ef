#!/usr/bin/env python3
"""stream_rules.py: writes `stream/rules.md`, the rules of the model in `stream.py`, each with the first vectors that notice if it is broken.

Each rule is a text of the model, and another one that breaks it. With `--check`, only the vectors in the file are tried. Both fail if no vector notices a rule.
"""

import json
import pathlib
import sys
import types

FOLDER = pathlib.Path(__file__).parent
RULES = [
    ("Connecting", [
        ("a stream that had events for 5 s is opened again at once", "self.now - stream.since >= STEADY", "False"),
        ("it must have had them for that long", "STEADY = 5_000", "STEADY = 4_999"),
        ("the time begins with the first event, not with the last", "stream.since = self.now if stream.since is None else stream.since", "stream.since = self.now"),
        ("the time begins with the first event, not with the response", 'stream.phase, stream.trouble = "open", None\n', 'stream.phase, stream.trouble, stream.since = "open", None, self.now\n'),
        ("the first wait is 3 s", "FIRST_WAIT = 3_000", "FIRST_WAIT = 3_001"),
        ("each wait is twice as long as the one before", "stream.retry * 2 ** stream.failures", "stream.retry"),
        ("the longest wait is 30 s", "max(min(stream.retry * 2 ** stream.failures, MOST_WAIT), after)", "max(stream.retry * 2 ** stream.failures, after)"),
        ("an event starts the waits again", "stream.failures, stream.was_refused = 0, False\n", "stream.was_refused = False\n"),
        ("`retry:` is the first wait", 'stream.retry = what.get("retry", stream.retry)', "pass"),
        ("`Retry-After` lengthens the wait", "MOST_WAIT), after)", "MOST_WAIT), 0)"),
        ("`Retry-After` never shortens it", "wait = max(min(stream.retry * 2 ** stream.failures, MOST_WAIT), after)", "wait = after or min(stream.retry * 2 ** stream.failures, MOST_WAIT)"),
        ("`Retry-After` counts up to 300 s", "MOST_AFTER = 300_000", "MOST_AFTER = 1_000_000"),
        ("no byte for 60 s ends a stream", "SILENCE = 60_000", "SILENCE = 60_001"),
        ("a comment is a sign of life", '        self.listen(stream)\n        if "event" in what:', '        if "event" in what:\n            self.listen(stream)'),
        ("an attempt has 60 s, too", 'self.timer(("late", stream), LATE, lambda: self.late(stream))\n        self.listen(stream)', 'self.timer(("late", stream), LATE, lambda: self.late(stream))'),
        ("no response for 10 s makes the standing `stale`", "LATE = 10_000", "LATE = 10_001"),
        ("only an attempt can be late, not a stream that is open", '            self.cancel(("late", stream))\n', ""),
        ("the standing has the time of the next attempt", 'stream.trouble = {**trouble, "until": self.now + wait}', "stream.trouble = trouble"),
        ("a standing stays while the next attempt goes on", 'stream.phase = "asking"\n        self.timer', 'stream.phase, stream.trouble = "asking", None\n        self.timer'),
        ("a version is sent if there is one", 'version = {} if self.expects_reload else', "version = {} if True else"),
        ("401 means `token-needed`", '401: "token-needed", ', ""),
        ("403 means `forbidden`", '403: "forbidden", ', ""),
        ("429 means `unavailable`", ', 429: "unavailable"', ""),
        ("any other 4xx means `bad-request`", '"bad-request" if status is not None', '"unavailable" if status is not None'),
        ("the detail of a refusal is the daemon's", '**({"detail": detail} if detail is not None else {})', "**{}"),
        ("a response without a stream is a failure", 'if what["status"] == 200 and not what["json"]:', 'if what["status"] == 200:'),
        ("the last feed that leaves ends the stream", "        self.abort(stream)\n        self.cancel", "        self.cancel"),
        ("256 entries share a stream", "MOST_ENTRIES = 256", "MOST_ENTRIES = 257"),
        ("`reconnect` tries streams that wait at once", 'if stream.phase == "waiting":\n                stream.failures = 0\n                self.connect(stream)', 'if stream.phase == "waiting":\n                stream.failures = 0'),
        ("`reconnect` starts the waits again", '                stream.failures = 0\n                self.connect(stream)', "                self.connect(stream)"),
        ("`reconnect` ends a stream without a byte for 20 s", "IDLE = 20_000", "IDLE = 20_001"),
        ("it opens that stream again at once", '{"reason": "disconnected"}, at_once=True)', '{"reason": "disconnected"})'),
        ("data that is not JSON ends the stream", '            return self.fail(stream, {"reason": "disconnected"})\n        stream.failures', "            return None\n        stream.failures"),
        ("a closed store ends its streams", "            self.close(stream)\n        self.handles, self.views", "            pass\n        self.handles, self.views"),
        ("its writes fail", "        self.end_writes()\n        for stream", "        for stream"),
    ]),
    ("The entries of a stream", [
        ("calls of one turn make one request", "            self.take(one)\n        self.flush()", "            self.take(one)\n            self.flush()\n        self.flush()"),
        ("views are named by numbers that count up", "            self.view_names += 1\n            found = View(str(self.view_names)", "            found = View(str(len(self.views) + 1)"),
        ("equal windows of a feed share a view", "(one.feed, one.window) == (feed, window)), None)", "False), None)"),
        ("another window keeps the view", "if len(view.handles) == 1 and not any", "if False and not any"),
        ("a window that others show gets a view of its own", "if len(view.handles) == 1 and not any", "if not any"),
        ("a new view of a shown feed begins with the former state", "            if former is not None:", "            if False:"),
        ("another window has no version", "view.window, view.fault, view.expects_reload, view.is_misfit = window, None, True, False", "view.window, view.fault, view.is_misfit = window, None, False"),
        ("a view that others follow shows its state at once", '            self.update_one(handle, "state" if view.shown is not None else "absent")', "            pass"),
        ("or that there is no feed", "(other.shown is not None or other.is_absent)", "other.shown is not None"),
        ("one `PATCH` at a time for a stream", "            return\n        wanted = [place", "            pass\n        wanted = [place"),
        ("a `PATCH` waits for the name of the stream", 'if stream.phase != "open" or stream.name is None or', 'if stream.phase != "open" or'),
        ("what changes while a `PATCH` is on its way follows it", "            stream.is_patching = False\n            if", "            if"),
        ("a view that is left is removed", "remove = [place for name, place in stream.sent.items() if place not in wanted]", "remove = []"),
        ("messages before `must-refetch` are of the former window", "place.changes == 0 and place.asked", "place.asked"),
        ("each change of a window has its `must-refetch`", "place.changes += place in changed", "place.changes = int(place in changed)"),
        ("messages are ignored if another window is wanted", "place.asked == view.wanted and view.home in", "view.home in"),
        ("a forbidden view has no `must-refetch` when it changes", ' and place.notice != "forbidden"]', "]"),
        ("`forbidden` ends the changes of a window", 'place.changes, place.notice, place.is_up_to_date = 0, "forbidden", False', 'place.notice, place.is_up_to_date = "forbidden", False'),
        ("all of them", 'place.changes, place.notice, place.is_up_to_date = 0, "forbidden", False', 'place.changes, place.notice, place.is_up_to_date = max(0, place.changes - 1), "forbidden", False'),
        ("an entry that is refused is left out", "place.view.fault = problem[\"detail\"]\n                return True", "return True"),
        ("a window that comes back before the daemon was asked is asked for again", "view.round += view.home is not None", "view.round += False"),
        ("another window clears the refusal", "view.window, view.fault, view", "view.window, _, view"),
        ("a `PATCH` that fails ends the stream", "                status = what.get(\"status\")\n", "                return\n"),
        ("a `PATCH` to an unknown stream is the end of a stream", "trouble_of(None if status == 404 else status", "trouble_of(status"),
        ("a `PATCH` has 30 s", 'answer, token, body, limit=ANSWER)\n\n        self.with_answer(send, take, False', 'answer, token, body, limit=ANSWER + 1)\n\n        self.with_answer(send, take, False'),
        ("what a refused `PATCH` asked for is asked for again", "                place.asked = former[place]\n", ""),
        ("what a refused `PATCH` removed is removed again", "            stream.sent = sent\n", ""),
        ("a refused `PATCH` changed no window", "                place.changes -= place in changed and place.changes > 0\n", ""),
    ]),
    ("States", [
        ("`up-to-date` makes a feed live", '            place.is_up_to_date = True\n', "            pass\n"),
        ("it does not while a state is awaited", 'name == "up-to-date" and "partition" in value', "False"),
        ("without a partition it does: the feed was deleted", '"partition" in value or', "True or"),
        ("a change of the window ends `live`", "home.is_up_to_date and home.changes == 0 and home.asked == view.wanted", "home.is_up_to_date"),
        ("a new stream ends `live`", "        self.changes = 0  # How many `must-refetch` come because of changes.\n        self.notice = None\n        self.is_up_to_date = False", "        self.changes = 0\n        self.notice = None\n        self.is_up_to_date = getattr(self, 'is_up_to_date', False)"),
        ("`must-refetch` makes a feed stale", "            view.expects_reload = view.is_misfit = True\n            place.is_up_to_date = False\n            return None", "            view.expects_reload = True\n            place.is_up_to_date = False\n            return None"),
        ("after it, `up-to-date` must come again", "view.expects_reload = view.is_misfit = True\n            place.is_up_to_date = False\n            return None", "view.expects_reload = view.is_misfit = True\n            return None"),
        ("a reload ends that", "view.expects_reload = view.is_misfit = False\n", "view.expects_reload = False\n"),
        ("a reload that is awaited is taken with any revision", "if not view.expects_reload and version[0] == view.version[0] and", "if view.version is not None and version[0] == view.version[0] and"),
        ("a reload of what there is, or of something older, changes nothing", "version[0] == view.version[0] and version[1] <= view.version[1]:\n                #", "False:\n                #"),
        ("a reload of the same revision with a wrong checksum does not fit", 'if version != view.version or value["checksum"] == checksum(view.sections):', "if True:"),
        ("changes that the view has are ignored", "        elif version[1] <= view.version[1]:\n            return None\n", ""),
        ("changes wait for a reload if one is awaited", 'name == "message" and value["mode"] == "diff" or', ""),
        ("totals wait for it, too", ' or name == "window"\n', "\n"),
        ("a change of another epoch does not fit", "        elif version[0] != view.version[0]:\n            return self.misfit(view)\n", ""),
        ("a change of another base does not fit", '        elif value["base"] != view.version[1]:\n            return self.misfit(view)\n', ""),
        ("a wrong checksum does not fit", '            if checksum(sections) != value["checksum"]:\n                return self.misfit(view)\n', ""),
        ("a change that cannot be applied does not fit", "        except LookupError:\n            return self.misfit(view)", "        except LookupError:\n            return None"),
        ("what does not fit is asked for again at once, then after 1 s", "if view.refetches else 0", "if True else 0"),
        ("each further pause is twice as long", "1000 * 2 ** (view.refetches - 1)", "1000"),
        ("the longest is 30 s", "min(1000 * 2 ** (view.refetches - 1), MOST_WAIT)", "1000 * 2 ** (view.refetches - 1)"),
        ("a change that fits resets the pause", "            view.refetches = 0\n", "            pass\n"),
        ("a reload does not", "            self.cancel((\"refetch\", view))\n        else:", "            self.cancel((\"refetch\", view))\n            view.refetches = 0\n        else:"),
        ("a reload ends the pause", '            view.expects_reload = view.is_misfit = False\n            self.cancel(("refetch", view))\n', "            view.expects_reload = view.is_misfit = False\n"),
        ("during a pause nothing else asks", '        if ("refetch", view) not in self.timers:\n', "        if True:\n"),
        ("a new stream asks for the state itself", '            place.view.is_misfit = False\n            self.cancel(("refetch", place.view))\n', "            place.view.is_misfit = False\n"),
        ("`absent` means live, with nothing", 'if view.is_absent and self.is_nowhere(view):\n            return {"name": "live"}', 'if view.is_absent and self.is_nowhere(view):\n            return {"name": "catching-up"}'),
        ("`absent` is shown once", "        if not view.is_absent:\n", "        if True:\n"),
        ("after `absent`, `moved` and a deletion a reload comes", "view.expects_reload = view.expects_reload or view.home is place", "pass"),
        ("not if another instance says so, while the former one is asked with the version", "view.expects_reload = view.expects_reload or view.home is place", "view.expects_reload = True"),
        ("a changeset of another feed does not fit", '        if value["feed"] != view.feed:\n            return self.misfit(view)\n', ""),
        ("`must-refetch` of another instance does not", "            if view.home is place:\n                view.expects_reload = view.is_misfit", "            if True:\n                view.expects_reload = view.is_misfit"),
        ("a deletion shows nothing", '        if value["mode"] == "delete":\n            return self.remove(view)\n', '        if value["mode"] == "delete":\n            return None\n'),
        ("a feed that moved is stale", 'for notice in ("moved", "forbidden"):', 'for notice in ("forbidden",):'),
        ("a feed that is forbidden is stale", 'for notice in ("moved", "forbidden"):', 'for notice in ("moved",):'),
        ("a message ends that", "        place.notice = None\n        if name", "        if name"),
        ("the store's standing is the worst", "worst = max(", "worst = min("),
        ("without feeds the store is live", 'default={"name": "live"})', 'default={"name": "connecting"})'),
        ("the order is `live`, `catching-up`, `connecting`, `stale`", '["live", "catching-up", "connecting", "stale"]', '["live", "connecting", "catching-up", "stale"]'),
    ]),
    ("Instances", [
        ("the instance that has a feed is asked alone", "urls = [view.home.stream.url] if view.home is not None else", "urls = [] if False else"),
        ("others are ignored then", " and view.home in (None, place):", ":"),
        ("after its stream ends, all are asked", "                place.view.home = None\n", "                pass\n"),
        ("a feed is absent if all instances say so", "all(one in (\"absent\", \"moved\") for one in notices)", "True"),
        ("the instance that `moved` names is asked, too", "                view.named.append(url)\n", "                pass\n"),
        ("a feed that moved is absent after 30 s", "MOVING = 30_000", "MOVING = 1"),
        ("a feed that another instance may send is catching up", '        if any(place.stream.phase == "open" and place.notice is None for place in places):\n            return {"name": "catching-up"}\n', ""),
        ("a write goes to the instance that has the feed", "home.stream.url if home is not None else connected.url", "connected.url"),
        ("or to one that is connected", "else connected.url if connected is not None else self.urls[0]", "else self.urls[0]"),
        ("equal URLs count once", 'list(dict.fromkeys(url.rstrip("/") for url in urls))', '[url.rstrip("/") for url in urls]'),
    ]),
    ("Tokens", [
        ("each attempt asks the callback", "and (self.is_given or not is_stream)", "and True"),
        ("a token of `setToken` is used without it", "(self.is_given or not is_stream)", "(not is_stream)"),
        ("after the callback has answered, it is asked again", "self.token, self.is_given = token, is_given\n", "self.token, self.is_given = token, is_given or self.is_given\n"),
        ("a token that has ended is not used", "if self.is_valid(self.token) and (self.is_given", "if self.token is not None and (self.is_given"),
        ("without a newer token the present one stays", "if token is None and present is not None:", "if False:"),
        ("until it ends", "return token is not None and (claim(token, \"exp\") or math.inf) > self.now", "return token is not None"),
        ("an attempt without a token because the callback failed is not made", '        if error is not None:\n            return self.fail(stream, {"reason": "token-needed", "detail": error})\n', ""),
        ("the standing names the callback's error", '"token-needed", "detail": error}', '"token-needed"}'),
        ("a callback without an answer for 10 s is named", 'if stream.phase == "asking":\n            stream.trouble', 'if False:\n            stream.trouble'),
        ("one call at a time", "        if self.asking is None:\n            self.asking = []\n", "        if self.asking is None:\n            self.asking = []\n        if True:\n"),
        ("a refused token is asked for at once", "if self.has_callback and not self.is_early(stream.token, problem) and", "if False and"),
        ("once", "and stream.failures == 0 and not stream.was_refused:", "and stream.failures == 0:"),
        ("and only after a stream, or first", "and stream.failures == 0 and not", "and not"),
        ("the same token is not sent at once", "token in (former, None)", "token is None"),
        ("without a token nothing is sent at once", "token in (former, None)", "token == former"),
        ("a refused token is not used any more", "        if token == self.token and self.has_callback:\n            self.token, self.is_given = None, False\n", ""),
        ("an answer to a stream that is not 401 accepts its token", "        else:\n            self.note_token(stream.token)\n        return self.fail", "        return self.fail"),
        ("without a callback it stays", "if token == self.token and self.has_callback:", "if token == self.token:"),
        ("`token-expired` means a refused token", '                self.refuse_token(stream.token, {})\n', "                pass\n"),
        ("a token is renewed 30 s before its end", "RENEWAL = 30_000", "RENEWAL = 29_000"),
        ("or at half of what is left", "max(left - RENEWAL, left / 2, EARLY_PAUSE)", "max(left - RENEWAL, EARLY_PAUSE)"),
        ("after 1 s at least", "max(left - RENEWAL, left / 2, EARLY_PAUSE)", "max(left - RENEWAL, left / 2)"),
        ("not while no stream is open", 'if any(stream.phase == "open" for stream in self.streams):', "if True:"),
        ("open streams get the newest token", "is_newer = self.token is not None and self.token != stream.token", "is_newer = False"),
        ("`setToken` tries streams that wait", '            if stream.phase == "waiting":\n                self.connect(stream)\n\n    # Writes', "            pass\n\n    # Writes"),
        ("`setToken` answers for the callback", "        asking, self.asking = self.asking, None\n        for then in asking or []:\n            then(token, None)\n", ""),
        ("`setToken(null)` forgets the token", "            self.token = self.accepted = None\n            return", "            return"),
        ("also one that was accepted", "            self.token = self.accepted = None\n            return", "            self.token = None\n            return"),
        ("a token of `setToken` is that of the program for those who wait for the callback, too", "        self.is_given = True\n        for stream", "        for stream"),
        ("a token of another person shows nothing of the former one", "view.sections = view.version = view.known = view.home = None\n            view.expects", "view.home = None\n            view.expects"),
        ("opens the streams again", 'if stream.phase != "asking":\n                self.close(stream)\n                stream.trouble = None', "pass"),
        ("ends the writes", "writes, self.writes = self.writes, {}\n", "writes = {}\n"),
        ("those that wait for a token, too", "return then(self.token, error) if is_wanted() else None", "return then(self.token, error)"),
        ("those that were refused were not sent", 'write.phase == "asking" or write.request in self.open}', "write.request is not None}"),
        ("a first token does not change the person", "if former in (None, self.person):", "if former == self.person:"),
        ("a token that is not valid yet is kept", "            return then(self.in_use() or self.coming[0], None)\n", "            pass\n"),
        ("for 5 minutes", "EARLY = 300_000", "EARLY = 400_000"),
        ("not for less", "EARLY = 300_000", "EARLY = 200_000"),
        ("`nbf` says that, too", ' or (claim(token, "nbf") or 0) > self.now', ""),
        ("until then the one before is used", "then(self.in_use() or self.coming[0], None)", "then(self.coming[0], None)"),
        ("at once", "if self.refuse_token(stream.token, problem) and self.in_use() is not None:", "if self.refuse_token(stream.token, problem) and False:"),
        ("a stream goes on with the one before", '            if what.get("isEarly") and self.in_use() is not None:\n', "            if False:\n"),
        ("the newer one is sent again later", "                self.renew_later()\n            elif", "                pass\n            elif"),
        ("a write with such a token is sent again after 1 s", "EARLY_PAUSE = 1_000", "EARLY_PAUSE = 2_000"),
        ("30 times", "MOST_EARLY = 30", "MOST_EARLY = 31"),
        ("a write whose token is refused is sent with another one", 'if sent["refused"] or not self.has_callback:', "if True:"),
        ("with one other at most", 'if sent["refused"] or not self.has_callback:', "if not self.has_callback:"),
        ("not with the same one", "if fault is not None or newer == token else", "if fault is not None else"),
    ]),
    ("Writes", [
        ("`POST` has no wait", 'answer, token, write.events, limit=ANSWER)', "answer, token, write.events, wait=write.wait, limit=ANSWER)"),
        ("one `POST` at a time for a feed", 'and not any(one.phase == "sending" for one in unfinished)', ""),
        ("other feeds do not wait", "writes = self.writes.get(feed, [])\n        unfinished = [one for one in writes if", "writes = self.writes.get(feed, [])\n        unfinished = [one for all in self.writes.values() for one in all if"),
        ("the next `POST` does not wait for an outcome", 'not any(one.phase == "sending" for', "not any(True for"),
        ("4 writes are unfinished at most", "MOST_UNFINISHED = 4", "MOST_UNFINISHED = 5"),
        ("a write without a wait asks for no outcome", 'status == 202 and write.wait > 0 and "offset" in value', 'status == 202 and "offset" in value'),
        ("one without an offset neither", 'write.wait > 0 and "offset" in value', "write.wait > 0"),
        ("one that is published neither", 'elif status == 202 and', "elif"),
        ("the outcome has the wait of the write", "token, wait=write.wait, limit", "token, wait=10, limit"),
        ("422 rejects", 'if what.get("status") in (412, 422):', 'if what.get("status") == 412:'),
        ("412 rejects", 'if what.get("status") in (412, 422):', 'if what.get("status") == 422:'),
        ("any other failure of that request leaves what `POST` said", 'if what.get("status") in (412, 422):', 'if what.get("status") != 200:'),
        ("`POST` has 30 s", 'answer, token, write.events, limit=ANSWER)', "answer, token, write.events, limit=ANSWER + 1)"),
        ("the outcome has 30 s more than its wait", "limit=1000 * write.wait + ANSWER)", "limit=ANSWER)"),
        ("4xx rejects a write", "if status is None or not 400 <= status < 500:", "if True:"),
        ("5xx and silence fail", "if status is None or not 400 <= status < 500:", "if status is None:"),
        ("a write without a token is not sent", 'return take({"noToken": error})', "return send(None, lambda what: answered(None, what))"),
        ("a write that fails is taken back", "        self.writes[write.feed].remove(write)\n        self.outcome(write, outcome)\n        self.refresh_feed(write.feed)", "        self.writes[write.feed].remove(write)\n        self.outcome(write, outcome)"),
        ("a key replaces a write that was not sent", "        if former is None:\n", "        if True:\n"),
        ("not one that was", 'if one.phase == "queued" and write.key is not None', "if write.key is not None"),
        ("nor one with another key", " and one.key == write.key), None)", "), None)"),
        ("nor one without a key", "write.key is not None and one.key", "one.key"),
        ("both have the outcome", "former.names, former.events, former.wait = [*former.names, *write.names],", "former.names, former.events, former.wait = write.names,"),
        ("the newer one's wait counts", "former.wait = [*former.names, *write.names], write.events, write.wait", "former.wait = [*former.names, *write.names], write.events, former.wait"),
        ("1,000 writes of a feed are pending at most", "MOST_PENDING = 1000", "MOST_PENDING = 1001"),
        ("a write is shown at once", "        self.refresh_feed(write.feed)\n        return self.pump", "        return self.pump"),
        ("`through` confirms it", "offset is not None and view.through.get(topic, -1) >= offset", "False"),
        ("of its own offset", "view.through.get(topic, -1) >= offset", "view.through.get(topic, -1) > offset"),
        ("a revision confirms it", "view.known[1] >= revision\n", "view.known[1] > revision\n"),
        ("of its epoch", 'view.known[0] == write.written["epoch"] and', ""),
        ("`up-to-date` and totals name revisions, too", '            view.known = (value["epoch"], value["revision"])\n', "            pass\n"),
        ("a write that changed nothing is over", ' or write.written.get("changed") is False)', ")"),
        ("one that is published without a feed is over", "(revision is None or write", "(write"),
        ("without an offset the next changeset confirms it", "                write.ends[view] = 0\n        if value", "                pass\n        if value"),
        ("after it is published, it is shown for 5 s", "SHOWN_PUBLISHED = 5_000", "SHOWN_PUBLISHED = 60_000"),
        ("after any other answer for 60 s", "SHOWN_SENT = 60_000", "SHOWN_SENT = 50_000"),
        ("of the time in which the feed is live", "        is_live = self.standing(view)[\"name\"] == \"live\"\n", "        is_live = True\n"),
        ("a change beside a pending write is an update `pending`", '        if kind == "changed" and (view.is_pending or former[2]):\n            kind = "pending"\n', ""),
        ("of a feed that does not exist nothing is shown", "        if view.sections is not None:\n            totals", "        view.sections, view.version = view.sections or [], view.version or ('', 0)\n        if True:\n            totals"),
        ("an id is encoded in the URL", "urllib.parse.quote(write.feed, safe='')", "write.feed"),
    ]),
]


def cases():
    """All vectors, with their names."""
    for name in ("rules", "table", "random"):
        for text in (FOLDER / "stream" / f"{name}.ndjson").read_text("utf-8").splitlines():
            case = json.loads(text)
            yield case["title"], case


def is_noticed(model_class, case):
    model = model_class(case["urls"], case.get("hasToken", False))
    try:
        return any(json.loads(json.dumps(model.step(step["at"], *step["do"]))) != step["then"] for step in case["steps"])
    except Exception:
        # A request that a step names was not sent, or the broken model ends in another way.
        return True


def broken(old, new):
    text = (FOLDER / "stream.py").read_text("utf-8")
    if text.count(old) != 1:
        sys.exit(f"stream.py has the text of a rule {text.count(old)} times, expected once: {old}")
    module = types.ModuleType("stream_broken")
    module.__file__ = str(FOLDER / "stream.py")
    exec(compile(text.replace(old, new), "stream.py", "exec"), module.__dict__)
    return module.Model


def text(known=None):
    """The file, and the rules that no vector notices. With the former file, only the vectors that it names are tried."""
    everything, count, living, lines = list(cases()), 0, [], []
    for chapter, rules in RULES:
        lines += ["", f"## {chapter}", "", "| rule | the first vectors |", "|---|---|"]
        for rule, old, new in rules:
            model, found = broken(old, new), []
            tried = everything if known is None else [(title, case) for title, case in everything if title in known.get((chapter, rule), [])]
            for title, case in tried:
                if len(found) < 3 and is_noticed(model, case):
                    found.append(title)
            count += 1
            living += [] if found else [f"{chapter}: {rule}"]
            lines.append(f"| {rule} | {'; '.join(found)} |")
    head = [
        "# The rules of the clients, and the vectors that notice them", "",
        "[`stream_rules.py`](../stream_rules.py) writes this file. It breaks one rule of the model after the other, and replays every vector. A vector notices a rule if the broken",
        f"model does something else. {count} rules are broken, of which {len(living)} are not noticed. [What the clients do](../../docs/clients.md) explains them."]
    return "\n".join(head + lines) + "\n", living


def rows(content):
    """The vectors of each rule in a file."""
    chapter = None
    for line in content.splitlines():
        if line.startswith("## "):
            chapter = line[3:]
        elif line.startswith("| ") and not line.startswith("| rule |"):
            rule, _, titles = line.strip("| ").rpartition(" | ")
            yield (chapter, rule), titles.split("; ")


if __name__ == "__main__":
    PATH = FOLDER / "stream" / "rules.md"
    if "--check" in sys.argv:
        content, living = text(dict(rows(PATH.read_text("utf-8"))))
        if content != PATH.read_text("utf-8"):
            sys.exit("conformance/stream/rules.md does not have the vectors that notice each rule; run: python3 conformance/stream_rules.py")
    else:
        content, living = text()
        PATH.write_text(content, "utf-8")
    sys.exit("\n".join(["no vector notices:", *living]) if living else 0)
