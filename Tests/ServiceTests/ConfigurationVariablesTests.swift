import Service
import Testing

struct ConfigurationVariablesTests {
  private let variables = ConfigurationVariables(
    prefix: "APP_",
    keys: [
      "coalesce.window", "coalesce.idleWindow", "limits.maxIdBytes", "http.tls.certificateFile",
      "kafka.onLostInput",
    ],
    passedSection: "kafka",
    isPassed: { ["group.id", "bootstrap.servers"].contains($0) },
    passedNames: ["group.id", "bootstrap.servers"],
    reserved: ["APP_TEST_", "APP_COMMIT"]
  )

  private func apply(_ environment: [String: String]) -> ([String: ConfigurationEntry], [String]) {
    var document = ConfigurationDocument()
    let unknown = variables.apply(environment, to: &document)
    return (document.entries, unknown.map(\.description))
  }

  @Test func `a key's variable has the key's words in capitals`() {
    #expect(
      variables.keys.map(variables.name) == [
        "APP_COALESCE_WINDOW", "APP_COALESCE_IDLE_WINDOW", "APP_LIMITS_MAX_ID_BYTES",
        "APP_HTTP_TLS_CERTIFICATE_FILE", "APP_KAFKA_ON_LOST_INPUT",
      ]
    )
  }

  @Test func `variables set keys and properties in the passed-on section`() throws {
    let (entries, unknown) = apply([
      "APP_COALESCE_IDLE_WINDOW": "5", "APP_KAFKA_GROUP_ID": "007", "APP_KAFKA_ON_LOST_INPUT": "fail",
      "HOME": "/",
      "APP_TEST_SEED": "1", "APP_COMMIT": "abc", "APP_COALESCE_WINDOW": "",
    ])
    #expect(unknown == [])
    #expect(entries.keys.sorted() == ["coalesce.idleWindow", "kafka.group.id", "kafka.onLostInput"])
    #expect(entries["coalesce.idleWindow"]?.value == .integer(5))
    #expect(entries["coalesce.idleWindow"]?.place == "APP_COALESCE_IDLE_WINDOW")
    var document = ConfigurationDocument()
    _ = variables.apply(["APP_KAFKA_GROUP_ID": "007"], to: &document)
    var reader = ConfigurationReader(document)
    #expect(try reader.pairs(prefix: "kafka.") == [ConfigurationPair(name: "group.id", value: "007")])
  }

  @Test func `a variable that sets nothing is reported, with the nearest name and without its value`() {
    let (entries, unknown) = apply([
      "APP_COALESCE_WINDW": "hunter2", "APP_KAFKA_GROUPID": "hunter2", "APP_ZZZ": "hunter2",
    ])
    #expect(entries.isEmpty)
    #expect(
      unknown == [
        "the environment variable APP_COALESCE_WINDW sets nothing; did you mean APP_COALESCE_WINDOW?",
        "the environment variable APP_KAFKA_GROUPID sets nothing; did you mean APP_KAFKA_GROUP_ID?",
        "the environment variable APP_ZZZ sets nothing; remove it, or correct its name",
      ]
    )
  }
}
