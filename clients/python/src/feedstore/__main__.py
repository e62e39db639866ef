"""`python -m feedstore watch news` draws a feed; `python -m feedstore follow localhost:9092` prints all feeds of a topic."""

import argparse
import errno
import logging
import os
import shutil
import sys
from typing import Any, List, Optional

from . import FeedStore, FeedView, Standing, Update, Window, __version__
from .errors import FeedStoreError


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
    height = _height()
    with FeedStore(urls, token) as store:
        if not sys.stdout.isatty():
            for update in store.feed(feed):
                print(_line(update), flush=True)
        try:
            # Without wrapping: the terminal cuts lines.
            print(_NO_WRAP, end="")
            for update in store.feed(feed, Window(first=height)):
                print(_CLEAR + "\n".join(lines_of(update.view, _height())), end="", flush=True)
        finally:
            print(_WRAP, flush=True)


_NO_WRAP, _WRAP, _CLEAR = "\x1b[?7l", "\x1b[?7h", "\x1b[H\x1b[2J"


def _height() -> int:
    # Before Python 3.11 a terminal without a size has 0 lines.
    return shutil.get_terminal_size().lines or 24


def clean(text: str) -> str:
    """The text without what could control a terminal."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def _described(standing: Standing) -> str:
    detail = "".join(f" ({clean(part)})" for part in [standing.detail] if part)
    return standing.name if standing.reason is None else f"{standing.name}: {standing.reason}{detail}"


def _size(view: FeedView[Any]) -> str:
    return f"{len(view.sections)} sections, {sum(section.of for section in view.sections)} items"


def _line(update: Update[Any]) -> str:
    view, feed = update.view, clean(update.view.feed)
    if update.kind in ("state", "changed", "pending"):
        mode = update.change.mode if update.change else "state"
        return f"{feed} {mode} revision {view.revision}: {_size(view)}"
    return f"{feed}: {_described(view.standing) if update.kind == 'standing' else 'there is no such feed'}"


def lines_of(view: FeedView[Any], height: int) -> List[str]:
    """What a screen of that height shows of a feed."""
    state = f"revision {view.revision}: {_size(view)}" if view.exists else "no state yet"
    if not view.exists and view.standing.name == "live":
        state = "there is no such feed; waiting for it"
    lines = [f"{clean(view.feed)}  {_described(view.standing)}  {state}"]
    for section in view.sections:
        shown = "" if section.of == len(section.items) else f" ({len(section.items)} of {section.of})"
        lines.append(f"▌{clean(section.id)}{shown}{'' if section.data_text == 'null' else f'  {clean(section.data_text)}'}")
        for item in section.items:
            lines.append(f"  {clean(item.id)}{f' [{clean(item.kind)}]' if item.kind else ''}  {clean(item.data_text)}")
    return lines[:height]


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
                print(f"{clean(feed)} [{partition}] {update.change.mode} revision {update.view.revision}: {_size(update.view)}", flush=True)


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
