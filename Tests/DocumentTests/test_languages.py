"""Blocks of Swift and JavaScript."""

import pathlib
import shutil
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
PAGE = """
const sources = [];
globalThis.EventSource = class {
  static CLOSED = 2;
  readyState = 1;
  listeners = {};
  constructor(url) { this.url = url; sources.push(this); }
  addEventListener(name, listener) { this.listeners[name] = listener; }
  close() { this.readyState = 2; }
};
globalThis.fetch = async () => ({ status: 404 });
const again = [];
globalThis.setTimeout = (closure) => { again.push(closure); };
const { follow } = await import('./page.mjs');
const drawn = [];
follow('a/b', (sections, change) => drawn.push([sections.map((section) => section.id), change?.mode ?? null]));
const [source] = sources;
const changeset = (fields) => JSON.stringify({
  feed: 'a/b', epoch: 't/0', revision: 1, base: 1, mode: 'reload', reason: 'keyframe', time: '2026-11-20T10:00:00.000Z', through: {},
  checksum: '00000000', ...fields,
});
source.onmessage({ data: changeset({}) });
source.onmessage({ data: changeset({ revision: 2, base: 1, mode: 'delete', reason: undefined }) });
source.listeners['must-refetch']();
source.readyState = EventSource.CLOSED;
await source.onerror();
again.forEach((closure) => closure());
console.log(JSON.stringify({ drawn, urls: sources.map((source) => source.url) }));
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


class JavaScript(unittest.TestCase):
    def test_a_page_shows_a_feed_until_it_is_deleted(self):
        for block in all_blocks("js page"):
            with self.subTest(block.place), tempfile.TemporaryDirectory() as folder:
                shutil.copy(ROOT / "clients" / "js" / "src" / "replica.js", folder)
                (pathlib.Path(folder) / "package.json").write_text('{"type":"module"}')
                (pathlib.Path(folder) / "page.mjs").write_text(block.code + "\nexport { follow };\n")
                (pathlib.Path(folder) / "main.mjs").write_text(PAGE)
                result = subprocess.run(["node", "main.mjs"], cwd=folder, capture_output=True, encoding="utf-8")
                self.assertEqual(result.returncode, 0, result.stderr)
                # A reload, the deletion, and a response that the feed does not exist.
                self.assertEqual(
                    result.stdout,
                    '{"drawn":[[[],"reload"],[[],null],[[],null]],"urls":["/v1/feeds/a%2Fb/changes","/v1/feeds/a%2Fb/changes"]}\n')


if __name__ == "__main__":
    unittest.main()
