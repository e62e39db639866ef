// https://developer.apple.com/documentation/combine/observableobject and …/published, as far as a class that conforms and has a
// published property needs them.

public protocol ObservableObject: AnyObject {}

@propertyWrapper public struct Published<Value> {
  public var wrappedValue: Value
  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
}
