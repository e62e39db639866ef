/// Records that were accepted by a producer and could not be delivered.
public struct DeliveryErrors: Sendable, Hashable {
  /// How many there were.
  public private(set) var count = 0

  /// The first of them, at most `maxErrors`, each naming its topic and partition.
  public private(set) var errors: [KafkaError] = []

  /// The most errors that are kept; further ones are only counted.
  public static let maxErrors = 16

  /// None.
  public init() {}

  public var isEmpty: Bool { count == 0 }

  mutating func append(_ error: KafkaError) {
    count += 1
    if errors.count < Self.maxErrors {
      errors.append(error)
    }
  }
}
