/// The source of a setting.
public enum ConfigurationSource: Sendable, Equatable, CustomStringConvertible {
  /// The key is not set; it has its default.
  case defaultValue
  /// A file, with the line, from 1, if it is known.
  case file(String, line: Int?)
  /// An environment variable.
  case environment(String)
  /// `--set`.
  case assignment
  /// A command's own setting, which other sources override.
  case command(String)

  /// The source in error messages: `feedstore.json5:12`, `FEEDSTORE_COALESCE_WINDOW`, `--set`, `default`.
  public var description: String {
    switch self {
    case .defaultValue: "default"
    case .file(let name, let line?): "\(name):\(line)"
    case .file(let name, nil): name
    case .environment(let variable): variable
    case .assignment: "--set"
    case .command(let name): "feedstore \(name)"
    }
  }
}
