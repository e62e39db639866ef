// FeedStore and Feed: what is asked for, what is told, and when.

import assert from 'node:assert/strict';
import test from 'node:test';
import { FeedStore } from '../src/index.js';
import { idsOf, Scene, sectionsOf } from './support/scene.mjs';

test('a feed is live, and tells what changes', async () => {
  const scene = new Scene();
  const feed = scene.store.feed('f');
  assert.deepEqual([feed.view.standing, feed.view.exists, feed.view.revision], [{ name: 'connecting' }, false, null]);
  const { updates } = scene.listen(feed);
  await scene.pass();
  assert.equal(updates.at(-1).view.standing.name, 'live');
  assert.ok(updates.some(({ kind }) => kind === 'state'));
  const before = feed.view;
  assert.deepEqual(idsOf(before), ['0/0', '0/1', '0/2', '1/0', '1/1']);
  assert.deepEqual({ ...before.item('0/1') }, { id: '0/1', section: 's0', kind: 'k', data: { n: 1 }, dataText: '{"n":1}', expires: undefined, refs: undefined, isPending: false });
  const { items: _items, ...section } = before.section('s0');
  assert.deepEqual(section, { id: 's0', data: { title: 0 }, dataText: '{"title":0}', order: undefined, keep: undefined, from: 0, of: 3, isPending: false });
  updates.length = 0;
  scene.server.change(([first]) => {
    first.items[1].data = { n: 9 };
    first.items.pop();
  });
  await scene.pass();
  assert.deepEqual(updates.map(({ kind }) => kind), ['changed']);
  const [{ change, view }] = updates;
  assert.deepEqual(change.items.delete, [{ id: '0/2', section: 's0', index: 2 }]);
  assert.deepEqual(change.items.reconfigure, [{ id: '0/1', section: 's0', index: 1 }]);
  assert.equal(view, feed.view);
  assert.deepEqual([view.revision, view.epoch, view.through], [2, 't/0', { t: 2 }]);
  assert.equal(view.item('0/0'), before.item('0/0'));
  assert.equal(view.section('s1'), before.section('s1'));
  assert.notEqual(view.section('s0'), before.section('s0'));
  assert.deepEqual(before.item('0/1').data, { n: 1 });
  await scene.close();
});

test('the connection ends with the last listener, and what is resumed is not sent again', async () => {
  const scene = new Scene();
  const feed = scene.store.feed('f');
  const first = scene.listen(feed);
  await scene.pass();
  first.end();
  const view = feed.view;
  await scene.pass();
  assert.equal(scene.server.streamCount, 0);
  assert.deepEqual(feed.view.standing, { name: 'stale', reason: 'disconnected' });
  assert.deepEqual(scene.asked.length, 1);
  const bytes = scene.server.sentBytes;
  const again = scene.listen(feed);
  await scene.pass();
  assert.deepEqual(scene.asked, [['POST', { feeds: [{ feed: 'f', view: '2', epoch: 't/0', revision: 1 }] }]]);
  assert.ok(scene.server.sentBytes - bytes < 200);
  assert.equal(again.updates[0].kind, 'state');
  assert.equal(feed.view.sections, view.sections);
  assert.equal(feed.view.standing.name, 'live');
  // Left and back in one turn, as in React's strict mode.
  again.end();
  const last = scene.listen(feed);
  await scene.pass();
  assert.deepEqual(scene.asked, []);
  last.end();
  await scene.close();
});

test('one part of a program shows what another one leaves in the same turn', async () => {
  const scene = new Scene();
  // They do not know of each other, as long as none is followed.
  const [before, after] = [scene.store.feed('f'), scene.store.feed('f')];
  const { end } = scene.listen(before);
  await scene.pass();
  end();
  scene.listen(after);
  await scene.pass();
  assert.deepEqual([idsOf(after.view).length, after.view.standing.name], [5, 'live']);
  await scene.close();
});

