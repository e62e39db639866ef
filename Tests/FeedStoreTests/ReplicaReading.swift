import Oracle

@testable import Feed

extension Replica {
  /// The replica's content, to compare with the oracle.
  var oracleFeed: OracleFeed {
    OracleFeed(
      sections: state.currentHandles(.sections).map { section in
        let fields = state.fields(section: section)
        let order = fields.order.flatMap { try? OracleJSON.parse(Array($0.buffer), maxDepth: 3) }
        return OracleSection(
          id: Array(state.sections.id(section).buffer),
          data: Array(state.sections[section].data.buffer),
          order: order.flatMap(OracleSectionOrder.init),
          keep: fields.keep.number.map { Int($0) },
          ttl: fields.lifetime.number.map { Int($0) },
          items: state.currentHandles(.items(of: section)).map { item in
            OracleItem(
              id: Array(state.items.id(item).buffer),
              kind: Array(state.kind(item).buffer),
              data: Array(state.items[item].data.buffer),
              expires: state.fields(item: item).lifetime.number.map { Int($0) },
              refs: Array((state.fields(item: item).refs ?? .empty).buffer)
            )
          }
        )
      }
    )
  }
}
