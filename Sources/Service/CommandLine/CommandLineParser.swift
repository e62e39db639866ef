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
      throw UsageError(.repeatedOption, "--\(name) is given more than once; give it once")
    }
    let value = try self.value(of: option, attached: parts.count > 1 ? String(parts[1]) : nil)
    invocation.values[name, default: []].append(value)
  }

  private mutating func value(of option: OptionSpecification, attached: String?) throws(UsageError) -> String
  {
    guard let valueName = option.valueName else {
      if let attached {
        throw UsageError(.unexpectedValue, "--\(option.name) takes no value, but was given '\(attached)'")
      }
      return ""
    }
    if let attached { return attached }
    guard let next = remaining.first, !next.hasPrefix("--") else {
      throw UsageError(
        .missingValue,
        "--\(option.name) needs a value: --\(option.name) \(valueName); \(seeHelp)"
      )
    }
    remaining.removeFirst()
    return next
  }

  private func checkArguments() throws(UsageError) {
    let given = invocation.arguments
    let specification = command.arguments
    if let specification, given.count < specification.minimum {
      throw UsageError(
        .missingArgument,
        "'\(program) \(command.name)' needs \(specification.usage), but \(given.count) given; \(seeHelp)"
      )
    }
    let maximum = specification.map { $0.maximum ?? .max } ?? 0
    if given.count > maximum {
      throw UsageError(.unexpectedArgument, "unexpected argument '\(given[maximum])'; \(seeHelp)")
    }
  }

  private func unknownOption(_ spelling: String) -> UsageError {
    let known = command.options.map { "--" + $0.name } + ["--help"]
    let hint = NearestName.suggestion(for: spelling, among: known).map { "; did you mean \($0)?" } ?? ""
    return UsageError(
      .unknownOption,
      "unknown option \(spelling) of '\(program) \(command.name)'\(hint); \(seeHelp)"
    )
  }

  private var seeHelp: String {
    "see '\(program) \(command.name) --help'"
  }
}