test('each wait has a random part', async () => {
  const scene = new Scene({ random: () => 1 });
  const { feed } = scene.listen(scene.store.feed('f'));
  const fetch = scene.server.fetch;
  const unavailable = (after) => () => Promise.resolve(new Response('{}', { status: 503, headers: { 'retry-after': after } }));
  const cases = [['after 5 s', fetch, 50], ['a refusal', unavailable(''), 3750], ['another', unavailable(''), 7500], ['Retry-After', unavailable('300'), 375_000], ['a short one', unavailable('1'), 30_000]];
  await scene.pass(6000);
  for (const [name, answer, expected] of cases) {
    scene.server.fetch = answer;
    if (answer === fetch) scene.server.cut();
    await scene.clock.advance(answer === fetch ? 2 : feed.view.standing.until - scene.clock.time);
    assert.ok(Math.abs(feed.view.standing.until - scene.clock.time - expected) < 2, `${name}: ${feed.view.standing.until - scene.clock.time}`);
  }
  await scene.close();
});

test('a standing names the likely cause and the remedy', async () => {
  const location = { origin: 'https://app.example' };
  const page = { document: { visibilityState: 'visible' }, location, addEventListener() {}, removeEventListener() {} };
  const broken = () => Promise.reject(new TypeError('Failed to fetch'));
  const without = async () => ({ ok: true, status: 200, headers: new Headers({ 'content-type': 'text/event-stream' }), body: null });
  const cases = [
    [broken, {}, 'disconnected', /^http:\/\/a cannot be reached$/],
    [broken, { page }, 'disconnected', /cannot be reached; if the daemon runs, list https:\/\/app\.example in its http\.allowedOrigins$/],
    [broken, { page: { ...page, location: { origin: 'http://a' } } }, 'disconnected', /reached$/],
    [() => new Promise(() => {}), { page }, 'disconnected', /^http:\/\/a has not answered for 10 s; a browser opens at most six connections/],
    [without, {}, 'unavailable', /give one that has/],
  ];
  for (const [fetch, options, reason, detail] of cases) {
    const scene = new Scene({ fetch, ...options });
    const { feed } = scene.listen(scene.store.feed('f'));
    await scene.clock.advance(10_000);
    assert.deepEqual([feed.view.standing.name, feed.view.standing.reason], ['stale', reason]);
    assert.match(feed.view.standing.detail, detail);
    await scene.close();
  }
});

test('a page that wakes up tries at once', async () => {
  const listeners = new Map();
  const page = {
    document: { visibilityState: 'hidden' }, addEventListener: (name, run) => listeners.set(name, run), removeEventListener: (name) => listeners.delete(name),
  };
  const scene = new Scene({ page });
  const { feed } = scene.listen(scene.store.feed('f'));
  for (const [type, visibilityState, name] of [['visibilitychange', 'hidden', 'stale'], ['visibilitychange', 'visible', 'live'], ['online', 'hidden', 'live'], ['pageshow', 'visible', 'live']]) {
    scene.server.isDown = true;
    scene.server.cut();
    await scene.clock.advance(100);
    scene.server.isDown = false;
    page.document.visibilityState = visibilityState;
    listeners.get(type)({ type });
    await scene.clock.advance(100);
    assert.equal(feed.view.standing.name, name, type);
  }
  await scene.close();
  assert.equal(listeners.size, 0);
});

test('a store says when its standing changes', async () => {
  const scene = new Scene();
  const seen = [];
  const end = scene.store.subscribe(() => seen.push(scene.store.standing));
  assert.deepEqual(scene.store.standing, { name: 'live' });
  const { end: leave } = scene.listen(scene.store.feed('f'));
  await scene.pass();
  assert.equal(scene.store.standing, scene.store.standing);
  scene.server.leave('f', '');
  await scene.pass();
  leave();
  await scene.pass();
  assert.deepEqual(seen.map(({ name }) => name), ['connecting', 'catching-up', 'live', 'stale', 'live']);
  end();
  await scene.close();
});

