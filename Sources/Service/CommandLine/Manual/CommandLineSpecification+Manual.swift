extension CommandLineSpecification {
  /// The program's manual page, for section 1.
  ///
  /// - Parameter more: additional sections, which follow those of the specification.
  public func manual(with more: [ManualSection] = []) -> String {
    var page = Roff(title: program, section: 1, source: source, manual: "User Commands")
    page.section("Name")
    page.paragraph(
      "\(program) - \(summary.prefix(1).lowercased() + summary.dropFirst().prefix { $0 != "." })"
    )
    page.section("Synopsis")
    page.paragraph("\(program) COMMAND [OPTION]...")
    page.section("Description")
    page.paragraph(summary)
    page.section("Commands")
    for command in commands { write(command, to: &page) }
    page.section("Options")
    page.item("--help", "Shows the help; after a command, the help of that command.")
    page.item("--version", "Shows the version.")
    for section in more { section.write(to: &page) }
    return page.text
  }

  private var source: String { "\(program) \(version.prefix { $0 != " " })" }

  private func write(_ command: CommandSpecification, to page: inout Roff) {
    let usage =
      [program, command.name] + (command.arguments.map { [$0.usage] } ?? []) + command.options.map(\.usage)
    page.subsection("\(program) \(command.name)")
    page.paragraph(usage.joined(separator: " "))
    page.paragraph(command.summary)
    for paragraph in command.discussion.split(separator: "\n") { page.paragraph(String(paragraph)) }
    if let arguments = command.arguments { page.item(arguments.usage, arguments.help) }
    for option in command.options {
      page.item(option.spelling + (option.isRepeatable ? "..." : ""), option.help)
    }
  }
}
