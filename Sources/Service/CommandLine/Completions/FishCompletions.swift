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
