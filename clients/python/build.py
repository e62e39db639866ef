"""Builds what would be published, in a copy of the sources: `python3 build.py FOLDER` writes a wheel and an sdist there."""

import os
import pathlib
import shutil
import sys
import tempfile
import warnings

import setuptools.build_meta

PACKAGE = pathlib.Path(__file__).resolve().parent


def main(folder):
    target = pathlib.Path(folder).resolve()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as copy:
        sources = pathlib.Path(copy) / "feedstore"
        shutil.copytree(PACKAGE, sources, ignore=shutil.ignore_patterns("tests", "__pycache__", ".mypy_cache", "*.egg-info"))
        shutil.copy(PACKAGE.parents[1] / "LICENSE", sources)
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
