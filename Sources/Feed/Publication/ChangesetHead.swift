/// The fields before a changeset's lists, in the order of the protocol.
package struct ChangesetHead {
  var feed: ByteSpan
  var epoch: [UInt8]
  var revision: UInt64
  var base: UInt64
  var mode: ChangesetMode
  var reason: ReloadReason?
  var time: Int64
  var through: [TopicOffset]
  var checksum: UInt32

  package init(
    feed: ByteSpan,
    epoch: [UInt8],
    revision: UInt64,
    base: UInt64,
    mode: ChangesetMode,
    reason: ReloadReason?,
    time: Int64,
    through: [TopicOffset],
    checksum: UInt32
  ) {
    self.feed = feed
    self.epoch = epoch
    self.revision = revision
    self.base = base
    self.mode = mode
    self.reason = reason
    self.time = time
    self.through = through
    self.checksum = checksum
  }

  private static var partName: StaticString { ",\"part\":" }
  private static var partsName: StaticString { ",\"parts\":" }

  /// Appends the head, its object left open.
  func write(part: (number: Int, count: Int)?, to output: ByteWriter) {
    output.append("{\"feed\":")
    output.append(quoted: feed)
    output.append(",\"epoch\":")
    epoch.withUnsafeBytes { output.append(quoted: ByteSpan($0)) }
    output.append(",\"revision\":")
    output.append(decimal: revision)
    output.append(",\"base\":")
    output.append(decimal: base)
    if let part {
      output.append(ChangesetHead.partName)
      output.append(decimal: part.number)
      output.append(ChangesetHead.partsName)
      output.append(decimal: part.count)
    }
    switch mode {
    case .reconfigure: output.append(",\"mode\":\"reconfigure\"")
    case .diff: output.append(",\"mode\":\"diff\"")
    case .reload: output.append(",\"mode\":\"reload\"")
    case .delete: output.append(",\"mode\":\"delete\"")
    }
    if let reason {
      output.append(",\"reason\":\"")
      output.append(reason.name)
      output.append(UInt8(ascii: "\""))
    }
    output.append(",\"time\":\"")
    TimestampFormat.append(time, to: output)
    output.append("\",\"through\":{")
    for (position, entry) in through.enumerated() {
      if position > 0 { output.append(UInt8(ascii: ",")) }
      entry.topic.withUnsafeBytes { output.append(quoted: ByteSpan($0)) }
      output.append(UInt8(ascii: ":"))
      output.append(decimal: Int(entry.offset))
    }
    output.append("},\"checksum\":\"")
    output.append(hexadecimal: checksum)
    output.append(UInt8(ascii: "\""))
  }

  /// Bytes of the head without part fields.
  package func byteCount(scratch: ByteWriter) -> Int {
    scratch.removeAll()
    write(part: nil, to: scratch)
    return scratch.count
  }

  /// Bytes that the part fields add.
  static func partByteCount(number: Int, countDigits: Int) -> Int {
    partName.utf8CodeUnitCount + digits(number) + partsName.utf8CodeUnitCount + countDigits
  }

  static func digits(_ number: Int) -> Int {
    var digits = 1
    var rest = number / 10
    while rest > 0 {
      digits += 1
      rest /= 10
    }
    return digits
  }
}
