import Glibc

/// Ends the program with a message.
func fail(_ message: String) -> Never {
  let line = "Costs: \(message)\n"
  _ = line.withCString { write(2, $0, strlen($0)) }
  exit(2)
}

/// Ends the program unless the result is the expected one.
func check(_ isSo: Bool, _ message: @autoclosure () -> String) {
  if !isSo { fail(message()) }
}
