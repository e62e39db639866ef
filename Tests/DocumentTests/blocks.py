"""The code blocks of the documents, and what their info strings say about how they are tested."""

import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), ROOT / "conformance" / "README.md",
    *sorted((ROOT / "clients").glob("*/README.md")), *sorted((ROOT / "examples").glob("*/README.md")), *sorted((ROOT / "deploy").rglob("README.md")),
]
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)

# The first words of an info string, and which test runs such blocks.
TESTED = {
    "sh": "test_shell.py runs it, with the blocks before it on its page, in a copy of the checkout",
    "sh background": "the same, as a program that goes on until Ctrl-C",
    "sh background beside": "the same, while the program before it goes on",
    "sh background slow": "the same, in `make test-slow`, because it builds a package",
    "sh parsed": "test_shell.py has the command parse each line; RejectsTests run these commands on rejected records",
    "text output": "test_shell.py compares it with what the block before it prints; … stands for any text",
    "text log": "DocumentedLogEventTests compare it with the line that the log writes",
    "json log": "the same",
    "text stream": "test_data.py parses its messages",
    "json response": "test_data.py compares its fields with those of the daemon's response to a request",
    "json changeset": "SchemaTests validate it",
    "json vector": "test_data.py compares its fields with those of the vectors",
    "json answer": "test_data.py compares its fields with those that run.py reads",
    "json5": "test_data.py has the command read it as a configuration",
    "nginx location": "test_data.py follows a stream through an nginx with it",
    "nginx cache": "test_cache.py follows a feed with many readers through an nginx with it",
    "ini unit": "test_data.py compares it with the unit of the package",
    "js file": "test_shell.py writes it into the file that it names, for the blocks after it",
    "jsx react": "BrowserTests run it, with a daemon",
    "python producer": "ExampleTests run it",
    "swift program": "the tests of clients/swift run it, and `make clients` builds it as a package",
    "swift client": "the tests of clients/swift run all of them of the page as one program",
    "swift lists": "the tests of clients/swift compile it, with modules that stand in for Apple's",
    "python client": "clients/python/tests/test_package.py runs it, in an environment with the wheel",
    "text printed": "the same compares it with what the block before it prints",
}
# The examples of bytes in the protocol, which FeedToolsTests (DocumentedExampleTests) run: `ndjson NAME.PART SETTINGS`.
EXAMPLE = re.compile(r"ndjson (?:\w+\.)?(?:input|output|rejected|terms)(?: [\w.]+=\w+)*")

# Blocks that no document test runs, with the reason and the file that tests the same.
ELSEWHERE = {
    "swift package": ("builds a package: `make clients`", "clients/swift/build.py"),
    "sh wheel": ("installs a package", "clients/python/tests/test_package.py"),
    "sh package": ("needs root, and a Debian of its own", "Tests/PackageTests/test_operating.py"),
    "sh nginx": ("needs root; the test runs an nginx of its own", "Tests/DocumentTests/test_cache.py"),
    "sh image": ("needs root to build an image", "Tests/PackageTests/test_image.py"),
    "sh compose": ("needs Docker; test_data.py checks the names of services and profiles", "docker-compose.yml"),
    "sh kubernetes": ("needs a cluster of Kubernetes", "Tests/PackageTests/test_kubernetes.py"),
    "yaml values": ("is for Helm", "Tests/PackageTests/test_chart.py"),
    "sh recipe": ("needs certificates of its hosts", "Tests/SecurityTests/test_recipes.py"),
    "properties broker": ("is for Kafka; the stand-in is set up alike", "Tests/SecurityTests/test_recipes.py"),
    "sh provider": ("needs an identity provider", "Tests/SecurityTests/test_identity.py"),
    "json claims": ("are of a token of a provider", "Tests/SecurityTests/test_identity.py"),
    "sh npm": ("installs a package", "clients/js/test/package.test.mjs"),
    "sh profile": ("needs Valgrind for a minute", "Tests/CostGate/__main__.py"),
}
# Blocks that are not code.
ILLUSTRATIONS = {
    "text diagram": "a drawing",
    "text formula": "mathematics",
    "text algorithm": "steps in words; the vectors test them",
    "text sample": "output that depends on the time of the run",
}


@dataclasses.dataclass(frozen=True)
class Block:
    page: pathlib.Path
    line: int
    info: str
    code: str

    @property
    def kind(self):
        """The info string without the values after `=`."""
        return self.info.partition("=")[0]

    @property
    def argument(self):
        return self.info.partition("=")[2]

    @property
    def place(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def is_known(self):
        return any(self.kind in kinds for kinds in (TESTED, ELSEWHERE, ILLUSTRATIONS)) or EXAMPLE.fullmatch(self.info) is not None


def blocks(page):
    text = page.read_text()
    for found in FENCE.finditer(text):
        indent = len(found["indent"])
        code = "".join(line[indent:] or "\n" for line in found["code"].splitlines(keepends=True))
        yield Block(page, text.count("\n", 0, found.start()) + 1, found["info"].strip(), code)


def all_blocks(kind):
    """The blocks of one kind, on all pages."""
    return [block for page in PAGES for block in blocks(page) if block.kind == kind]


def main():
    for page in PAGES:
        for block in blocks(page):
            reason = TESTED.get(block.kind) or ILLUSTRATIONS.get(block.kind) or ", see ".join(ELSEWHERE.get(block.kind, ()))
            print(f"{block.place}: {block.info}: {reason or 'DocumentedExampleTests run it'}")


if __name__ == "__main__":
    sys.exit(main())
