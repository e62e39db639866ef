@testable import Oracle

extension DamagedLogs {
  // MARK: - Invalid changesets

  func malformed() throws(JudgeFailure) -> [Case] {
    let at = try place("3/0")
    let log = log[...(try place("6/0"))]
    func value(_ name: String, _ title: String, _ bytes: some Sequence<UInt8>) -> Case {
      ("value-\(name)", "11.7", title, log.with(value: Array(bytes), at: at))
    }
    func field(_ name: String, _ text: String, _ other: String) throws(JudgeFailure) -> Case {
      let title = "\(text) became \(other.isEmpty ? "nothing" : other)"
      return ("field-\(name)", "11.7", title, try log.replacing(text, with: other, at: at))
    }
    let old = try log.replacing("\"time\":\"1970-01-01T00:00:02.000Z\",", with: "", at: at - 1)
    let keys = [
      "d02/news", "d0/news", "k01/news", "x1/news", "d1", "d2/", "/news", "d/news", "d1000001/news",
      "D2/news", "d-1/news", "",
    ]
    let others = ChangesetLog(
      keys.map { ChangesetLog.Line(partition: 0, offset: 0, key: Array($0.utf8), value: log.lines[at].value) }
    )
    return [
      value("empty", "a value without a byte", "".utf8),
      value("text", "a value that is not JSON", "{\"feed\":\"news\"".utf8),
      value("null", "the JSON text null, which is no Kafka null", "null".utf8),
      value("array", "a value that is an array", "[]".utf8),
      value("object", "a value without fields", "{}".utf8),
      value("utf8", "a value that is not UTF-8", [0x7B, 0xFF, 0x7D]),
      try field("feed", "\"feed\":\"news\"", "\"feed\":\"other\""),
      try field("mode", "\"mode\":\"reconfigure\"", "\"mode\":\"transmogrify\""),
      try field("revision", "\"revision\":3", "\"revision\":\"3\""),
      try field("base", "\"base\":2,", ""),
      try field("part", "\"base\":2,", "\"base\":2,\"part\":2,\"parts\":2,"),
      try field("checksum", "\"checksum\":\"843846d2\"", "\"checksum\":null"),
      try field("through", "\"through\":{\"feeds.items\":3}", "\"through\":3"),
      try field("data", ",\"data\":33", ""),
      try field("time", "\"time\":\"1970-01-01T00:00:03.000Z\",", ""),
      try field("epoch", "\"epoch\":\"feeds.items:0/0\",", ""),
      try field("index", ",\"index\":1", ""),
      try field("reason", "\"base\":2,", "\"base\":2,\"reason\":7,"),
      try field("part-alone", "\"base\":2,", "\"base\":2,\"part\":1,"),
      try field("through-offset", "{\"feeds.items\":3}", "{\"feeds.items\":\"3\"}"),
      try field("checksum-case", "\"843846d2\"", "\"843846D2\""),
      (
        "field-kind", "11.7", "an item is reloaded without its kind",
        try log.replacing("\"kind\":\"ad\",", with: "", at: at + 1)
      ),
      (
        "field-old", "11.3 11.7",
        "a record that the table would ignore, without its time: the form comes first",
        log[...at] + old[at - 1] + log[(at + 1)...]
      ),
      (
        "not-needed", "11.3 11.7",
        "an old difference without its data: entries of what is ignored are not needed",
        log[...(at + 1)] + (try log.replacing(",\"data\":33", with: "", at: at))[at] + log[(at + 2)...]
      ),
      (
        "not-twice", "11.7", "a name twice: the last one counts",
        try log.replacing("\"revision\":3", with: "\"revision\":\"9\",\"revision\":3", at: at)
      ),
      value(
        "utf8-in-string",
        "a string that is not UTF-8",
        (log.lines[at].value ?? []).split(separator: Array("33".utf8)).joined(separator: [0x22, 0xFF, 0x22])
      ),
      ("key-of-reload", "5.1 11.7", "a difference under a key of a reload", log.with(key: "k0/news", at: at)),
      ("key-of-delta", "5.1 11.7", "a reload under a key of a difference", log.with(key: "d1/news", at: 0)),
      (
        "keys", "5.1 11.7", "keys of another form: their records say nothing",
        log[..<at] + others + log[at...]
      ),
    ]
  }

  // MARK: - Changesets that do not fit

  func wrong() throws(JudgeFailure) -> [Case] {
    let reload = try place("5/0")
    func edited(_ table: String) throws(JudgeFailure) -> [Case] {
      try Self.edits(table).map { edit throws(JudgeFailure) in
        let at = try place(edit.place)
        // Up to a reload that repairs it, and the records after that.
        let log = log[...(try place(at < reload ? "6/0" : "9/0"))]
        return ("wrong-\(edit.name)", "11.5", edit.title, try log.replacing(edit.old, with: edit.new, at: at))
      }
    }
    var wrong = log[...(try place("9/0"))]
    for place in [reload, reload + 1] {
      wrong = try wrong.replacing("\"checksum\":\"0fbb3901\"", with: "\"checksum\":\"0fbb3902\"", at: place)
    }
    return try edited(
      #"""
      checksum | 2/0 | a checksum that differs
      "checksum":"843846d2" → "checksum":"843846d3"
      delete | 2/0 | a deletion from another position
      "section":"top","index":1} → "section":"top","index":2}
      delete-far | 2/0 | a deletion beyond the end
      "section":"top","index":1} → "section":"top","index":9}
      from | 2/0 | a move from another position
      "from":{"section":"top","index":0} → "from":{"section":"top","index":1}
      to | 2/0 | a move beyond the end
      "to":{"section":"top","index":3} → "to":{"section":"top","index":4}
      to-twice | 2/0 | two items at one position, although the result would have the right checksum
      "move":[ → "move":[{"id":"d","from":{"section":"top","index":3},"to":{"section":"top","index":1}},\#
      {"id":"c","from":{"section":"top","index":2},"to":{"section":"top","index":1}},
      section | 2/0 | an item that goes to a section that is not there
      "to":{"section":"top" → "to":{"section":"none"
      insert | 2/0 | an item is inserted that is there
      "id":"g" → "id":"c"
      unknown | 2/0 | an item is deleted that is not there
      "id":"b" → "id":"z"
      reconfigure | 3/0 | an item is reconfigured at another position
      "index":1 → "index":2
      kind | 4/0 | a kind is another than the checksum says
      "kind":"ad" → "kind":"job"
      """#
    ) + [("wrong-reload", "11.6", "a reload with another checksum", wrong)]
      + edited(
        #"""
        section-delete | 6/0 | a section is deleted at another position
        {"id":"more","index":2} → {"id":"more","index":1}
        section-from | 3/0 | a section moves from another position
        "items":{ → "sections":{"move":[{"id":"top","from":1,"to":0}]},"items":{
        section-to | 3/0 | a section moves beyond the end
        "items":{ → "sections":{"move":[{"id":"more","from":1,"to":2}]},"items":{
        section-reconfigure | 3/0 | a section is reconfigured at another position
        "items":{ → "sections":{"reconfigure":[{"id":"top","index":1,"data":1}]},"items":{
        move-twice | 2/0 | an item moves and is deleted
        "delete":[ → "delete":[{"id":"a","section":"top","index":0},
        reload-twice | 1/0 | a reload with an id that comes twice
        "id":"b" → "id":"a"
        """#
      )
  }
}
