/// A stop was requested before the topic had been read to its end, so the state of its feeds is unknown.
package struct StoppedEarly: Error, Equatable, CustomStringConvertible {
  package var description: String {
    """
    stopped before the changesets topic was read to its end, so what feeds there are is not known; if nothing was \
    read, check kafka.bootstrap.servers
    """
  }
}
