"""deploy/kubernetes: valid by Kubernetes' schemas, and consistent with itself and the command.

The schemas come from the package kubernetes-validate, which `make setup-slow-test` downloads.
"""

import json
import os
import pathlib
import re
import unittest
import zipfile

import jsonschema
import yaml
from machine import ROOT, run

FOLDER = ROOT / "deploy/kubernetes"
BINARY = ROOT / ".build/package/release/feedstore"
WHEELS = sorted((ROOT / ".build/wheels").glob("kubernetes_validate-*.whl"))
# The oldest and the newest version that it has.
VERSIONS = ("v1.25.0", "v1.37.0")
# The parts of the Prometheus operator's API that are used; its schema comes only with the operator.
SERVICE_MONITOR = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "monitoring.coreos.com/v1"},
        "kind": {"const": "ServiceMonitor"},
        "spec": {
            "type": "object",
            "required": ["selector", "endpoints"],
            "additionalProperties": False,
            "properties": {
                "selector": {"type": "object", "required": ["matchLabels"], "additionalProperties": False, "properties": {"matchLabels": {"type": "object"}}},
                "endpoints": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["port", "path"],
                        "additionalProperties": False,
                        "properties": {
                            "port": {"type": "string"},
                            "path": {"type": "string", "pattern": "^/"},
                            "interval": {"type": "string", "pattern": "^[0-9]+s$"},
                            "authorization": {
                                "type": "object",
                                "required": ["type", "credentials"],
                                "additionalProperties": False,
                                "properties": {
                                    "type": {"const": "Bearer"},
                                    "credentials": {
                                        "type": "object",
                                        "required": ["name", "key"],
                                        "additionalProperties": False,
                                        "properties": {"name": {"type": "string"}, "key": {"type": "string"}},
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}


def resources():
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    return {name: yaml.safe_load((FOLDER / name).read_text()) for name in listed}


def check_schemas(test, objects):
    """Compares objects with the schemas of all `VERSIONS`."""
    with zipfile.ZipFile(WHEELS[-1]) as wheel:
        for version in VERSIONS:
            folder = f"kubernetes_validate/kubernetes-json-schema/{version}-local-strict"
            definitions = json.loads(wheel.read(f"{folder}/_definitions.json"))
            for resource in objects:
                group, _, api = resource["apiVersion"].rpartition("/")
                parts = [resource["kind"].lower(), *([group.split(".")[0]] if group else []), api]
                if resource["kind"] == "ServiceMonitor":
                    schema = SERVICE_MONITOR
                else:
                    schema = json.loads(wheel.read(f"{folder}/{'-'.join(parts)}.json"))
                resolver = jsonschema.RefResolver.from_schema(schema, store={definitions["$id"]: definitions})
                with test.subTest(version, kind=resource["kind"]):
                    validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
                    test.assertEqual([error.message for error in validator.iter_errors(resource)], [])
                    # Checks that an error would be found.
                    test.assertFalse(validator.is_valid(resource | {"spec": {"nothing": 1}, "data": 3}))


def settings(configuration):
    """The command's reading of a configuration in a pod."""
    file = ROOT / ".build/tests/kubernetes.json5"
    file.parent.mkdir(parents=True, exist_ok=True)
    token = file.with_name("kubernetes.token")
    token.write_text("a-token-for-tests-of-the-configuration")
    token.chmod(0o600)
    file.write_text(configuration.replace("/etc/feedstore-secret/token", str(token)))
    told = run(BINARY, "config", "--json", "--config", file, env=os.environ | {"POD_NAME": "feedstore-0"}).stdout
    return {setting["key"]: setting.get("value") for setting in json.loads(told)["settings"]}


class KubernetesTests(unittest.TestCase):
    def setUp(self):
        self.kinds = {resource["kind"]: resource for resource in resources().values()}
        self.pod = self.kinds["StatefulSet"]["spec"]["template"]["spec"]
        (self.container,) = self.pod["containers"]

    @unittest.skipUnless(WHEELS, "kubernetes-validate is not there; `make setup-slow-test` fetches it")
    def test_every_field_is_in_kubernetes_schemas(self):
        check_schemas(self, resources().values())

    def test_every_file_is_used(self):
        files = {path.name for path in FOLDER.glob("*.yaml")}
        self.assertEqual(files, {"kustomization.yaml", "Chart.yaml", "values.yaml", *resources()})

    def test_selectors_match_the_same_pods(self):
        labels = self.kinds["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(self.kinds["StatefulSet"]["spec"]["selector"]["matchLabels"], labels)
        self.assertEqual(self.kinds["Service"]["spec"]["selector"], labels)
        self.assertEqual(self.kinds["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"], labels)
        self.assertEqual(self.kinds["ServiceMonitor"]["spec"]["selector"]["matchLabels"], self.kinds["Service"]["metadata"]["labels"])
        self.assertEqual(self.kinds["StatefulSet"]["spec"]["serviceName"], self.kinds["Service"]["metadata"]["name"])

    def test_probes_and_scrapes_reach_the_port_of_http(self):
        (port,) = self.container["ports"]
        default = re.search(r"^ +port: (\d+),", (ROOT / "config/feedstore.json5").read_text(), re.MULTILINE)[1]
        self.assertEqual(port["containerPort"], int(default))
        for probe, path in (("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
            self.assertEqual(self.container[probe]["httpGet"], {"path": path, "port": port["name"]})
        (service,) = self.kinds["Service"]["spec"]["ports"]
        self.assertEqual((service["port"], service["targetPort"]), (port["containerPort"], port["name"]))
        (endpoint,) = self.kinds["ServiceMonitor"]["spec"]["endpoints"]
        self.assertEqual(endpoint["port"], service["name"])

    def test_each_pod_has_stable_names(self):
        (variable,) = self.container["env"]
        self.assertEqual(variable, {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}})
        configured = self.kinds["ConfigMap"]["data"]["feedstore.json5"]
        self.assertIn('"group.instance.id": "${env:POD_NAME}"', configured)
        self.assertNotIn('"transactional.id"', configured)

    def test_pods_are_unprivileged(self):
        self.assertTrue(self.pod["securityContext"]["runAsNonRoot"])
        user = re.search(r"^USER (\d+):(\d+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
        context = self.pod["securityContext"]
        self.assertEqual((context["runAsUser"], context["runAsGroup"]), (int(user[1]), int(user[2])))
        own = self.container["securityContext"]
        self.assertTrue(own["readOnlyRootFilesystem"] and not own["allowPrivilegeEscalation"])
        self.assertEqual(own["capabilities"], {"drop": ["ALL"]})

    def test_mounts_match_the_configuration(self):
        volumes = {volume["name"]: volume for volume in self.pod["volumes"]}
        mounted = {mount["mountPath"]: volumes[mount["name"]] for mount in self.container["volumeMounts"]}
        file = pathlib.PurePosixPath(self.container["args"][self.container["args"].index("--config") + 1])
        configured = self.kinds["ConfigMap"]["data"][file.name]
        self.assertEqual(mounted[str(file.parent)]["configMap"]["name"], self.kinds["ConfigMap"]["metadata"]["name"])
        token = pathlib.PurePosixPath(re.search(r'tokenFile: "(.*)"', configured)[1])
        secret = mounted[str(token.parent)]["secret"]
        (endpoint,) = self.kinds["ServiceMonitor"]["spec"]["endpoints"]
        self.assertEqual(endpoint["authorization"]["credentials"], {"name": secret["secretName"], "key": token.name})

    @unittest.skipUnless(BINARY.exists(), "`make package-binary` has not built the command")
    def test_the_command_accepts_the_configuration(self):
        values = settings(self.kinds["ConfigMap"]["data"]["feedstore.json5"])
        self.assertEqual(values["kafka.group.instance.id"], "feedstore-0")
        self.assertEqual(values["http.advertisedUrl"], "http://feedstore-0.feedstore:8321")


if __name__ == "__main__":
    unittest.main()
