package import Kafka

/// The addresses that instances announce to each other through the consumer group, in their client ids.
package enum InstanceAddress {
  private static let separator: Character = "@"

  /// The client id of a member with a URL.
  static func clientID(_ name: String, url: String) -> String {
    url.isEmpty ? name : "\(name)\(separator)\(url)"
  }

  /// The URL in a client id; nil if there is none.
  static func url(in clientID: String) -> String? {
    guard let range = clientID.firstRange(of: "@http") else { return nil }
    let url = clientID[clientID.index(after: range.lowerBound)...]
    return url.hasPrefix("http://") || url.hasPrefix("https://") ? String(url) : nil
  }

  /// The URLs by partition number, of members that announce one.
  package static func urls(of members: [GroupMember]) -> [Int32: String] {
    var urls: [Int32: String] = [:]
    for member in members {
      guard let url = url(in: member.clientID) else { continue }
      for partition in member.partitions { urls[partition.partition] = url }
    }
    return urls
  }
}