test('nothing of one user is shown to another one, or written for them', async () => {
  const tokenOf = (sub) => `e30.${btoa(JSON.stringify({ sub }))}.e30`;
  const scene = new Scene();
  scene.server.rightsOf = (token) => ({ sub: token, mayRead: () => true });
  await scene.store.setToken(tokenOf('ann'));
  const { feed, updates } = scene.listen(scene.store.feed('f'));
  await scene.pass();
  scene.server.onWrite = () => new Promise(() => {});
  const writes = Promise.allSettled([1, 2].map((n) => feed.write({ op: 'item.patch', item: '0/0', data: { n } })));
  await scene.pass();
  assert.ok(feed.view.isPending);
  await scene.store.setToken(tokenOf('bob'));
  assert.deepEqual([feed.view.exists, feed.view.isPending, feed.view.sections], [false, false, []]);
  assert.ok(updates.some(({ kind, view }) => kind === 'state' && !view.exists));
  await scene.pass();
  assert.deepEqual((await writes).map(({ reason }) => [reason.name, /nothing was written/.test(reason.message)]), [['WriteFailed', false], ['WriteFailed', true]]);
  assert.deepEqual([feed.view.standing.name, idsOf(feed.view).length], ['live', 5]);
  await scene.close();
});

test('a slow iteration gets the newest state in place of what it missed', async () => {
  const scene = new Scene();
  const feed = scene.store.feed('f');
  const iteration = feed[Symbol.asyncIterator]();
  const kinds = [];
  const next = async () => {
    const { value } = await iteration.next();
    kinds.push(value.kind);
    return value;
  };
  let first = next();
  await scene.pass();
  while ((await first).view.standing.name !== 'live') first = next();
  for (let round = 0; round < 3; round++) {
    scene.server.change(([section]) => section.items.reverse());
    await scene.pass();
  }
  kinds.length = 0;
  for (let round = 0; round < 3; round++) await next();
  assert.deepEqual(kinds, ['changed', 'changed', 'changed']);
  for (let round = 0; round < 150; round++) scene.server.change(([section]) => section.items.reverse());
  await scene.pass();
  const { kind, view } = await next();
  assert.equal(kind, 'state');
  assert.ok(view.revision > 100);
  while (feed.view !== (await next()).view);
  assert.ok(kinds.length < 60, `${kinds.length}`);
  const last = iteration.next();
  await iteration.return();
  assert.deepEqual(await last, { done: true, value: undefined });
  assert.deepEqual(await iteration.next(), { done: true, value: undefined });
  await scene.pass();
  assert.equal(scene.server.streamCount, 0);
  await scene.close();
});

test('a loop over updates ends when the store is closed', async () => {
  const scene = new Scene();
  const seen = [];
  const loop = (async () => { for await (const { kind } of scene.store.feed('f')) seen.push(kind); })();
  await scene.pass();
  await scene.close();
  await loop;
  assert.ok(seen.includes('state'));
  assert.throws(() => scene.store.feed('f').subscribe(() => {}), /closed/);
});

test('a listener may leave while it is called', async () => {
  const scene = new Scene();
  const feed = scene.store.feed('f');
  const seen = [];
  const end = feed.subscribe(({ kind }) => {
    seen.push(kind);
    if (kind === 'state') end();
  });
  const other = scene.listen(feed);
  await scene.pass();
  scene.server.change(([section]) => section.items.pop());
  await scene.pass();
  assert.equal(seen.at(-1), 'state');
  assert.equal(other.updates.at(-1).kind, 'changed');
  await scene.close();
});

test('wrong arguments are refused, and the message names them', () => {
  assert.throws(() => new FeedStore('nowhere'), /"nowhere" is not the URL of a daemon/);
  assert.throws(() => new FeedStore([]), /URL/);
  assert.throws(() => new FeedStore('ftp://x'), /ftp/);
  assert.throws(() => new FeedStore('http://a').feed(7), /7/);
});
