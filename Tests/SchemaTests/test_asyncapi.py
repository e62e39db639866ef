"""docs/asyncapi.yaml is valid: references resolve, schemas and examples are valid, topics are the protocol's."""

import re
import unittest

from jsonschema import Draft202012Validator
from repository import ASYNCAPI, ROOT, SCHEMAS_BY_URI, asyncapi, asyncapi_validator, resolver

# The fields that AsyncAPI 3.0 requires or allows, of the objects that are used.
FIELDS = {
    "document": {"asyncapi", "id", "info", "defaultContentType", "servers", "channels", "operations", "components"},
    "info": {"title", "version", "description", "license"},
    "server": {"host", "protocol", "description"},
    "channel": {"address", "title", "description", "messages", "bindings"},
    "operation": {"action", "channel", "summary", "bindings"},
    "message": {"name", "title", "summary", "contentType", "headers", "payload", "bindings", "examples"},
}
KAFKA_FIELDS = {
    "channels": {"topic", "partitions", "replicas", "topicConfiguration", "bindingVersion"},
    "operations": {"groupId", "clientId", "bindingVersion"},
    "messages": {"key", "bindingVersion"},
}


def references(value, path=()):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield path, value["$ref"]
        for name, child in value.items():
            yield from references(child, (*path, name))
    elif isinstance(value, list):
        for number, child in enumerate(value):
            yield from references(child, (*path, number))


class AsyncAPITests(unittest.TestCase):
    def setUp(self):
        self.document = asyncapi()
        self.channels = self.document["channels"]
        self.messages = self.document["components"]["messages"]
        self.resolver = resolver(ASYNCAPI.as_uri())

    def resolved(self, value):
        while "$ref" in value:
            value = self.resolver.resolve(value["$ref"])[1]
        return value

    def schema(self, described):
        """An inline schema, or one in another file and format."""
        return described["schema"] if "schema" in described else described

    def test_objects_have_the_fields_of_asyncapi(self):
        self.assertRegex(self.document["asyncapi"], r"^3\.0\.\d+$")
        self.assertLessEqual({"asyncapi", "info"}, set(self.document))
        objects = [("document", self.document), ("info", self.document["info"])]
        for kind, group in (
            ("server", self.document["servers"]), ("channel", self.channels),
            ("operation", self.document["operations"]), ("message", self.messages),
        ):
            objects += [(kind, value) for value in group.values()]
        for kind, value in objects:
            with self.subTest(kind, value=str(value)[:80]):
                self.assertLessEqual(set(value), FIELDS[kind])
        for kind, group in (
            ("channels", self.channels), ("operations", self.document["operations"]), ("messages", self.messages),
        ):
            for name, value in group.items():
                for protocol, binding in value.get("bindings", {}).items():
                    with self.subTest(kind, name=name):
                        self.assertEqual(protocol, "kafka")
                        self.assertLessEqual(set(binding), KAFKA_FIELDS[kind])
                        self.assertEqual(binding["bindingVersion"], "0.5.0")

    def test_every_reference_resolves(self):
        found = list(references(self.document))
        self.assertTrue(found)
        for path, reference in found:
            with self.subTest("/".join(map(str, path)), reference=reference):
                uri, _ = self.resolver.resolve(reference)
                self.assertTrue(uri.startswith(ASYNCAPI.as_uri()) or uri in SCHEMAS_BY_URI)

    def test_operations_use_the_channels_and_channels_the_messages(self):
        actions = {}
        for operation in self.document["operations"].values():
            name = operation["channel"]["$ref"].removeprefix("#/channels/")
            self.assertIn(name, self.channels)
            actions[name] = operation["action"]
        self.assertEqual(
            actions,
            {
                "sections": "receive", "items": "receive", "contents": "receive",
                "changesets": "send", "rejected": "send",
            },
        )
        used = {
            message["$ref"].removeprefix("#/components/messages/")
            for channel in self.channels.values()
            for message in channel["messages"].values()
        }
        self.assertEqual(used, set(self.messages))

    def test_topics_are_those_of_the_configuration(self):
        settings = (ROOT / "docs" / "settings.md").read_text()
        for name, channel in self.channels.items():
            # Contents have a topic only if it is named.
            default = '""' if name == "contents" else channel["address"]
            self.assertIn(f"| `topics.{name}` | `{default}` |", settings)
            kafka = channel["bindings"]["kafka"]
            self.assertEqual(kafka["topic"], channel["address"])
            policy = kafka["topicConfiguration"]["cleanup.policy"]
            self.assertEqual(policy, ["compact"] if name in ("changesets", "contents") else ["delete"])
        partitions = {channel["bindings"]["kafka"]["partitions"] for channel in self.channels.values()}
        source = (ROOT / "Sources/FeedKafka/Topics/TopicRequirements.swift").read_text()
        self.assertEqual(partitions, {int(re.search(r"defaultPartitions: Int32 = (\d+)", source)[1])})

    def test_schemas_are_schemas(self):
        schemas = dict(self.document["components"]["schemas"])
        for name, message in self.messages.items():
            schemas[f"key of {name}"] = message["bindings"]["kafka"]["key"]
            if "payload" in message:
                schemas[f"payload of {name}"] = self.schema(message["payload"])
        for name, schema in schemas.items():
            with self.subTest(name):
                Draft202012Validator.check_schema(self.resolved(schema))

    def test_examples_are_valid(self):
        count = 0
        for name, message in self.messages.items():
            for example in message.get("examples", []):
                with self.subTest(name, example=example["name"]):
                    self.assertTrue(asyncapi_validator(self.schema(message["payload"])).is_valid(example["payload"]))
                    if "headers" in example:
                        self.assertTrue(asyncapi_validator(message["headers"]).is_valid(example["headers"]))
                count += 1
        self.assertGreater(count, 0)

    def test_keys(self):
        key = asyncapi_validator("changesetKey")
        for text in ("k0/f", "k12/a/b", "d1/f", "d10/\n"):
            self.assertTrue(key.is_valid(text), text)
        for text in ("k/f", "d0/f", "k01/f", "x1/f", "k0/", "k0", "0/f"):
            self.assertFalse(key.is_valid(text), text)


if __name__ == "__main__":
    unittest.main()
