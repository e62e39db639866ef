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
