extension FuzzTarget {
  /// Fails for each input with a brace, to test the handling of failures. It uses another target's seeds.
  public static let neverBraces = FuzzTarget("merge-patch", tokens: []) { input throws(FuzzFailure) in
    try expect(!input.contains(UInt8(ascii: "{")), "there is a brace")
  }
}
