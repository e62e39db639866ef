/// One feed as a whole on its way to one reader. It lives, and with it the reload, until the reader was sent everything
/// or is given up.
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
