internal import CGnutls
import FoundationEssentials
import OperatingSystem

/// A key that verifies tokens (RFC 7518, RFC 8037).
struct TokenKey: Sendable, Equatable {
  fileprivate let kind: gnutls_sign_algorithm_t
  /// Depending on the type: modulus and exponent, coordinates, a public key, or a secret.
  fileprivate let parts: [[UInt8]]

  func verify(_ text: [UInt8], signature: [UInt8]) -> Bool {
    // An empty array's address must not be null.
    !signature.isEmpty && fault(text, signature) == nil
  }

  /// The problem with a signature, or with the key if there is no signature; nil for none.
  fileprivate func fault(_ text: [UInt8] = [], _ signature: [UInt8]? = nil) -> String? {
    guard !parts.contains(where: \.isEmpty) else { return "a member is missing, or not in base64url" }
    let (first, second) = (parts[0], parts.count > 1 ? parts[1] : [])
    let code = feedstore_signature_verify(
      kind,
      first,
      first.count,
      second,
      second.count,
      text,
      text.count,
      signature,
      signature?.count ?? 0
    )
    return code == 0 ? nil : String(cString: gnutls_strerror(code))
  }
}

/// The keys of a file or of an identity provider: a JSON Web Key Set (RFC 7517).
struct TokenKeys: Sendable, Equatable {
  /// By algorithm and id; nil for all keys of the algorithm.
  private var keys: [String: [String?: [TokenKey]]] = [:]
  /// The unusable keys of the set, with the reasons; nil for none.
  private(set) var faults: String?
  var count: Int { keys.values.reduce(0) { $0 + ($1[nil]?.count ?? 0) } }

  static let algorithms = ["RS256", "ES256", "EdDSA", "HS256"]
  private static let mostBytes = 4 << 20
  private static let mostKeys = 4096

  private struct Document: Decodable { let keys: [Entry] }

  private struct Entry: Decodable {
    let kid: String?
    let key: Result<JSONWebKey, any Error>

    private enum Member: CodingKey { case kid }

    init(from decoder: any Decoder) {
      kid = try? decoder.container(keyedBy: Member.self).decode(String.self, forKey: .kid)
      key = Result { try JSONWebKey(from: decoder) }
    }
  }

  private struct JSONWebKey: Decodable {
    let kty: String
    let kid, alg, use, crv, n, e, x, y, k, d: String?
  }

  /// Reads a set. Unusable keys are left out, and so are those for other purposes, as the standard requires.
  ///
  /// - Parameters:
  ///   - source: the path of a file, in which a private key must not be; or the URL of what was published.
  ///   - published: the text of a set that everyone can read, and that cannot have secrets; nil to read the file.
  /// - Throws: ``HTTPServerError`` with the code `tokenKeys`.
  init(_ source: String, published: [UInt8]? = nil) throws(HTTPServerError) {
    let document: Document
    do {
      let text = DecodableJSON(try published ?? WholeFile.bytes(source, atMost: Self.mostBytes) ?? [])
      document = try text.decode()
      if let name = text.repeated {
        throw Self.error("\(source): an object has \(name.debugDescription) twice; remove one of the two")
      }
      // Knowledge of such a key is enough to sign.
      if published == nil, document.keys.contains(where: { (try? $0.key.get())?.kty == "oct" }) {
        try SecretFile.check(source)
      }
    } catch let error as DecodingError {
      let place = error.place.isEmpty ? "" : ", see \(error.place)"
      let ownFile = "write {\"keys\":[…]} of at most \(Self.mostBytes) bytes as in RFC 7517"
      let remedy = published == nil ? ownFile : FetchedTokenKeys.remedy
      throw Self.error("\(source) is not a set of keys\(place); \(remedy)")
    } catch {
      throw Self.error("\(error)")
    }
    guard document.keys.count <= Self.mostKeys else {
      throw Self.error("\(source) has \(document.keys.count) keys; keep the \(Self.mostKeys) newest")
    }
    var faults: [String] = []
    for (index, entry) in document.keys.enumerated() {
      var place = "keys[\(index)]"
      var fault: String?
      switch entry.key {
      case .success(let webKey):
        guard webKey.use ?? "sig" == "sig" || webKey.d != nil else { continue }
        if published != nil, webKey.d != nil || webKey.kty == "oct" {
          fault = "everyone can read this secret or private key, and sign with it"
          break
        }
        guard let (algorithm, key) = try Self.key(webKey, "\(source): \(place)") else {
          let type = [webKey.kty, webKey.crv, webKey.alg].compactMap(\.self).joined(separator: " ")
          fault = "\(type.prefix(64).debugDescription) is not supported"
          break
        }
        let isRepeated = entry.kid != nil && keys[algorithm]?[entry.kid] != nil
        fault = isRepeated ? "an earlier key has this kid" : key.fault()
        for id in entry.kid == nil ? [nil] : [nil, entry.kid] where fault == nil {
          keys[algorithm, default: [:]][id, default: []].append(key)
        }
      case .failure(DecodingError.keyNotFound(let name, _)): fault = "\(name.stringValue) is missing"
      case .failure(let error):
        place = (error as? DecodingError)?.place ?? place
        fault = (error as? DecodingError)?.context?.debugDescription ?? "\(error)"
      }
      let name = entry.kid.map { " (kid \(String($0.prefix(64)).debugDescription))" } ?? ""
      if let fault { faults.append("\(place)\(name): \(fault)") }
    }
    let list = faults.joined(separator: "; ")
    self.faults = list.isEmpty ? nil : "\(source): \(list); RSA needs 2048 bits, a secret 32 bytes"
    guard !keys.isEmpty else {
      let reasons = list.isEmpty ? "" : " (\(list))"
      throw Self.error(
        "\(source) has no key for \(Self.algorithms.joined(separator: ", "))\(reasons); add one"
      )
    }
  }

