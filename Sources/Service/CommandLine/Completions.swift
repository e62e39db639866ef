/// A shell with completions.
package enum Shell: String, Sendable, CaseIterable {
  case bash, zsh, fish
}

extension CommandLineSpecification {
  /// A completion script for a shell. It is self-contained: completing does not run the program.
  package func completions(for shell: Shell) -> String {
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

/// The distinct lists of choices of a command line, so that a script contains each only once.
struct ChoiceLists {
  /// In the order of their first use.
  let lists: [[String]]

  init(_ specification: CommandLineSpecification) {
    var lists: [[String]] = []
    for command in specification.commands {
      let all = command.options.map(\.choices) + [command.arguments?.choices ?? []]
      for list in all where !list.isEmpty && !lists.contains(list) { lists.append(list) }
    }
    self.lists = lists
  }

  /// The index of a list of the specification.
  func number(of list: [String]) -> Int {
    guard let number = lists.firstIndex(of: list) else {
      preconditionFailure("a list of another command line")
    }
    return number
  }
}

/// Completions for bash, without the package bash-completion.
struct BashCompletions {
  private let specification: CommandLineSpecification
  private let lists: ChoiceLists

  init(_ specification: CommandLineSpecification) {
    self.specification = specification
    lists = ChoiceLists(specification)
  }

  var script: String {
    let name = "_" + specification.program
    var text = """
      # Completions of \(specification.program) for bash, made by '\(specification.program) completions bash'.
      \(name)() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} options= values= files=
        COMPREPLY=()
        if [[ $COMP_CWORD -eq 1 ]]; then
          COMPREPLY=($(compgen -W '\(words(specification.firstWords.map(\.word) + ["--help", "--version"]))' -- "$word"))
          return
        fi

      """
    for group in specification.groups {
      text += """
          if [[ $command == \(group.word) ]]; then
            if [[ $COMP_CWORD -eq 2 ]]; then
              COMPREPLY=($(compgen -W '\(words(group.commands.map(\.word) + ["--help"]))' -- "$word"))
              return
            fi
            command+=" ${COMP_WORDS[2]}"
          fi

        """
    }
    for (number, list) in lists.lists.enumerated() { text += "  local list\(number)='\(words(list))'\n" }
    text += """
        # '=' divides words: it may follow an option, or be part of its value.
        if [[ $word == = ]]; then
          [[ $before == --* ]] || return 0
          word=
        elif [[ $before == = ]]; then
          before=${COMP_WORDS[COMP_CWORD-2]}
          [[ $before == --* ]] || return 0
        fi
        case $command in

      """
    for command in specification.commands { text += branch(for: command) }
    text += """
        esac
        if [[ $values ]]; then
          COMPREPLY=($(compgen -W "$values" -- "$word"))
          [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
        elif [[ $files ]]; then
          compopt -o filenames 2>/dev/null
          mapfile -t COMPREPLY < <(compgen -f -- "$word")
        elif [[ $options ]]; then
          COMPREPLY=($(compgen -W "$options" -- "$word"))
        fi
      }
      complete -F \(name) \(specification.program)

      """
    return text
  }

  private func branch(for command: CommandSpecification) -> String {
    var text = "    '\(command.name)')\n      case $before in\n"
    for option in command.options where option.valueName != nil {
      text += "        --\(option.name)) \(assignment(option.completed)) ;;\n"
    }
    let options = "options='\(words(command.options.map { "--" + $0.name } + ["--help"]))'"
    switch command.arguments?.completed {
    case nil, .nothing: text += "        *) \(options) ;;\n"
    case let arguments?:
      text += "        *) if [[ $word == -* ]]; then \(options); else \(assignment(arguments)); fi ;;\n"
    }
    return text + "      esac ;;\n"
  }

  private func assignment(_ value: CompletedValue) -> String {
    switch value {
    case .files: "files=1"
    case .choices(let choices): "values=$list\(lists.number(of: choices))"
    case .nothing: ":"
    }
  }

  private func words(_ words: [String]) -> String { words.joined(separator: " ") }
}

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

/// Completions for fish.
struct FishCompletions {
  private let specification: CommandLineSpecification
  private let lists: ChoiceLists

  init(_ specification: CommandLineSpecification) {
    self.specification = specification
    lists = ChoiceLists(specification)
  }

  var script: String {
    let program = specification.program
    var text = """
      # Completions of \(program) for fish, made by '\(program) completions fish'.
      function __\(program)_at
        set -l words (commandline -opc)
        test "$words[2..]" = "$argv"
      end
      function __\(program)_in
        set -l words (commandline -opc)
        set -l wanted (string split ' ' -- $argv[1])
        set -l last (math (count $wanted) + 1)
        test (count $words) -ge $last; and test "$words[2..$last]" = "$argv[1]"
      end
      complete -c \(program) -f

      """
    for (number, list) in lists.lists.enumerated() {
      text +=
        "function __\(program)_list\(number)\n  string split ' ' -- '\(list.joined(separator: " "))'\nend\n"
    }
    for (word, summary) in specification.firstWords { text += offer(word, "__\(program)_at", summary) }
    text += "complete -c \(program) -n '__\(program)_at' -l help -d 'Shows the help.'\n"
    text += "complete -c \(program) -n '__\(program)_at' -l version -d 'Shows the version.'\n"
    for group in specification.groups {
      for member in group.commands {
        text += offer(member.word, "__\(program)_at \(group.word)", member.command.summary)
      }
    }
    for command in specification.commands { text += lines(for: command) }
    return text
  }

  private func offer(_ word: String, _ condition: String, _ summary: String) -> String {
    "complete -c \(specification.program) -n '\(condition)' -a '\(word)' -d '\(escaped(summary))'\n"
  }

  private func lines(for command: CommandSpecification) -> String {
    let start = "complete -c \(specification.program) -n '__\(specification.program)_in \"\(command.name)\"'"
    var text = ""
    for option in command.options {
      text += "\(start) -l \(option.name)"
      if option.valueName != nil {
        switch option.completed {
        case .files: text += " -r -F"
        case .choices(let choices): text += " -x -a '\(call(choices))'"
        case .nothing: text += " -x"
        }
      }
      text += " -d '\(escaped(option.help))'\n"
    }
    text += "\(start) -l help -d 'Shows the help.'\n"
    switch command.arguments?.completed {
    case .files: text += "\(start) -F\n"
    case .choices(let choices): text += "\(start) -a '\(call(choices))'\n"
    case .nothing, nil: break
    }
    return text
  }

  private func call(_ choices: [String]) -> String {
    "(__\(specification.program)_list\(lists.number(of: choices)))"
  }

  private func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      if character == "'" || character == "\\" { result += "\\" }
      result.append(character)
    }
  }
}
