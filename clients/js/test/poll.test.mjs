// The transport `poll`: a store that asks for changes with single requests behaves as one with a stream.

import assert from 'node:assert/strict';
import test from 'node:test';
import { FeedStore } from '../src/index.js';
import { idsOf, Scene, sectionsOf } from './support/scene.mjs';

const sceneOf = (options) => new Scene({ transport: 'poll', ...options });
/** The queries of the requests since the last call. */
const askedOf = ({ servers }) => servers.flatMap(({ requests }) => requests.splice(0).map(({ url }) => decodeURIComponent(url.split('?')[1])));

test('a feed is live, and tells what changes', async () => {
  const scene = sceneOf();
  const feed = scene.store.feed('f');
  const { updates } = scene.listen(feed);
  await scene.pass();
  assert.equal(feed.view.standing.name, 'live');
  assert.deepEqual(idsOf(feed.view), ['0/0', '0/1', '0/2', '1/0', '1/1']);
  assert.deepEqual(askedOf(scene), ['after=', 'after=t/0@1']);
  updates.length = 0;
  scene.server.change(([first]) => {
    first.items[1].data = { n: 9 };
    first.items.pop();
  });
  await scene.pass();
  assert.deepEqual(updates.map(({ kind }) => kind), ['changed']);
  assert.deepEqual(feed.view.item('0/1').data, { n: 9 });
  assert.deepEqual(askedOf(scene), ['after=t/0@2']);
  // Empty answers name another address.
  await scene.pass(65_000);
  assert.deepEqual([askedOf(scene), feed.view.standing.name], [['after=t/0@2&cursor=1', 'after=t/0@2&cursor=2'], 'live']);
  await scene.close();
});

test('windows, several feeds, and what is resumed', async () => {
  const scene = sceneOf();
  scene.server.publish('g h', sectionsOf(2));
  const [first, other] = [scene.store.feed('f', { first: 1 }), scene.store.feed('g h', { sections: ['s0'], from: 1, count: 1 })];
  const [one, two] = [first, other].map((feed) => scene.listen(feed));
  await scene.pass();
  assert.deepEqual([idsOf(first.view), idsOf(other.view)], [['0/0', '1/0'], ['0/1']]);
  assert.equal(first.view.section('s0').of, 3);
  scene.server.change(([section]) => section.items.push({ id: 'new', kind: 'k', data: 1 }));
  await scene.pass();
  assert.equal(first.view.section('s0').of, 4);
  first.show({ first: 2 });
  await scene.pass();
  assert.deepEqual(idsOf(first.view), ['0/0', '0/1', '1/0', '1/1']);
  assert.equal(scene.store.standing.name, 'live');
  one.end();
  two.end();
  await scene.pass();
  askedOf(scene);
  scene.listen(first);
  await scene.pass();
  assert.deepEqual(askedOf(scene), ['after=t/0@2&first=2&wait=0', 'after=t/0@2&first=2']);
  assert.equal(first.view.standing.name, 'live');
  await scene.close();
});

test('a feed that does not exist, is created, deleted and created again', async () => {
  const scene = sceneOf({ sections: null });
  const feed = scene.store.feed('f');
  scene.listen(feed);
  await scene.pass();
  assert.deepEqual([feed.view.exists, feed.view.standing.name], [false, 'live']);
  scene.server.publish('f', sectionsOf(1));
  await scene.pass(5000);
  assert.deepEqual([feed.view.exists, feed.view.standing.name], [true, 'live']);
  scene.server.publish('f', undefined);
  await scene.pass();
  assert.equal(feed.view.exists, false);
  scene.server.publish('f', sectionsOf(2), { epoch: 't/1', revision: 1 });
  await scene.pass(5000);
  assert.deepEqual([idsOf(feed.view), feed.view.standing.name], [['0/0', '0/1'], 'live']);
  await scene.close();
});

