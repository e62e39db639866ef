import Synchronization

/// A value of something that is made later than those who ask for it.
final class LateValue<Value: Sendable>: Sendable {
  private let source: Mutex<@Sendable () -> Value>

  /// - Parameter early: the value until then.
  init(_ early: Value) { source = Mutex { early } }

  var value: Value {
    // Not called under the lock.
    let source = source.withLock { $0 }
    return source()
  }

  /// From now on the value is this.
  func provide(_ value: @escaping @Sendable () -> Value) { source.withLock { $0 = value } }
}
