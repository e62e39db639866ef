/// What state counts as for `limits.maxStateBytes`: a formula, so that the same records come to the same number everywhere.
///
/// The numbers are chosen so that the memory that is really taken is about as much or less; docs/operating.md compares them.
public enum StateSize {
  /// Bytes of a feed that exists, without its sections.
  public static let feed = 1024
  /// Bytes of a section, besides its id and data as a reload writes them, and without its items.
  public static let section = 256
  /// Bytes of an item, besides its id, kind and data as a reload writes them.
  public static let item = 128

  /// More than an element adds to what the record spells of it: the formula's part, the names of fields, and `null`.
  static let mostPerElement = 384
}
