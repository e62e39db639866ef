import Testing

@testable import HTTP

/// Lists in header fields, and long paths.
@Suite struct HTTPListTests {
  @Test func `names are compared without case, and qualities have at most three digits`() {
    let list = QualityList(
      "Text/HTML;level=1;Q=0.5 ,\tapplication/* ; q=0.25, a/b;q=1.0001, c/d;q=.5, e/f;q=2, g/h;q=0,, ;q=1"
    )
    #expect(list.quality(ofMediaType: "text/html; charset=utf-8") == 500)
    #expect(list.quality(ofMediaType: "APPLICATION/json") == 250)
    for ignored in ["a/b", "c/d", "e/f", "g/h", "i/j"] { #expect(list.quality(ofMediaType: ignored) == 0) }
    #expect(list.best(of: ["application/json", "text/html"]) == "text/html")
    // Not the Kelvin sign.
    #expect(!QualityList("\u{212a}").acceptsEncoding("k"))
  }

  @Test func `only the first entries of a long list count`() {
    let many = String(repeating: "a, ", count: 31)
    #expect(QualityList(many + "gzip").acceptsEncoding("gzip"))
    #expect(!QualityList(many + "b, gzip").acceptsEncoding("gzip"))
    #expect(QualityList(String(repeating: ",", count: 10_000) + "gzip").acceptsEncoding("gzip"))
    #expect(EntityTag.matched("1", by: many + "W/\"1-gzip\"") == "\"1-gzip\"")
    #expect(EntityTag.matched("1", by: many + "b, \"1\"") == nil)
    #expect(EntityTag.matched("1", by: "W/*") == nil && EntityTag.matched("1", by: " * ") == "\"1\"")
  }

  @Test func `a path of many segments matches nothing, and must still be encoded correctly`() {
    let long = String(repeating: "/a", count: 5_000)
    #expect(PathPattern.decodedParts(of: long)?.count == 17)
    #expect(PathPattern.decodedParts(of: long + "%") == nil)
    #expect(PathPattern.decodedParts(of: "/a%2Fb//") == ["a/b", "", ""])
    #expect(PathPattern("/{a}/{b}").match(PathPattern.decodedParts(of: long)!) == nil)
  }
}
