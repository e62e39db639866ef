/// The windows of one feed that readers have open, while a replica of the feed is followed.
package final class OpenWindows {
  /// How far a window is. A class, as it changes while all windows are visited.
  private final class Progress {
    /// The revision at which what it shows changed last, or at which it was opened.
    var since: UInt64
    /// The checksum of what it shows; nil if it is not known.
    var checksum: UInt32?

    init(since: UInt64) { self.since = since }
  }

  private var windows: [FeedWindow: Progress] = [:]
  /// What the last changeset changed in each window; nothing for the others, nor after a reload.
  package private(set) var changes: [FeedWindow: WindowChangeset] = [:]

  package init() {}

  package var count: Int { windows.count }

  /// The revision at which what a window shows changed last, or was opened; nil if it is not open.
  package func since(_ window: FeedWindow) -> UInt64? { windows[window]?.since }

  /// Opens a window, unless it is open.
  ///
  /// - Parameter revision: that of the feed.
  package func open(_ window: FeedWindow, at revision: UInt64) {
    if windows[window] == nil { windows[window] = Progress(since: revision) }
  }

  package func close(_ window: FeedWindow) { windows[window] = nil }

  /// Notes that the feed was reloaded, so that every window begins again.
  func begin(at revision: UInt64) {
    changes = [:]
    windows = windows.mapValues { _ in Progress(since: revision) }
  }

  /// Finds what a changeset has changed in each window. Costs a search for each window that it does not concern.
  ///
  /// - Parameters:
  ///   - state: the changeset was applied to it, and is not confirmed yet.
  ///   - head: that of the changeset.
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

/// What a changeset changes of what a window shows: a changeset itself, for any reader who has the window's last change.
package struct WindowChangeset: Sendable {
  /// The least revision of a reader that it continues.
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

  /// Approximate bytes in memory, without the texts that are made of it.
  package var byteCount: Int { totals.count + beforeBase.count + afterBase.count }

  /// The changeset, as JSON in UTF-8.
  ///
  /// - Parameter base: the reader's revision.
  package func text(base: UInt64) -> [UInt8] { beforeBase + Array(String(base).utf8) + afterBase }
}
