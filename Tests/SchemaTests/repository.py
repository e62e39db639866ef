"""Finds and reads files of the repository."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import warnings

import yaml
from jsonschema import Draft202012Validator

with warnings.catch_warnings():
    # Debian 12 has only this API; later versions of jsonschema have both.
    warnings.simplefilter("ignore", DeprecationWarning)
    from jsonschema import RefResolver

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs" / "schemas"
ASYNCAPI = ROOT / "docs" / "asyncapi.yaml"
OPENAPI = ROOT / "docs" / "openapi.yaml"
PROTOCOL = ROOT / "docs" / "protocol.md"
GOLDEN = ROOT / "Tests" / "FeedToolsTests" / "Golden"
FEEDSTORE = pathlib.Path(os.environ.get("FEEDSTORE", ROOT / ".build" / "debug" / "feedstore"))

SCHEMAS_BY_URI = {path.as_uri(): json.loads(path.read_text()) for path in SCHEMAS.glob("*.schema.json")}
DOCUMENTS_BY_URI = SCHEMAS_BY_URI | {path.as_uri(): yaml.safe_load(path.read_text()) for path in (ASYNCAPI, OPENAPI)}


def resolver(uri):
    """For references in the document at a URI."""
    return RefResolver(uri, DOCUMENTS_BY_URI[uri], store=DOCUMENTS_BY_URI)


def validator(uri, schema):
    """For a schema in the document at a URI."""
    return Draft202012Validator(schema, resolver=resolver(uri))


def named_validator(name):
    """For the schema in `docs/schemas` of that name."""
    uri = (SCHEMAS / f"{name}.schema.json").as_uri()
    return validator(uri, SCHEMAS_BY_URI[uri])


def asyncapi():
    return DOCUMENTS_BY_URI[ASYNCAPI.as_uri()]


def openapi():
    return DOCUMENTS_BY_URI[OPENAPI.as_uri()]


def asyncapi_validator(schema):
    """For a schema in `docs/asyncapi.yaml`, or for its component with this name."""
    if isinstance(schema, str):
        schema = asyncapi()["components"]["schemas"][schema]
    return validator(ASYNCAPI.as_uri(), schema)


def read_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def protocol_example():
    """The worked example: input, output and rejected records."""
    blocks = re.findall(r"```ndjson (\w+)\n(.*?)```", PROTOCOL.read_text(), re.DOTALL)
    return {name: read_lines(text) for name, text in blocks}


def golden_replays():
    """Input, output and rejected records of each, by name."""
    for path in sorted(GOLDEN.glob("*.input.ndjson")):
        name = path.name.split(".")[0]
        yield name, {
            kind: read_lines((GOLDEN / f"{name}.{kind}.ndjson").read_text())
            for kind in ("input", "output", "rejected")
        }


def replay(lines, settings):
    """The output of `feedstore replay` for records, and the rejected ones."""
    if not FEEDSTORE.exists():
        raise AssertionError(f"there is no {FEEDSTORE}; build it with: swift build --product feedstore")
    with tempfile.TemporaryDirectory() as folder:
        rejected = pathlib.Path(folder) / "rejected.ndjson"
        command = [str(FEEDSTORE), "replay", "-", "--rejected", str(rejected)]
        for setting in settings:
            command += ["--set", setting]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        result = subprocess.run(command, input=text, capture_output=True, encoding="utf-8")
        if result.returncode != 0:
            raise AssertionError(f"feedstore replay ended with {result.returncode}: {result.stderr}")
        return {"output": read_lines(result.stdout), "rejected": read_lines(rejected.read_text())}


def headers(line):
    flat = line["headers"]
    return dict(zip(flat[::2], flat[1::2]))
