import Service

/// A feed's state at one version, as it is sent as a whole: as a document and as a message.
///
/// It lives as long as somebody is to be sent it.
final class FeedReload: Sendable {
  let version: FeedVersion
  let document: HTTPContent
  /// UTF-8 text of JSON, as the message holds it.
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

  /// The message for a stream. The reload lives as long as it waits there.
  func event(for stream: EventStream) -> EncodedEvent {
    encoded.owned(by: ledger.lend(self, to: stream, byteCount: encoded.bytes.count))
  }

  /// Keeps the reload alive while the document, or its compressed form, is sent.
  func lend(to transfer: HTTPTransfer, byteCount: Int) -> ReloadLoan {
    ledger.lend(self, to: transfer, byteCount: byteCount)
  }

  /// What it takes, about.
  var byteCount: Int { document.count + encoded.bytes.count + 200 }
}
