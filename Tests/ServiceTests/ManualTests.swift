import Service
import Testing

@Suite struct ManualTests {
  private static let specification = CommandLineSpecification(
    "tool",
    version: "1.2.3 (commit x)",
    summary: "Does things. And more.",
    commands: [
      CommandSpecification(
        "letters send",
        summary: "Sends.",
        discussion: ".like this\nBack\\slash – dash.",
        arguments: ArgumentSpecification("N", help: "Which."),
        options: [.repeated("set", "KEY=VALUE", help: "It's set.")]
      )
    ]
  )

  @Test func `a page has the same content as the help`() {
    let page = #"""
      .TH "TOOL" 1 "" "tool 1.2.3" "User Commands"
      .nh
      .ad l
      .SH "NAME"
      .PP
      tool \- does things
      .SH "SYNOPSIS"
      .PP
      tool COMMAND [OPTION]...
      .SH "DESCRIPTION"
      .PP
      Does things. And more.
      .SH "COMMANDS"
      .SS "tool letters send"
      .PP
      tool letters send N... [\-\-set KEY=VALUE]...
      .PP
      Sends.
      .PP
      \&.like this
      .PP
      Back\eslash \[u2013] dash.
      .TP
      .B N...
      Which.
      .TP
      .B \-\-set KEY=VALUE...
      It\(aqs set.
      .SH "OPTIONS"
      .TP
      .B \-\-help
      Shows the help; after a command, the help of that command.
      .TP
      .B \-\-version
      Shows the version.
      .SH "EXAMPLES"
      .PP
      .nf
      .RS
      tool letters send 1
      .RE
      .fi

      """#
    #expect(
      Self.specification.manual(with: [ManualSection("Examples", [.code("tool letters send 1")])]) == page
    )
  }

  @Test func `a configuration's keys have the comments before them`() throws {
    let text = """
      // The configuration.
      //
      // In short.
      {
        // How it waits.
        wait: {
          // Milliseconds: 0
          // or more.
          "window": 100,
          other: "a: b"
        },
        plain: true,
      }
      """
    let page = try ConfigurationManual(text: text, name: "tool.json5").page(
      title: "tool.json5",
      source: "tool 1",
      summary: "configuration of tool",
      with: []
    )
    let expected = #"""
      .TH "TOOL.JSON5" 5 "" "tool 1" "File Formats"
      .nh
      .ad l
      .SH "NAME"
      .PP
      tool.json5 \- configuration of tool
      .SH "DESCRIPTION"
      .PP
      The configuration.
      .PP
      In short.
      .SH "KEYS"
      .SS "wait"
      .PP
      How it waits.
      .TP
      .B wait.window: 100
      Milliseconds: 0 or more.
      .TP
      .B wait.other: "a: b"

      .TP
      .B plain: true


      """#
    #expect(page == expected)
  }

  @Test func `an invalid configuration is refused with its line`() {
    let error = #expect(throws: ConfigurationError.self) {
      try ConfigurationManual(text: "{\n a b }", name: "some")
    }
    #expect(error?.description.contains("some:2") == true)
  }
}