test('a server that is down, a version that is not known, and an invalid window', async () => {
  const scene = sceneOf();
  const [feed, wrong] = [scene.store.feed('f'), scene.store.feed('f', { first: 10_001 })];
  for (const each of [feed, wrong]) scene.listen(each);
  await scene.pass();
  assert.deepEqual([feed.view.standing.name, wrong.view.standing.reason], ['live', 'bad-request']);
  scene.server.isDown = true;
  scene.server.change(([section]) => section.items.pop());
  await scene.pass(100);
  assert.equal(feed.view.standing.reason, 'disconnected');
  scene.server.publish('f', sectionsOf(1), { epoch: 't/9', revision: 1 });
  scene.server.isDown = false;
  await scene.pass(10_000);
  assert.deepEqual([idsOf(feed.view), feed.view.standing.name], [['0/0'], 'live']);
  await scene.close();
});

test('another instance has the feed', async () => {
  const scene = sceneOf({ urls: ['http://a', 'http://b'], known: ['http://a'] });
  const feed = scene.store.feed('f');
  scene.listen(feed);
  await scene.pass();
  scene.servers[1].take('f', scene.server);
  scene.server.leave('f', 'http://b');
  scene.server.publish('f', sectionsOf(2));
  await scene.pass(20_000);
  scene.servers[1].change((sections) => sections[0].items.pop());
  await scene.pass(20_000);
  assert.deepEqual([feed.view.item('0/2'), feed.view.standing.name], [undefined, 'live']);
  await scene.close();
});

test('tokens: a newer one is used, and a feed may be forbidden', async () => {
  let token = 'a';
  const scene = sceneOf({ token: () => token });
  scene.server.publish('g', sectionsOf(1));
  let valid = 'a';
  scene.server.rightsOf = (shown) => (shown === valid ? { mayRead: (id) => shown === 'b' || id === 'f', sub: 'x' } : 'it has ended');
  const [feed, other] = [scene.store.feed('f'), scene.store.feed('g')];
  for (const each of [feed, other]) scene.listen(each);
  await scene.pass();
  assert.deepEqual([feed.view.standing.name, other.view.standing.reason], ['live', 'forbidden']);
  token = valid = 'b';
  scene.server.change(([section]) => section.items.pop());
  await scene.pass(10_000);
  assert.deepEqual([feed.view.standing.name, other.view.standing.name, feed.view.revision], ['live', 'live', 2]);
  await scene.close();
});

test('without a token, feeds that are not public are refused alone', async () => {
  const scene = sceneOf();
  const { fetch } = scene.server;
  const isRefused = new Set(['g']);
  scene.server.fetch = (url, request) => {
    const feed = /feeds\/(\w)\/changes/.exec(url)?.[1];
    return isRefused.has(feed) ? new Response('{"code":"token-needed","detail":"send a token"}', { status: 401 }) : fetch(url, request);
  };
  for (const id of ['g', 'h']) scene.server.publish(id, sectionsOf(1));
  const [feed, other, later] = ['f', 'g', 'h'].map((id) => scene.store.feed(id));
  for (const each of [feed, other]) scene.listen(each);
  await scene.pass();
  assert.deepEqual([feed.view.standing.name, other.view.standing.reason], ['live', 'forbidden']);
  isRefused.add('h');
  scene.listen(later);
  scene.server.change(([section]) => section.items.pop());
  await scene.pass(40_000);
  assert.deepEqual([feed.view.revision, feed.view.standing.name, later.view.standing.reason], [2, 'live', 'forbidden']);
  // Without any public feed, a token is needed.
  isRefused.add('f');
  await scene.pass(40_000);
  assert.equal(feed.view.standing.reason, 'token-needed');
  isRefused.clear();
  await scene.pass(60_000);
  assert.deepEqual([feed, other, later].map(({ view }) => view.standing.name), ['live', 'live', 'live']);
  await scene.close();
});

test('a request that has waited for a connection too long is sent again', async () => {
  const scene = sceneOf();
  const feed = scene.store.feed('f');
  const { fetch } = scene.server;
  let isBusy = true;
  scene.server.fetch = async (url, request) => {
    const { signal } = request;
    if (isBusy && !/after=(&|$)|wait=0/.test(url)) {
      scene.server.requests.push({ url });
      await new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason)); });
    }
    return fetch(url, request);
  };
  const { updates } = scene.listen(feed);
  await scene.pass(49_000);
  scene.server.change(([section]) => section.items.pop());
  updates.length = askedOf(scene).length = 0;
  await scene.pass(2000);
  assert.deepEqual([feed.view.revision, updates.map(({ kind }) => kind)], [2, ['changed']]);
  assert.deepEqual(askedOf(scene), ['after=t/0@1&wait=0', 'after=t/0@2']);
  // If there is no answer to that either, the stream ends.
  scene.server.isDown = true;
  await scene.pass(51_000);
  assert.equal(feed.view.standing.reason, 'disconnected');
  isBusy = scene.server.isDown = false;
  await scene.pass(40_000);
  assert.equal(feed.view.standing.name, 'live');
  await scene.close();
});

