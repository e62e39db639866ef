/// A log line before it is formatted.
struct LogLine: Sendable {
  let event: LogEvent
  let message: String
  let fields: LogFields
  /// Fields common to all lines of a log, such as the worker.
  var context: LogFields = [:]

  /// The formatted line, without a line feed: at most ``LogText/longestLine`` bytes.
  ///
  /// - Parameters:
  ///   - milliseconds: the time since 1970.
  ///   - repeated: the number of repetitions since the last such line; 0 if they are not counted.
  func written(_ format: LogFormat, milliseconds: Int64, repeated: Int = 0) -> String {
    let fields = (repeated > 0 ? ["repeated": repeated] : [:]) + self.fields + context
    let time = Timestamp.rfc3339(milliseconds: milliseconds)
    switch format {
    case .text: return text(time, fields)
    case .json: return json(time, fields)
    }
  }

  private func text(_ time: String, _ fields: LogFields) -> String {
    let level = event.level.rawValue
    let padding = String(repeating: " ", count: max(0, 8 - level.utf8.count))
    let head = time + " " + level + padding + LogText.escaped(message) + " event=" + event.rawValue
    let parts = fields.fields.map { " " + $0.name + "=" + LogText.quoted($0.value.description) }
    return Self.joined(head, parts, truncated: " truncated=true")
  }

  private func json(_ time: String, _ fields: LogFields) -> String {
    let head =
      #"{"time":"\#(time)","level":"\#(event.level.rawValue)","event":"\#(event.rawValue)","message":"#
      + LogText.json(message)
    // Field names must be unique in an object.
    var names: Set = ["time", "level", "event", "message", "truncated"]
    let parts = fields.fields.map { field in
      var (name, value) = Self.json(field.name, field.value)
      while !names.insert(name).inserted { name += "_" }
      return "," + LogText.json(name) + ":" + value
    }
    return Self.joined(head, parts, truncated: #","truncated":true"#) + "}"
  }

  private static func json(_ name: String, _ value: LogValue) -> (name: String, value: String) {
    switch value {
    case .text(let text): (name, LogText.json(text))
    case .number, .boolean: (name, value.description)
    case .figure(let figure): (figure.jsonName(name), figure.number)
    }
  }

  /// As many parts as fit, and a marker if some are left out.
  private static func joined(_ head: String, _ parts: [String], truncated: String) -> String {
    var line = head
    for part in parts {
      guard line.utf8.count + part.utf8.count + truncated.utf8.count < LogText.longestLine else {
        return line + truncated
      }
      line += part
    }
    return line
  }

  /// The key by which repetitions are recognised: everything except figures, and except the context if it is
  /// irrelevant.
  var repeatKey: String {
    let compared = event.isOfProcess ? fields : fields + context
    return compared.fields.reduce(into: event.rawValue + "\n" + RepeatText.comparable(message)) {
      key,
      field in
      switch field.value {
      case .figure: break
      case .text(let text): key += "\n" + field.name + "=" + RepeatText.comparable(text)
      case .number, .boolean: key += "\n" + field.name + "=" + field.value.description
      }
    }
  }
}
