internal import CMicrohttpd

/// The object that libmicrohttpd references while it sends a stream.
final class EventStreamSource {
  let stream: EventStream
  let server: HTTPServer
  let socket: Int32

  init(stream: EventStream, server: HTTPServer, socket: Int32) {
    self.stream = stream
    self.server = server
    self.socket = socket
  }
}

/// For libmicrohttpd: provides the next bytes of a stream.
func readEventStream(
  _ source: UnsafeMutableRawPointer?,
  _ position: UInt64,
  _ target: UnsafeMutablePointer<CChar>?,
  _ capacity: Int
) -> Int {
  guard let source, let target else { return -2 }
  let stream = Unmanaged<EventStreamSource>.fromOpaque(source).takeUnretainedValue().stream
  return stream.take(into: UnsafeMutableRawBufferPointer(start: target, count: capacity))
}

/// For libmicrohttpd: the stream is over.
func releaseEventStream(_ owner: UnsafeMutableRawPointer?) {
  guard let owner else { return }
  let source = Unmanaged<EventStreamSource>.fromOpaque(owner).takeRetainedValue()
  source.server.watcher.forget(source.socket)
  source.stream.detach()
  // The stream counts as open until its owner has been told of the end.
  source.server.streams.remove(source.stream)
}

/// For libmicrohttpd: the content has been sent.
func releaseHTTPContent(_ content: UnsafeMutableRawPointer?) {
  guard let content else { return }
  Unmanaged<HTTPContent>.fromOpaque(content).release()
}
