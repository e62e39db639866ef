import Oracle
import Testing

@testable import Feed

@Suite struct ElementTableTests {
  /// Identifiers up to 16 bytes are in the element, longer ones elsewhere.
  @Test(arguments: [1, 15, 16, 17, 24, 255])
  func `keeps identifiers of every length while it grows and shrinks`(length: Int) {
    let table = ElementTable()
    func id(_ number: Int) -> [UInt8] {
      Array("\(String(repeating: "x", count: length))\(number)".utf8.suffix(length))
    }
    func find(_ number: Int) -> ElementHandle? {
      withSpan(id(number)) { table.find($0, ByteHash.of($0)) }
    }
    func create(_ number: Int) -> ElementHandle {
      withSpan(id(number)) { table.create($0, ByteHash.of($0)) }
    }
    let count = length == 1 ? 10 : 1_000
    let handles = (0..<count).map(create)
    for number in 0..<count {
      #expect(find(number) == handles[number])
      #expect(Array(table.id(handles[number]).buffer) == id(number))
    }
    for number in stride(from: 0, to: count, by: 2) { table.destroy(handles[number]) }
    for number in 0..<count { #expect(find(number) == (number % 2 == 0 ? nil : handles[number])) }
    // Handles are reused with other identifiers.
    for number in stride(from: 0, to: count, by: 2) {
      let handle = create(number)
      #expect(handle.index < count)
      #expect(Array(table.id(handle).buffer) == id(number))
    }
    for number in 0..<count { #expect(find(number).map { Array(table.id($0).buffer) } == id(number)) }
  }

  @Test func `an element takes one line of the cache`() {
    #expect(MemoryLayout<Element>.stride == 64)
    let table = ElementTable()
    withSpan("i") { _ = table.create($0, ByteHash.of($0)) }
    #expect(UInt(bitPattern: table.elements) % 64 == 0)
  }
}
