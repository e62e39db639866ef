/// Describes the allowed values of a key, for error messages.
enum AllowedText {
  static func integer(_ range: ClosedRange<Int64>) -> String {
    switch (range.lowerBound, range.upperBound) {
    case (.min, .max): "a whole number"
    case (let lower, .max): "a whole number, \(lower) or more"
    case (let lower, let upper): "a whole number from \(lower) to \(upper)"
    }
  }

  static func number(_ range: ClosedRange<Double>) -> String {
    let greatest = Double.greatestFiniteMagnitude
    return switch (range.lowerBound, range.upperBound) {
    case (-greatest, greatest...): "a finite number"
    case (let lower, greatest...): "a finite number, \(text(lower)) or more"
    case (let lower, let upper): "a number from \(text(lower)) to \(text(upper))"
    }
  }

  /// A number; integers without `.0`.
  static func text(_ number: Double) -> String {
    Int64(exactly: number).map(String.init) ?? number.description
  }
}
