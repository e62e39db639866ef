"""`python -m feedstore watch news` draws a feed; `python -m feedstore follow localhost:9092` prints all feeds of a topic."""

import argparse
import errno
import logging
import os
import queue
import shutil
import signal
import sys
from typing import Any, List, Optional

from . import FeedStore, Update, Window, __version__
from .errors import FeedStoreError
from .terminal import Screen, clean, described, lines_of, size


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m feedstore", description="Shows FeedStore's feeds.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    watch = commands.add_parser(
        "watch", help="draws a feed in a terminal, and keeps it up to date",
        description="Draws a feed in a terminal, and keeps it up to date. Elsewhere than in a terminal it prints a line for each change. "
        "The token is that of the environment variable FEEDSTORE_HTTP_TOKEN.",
    )
    watch.add_argument("feed", help="the feed's id")
    watch.add_argument(
        "--url", action="append", help="the daemon (http://127.0.0.1:8321); more than once for several instances"
    )
    follow = commands.add_parser(
        "follow", help="prints the feeds of a changesets topic as they change; needs feedstore[kafka]",
        description="Prints the feeds of a changesets topic as they change. The topic is read from its beginning.",
    )
    follow.add_argument("servers", help="bootstrap.servers")
    follow.add_argument("--topic", default="feeds.changesets")
    follow.add_argument("--once", action="store_true", help="print all feeds as JSON, one per line, and exit")
    return parser


def _watch(feed: str, urls: List[str]) -> None:
    token: Optional[str] = os.environ.get("FEEDSTORE_HTTP_TOKEN")
    with FeedStore(urls, token) as store:
        if sys.stdout.isatty():
            _draw(store, feed)
        else:
            for update in store.feed(feed):
                print(_line(update), flush=True)


def _line(update: Update[Any]) -> str:
    view, feed = update.view, clean(update.view.feed)
    if update.kind in ("state", "changed", "pending"):
        mode = update.change.mode if update.change else "state"
        return f"{feed} {mode} revision {view.revision}: {size(view)}"
    return f"{feed}: {described(view.standing) if update.kind == 'standing' else 'there is no such feed'}"


def _terminal_size() -> os.terminal_size:
    # Before Python 3.11 a terminal without a size has 0 lines.
    columns, lines = shutil.get_terminal_size()
    return os.terminal_size((columns or 80, lines or 24))


def _draw(store: FeedStore, feed_id: str) -> None:
    # What there is to do: "update" once at a time, or "resize". A signal may come while it is used.
    work: "queue.SimpleQueue[str]" = queue.SimpleQueue()
    waiting = [False]

    def on_update(_: Update[Any]) -> None:
        if not waiting[0]:
            waiting[0] = True
            work.put("update")

    screen, terminal = Screen(), _terminal_size()
    feed = store.feed(feed_id, Window(first=terminal.lines))
    feed.subscribe(on_update)
    # Otherwise it would end without giving back the screen.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    resized = getattr(signal, "SIGWINCH", None)
    if resized is not None:
        signal.signal(resized, lambda *_: work.put("resize"))
    try:
        print(Screen.BEGIN, end="")
        while True:
            print(screen.drawn(lines_of(feed.view, terminal.lines), terminal.columns), end="", flush=True)
            if work.get() == "resize":
                terminal = _terminal_size()
                feed.show(Window(first=terminal.lines))
            waiting[0] = False
    finally:
        print(Screen.END, end="", flush=True)


def _follow(servers: str, topic: str, once: bool) -> None:
    try:
        from .kafka import Follower
    except ImportError:
        raise FeedStoreError("this needs a client of Kafka: pip install 'feedstore[kafka]'") from None
    with Follower(servers, topic) as follower:
        if once:
            follower.read_to_end()
            for _, view in sorted(follower.views.items()):
                if view.exists and view.standing.name == "live":
                    print(view.to_json())
            return
        for partition, feed, update in follower:
            if update.kind == "absent":
                print(f"{clean(feed)} [{partition}] gone", flush=True)
            elif update.change is not None:
                print(f"{clean(feed)} [{partition}] {update.change.mode} revision {update.view.revision}: {size(update.view)}", flush=True)


def main(arguments: Optional[List[str]] = None) -> int:
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="feedstore: %(message)s", level=logging.WARNING)
    # The terminal's encoding may lack some characters. JSON is always UTF-8.
    if hasattr(sys.stdout, "reconfigure"):
        is_json = options.command == "follow" and options.once
        sys.stdout.reconfigure(encoding="utf-8" if is_json else None, errors="backslashreplace")
    try:
        if options.command == "watch":
            _watch(options.feed, options.url or ["http://127.0.0.1:8321"])
        else:
            _follow(options.servers, options.topic, options.once)
        sys.stdout.flush()
    except (FeedStoreError, ValueError) as error:
        print(f"feedstore: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        # What is left would fail again at the exit. A pipe whose reader has gone (`| head -1`) is no failure.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno != errno.EPIPE:
            print(f"feedstore: cannot write standard output: {error.strerror}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
