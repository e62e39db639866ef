import FeedStoreClient
import Foundation

// Shows items with stars. A tap, which is a line with an item's id here, changes its star: at once, with … until the daemon has
// published it.
//
//     swift run TapAStar http://127.0.0.1:8321 news

guard CommandLine.arguments.count == 3, let url = URL(string: CommandLine.arguments[1]) else {
  print("usage: TapAStar URL FEED")
  exit(2)
}
let feed = FeedStore(url).feed(FeedID(CommandLine.arguments[2]))

@Sendable func write(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
@Sendable func isStarred(_ item: FeedItem) -> Bool { item.data["starred"]?.bool ?? false }

Thread.detachNewThread {
  while let line = readLine() {
    guard let item = feed.view.item(ItemID(line)) else {
      write("there is no \(line)")
      continue
    }
    Task {
      do { try await feed.write(.patch(item.id, ["starred": .bool(!isStarred(item))])) } catch {
        write("\(error)")
      }
    }
  }
}

for await update in feed.updates {
  for item in update.view.sections.flatMap(\.items) {
    let title = item.data["title"]?.string ?? item.id.rawValue
    write("\(isStarred(item) ? "★" : "☆") \(title)\(item.isPending ? " …" : "")")
  }
  write("— \(update.view.standing)")
}
