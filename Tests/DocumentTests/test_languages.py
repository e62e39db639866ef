"""Blocks of Swift."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from blocks import ROOT, all_blocks

sys.path.append(str(ROOT / "docs" / "site"))

from api import import_options, toolchain  # noqa: E402

# The parts of UIKit that the block uses, with UIKit's signatures.
UIKIT = """
import Feed
import FeedClient

public struct NSDiffableDataSourceSnapshot<SectionIdentifier: Hashable, ItemIdentifier: Hashable> {{
  public init() {{}}
  public mutating func appendSections(_ identifiers: [SectionIdentifier]) {{}}
  public mutating func appendItems(_ identifiers: [ItemIdentifier], toSection sectionIdentifier: SectionIdentifier? = nil) {{}}
  public mutating func reconfigureItems(_ identifiers: [ItemIdentifier]) {{}}
  public mutating func reloadItems(_ identifiers: [ItemIdentifier]) {{}}
  public mutating func reloadSections(_ identifiers: [SectionIdentifier]) {{}}
}}
public class UICollectionViewDiffableDataSource<SectionIdentifier: Hashable, ItemIdentifier: Hashable> {{
  public func apply(_ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifier, ItemIdentifier>, animatingDifferences: Bool = true) async {{}}
  public func applySnapshotUsingReloadData(_ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifier, ItemIdentifier>) async {{}}
}}
{code}
"""


class Swift(unittest.TestCase):
    def compile(self, kind, frame):
        for block in all_blocks(kind):
            with self.subTest(block.place), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "Example.swift"
                file.write_text(frame.format(code=block.code))
                result = subprocess.run(
                    [toolchain() / "swiftc", "-typecheck", "-swift-version", "6", "-parse-as-library", *import_options(ROOT), file],
                    capture_output=True, encoding="utf-8")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotIn("warning:", result.stderr)

    def test_blocks_with_uikit_compile(self):
        self.compile("swift uikit", UIKIT)


if __name__ == "__main__":
    unittest.main()
