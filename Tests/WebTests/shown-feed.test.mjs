// shown-feed.js: which windows of a feed the page follows, and what is there for the rows on the screen.

import assert from 'node:assert/strict';
import test from 'node:test';
import { EventStream } from '../../clients/js/src/event-stream.js';
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
  standings = [];
  /** How many messages did not fit. */
  faults = 0;
  /** The first row on the screen. */
  top = 0;
  places = [];

  constructor(sections, { hasPlaces = true } = {}) {
    const server = this.server = new StreamServer(sections);
    this.shown = new ShownFeed('f', {
      partition: null,
      api: {
        headers: () => ({}), refused: () => {},
        patch: async (url, value) => {
          const signal = new AbortController().signal;
          return (await server.fetch(url, { method: 'PATCH', body: JSON.stringify(value), signal })).ok;
        },
      },
      requestPlace: () => {
        const place = { isTaken: true, giveUp: () => { place.isTaken = false; } };
        place.granted = hasPlaces ? Promise.resolve() : new Promise(() => {});
        this.places.push(place);
        return place;
      },
      onStanding: (standing) => this.standings.push(standing),
      onEntry: (entry) => {
        this.entries.push(entry);
        this.see();
      },
      onRows: () => this.see(),
      makeStream: (url, options) => {
        const stream = new EventStream(url, {
          ...options, fetch: server.fetch, random: () => 0, clearTimer: clearImmediate,
          setTimer: (run, milliseconds) => (milliseconds < 60000 ? setImmediate(run) : undefined),
        });
        const restart = stream.restart.bind(stream);
        stream.restart = ({ isPatient }) => {
          if (!isPatient) this.faults += 1;
          restart({ isPatient });
        };
        return stream;
      },
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

  get posted() { return this.server.requests.map(({ method, body }) => [method, (body.feeds ?? body.add)[0]]); }
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
  for (const [written, isIn] of [
    [{ epoch: 't/0', revision: 2 }, true], [{ epoch: 't/0', revision: 3 }, false], [{ epoch: 'earlier', revision: 3 }, true],
    [{ topic: 't', offset: 2 }, true], [{ topic: 't', offset: 3 }, false], [{ topic: 'other', offset: 0 }, false], [{ topic: 't' }, true],
  ]) assert.equal(scene.shown.has(written), isIn, JSON.stringify(written));
  // It comes back with its version.
  scene.server.cut();
  await scene.settle('a broken stream');
  scene.server.change(([section]) => section.items.pop());
  await scene.settle('a change after it');
  console.log(JSON.stringify(scene.posted));
  assert.deepEqual(scene.posted.at(-1), ['POST', { feed: 'f', epoch: 't/0', revision: 2 }]);
  assert.ok(scene.entries.every(({ type }) => type !== 'fault'));
  scene.shown.close();
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
  assert.equal(scene.server.streamCount, 2);
  scene.scrollTo(0);
  assert.equal(scene.server.streamCount, 1);
  assert.ok(scene.places.every(({ isTaken }) => !isTaken));
  scene.shown.close();
});

test('a page without a place for a second stream shows the first items only', async () => {
  const scene = new Scene(sectionsOf([20_000]), { hasPlaces: false });
  await scene.settle('the beginning');
  scene.scrollTo(90);
  await new Promise(setImmediate);
  assert.equal(scene.server.streamCount, 1);
  assert.deepEqual(scene.rows.slice(9, 13).map(({ key }) => key), ['i0/98', 'i0/99', 'p100/s0', 'p101/s0']);
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
    assert.equal(scene.faults, 0, `seed ${seed}, round ${round}`);
    scene.shown.close();
  }
});
