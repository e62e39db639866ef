"""clients/js/bench: that it measures, not what."""

import subprocess
import unittest

from inspector import Inspector
from replay import ROOT
from support import BrowserTest
from test_react import NODE


class BenchTests(BrowserTest):
    def test_it_counts_frames_and_times_reloads(self):
        bench = subprocess.Popen(
            [NODE, ROOT / "clients" / "js" / "bench" / "bench.mjs", "--url", "--seconds", "1"], stdout=subprocess.PIPE, encoding="utf-8",
        )
        self.addCleanup(bench.stdout.close)
        self.addCleanup(bench.wait)
        self.addCleanup(bench.kill)
        self.assertIn("reload in Node", bench.stdout.readline())
        page = Inspector(self.driver, bench.stdout.readline().strip())
        self.addCleanup(self.leave, page)
        self.driver.get(page.url)
        in_browser, idle, *loads = bench.stdout.readlines()
        self.assertIn("reload in the browser: 15000 items", in_browser)
        self.assertRegex(idle, "without changes: [0-9]+ frames")
        self.assertEqual(len(loads), 2)
        for line in loads:
            self.assertRegex(line, "changesets a second of [0-9]+: [0-9]+ frames .*; [0-9]+ changes, shown by [0-9]+ renders of cells")


if __name__ == "__main__":
    unittest.main()
