"""The package as it is published: types, the wheel in a clean environment, and the README's blocks in it."""

import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import zipfile

import confluent_kafka

from support import PACKAGE, PATIENCE_SECONDS, ROOT, SOURCES, Daemon

sys.path.append(str(ROOT / "Tests" / "DocumentTests"))

from blocks import blocks  # noqa: E402


class Sources(unittest.TestCase):
    def test_types(self):
        result = subprocess.run(
            ["mypy"], cwd=PACKAGE, capture_output=True, encoding="utf-8")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_types_of_a_program_that_uses_it(self):
        program = """
            import asyncio
            from typing import TypedDict
            from feedstore import FeedStore, Window, Written

            class Album(TypedDict):
                title: str

            class Song:
                def __init__(self, data: object):
                    self.name = str(data)

            def song(data: object) -> Song:
                return Song(data)

            async def main() -> Written:
                async with FeedStore(["http://a", "http://b"], token=lambda: None) as store:
                    feed = store.feed("news", Window(first=3))
                    end = feed.subscribe(lambda update: print(update.view.standing.name))
                    end()
                    async for update in feed:
                        reveal_type(update)
                        item = update.view.item("a")
                        reveal_type(item)
                        break
                    reveal_type(await feed.apply(feed.view.sections))
                    return await feed.write({"op": "feed.clear"}, coalesce="a")

            def blocking(store: FeedStore) -> Written:
                for update in store.feed("news"):
                    reveal_type(update.view.sections[0].items)
                albums = store.feed("albums", Window(sections=["top"], first=5), data=Album)
                reveal_type(albums.view.sections[0].items[0].data)
                reveal_type(store.feed("songs", data=song).view.sections[0].items[0].data)
                return store.feed("news").write([], wait=1).result(5)
            """
        self.assertEqual(self.checked("\n".join(line[12:] for line in program.split("\n"))), [
            "feedstore.model.Update[Any]", "Union[feedstore.model.Item[Any], None]", "Union[feedstore.model.Written, None]",
            "builtins.tuple[feedstore.model.Item[Any], ...]", "TypedDict('program0.Album', {'title': builtins.str})", "program0.Song"])

    def test_types_of_the_programs_of_the_readme(self):
        programs = [block.code for block in blocks(PACKAGE / "README.md") if block.kind == "python client"]
        self.assertGreater(len(programs), 5)
        self.checked(*programs)

    def checked(self, *programs):
        """Has `mypy --strict` check programs; returns the types that they reveal."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / f"program{number}.py" for number in range(len(programs))]
            for path, program in zip(paths, programs):
                path.write_text(program, "utf-8")
            result = subprocess.run(
                ["mypy", "--strict", "--ignore-missing-imports", "--python-version", "3.9", "--cache-dir",
                 str(ROOT / ".build" / "mypy-program"), *map(str, paths)],
                capture_output=True, encoding="utf-8", env={**os.environ, "MYPYPATH": str(SOURCES)})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return re.findall(r'Revealed type is "(.*)"', result.stdout)


class Published(unittest.TestCase):
    """In an environment that has nothing but the wheel."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.place = pathlib.Path(cls.folder.name)
        built = subprocess.run(
            [sys.executable, PACKAGE / "build.py", cls.place / "built"], check=True, capture_output=True, encoding="utf-8").stdout
        cls.wheel, cls.sdist = built.split()
        environment = cls.place / "environment"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        cls.python = environment / "bin" / "python"
        cls.run_python("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", cls.wheel)

    @classmethod
    def run_python(cls, *arguments):
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [cls.python, *arguments], cwd=cls.place, env=environment, check=True, capture_output=True, encoding="utf-8").stdout

    def test_contents(self):
        modules = {f"feedstore/{path.name}" for path in (SOURCES / "feedstore").glob("*.py")}
        with zipfile.ZipFile(self.wheel) as wheel:
            names = set(wheel.namelist())
            metadata = wheel.read(next(name for name in names if name.endswith("/METADATA"))).decode()
        self.assertEqual({name for name in names if name.startswith("feedstore/")}, {*modules, "feedstore/py.typed"})
        self.assertTrue(any(name.endswith("/LICENSE") for name in names), names)
        # PyPI shows the README, and has no other page of FeedStore.
        self.assertNotIn("](..", metadata)
        self.assertIn("events (docs/protocol.md of FeedStore)", metadata)
        with tarfile.open(self.sdist) as sdist:
            listed = {name.partition("/")[2] for name in sdist.getnames()}
        self.assertLessEqual({"README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "src/feedstore/py.typed"}, listed)
        subprocess.run(
            [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-build-isolation", "--wheel-dir", self.place, self.sdist],
            check=True, capture_output=True)
        with zipfile.ZipFile(self.place / pathlib.Path(self.wheel).name) as wheel:
            self.assertEqual(set(wheel.namelist()), names)

    def test_the_version_is_everywhere_the_same(self):
        version = self.run_python("-m", "feedstore", "--version").strip()
        self.assertIn(f'version = "{version}"', (PACKAGE / "pyproject.toml").read_text())
        self.assertIn(f"\n## {version}\n", (PACKAGE / "CHANGELOG.md").read_text())
        self.assertIn(f"feedstore-{version}-py3-none-any.whl", (PACKAGE / "README.md").read_text())
        self.assertEqual(pathlib.Path(self.wheel).name, f"feedstore-{version}-py3-none-any.whl")

    def test_the_blocks_of_the_readme(self):
        daemon = Daemon()
        self.addCleanup(daemon.close)
        daemon.wait_until_ready()
        page = list(blocks(PACKAGE / "README.md"))
        ran = 0
        for number, block in enumerate(page):
            if block.kind != "python client":
                continue
            ran += 1
            code = block.code.replace("http://127.0.0.1:8321", daemon.url).replace("localhost:9092", daemon.servers)
            printed = page[number + 1].code if number + 1 < len(page) and page[number + 1].kind == "text printed" else None
            with self.subTest(block.place):
                self.run_block(code, printed)
        self.assertGreater(ran, 5)

    def run_block(self, code, printed):
        """Until it ends, or has printed what it should."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        if "feedstore.kafka" in code:
            # `feedstore[kafka]` needs Kafka's client.
            environment["PYTHONPATH"] = str(pathlib.Path(confluent_kafka.__file__).parents[1])
        process = subprocess.Popen(
            [self.python, "-u", "-c", code], cwd=self.place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            encoding="utf-8")
        limit = threading.Timer(PATIENCE_SECONDS, process.kill)
        limit.start()
        try:
            expected = (printed or "").splitlines()
            found = [line.rstrip("\n") for _, line in zip(expected, process.stdout)]
            if found == expected and expected:
                # A program that follows goes on.
                process.terminate()
            errors = process.communicate()[1]
            self.assertEqual(found, expected, errors)
            if not expected:
                self.assertEqual(process.returncode, 0, errors)
        finally:
            limit.cancel()
            process.kill()
            process.communicate()


if __name__ == "__main__":
    unittest.main()
