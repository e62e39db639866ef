/// Why a saved state cannot be used.
package struct SavedStateFault: Error, Sendable, Equatable {
  /// What is wrong, and with what, as the end of a sentence.
  package let message: String

  package init(_ message: String) { self.message = message }
}
