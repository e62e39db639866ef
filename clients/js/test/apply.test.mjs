// Feed.apply: the events that lead from what is shown to what should be.

import assert from 'node:assert/strict';
import test from 'node:test';
import { eventsTo } from '../src/apply.js';
import { contentOf, Follower } from './support/follower.mjs';
import { Random, seed } from './support/random.mjs';
import { replay } from './support/replay.mjs';
import { Scene } from './support/scene.mjs';

const viewOf = (sections) => ({
  feed: 'f', exists: true, standing: { name: 'live' },
  sections: sections.map(({ items, ...section }) => ({ ...section, items: items.map((item) => ({ ...item, section: section.id })) })),
  section(id) { return this.sections.find((it) => it.id === id); },
  item(id) { return this.sections.flatMap(({ items }) => items).find((it) => it.id === id); },
});
const eventsFrom = (before, target) => eventsTo(target, null, viewOf(before), viewOf(before));
const itemsOf = (ids) => [...ids].map((id) => ({ id, kind: '', data: null }));
const sectionOf = (id, ids, more) => ({ id, data: null, ...more, items: itemsOf(ids) });
const replaced = (sections) => ({ op: 'feed.replace', sections });

/** The daemon's feeds after lists of records. */
function published(lists) {
  const follower = new Follower();
  const { output, rejected } = replay(lists.flatMap((values, n) => values.map((value) => ({ ts: 0, key: String(n), value }))));
  assert.deepEqual(rejected, []);
  for (const line of output) follower.apply(line);
  return lists.map((_, n) => contentOf(follower.replica(String(n))));
}

const byScore = [{ by: '/score' }];

for (const [what, before, after, events] of [
  ['nothing', [sectionOf('s', 'ab')], [sectionOf('s', 'ab')], []],
  ['one move for an item that goes far', [sectionOf('s', 'abcdef')], [sectionOf('s', 'bcdefa')], [{ op: 'item.move', item: 'a', at: { after: 'f' } }]],
  ['a move to the front', [sectionOf('s', 'abc')], [sectionOf('s', 'cab')], [{ op: 'item.move', item: 'c', at: 'first' }]],
  ['an item that changes its section and its data', [sectionOf('s', 'ab'), sectionOf('t', 'c')],
    [sectionOf('s', 'b'), { id: 't', items: ['c', { id: 'a', data: 1 }] }], [{ op: 'item.upsert', item: 'a', section: 't', at: { after: 'c' }, data: 1 }]],
  ['ids alone, which keep kind and data', [sectionOf('s', 'ab')], [{ id: 's', items: ['b', 'a'] }], [{ op: 'item.move', item: 'b', at: 'first' }]],
  ['a section that goes, with its items', [sectionOf('s', 'a'), sectionOf('t', 'b')], [sectionOf('s', 'a')], [{ op: 'section.delete', section: 't' }]],
  ['a section that loses its order', [sectionOf('s', 'ab', { order: byScore })], [sectionOf('s', 'ba', { order: null })],
    [{ op: 'section.upsert', section: 's', order: null }, { op: 'item.move', item: 'b', at: 'first' }]],
  ['no places in an ordered section', [sectionOf('s', 'ab', { order: byScore }), sectionOf('t', 'c')],
    [sectionOf('s', 'cbad', { order: byScore }), sectionOf('t', '')],
    [{ op: 'item.move', item: 'c', section: 's' }, { op: 'item.upsert', item: 'd', section: 's', kind: '', data: null }]],
]) {
  test(`the difference is ${what}`, () => assert.deepEqual(eventsFrom(before, after), events));
}

