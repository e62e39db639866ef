/// One decoded event. Its spans point into the record or the decoder's arena.
struct Event {
  var operation: Operation
  var item = ByteSpan.empty
  /// Empty when absent.
  var section = ByteSpan.empty
  var kind: ByteSpan?
  var data: ByteSpan?
  var place: Place?
  /// The listed items of `section.replace`, in the decoder's list.
  var items = 0..<0
  /// The listed sections of `feed.replace`, in the decoder's list.
  var sections = 0..<0
}

/// An element of an `items` list.
struct ListedItem {
  var id: ByteSpan
  var hash: UInt32
  /// Nil keeps what the item has.
  var kind: ByteSpan?
  var data: ByteSpan?
}

/// An element of a `sections` list.
struct ListedSection {
  var id: ByteSpan
  var hash: UInt32
  /// Nil keeps what the section has.
  var data: ByteSpan?
  var items: Range<Int>
}
