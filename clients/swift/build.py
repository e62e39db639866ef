"""Makes the repository of the Swift package as it would be published, with its tag, and builds the package of its README, which depends on it by URL."""

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
    package, scratch = folder / "feedstore-swift", folder / "swift-example"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(HERE, package, ignore=shutil.ignore_patterns(".build", "build.py"), symlinks=True)
    shutil.copy(HERE.parents[1] / "LICENSE", package)
    readme = (HERE / "README.md").read_text()
    # Pages outside of the package are named instead of linked.
    (package / "README.md").write_text(re.sub(
        r"\[([^]]+)\]\(\.\./\.\./([^)#]+)[^)]*\)",
        lambda link: link[1] if link[2] == "README.md" else f"{link[1]} ({link[2]} of FeedStore)",
        readme))
    version = re.search(r"^## ([0-9.]+)$", (HERE / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    git = ["git", "-C", package, "-c", "user.name=FeedStore", "-c", "user.email=feedstore@localhost", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", version], ["tag", version]):
        subprocess.run([*git, *command], check=True)
    shutil.rmtree(scratch, ignore_errors=True)
    source = scratch / "Sources" / "News" / "main.swift"
    source.parent.mkdir(parents=True, exist_ok=True)
    (scratch / "Package.swift").write_text(
        block(readme, "package")
        .replace('path: "../feedstore/clients/swift"', f'url: "{package.as_uri()}", from: "{version}"')
        .replace('package: "swift"', 'package: "feedstore-swift"'))
    source.write_text(block(readme, "program"))
    sys.exit(subprocess.run([swift, "build", "-c", "release", "--package-path", scratch, "--cache-path", scratch / "cache"]).returncode)


if __name__ == "__main__":
    main()
