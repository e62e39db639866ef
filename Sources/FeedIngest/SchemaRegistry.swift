import Feed
package import FeedConfiguration
import FeedStore
import FoundationEssentials
import HTTP
import OperatingSystem
import Settings

/// The schemas of Avro by their ids, from files or a registry. It keeps them, because an id never gets another schema.
package final class SchemaRegistry {
  /// Why a record has no text.
  enum Fault: Error {
    case rejected(Rejection)
    /// The registry does not answer; map the record again.
    case unavailable(String)
  }

  private let options: SchemaRegistryOptions
  private let clock: () -> Int64
  /// With the time of each request. A schema that is unknown or cannot be used is requested again after a while.
  private var schemas: [Int32: (result: Result<AvroSchema, Rejection>, time: Int64)] = [:]

  private static let mostSchemas = 1_000
  private static let mostBytes = 1 << 20
  private static let requestMilliseconds: Int64 = 5_000
  private static let refusalMilliseconds: Int64 = 60_000
  /// A zero byte, and four of the id.
  private static let headerBytes = 5

  /// - Parameter clock: milliseconds.
  package init(
    _ options: SchemaRegistryOptions,
    clock: @escaping () -> Int64 = MonotonicClock.coarseMilliseconds
  ) {
    self.options = options
    self.clock = clock
  }

  /// Writes a key or a value in Confluent's wire format as JSON.
  func write(_ bytes: ByteSpan, to writer: ByteWriter, atMost most: Int, placeholder: [UInt8]) throws(Fault) {
    guard bytes.count >= Self.headerBytes, bytes[0] == 0 else {
      let header = "a zero byte and four bytes of a schema's id"
      throw .rejected(Rejection(.unmappable, "the record is not Avro: it does not begin with \(header)"))
    }
    let id = Int32(bigEndian: bytes.rawBuffer.loadUnaligned(fromByteOffset: 1, as: Int32.self))
    let schema = try schema(id)
    do throws(AvroSchema.Fault) {
      let content = ByteSpan(bytes.base + Self.headerBytes, bytes.count - Self.headerBytes)
      try schema.write(content, to: writer, atMost: most, placeholder: placeholder)
    } catch {
      throw .rejected(Rejection(error.code, "the record does not fit the schema \(id): \(error.problem)"))
    }
  }

  private func schema(_ id: Int32) throws(Fault) -> AvroSchema {
    if let (result, time) = schemas[id] {
      switch result {
      case .success(let schema): return schema
      case .failure(let rejection):
        if clock() - time < Self.refusalMilliseconds { throw .rejected(rejection) }
      }
    }
    let text = try text(id)
    if schemas.count >= Self.mostSchemas { schemas = [:] }
    do throws(AvroSchema.Fault) {
      guard let text else { throw AvroSchema.Fault("it is unknown") }
      let schema = try AvroSchema(text)
      schemas[id] = (.success(schema), clock())
      return schema
    } catch {
      let rejection = Rejection(.unmappable, "the schema \(id) cannot be used: \(error.problem)")
      schemas[id] = (.failure(rejection), clock())
      throw .rejected(rejection)
    }
  }

  /// - Returns: nil if the schema does not exist.
  private func text(_ id: Int32) throws(Fault) -> [UInt8]? {
    if let path = options.files[id] {
      do throws(FileError) {
        return try WholeFile.bytes(path, atMost: Self.mostBytes)
      } catch {
        throw .unavailable("\(error)")
      }
    }
    if options.url.isEmpty { return nil }
    let url = "\(options.url)/schemas/ids/\(id)"
    do throws(HTTPClient.Failure) {
      let response = try HTTPClient.get(
        url,
        [HTTPField("Accept", "application/vnd.schemaregistry.v1+json, application/json")],
        credentials: options.user.isEmpty ? nil : "\(options.user):\(options.password)",
        authorities: options.authority.isEmpty ? nil : options.authority,
        within: Self.requestMilliseconds
      )
      if response.status == 404 { return nil }
      guard response.status == 200 else {
        let isDenied = [401, 403].contains(response.status)
        let remedy = isDenied ? "; check ingest.schemaRegistry.user and password" : ""
        throw HTTPClient.Failure("HTTP status \(response.status)\(remedy)")
      }
      let answer = try? JSONDecoder().decode([String: ConfigurationValue].self, from: Data(response.body))
      guard case .string(let schema)? = answer?["schema"] else {
        throw HTTPClient.Failure("the answer has no schema")
      }
      return Array(schema.utf8)
    } catch {
      throw .unavailable("\(url): \(error)")
    }
  }
}
