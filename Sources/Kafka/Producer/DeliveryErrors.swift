/// Records that a producer accepted but could not deliver.
public struct DeliveryErrors: Sendable, Hashable {
  /// The number of records.
  public private(set) var count = 0

  /// The first errors, at most `maxErrors`, each with its topic and partition.
  public private(set) var errors: [KafkaError] = []

  /// The maximum number of errors that are kept; further ones are only counted.
  public static let maxErrors = 16

  /// Creates an empty value.
  public init() {}

  public var isEmpty: Bool { count == 0 }

  mutating func append(_ error: KafkaError) {
    count += 1
    if errors.count < Self.maxErrors {
      errors.append(error)
    }
  }

  /// Adds errors that came later.
  package mutating func append(_ later: DeliveryErrors) {
    count += later.count
    errors += later.errors.prefix(Self.maxErrors - errors.count)
  }
}
