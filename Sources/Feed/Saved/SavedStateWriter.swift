/// Spells what who follows the changesets topic saves, line by line, each a JSON object:
///
/// ```
/// {"format":"feedstore.replicas","version":1,"topic":"feeds.changesets","cluster":"…","time":"…"}
/// {"partition":0,"position":1234,"asOf":"2026-11-20T10:00:00.000Z","behind":{"news":1233}}
/// {"feed":"news","deltaCount":3,"deltaBytes":900,"highestDelta":7,"reloadBytes":500,"reloadParts":1,"reload":{…}}
/// {"feed":"old","lost":"revision 7 is known, and a changeset on revision 9 came"}
/// {"lines":4,"checksum":"0123456789abcdef"}
/// ```
///
/// The feeds of a partition follow its line. `reload` is a changeset as on the topic (protocol, section 4), in
/// one piece and with the reason `keyframe`. The last line says how many come before it, and their checksum.
package struct SavedStateWriter {
  static let format: StaticString = "feedstore.replicas"
  /// What every saved state begins with, of whatever version.
  package static let beginning = #"{"format":"\#(format)""#
  static let version: Int64 = 1

  /// What was spelled; whoever takes it away removes it.
  package let output = ByteWriter()
  private var checksum = SavedStateChecksum()

  /// Begins with the header.
  package init(_ header: SavedStateHeader) {
    write { output in
      output.append(string: Self.beginning)
      output.append(",\"version\":")
      output.append(decimal: Int(Self.version))
      output.append(",\"topic\":")
      output.append(quoted: header.topic)
      if let cluster = header.cluster {
        output.append(",\"cluster\":")
        output.append(quoted: cluster)
      }
      if let feeds = header.feeds {
        output.append(",\"feeds\":[")
        for (index, feed) in feeds.sorted().enumerated() {
          if index > 0 { output.append(",") }
          output.append(quoted: feed.string)
        }
        output.append("]")
      }
      output.append(",\"time\":\"")
      TimestampFormat.append(header.timeMilliseconds, to: output)
      output.append("\"}")
    }
  }

  /// Begins a partition.
  package mutating func append(_ partition: SavedPartition) {
    write { output in
      output.append("{\"partition\":")
      output.append(decimal: Int(partition.number))
      output.append(",\"position\":")
      output.append(decimal: Int(partition.position))
      output.append(",\"asOf\":\"")
      TimestampFormat.append(partition.asOf, to: output)
      output.append("\"")
      if !partition.behind.isEmpty {
        output.append(",\"behind\":{")
        for (index, (feed, offset)) in partition.behind.sorted(by: { $0.key < $1.key }).enumerated() {
          if index > 0 { output.append(",") }
          output.append(quoted: feed.string)
          output.append(":")
          output.append(decimal: Int(offset))
        }
        output.append("}")
      }
      output.append("}")
    }
  }

  /// Adds a feed of the partition begun last. O(n) in its size.
  package mutating func append(_ feed: SavedFeed) {
    write { output in
      output.append("{\"feed\":")
      output.append(quoted: feed.id.string)
      Self.append(lost: feed.lost, to: output)
      if feed.lost != nil { output.append(",\"stale\":true") }
      output.append(",\"deltaCount\":")
      output.append(decimal: feed.version.deltaCount)
      output.append(",\"deltaBytes\":")
      output.append(decimal: feed.version.deltaBytes)
      output.append(",\"highestDelta\":")
      output.append(decimal: feed.version.highestDelta)
      output.append(",\"reloadBytes\":")
      output.append(decimal: feed.version.reloadBytes)
      output.append(",\"reloadParts\":")
      output.append(decimal: feed.version.reloadParts)
      output.append(",\"reload\":")
      feed.snapshot.writeReload(
        of: feed.id,
        version: feed.version,
        timeMilliseconds: feed.timeMilliseconds,
        to: output
      )
      output.append("}")
    }
  }

  /// Adds a feed of which nothing is known but that it cannot be followed.
  package mutating func append(_ feed: ByteText, lost: String) {
    write { output in
      output.append("{\"feed\":")
      output.append(quoted: feed.string)
      Self.append(lost: lost, to: output)
      output.append("}")
    }
  }

  private static func append(lost: String?, to output: ByteWriter) {
    guard let lost else { return }
    output.append(",\"lost\":")
    output.append(quoted: lost)
  }

  /// Ends the state.
  package mutating func finish() {
    let checksum = checksum
    write { output in
      output.append("{\"lines\":")
      output.append(decimal: checksum.lineCount)
      output.append(",\"checksum\":\"")
      output.append(string: checksum.text)
      output.append("\"}")
    }
  }

  private mutating func write(_ line: (ByteWriter) -> Void) {
    let start = output.count
    line(output)
    checksum.append(output.span(start..<output.count))
    output.append("\n" as StaticString)
  }
}

extension ByteWriter {
  fileprivate func append(quoted text: String) { ByteText(text).withBytes { append(quoted: $0) } }
}
