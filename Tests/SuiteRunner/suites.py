"""The suites of `make test`, in the order in which they begin: the longest first."""

import dataclasses
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "Tests"
# The program that `swift build --build-tests` makes.
TEST_PROGRAM = ROOT / ".build" / "debug" / "feedstorePackageTests.xctest"
NODE = os.environ.get("NODE", "node")
STAND_IN = [sys.executable, str(TESTS / "StandInCluster")]


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str
    command: list
    folder: pathlib.Path = ROOT
    # Whether it needs a Kafka cluster: FEEDSTORE_TEST_BOOTSTRAP's, or a separate stand-in.
    uses_cluster: bool = False
    # Whether it disturbs others that use the same cluster.
    restarts_brokers: bool = False
    # The release of Kafka for which the stand-in stands, even if there is a cluster.
    kafka: str = ""

    def command_line(self, bootstrap):
        """The command, with a stand-in unless there is a cluster."""
        command = [*STAND_IN, "--", *self.command] if self.uses_cluster and (self.kafka or not bootstrap) else self.command
        return ["env", f"FEEDSTORE_TEST_KAFKA={self.kafka}", *command] if self.kafka else command


def swift(name, *filters, **more):
    # Not with `swift test`: several at a time may read its build plan while another one writes it.
    command = [str(TEST_PROGRAM), "--testing-library", "swift-testing", *filters]
    return Suite(name, command, uses_cluster=True, **more)


def unittest(name, folder, *modules):
    return Suite(name, [sys.executable, "-m", "unittest", *modules], TESTS / folder)


def fuzz(seconds):
    """Random inputs for so many seconds a target."""
    plain = swift("fuzz", "--filter", "^FuzzTests")
    return dataclasses.replace(plain, command=["env", f"FEEDSTORE_FUZZ_SECONDS={seconds}", *plain.command], uses_cluster=False)


def simulation(seconds):
    """Daemons on a simulated Kafka, for so many seconds."""
    plain = swift("simulation", "--filter", "^SimulationTests")
    return dataclasses.replace(
        plain, command=["env", f"FEEDSTORE_SIMULATION_SECONDS={seconds}", *plain.command], uses_cluster=False
    )


def upgrade():
    """Members of two builds in one group; skipped where there is no earlier commit to build."""
    plain = swift("upgrade", "--filter", "BrokerTests.OnCluster/UpgradeTests")
    return dataclasses.replace(
        plain, command=[sys.executable, str(TESTS / "SuiteRunner" / "earlier_build.py"), "--", *plain.command]
    )


def swift_client(name, *packages):
    """Builds and tests packages of the Swift client: itself, or those within it."""
    folders = [ROOT / "clients" / "swift" / package for package in packages or ("",)]
    commands = [f"{os.environ.get('SWIFT', 'swift')} test --package-path '{folder}'" for folder in folders]
    return Suite(name, ["sh", "-c", " && ".join(commands)])


# Each process runs only as many tests at a time as there are cores, so those that wait a lot, and those that take long, have
# processes of their own.
WAITING = ["KafkaTests", "FeedClientTests", "EndToEndTests"]
LONG = ["FeedStoreTests", "FeedToolsTests"]
RANDOM_RECORDS = "^FeedStoreTests.(OracleAgreementTests|ReplicaAgreementTests)/"

