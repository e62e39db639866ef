/// A shell with completions. Its script asks the program for the words that may follow the typed ones.
package enum Shell: String, Sendable, CaseIterable {
  case bash, zsh, fish

  /// A script that completes a program's command line.
  package func script(for program: String) -> String {
    let ask = "\(program) completions \(rawValue) --"
    let head = "# Completions of \(program) for \(rawValue), made by '\(program) completions \(rawValue)'.\n"
    return switch self {
    case .bash:
      // bash divides words at '=' too.
      head + """
        _\(program)() {
          local IFS=$'\\n' word=${COMP_WORDS[COMP_CWORD]} found
          found=$(\(ask) "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
          [[ $word == = ]] && word=
          if [[ $found == :files ]]; then
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
          else
            COMPREPLY=($(compgen -W "$found" -- "$word"))
            [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
          fi
        }
        complete -F _\(program) \(program)

        """
    case .zsh:
      "#compdef \(program)\n" + head + """
        _\(program)() {
          local -a found=("${(@f)$(\(ask) "${(@)words[2,CURRENT]}" 2>/dev/null)}")
          if [[ $found[1] == :files ]]; then
            _files
          elif [[ $found[1] == *= ]]; then
            compadd -S '' -- $found
          elif [[ -n $found[1] ]]; then
            _describe \(program) found
          fi
        }
        if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _\(program) "$@"; else compdef _\(program) \(program); fi

        """
    case .fish:
      head + """
        function __\(program)_complete
          set -l found (\(ask) (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
          if test "$found" = :files
            __fish_complete_path (commandline -ct)
          else
            string join \\n -- $found
          end
        end
        complete -c \(program) -f -a '(__\(program)_complete)'

        """
    }
  }

  /// The output for the script: one suggestion per line, with its description for the shell.
  package func text(of suggestions: CommandLineSuggestions) -> String {
    switch suggestions {
    case .files: ":files\n"
    case .words(let words):
      words.map { word, description in
        switch self {
        case .zsh where !description.isEmpty: "\(word.replacing(":", with: "\\:")):\(description)\n"
        case .fish where !description.isEmpty: "\(word)\t\(description)\n"
        default: word + "\n"
        }
      }.joined()
    }
  }
}

/// The possible words at the end of a command line.
package enum CommandLineSuggestions {
  case files
  case words([(word: String, description: String)])

  fileprivate init(valueName: String?, choices: [String]) {
    self = choices.isEmpty && valueName == "FILE" ? .files : .words(choices.map { ($0, "") })
  }
}

extension CommandLineSpecification {
  /// Suggestions for the last of the words after the program's name. The shell omits those without its prefix.
  package func suggestions(for words: [String]) -> CommandLineSuggestions {
    let help = (word: "--help", description: "Shows the help.")
    guard let first = words.first, words.count > 1 else {
      return .words(firstWords + [help, (word: "--version", description: "Shows the version.")])
    }
    let group = commands.filter { $0.name.hasPrefix(first + " ") }
    guard group.isEmpty || words.count > 2 else {
      return .words(group.map { (String($0.name.dropFirst(first.count + 1)), $0.summary) } + [help])
    }
    let name = group.isEmpty ? first : "\(first) \(words[1])"
    guard let command = commands.first(where: { $0.name == name }), let word = words.last else {
      return .words([])
    }
    var before = words.dropLast()
    if word == "=" || before.last == "=" {
      // '=' divides words: it may follow an option, or be part of its value.
      if word != "=" { before.removeLast() }
      guard before.last?.hasPrefix("--") == true else { return .words([]) }
    }
    if let last = before.last, last.hasPrefix("--"),
      let option = command.option(named: String(last.dropFirst(2))), option.valueName != nil
    {
      return CommandLineSuggestions(valueName: option.valueName, choices: option.choices)
    }
    if let arguments = command.arguments, !word.hasPrefix("-") {
      return CommandLineSuggestions(valueName: arguments.name, choices: arguments.choices)
    }
    return .words(command.options.map { ("--" + $0.name, $0.help) } + [help])
  }

  /// The distinct first words of the commands, each with its command's summary or its second words.
  private var firstWords: [(word: String, description: String)] {
    var words: [(word: String, description: String)] = []
    for command in commands {
      let parts = command.name.split(separator: " ").map(String.init)
      if parts.count == 1 {
        words.append((parts[0], command.summary))
      } else if words.last?.word == parts[0] {
        words[words.count - 1].description += ", " + parts[1]
      } else {
        words.append((parts[0], parts[1]))
      }
    }
    return words
  }
}
