import FuzzTargets
import Glibc

/// The target that `FEEDSTORE_FUZZ_TARGET` names.
private let target: FuzzTarget = {
  let name = getenv("FEEDSTORE_FUZZ_TARGET").map { String(cString: $0) } ?? ""
  guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
    let names = FuzzTarget.all.map(\.name).joined(separator: ", ")
    print("there is no fuzz target '\(name)'; there are: \(names)")
    exit(2)
  }
  return target
}()

private let mutator = InputMutator(target, seeds: ((try? FuzzCorpus.seeds(of: target)) ?? []).map(\.bytes))

/// What libFuzzer calls with each input. A property that does not hold ends the process, so that the input is kept.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  do throws(FuzzFailure) {
    try target.check(Array(UnsafeBufferPointer(start: bytes, count: count)))
  } catch {
    fatalError("\(target.name): \(error)")
  }
  return 0
}

/// libFuzzer's own way to change an input.
@_silgen_name("LLVMFuzzerMutate")
private func mutateBlindly(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ maxCount: Int) -> Int

/// What libFuzzer calls to change an input: half of the changes keep more of its structure than its own.
@_cdecl("LLVMFuzzerCustomMutator")
public func mutateInput(
  _ bytes: UnsafeMutablePointer<UInt8>,
  _ count: Int,
  _ maxCount: Int,
  _ seed: CUnsignedInt
) -> Int {
  if seed % 2 == 0 { return mutateBlindly(bytes, count, maxCount) }
  let input = Array(UnsafeBufferPointer(start: bytes, count: count))
  let changed = mutator.changed(input, seed: UInt64(seed)).prefix(maxCount)
  for (place, byte) in changed.enumerated() { bytes[place] = byte }
  return changed.count
}
