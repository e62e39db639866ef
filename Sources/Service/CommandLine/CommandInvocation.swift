/// One invocation of a subcommand: its options and arguments.
///
/// The accessors take names from the subcommand's specification. Any other name is a programming error and ends the
/// process.
public struct CommandInvocation: Sendable, Equatable {
  /// The subcommand.
  public let command: CommandSpecification
  /// The arguments other than options, in order, such as file names; `-` stands for standard input or output.
  public internal(set) var arguments: [String] = []
  var values: [String: [String]] = [:]

  init(_ command: CommandSpecification) {
    self.command = command
  }

  /// Whether a flag was given.
  public func flag(_ name: String) -> Bool {
    !given(name).isEmpty
  }

  /// The value of an option; nil if it was not given.
  public func value(_ name: String) -> String? {
    given(name).last
  }

  /// All values of a repeatable option, in the order given.
  public func values(_ name: String) -> [String] {
    given(name)
  }

  /// The value of an option as a whole number.
  ///
  /// - Throws: ``UsageError`` that names the option, the value and the range.
  public func integer(
    _ name: String,
    default defaultValue: Int,
    in range: ClosedRange<Int>
  ) throws(UsageError) -> Int {
    guard let text = value(name) else { return defaultValue }
    guard let number = Int(text), range.contains(number) else {
      let allowed = AllowedText.integer(Int64(range.lowerBound)...Int64(range.upperBound))
      throw UsageError(.invalidValue, "--\(name) is '\(text)'; allowed: \(allowed)")
    }
    return number
  }

  /// The value of an option as a number.
  ///
  /// - Throws: ``UsageError`` that names the option, the value and the range.
  public func number(
    _ name: String,
    default defaultValue: Double,
    in range: ClosedRange<Double>
  ) throws(UsageError) -> Double {
    guard let text = value(name) else { return defaultValue }
    guard let number = Double(text), range.contains(number) else {
      throw UsageError(.invalidValue, "--\(name) is '\(text)'; allowed: \(AllowedText.number(range))")
    }
    return number
  }

  private func given(_ name: String) -> [String] {
    precondition(command.option(named: name) != nil, "\(command.name) has no option --\(name)")
    return values[name] ?? []
  }
}
