// A real daemon on brokers that stand in for Kafka's: killed and restarted while feeds are followed and written.

import assert from 'node:assert/strict';
import test from 'node:test';
import { FeedStore, WriteFailed } from '../src/index.js';
import { Cluster, until } from './support/daemon.mjs';
import { Random, seed } from './support/random.mjs';
import { slice } from './support/stream-server.mjs';

const plain = (value) => JSON.parse(JSON.stringify(value));
const items = Array.from({ length: 20 }, (_, n) => ({ id: `i${n}`, kind: 'k', data: { n } }));
const isLive = ({ standing }) => standing.name === 'live';

for (const transport of ['stream', 'poll']) {
  test(`feeds and windows go on when the daemon is killed and restarted, with the transport ${transport}`, () => followThroughKills(transport));
  test(`another instance takes over the feeds of one that is killed, with the transport ${transport}`, () => followToAnother(transport));
}

async function followThroughKills(transport) {
  const random = new Random(seed);
  const cluster = await Cluster.start();
  let daemon = await cluster.daemon();
  const { url } = daemon;
  const { port } = new URL(url);
  const store = new FeedStore(url, { transport });
  try {
    const all = store.feed('news');
    const first = store.feed('news', { first: 5 });
    const ends = [all, first].map((feed) => feed.subscribe(() => {}));
    await all.write({ op: 'feed.replace', sections: [{ id: 's', items }] });
    for (const feed of [all, first]) await until(feed, (view) => view.exists && isLive(view), 'the feed');
    for (let life = 1; life < 4; life++) {
      const before = all.view;
      await daemon.kill();
      await until(all, ({ standing }) => standing.reason === 'disconnected', 'the end of the connection');
      assert.equal(all.view.sections, before.sections);
      const written = all.write({ op: 'item.delete', item: 'i0' });
      assert.equal(all.view.item('i0'), undefined);
      await assert.rejects(written, WriteFailed);
      assert.equal(all.view.item('i0'), before.item('i0'), 'it is taken back');
      daemon = await cluster.daemon({ 'http.port': port });
      for (const feed of [all, first]) await until(feed, isLive, 'the feed again');
      assert.equal(all.view.section('s'), before.section('s'));
      const id = `i${1 + random.below(19)}`;
      const events = [{ op: 'item.patch', item: id, data: { life } }, { op: 'item.move', item: id, at: 'first' }];
      const write = all.write(events);
      assert.deepEqual([all.view.item(id).data.life, all.view.item(id).isPending, first.view.item(id)?.isPending ?? true], [life, true, true]);
      const { revision } = await write;
      for (const feed of [all, first]) {
        const view = await until(feed, (it) => it.revision >= revision && !it.isPending, 'the write');
        assert.deepEqual(view.sections[0].items[0].data.life, life);
      }
      assert.equal(all.view.item('i0'), before.item('i0'));
      const now = plain(all.view.sections);
      assert.deepEqual(plain(first.view.sections), plain(slice(now, { first: 5 })));
    }
    for (const end of ends) end();
  } finally {
    store.close();
    await daemon.kill();
    cluster.close();
  }
}

/** Until the client notices the end of an instance, its feeds are live and their writes fail. */
async function writeOnceLive(feed, event) {
  for (let isWritten = false; !isWritten;) {
    await until(feed, isLive, `${feed.id} at the other instance`);
    isWritten = await feed.write(event, { wait: 0 }).then(() => true, (error) => {
      assert.ok(error instanceof WriteFailed, error);
      return false;
    });
  }
}

async function followToAnother(transport) {
  const cluster = await Cluster.start();
  const daemons = [await cluster.daemon(), await cluster.daemon()];
  const store = new FeedStore(daemons.map(({ url }) => url), { transport });
  try {
    const feeds = Array.from({ length: 12 }, (_, n) => store.feed(`f${n}`));
    const ends = feeds.map((feed) => feed.subscribe(() => {}));
    const event = (data) => ({ op: 'item.upsert', item: 'a', section: 's', data });
    await Promise.all(feeds.map((feed) => feed.write(event(1), { wait: 0 })));
    for (const feed of feeds) await until(feed, (view) => isLive(view) && view.item('a')?.data === 1, `${feed.id} with the item`);
    const before = feeds.map(({ view }) => view.item('a'));
    await daemons[0].kill();
    await Promise.all(feeds.map((feed) => writeOnceLive(feed, event(2))));
    for (const feed of feeds) await until(feed, (view) => isLive(view) && view.item('a')?.data === 2 && !view.isPending, `${feed.id} with the change`);
    assert.ok(before.every((item) => item.data === 1));
    for (const end of ends) end();
  } finally {
    store.close();
    for (const daemon of daemons) await daemon.kill();
    cluster.close();
  }
}
