// Views that are stored, and shown at the next start.

import assert from 'node:assert/strict';
import test from 'node:test';
// It is loaded on demand; here it is there at once.
import '../src/persist.js';
import { FakeIndexedDB } from './support/indexed-db.mjs';
import { idsOf, Scene, sectionsOf } from './support/scene.mjs';

let visits = 0;

/** A page that is opened: it shows feeds, and is left after the next time that views are stored. */
async function visit(indexedDB, persist, { feeds = ['f'], during = () => {}, ...options } = {}) {
  const time = ++visits;
  const scene = new Scene({ page: { indexedDB }, persist, now: () => time, ...options });
  for (const id of feeds) if (id !== 'f') scene.server.publish(id, sectionsOf(1));
  scene.server.isDown = options.isDown;
  const heard = feeds.map((id) => scene.listen(scene.store.feed(id)));
  // The database answers in microtasks.
  const settled = () => new Promise((resolve) => { setImmediate(resolve); });
  await settled();
  await scene.pass();
  const shown = heard.map(({ feed: { view } }) => [view.standing.name, idsOf(view).length]);
  const asked = scene.asked.flatMap(([, { feeds: list, add }]) => (list ?? add).map(({ epoch, revision }) => [epoch, revision]));
  await during(scene);
  await settled();
  await scene.pass(10_100);
  await settled();
  await scene.close();
  await settled();
  return { shown, asked, stored: [...indexedDB.stored.values()] };
}

test('the last view is shown as stale at the next start, and the connection continues from it', async () => {
  const indexedDB = new FakeIndexedDB();
  const first = await visit(indexedDB, { feeds: ['f'] }, { feeds: ['f', 'other'] });
  assert.deepEqual(first.asked, [[undefined, undefined], [undefined, undefined]]);
  assert.deepEqual(first.stored.map(({ text }) => JSON.parse(text).feed), ['f']);
  const down = await visit(indexedDB, { feeds: (id) => id === 'f' }, { isDown: true });
  assert.deepEqual(down.shown, [['stale', 5]]);
  const again = await visit(indexedDB, { feeds: ['f'] });
  assert.deepEqual([again.shown, again.asked], [[['live', 5]], [['t/0', 1]]]);
});

test('views are of one user, and what other users of these URLs have is dropped', async () => {
  const indexedDB = new FakeIndexedDB();
  await visit(indexedDB, { feeds: ['f'], user: 'ann' });
  const other = await visit(indexedDB, { feeds: ['f'], user: 'ben' });
  assert.deepEqual([other.asked, other.stored.map(({ user }) => user)], [[[undefined, undefined]], ['ben']]);
  // The name of `share` is that of the user; other URLs are another matter.
  const elsewhere = await visit(indexedDB, { feeds: ['f'] }, { share: 'ann', urls: ['http://b'] });
  assert.deepEqual(elsewhere.stored.map(({ user }) => user), ['ben', 'ann']);
});

test('what may not be read any more, or does not exist, is forgotten', async () => {
  for (const during of [
    (scene) => {
      scene.server.rightsOf = () => ({ mayRead: () => false, sub: 'a' });
      scene.server.expire();
    },
    (scene) => scene.server.publish('f', undefined),
  ]) {
    const indexedDB = new FakeIndexedDB();
    assert.equal((await visit(indexedDB, { feeds: ['f'] })).stored.length, 1);
    assert.deepEqual((await visit(indexedDB, { feeds: ['f'] }, { during })).stored, []);
  }
});

test('the oldest views go when there are too many, or they are too large', async () => {
  const feeds = ['a', 'b', 'c'];
  const lengths = (await visit(new FakeIndexedDB(), { feeds }, { feeds })).stored.map(({ text }) => text.length);
  for (const [limits, most] of [[{ views: 2 }, 2], [{ characters: lengths[0] + lengths[1] }, 2], [{ characters: lengths[0] - 1 }, 0]]) {
    const indexedDB = new FakeIndexedDB();
    for (const id of feeds) await visit(indexedDB, { feeds, ...limits }, { feeds: [id] });
    assert.deepEqual([...indexedDB.stored.values()].map(({ text }) => JSON.parse(text).feed), feeds.slice(3 - most), JSON.stringify(limits));
  }
});

test('a page whose database cannot be opened, or has something else, still shows feeds', async () => {
  const broken = new FakeIndexedDB();
  broken.open = () => {
    const request = {};
    queueMicrotask(() => request.onerror());
    return request;
  };
  assert.deepEqual((await visit(broken, { feeds: ['f'] })).shown, [['live', 5]]);
  const damaged = new FakeIndexedDB();
  const [{ key }] = (await visit(damaged, { feeds: ['f'] })).stored;
  for (const text of ['', '{}', '{"feed":"g"}']) {
    damaged.stored.set(key, { ...damaged.stored.get(key), text });
    assert.deepEqual((await visit(damaged, { feeds: ['f'] })).shown, [['live', 5]]);
  }
});
