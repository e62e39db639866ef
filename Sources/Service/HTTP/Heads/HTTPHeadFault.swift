/// Why a request is refused, judged by its head alone.
public struct HTTPHeadFault: Error, Sendable, Equatable {
  /// 400 and such.
  public let status: Int
  /// For programs; stable.
  public let code: String
  /// For people: names the thing and the remedy.
  public let detail: String

  init(status: Int = 400, code: String = "invalid-request", _ detail: String) {
    self.status = status
    self.code = code
    self.detail = detail
  }
}
