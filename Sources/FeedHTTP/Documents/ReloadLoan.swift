/// One reload on its way to one reader. It keeps the reload alive until everything has been sent or the reader is
/// disconnected.
final class ReloadLoan: Sendable {
  private let reload: FeedReload
  private let number: Int
  private let ledger: ReloadLedger

  init(_ reload: FeedReload, _ number: Int, _ ledger: ReloadLedger) {
    self.reload = reload
    self.number = number
    self.ledger = ledger
  }

  deinit { ledger.end(number) }
}
