"""Builds what would be published, in a copy of the sources: `python3 build.py FOLDER` writes a wheel and an sdist there."""

import os
import pathlib
import re
import shutil
import sys
import tempfile
import warnings

import setuptools.build_meta

PACKAGE = pathlib.Path(__file__).resolve().parent


def standing_alone(readme):
    """A README that names pages outside of the package, instead of linking them."""
    return re.sub(
        r"\[([^]]+)\]\(\.\./\.\./([^)#]+)[^)]*\)",
        lambda link: link[1] if link[2] == "README.md" else f"{link[1]} ({link[2]} of FeedStore)",
        readme)


def main(folder):
    target = pathlib.Path(folder).resolve()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as copy:
        sources = pathlib.Path(copy) / "feedstore"
        shutil.copytree(PACKAGE, sources, ignore=shutil.ignore_patterns("tests", "build", "build.py", "__pycache__", ".mypy_cache", "*.egg-info"))
        shutil.copy(PACKAGE.parents[1] / "LICENSE", sources)
        readme = sources / "README.md"
        readme.write_text(standing_alone(readme.read_text("utf-8")), "utf-8")
        # Debian 12's setuptools calls its settings in pyproject.toml experimental.
        warnings.simplefilter("ignore")
        os.chdir(sources)
        # The build prints every file.
        output, silence = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        built = [setuptools.build_meta.build_wheel(str(target)), setuptools.build_meta.build_sdist(str(target))]
        sys.stdout.flush()
        os.dup2(output, 1)
    for name in built:
        print(target / name)


if __name__ == "__main__":
    main(*sys.argv[1:])
