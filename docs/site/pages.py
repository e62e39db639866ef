"""The pages of the site, and how the repository's Markdown files become them."""

import html
import os
import pathlib
import re
import shutil

# The navigation: titles and files of the repository, in groups.
PAGES = {
    "Start": [
        ("Quick start", "quickstart.md"), ("Ingest rows and change events", "ingest.md"), ("Glossary", "glossary.md"),
    ],
    "Follow and write": [
        ("Following feeds", "following.md"), ("JavaScript and React", "javascript.md"), ("Python", "python.md"), ("Swift", "swift.md"),
        ("What the clients do", "clients.md"), ("HTTP", "http.md"), ("Poll through a cache", "poll.md"), ("Error codes", "errors.md"),
    ],
    "Operate": [
        ("Install", "install.md"), ("Kubernetes", "kubernetes.md"), ("Configure", "configure.md"), ("Settings", "settings.md"),
        ("TLS, passwords and tokens", "tls.md"), ("Run and scale", "run.md"), ("Serve feeds over HTTP", "serve.md"), ("Monitor", "monitor.md"),
        ("Log messages", "log.md"), ("Faults", "faults.md"), ("Rejected records", "rejected.md"), ("Upgrade and roll back", "upgrade.md"),
        ("Command line", "command-line.md"), ("Security", "security.md"),
    ],
    "Protocol": [("Protocol", "protocol.md"), ("Conformance vectors", "conformance.md")],
    "Development": [
        ("Architecture", "architecture.md"), ("Partitions that move", "architecture-partitions.md"),
        ("The HTTP server", "architecture-http.md"), ("Testing", "testing.md"), ("Benchmarks", "benchmarks.md"), ("Experiments", "experiments.md"),
        ("Contributing", "contributing.md"), ("Changes", "changes.md"),
    ],
}

# Where a page stands in the repository, unless it is in docs under its own name.
ELSEWHERE = {
    "index.md": "README.md",
    "javascript.md": "clients/js/README.md",
    "python.md": "clients/python/README.md",
    "swift.md": "clients/swift/README.md",
    "conformance.md": "conformance/README.md",
    "kubernetes.md": "deploy/kubernetes/README.md",
    "experiments.md": "Benchmarks/EXPERIMENTS.md",
    "contributing.md": "CONTRIBUTING.md",
    "changes.md": "CHANGELOG.md",
}

API = """# Swift API

Three libraries have a public interface. Their documentation is generated from the comments in the sources.

| library | contents |
|---|---|
| <a href="api/documentation/feedclient/index.html"><code>FeedClient</code></a> | follows the changesets topic: replicas, subscriptions; see [Following feeds](following.md#a-service-in-swift) |
| <a href="api/documentation/feed/index.html"><code>Feed</code></a> | snapshots, differences, replicas, changesets and their encoding |
| <a href="api/documentation/feedstore/index.html"><code>FeedStore</code></a> | the actor that holds feeds, coalesces updates and publishes changesets |
"""

FENCE = re.compile(r"^( *)```(.*?)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
# Of Markdown, and of the HTML that pages have.
LINK = re.compile(r'(\]\(|src="|srcset=")([^)\s"]+)')
# Languages that the highlighter does not know.
LANGUAGES = {"ndjson": "json", "json5": "javascript"}


def navigation(root):
    """The groups, with pages of `docs` that are not listed above at the end, under their own headings."""
    listed = {name for pages in PAGES.values() for _, name in pages}
    others = sorted(path for path in (root / "docs").glob("*.md") if path.name not in {*listed, "README.md"})
    more = [(path.read_text().splitlines()[0].lstrip("# "), path.name) for path in others]
    *groups, last = PAGES
    return {**{group: PAGES[group] for group in groups}, last: PAGES[last] + more}


def github_anchor(text, separator="-"):
    """A heading's anchor as GitHub has it, so that links work in both places."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


class Stage:
    """The source folder of the site."""

    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        names = ["index.md", *(name for pages in navigation(root).values() for _, name in pages)]
        self.files = {name: root / ELSEWHERE.get(name, f"docs/{name}") for name in names}
        self.names = {file.resolve(): name for name, file in self.files.items()}
        self.copied = set()

    def write(self):
        for name, file in self.files.items():
            (self.folder / name).write_text(self.page(file))
        (self.folder / "api.md").write_text(API)

    def page(self, file):
        """The text of a page. Code keeps only its language, and links lead to pages of the site."""
        parts, end = [], 0
        text = file.read_text()
        for fence in FENCE.finditer(text):
            parts.append(self.linked(text[end:fence.start()], file))
            indent, words, code = fence.groups()
            language = (words.split() or [""])[0]
            parts.append(f"{indent}```{LANGUAGES.get(language, language)}\n{code}{indent}```")
            end = fence.end()
        return "".join(parts) + self.linked(text[end:], file)

    def linked(self, text, file):
        # Python's Markdown nests lists by four columns, GitHub by two.
        text = re.sub(r"^( {2})(?=[-*] )", "    ", text, flags=re.MULTILINE)
        return LINK.sub(lambda found: found[1] + self.target(found[2], file), text)

    def target(self, link, file):
        if re.match(r"[a-z]+:|#", link):
            return link
        name, hash, anchor = link.partition("#")
        path = (file.parent / name).resolve()
        if path in self.names:
            return self.names[path] + hash + anchor
        return self.copy(path)

    def copy(self, path):
        """A file of the repository as a page without navigation, a picture as it is, and a folder as a list of its files."""
        relative = path.relative_to(self.root).as_posix()
        if path.suffix in {".png", ".svg"}:
            place = self.folder / "images" / path.name
            place.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, place)
            return f"images/{path.name}"
        place = f"source/{relative}/index.html" if path.is_dir() else f"source/{relative}.html"
        if path in self.copied:
            return place
        self.copied.add(path)
        if path.is_dir():
            files = [entry for entry in sorted(path.rglob("*")) if entry.is_file() and ".build" not in entry.parts]
            files = [entry for entry in files if entry.suffix in {".json", ".yaml", ".yml", ".md", ".swift", ".ndjson"} and entry.stat().st_size < 200_000]
            here = pathlib.PurePosixPath(place).parent
            links = [(os.path.relpath(self.copy(entry), here), entry.relative_to(path).as_posix()) for entry in files]
            body = "<ul>" + "".join(f'<li><a href="{html.escape(link)}">{html.escape(name)}</a></li>' for link, name in links) + "</ul>"
        else:
            body = f"<pre>{html.escape(path.read_text(errors='replace'))}</pre>"
        target = self.folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        home = os.path.relpath("index.html", pathlib.PurePosixPath(place).parent)
        target.write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
            f'<title>{html.escape(relative)} · FeedStore</title><style>body{{font:14px sans-serif;margin:2em}}pre{{font-size:13px;'
            f'white-space:pre-wrap}}</style><p><a href="{home}">FeedStore</a> / {html.escape(relative)}</p>{body}</html>\n')
        return place
