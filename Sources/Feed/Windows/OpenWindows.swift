/// The windows of one feed that readers have open, while a replica follows the feed.
package final class OpenWindows {
  /// The state of a window. A class, because it changes while all windows are visited.
  private final class Progress {
    /// The revision of the window's last change, or at which it was opened.
    var since: UInt64
    /// The checksum of the window's content; nil if unknown.
    var checksum: UInt32?

    init(since: UInt64) { self.since = since }
  }

  private var windows: [FeedWindow: Progress] = [:]
  /// The last changeset's change of each window; absent for unchanged windows, and after a reload.
  package private(set) var changes: [FeedWindow: WindowChangeset] = [:]

  package init() {}

  package var count: Int { windows.count }

  /// The revision of a window's last change, or at which it was opened; nil if it is not open.
  package func since(_ window: FeedWindow) -> UInt64? { windows[window]?.since }

  /// Opens a window, unless it is open.
  ///
  /// - Parameter revision: the revision of the feed.
  package func open(_ window: FeedWindow, at revision: UInt64) {
    if windows[window] == nil { windows[window] = Progress(since: revision) }
  }

  package func close(_ window: FeedWindow) { windows[window] = nil }

  /// Starts every window again after a reload of the feed.
  func begin(at revision: UInt64) {
    changes = [:]
    windows = windows.mapValues { _ in Progress(since: revision) }
  }

  /// Computes the changes of a changeset in each window. An unaffected window costs a lookup.
  ///
  /// - Parameters:
  ///   - state: the state with the changeset applied, not confirmed yet.
  ///   - head: the head of the changeset.
  func take(_ state: FeedState, _ head: ChangesetHead) {
    changes = [:]
    if windows.isEmpty { return }
    let whole = state.difference()
    let touched = TouchedLists(whole, of: state)
    for (window, progress) in windows {
      let change = WindowDifference(whole, touched, of: state, in: window)
      if change.difference.isEmpty { continue }
      let known = whole.sections.isEmpty ? progress.checksum.map { $0 &+ change.checksumGrowth } : nil
      var head = head
      head.checksum = known ?? state.checksum(of: window)
      changes[window] = WindowChangeset(change.difference, of: state, in: window, head, since: progress.since)
      progress.since = head.revision
      progress.checksum = head.checksum
    }
  }
}

/// A changeset of a window. It applies to every revision since the window's last change.
package struct WindowChangeset: Sendable {
  /// The oldest revision to which it applies.
  package let since: UInt64
  /// The member `window` of the changeset: JSON text.
  package let totals: [UInt8]
  private let beforeBase: [UInt8]
  private let afterBase: [UInt8]

  init(
    _ difference: FeedDifference,
    of state: FeedState,
    in window: FeedWindow,
    _ head: ChangesetHead,
    since: UInt64
  ) {
    self.since = since
    var head = head
    head.mode = difference.isReconfigureOnly ? .reconfigure : .diff
    let output = ByteWriter()
    state.writeTotals(of: window, to: output)
    totals = Array(output.written.buffer)
    output.removeAll()
    head.writeBeforeBase(to: output)
    beforeBase = Array(output.written.buffer)
    output.removeAll()
    head.writeAfterBase(part: nil, to: output)
    output.append(ReloadText.comma)
    totals.withUnsafeBytes { output.append(ByteSpan($0)) }
    _ = DifferenceBody.write(difference, of: state, to: output, atMost: .max / 2)
    output.append(ReloadText.objectEnd)
    afterBase = Array(output.written.buffer)
  }

  /// Approximate bytes in memory, without the texts created from it.
  package var byteCount: Int { totals.count + beforeBase.count + afterBase.count }

  /// The changeset, as JSON in UTF-8.
  ///
  /// - Parameter base: the reader's revision.
  package func text(base: UInt64) -> [UInt8] { beforeBase + Array(String(base).utf8) + afterBase }
}