test('random differences lead to what should be, with as few moves as there can be', () => {
  const random = new Random(seed);
  const ids = [...'abcdefghijkl'];
  const randomSections = () => {
    const items = random.shuffled(ids).slice(0, random.below(ids.length));
    return random.shuffled(['s', 't', 'u']).slice(0, 1 + random.below(3)).map((id, at, { length }) => ({
      id, data: random.below(2), ...(random.chance(20) && { keep: 20 }), ...(random.chance(20) && { order: [{ by: '' }] }),
      items: items.slice(Math.floor(at * items.length / length), Math.floor((at + 1) * items.length / length))
        .map((item) => ({ id: item, kind: random.pick(['', 'k']), data: random.below(3) })),
    }));
  };
  /** By trying all subsets: how many items of a section need not move. */
  const mostKept = (places) => (function most(at, last) {
    if (at === places.length) return 0;
    return Math.max(most(at + 1, last), places[at] > last ? 1 + most(at + 1, places[at]) : 0);
  })(0, -1);
  const targets = Array.from({ length: 500 }, randomSections);
  const befores = published(targets.map(() => [replaced(randomSections())]));
  const all = befores.map((before, at) => eventsFrom(before, targets[at].map((section) => ({ order: null, keep: null, ...section }))));
  const [found, wanted] = [published(befores.map((before, at) => [replaced(before), all[at]])), published(targets.map((target) => [replaced(target)]))];
  for (const [at, target] of targets.entries()) {
    const [before, events] = [befores[at], all[at]];
    const place = JSON.stringify({ before, target, events });
    assert.deepEqual(found[at], wanted[at], place);
    const moves = target.filter(({ order }) => !order).reduce((sum, { id, items }) => {
      const places = items.map((item) => before.find((it) => it.id === id)?.items.findIndex((it) => it.id === item.id) ?? -1);
      return sum + places.filter((at) => at >= 0).length - mostKept(places);
    }, 0);
    const isOf = (item) => before.some((it) => it.items.some(({ id }) => id === item) && target.find(({ id }) => id === it.id)?.items.some(({ id }) => id === item));
    assert.equal(events.filter(({ item, at }) => at !== undefined && isOf(item)).length, moves, place);
  }
});

test('more than 10,000 events become one that replaces the feed', () => {
  const items = Array.from({ length: 10_002 }, (_, n) => ({ id: `i${n}`, kind: 'k', data: n }));
  const before = [{ id: 's', data: 1, items }];
  const after = [{ id: 's', items: [...items].reverse() }];
  after[0].items[0] = { ...after[0].items[0], data: 'new' };
  const events = eventsTo(after, null, { ...viewOf(before), item: (id) => ({ section: 's', ...items[id.slice(1)] }) }, viewOf([]));
  assert.deepEqual([events.length, events[0].op, events[0].sections[0].items.slice(0, 2)], [1, 'feed.replace', [{ id: 'i10001', data: 'new' }, 'i10000']]);
  assert.deepEqual(published([[replaced(before), events]]), [[{ id: 's', data: 1, items: after[0].items }]]);
});

test('it is written as one record and shown at once, and nothing is written for nothing', async () => {
  const scene = new Scene();
  scene.server.onWrite = () => new Promise(() => {});
  const feed = scene.store.feed('f');
  await assert.rejects(feed.apply([]), /"f" is connecting, and has no state/);
  scene.listen(feed);
  await scene.pass();
  assert.equal(await feed.apply(feed.view.sections), null);
  const [first, second] = feed.view.sections;
  feed.apply([{ ...first, items: [...first.items].reverse() }, second]).catch(() => {});
  await new Promise((resolve) => { setImmediate(resolve); });
  assert.deepEqual(feed.view.section('s0').items.map(({ id }) => id), ['0/2', '0/1', '0/0']);
  const window = scene.store.feed('f', { first: 1 });
  await assert.rejects(window.apply([]), /a window of "f" cannot be applied; follow the whole feed: store\.feed\("f"\)/);
  await assert.rejects(feed.apply([{ id: 's0', items: ['a', 'a'] }]), /"a" is there twice/);
  scene.server.isDown = true;
  scene.server.cut();
  await scene.pass();
  await assert.rejects(feed.apply([]), /"f" is stale, and may have changed/);
  await scene.close();
});
