import Oracle

@testable import Feed

extension Snapshot {
  /// The content as an oracle's feed.
  var oracleFeed: OracleFeed {
    get throws(FuzzFailure) {
      do {
        return OracleFeed(
          sections: try sectionIdentifiers.map { section in
            let fields = state.fields(section: try storage.known(section))
            let order = try fields.order.flatMap { $0.isEmpty ? nil : try OracleJSON.parse(Array($0.buffer)) }
            return OracleSection(
              id: Array(section.description.utf8),
              data: Array((data(ofSection: section) ?? .null).description.utf8),
              order: order.flatMap(OracleSectionOrder.init),
              keep: fields.keep.number.map { Int($0) },
              ttl: fields.lifetime.number.map { Int($0) },
              items: try itemIdentifiers(inSection: section).map { item in
                OracleItem(
                  id: Array(item.description.utf8),
                  kind: Array((kind(ofItem: item) ?? "").description.utf8),
                  data: Array((data(ofItem: item) ?? .null).description.utf8),
                  expires: expires(ofItem: item).map { Int($0) },
                  refs: Array((references(ofItem: item)?.description ?? "").utf8)
                )
              }
            )
          }
        )
      } catch {
        throw FuzzFailure("a section of the snapshot is not in it: \(error)")
      }
    }
  }
}
