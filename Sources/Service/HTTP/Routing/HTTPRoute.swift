/// What is done with requests of one method for the paths of one pattern.
struct HTTPRoute: Sendable {
  let produces: [String]
  let isOpen: Bool
  let handler: HTTPRouter.Handler
}
