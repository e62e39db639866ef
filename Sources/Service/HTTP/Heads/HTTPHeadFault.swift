/// Why a request is rejected because of its head.
public struct HTTPHeadFault: Error, Sendable, Equatable {
  /// The HTTP status, such as 400.
  public let status: Int
  /// A code for programs; stable.
  public let code: String
  /// A description for people, with the remedy.
  public let detail: String

  init(status: Int = 400, code: String = "invalid-request", _ detail: String) {
    self.status = status
    self.code = code
    self.detail = detail
  }
}
