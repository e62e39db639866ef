import Glibc
import Spelling

/// Parses the command line after a subcommand's name.
struct CommandLineParser {
  private let program: String
  private let command: CommandSpecification
  private var remaining: ArraySlice<String>
  private var invocation: CommandInvocation

  init(program: String, command: CommandSpecification, arguments: ArraySlice<String>) {
    self.program = program
    self.command = command
    self.remaining = arguments
    self.invocation = CommandInvocation(command)
  }

  mutating func parse() throws(UsageError) -> CommandInvocation {
    while let argument = remaining.popFirst() {
      if argument == "--" {
        invocation.arguments += remaining
        remaining = []
      } else if argument.hasPrefix("--") {
        try takeOption(argument)
      } else if argument.hasPrefix("-"), argument != "-" {
        throw unknownOption(argument)
      } else {
        invocation.arguments.append(argument)
      }
    }
    try checkArguments()
    return invocation
  }

  private mutating func takeOption(_ argument: String) throws(UsageError) {
    let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = command.option(named: name) else { throw unknownOption("--" + name) }
    if option.valueName != nil, !option.isRepeatable, invocation.values[name] != nil {
      throw UsageError("--\(name) is given more than once; give it once")
    }
    let value = try self.value(of: option, attached: parts.count > 1 ? String(parts[1]) : nil)
    guard option.choices.isEmpty || option.isRepeatable || option.choices.contains(value) else {
      throw UsageError("--\(name) is '\(value)'; allowed: \(option.choices.joined(separator: ", "))")
    }
    invocation.values[name, default: []].append(value)
  }

  private mutating func value(of option: OptionSpecification, attached: String?) throws(UsageError) -> String
  {
    guard let valueName = option.valueName else {
      if let attached {
        throw UsageError("--\(option.name) takes no value, but was given '\(attached)'")
      }
      return ""
    }
    if let attached { return attached }
    guard let next = remaining.first, !next.hasPrefix("--") else {
      throw UsageError("--\(option.name) needs a value: --\(option.name) \(valueName); \(seeHelp)")
    }
    remaining.removeFirst()
    return next
  }

  private func checkArguments() throws(UsageError) {
    let given = invocation.arguments
    let specification = command.arguments
    if let specification, given.count < specification.minimum {
      throw UsageError(
        "'\(program) \(command.name)' needs \(specification.usage), but \(given.count) given; \(seeHelp)"
      )
    }
    let maximum = specification.map { $0.maximum ?? .max } ?? 0
    if given.count > maximum {
      throw UsageError("unexpected argument '\(given[maximum])'; \(seeHelp)")
    }
  }

  private func unknownOption(_ spelling: String) -> UsageError {
    let known = command.options.map { "--" + $0.name } + ["--help"]
    let hint = NearestName.suggestion(for: spelling, among: known).map { "; did you mean \($0)?" } ?? ""
    return UsageError("unknown option \(spelling) of '\(program) \(command.name)'\(hint); \(seeHelp)")
  }

  private var seeHelp: String {
    "see '\(program) \(command.name) --help'"
  }
}

/// One invocation of a subcommand: its options and arguments.
///
/// The accessors take names from the subcommand's specification. Any other name is a programming error and ends the
/// process.
package struct CommandInvocation: Sendable, Equatable {
  package let command: CommandSpecification
  /// The arguments other than options, in order, such as file names; `-` stands for standard input or output.
  package internal(set) var arguments: [String] = []
  var values: [String: [String]] = [:]

  init(_ command: CommandSpecification) {
    self.command = command
  }

  package func flag(_ name: String) -> Bool {
    !values(name).isEmpty
  }

  /// The value of an option; nil if it was not given.
  package func value(_ name: String) -> String? {
    values(name).last
  }

  /// All values of a repeatable option, in the order given.
  package func values(_ name: String) -> [String] {
    precondition(command.option(named: name) != nil, "\(command.name) has no option --\(name)")
    return values[name] ?? []
  }

  /// The value of an option as a whole number; nil if it was not given.
  ///
  /// - Throws: ``UsageError`` that names the option, the value and the range.
  package func integer(_ name: String, in range: ClosedRange<Int32>) throws(UsageError) -> Int32? {
    try number(name, range, AllowedText.integer(Int64(range.lowerBound)...Int64(range.upperBound)))
  }

  /// The value of an option as a number; nil if it was not given.
  ///
  /// - Throws: ``UsageError`` that names the option, the value and the range.
  package func number(_ name: String, in range: ClosedRange<Double>) throws(UsageError) -> Double? {
    try number(name, range, AllowedText.number(range))
  }

  private func number<Number: Comparable & LosslessStringConvertible>(
    _ name: String,
    _ range: ClosedRange<Number>,
    _ allowed: String
  ) throws(UsageError) -> Number? {
    guard let text = value(name) else { return nil }
    if let number = Number(text), range.contains(number) { return number }
    throw UsageError("--\(name) is '\(text)'; allowed: \(allowed)")
  }
}

/// An invalid command line. The process should print it and exit with ``ExitCode/usage``.
package struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The mistake and the remedy, in one line.
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}

package enum ExitCode: Int32, Sendable {
  /// The command succeeded.
  case done = 0
  /// The command failed: the input, the network, the disk.
  case failed = 1
  /// The command line or the configuration is invalid; nothing was started.
  case usage = 2

  /// Ends the process with this code, after flushing the C library's buffers.
  package func exit() -> Never {
    Glibc.exit(rawValue)
  }
}
