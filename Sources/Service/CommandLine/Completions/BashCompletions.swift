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
