import Foundation

/// What happened to a feed, and what it is now.
public struct FeedUpdate: Sendable {
  public enum Kind: Sendable {
    /// Show the whole view: it is the first one, follows a reload, or stands for updates that a slow reader missed.
    case state
    /// What changed since the update before.
    case changed(FeedChange)
    /// The feed was deleted, or does not exist.
    case absent
    /// Only the standing has changed, or how many items there are outside of the window.
    case standing
    /// A write was shown, confirmed or taken back. What changed can be seen by comparing objects.
    case pending
  }

  public let kind: Kind
  public let view: FeedView
}

/// The updates of one reader that it has not read yet. A slow reader gets the newest state instead of all between.
final class Mailbox: @unchecked Sendable {
  private static let capacity = 32
  private let lock = NSLock()
  private var waiting: [FeedUpdate] = []
  private var reader: CheckedContinuation<FeedUpdate?, Never>?
  private var isClosed = false

  func deliver(_ update: FeedUpdate) {
    lock.lock()
    defer { lock.unlock() }
    guard !isClosed else { return }
    if let reader {
      self.reader = nil
      reader.resume(returning: update)
    } else if waiting.count < Self.capacity {
      waiting.append(update)
    } else {
      let isAbsent = waiting.contains { if case .absent = $0.kind { true } else { false } }
      let kind = update.view.exists ? .state : isAbsent ? .absent : update.kind
      waiting = [FeedUpdate(kind: kind, view: update.view)]
    }
  }

  /// The next update; nil once it is closed, and if the task is cancelled, which closes it.
  func next() async -> FeedUpdate? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        lock.lock()
        defer { lock.unlock() }
        if !waiting.isEmpty {
          continuation.resume(returning: waiting.removeFirst())
        } else if isClosed {
          continuation.resume(returning: nil)
        } else {
          reader = continuation
        }
      }
    } onCancel: {
      close()
    }
  }

  func close() {
    lock.lock()
    defer { lock.unlock() }
    isClosed = true
    waiting = []
    reader?.resume(returning: nil)
    reader = nil
  }
}
