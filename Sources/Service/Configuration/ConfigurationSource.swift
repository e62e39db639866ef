/// Where a setting comes from.
public enum ConfigurationSource: Sendable, Equatable, CustomStringConvertible {
  /// It is not set anywhere.
  case defaultValue
  /// A file; the line, from 1, if it is known.
  case file(String, line: Int?)
  /// An environment variable.
  case environment(String)
  /// `--set`.
  case assignment
  /// What a command sets where nobody else does.
  case command(String)

  /// For error messages: `feedstore.json5:12`, `FEEDSTORE_COALESCE_WINDOW`, `--set`, `default`.
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
