// The declarations of SwiftUI that the example in README.md uses (https://developer.apple.com/documentation/swiftui/…): view, state,
// viewbuilder, text, list, section, foreach, view/task(priority:_:), animation, withanimation(_:_:). They hold views and draw nothing.

@MainActor @preconcurrency public protocol View {
  associatedtype Body: View
  @ViewBuilder @MainActor @preconcurrency var body: Self.Body { get }
}

extension Never: View {
  public var body: Never { fatalError() }
}

@resultBuilder public struct ViewBuilder {
  public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
  public static func buildBlock<each Content: View>(
    _ content: repeat each Content
  ) -> TupleView<(repeat each Content)> {
    TupleView((repeat each content))
  }
  public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
}

extension Optional: View where Wrapped: View {
  public var body: Never { fatalError() }
}

public struct TupleView<T>: View {
  nonisolated(unsafe) public var value: T
  nonisolated public init(_ value: T) { self.value = value }
  public var body: Never { fatalError() }
}

@MainActor @propertyWrapper public struct State<Value> {
  public var wrappedValue: Value
  public init(wrappedValue value: Value) { wrappedValue = value }
}

public struct Text: View {
  public init<S: StringProtocol>(_ content: S) {}
  public var body: Never { fatalError() }
}

public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content> {
  public let data: Data
  public let content: (Data.Element) -> Content
}

extension ForEach: View where Content: View {
  public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content)
  where Data.Element: Identifiable, ID == Data.Element.ID {
    self.data = data
    self.content = content
  }
  public var body: Never { fatalError() }
}

public struct Section<Content: View>: View {
  public init<S: StringProtocol>(_ title: S, @ViewBuilder content: () -> Content) { _ = content() }
  public var body: Never { fatalError() }
}

public struct List<Content: View>: View {
  public init<Data: RandomAccessCollection, RowContent: View>(
    _ data: Data,
    @ViewBuilder rowContent: @escaping (Data.Element) -> RowContent
  ) where Content == ForEach<Data, Data.Element.ID, RowContent>, Data.Element: Identifiable {}
  public var body: Never { fatalError() }
}

extension View {
  public func task(
    priority: TaskPriority = .userInitiated,
    @_inheritActorContext _ action: @escaping @Sendable () async -> Void
  ) -> some View { self }
}

public struct Animation: Equatable, Sendable {
  public static let `default` = Animation()
  /// How often something was animated. Not a part of SwiftUI.
  @MainActor public static var count = 0
}

@MainActor public func withAnimation<Result>(
  _ animation: Animation? = .default,
  _ body: () throws -> Result
) rethrows -> Result {
  if animation != nil { Animation.count += 1 }
  return try body()
}
