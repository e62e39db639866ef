/// Items as a producer would send them.
enum SampleData {
  /// A JSON object of exactly `count` bytes, another for each number.
  static func object(_ number: UInt64, count: Int = 200) -> String {
    var text = #"{"title":"A story that somebody wrote","author":"reader","score":\#(number % 1000),"#
    text += #""url":"https://example.org/\#(number)","text":""#
    let end = "\"}"
    let missing = count - text.utf8.count - end.utf8.count
    precondition(missing >= 0, "the object is too small for its members")
    return text + String(repeating: "x", count: missing) + end
  }

  static func id(_ number: Int) -> String {
    let digits = String(number)
    return "item-" + String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }
}
