extension CommandLineSpecification {
  /// The distinct first words of the commands, each with the summary of its first command.
  var firstWords: [(word: String, summary: String)] {
    var words: [(word: String, summary: String)] = []
    for command in commands {
      let word = String(command.name.prefix { $0 != " " })
      if words.last?.word == word { continue }
      words.append((word, command.name == word ? command.summary : secondWordList(of: word)))
    }
    return words
  }

  /// The two-word commands, grouped by their first word.
  var groups: [(word: String, commands: [(word: String, command: CommandSpecification)])] {
    firstWords.compactMap { first, _ in
      let members = commands.filter { $0.name.hasPrefix(first + " ") }
      guard !members.isEmpty else { return nil }
      return (first, members.map { (String($0.name.dropFirst(first.count + 1)), $0) })
    }
  }

  private func secondWordList(of word: String) -> String {
    let members = commands.filter { $0.name.hasPrefix(word + " ") }
    return members.map { String($0.name.dropFirst(word.count + 1)) }.joined(separator: ", ") + "."
  }
}
