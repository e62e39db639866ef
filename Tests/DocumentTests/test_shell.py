"""The shell blocks of each page, in order, as a reader runs them, and the output that the page shows."""

import os
import subprocess
import unittest

from blocks import PAGES, ROOT, blocks
from sandbox import FEEDSTORE, Sandbox, StandIn
from session import Program, Shell, pattern

IS_SLOW = bool(os.environ.get("FEEDSTORE_TEST_SLOW"))


class ShellBlocks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not FEEDSTORE.exists():
            raise AssertionError(f"there is no {FEEDSTORE}; build it with: swift build --product feedstore")
        cls.cluster = StandIn()
        cls.addClassCleanup(cls.cluster.close)
        # As the pages assume; only the quick start has to find them itself.
        cls.feedstore(cls.cluster.servers, "topics", "--create", "--partitions", "4", "--replication-factor", "1")

    @staticmethod
    def feedstore(servers, *arguments, **more):
        command = [FEEDSTORE, *arguments, "--set", f"kafka.bootstrap.servers={servers}"]
        return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", **more)

    def run_page(self, page):
        sandbox = Sandbox(self.cluster.servers)
        self.addCleanup(sandbox.close)
        shell, program, printed, is_skipped = Shell(sandbox), None, [], False
        self.addCleanup(shell.close)
        for block in blocks(page):
            code = sandbox.adapt(block.code)
            if block.kind == "sh":
                status, printed = shell.run(code)
                self.assertEqual(status, 0, f"{block.place} fails:\n" + "\n".join(printed))
            elif block.kind.startswith("sh background"):
                if program is not None and not block.kind.endswith("beside"):
                    program.close()
                program, printed, is_skipped = None, [], block.kind.endswith("slow") and not IS_SLOW
                if not is_skipped:
                    program = Program(sandbox, code)
                    self.addCleanup(program.close)
                    # The next commands may need its server.
                    sign = "url=http" if "http.enabled" in code else ""
                    self.assertTrue(
                        program.output.wait(lambda lines: any(sign in line for line in lines) and not program.output.is_over),
                        f"{block.place} ends:\n" + "\n".join(program.output.lines))
            elif block.kind == "js file":
                sandbox.write(block.argument, code)
            elif block.kind == "sh parsed":
                # The reader's files: a configuration, and the content of a repaired record.
                sandbox.write("feedstore.json5", f'{{"kafka": {{"bootstrap.servers": "{self.cluster.servers}"}}}}')
                sandbox.write("record.json", '{"op":"feed.clear"}')
                for line in code.splitlines():
                    result = subprocess.run(
                        ["bash", "-c", line], cwd=sandbox.checkout, env=sandbox.environment, capture_output=True, encoding="utf-8")
                    self.assertIn(result.returncode, (0, 1), f"{block.place}: {line}: {result.stderr}")
            elif block.kind == "text output" and not is_skipped:
                if any(printed):
                    for line in block.code.splitlines():
                        self.assertTrue(self.matches(line, printed), f"{block.place} shows what is not printed:\n" + "\n".join(printed))
                else:
                    self.assertIsNotNone(program, f"{block.place} shows the output of nothing")
                    self.assertTrue(
                        program.output.wait(lambda _: program.output.has(block.code)),
                        f"{block.place} shows what is not printed:\n" + "\n".join(program.output.lines))

    @staticmethod
    def matches(line, printed):
        return any(pattern(line).fullmatch(found) for found in printed)


def add_test(page):
    """A test for each page that has shell blocks."""
    name = page.relative_to(ROOT).as_posix().replace("/", "_").removesuffix(".md").lower().replace("-", "_")
    setattr(ShellBlocks, f"test_{name}", lambda self: self.run_page(page))


for each in PAGES:
    if any(block.kind.startswith("sh") for block in blocks(each)):
        add_test(each)

if __name__ == "__main__":
    unittest.main()
