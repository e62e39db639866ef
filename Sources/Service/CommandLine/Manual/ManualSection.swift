/// A section of a manual page.
public struct ManualSection: Sendable, Equatable {
  public enum Part: Sendable, Equatable {
    case paragraph(String)
    /// A term and its description.
    case item(String, String)
    /// Lines that are printed unchanged.
    case code(String)
  }

  public let title: String
  public let parts: [Part]

  public init(_ title: String, _ parts: [Part]) {
    self.title = title
    self.parts = parts
  }

  func write(to page: inout Roff) {
    page.section(title)
    for part in parts {
      switch part {
      case .paragraph(let text): page.paragraph(text)
      case .item(let term, let text): page.item(term, text)
      case .code(let lines): page.code(lines)
      }
    }
  }
}
