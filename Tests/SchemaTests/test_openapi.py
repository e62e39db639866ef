"""docs/openapi.yaml is valid, and its routes, methods and problem codes are those of the pages."""

import json
import re
import unittest

from jsonschema import Draft202012Validator
from repository import OPENAPI, ROOT, openapi, resolver, validator
from test_asyncapi import references

HTTP = "\n".join((ROOT / "docs" / name).read_text() for name in ("http.md", "monitor.md", "errors.md"))
METHODS = {"get", "post", "patch", "delete"}
# Of requests that no operation describes.
UNDESCRIBED = {("405", "method-not-allowed")}
# The fields that OpenAPI 3.1 requires or allows, of the objects that are used.
FIELDS = {
    "document": {"openapi", "info", "servers", "security", "tags", "paths", "components"},
    "path": {"parameters"} | METHODS,
    "operation": {"operationId", "tags", "summary", "security", "parameters", "requestBody", "responses"},
    "parameter": {"name", "in", "required", "description", "schema", "example"},
    "request": {"required", "description", "content"},
    "response": {"description", "headers", "content"},
    "header": {"description", "required", "schema", "example"},
    "media type": {"schema", "example"},
    "components": {"securitySchemes", "parameters", "headers", "responses", "schemas"},
}


class OpenAPITests(unittest.TestCase):
    def setUp(self):
        self.document = openapi()
        self.resolver = resolver(OPENAPI.as_uri())
        self.operations = {
            (method, path): operation
            for path, item in self.document["paths"].items()
            for method, operation in item.items() if method in METHODS
        }

    def resolved(self, value):
        return self.resolver.resolve(value["$ref"])[1] if "$ref" in value else value

    def responses(self):
        """The method, path, status and response of each."""
        for (method, path), operation in self.operations.items():
            for status, response in operation["responses"].items():
                yield method, path, status, self.resolved(response)

    def objects(self):
        """Each object of the document, with its kind."""
        yield "document", self.document
        yield "components", self.document["components"]
        for path in self.document["paths"].values():
            yield "path", path
            yield from (("parameter", self.resolved(parameter)) for parameter in path.get("parameters", []))
        for operation in self.operations.values():
            yield "operation", operation
            yield from (("parameter", self.resolved(parameter)) for parameter in operation.get("parameters", []))
            if "requestBody" in operation:
                yield "request", operation["requestBody"]
                yield from (("media type", content) for content in operation["requestBody"]["content"].values())
        for _, _, _, response in self.responses():
            yield "response", response
            yield from (("header", self.resolved(header)) for header in response.get("headers", {}).values())
            yield from (("media type", content) for content in response.get("content", {}).values())

    def test_objects_have_the_fields_of_openapi(self):
        self.assertRegex(self.document["openapi"], r"^3\.1\.\d+$")
        self.assertLessEqual({"title", "version"}, set(self.document["info"]))
        for kind, value in self.objects():
            with self.subTest(kind, value=str(value)[:80]):
                self.assertLessEqual(set(value), FIELDS[kind])
                if kind == "parameter":
                    self.assertIn(value["in"], {"path", "query", "header"})
                if "schema" in value:
                    Draft202012Validator.check_schema(value["schema"])
        for schema in self.document["components"]["schemas"].values():
            Draft202012Validator.check_schema(schema)
        names = [operation["operationId"] for operation in self.operations.values()]
        self.assertEqual(len(set(names)), len(names))

    def test_paths_have_their_parameters(self):
        for (method, path), operation in self.operations.items():
            with self.subTest(path):
                listed = self.document["paths"][path].get("parameters", []) + operation.get("parameters", [])
                found = [parameter for parameter in map(self.resolved, listed) if parameter["in"] == "path"]
                self.assertEqual([parameter["name"] for parameter in found], re.findall(r"\{(\w+)\}", path))
                self.assertTrue(all(parameter["required"] for parameter in found))

    def test_every_reference_resolves_and_every_component_is_used(self):
        used = {reference for _, reference in references(self.document)}
        for reference in used:
            with self.subTest(reference):
                self.resolver.resolve(reference)
        for kind in FIELDS["components"] - {"securitySchemes"}:
            for name in self.document["components"][kind]:
                with self.subTest(name):
                    self.assertIn(f"#/components/{kind}/{name}", used)

    def test_routes_are_those_of_the_page(self):
        documented = {(method.lower(), path) for method, path in re.findall(r"^##+ `([A-Z]+) (\S+)`", HTTP, re.MULTILINE)}
        self.assertEqual(set(self.operations), documented)

    def test_problem_codes_are_those_of_the_page(self):
        documented = {
            (status, code)
            for status, codes in re.findall(r"\b([45]\d\d) ((?:`[a-z0-9-]+`(?:,\s+(?=`))?)+)", HTTP)
            for code in re.findall(r"[a-z0-9-]+", codes)
        }
        found = set()
        for _, _, status, response in self.responses():
            for content in response.get("content", {}).values():
                for path, reference in references(content):
                    if reference != "#/components/schemas/problem":
                        continue
                    own = content["schema"]["allOf"][1]["properties"]
                    self.assertEqual(str(own["status"]["const"]), status)
                    found |= {(status, code) for code in own["code"].get("enum", [own["code"].get("const")])}
        self.assertEqual(found | UNDESCRIBED, documented)

    def test_examples_of_the_page_are_valid(self):
        blocks = re.findall(r"```json response=(\S+)\n(.*?)```", HTTP, re.DOTALL)
        self.assertGreater(len(blocks), 4)
        for target, text in blocks:
            with self.subTest(target):
                example = json.loads(text)
                response = self.operations["get", target.split("?")[0]]["responses"][str(example.get("status", 200))]
                (content,) = self.resolved(response)["content"].values()
                validator(OPENAPI.as_uri(), content["schema"]).validate(example)

    def test_examples_are_valid(self):
        count = 0
        for _, value in self.objects():
            if "example" in value:
                validator(OPENAPI.as_uri(), value["schema"]).validate(value["example"])
                count += 1
        self.assertGreater(count, 4)


if __name__ == "__main__":
    unittest.main()
