// shown-feed.js: which windows of a feed the page follows, and what is there for the rows on the screen.

import assert from 'node:assert/strict';
import test from 'node:test';
import { FeedStore } from '../../clients/js/src/index.js';
import { Rows } from '../../web/rows.js';
import { ShownFeed } from '../../web/shown-feed.js';
import { Random, seed } from '../../clients/js/test/support/random.mjs';
import { StreamServer } from '../../clients/js/test/support/stream-server.mjs';

const screen = 40;

const sectionsOf = (sizes) => sizes.map((size, s) => ({
  id: `s${s}`, data: null, items: Array.from({ length: size }, (_, i) => ({ id: `${s}/${i}`, kind: 'k', data: i })),
}));

/** A page with a screen, and a server. */
class Scene {
  entries = [];
  /** The first row on the screen. */
  top = 0;

  constructor(sections) {
    const server = this.server = new StreamServer(sections);
    this.store = new FeedStore('http://a', {
      fetch: server.fetch, keep: 0, random: () => 0, clearTimer: clearImmediate,
      setTimer: (run, milliseconds) => (milliseconds < 10_000 ? setImmediate(run) : undefined),
      onMessage: (follower, name, value, text) => this.shown.receive(follower, name, value, text),
    });
    this.shown = new ShownFeed('f', {
      store: this.store,
      partition: null,
      onStanding: () => {},
      onEntry: (entry, marks) => {
        this.entries.push({ ...entry, marks });
        this.see();
      },
      onRows: () => this.see(),
      onEdit: () => {},
      onRefused: () => {},
    });
    this.shown.open();
  }

  /** The rows on the screen. */
  get rows() {
    const rows = new Rows(this.shown.sections, 10);
    this.top = Math.max(0, Math.min(this.top, rows.count - screen));
    const end = Math.min(rows.count, this.top + screen);
    return Array.from({ length: end - this.top }, (_, at) => rows.row(this.top + at));
  }

  see() { this.shown.see(this.rows); }

  scrollTo(top) {
    this.top = top;
    this.see();
  }

  /** Whether the screen shows what the server has, and the totals are right. */
  get isRight() {
    const { sections } = this.server;
    const all = sections.flatMap((section) => [section.id, ...section.items]);
    const content = this.rows.map(({ section, item }) => (item === null ? section.id : item?.toJSON()));
    return new Rows(this.shown.sections, 10).count === all.length
      && JSON.stringify(content) === JSON.stringify(all.slice(this.top, this.top + screen));
  }

  async settle(what) {
    for (let turn = 0; turn < 20000; turn++) {
      if (this.isRight) return;
      await new Promise(setImmediate);
    }
    assert.fail(`${what}: revision ${this.shown.revision} of ${this.server.revision}, rows ${JSON.stringify(this.rows.map((row) => row.key))}`);
  }

  /** The requested entries, without the names of the views. */
  get posted() {
    return this.server.requests.flatMap(({ method, body }) => (body.feeds ?? body.add ?? []).map(({ view: _, ...entry }) => [method, entry]));
  }

  get faults() { return this.entries.filter(({ type }) => type === 'fault'); }
}

test('a small feed is followed as a whole, once its size is known', async () => {
  const scene = new Scene(sectionsOf([50, 30]));
  await scene.settle('a small feed');
  assert.deepEqual(scene.posted, [['POST', { feed: 'f', first: 0 }], ['PATCH', { feed: 'f' }]]);
  assert.deepEqual(scene.entries.map(({ type, isAnew, itemsAfter, scope }) => [type, isAnew, itemsAfter, scope]), [['state', false, 80, undefined]]);
  scene.server.change(([section]) => section.items.reverse());
  await scene.settle('a change');
  assert.equal(scene.entries.at(-1).items.move, 50);
  assert.ok(scene.shown.isWhole);
  // It comes back with its version.
  scene.server.cut();
  await scene.settle('a broken stream');
  scene.server.change(([section]) => section.items.pop());
  await scene.settle('a change after it');
  assert.deepEqual(scene.posted.at(-1), ['POST', { feed: 'f', epoch: 't/0', revision: 2 }]);
  assert.deepEqual(scene.faults, []);
  scene.shown.close();
  await new Promise(setImmediate);
  assert.equal(scene.server.streamCount, 0);
});

test('of a large feed, the first items come, and those on the screen', async () => {
  const scene = new Scene(sectionsOf([30_000, 5, 70_000]));
  await scene.settle('the beginning');
  assert.deepEqual(scene.posted.map(([, { first }]) => first), [0, 100]);
  assert.equal(scene.entries[0].itemsAfter, 100_005);
  for (const top of [150, 29_990, 50_000, 100_008]) {
    scene.scrollTo(top);
    await scene.settle(`row ${top}`);
  }
  // What is on the screen twice is asked for once.
  const count = scene.posted.length;
  scene.scrollTo(100_000);
  assert.equal(scene.posted.length, count);
  assert.ok(scene.server.sentBytes < 200_000, `${scene.server.sentBytes} bytes`);
  // Both windows are on one stream.
  assert.equal(scene.server.streamCount, 1);
  scene.shown.close();
});

