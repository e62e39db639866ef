/// A response as received.
public struct HTTPTestResponse {
  public let status: Int
  public let headers: [(name: String, value: String)]
  public internal(set) var body: [UInt8] = []

  init(head: String) throws {
    let lines = head.split(separator: "\r\n")
    let parts = lines.first?.split(separator: " ") ?? []
    guard parts.count > 1, parts[0] == "HTTP/1.1", let status = Int(parts[1]) else {
      throw HTTPTestClient.Failure(message: "not an answer: \(head)")
    }
    self.status = status
    headers = lines.dropFirst().map { line in
      let name = line.prefix { $0 != ":" }
      return (String(name), String(line[name.endIndex...].dropFirst().drop { $0 == " " }))
    }
  }

  public var text: String { String(decoding: body, as: UTF8.self) }

  public subscript(name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }
}
