import Service

/// A feed's complete state at one version: as a document and as a stream message.
///
/// It is released when no reader needs it any more.
final class FeedReload: Sendable {
  let version: FeedVersion
  let document: HTTPContent
  /// The JSON text in UTF-8, inside the encoded message.
  private let encoded: EncodedEvent
  private let ledger: ReloadLedger

  init(_ version: FeedVersion, _ text: [UInt8], _ ledger: ReloadLedger) {
    self.version = version
    self.ledger = ledger
    document = HTTPContent(text)
    encoded = ServerSentEvent(id: version.text, data: text).encoded()
    ledger.add(byteCount)
  }

  deinit { ledger.add(-byteCount) }

  /// The message for a stream. The stream's queue keeps the reload alive.
  func event(for stream: EventStream) -> EncodedEvent {
    encoded.owned(by: ledger.lend(self, to: stream, byteCount: encoded.bytes.count))
  }

  /// Keeps the reload alive until the document, or its compressed form, has been sent.
  func lend(to transfer: HTTPTransfer, byteCount: Int) -> ReloadLoan {
    ledger.lend(self, to: transfer, byteCount: byteCount)
  }

  /// The approximate size in memory, in bytes.
  var byteCount: Int { document.count + encoded.bytes.count + 200 }
}
