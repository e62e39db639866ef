"""Checks the rules with promtool, and that rules, dashboard and documentation agree."""

import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

from monitoring import ABSENT, DASHBOARD, ROOT, RULES, RULE_TESTS, SCRAPE, metric_names, panels, program, rules

PAGE = (ROOT / "docs" / "monitor.md").read_text()


class RuleTests(unittest.TestCase):
    def promtool(self, *arguments):
        tool = program("promtool")
        if tool is None:
            self.skipTest(ABSENT)
        result = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_the_rules_are_valid(self):
        self.promtool("check", "rules", RULES)

    def test_alerts_fire_when_they_should_and_not_otherwise(self):
        self.promtool("test", "rules", RULE_TESTS)

    def test_the_scrape_configuration_is_valid(self):
        # It refers to the rules in the same directory.
        with tempfile.TemporaryDirectory() as folder:
            for file in RULES, SCRAPE:
                pathlib.Path(folder, file.name).write_text(file.read_text())
            self.promtool("check", "config", f"{folder}/{SCRAPE.name}")

    def test_each_alert_has_a_test_and_a_section_in_the_documentation(self):
        tested = {
            case["alertname"]
            for test in yaml.safe_load(RULE_TESTS.read_text())["tests"]
            for case in test.get("alert_rule_test", ())
            if case["exp_alerts"]
        }
        alerts = [rule for rule in rules() if "alert" in rule]
        self.assertEqual({alert["alert"] for alert in alerts}, tested)
        headings = re.findall(r"^### (\w+)$", PAGE, re.MULTILINE)
        self.assertEqual([alert["alert"] for alert in alerts], headings)
        for alert in alerts:
            name = alert["alert"]
            self.assertEqual(alert["annotations"]["runbook"], f"docs/monitor.md#{name.lower()}")
            section = PAGE.split(f"### {name}\n")[1].split("\n### ")[0].split("\n## ")[0]
            for part in "**Meaning.**", "**Check.**", "**Action.**":
                self.assertIn(part, section, name)

    def test_alerts_use_only_recorded_or_documented_metrics(self):
        recorded = {rule["record"] for rule in rules() if "record" in rule}
        for rule in rules():
            for name in metric_names(rule["expr"]):
                self.assertTrue(name in recorded or is_documented(name), f"{name} in {rule}")

    def test_the_dashboard_has_only_metrics_that_are_documented(self):
        titles = [(panel["title"], panel["description"]) for panel in panels()]
        self.assertTrue(all(title and description for title, description in titles), titles)
        identifiers = re.findall(r'"id": (\d+)', DASHBOARD.read_text())
        self.assertEqual(len(identifiers), len(set(identifiers)))
        for panel in panels():
            for target in panel["targets"]:
                for name in metric_names(target["expr"]):
                    self.assertTrue(is_documented(name), f"{name} in {panel['title']}")


def is_documented(name):
    """Whether docs/monitor.md has a metric, or its family for parts of histograms and summaries."""
    family = re.sub(r"_(bucket|sum|count)$", "", name)
    return f"`{name}`" in PAGE or f"`{family}`" in PAGE or name.startswith("process_")


if __name__ == "__main__":
    unittest.main()
