#!/usr/bin/env python3
"""Measures whether input crafted against a hash table costs more than other input.

    swift build -c release --product feedstore
    /usr/bin/python3 Tests/HostileInput/hash_flooding.py .build/release/feedstore

For items, sections, kinds, member names and feed keys, it writes two replay files: one with texts that collide in a
table that uses the low bits of unseeded XXH3 with linear probing, and one with random texts of the same length. It
prints the user time of `feedstore replay` on each, the medians of several runs, and their ratio. Such a table takes
quadratic time on the first file: 15 to 200 times as long.

It needs python3-xxhash.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import string
import sys
import tempfile

import xxhash

ALPHABET = string.ascii_letters + string.digits


def texts(generator, count, bits=None):
    """So many different texts of six characters.

    With `bits`, all hash to the first slots of a table with 2^bits slots, which 1 in 64 random texts do.
    """
    found = {}
    bound = (1 << bits) // 64 if bits else None
    while len(found) < count:
        text = "".join(generator.choices(ALPHABET, k=6))
        if bits is None or xxhash.xxh3_64_intdigest(text) & (1 << bits) - 1 < bound:
            found[text] = None
    return list(found)


def line(value, key="feed", time=0):
    return json.dumps({"ts": time, "key": key, "value": value}, separators=(",", ":"))


def item_lines(ids):
    """One record with all of them, one with another order, and deletions of missing elements."""
    section = {"op": "section.replace", "section": "s", "items": ids}
    return [line(section), line(section | {"items": ids[::-1]}, time=1000)]


def section_lines(ids):
    return [line({"op": "feed.replace", "sections": [{"id": id} for id in ids]})]


def kind_lines(kinds):
    half = len(kinds) // 2
    return [
        line({"op": "section.replace", "section": name,
              "items": [{"id": f"{name}{number}", "kind": kind} for number, kind in enumerate(part)]})
        for name, part in (("a", kinds[:half]), ("b", kinds[half:]))]


def member_lines(names):
    members = dict.fromkeys(names, 1)
    first = {"op": "item.upsert", "item": "i", "section": "s", "data": members}
    patch = {"op": "item.patch", "item": "i", "data": dict.fromkeys(names, 2)}
    return [line(first), line(patch, time=1000)]


def feed_lines(keys):
    return [line({"op": "feed.replace", "sections": []}, key, number) for number, key in enumerate(keys)]


# The generator, the number of texts, and the bits of the table, which is then less than two thirds full.
CASES = {
    "item ids": (item_lines, 80_000, 17),
    "section ids": (section_lines, 40_000, 16),
    "kinds": (kind_lines, 40_000, 16),
    "member names": (member_lines, 60_000, 17),
    "feed keys": (feed_lines, 80_000, 17),
}


def user_seconds(command, path):
    """The user time of a replay."""
    arguments = [command, "replay", str(path), "--output", "/dev/null", "--rejected", "/dev/null", "--strict",
                 "--set", "limits.maxDataBytes=8000000", "--set", "limits.maxSections=100000",
                 "--set", "output.maxMessageBytes=9000000"]
    quiet = [(os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)]
    process = os.posix_spawn(command, arguments, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(process, 0)
    if status != 0:
        sys.exit(f"{' '.join(arguments)} ended with status {status}")
    return usage.ru_utime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("feedstore", help="the command, built for release")
    parser.add_argument("--runs", type=int, default=5, help="of each file; 5")
    parser.add_argument("--most", type=float, help="exits with 1 if a ratio is more than this")
    parser.add_argument("--case", choices=CASES, action="append", help="only this; may be given several times")
    parser.add_argument("--seed", type=int, default=1, help="of the random texts; 1")
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    worst = 0
    print(f"{'':14} ordinary   hostile   ratio")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.case or CASES:
            lines, count, bits = CASES[name]
            paths = [pathlib.Path(folder) / which for which in ("ordinary", "hostile")]
            for path, made in zip(paths, (texts(generator, count), texts(generator, count, bits))):
                path.write_text("\n".join(lines(made)) + "\n")
            # Alternating, so that other load on the machine affects both equally.
            times = [[user_seconds(arguments.feedstore, path) for path in paths] for _ in range(arguments.runs)]
            ordinary, hostile = (statistics.median(column) for column in zip(*times))
            worst = max(worst, hostile / ordinary)
            print(f"{name:14} {ordinary:6.3f} s  {hostile:6.3f} s  {hostile / ordinary:6.2f}", flush=True)
    if arguments.most is not None and worst > arguments.most:
        sys.exit(f"hostile input costs {worst:.2f} times as much, expected at most {arguments.most}")


if __name__ == "__main__":
    main()
