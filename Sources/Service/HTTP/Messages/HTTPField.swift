/// A name and a value: a header field or a query parameter.
public struct HTTPField: Sendable, Equatable {
  public var name: String
  public var value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// Whether two names are equal, ignoring the case of ASCII letters.
  static func isSameName(_ first: String, _ second: String) -> Bool {
    isSameName(first.utf8, second.utf8)
  }

  /// Whether two names are equal, ignoring the case of ASCII letters.
  static func isSameName(_ first: some Sequence<UInt8>, _ second: some Sequence<UInt8>) -> Bool {
    first.elementsEqual(second, by: isSameIgnoringCase)
  }
}

extension [HTTPField] {
  /// The value of the first field with a name, ignoring case.
  func first(named name: String) -> String? {
    first { HTTPField.isSameName($0.name, name) }?.value
  }
}

private func isSameIgnoringCase(_ first: UInt8, _ second: UInt8) -> Bool {
  first == second
    || (first ^ second == 0x20 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20))
}
