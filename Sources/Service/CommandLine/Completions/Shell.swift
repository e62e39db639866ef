/// A shell with completions.
public enum Shell: String, Sendable, CaseIterable {
  case bash, zsh, fish
}

extension CommandLineSpecification {
  /// A completion script for a shell. It is self-contained: completing does not run the program.
  public func completions(for shell: Shell) -> String {
    switch shell {
    case .bash: BashCompletions(self).script
    case .zsh: ZshCompletions(self).script
    case .fish: FishCompletions(self).script
    }
  }
}

/// What a shell completes for a value.
enum CompletedValue {
  case files
  case choices([String])
  case nothing

  init(name: String?, choices: [String]) {
    if !choices.isEmpty {
      self = .choices(choices)
    } else {
      self = name == "FILE" ? .files : .nothing
    }
  }
}

extension OptionSpecification {
  var completed: CompletedValue { CompletedValue(name: valueName, choices: choices) }
}

extension ArgumentSpecification {
  var completed: CompletedValue { CompletedValue(name: name, choices: choices) }
}
