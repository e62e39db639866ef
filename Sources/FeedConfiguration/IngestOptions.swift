import Feed
import FeedKafka
import FeedStore
package import Settings

/// The sources of `feedstore ingest`, and the mapping of their rows to feeds (docs/ingest.md).
package struct IngestOptions: Sendable, Equatable {
  package var group = "feedstore-ingest"
  package var sources: [IngestSource] = []
  package var schemas = SchemaRegistryOptions()
  package var topics: [String] { sources.map(\.topic) }

  package static let noSources = ConfigurationError(
    "ingest.sources is empty; name the topics to read and how their rows become items, as docs/ingest.md shows"
  )

  mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    reader.describe(
      """
      ingest.group: the consumer group of `feedstore ingest`
      ingest.sources: topics of rows, and how each is [mapped](ingest.md#the-mapping) to feeds
      ingest.schemaRegistry.url: the registry of the schemas of [Avro](ingest.md#avro); empty for none
      ingest.schemaRegistry.user: for basic authentication by the registry; empty for none
      ingest.schemaRegistry.password: the user's password, a secret
      ingest.schemaRegistry.authority: a file of certificate authorities in PEM that sign the registry's \
      certificate; empty for the system's
      ingest.schemaFiles.*: for each id of a schema the path of a file, which is used instead of the \
      registry
      """
    )
    let allowed = "a string that is not empty"
    group = try reader.string("ingest.group", default: group, allowed: allowed) { !$0.isEmpty }
    let values = try reader.list("ingest.sources")
    sources = try MappingReader.objects(values, "ingest.sources", reader.place(of: "ingest.sources"))
    try schemas.read(&reader)
  }

  /// Refuses the daemon's group, topics that are read twice or that FeedStore itself reads or writes, literals that are longer than an
  /// id, and two sources that give a section different settings.
  func check(
    _ configuration: FeedStoreConfiguration,
    _ reader: ConfigurationReader
  ) throws(ConfigurationError) {
    let (names, limits) = (configuration.store.topics, configuration.store.limits)
    let other = configuration.kafka.last { $0.name == "group.id" }?.value ?? KafkaSettings.defaultName
    if !sources.isEmpty, group == other {
      throw ConfigurationError(
        "ingest.group is \"\(group)\", and so is kafka.group.id; give feedstore ingest a group of its own",
        place: reader.place(of: "ingest.group")
      )
    }
    for (index, source) in sources.enumerated() {
      let others = sources[..<index]
      let rival = others.firstIndex {
        $0.feed == source.feed && $0.section == source.section && $0.settings != source.settings
          && !$0.settings.isEmpty && !source.settings.isEmpty
      }
      let long = source.templates.first { $0.template.literalBytes > limits.maxIdBytes }
      let joining = source.content != nil ? "content" : source.references != nil ? "refs" : nil
      let problem: String? =
        if names.distinct.contains(source.topic) {
          ".topic is \"\(source.topic)\": it is one of topics.*, which have no rows"
        } else if others.contains(where: { $0.topic == source.topic }) {
          """
          .topic is "\(source.topic)": another element has it already; map it a second time with another ingest.group, in a process \
          of its own
          """
        } else if let joining, names.contents == nil {
          ".\(joining) is set, and topics.contents is not; set it to the name of the topic of contents"
        } else if source.format.isAvro, schemas.isEmpty {
          ".format is Avro; set ingest.schemaRegistry.url or ingest.schemaFiles"
        } else if let (member, template) = long {
          """
          .\(member) has literals of \(template.literalBytes) bytes, more than limits.maxIdBytes (\(limits.maxIdBytes)); shorten them
          """
        } else if let rival {
          """
           writes to the feed and section of ingest.sources[\(rival)] with a different order or keep; the section would get the \
          settings of both in turn: give both sources the same settings, or only one of them any
          """
        } else { nil }
      guard let problem else { continue }
      let place = reader.place(of: "ingest.sources")
      throw ConfigurationError("ingest.sources[\(index)]\(problem)", place: place)
    }
  }
}
