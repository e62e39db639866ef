import Testing

/// The daemon in processes of its own, on a real Kafka cluster: exactly once, whatever happens.
///
/// One test after the other, as each needs the machine for itself.
@Suite(.serialized, .enabled(if: TestCluster.isThere, "FEEDSTORE_TEST_BOOTSTRAP names no Kafka cluster"))
struct OnCluster {}
