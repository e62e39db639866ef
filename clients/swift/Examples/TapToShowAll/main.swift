import FeedStoreClient
import Foundation

// Shows the first five items of each section. A tap, which is Enter here, shows all, and another one five again.
//
//     swift run TapToShowAll http://127.0.0.1:8321 news

guard CommandLine.arguments.count == 3, let url = URL(string: CommandLine.arguments[1]) else {
  print("usage: TapToShowAll URL FEED")
  exit(2)
}
let feed = FeedStore(url).feed(FeedID(CommandLine.arguments[2]), .first(5))

Thread.detachNewThread {
  var showsAll = false
  while readLine() != nil {
    showsAll.toggle()
    feed.show(showsAll ? .all : .first(5))
  }
}

for await update in feed.updates {
  var lines = ["— \(update.view.standing)"]
  for section in update.view.sections {
    lines.append("\(section.id): \(section.items.count) of \(section.of)")
    lines += section.items.map { "  \($0.data["title"]?.string ?? $0.id.rawValue)" }
  }
  FileHandle.standardOutput.write(Data((lines.joined(separator: "\n") + "\n").utf8))
}
