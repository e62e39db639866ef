/// Which keys have values that are not for everybody, told by their names.
public enum SecretKey {
  /// Whether a key's value is left out of messages and listings: secrets, and what is said about them.
  public static func isMasked(_ key: String) -> Bool {
    let key = "." + key.lowercased()
    return isSecret(key) || key.contains(".sasl.") || key.contains(".ssl.key")
  }

  /// Whether a key's value is a secret, so that a file that has it may not be read by everybody.
  public static func isSecret(_ key: String) -> Bool {
    let key = "." + key.lowercased()
    let last = key.split(separator: ".").last ?? ""
    return ["password", "secret", "token"].contains(last) || last.hasSuffix("password")
      || key.contains("jaas")
      || key.hasSuffix(".key.pem") || key.hasSuffix(".sasl.oauthbearer.config")
  }
}
