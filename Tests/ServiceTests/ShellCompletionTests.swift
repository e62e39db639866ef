import Foundation
import ProcessSupport
import Service
import Testing

/// What shells complete with the scripts. Shells that are not installed are skipped.
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

  private static func isThere(_ shell: Shell) -> Bool {
    FileManager.default.isExecutableFile(atPath: "/usr/bin/\(shell.rawValue)")
  }

  /// The output lines of a shell that has loaded the script.
  private static func lines(_ shell: Shell, _ options: [String], _ commands: String) throws -> Set<String> {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("feedstore-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try Data(specification.completions(for: shell).utf8).write(to: folder.appendingPathComponent("script"))
    try Data().write(to: folder.appendingPathComponent("some file"))
    let output = Pipe()
    let process = try ChildProcess(
      "/usr/bin/\(shell.rawValue)",
      options + ["-c", commands],
      environment: ["HOME": folder.path, "PATH": "/usr/bin:/bin"],
      in: folder.path,
      output: .pipe(output),
      error: .inherited
    )
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    #expect(process.waitForEnd() == .exited(0))
    return Set(text.split(separator: "\n").map(String.init))
  }

  private static let common: [(words: [String], offered: Set<String>)] = [
    (["tool", ""], ["run", "read", "letters"]),
    (["tool", "r"], ["run", "read"]),
    (["tool", "letters", ""], ["list", "send"]),
    (["tool", "letters", "send", ""], ["air", "sea"]),
    (["tool", "letters", "send", "s"], ["sea"]),
    (["tool", "letters", "list", "--"], ["--all", "--help"]),
    (["tool", "run", "--"], ["--config", "--loop", "--set", "--speed", "--help"]),
    (["tool", "run", "--set", "a."], ["a.b=", "a.c="]),
    (["tool", "run", "--loop", "--speed", "x"], []),
    (["tool", "run", "--config", "some"], ["some file"]),
    (["tool", "read", "some"], ["some file"]),
    (["tool", "read", "--from", ""], ["now", "beginning"]),
    (["tool", "nothing", ""], []),
  ]

  @Test(.enabled(if: isThere(.bash), "bash is not installed"))
  func `bash completes the specification`() throws {
    // Also where bash splits words at '='.
    let more: [(words: [String], offered: Set<String>)] = [
      (["tool", "--"], ["--help", "--version"]), (["tool", "letters", "--"], ["--help"]),
      (["tool", "read", "--from", "=", "be"], ["beginning"]),
      (["tool", "read", "--from", "="], ["now", "beginning"]),
      (["tool", "run", "--set", "a.b", "="], []), (["tool", "run", "--set", "a.b", "=", ""], []),
      (["tool", "run", ""], ["--config", "--loop", "--set", "--speed", "--help"]),
    ]
    for (words, offered) in Self.common + more {
      let list = words.map { "'\($0)'" }.joined(separator: " ")
      let found = try Self.lines(
        .bash,
        ["--norc"],
        """
        source ./script; COMP_WORDS=(\(list)); COMP_CWORD=\(words.count - 1)
        _tool 2>/dev/null; for reply in "${COMPREPLY[@]}"; do echo "$reply"; done
        """
      )
      // For the first word, the program's own options are completed as well.
      let expected = words == ["tool", ""] ? offered.union(["--help", "--version"]) : offered
      let group: Set<String> = words == ["tool", "letters", ""] ? ["--help"] : []
      #expect(found == expected.union(group), "\(words)")
    }
  }

  @Test(.enabled(if: isThere(.fish), "fish is not installed"))
  func `fish completes the specification`() throws {
    for (words, offered) in Self.common {
      let line = words.joined(separator: " ")
      let found = try Self.lines(.fish, ["--no-config"], "source ./script; complete -C '\(line)'")
      let names = Set(found.map { String($0.prefix { $0 != "\t" }).replacing("\\", with: "") })
      #expect(names == offered, "\(words)")
    }
  }

  @Test(.enabled(if: isThere(.zsh), "zsh is not installed"))
  func `zsh receives the specification`() throws {
    // zsh's completion functions work only in its line editor; these replacements print their arguments.
    let functions = """
      compdef() { :; }; compadd() { print -rl -- "$@"; }; _describe() { print -rl -- ${(P)2}; }
      _arguments() { print -rl -- "$@"; print "at $CURRENT"; }; source ./script
      """
    func told(_ words: String..., current: Int) throws -> Set<String> {
      let list = words.map { "'\($0)'" }.joined(separator: " ")
      return try Self.lines(.zsh, ["-f"], "\(functions); words=(\(list)); CURRENT=\(current); _tool; true")
    }
    #expect(
      try told("tool", "", current: 2) == [
        "run:Runs 'it': [fast].", "read:Reads.", "letters:list, send.", "--help:Shows the help.",
        "--version:Shows the version.",
      ]
    )
    #expect(try told("tool", "letters", "", current: 3) == ["list:Lists.", "send:Sends."])
    #expect(
      try told("tool", "run", "--set", "", current: 4) == [
        "--config[It's a file\\: \\[JSON\\].]:FILE:_files", "--loop[Again.]",
        "*--set[Sets.]:KEY=VALUE:_tool_list0",
        "--speed[How fast.]:N: ", "--help[Shows the help.]", "at 3",
      ]
    )
    #expect(
      try told("tool", "letters", "send", "", current: 4) == [
        "--help[Shows the help.]", "*:HOW:_tool_list2", "at 2",
      ]
    )
    #expect(try Self.lines(.zsh, ["-f"], "\(functions); _tool_list0") == ["-S", "-", "a.b=", "a.c="])
  }
}
