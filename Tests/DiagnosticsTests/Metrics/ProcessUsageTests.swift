import Glibc
import Testing

@testable import Diagnostics

@Suite struct ProcessUsageTests {
  @Test func `a status line is parsed for any process name`() {
    var usage = ProcessUsage()
    usage.readStatus(
      "7 (a ) b) S 1 7 7 0 -1 0 0 0 0 0 150 50 0 0 20 0 9 0 300 4096000 25 18446744073709551615 1 1",
      boot: "cpu 1 2\nbtime 1000\nprocesses 3\n"
    )
    let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
    #expect(usage.cpuSeconds == 200 / ticks)
    #expect(usage.threads == 9)
    #expect(usage.startSeconds == 1000 + 300 / ticks)
    #expect(usage.virtualBytes == 4_096_000)
    #expect(usage.residentBytes == 25 * sysconf(Int32(_SC_PAGESIZE)))
  }

  @Test func `this process has plausible values`() {
    let usage = ProcessUsage.read()
    #expect(usage.residentBytes > 0 && usage.residentBytes < usage.virtualBytes)
    #expect(usage.openDescriptors > 2 && usage.openDescriptors <= usage.maxDescriptors)
    #expect(usage.startSeconds > 1_500_000_000)
    #expect(usage.memoryLimitBytes > 0)
  }

  @Test func `empty files give no values`() {
    var usage = ProcessUsage()
    usage.readStatus("", boot: "")
    usage.readStatus("7 (a", boot: "btime")
    #expect(usage == ProcessUsage())
  }

  @Test(arguments: [
    (["/proc/meminfo": "MemTotal:       1000 kB\nMemFree: 1 kB\n"], 1_024_000),
    (
      [
        "/proc/meminfo": "MemTotal: 1000 kB\n", "/proc/self/cgroup": "0::/a/b\n",
        "/sys/fs/cgroup/a/memory.max": "5000\n", "/sys/fs/cgroup/a/b/memory.max": "max\n",
      ], 5000
    ),
    (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "7000\n"], 7000),
    (
      [
        "/proc/meminfo": "MemTotal: 1000 kB\n", "/proc/self/cgroup": "3:cpu,memory:/x\n1:name=systemd:/\n",
        "/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "6000\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
      ], 6000
    ),
    ([:], 0),
  ])
  func `the smallest memory limit applies`(files: [String: String], bytes: Int) {
    #expect(MemoryLimit.bytes { files[$0] } == bytes)
  }
}
