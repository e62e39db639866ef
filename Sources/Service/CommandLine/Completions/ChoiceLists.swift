/// The different lists of choices of a command line, so that a script has each once.
struct ChoiceLists {
  /// In the order in which they are met first.
  let lists: [[String]]

  init(_ specification: CommandLineSpecification) {
    var lists: [[String]] = []
    for command in specification.commands {
      let all = command.options.map(\.choices) + [command.arguments?.choices ?? []]
      for list in all where !list.isEmpty && !lists.contains(list) { lists.append(list) }
    }
    self.lists = lists
  }

  /// Which one it is; it must be one of the specification's.
  func number(of list: [String]) -> Int {
    guard let number = lists.firstIndex(of: list) else {
      preconditionFailure("a list of another command line")
    }
    return number
  }
}
