/// Recognises keys with secret values by their names.
public enum SecretKey {
  /// Whether a key's value is hidden in messages and listings: secrets, and values derived from them.
  public static func isMasked(_ key: String) -> Bool {
    let key = "." + key.lowercased()
    return isSecret(key) || key.contains(".sasl.") || key.contains(".ssl.key")
  }

  /// Whether a key's value is a secret, so that a file that contains it must not be readable by other users.
  public static func isSecret(_ key: String) -> Bool {
    let key = "." + key.lowercased()
    let last = key.split(separator: ".").last ?? ""
    return ["password", "secret", "token"].contains(last) || last.hasSuffix("password")
      || key.contains("jaas")
      || key.hasSuffix(".key.pem") || key.hasSuffix(".sasl.oauthbearer.config")
  }
}
