/// Items as a producer would send them.
package enum SampleData {
  /// A JSON object of exactly `count` bytes, which differs for each number.
  package static func object(_ number: UInt64, count: Int = 200) -> String {
    var text = #"{"title":"A story that somebody wrote","author":"reader","score":\#(number % 1000),"#
    text += #""url":"https://example.org/\#(number)","text":""#
    let end = "\"}"
    let missing = count - text.utf8.count - end.utf8.count
    precondition(missing >= 0, "the object is too small for its members")
    return text + String(repeating: "x", count: missing) + end
  }

  package static func id(_ number: Int) -> String {
    let digits = String(number)
    return "item-" + String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }

  package static let section = "stories"

  /// An event that inserts or updates an item.
  package static func insertion(of id: String, number: UInt64, at index: Int? = nil) -> String {
    let at = index.map { #","at":{"index":\#($0)}"# } ?? ""
    return #"{"op":"item.upsert","item":"\#(id)","section":"\#(section)","kind":"story","#
      + #""data":\#(object(number))\#(at)}"#
  }

  /// A record's value that inserts items.
  package static func insertions(_ numbers: Range<Int>) -> String {
    "[" + numbers.map { insertion(of: id($0), number: UInt64($0)) }.joined(separator: ",") + "]"
  }
}
