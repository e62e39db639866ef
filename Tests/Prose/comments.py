"""Counts an idiom in the comments of Sources, by module, and prints the lines of modules above the limit."""

import pathlib
import re
import sys

# Percent of a module's comment lines. Other codebases have 0.2 to 0.5.
LIMIT = 1.0

COMMENT = re.compile(r"^\s*(?:///?|/?\*+)\s?(.*)|\s//\s(.*)")
IDIOM = re.compile(
    r"""
    ^(?:-\ \w+:\ )?what\b | [.;:]\ What\b               # What it has told
    | \b(?:of|to|for|from|in|by|with|than|at|as)\ (?:what(?:ever)?|whom?|whichever|whoever)\b
    | \b(?:that|those)\ of\b                            # those of others
    | \bha(?:s|ve|d)\ (?:it|them|records|input)\ \w     # has it sent
    | \b(?:tells?|told|whoever|nobody|somebody|anew|once\ more|besides|befalls?)\b
    | (?<!there\ )\b(?:is|are)\ no\ (?!longer\b|more\b) # is no number
    | \b(?:go|goes|went)\ on\b | \bcomes?\ again\b | \bstands?\ still\b | \bleads?\ to\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def comments(path: pathlib.Path) -> list[tuple[int, str]]:
    """The comment lines of a file that have a word, with their numbers."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = COMMENT.search(line)
        text = (match[1] or match[2] or "") if match else ""
        if re.search(r"[a-z]", text):
            found.append((number, text))
    return found


def main(root: pathlib.Path) -> int:
    too_many = False
    for module in sorted(path for path in root.iterdir() if path.is_dir()):
        files = [path for path in sorted(module.rglob("*")) if path.suffix in (".swift", ".c", ".h")]
        lines = [(path, number, text) for path in files for number, text in comments(path)]
        idioms = [line for line in lines if IDIOM.search(line[2])]
        share = 100 * len(idioms) / max(1, len(lines))
        if share > LIMIT and len(idioms) > 1:
            too_many = True
            print(f"{module.name}: {len(idioms)} of {len(lines)} comment lines ({share:.1f} %); see CONTRIBUTING.md")
            for path, number, text in idioms:
                print(f"  {path}:{number}: {text}")
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "Sources")))