SUITES = [
    swift("broker", "--filter", "^BrokerTests", "--skip", "BrokerRestartTests"),
    # All the others, also those that come later.
    swift("units", "--skip", "^BrokerTests", "--skip", "^FuzzTests", "--skip", "^SimulationTests", *(part for name in WAITING + LONG for part in ("--skip", f"^{name}"))),
    # Two processes, for both cores.
    swift("store", "--filter", "^FeedStoreTests", "--skip", RANDOM_RECORDS),
    swift("agreement", "--filter", RANDOM_RECORDS),
    swift("tools", "--filter", "^FeedToolsTests"),
    # Builds the counted program, and all of Benchmarks.
    Suite("cost", [sys.executable, str(TESTS / "CostGate")]),
    swift("end-to-end", "--filter", "^EndToEndTests"),
    unittest("browser", "BrowserTests"),
    fuzz(seconds=5),
    simulation(seconds=10),
    unittest("examples", "ExampleTests"),
    swift("kafka", "--filter", "^KafkaTests"),
    swift("client", "--filter", "^FeedClientTests"),
    unittest("schemas", "SchemaTests"),
    unittest("documents", "DocumentTests"),
    unittest("hostile", "HostileInput"),
    unittest("monitoring", "MonitoringTests"),
    unittest("security", "SecurityTests"),
    Suite("web", [NODE, "--test", *sorted(map(str, [*(TESTS / "WebTests").glob("*.test.mjs"), *(ROOT / "clients/js/test").glob("*.test.mjs")]))]),
    swift_client("swift-client"),
    # Kills and restarts daemons.
    dataclasses.replace(unittest("python-client", ROOT / "clients" / "python" / "tests"), uses_cluster=True),
    Suite("stand-in", [*STAND_IN, "--", sys.executable, "-m", "unittest"], TESTS / "StandInCluster"),
    unittest("runner", "SuiteRunner"),
    unittest("cost-gate", "CostGate"),
    unittest("benchmark-page", ROOT / "Benchmarks"),
    unittest("benchmark-members", ROOT / "Benchmarks" / "Members"),
    Suite("mutants", [sys.executable, str(TESTS / "Mutants" / "mutants.py"), "--check"]),
    swift("restart", "--filter", "BrokerRestartTests", restarts_brokers=True),
]


def on_kafka(version):
    """The suites in which clients depend on the versions of requests, on a stand-in for that release."""
    chosen = [suite for suite in SUITES if suite.name in ("broker", "restart", "stand-in")]
    chosen.append(unittest("security", "SecurityTests", "test_kafka"))
    return [
        dataclasses.replace(suite, name=f"{suite.name}-{version}", kafka=version, restarts_brokers=False) for suite in chosen
    ]


# The long variants: with FEEDSTORE_TEST_SLOW, the tests make more random cases.
SLOW = [
    # Each makes a clean Debian: one with systemd as its first process, one for an image.
    dataclasses.replace(unittest("package", "PackageTests", "test_package", "test_operating"), uses_cluster=True),
    unittest("image", "PackageTests", "test_image", "test_kubernetes", "test_chart", "test_healthcheck"),
    # Builds an earlier commit.
    upgrade(),
    *on_kafka("4.0"),
    *on_kafka("4.1"),
    # Builds the client twice more, with modules that stand in for Apple's.
    swift_client("swift-lists", "Tests/UIKitStandIn", "Tests/AppKitStandIn"),
    # Again with its users' setting: optimisation.
    Suite("swift-package", [sys.executable, str(ROOT / "clients/swift/build.py"), os.environ.get("SWIFT", "swift"), str(ROOT / ".build/clients")]),
    swift("agreement", "--filter", RANDOM_RECORDS),
    swift("units", "--filter", "^(FeedTests|FeedVerificationTests|FeedStoreTests|FeedToolsTests|FeedClientTests.DamagedLogTests)", "--skip", RANDOM_RECORDS),
    fuzz(seconds=30),
    simulation(seconds=60),
    # The demo, and a fuzzer of its HTTP interface.
    unittest("openapi", "SchemaTests", "slow_openapi"),
    # Also the blocks that build a package, and the web site.
    Suite(
        "documents",
        [sys.executable, "-m", "unittest", "test_shell", "slow_site"],
        TESTS / "DocumentTests",
    ),
    Suite(
        "prometheus",
        [sys.executable, "-m", "unittest", "discover", "--pattern", "slow_*.py"],
        TESTS / "MonitoringTests",
        uses_cluster=True,
    ),
]
