/// A well-formed event; nil for absent fields, and fields that the op does not have.
struct OracleEvent: Sendable, Equatable {
  let op: OracleOp
  /// Its index in the record's array; nil if the value is a single event.
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
