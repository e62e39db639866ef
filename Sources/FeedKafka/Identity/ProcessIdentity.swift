import FoundationEssentials
import Glibc

/// Tells a process from all others of its group that run at the same time, and is the same for the one that
/// takes its place on the machine.
///
/// So a producer can have the `transactional.id` of the one before it: Kafka then ends at once the transaction
/// that a killed process left open, and nobody waits for it to time out.
package final class ProcessIdentity: Sendable, Equatable {
  /// Machine, its boot, its network and a number that no other process there has at the time.
  let text: String
  private let claim: Int32

  static let greatestNumber = 1_023

  /// - Parameter group: processes of other groups are not told apart from.
  package init(group: String) {
    let place = [Self.hostName, Self.bootID, Self.networkID].filter { !$0.isEmpty }.joined(separator: "-")
    for number in 0...Self.greatestNumber {
      switch Self.claim("feedstore/\(group)/\(number)") {
      case .claimed(let descriptor):
        claim = descriptor
        text = "\(place)-\(number)"
        return
      case .taken: continue
      case .impossible: break
      }
      break
    }
    // Unique all the same; after a kill its transactions have to time out.
    claim = -1
    text = "\(place)-p\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
  }

  /// A number that follows from it, the same in every build: FNV-1a.
  package var fingerprint: UInt64 {
    text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  deinit { if claim >= 0 { close(claim) } }

  package static func == (one: ProcessIdentity, other: ProcessIdentity) -> Bool { one.text == other.text }

  private enum Claim {
    case claimed(Int32)
    case taken, impossible
  }

  /// Claims a name in the network's space of socket names, which has no files and lets go of it when the process
  /// ends in whatever way. Processes that share a network may share the machine's name, too.
  private static func claim(_ name: String) -> Claim {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let capacity = MemoryLayout.size(ofValue: address.sun_path) - 1
    // Longer group names are told apart by their ends, which hold the number.
    let bytes = Array(name.utf8.suffix(capacity))
    withUnsafeMutableBytes(of: &address.sun_path) { path in
      // A zero byte first makes it a name without a file.
      UnsafeMutableRawBufferPointer(rebasing: path.dropFirst()).copyBytes(from: bytes)
    }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return .impossible }
    let length = MemoryLayout.offset(of: \sockaddr_un.sun_path)! + 1 + bytes.count
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(length)) }
    }
    if result == 0 { return .claimed(descriptor) }
    let isTaken = errno == EADDRINUSE
    close(descriptor)
    return isTaken ? .taken : .impossible
  }

  private static var hostName: String {
    var name = utsname()
    uname(&name)
    return withUnsafeBytes(of: &name.nodename) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// The beginning of what the kernel calls this run of the machine.
  private static var bootID: String {
    let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
    return String(text?.prefix(8) ?? "")
  }

  /// The number of the network in whose space names are claimed: containers often have one each.
  private static var networkID: String {
    var status = stat()
    guard stat("/proc/self/ns/net", &status) == 0 else { return "" }
    return String(status.st_ino)
  }
}
