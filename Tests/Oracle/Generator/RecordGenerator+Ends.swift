/// Items that end.
extension RecordGenerator {
  /// An item's end, or null: mostly soon, or past.
  mutating func expires() -> String {
    if random.chance(15) { return "null" }
    let time = timestamp + random.below(600) - 60
    switch random.below(20) {
    case 0: return speller.string("9999-12-31T23:59:59.999Z")
    case 1: return random.pick(["0", "253402300799999"])
    case 2: return speller.string("0000-01-01T00:00:00Z")
    case 3:
      let text = OracleTime.text(milliseconds: time + 90 * 60_000).dropLast()
      return speller.string(text + "9+01:30")
    case 4: return speller.string(OracleTime.text(milliseconds: time).lowercased())
    case 5...11: return speller.string(OracleTime.text(milliseconds: time))
    default: return String(time)
    }
  }

  /// How long a section's items last, or null.
  mutating func ttl() -> String {
    if random.chance(25) { return "null" }
    return random.chance(80) ? String(1 + random.below(400)) : random.pick(["1", "60000", "3155760000000"])
  }
}
