/** A store whose views are set by a test, at the moment that it chooses. */
export class FakeStore {
  feeds = [];
  /** What was written, with the functions that answer. */
  writes = [];

  constructor(view) { this.view = view; }

  feed(id, window = null) {
    const feed = {
      id,
      window,
      view: this.view,
      listeners: new Set(),
      show(next) { feed.window = next; },
      subscribe(listener) {
        feed.listeners.add(listener);
        return () => feed.listeners.delete(listener);
      },
      write: (events) => new Promise((resolve, reject) => { this.writes.push({ events, resolve, reject }); }),
    };
    this.feeds.push(feed);
    return feed;
  }

  get listenerCount() { return this.feeds.reduce((sum, feed) => sum + feed.listeners.size, 0); }

  publish(view, kind = 'changed') {
    this.view = view;
    for (const feed of this.feeds) {
      feed.view = view;
      for (const listener of feed.listeners) listener({ kind, view });
    }
  }
}

/** A view of one section, whose items have the given numbers as data. Those that are equal in a previous view are kept. */
export function viewOf(numbers, { previous, from = 0, of = numbers.length, revision = (previous?.revision ?? 0) + 1 } = {}) {
  const items = numbers.map((data, at) => {
    const kept = previous?.sections[0].items[at];
    return kept?.data === data ? kept : { id: `i${from + at}`, kind: '', section: 's', data, isPending: false };
  });
  const section = { id: 's', data: null, items, from, of, isPending: false };
  return {
    feed: 'f',
    standing: { name: 'live' },
    exists: true,
    revision,
    sections: [section],
    isPending: false,
    item: (id) => items.find((item) => item.id === id),
    section: (id) => (id === 's' ? section : undefined),
  };
}
