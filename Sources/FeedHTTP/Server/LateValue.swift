import Synchronization

/// A value whose source is provided after its users have been created.
final class LateValue<Value: Sendable>: Sendable {
  private let source: Mutex<@Sendable () -> Value>

  /// - Parameter early: the value until then.
  init(_ early: Value) { source = Mutex { early } }

  var value: Value {
    // Called outside the lock.
    let source = source.withLock { $0 }
    return source()
  }

  /// Sets the source.
  func provide(_ value: @escaping @Sendable () -> Value) { source.withLock { $0 = value } }
}
