import Feed
import Oracle

extension Snapshot {
  /// The content as an oracle's feed.
  var oracleFeed: OracleFeed {
    get throws(FuzzFailure) {
      do {
        return OracleFeed(
          sections: try sectionIdentifiers.map { section in
            OracleSection(
              id: Array(section.description.utf8),
              data: Array((data(ofSection: section) ?? .null).description.utf8),
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
