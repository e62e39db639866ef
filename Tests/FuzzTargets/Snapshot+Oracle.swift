import Feed
import Oracle

extension Snapshot {
  /// The content as an oracle's feed.
  var oracleFeed: OracleFeed {
    get throws(FuzzFailure) {
      do {
        return OracleFeed(
          sections: try difference(from: Snapshot()).sections.inserts.map { entry in
            let section = entry.id
            let order = try entry.order.map { try OracleJSON.parse(Array($0.description.utf8)) }
            return OracleSection(
              id: Array(section.description.utf8),
              data: Array(entry.data.description.utf8),
              order: order.flatMap(OracleSectionOrder.init),
              keep: entry.keep,
              items: try itemIdentifiers(inSection: section).map { item in
                OracleItem(
                  id: Array(item.description.utf8),
                  kind: Array((kind(ofItem: item) ?? "").description.utf8),
                  data: Array((data(ofItem: item) ?? .null).description.utf8)
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