test('of feeds with one id, one is followed, and the view says so', async () => {
  const scene = sceneOf();
  const { fetch } = scene.server;
  scene.server.fetch = async (url, request) => {
    const response = await fetch(url, request);
    if (!url.endsWith('after=')) return response;
    const headers = { Link: '<?after=t%2F0%401&partition=2>; rel="next"', 'Feedstore-Partition': '2', 'Feedstore-Other-Partitions': '4, 5' };
    return new Response(await response.text(), { headers });
  };
  const feed = scene.store.feed('f');
  scene.listen(feed);
  await scene.pass();
  assert.deepEqual(askedOf(scene), ['after=', 'after=t/0@1&partition=2']);
  assert.match(feed.view.standing.detail, /partitions 2, 4, 5 have feeds of this id/);
  await scene.close();
});

test('a cache with an older version is noticed, said, and passed by, without a loop', async () => {
  const warned = [];
  const warn = console.warn;
  console.warn = (text) => warned.push(text);
  const scene = sceneOf();
  const { fetch } = scene.server;
  const kept = new Map();
  let count = 0;
  // It keeps the first state for good, and for a while answers each request for changes with older changes.
  let isFaulty = true;
  scene.server.fetch = async (url, request) => {
    count += 1;
    if (isFaulty && url.includes('t%2F0%402') && !url.includes('cursor')) {
      return new Response('{"feed":"f","mode":"diff"}\n', { headers: { Link: '<?after=t%2F0%402>; rel="next"' } });
    }
    if (!url.endsWith('changes?after=')) return fetch(url, request);
    if (!kept.has(url)) kept.set(url, await (await fetch(url, request)).text());
    return new Response(kept.get(url), { headers: { Link: '<?after=t%2F0%401>; rel="next"', 'Feedstore-Partition': '0' } });
  };
  const feed = scene.store.feed('f');
  const { updates } = scene.listen(feed);
  await scene.pass();
  scene.server.change(([section]) => section.items.pop());
  await scene.pass(200_000);
  assert.equal(feed.view.revision, 2);
  assert.ok(warned.length > 2 && warned[0].includes('a cache has answered with revision 2, which is not newer than 2'), warned[0]);
  assert.ok(updates.some(({ view: { standing } }) => standing.reason === 'must-refetch' && /a cache/.test(standing.detail)));
  // At most one each 30 s in the end.
  assert.ok(count < 50, String(count));
  isFaulty = false;
  scene.server.change(([section]) => section.items.pop());
  await scene.pass(40_000);
  assert.deepEqual([feed.view.revision, feed.view.standing.name], [3, 'live']);
  // The changes are not known any more, and the cache has an older state, which the client bypasses.
  warned.length = 0;
  scene.server.publish('f', sectionsOf(1), { epoch: 't/0', revision: 9 });
  scene.server.feeds.get('f').states.delete(3);
  await scene.pass(10_000);
  assert.deepEqual([idsOf(feed.view), warned.length, feed.view.standing.name], [['0/0'], 1, 'live']);
  console.warn = warn;
  await scene.close();
});

test('empty answers of a cache do not make the client ask without a pause', async () => {
  const scene = sceneOf();
  const { fetch } = scene.server;
  let count = 0;
  scene.server.fetch = async (url, request) => {
    count += 1;
    return url.endsWith('after=') ? fetch(url, request) : new Response('', { headers: { Link: '<?after=t%2F0%401>; rel="next"' } });
  };
  const feed = scene.store.feed('f');
  scene.listen(feed);
  await scene.pass(200_000);
  assert.ok(count > 6 && count < 25, String(count));
  assert.equal(feed.view.standing.name, 'live');
  await scene.close();
});

test('a transport has a name', () => {
  assert.throws(() => new FeedStore('http://a', { transport: 'carrier-pigeon' }), /transport is 'stream' or 'poll'/);
});
