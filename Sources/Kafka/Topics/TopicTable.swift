import CRdkafka

/// Numbers the topics of a client, so that names need not be compared for each record.
///
/// It holds a reference to each topic, so that librdkafka cannot reuse the pointer for another topic. Call `removeAll`
/// before the client is destroyed.
struct TopicTable {
  private var topics: [(pointer: OpaquePointer, name: String)] = []

  /// The most recently found index, tried first: adjacent records mostly have the same topic.
  private var last = 0

  func name(at index: Int) -> String { topics[index].name }

  /// librdkafka's handle of a topic in the table.
  func pointer(at index: Int) -> OpaquePointer { topics[index].pointer }

  /// The index of a message's topic; adds the topic if it is new.
  mutating func index(of pointer: OpaquePointer, client: OpaquePointer) -> Int? {
    if last < topics.count, topics[last].pointer == pointer { return last }
    if let index = topics.firstIndex(where: { $0.pointer == pointer }) {
      last = index
      return index
    }
    return index(ofName: String(cString: rd_kafka_topic_name(pointer)), client: client)
  }

  /// The index of the topic with this name; adds it if it is new. nil if the name is not valid.
  mutating func index(ofName name: String, client: OpaquePointer) -> Int? {
    if last < topics.count, topics[last].name == name { return last }
    if let index = topics.firstIndex(where: { $0.name == name }) {
      last = index
      return index
    }
    guard let pointer = rd_kafka_topic_new(client, name, nil) else { return nil }
    topics.append((pointer, name))
    last = topics.count - 1
    return last
  }

  mutating func removeAll() {
    for topic in topics { rd_kafka_topic_destroy(topic.pointer) }
    topics = []
    last = 0
  }
}

/// How long to repeat requests for topics that brokers do not know, and when to log it: a state machine without a
/// clock.
///
/// The brokers of a cluster learn of a new topic one by one, so the responding broker may not know it yet.
public struct TopicWait: Sendable {
  /// The action after a response without a topic.
  public enum Step: Sendable, Equatable {
    /// Repeat the request after a pause.
    case ask
    /// Repeat the request after a pause, and log the remaining seconds, rounded up.
    case askAndTell(remainingSeconds: Int64)
    case giveUp
  }

  /// The pause between two requests.
  public static let pauseMilliseconds: Int32 = 100
  private static let tellMilliseconds: Int64 = 5_000

  private let milliseconds: Int64
  /// When the wait ends; nil before the first response without a topic.
  private var end: Int64?
  private var lastTelling: Int64?

  /// - Parameter milliseconds: the length of the wait, from the first response without a topic.
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Decides the action after a response without a topic.
  ///
  /// - Parameter now: milliseconds of a monotonic clock.
  public mutating func step(at now: Int64) -> Step {
    let (sum, isForEver) = now.addingReportingOverflow(milliseconds)
    let end = end ?? (isForEver ? .max : sum)
    self.end = end
    guard now < end else { return .giveUp }
    if let lastTelling, now - lastTelling < Self.tellMilliseconds { return .ask }
    lastTelling = now
    return .askAndTell(remainingSeconds: (end - now - 1) / 1_000 + 1)
  }
}
