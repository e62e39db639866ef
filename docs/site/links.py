"""The links of a site: each leads somewhere within it, and nothing is loaded from elsewhere."""

import html.parser
import posixpath
import urllib.parse

# Attributes of these elements are loaded when the page is opened.
LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("source", "srcset"), ("iframe", "src")}


class Page(html.parser.HTMLParser):
    """The anchors of a page, and its links with whether they are loaded."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag, name) == ("a", "name"):
                self.anchors.add(value)
            # A canonical address is not loaded, and the site has none.
            if (tag, name) == ("a", "href") or (tag, name) in LOADED:
                self.links.append((value or "", (tag, name) in LOADED))


def broken_links(folder, ignored=()):
    """A line for each broken link. Targets below `ignored` paths need only be files."""
    pages = {
        path.relative_to(folder).as_posix(): Page(path.read_text(errors="replace"))
        for path in folder.rglob("*.html") if not path.relative_to(folder).as_posix().startswith(tuple(ignored))
    }
    for place, page in sorted(pages.items()):
        for link, is_loaded in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if is_loaded and parts.scheme != "data":
                    yield f"{place}: {link} is loaded from another site"
                continue
            # A page that is shown for unknown paths has absolute links.
            if parts.path.startswith("/") or place == "404.html":
                continue
            path = urllib.parse.unquote(parts.path)
            target = posixpath.normpath(posixpath.join(posixpath.dirname(place), path)) if path else place
            file = folder / target
            if file.is_dir():
                target, file = f"{target}/index.html", file / "index.html"
            if not file.is_file():
                # Without the API there are no pages of it.
                if not target.startswith(tuple(ignored)) or (folder / target.split("/")[0]).exists():
                    yield f"{place}: there is no {link}"
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                yield f"{place}: {target} has no #{parts.fragment}"
