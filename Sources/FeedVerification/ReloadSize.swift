import Feed

/// What a reload would take that stands where another changeset stands.
enum ReloadSize {
  /// Bytes of the head of a reload with a reason, in place of another changeset of the same feed and revision.
  static func headBytes(_ form: ChangesetForm, reason: ReloadReason) -> Int {
    let record = form.record
    let output = ByteWriter(capacity: 1024)
    ChangesetSpelling(output).append(
      head: record,
      form.through,
      withPart: false,
      base: reason == .keyframe ? record.revision : record.revision - 1,
      mode: .reload,
      reason: reason
    )
    return output.count
  }
}
