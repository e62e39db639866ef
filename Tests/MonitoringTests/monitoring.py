"""Finds Prometheus, and the queries of rules and dashboard."""

import json
import os
import pathlib
import re
import shutil

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "config" / "prometheus" / "feedstore.rules.yml"
RULE_TESTS = ROOT / "config" / "prometheus" / "feedstore.rules.test.yml"
SCRAPE = ROOT / "config" / "prometheus" / "scrape.example.yml"
DASHBOARD = ROOT / "config" / "grafana" / "feedstore.json"
FEEDSTORE = pathlib.Path(os.environ.get("FEEDSTORE", ROOT / ".build" / "debug" / "feedstore"))
# Where `make` unpacks Debian's package, without installing it, because that would start a service.
UNPACKED = ROOT / ".build" / "prometheus" / "usr" / "bin"
ABSENT = "there is no Prometheus: `make setup-prometheus` gets Debian's"


def program(name):
    """The path of `prometheus` or `promtool`; None if there is none."""
    unpacked = UNPACKED / name
    return str(unpacked) if unpacked.exists() else shutil.which(name)


def rules():
    """All rules of the file: recording rules have `record`, alerts `alert`."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels():
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def dashboard_queries(job, instance):
    """Title and expression of each query of the dashboard, with Grafana's variables replaced."""
    values = {"$job": job, "$instance": re.escape(instance).replace("\\", "\\\\"), "$__rate_interval": "1m"}
    for panel in panels():
        for target in panel["targets"]:
            expression = target["expr"]
            for name, value in values.items():
                expression = expression.replace(name, value)
            yield panel["title"], expression


def metric_names(expression):
    """The names of the daemon's metrics, and of recorded ones, in an expression."""
    without_texts = re.sub(r'"[^"]*"', "", expression)
    return set(re.findall(r"\b(?:job:|instance:)?(?:feedstore|process)_[a-z0-9_:]+", without_texts))
