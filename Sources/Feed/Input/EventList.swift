/// The events of one record. Not an array, which would look for other owners with every record.
struct EventList: ~Copyable {
  private var events: UnsafeMutablePointer<Event> = .allocate(capacity: 1)
  private var capacity = 1
  private(set) var count = 0

  deinit { events.deallocate() }

  var first: Event? { count == 0 ? nil : events[0] }

  subscript(number: Int) -> Event { event(number).pointee }

  /// The event where it stands, which spares a copy; valid until the list is changed.
  @inline(__always)
  func event(_ number: Int) -> UnsafePointer<Event> {
    precondition(number >= 0 && number < count, "the record has no such event")
    return UnsafePointer(events + number)
  }

  /// Adds an event where it will stand, if the body does not throw.
  @inline(__always)
  mutating func append<Failure: Error>(
    _ body: (UnsafeMutablePointer<Event>) throws(Failure) -> Void
  ) throws(Failure) {
    if count == capacity { grow() }
    // It owns nothing.
    try body(events + count)
    count += 1
  }

  /// Forgets the events, which own nothing.
  @inline(__always)
  mutating func removeAll() { count = 0 }

  @inline(never)
  private mutating func grow() {
    let larger = UnsafeMutablePointer<Event>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: events, count: count)
    events.deallocate()
    events = larger
    capacity *= 2
  }
}
