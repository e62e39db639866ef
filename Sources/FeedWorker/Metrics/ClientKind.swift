/// Which of a worker's clients.
enum ClientKind: String, CaseIterable, Sendable {
  case consumer, producer
}
