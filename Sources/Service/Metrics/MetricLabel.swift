/// A label that distinguishes a sample from others of its family.
public struct MetricLabel: Sendable, Equatable {
  let name: String
  /// Any text.
  let value: String

  /// - Parameter name: letters, digits and underscores, not beginning with a digit; an invalid name ends the process.
  init(_ name: String, _ value: String) {
    precondition(MetricFamily.isName(name), "\(name.debugDescription) cannot be a label's name")
    self.name = name
    self.value = value
  }
}
