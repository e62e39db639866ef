extension DemoScript {
  /// A shop's order board: orders move from column to column and disappear; a sale causes a burst of orders; one record
  /// is invalid.
  mutating func addOrders() {
    let feed = "shop/orders"
    let columns = ["new", "packing", "shipped"]
    for column in columns {
      section(0, feed, "{\"op\":\"section.upsert\",\"section\":\"\(column)\",\"data\":{\"open\":true}}")
    }
    for order in 0..<90 { addOrder(feed, "order-\(order)", placed: 50 + order * 55) }
    // The sale starts.
    for order in 0..<300 { addOrder(feed, "sale-\(order)", placed: 3_000 + order / 10) }
    raw(2_500, feed, "{\"op\":\"item.upsert\",\"item\":\"order-\\u0000")
  }

  private mutating func addOrder(_ feed: String, _ id: String, placed: Int) {
    let price = 500 + next(20_000)
    item(
      placed,
      feed,
      "{\"op\":\"item.upsert\",\"item\":\"\(id)\",\"section\":\"new\",\"kind\":\"order\","
        + "\"data\":{\"customer\":\(next(9_999)),\"cents\":\(price)}}"
    )
    let packed = placed + 150 + next(900)
    let shipped = packed + 150 + next(900)
    let gone = shipped + 300 + next(900)
    if packed < DemoHistory.duration {
      item(packed, feed, "{\"op\":\"item.move\",\"item\":\"\(id)\",\"section\":\"packing\"}")
    }
    if shipped < DemoHistory.duration {
      item(
        shipped,
        feed,
        "[{\"op\":\"item.patch\",\"item\":\"\(id)\",\"data\":{\"parcel\":\"P\(next(99_999))\"}},"
          + "{\"op\":\"item.move\",\"item\":\"\(id)\",\"section\":\"shipped\",\"at\":\"first\"}]"
      )
    }
    if gone < DemoHistory.duration { item(gone, feed, "{\"op\":\"item.delete\",\"item\":\"\(id)\"}") }
  }
}
