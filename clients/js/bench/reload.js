import { FeedStore } from '../src/index.js';
import { BenchFeed } from './feed.js';

const chunkBytes = 65536;

/**
 * Milliseconds from the bytes of a reload to the view that a listener gets; each time other items have changed.
 * @returns The first one, for which code is not compiled yet, and the median and the longest of all others.
 */
export async function measureReloads(items, times = 31) {
  const feed = new BenchFeed(items);
  let stream;
  // In place of a connection.
  const fetch = async () => new Response(new ReadableStream({ start(controller) { stream = controller; } }), {
    headers: { 'Content-Type': 'text/event-stream' },
  });
  const store = new FeedStore('http://bench.invalid', { fetch, share: false });
  let arrived;
  store.feed('bench').subscribe(({ view }) => { if (view.revision === feed.revision) arrived?.(view); });
  while (!stream) await new Promise((resolve) => { setTimeout(resolve, 1); });
  const utf8 = new TextEncoder();
  const send = (bytes) => {
    for (let at = 0; at < bytes.length; at += chunkBytes) stream.enqueue(bytes.subarray(at, at + chunkBytes));
  };
  send(utf8.encode('event: stream\ndata: {"stream":"bench"}\n\n'));
  const found = [];
  let bytes;
  for (let time = 0; time < times; time++) {
    bytes = utf8.encode(`id: bench/0@${feed.revision + 1}\ndata: ${feed.reload(items / 10)}\n\n`);
    const view = new Promise((resolve) => { arrived = resolve; });
    const start = performance.now();
    send(bytes);
    await view;
    found.push(performance.now() - start);
  }
  store.close();
  const first = found.shift();
  found.sort((a, b) => a - b);
  return { items, bytes: bytes.length, first, median: found[found.length >> 1], longest: found.at(-1) };
}