test('however many sections there are, the items together are bounded', async () => {
  const scene = new Scene(sectionsOf(Array.from({ length: 2000 }, () => 30)));
  await scene.settle('the beginning');
  assert.equal(scene.posted[1][1].first, 10);
  // Two sections at once.
  scene.scrollTo(31 * 1000 + 15);
  await scene.settle('the middle');
  assert.deepEqual(scene.posted.at(-1)[1], { feed: 'f', sections: ['s1000', 's1001'], first: 100 });
  scene.shown.close();
});

test('marks say what changed, and what the data was', async () => {
  const random = new Random(seed);
  const scene = new Scene(sectionsOf([8, 5]));
  await scene.settle('the beginning');
  for (let round = 0; round < 200; round++) {
    const before = new Map(scene.server.sections.flatMap(({ items }) => items.map((it) => [it.id, JSON.stringify(it.data)])));
    const [from, to] = [random.below(2), random.below(2)];
    const { items: [first] } = scene.server.sections[from];
    const isEdit = first !== undefined && random.chance(80);
    const [kind, edit] = isEdit ? random.pick([
      ['reconfigured', ({ items }) => { items[0] = { ...items[0], data: `data ${round}` }; }],
      ['reloaded', ({ items }) => { items[0] = { ...items[0], kind: `kind ${round}` }; }],
      ['moved', ({ items }, other) => other.items.push(items.shift())],
    ]) : ['inserted', ({ items }) => items.unshift({ id: `new${round}`, kind: 'k', data: round })];
    const count = scene.entries.length;
    scene.server.change((sections) => edit(sections[from], sections[to]));
    await scene.settle(`round ${round}`);
    const [entry] = scene.entries.slice(count);
    // The only item of its section does not move within it. There may be a keyframe.
    if (kind === 'moved' && from === to && scene.server.sections[from].items.length === 1) continue;
    const mark = entry.marks.get(isEdit ? `i${first.id}` : `inew${round}`);
    assert.deepEqual(mark.kinds, [kind], `seed ${seed}, round ${round}`);
    assert.equal(mark.before, ['reconfigured', 'reloaded'].includes(kind) ? before.get(first.id) : undefined);
    assert.equal(entry.itemsAfter, scene.server.sections.reduce((sum, { items }) => sum + items.length, 0));
    assert.equal(entry.itemsBefore, before.size);
  }
  scene.shown.close();
});

test('whatever changes, moves and breaks, the screen becomes right', async () => {
  const random = new Random(seed);
  for (let round = 0; round < 6; round++) {
    const sizes = () => random.pick([[6000, 3, 5000], [12_000], [40, 20], Array.from({ length: 300 }, () => 45)]);
    const scene = new Scene(sectionsOf(sizes()));
    let made = 0;
    for (let step = 0; step < 120; step++) {
      const rowCount = new Rows(scene.shown.sections, 10).count;
      // Near to the screen or anywhere.
      const position = (length) => (random.chance(50) ? random.below(length) : Math.max(0, Math.min(length - 1, scene.top + random.below(60) - 10)));
      random.pick([
        () => scene.scrollTo(random.below(1 + rowCount)),
        () => scene.scrollTo(Math.max(0, scene.top + random.below(200) - 100)),
        () => scene.server.change((sections) => {
          const { items } = random.pick(sections);
          items.splice(position(items.length + 1), 0, { id: `new${made++}`, kind: 'k', data: made });
        }),
        () => scene.server.change((sections) => {
          const { items } = random.pick(sections);
          const [item] = items.splice(position(items.length), 1);
          const { items: others } = random.pick(sections);
          if (item !== undefined && random.chance(80)) others.splice(position(others.length + 1), 0, item);
        }),
        () => scene.server.change((sections) => {
          const { items } = random.pick(sections);
          if (items.length > 0) items[position(items.length)].data = `data ${made++}`;
        }),
        () => random.chance(20) && scene.server.cut(),
        () => random.chance(10) && scene.server.reload(sectionsOf(sizes())),
        () => random.chance(10) && (scene.shown.close(), scene.shown.open()),
      ])();
      for (let turns = random.below(6); turns > 0; turns--) await new Promise(setImmediate);
      if (random.chance(5)) await scene.settle(`seed ${seed}, round ${round}, step ${step}`);
    }
    await scene.settle(`seed ${seed}, round ${round}`);
    assert.deepEqual(scene.faults, [], `seed ${seed}, round ${round}`);
    scene.shown.close();
  }
});
