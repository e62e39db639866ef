internal import CInspector
import Service

/// The inspector: a web page and the files that it loads. They contain no feed data, so they need no token; the page
/// asks the user for it.
struct InspectorPage: Sendable {
  private static let policy = [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
    "img-src 'self' data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
  ].joined(separator: "; ")

  /// Adds `/` and the files.
  func add(to router: inout HTTPRouter) {
    var index = 0
    while let file = feedstore_inspector_file(index)?.pointee {
      let name = String(cString: file.name)
      let type = String(cString: file.type)
      let content = HTTPContent(UnsafeBufferPointer(start: file.bytes, count: file.size))
      let tag = Self.tag(UnsafeBufferPointer(start: file.bytes, count: file.size))
      router.add(.get, index == 0 ? "/" : "/\(name)", isOpen: true) { _ in
        var response = HTTPResponse(contentType: type, content: content, entityTag: tag)
        // Browsers revalidate each time, because the files of two releases do not work together.
        response.cacheControl = "no-cache"
        response.contentSecurityPolicy = Self.policy
        return response
      }
      index += 1
    }
  }

  /// An entity tag for a file's content: FNV-1a.
  private static func tag(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }
}
