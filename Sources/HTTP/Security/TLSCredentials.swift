internal import CMicrohttpd
import OperatingSystem

/// The certificate of an ``HTTPServer``, and the authorities whose client certificates it accepts. The key is never
/// printed.
package struct TLSCredentials: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  // Zero-terminated PEM texts.
  let certificate: [UInt8]
  let key: [UInt8]
  let clientAuthority: [UInt8]?

  private static let most = 1 << 20

  /// Reads PEM files, and checks that they match.
  ///
  /// - Parameters:
  ///   - certificate: the server's certificate, followed by intermediate ones.
  ///   - key: the first certificate's key, without a password; only the process's user may be able to read it.
  ///   - clientAuthority: if given, only clients with a certificate signed by one of these authorities are accepted.
  /// - Throws: ``HTTPServerError`` with the code `certificate`, `key` or `clientAuthority`.
  package init(certificate: String, key: String, clientAuthority: String? = nil) throws(HTTPServerError) {
    self.certificate = try Self.read(certificate, .certificate)
    self.key = try Self.readKey(key)
    self.clientAuthority =
      if let clientAuthority {
        try Self.read(clientAuthority, .clientAuthority)
      } else {
        nil
      }
    try check(certificate, key, clientAuthority)
  }

  private func check(_ certificate: String, _ key: String, _ authority: String?) throws(HTTPServerError) {
    let result = withPointers { feedstore_tls_check($0, $1, $2) }
    guard result.code != 0 else { return }
    let reason = String(cString: feedstore_tls_error(result.code))
    switch result.part {
    case 0:
      throw HTTPServerError(
        .certificate,
        "\(certificate) and the key \(key) cannot be used together: \(reason); name a certificate in PEM and its own key"
      )
    default:
      throw HTTPServerError(
        .clientAuthority,
        "\(authority ?? "") has no certificate that can be used: \(reason); name a file of certificates in PEM"
      )
    }
  }

  /// Calls with certificate, key and authority; NULL for a missing one.
  func withPointers<Result>(
    _ body: (UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Result
  ) -> Result {
    func withPointer<Inner>(_ bytes: [UInt8]?, _ body: (UnsafePointer<CChar>?) -> Inner) -> Inner {
      guard let bytes else { return body(nil) }
      return bytes.withUnsafeBytes { bytes in body(bytes.baseAddress?.assumingMemoryBound(to: CChar.self)) }
    }
    return withPointer(certificate) { certificate in
      withPointer(key) { key in
        withPointer(clientAuthority) { authority in body(certificate, key, authority) }
      }
    }
  }

  static func read(
    _ path: String,
    _ code: HTTPServerError.Code,
    marker: String = "-----BEGIN CERTIFICATE-----"
  ) throws(HTTPServerError) -> [UInt8] {
    let bytes = try Result { () throws(FileError) in try WholeFile.bytes(path, atMost: most) }
      .mapError { HTTPServerError(code, $0.description) }.get()
    guard let bytes, contains(bytes, marker), !bytes.contains(0) else {
      throw HTTPServerError(code, "\(path) has no certificate in PEM (\(marker)); name a file that has one")
    }
    return bytes + [0]
  }

  private static func readKey(_ path: String) throws(HTTPServerError) -> [UInt8] {
    let bytes = try Result { () throws(FileError) in try SecretFile.bytes(path, atMost: most) }
      .mapError { HTTPServerError(.key, $0.description) }.get()
    guard !contains(bytes, "ENCRYPTED") else {
      throw HTTPServerError(
        .key,
        "\(path) is encrypted; write it without a password (openssl pkey -in \(path) -out FILE), and chmod 600 it"
      )
    }
    guard contains(bytes, "PRIVATE KEY-----"), !bytes.contains(0) else {
      throw HTTPServerError(
        .key,
        "\(path) has no private key in PEM (-----BEGIN PRIVATE KEY-----); name a file that has one"
      )
    }
    return bytes + [0]
  }

  private static func contains(_ bytes: [UInt8], _ text: String) -> Bool {
    bytes.firstRange(of: Array(text.utf8)) != nil
  }

  /// The earliest end of the certificates in a PEM file, in seconds since 1970.
  ///
  /// - Throws: ``HTTPServerError`` with the code `certificate`.
  package static func firstEnd(ofCertificatesIn path: String) throws(HTTPServerError) -> Int64 {
    let bytes = try read(path, .certificate)
    let end = bytes.withUnsafeBytes { feedstore_tls_end($0.baseAddress?.assumingMemoryBound(to: CChar.self)) }
    guard end >= 0 else {
      throw HTTPServerError(.certificate, "\(path) has a certificate that cannot be decoded; replace it")
    }
    return end
  }

  /// Whether clients must present certificates.
  package var asksForCertificates: Bool { clientAuthority != nil }

  /// Does not reveal the key.
  package var description: String { "a certificate of \(certificate.count) bytes" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
