/// Why the state of a feed, if it has one, is not the newest (protocol, section 11.2).
package enum Staleness: Sendable, Equatable {
  case gap(revision: UInt64?, base: UInt64)
  case otherEpoch
  case missingParts(revision: UInt64, before: Int)
  /// A record is malformed, or does not fit.
  case fault(ReplicaFault)

  /// The reason in words.
  package var text: String {
    switch self {
    case .gap(let revision?, let base):
      "the replica has revision \(revision), and the changeset has base \(base)"
    case .gap(nil, let base): "a changeset with base \(base) arrived without a reload before it"
    case .otherEpoch: "a changeset of another epoch arrived without a reload before it"
    case .missingParts(let revision, let part):
      "part \(part) of revision \(revision) arrived without the parts before it"
    case .fault(let fault): fault.message
    }
  }
}

/// What a record means for a feed.
enum ReplicaDecision {
  /// The feed does not exist any more.
  case remove
  case ignore
  case take
  /// The state is wrong; what follows replaces it.
  case replace(ReplicaFault)
  case becomeStale(Staleness)
}

extension FollowedFeed {
  /// The table of the protocol, section 11.3, for a record with a value. Those who restore and those who follow go by it.
  func decision(on record: DecodedChangeset) -> ReplicaDecision {
    let isSame = replica?.isOfEpoch(record)
    switch record.mode {
    case .delete: return isSame == false ? .becomeStale(.otherEpoch) : .remove
    case .reload:
      guard let replica, isSame == true else { return .take }
      if record.revision < replica.revision { return .ignore }
      if record.revision > replica.revision || staleness != nil { return .take }
      // A keyframe changes nothing for a replica in step; it is a chance to notice that it is not.
      return record.checksum == replica.checksum
        ? .ignore : .replace(Replica.mismatch(of: replica.checksum, record))
    case .diff, .reconfigure:
      guard let replica, isSame == true else {
        return .becomeStale(isSame == nil ? .gap(revision: nil, base: record.base) : .otherEpoch)
      }
      if record.revision <= replica.revision { return .ignore }
      let fits = staleness == nil && record.base == replica.revision
      return fits ? .take : .becomeStale(.gap(revision: replica.revision, base: record.base))
    }
  }

  /// The same table for a null. Deltas are nulled by a deletion only: of a feed that is not there, whatever was read belongs
  /// to it.
  func decision(onNull key: RecordKey) -> ReplicaDecision {
    switch key.kind {
    case .reload: key.number == 0 ? .remove : .ignore
    case .delta: replica == nil ? .remove : .ignore
    }
  }
}
