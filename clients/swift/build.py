"""Copies the Swift package as it would be published, and builds the package of its README, which depends on the copy by path."""

import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def block(readme, kind):
    return re.search(rf"^```swift {kind}\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)[1]


def main():
    swift, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    package, scratch = folder / "swift", folder / "swift-example"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(HERE, package, ignore=shutil.ignore_patterns(".build", "build.py"), symlinks=True)
    shutil.copy(HERE.parents[1] / "LICENSE", package)
    readme = (HERE / "README.md").read_text()
    # Pages outside of the package are named instead of linked.
    (package / "README.md").write_text(re.sub(
        r"\[([^]]+)\]\(\.\./\.\./([^)#]+)[^)]*\)",
        lambda link: link[1] if link[2] == "README.md" else f"{link[1]} ({link[2]} of FeedStore)",
        readme))
    source = scratch / "Sources" / "News" / "main.swift"
    source.parent.mkdir(parents=True, exist_ok=True)
    (scratch / "Package.swift").write_text(block(readme, "package").replace("feedstore/clients/swift", str(package)))
    source.write_text(block(readme, "program"))
    sys.exit(subprocess.run([swift, "build", "-c", "release", "--package-path", scratch]).returncode)


if __name__ == "__main__":
    main()
