import Service
import Synchronization

/// A feed's state at one version, as it is sent as a whole: as a document and as a message.
///
/// It lives as long as somebody is to be sent it.
final class FeedReload: Sendable {
  let version: FeedVersion
  let document: HTTPContent
  /// UTF-8 text of JSON, as the message holds it.
  private let encoded: EncodedEvent
  private let ledger: Ledger

  /// Bytes of all reloads that live.
  final class Ledger: Sendable {
    private let count = Atomic(0)
    var byteCount: Int { count.load(ordering: .relaxed) }
    fileprivate func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }
  }

  init(_ version: FeedVersion, _ text: [UInt8], _ ledger: Ledger) {
    self.version = version
    self.ledger = ledger
    document = HTTPContent(text)
    encoded = ServerSentEvent(id: version.text, data: text).encoded()
    ledger.add(byteCount)
  }

  deinit { ledger.add(-byteCount) }

  /// The message. The reload lives as long as it waits anywhere.
  var event: EncodedEvent { encoded.owned(by: self) }

  /// What it takes, about.
  var byteCount: Int { document.count + encoded.bytes.count + 200 }
}
