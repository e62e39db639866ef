/// What merge patches do, by example. The oracle and the product must agree with them.
public enum MergePatchExamples {
  public typealias Example = (target: String, patch: String, result: String)

  /// The table of RFC 7396, appendix A.
  public static let ofRFC: [Example] = [
    (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
    (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
    (#"{"a":"b"}"#, #"{"a":null}"#, "{}"),
    (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
    (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
    (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
    (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
    (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
    (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
    (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
    (#"{"a":"foo"}"#, "null", "null"),
    (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
    (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
    ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
    ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
  ]

  /// What does not change keeps its place and spelling, and what changes takes the patch's (protocol, section 2.6).
  public static let ofSpelling: [Example] = [
    // Unchanged members keep their order, and the spelling of name and value.
    (#"{"b":1.10,"\u0061":"\u0062"}"#, #"{"a":"\u0062","b":1.10}"#, #"{"b":1.10,"\u0061":"\u0062"}"#),
    // Another spelling is a change; a changed member takes the patch's spelling, and keeps its place.
    (#"{"a":1.0,"z":0}"#, #"{"\u0061":1.00}"#, #"{"\u0061":1.00,"z":0}"#),
    (#"{"a":{"x":1,"y":2},"z":0}"#, #"{"\u0061":{"x":3}}"#, #"{"\u0061":{"x":3,"y":2},"z":0}"#),
    (#"{"a":{"x":1},"z":0}"#, #"{"\u0061":{"x":1}}"#, #"{"a":{"x":1},"z":0}"#),
    // New members follow in the patch's order.
    (#"{"m":0}"#, #"{"z":1,"a":2,"m":0}"#, #"{"m":0,"z":1,"a":2}"#),
    // Duplicates: the last one is patched, and the others are removed; unpatched duplicates stay.
    (#"{"a":1,"b":0,"b":9,"a":2}"#, #"{"a":3}"#, #"{"b":0,"b":9,"a":3}"#),
    (#"{"a":1,"b":0,"a":2}"#, #"{"a":2}"#, #"{"b":0,"a":2}"#),
    (#"{"a":1,"b":0,"a":2}"#, #"{"a":null}"#, #"{"b":0}"#),
    (#"{"a":{"p":1},"a":{"q":2}}"#, #"{"a":{"r":3}}"#, #"{"a":{"q":2,"r":3}}"#),
    // Duplicates in the patch: the last one counts, at its place.
    ("{}", #"{"a":1,"b":2,"a":3}"#, #"{"b":2,"a":3}"#),
    (#"{"a":0}"#, #"{"a":1,"a":null}"#, "{}"),
    ("1", #"{"a":{"x":1,"x":{"y":null}}}"#, #"{"a":{"x":{}}}"#),
    // An array is taken unchanged.
    (#"{"a":1}"#, #"{"a":[null,{"b":null}]}"#, #"{"a":[null,{"b":null}]}"#),
    (#"{"a":1}"#, "{}", #"{"a":1}"#),
    ("[1]", "{}", "{}"),
    (#"{"a":1.0,"b":"\u0041","c":2}"#, #"{"c":3}"#, #"{"a":1.0,"b":"\u0041","c":3}"#),
    (#"{"a":1.0}"#, #"{"a":1.00}"#, #"{"a":1.00}"#),
    (#"{"\u0061":1}"#, #"{"a":1}"#, #"{"\u0061":1}"#),
    (#"{"\u0061":1}"#, #"{"a":2}"#, #"{"a":2}"#),
    (#"{"\u0061":{"x":1}}"#, #"{"a":{"x":2}}"#, #"{"a":{"x":2}}"#),
    (#"{"a":1,"b":2,"a":3}"#, #"{"a":4}"#, #"{"b":2,"a":4}"#),
    (#"{"a":1,"b":2,"a":3}"#, #"{"b":5}"#, #"{"a":1,"b":5,"a":3}"#),
  ]

  public static let all = ofRFC + ofSpelling
}
