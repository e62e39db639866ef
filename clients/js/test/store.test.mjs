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
  assert.deepEqual({ ...before.item('0/1') }, { id: '0/1', section: 's0', kind: 'k', data: { n: 1 }, dataText: '{"n":1}', isPending: false });
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

test('feeds of one turn are asked for in one request, and later ones are added to the stream', async () => {
  const scene = new Scene();
  for (const id of ['g', 'h', 'i']) scene.server.publish(id, sectionsOf(1));
  const all = ['f', 'g'].map((id) => scene.listen(scene.store.feed(id)));
  const same = scene.listen(scene.store.feed('f'));
  await scene.pass();
  assert.deepEqual(scene.asked, [['POST', { feeds: [{ feed: 'f' }, { feed: 'g' }] }]]);
  for (const id of ['h', 'i']) all.push(scene.listen(scene.store.feed(id, { first: 2 })));
  all[1].end();
  await scene.pass();
  assert.deepEqual(scene.asked, [['PATCH', { add: [{ feed: 'h', first: 2 }, { feed: 'i', first: 2 }], remove: ['g'] }]]);
  assert.equal(scene.server.streamCount, 1);
  assert.equal(same.feed.view, all[0].feed.view, 'the same window is followed once');
  assert.ok(['f', 'h', 'i'].every((id) => all.find(({ feed }) => feed.id === id).feed.view.standing.name === 'live'));
  await scene.close();
});

