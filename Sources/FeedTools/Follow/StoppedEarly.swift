/// The end was asked for before the topic was read to its end, so that nothing can be said of its feeds.
public struct StoppedEarly: Error, Equatable, CustomStringConvertible {
  public var description: String {
    """
    stopped before the changesets topic was read to its end, so what feeds there are is not known; if nothing was \
    read, check kafka.bootstrap.servers
    """
  }
}
