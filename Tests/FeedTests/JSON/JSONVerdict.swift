import Oracle
import Testing

@testable import Feed

/// The verdict on a text.
enum JSONVerdict: Equatable {
  case json(depth: Int, compact: [UInt8])
  case invalidUTF8
  case invalidJSON

  /// The verdict of an indexer and of a walk over its index.
  init(_ span: ByteSpan, _ indexer: JSONIndexer) {
    let arena = ScratchArena()
    do throws(JSONFault) {
      let text = try indexer.validated(span)
      if text.unpairedSurrogate(from: 0, to: text.offsetCount) != nil {
        self = .invalidJSON
      } else {
        let compact = text.compactSpan(from: 0, to: text.offsetCount, arena: arena)
        #expect(text.depth == text.depth(from: 0, to: text.offsetCount))
        self = .json(depth: text.depth, compact: Array(compact.buffer))
      }
    } catch {
      self = error.reason == .invalidUTF8 ? .invalidUTF8 : .invalidJSON
    }
  }

  /// The verdict of the oracle.
  static func expected(_ bytes: [UInt8]) -> JSONVerdict {
    do throws(OracleJSONError) {
      let json = try OracleJSON.parse(bytes, maxDepth: 100_000)
      return .json(depth: json.depth, compact: json.minified)
    } catch {
      return error == .invalidUTF8 ? .invalidUTF8 : .invalidJSON
    }
  }
}
