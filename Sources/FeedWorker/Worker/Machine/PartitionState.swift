/// What a worker does with a partition that the group has given it: the input partitions of one number, and their feeds.
///
///     assigned ──▸ restoring ──▸ serving ◂──▸ paused        (each but leaving) ──▸ restoring: what is published is not known
///                      │                                    (each) ── revoked ──▸ leaving ──▸ given up
///                      ╰──▸ stopped                         (each) ── lost ──▸ given up
enum PartitionState: Equatable {
  /// Its feeds are read back from the changesets; its input is paused. ``Restoration`` knows how far that is.
  case restoring
  /// Its input is read and its feeds are published.
  case serving
  /// It is served, and its input is paused until a long flush or a large batch is done.
  case paused
  /// Its feeds cannot be restored; its input stays paused.
  case stopped
  /// The group takes it away: what is pending is still published, and no more is read.
  case leaving
}
