"""
Builds the documentation as a web site: `make docs`. Pages are the repository's Markdown files, with navigation and search (MkDocs); the
Swift API comes from the compiler's symbol graphs (DocC). Nothing is loaded from other sites, during the build or in a browser.

    docs/site/build.py [--output FOLDER] [--base PATH] [--without-api]

Needs Debian's mkdocs and mkdocs-material, and for the API a build of the package in .build/debug.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile

from api import build_api
from links import broken_links
from pages import Stage, github_anchor, navigation

ROOT = pathlib.Path(__file__).resolve().parents[2]


def configuration(source, output):
    """MkDocs' configuration. It is a value because the anchors' spelling is a function."""
    groups = [{group: [{title: name} for title, name in pages]} for group, pages in navigation(ROOT).items()]
    return {
        "site_name": "FeedStore",
        "docs_dir": str(source),
        "site_dir": str(output),
        # Pages can be opened as files, too.
        "use_directory_urls": False,
        "nav": [{"Home": "index.md"}, *groups, {"Swift API": "api.md"}],
        "theme": {
            "name": "material",
            "font": False,
            "features": ["navigation.sections", "navigation.top", "search.highlight", "content.code.annotate"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "indigo",
                 "toggle": {"icon": "material/weather-night", "name": "Dark"}},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "indigo",
                 "toggle": {"icon": "material/weather-sunny", "name": "Light"}},
            ],
        },
        "extra": {"generator": False},
        "plugins": ["search"],
        "markdown_extensions": ["tables", "pymdownx.superfences", "pymdownx.highlight", "toc", "sane_lists"],
        "mdx_configs": {"toc": {"permalink": True, "slugify": github_anchor, "toc_depth": 3}},
    }


def build_pages(source, output):
    """Runs MkDocs; a warning, such as a link to a missing page, is an error."""
    try:
        from mkdocs.commands.build import build
        from mkdocs.config import load_config
    except ModuleNotFoundError:
        sys.exit("mkdocs is not installed; run: make setup-docs")

    options = configuration(source, output)
    # `load_config` reads a file first; everything else are its arguments.
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "mkdocs.yml"
        file.write_text("site_name: FeedStore\n")
        extensions, settings = options.pop("markdown_extensions"), options.pop("mdx_configs")
        extensions = [{name: settings[name]} if name in settings else name for name in extensions]
        build(load_config(str(file), strict=True, markdown_extensions=extensions, **options))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / ".build" / "site", help="where the site goes")
    parser.add_argument("--base", default="/", help="the path under which the site is served; only the API needs it")
    parser.add_argument("--without-api", action="store_true", help="leaves out the Swift API, which needs a build")
    arguments = parser.parse_args()
    output = arguments.output.resolve()
    shutil.rmtree(output, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder)
        Stage(ROOT, source).write()
        build_pages(source, output)
    if not arguments.without_api:
        build_api(ROOT, output / "api", arguments.base.rstrip("/") + "/api")
    broken = list(broken_links(output, ignored=["api/"]))
    for line in broken:
        print(line, file=sys.stderr)
    if broken:
        sys.exit(f"{len(broken)} links lead nowhere, or load something from another site")
    print(f"{output}: {len(list(output.rglob('*.html')))} pages. To read them:")
    print(f"  python3 -m http.server --bind 127.0.0.1 --directory {os.path.relpath(output)} 8000")


if __name__ == "__main__":
    main()
