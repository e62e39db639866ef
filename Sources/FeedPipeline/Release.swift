/// What this release of FeedStore is called.
public enum Release {
  /// By Semantic Versioning.
  public static let version = "0.1.0"
}
