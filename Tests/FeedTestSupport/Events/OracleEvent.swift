/// An event whose form is right; what is nil was absent or is none of the op's fields.
struct OracleEvent: Sendable, Equatable {
  let op: OracleOp
  /// Its place in the record's array, from 0; nil when the value is the event itself.
  let number: Int?
  var section: [UInt8]?
  var item: [UInt8]?
  var kind: [UInt8]?
  var data: OracleJSON?
  var place: OraclePlace?
  var items: [OracleListedItem] = []
  var sections: [OracleListedSection] = []

  init(op: OracleOp, number: Int?) {
    self.op = op
    self.number = number
  }
}