test('two windows of a feed have two streams, and a stream has at most 256 feeds', async () => {
  const scene = new Scene();
  const heard = [scene.listen(scene.store.feed('f')), scene.listen(scene.store.feed('f', { first: 1 }))];
  await scene.pass();
  assert.equal(scene.server.streamCount, 2);
  assert.deepEqual(heard.map(({ feed }) => idsOf(feed.view).length), [5, 2]);
  assert.deepEqual(heard[1].feed.view.sections.map(({ from, of }) => [from, of]), [[0, 3], [0, 2]]);
  for (let n = 0; n < 300; n++) scene.listen(scene.store.feed(`f${n}`));
  await scene.pass();
  assert.deepEqual(scene.server.requests.map(({ body }) => (body.feeds ?? body.add).length), [1, 1, 255, 45]);
  heard[1].end();
  await scene.pass();
  assert.equal(scene.server.streamCount, 2);
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
  assert.deepEqual(scene.asked, [['POST', { feeds: [{ feed: 'f', epoch: 't/0', revision: 1 }] }]]);
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

test('another window is asked for on the same stream, and the view stays until it is there', async () => {
  const scene = new Scene({ sections: sectionsOf(9, 4) });
  const feed = scene.store.feed('f', { first: 5 });
  const heard = scene.listen(feed);
  await scene.pass();
  const before = feed.view;
  assert.equal(idsOf(before).length, 9);
  void heard.kinds;
  feed.show();
  assert.equal(idsOf(feed.view).length, 9);
  scene.server.change(([section]) => section.items.pop());
  await scene.clock.advance(0);
  assert.equal(feed.view.standing.name, 'catching-up');
  await scene.pass();
  assert.deepEqual(scene.asked.slice(1), [['PATCH', { add: [{ feed: 'f' }], remove: [] }]]);
  assert.equal(idsOf(feed.view).length, 12);
  assert.equal(feed.view.item('0/0'), before.item('0/0'));
  assert.deepEqual(heard.kinds.filter((kind) => kind !== 'standing'), ['state']);
  feed.show({ sections: ['s1'], from: 1, count: 2 });
  await scene.pass();
  assert.deepEqual(idsOf(feed.view), ['1/1', '1/2']);
  assert.deepEqual([feed.view.section('s1').from, feed.view.section('s1').of], [1, 4]);
  // Totals alone.
  void heard.kinds;
  scene.server.change((sections) => sections[1].items.pop());
  await scene.pass();
  assert.deepEqual(heard.kinds, ['standing']);
  assert.deepEqual(feed.view.section('s1').of, 3);
  assert.equal(scene.server.streamCount, 1);
  await scene.close();
});

test('a window that others follow too is left to them', async () => {
  const scene = new Scene({ sections: sectionsOf(9) });
  const [one, two] = [scene.store.feed('f', { first: 2 }), scene.store.feed('f', { first: 2 })];
  const heard = [one, two].map((feed) => scene.listen(feed));
  await scene.pass();
  two.show({ first: 4 });
  assert.equal(idsOf(two.view).length, 2);
  await scene.pass();
  assert.deepEqual([one, two].map(({ view }) => idsOf(view).length), [2, 4]);
  assert.equal(two.view.item('0/1'), one.view.item('0/1'));
  two.show({ first: 2 });
  assert.equal(two.view, one.view);
  await scene.pass();
  assert.equal(scene.server.streamCount, 1);
  assert.ok(heard[1].updates.at(-1).view === one.view);
  await scene.close();
});

test('a feed that does not exist is absent, until it is created', async () => {
  const scene = new Scene({ sections: null });
  const { feed, updates } = scene.listen(scene.store.feed('f'));
  await scene.pass();
  assert.deepEqual(updates.filter(({ kind }) => kind !== 'standing').map(({ kind, view }) => [kind, view.exists]), [['absent', false]]);
  assert.deepEqual(feed.view.standing, { name: 'live' });
  scene.server.publish('f', sectionsOf(1));
  await scene.pass();
  assert.deepEqual([updates.at(-2).kind, feed.view.exists, feed.view.standing.name], ['state', true, 'live']);
  scene.server.publish('f', undefined);
  await scene.pass();
  assert.deepEqual([updates.at(-1).kind, feed.view.exists, idsOf(feed.view)], ['absent', false, []]);
  // Who listens from now on is told as well.
  const late = scene.listen(scene.store.feed('f'));
  await scene.pass();
  assert.deepEqual(late.kinds, ['absent']);
  await scene.close();
});

test('standings say what is wrong, and until when', async () => {
  const scene = new Scene({ sections: null });
  scene.server.isDown = true;
  const { feed } = scene.listen(scene.store.feed('f'));
  const start = scene.clock.time;
  await scene.pass();
  assert.deepEqual(feed.view.standing, { name: 'stale', reason: 'disconnected', until: start + 3001 });
  scene.server.isDown = false;
  scene.server.rightsOf = () => null;
  await scene.pass(3000);
  assert.equal(feed.view.standing.reason, 'token-needed');
  assert.match(feed.view.standing.detail, /not accepted/);
  assert.ok(feed.view.standing.until > scene.clock.time);
  scene.server.rightsOf = () => ({ sub: 'a', mayRead: () => false });
  await scene.pass(30_000);
  assert.equal(feed.view.standing.reason, 'forbidden');
  scene.server.rightsOf = () => ({ sub: 'a', mayRead: () => true });
  scene.server.publish('f', sectionsOf(1));
  scene.server.cut();
  await scene.pass(5000);
  assert.equal(feed.view.standing.name, 'live');
  scene.server.leave('f', '');
  await scene.pass();
  assert.equal(feed.view.standing.reason, 'moved');
  assert.equal(idsOf(feed.view).length, 1);
  const { fetch } = scene.server;
  scene.server.fetch = async () => new Response('{"code":"restoring","detail":"the feeds are being read"}', { status: 503, headers: { 'retry-after': '7' } });
  scene.server.cut();
  await scene.pass(4000);
  const { until, ...standing } = feed.view.standing;
  assert.deepEqual(standing, { name: 'stale', reason: 'unavailable', detail: 'the feeds are being read' });
  assert.ok(until - scene.clock.time > 2000);
  scene.server.fetch = fetch;
  scene.server.elsewhere.clear();
  await scene.pass(8000);
  assert.equal(feed.view.standing.name, 'live');
  await scene.close();
});

test('tokens are asked for until one is accepted, also for what is added to an open stream', async () => {
  const tokens = ['first', 'wrong', 'another wrong', 'second'];
  const scene = new Scene({ token: () => (tokens.length > 1 ? tokens.shift() : tokens[0]) });
  let accepted = 'first';
  scene.server.rightsOf = (given) => (given === accepted ? { sub: 'a', mayRead: () => true } : null);
  scene.server.publish('g', sectionsOf(1));
  scene.listen(scene.store.feed('f'));
  await scene.pass();
  accepted = 'second';
  const { feed } = scene.listen(scene.store.feed('g'));
  await scene.pass();
  assert.equal(feed.view.standing.reason, 'token-needed');
  await scene.pass(30_000);
  assert.equal(feed.view.standing.name, 'live');
  assert.equal(scene.server.streamCount, 1);
  await scene.close();
});

test('a request that is not valid concerns only its feed', async () => {
  const scene = new Scene();
  for (const first of [20_000, undefined]) scene.listen(scene.store.feed(first ? 'g' : 'f', { first }));
  const wrong = scene.store.feed('g', { first: 20_000 });
  const heard = scene.listen(wrong);
  const right = scene.listen(scene.store.feed('f'));
  await scene.pass();
  assert.deepEqual(wrong.view.standing, { name: 'stale', reason: 'bad-request', detail: 'feeds[0].first is too large' });
  assert.equal(right.feed.view.standing.name, 'live');
  const later = scene.store.feed('f', { first: 20_000 });
  scene.listen(later);
  const added = scene.store.feed('h', { first: 30_000 });
  scene.listen(added);
  await scene.pass();
  assert.match(added.view.standing.detail, /add\[0\]\.first/);
  assert.equal(later.view.standing.reason, 'bad-request');
  scene.server.publish('h', sectionsOf(1));
  added.show({ first: 3 });
  await scene.pass();
  assert.equal(added.view.standing.name, 'live');
  void heard;
  await scene.close();
});

test('what does not fit is asked for again, at once and then less and less often', async () => {
  const scene = new Scene();
  const { feed } = scene.listen(scene.store.feed('f'));
  await scene.pass();
  scene.server.spoil('f');
  scene.server.change(([section]) => section.items.pop());
  await scene.clock.advance(1);
  assert.equal(feed.view.standing.reason, 'must-refetch');
  assert.match(feed.view.standing.detail, /00000001/);
  assert.equal(idsOf(feed.view).length, 5);
  await scene.pass();
  assert.deepEqual([feed.view.standing.name, idsOf(feed.view).length], ['live', 4]);
  // A state alone does not show that changes fit again.
  scene.server.change(([section]) => section.items.push({ id: 'new', kind: '', data: null }));
  await scene.pass();
  void scene.asked;
  // Whatever is sent does not fit.
  scene.server.spoilsAll = true;
  scene.server.change(([section]) => section.items.pop());
  const seconds = [];
  for (let second = 0; second < 95; second++) {
    await scene.pass(1000);
    for (let count = scene.asked.length; count > 0; count--) seconds.push(second);
  }
  assert.deepEqual(seconds, [0, 1, 3, 7, 15, 31, 61, 91]);
  scene.server.spoilsAll = false;
  await scene.pass(60_000);
  assert.equal(feed.view.standing.name, 'live');
  scene.server.spoil('f');
  scene.server.change(([section]) => section.items.pop());
  await scene.pass();
  assert.equal(feed.view.standing.reason, 'must-refetch');
  await scene.close();
});

test('a stream without a byte for a minute counts as dead', async () => {
  const scene = new Scene();
  const { feed, updates } = scene.listen(scene.store.feed('f'));
  await scene.pass();
  void scene.asked;
  await scene.clock.advance(59_000);
  assert.equal(feed.view.standing.name, 'live');
  await scene.clock.advance(1000);
  assert.ok(updates.some(({ view }) => view.standing.reason === 'disconnected'));
  await scene.clock.advance(100);
  assert.deepEqual([feed.view.standing.name, scene.asked.length], ['live', 1]);
  await scene.close();
});

test('a proxy that ends streams costs less than a hundredth of the time, one that ends them at once gets no more than a request in three seconds', async () => {
  for (const [length, most, requests] of [[15_000, 0.01, 41], [500, 1, 180]]) {
    const scene = new Scene({ random: () => 0.99 });
    scene.listen(scene.store.feed('f'));
    await scene.pass();
    let away = 0;
    for (const end = scene.clock.time + 600_000; scene.clock.time < end;) {
      await scene.pass(length);
      scene.server.cut();
      for (const since = scene.clock.time; scene.server.streamCount === 0; away += 1) await scene.clock.advance(since === null ? 0 : 1);
    }
    assert.ok(away < most * 600_000, `${away} ms of ${length}`);
    assert.ok(scene.asked.length <= requests);
    await scene.pass();
    await scene.close();
  }
});

test('instances are asked until one has the feed, and again when it has it no more', async () => {
  const urls = ['http://a', 'http://b'];
  const scene = new Scene({ urls });
  const [a, b] = scene.servers;
  const { feed, updates } = scene.listen(scene.store.feed('f'));
  await scene.pass();
  assert.deepEqual([a.streamCount, b.streamCount, feed.view.standing.name], [1, 0, 'live']);
  assert.ok(updates.every(({ kind }) => kind !== 'absent'));
  // It moves to an instance that is named.
  a.leave('f', urls[1]);
  await scene.pass();
  assert.equal(feed.view.standing.reason, 'moved');
  assert.equal(idsOf(feed.view).length, 5);
  b.take('f', a);
  await scene.pass();
  assert.deepEqual([a.streamCount, b.streamCount, feed.view.standing.name], [0, 1, 'live']);
  // The instance is gone, and another one takes over.
  b.isDown = true;
  b.cut();
  await scene.pass();
  assert.equal(feed.view.standing.reason, 'moved', 'the other one still says that it has moved');
  a.take('f', b);
  await scene.pass();
  assert.deepEqual([a.streamCount, feed.view.standing.name], [1, 'live']);
  assert.ok(updates.every(({ kind }) => kind !== 'absent'));
  // All say that there is none.
  b.isDown = false;
  b.feeds.clear();
  a.feeds.clear();
  a.refetch('f');
  await scene.pass();
  assert.deepEqual([updates.at(-1).view.exists, feed.view.standing], [false, { name: 'live' }]);
  assert.deepEqual([a.streamCount, b.streamCount], [1, 1]);
  b.publish('f', sectionsOf(2));
  await scene.pass();
  assert.deepEqual([a.streamCount, b.streamCount, idsOf(feed.view).length], [0, 1, 2]);
  await scene.close();
});

test('an instance is followed that only another one has named', async () => {
  const scene = new Scene({ urls: ['http://a', 'http://b'], known: ['http://a'] });
  const [a, b] = scene.servers;
  b.take('f', a);
  a.leave('f', 'http://b/');
  const { feed } = scene.listen(scene.store.feed('f'));
  await scene.pass(50);
  assert.deepEqual([a.streamCount, b.streamCount, feed.view.standing.name], [0, 1, 'live']);
  // When it is lost, those that are known are asked again.
  b.isDown = true;
  b.cut();
  a.take('f', b);
  await scene.pass(50);
  assert.deepEqual([a.streamCount, feed.view.standing.name], [1, 'live']);
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

test('a feed that the token does not allow is followed again in the same turn', async () => {
  const scene = new Scene();
  let isAllowed = false;
  scene.server.rightsOf = () => ({ sub: 'a', mayRead: (feed) => feed === 'g' || isAllowed });
  scene.server.publish('g', sectionsOf(1));
  const other = scene.listen(scene.store.feed('g'));
  const first = scene.listen(scene.store.feed('f'));
  await scene.pass();
  assert.equal(first.feed.view.standing.reason, 'forbidden');
  first.end();
  const second = scene.listen(scene.store.feed('f', { first: 1 }));
  await scene.pass();
  assert.equal(second.feed.view.standing.reason, 'forbidden');
  isAllowed = true;
  second.end();
  const third = scene.listen(scene.store.feed('f'));
  await scene.pass();
  assert.equal(third.feed.view.standing.name, 'live');
  assert.equal(other.feed.view.standing.name, 'live');
  await scene.close();
});
