#if os(watchOS)
  import WatchKit
#elseif canImport(UIKit)
  import UIKit
#elseif canImport(AppKit)
  import AppKit
#endif

extension ListPlan {
  /// Whether it may be animated: not if the user has asked for less motion.
  @MainActor func isAnimated(upTo maxChanges: Int) -> Bool {
    #if os(watchOS)
      let isMotionReduced = WKAccessibilityIsReduceMotionEnabled()
    #elseif canImport(UIKit)
      let isMotionReduced = UIAccessibility.isReduceMotionEnabled
    #elseif canImport(AppKit)
      let isMotionReduced = NSWorkspace.shared.accessibilityDisplayShouldReduceMotion
    #else
      let isMotionReduced = false
    #endif
    return !isReload && weight <= maxChanges && !isMotionReduced
  }
}
