/// What a reload would take that stands where another changeset stands.
enum ReloadSize {
  /// Bytes of the head of a reload with a reason, from the head of another changeset of the same feed and revision.
  static func headBytes(_ form: ChangesetForm, reason: ReloadReason) -> Int {
    let record = form.record
    let base = reason == .keyframe ? record.revision : record.revision - 1
    return form.head.count - modeBytes(record.mode, record.reason) + modeBytes(.reload, reason)
      - digits(record.base) + digits(base)
  }

  private static func modeBytes(_ mode: ChangesetMode, _ reason: ReloadReason?) -> Int {
    // ,"reason":"…"
    mode.rawValue.utf8.count + (reason.map { 12 + $0.rawValue.utf8.count } ?? 0)
  }

  private static func digits(_ number: UInt64) -> Int { ChangesetHead.digits(Int(number)) }
}
