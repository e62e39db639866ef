/// The handler for one method and one path pattern.
struct HTTPRoute: Sendable {
  let produces: [String]
  let isOpen: Bool
  let handler: HTTPRouter.Handler
}
