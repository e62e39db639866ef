/// Completions for zsh, for a file `_feedstore` in a directory of `fpath`.
struct ZshCompletions {
  private let specification: CommandLineSpecification
  private let lists: ChoiceLists

  init(_ specification: CommandLineSpecification) {
    self.specification = specification
    lists = ChoiceLists(specification)
  }

  var script: String {
    let name = "_" + specification.program
    var text = """
      #compdef \(specification.program)
      # Completions of \(specification.program) for zsh, made by '\(specification.program) completions zsh'.
      \(lists.lists.enumerated().map(function).joined(separator: "\n"))
      \(name)() {
        local command=$words[2]
        if (( CURRENT == 2 )); then
          local -a commands=(
      \(described(specification.firstWords))
            '--help:Shows the help.'
            '--version:Shows the version.'
          )
          _describe command commands
          return
        fi
        shift words
        (( CURRENT-- ))

      """
    for group in specification.groups {
      text += """
          if [[ $command == \(group.word) ]]; then
            if (( CURRENT == 2 )); then
              local -a commands=(
        \(described(group.commands.map { ($0.word, $0.command.summary) }))
              )
              _describe command commands
              return
            fi
            command+=" $words[2]"
            shift words
            (( CURRENT-- ))
          fi

        """
    }
    text += "  case $command in\n"
    for command in specification.commands { text += branch(for: command) }
    text += """
        esac
      }
      if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
        \(name) "$@"
      else
        compdef \(name) \(specification.program)
      fi

      """
    return text
  }

  private func branch(for command: CommandSpecification) -> String {
    var lines = command.options.map { option in
      let repetition = option.isRepeatable ? "*" : ""
      let value = option.valueName.map { ":\($0):\(action(option.completed))" } ?? ""
      return "'\(repetition)--\(option.name)[\(escaped(option.help, "[]:"))]\(value)'"
    }
    lines.append("'--help[Shows the help.]'")
    if let arguments = command.arguments {
      lines.append("'*:\(escaped(arguments.name, ":")):\(action(arguments.completed))'")
    }
    let list = lines.map { "        " + $0 }.joined(separator: " \\\n")
    return "    '\(command.name)')\n      _arguments \\\n\(list) ;;\n"
  }

  private func action(_ value: CompletedValue) -> String {
    switch value {
    case .files: "_files"
    case .choices(let choices): "_\(specification.program)_list\(lists.number(of: choices))"
    case .nothing: " "
    }
  }

  /// A function that completes a list of words, without a space after a word that ends with '='.
  private func function(_ number: Int, _ list: [String]) -> String {
    let suffix = list.allSatisfy { $0.hasSuffix("=") } ? "-S '' " : ""
    return "_\(specification.program)_list\(number)() { compadd \(suffix)- \(list.joined(separator: " ")) }"
  }

  private func described(_ words: [(word: String, summary: String)]) -> String {
    words.map { "      '\(escaped($0.word, ":")):\(escaped($0.summary, ""))'" }.joined(separator: "\n")
  }

  /// Escapes text for single quotes, and the characters that are special to `_arguments` and `_describe`.
  private func escaped(_ text: String, _ special: String) -> String {
    text.reduce(into: "") { result, character in
      if character == "\\" || special.contains(character) { result += "\\" }
      result += character == "'" ? "'\\''" : String(character)
    }
  }
}
