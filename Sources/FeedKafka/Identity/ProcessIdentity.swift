import FoundationEssentials
import Glibc
package import Kafka

/// An id that differs between concurrent processes of a group, and is reused by the process that replaces one on the
/// same machine.
///
/// A producer can therefore take over the `transactional.id` of its predecessor. Kafka then aborts the transaction that
/// a killed process left open at once, instead of after its timeout.
package final class ProcessIdentity: Sendable, Equatable {
  /// The machine, its boot id, its network namespace, and a number that is unique among the running processes there.
  let text: String
  private let claim: Int32

  static let greatestNumber = 1_023

  /// - Parameter group: the consumer group; ids are unique within a group only.
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
    // Still unique, but after a kill, transactions end only by their timeout.
    claim = -1
    text = "\(place)-p\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
  }

  /// The id of an imaginary process.
  init(text: String) {
    self.text = text
    claim = -1
  }

  /// A number derived from the id, the same in every build: FNV-1a.
  package var fingerprint: UInt64 {
    text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  deinit { if claim >= 0 { close(claim) } }

  package static func == (one: ProcessIdentity, other: ProcessIdentity) -> Bool { one.text == other.text }

  private enum Claim {
    case claimed(Int32)
    case taken, impossible
  }

  /// Claims a name in the network namespace's abstract socket names. These have no files, and the kernel releases them
  /// when the process ends for any reason. Processes that share a network namespace may share a host name, too.
  private static func claim(_ name: String) -> Claim {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let capacity = MemoryLayout.size(ofValue: address.sun_path) - 1
    // Long names are truncated at the front, because the number at their end makes them unique.
    let bytes = Array(name.utf8.suffix(capacity))
    withUnsafeMutableBytes(of: &address.sun_path) { path in
      // A leading zero byte makes it an abstract name.
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

  /// The start of the kernel's boot id.
  private static var bootID: String {
    let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
    return String(text?.prefix(8) ?? "")
  }

  /// The id of the network namespace, in which names are claimed. Containers often have their own.
  private static var networkID: String {
    var status = stat()
    guard stat("/proc/self/ns/net", &status) == 0 else { return "" }
    return String(status.st_ino)
  }
}

/// A worker's identity towards Kafka.
package struct WorkerIdentity: Sendable, Equatable {
  /// The number of the worker in this process, from 0.
  package let number: Int
  /// The number of workers in the process.
  let count: Int
  /// The process's id, unique among running processes and unchanged by a restart.
  let process: ProcessIdentity

  package init(number: Int, count: Int, process: ProcessIdentity) {
    self.number = number
    self.count = count
    self.process = process
  }
}

/// The addresses that instances announce to each other through the consumer group, in their client ids.
package enum InstanceAddress {
  static func clientID(_ name: String, url: String) -> String {
    url.isEmpty ? name : "\(name)@\(url)"
  }

  static func url(in clientID: String) -> String? {
    guard let range = clientID.firstRange(of: "@http") else { return nil }
    let url = clientID[clientID.index(after: range.lowerBound)...]
    return url.hasPrefix("http://") || url.hasPrefix("https://") ? String(url) : nil
  }

  /// The URLs by partition number, of members that announce one.
  package static func urls(of members: [GroupMember]) -> [Int32: String] {
    var urls: [Int32: String] = [:]
    for member in members {
      guard let url = url(in: member.clientID) else { continue }
      for partition in member.partitions { urls[partition.partition] = url }
    }
    return urls
  }
}
