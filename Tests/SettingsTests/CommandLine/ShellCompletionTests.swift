import Foundation
import ProcessSupport
import Settings
import Testing

/// The specification's suggestions, and the shells' use of them. Shells that are not installed are skipped.
@Suite struct ShellCompletionTests {
  private static let specification = CommandLineSpecification(
    "tool",
    version: "1",
    summary: "Does things.",
    commands: [
      CommandSpecification(
        "run",
        summary: "Runs 'it': [fast].",
        options: [
          .value("config", "FILE", help: "It's a file: [JSON]."), .flag("loop", help: "Again."),
          .repeated("set", "KEY=VALUE", choices: ["a.b=", "a.c="], help: "Sets."),
          .value("speed", "N", help: "How fast."),
        ]
      ),
      CommandSpecification(
        "read",
        summary: "Reads.",
        arguments: ArgumentSpecification("FILE", help: "Files."),
        options: [.value("from", "WHEN", choices: ["now", "beginning"], help: "Since when.")]
      ),
      CommandSpecification("letters list", summary: "Lists.", options: [.flag("all", help: "All.")]),
      CommandSpecification(
        "letters send",
        summary: "Sends.",
        arguments: ArgumentSpecification("HOW", choices: ["air", "sea"], help: "How.")
      ),
    ]
  )

  private static let lines: [(words: [String], suggested: Set<String>)] = [
    ([""], ["run", "read", "letters", "--help", "--version"]),
    (["letters", ""], ["list", "send", "--help"]),
    (["letters", "send", ""], ["air", "sea"]),
    (["letters", "list", "--"], ["--all", "--help"]),
    (["run", "--"], ["--config", "--loop", "--set", "--speed", "--help"]),
    (["run", ""], ["--config", "--loop", "--set", "--speed", "--help"]),
    (["run", "--set", "a."], ["a.b=", "a.c="]),
    (["run", "--loop", "--speed", "x"], []),
    (["run", "--config", "some"], [":files"]),
    (["read", "some"], [":files"]),
    (["read", "--from", ""], ["now", "beginning"]),
    (["read", "--from", "=", "be"], ["now", "beginning"]), (["read", "--from", "="], ["now", "beginning"]),
    (["run", "--set", "a.b", "="], []), (["run", "--set", "a.b", "=", ""], []),
    (["nothing", ""], []),
  ]

  @Test func `what may follow the words of a command line is suggested`() {
    for (words, suggested) in Self.lines {
      let text = Shell.bash.text(of: Self.specification.suggestions(for: words))
      #expect(Set(text.split(separator: "\n").map(String.init)) == suggested, "\(words)")
    }
    let zsh = Shell.zsh.text(of: Self.specification.suggestions(for: ["letters", ""]))
    #expect(zsh == "list:Lists.\nsend:Sends.\n--help:Shows the help.\n")
    let fish = Shell.fish.text(of: Self.specification.suggestions(for: [""]))
    #expect(fish.hasPrefix("run\tRuns 'it': [fast].\nread\tReads.\nletters\tlist, send\n"))
  }

  /// Commands with which each shell prints what it completes after `tool r` and after `tool x`.
  ///
  /// zsh's completion functions work only in its line editor; these replacements print their arguments.
  private static let commands: [Shell: (options: [String], commands: String)] = [
    .bash: (
      ["--norc"],
      """
      for word in r x; do COMP_WORDS=(tool $word); COMP_CWORD=1; _tool 2>/dev/null
      printf '%s\\n' "${COMPREPLY[@]}"; done
      """
    ),
    .zsh: (
      ["-f"],
      """
      _describe() { print -rl -- ${(P)2}; }; _files() { print -rl -- *; }
      for word in r x; do words=(tool $word); CURRENT=2; _tool; done; true
      """
    ),
    .fish: (["--no-config"], "complete -C 'tool r'; complete -C 'tool x'"),
  ]

  @Test(arguments: Shell.allCases)
  func `a shell completes what the command suggests`(shell: Shell) throws {
    let path = "/usr/bin/\(shell.rawValue)"
    guard FileManager.default.isExecutableFile(atPath: path) else { return }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "feedstore-\(UUID().uuidString)"
    )
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let tool = folder.appendingPathComponent("tool")
    try Data("#!/bin/sh\nif [ $# -eq 4 ] && [ $4 = r ]; then echo run; else echo :files; fi\n".utf8).write(
      to: tool
    )
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: tool.path)
    try Data(shell.script(for: "tool").utf8).write(to: folder.appendingPathComponent("script"))
    try Data().write(to: folder.appendingPathComponent("x file"))
    let (options, commands) = try #require(Self.commands[shell])
    let start = shell == .zsh ? "compdef() { :; }; source ./script; " : "source ./script; "
    let output = Pipe()
    let process = try ChildProcess(
      path,
      options + ["-c", start + commands],
      environment: ["HOME": folder.path, "PATH": "\(folder.path):/usr/bin:/bin"],
      in: folder.path,
      output: .pipe(output),
      error: .inherited
    )
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    #expect(process.waitForEnd() == .exited(0))
    let lines = text.split(separator: "\n").map { $0.replacing("\\", with: "") }
    #expect(lines.contains("run") && lines.contains("x file"), "\(text)")
  }
}