  private static func error(_ message: String) -> HTTPServerError { HTTPServerError(.tokenKeys, message) }

  /// - Returns: a key and the only algorithm of its type: otherwise a client could use a public key as a secret. Nil for a key of
  ///   another type or algorithm.
  private static func key(_ key: JSONWebKey, _ place: String) throws(HTTPServerError) -> (String, TokenKey)? {
    guard key.d == nil || key.kty == "oct" else {
      throw error(
        "\(place) is a private key, which only who signs tokens may have; write its public members only"
      )
    }
    let (algorithm, kind, members): (String, gnutls_sign_algorithm_t, [String?])
    switch (key.kty, key.crv) {
    case ("RSA", _): (algorithm, kind, members) = ("RS256", GNUTLS_SIGN_RSA_SHA256, [key.n, key.e])
    case ("EC", "P-256"): (algorithm, kind, members) = ("ES256", GNUTLS_SIGN_ECDSA_SHA256, [key.x, key.y])
    case ("OKP", "Ed25519"): (algorithm, kind, members) = ("EdDSA", GNUTLS_SIGN_EDDSA_ED25519, [key.x])
    case ("oct", _): (algorithm, kind, members) = ("HS256", GNUTLS_SIGN_UNKNOWN, [key.k])
    default: return nil
    }
    guard key.alg ?? algorithm == algorithm else { return nil }
    return (algorithm, TokenKey(kind: kind, parts: members.map { $0.flatMap(Base64URL.decode) ?? [] }))
  }

  /// The keys that can verify a token.
  ///
  /// - Parameter id: the id in the token, if any.
  func keys(_ algorithm: String, id: String?) -> [TokenKey] {
    keys[algorithm]?[id] ?? []
  }
}

/// Base64 for URLs, without padding (RFC 7515, section 2). Bytes have only one spelling.
enum Base64URL {
  static func decode(_ text: String) -> [UInt8]? {
    guard !text.utf8.contains(where: "+/=".utf8.contains) else { return nil }
    let standard = text.utf8.map { byte in
      byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
    }
    let padding = repeatElement(UInt8(ascii: "="), count: (4 - text.utf8.count % 4) % 4)
    let decoded = Data(base64Encoded: Data(standard + padding))
    return decoded?.base64EncodedData().elementsEqual(standard + padding) == true
      ? decoded.map { Array($0) } : nil
  }
}

extension DecodingError {
  /// The invalid member, such as `keys[2].kty`; empty for the whole text.
  package var place: String { context?.codingPath.place ?? "" }

  package var context: Context? {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      context
    @unknown default: nil
    }
  }
}

extension [any CodingKey] {
  /// The path of a value, such as `feeds[2].first`.
  package var place: String {
    reduce("") { text, key in
      if let index = key.intValue { return "\(text)[\(index)]" }
      return text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)"
    }
  }
}
