import Testing

/// The daemon in processes of its own, on a Kafka cluster: exactly once, whatever happens.
///
/// Suites run at the same time, as their daemons mostly wait; the tests of one suite do not, as few machines bear all
/// of them at once.
@Suite(.enabled(if: TestCluster.isThere, "FEEDSTORE_TEST_BOOTSTRAP names no Kafka cluster"))
struct OnCluster {}
