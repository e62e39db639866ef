import FeedStore

extension TopicNames {
  /// The input topics; one if both are the same.
  package var inputs: [String] { sections == items ? [items] : [sections, items] }

  /// All topics, each once.
  package var distinct: [String] { inputs + [changesets, rejected] }
}
