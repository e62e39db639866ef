// Optimistic writes: what is shown, until when, and what becomes of it.

import assert from 'node:assert/strict';
import test from 'node:test';
import { WriteFailed, WriteRejected } from '../src/index.js';
import { lazyIndex } from '../src/replica/elements.js';
import { Replica } from '../src/replica.js';
import { withWrites } from '../src/writes.js';
import { afterRecord } from './support/oracle.mjs';
import { Random, seed } from './support/random.mjs';
import { idsOf, Scene, sectionsOf } from './support/scene.mjs';
import { checksumOf, slice } from './support/stream-server.mjs';

const copy = (value) => JSON.parse(JSON.stringify(value));

/** A scene whose server applies writes: at once, or when the test says so. */
function writingScene(options = {}) {
  const scene = new Scene(options);
  let offset = 100;
  const waiting = [];
  const publish = (feed, events, through) => {
    const { sections, epoch, head } = scene.server.feeds.get(feed);
    scene.server.publish(feed, afterRecord(sections, events), { through: { t: Math.max(through.t, head.through.t) } });
    const { revision } = scene.server.feeds.get(feed);
    return { status: 200, body: { feed, topic: 't', partition: 0, offset: through.t, epoch, revision } };
  };
  scene.server.onWrite = (feed, events, headers) => new Promise((resolve) => {
    const own = { feed, events, headers, offset: ++offset };
    waiting.push({
      ...own,
      publish: () => resolve(publish(feed, events, { t: own.offset })),
      publishOnly: () => publish(feed, events, { t: own.offset }),
      answer: (status, body) => resolve({ status, body: { feed, topic: 't', partition: 0, offset: own.offset, ...body } }),
    });
  });
  return Object.assign(scene, { waiting });
}

const starred = (view, id) => [view.item(id)?.data.starred, view.item(id)?.isPending, view.isPending];

test('a star that a user taps is shown at once, and confirmed', async () => {
  const scene = writingScene();
  const feed = scene.store.feed('f');
  const heard = scene.listen(feed);
  await scene.pass();
  const before = feed.view;
  void heard.kinds;
  const written = feed.write({ op: 'item.patch', item: '0/1', data: { starred: true } });
  assert.deepEqual(starred(feed.view, '0/1'), [true, true, true]);
  assert.deepEqual(feed.view.item('0/1').data, { n: 1, starred: true });
  assert.equal(feed.view.item('0/1').dataText, '{"n":1,"starred":true}');
  assert.equal(feed.view.item('0/0'), before.item('0/0'));
  assert.equal(feed.view.section('s1'), before.section('s1'));
  assert.deepEqual(heard.kinds, ['pending']);
  await scene.pass();
  const [write] = scene.waiting;
  assert.deepEqual([write.headers.Prefer, write.events], ['wait=10', { op: 'item.patch', item: '0/1', data: { starred: true } }]);
  // Something else changes meanwhile.
  const pending = feed.view.item('0/1');
  scene.server.change(([section]) => { section.items[2].data = { n: 7 }; });
  await scene.pass();
  assert.equal(feed.view.item('0/1'), pending);
  assert.deepEqual(feed.view.item('0/2').data, { n: 7 });
  assert.deepEqual(heard.kinds, ['pending']);
  write.publish();
  await scene.pass();
  assert.deepEqual(await written, { feed: 'f', topic: 't', partition: 0, offset: 101, epoch: 't/0', revision: 3 });
  assert.deepEqual(starred(feed.view, '0/1'), [true, false, false]);
  assert.ok(heard.kinds.every((kind) => kind === 'pending'));
  scene.server.change(([section]) => section.items.pop());
  await scene.pass();
  assert.deepEqual(heard.kinds, ['changed']);
  await scene.close();
});

test('a write that is rejected is taken back, with the reason', async () => {
  const scene = writingScene();
  const feed = scene.store.feed('f');
  const heard = scene.listen(feed);
  await scene.pass();
  const before = feed.view.section('s0');
  for (const [status, code, kind] of [[422, 'unknown-anchor', WriteRejected], [403, 'forbidden', WriteRejected], [413, 'record-too-large', WriteRejected], [503, 'not-written', WriteFailed]]) {
    const written = feed.write({ op: 'item.delete', item: '0/1' });
    const outcome = assert.rejects(written, (error) => error instanceof kind && error.code === code && /because/.test(error.message)
      && (kind === WriteRejected || /10\.2/.test(error.message)));
    assert.deepEqual([feed.view.item('0/1'), feed.view.section('s0').of], [undefined, 2]);
    await scene.pass();
    scene.waiting.pop().answer(status, { code, detail: 'because' });
    await scene.pass();
    await outcome;
    assert.equal(feed.view.section('s0'), before);
    assert.equal(feed.view.isPending, false);
    assert.deepEqual(heard.kinds.slice(-2), ['pending', 'pending']);
  }
  scene.server.isDown = true;
  const failed = assert.rejects(feed.write({ op: 'item.delete', item: '0/1' }), (error) => error instanceof WriteFailed && error.code === null);
  await scene.pass();
  await failed;
  assert.equal(feed.view.section('s0'), before);
  await assert.rejects(feed.write({ data: 1n }), TypeError);
  await scene.close();
});

test('without an outcome, a write is pending until a changeset covers its offset', async () => {
  const scene = writingScene();
  const feed = scene.store.feed('f');
  scene.listen(feed);
  await scene.pass();
  const written = feed.write({ op: 'item.patch', item: '0/1', data: { starred: true } }, { wait: 0 });
  await scene.pass();
  const write = scene.waiting.pop();
  assert.equal(write.headers.Prefer, undefined);
  write.answer(202);
  await scene.pass();
  assert.deepEqual([(await written).offset, (await written).revision], [101, undefined]);
  assert.deepEqual(starred(feed.view, '0/1'), [true, true, true]);
  scene.server.publish('f', scene.server.sections, { through: { t: 100 } });
  await scene.pass();
  assert.deepEqual(starred(feed.view, '0/1'), [true, true, true]);
  write.publishOnly();
  await scene.pass();
  assert.deepEqual(starred(feed.view, '0/1'), [true, false, false]);
  // Brokers do not always say where a record is: the next changeset counts.
  const other = feed.write({ op: 'item.patch', item: '0/2', data: { starred: true } });
  await scene.pass();
  scene.waiting.pop().answer(202, { offset: undefined });
  await scene.pass();
  assert.equal(feed.view.isPending, true);
  scene.server.change(([section]) => { section.items[2].data = { n: 2, starred: true }; });
  await scene.pass();
  assert.deepEqual([feed.view.isPending, (await other).offset], [false, undefined]);
  await scene.close();
});

test('a write that is taken and does not come is shown for a minute of a live feed, by all who show it', async () => {
  const scene = writingScene();
  const feed = scene.store.feed('f');
  const window = scene.store.feed('f', { first: 2 });
  const heard = scene.listen(feed);
  scene.listen(window);
  await scene.pass();
  const before = feed.view;
  const isShown = () => [feed, window].map(({ view }) => view.item('0/1').isPending);
  const answers = [{}, { offset: undefined }];
  for (const answer of answers) {
    const written = feed.write({ op: 'item.patch', item: '0/1', data: { starred: true } });
    await scene.pass();
    scene.waiting.pop().answer(202, answer);
    await scene.pass();
    await written;
    await scene.pass(20_000);
    assert.deepEqual(isShown(), [true, true]);
    // This time does not count.
    scene.server.isDown = true;
    scene.server.cut();
    await scene.pass(100_000);
    assert.equal(feed.view.standing.name, 'stale');
    assert.deepEqual(isShown(), [true, true]);
    scene.server.isDown = false;
    await scene.pass(31_000);
    assert.deepEqual(isShown(), [true, true]);
    void heard.kinds;
    await scene.pass(60_000);
    assert.deepEqual(isShown(), [false, false]);
    assert.deepEqual([feed.view.item('0/1'), feed.view.isPending], [before.item('0/1'), false]);
    assert.deepEqual(heard.kinds, ['pending']);
    assert.equal(scene.store.feed('f', { first: 3 }).view.isPending, false, 'it is forgotten');
  }
  await scene.close();
});

test('a write goes to the instance that has the feed, and waits for the outcome there', async () => {
  const scene = new Scene({ urls: ['http://a', 'http://b'] });
  scene.servers[0].elsewhere.set('g', '');
  scene.servers[1].publish('g', sectionsOf(1));
  const feed = scene.store.feed('g');
  scene.listen(feed);
  await scene.pass();
  for (const server of scene.servers) {
    server.onWrite = (_feed, _events, { Prefer }) => ({ status: 422, body: { code: 'rejected', detail: `${scene.servers.indexOf(server)} ${Prefer}` } });
  }
  const written = assert.rejects(feed.write({ op: 'item.delete', item: '0/0' }), /^WriteRejected: 1 wait=10/);
  await scene.pass();
  await written;
  await scene.close();
});

test('an answer may come before the changeset, or after it', async () => {
  const scene = writingScene();
  const feed = scene.store.feed('f');
  const { updates } = scene.listen(feed);
  await scene.pass();
  for (const isFirst of [true, false]) {
    const data = { starred: isFirst };
    const written = feed.write({ op: 'item.patch', item: '0/1', data });
    await scene.pass();
    updates.length = 0;
    const write = scene.waiting.pop();
    if (isFirst) {
      write.answer(200, { epoch: 't/0', revision: scene.server.revision + 1 });
      await scene.pass();
      await written;
      write.publishOnly();
    } else {
      write.publishOnly();
      await scene.pass();
      write.answer(200, { epoch: 't/0', revision: scene.server.revision });
      await written;
    }
    await scene.pass();
    assert.ok(updates.every(({ view }) => view.item('0/1').data.starred === isFirst), 'it never flickers');
    assert.equal(feed.view.isPending, false);
  }
  await scene.close();
});

test('writes of a feed are sent one after the other, and shown in their order', async () => {
  const scene = writingScene();
  const feed = scene.store.feed('f');
  scene.listen(feed);
  await scene.pass();
  const written = [true, false, true].map((value) => feed.write({ op: 'item.patch', item: '0/1', data: { starred: value } }));
  assert.equal(feed.view.item('0/1').data.starred, true);
  for (let count = 0; count < 3; count++) {
    await scene.pass();
    assert.equal(scene.waiting.length, 1);
    scene.waiting.pop().publish();
    await scene.pass();
    assert.equal(feed.view.item('0/1').data.starred, true);
  }
  assert.deepEqual((await Promise.all(written)).map(({ offset }) => offset), [101, 102, 103]);
  assert.equal(feed.view.isPending, false);
  await scene.close();
});

test('what is written back to what it was is not pending', async () => {
  const scene = writingScene();
  const feed = scene.store.feed('f');
  scene.listen(feed);
  await scene.pass();
  const before = feed.view.sections;
  const written = [{ op: 'item.patch', item: '0/1', data: { n: 5 } }, { op: 'item.patch', item: '0/1', data: { n: 1 } }].map((event) => feed.write(event));
  assert.equal(feed.view.sections, before);
  assert.equal(feed.view.isPending, false);
  for (let count = 0; count < 2; count++) {
    await scene.pass();
    scene.waiting.pop().publish();
  }
  await Promise.all([...written, scene.pass()]);
  assert.equal(feed.view.isPending, false);
  await scene.close();
});

test('all windows of a feed show a write, each until it has it', async () => {
  const scene = writingScene({ sections: sectionsOf(9) });
  const [five, all] = [scene.store.feed('f', { first: 5 }), scene.store.feed('f')];
  for (const feed of [five, all]) scene.listen(feed);
  await scene.pass();
  const written = all.write({ op: 'item.move', item: '0/4', at: 'first' });
  assert.deepEqual([idsOf(five.view), idsOf(all.view).slice(0, 3)], [['0/4', '0/0', '0/1', '0/2', '0/3'], ['0/4', '0/0', '0/1']]);
  assert.deepEqual([five.view.item('0/4').isPending, five.view.item('0/0').isPending], [true, false]);
  await scene.pass();
  scene.waiting.pop().publish();
  await scene.pass();
  await written;
  assert.deepEqual([five, all].map(({ view }) => view.isPending), [false, false]);
  // Outside of the window, it shows nothing there.
  const other = five.write({ op: 'item.patch', item: '0/8', data: { n: 0 } });
  assert.deepEqual([five, all].map(({ view }) => view.isPending), [false, true]);
  await scene.pass();
  scene.waiting.pop().publish();
  await scene.pass();
  await other;
  assert.equal(all.view.isPending, false);
  await scene.close();
});

test('a window whose state does not tell is asked for it', async () => {
  const scene = writingScene({ sections: sectionsOf(9) });
  const feed = scene.store.feed('f', { first: 5 });
  scene.listen(feed);
  await scene.pass();
  void scene.asked;
  // Another producer has undone it before it was published: nothing changes in the window.
  const written = feed.write({ op: 'item.patch', item: '0/1', data: { n: 9 } });
  await scene.pass();
  const write = scene.waiting.pop();
  scene.server.publish('f', scene.server.sections, { through: { t: write.offset } });
  write.answer(200, { epoch: 't/0', revision: scene.server.revision });
  await scene.pass();
  await written;
  assert.equal(feed.view.isPending, true);
  await scene.pass(3000);
  assert.deepEqual([feed.view.isPending, feed.view.item('0/1').data], [false, { n: 1 }]);
  assert.deepEqual(scene.asked.map(([method]) => method), ['POST', 'PATCH']);
  await scene.close();
});

test('at most 1,000 writes of a feed are pending', async () => {
  const scene = writingScene();
  const feed = scene.store.feed('f');
  scene.listen(feed);
  await scene.pass();
  const all = Array.from({ length: 1000 }, (_, n) => feed.write({ op: 'item.patch', item: '0/1', data: { n } }));
  await assert.rejects(feed.write({ op: 'item.delete', item: '0/1' }), (error) => error instanceof WriteFailed && error.code === 'too-many-writes');
  assert.deepEqual(feed.view.item('0/1').data, { n: 999 });
  const outcomes = Promise.allSettled(all);
  await scene.pass();
  await scene.close();
  assert.ok((await outcomes).every(({ reason }) => reason instanceof WriteFailed));
});

test('what cannot be shown early is written nevertheless', async () => {
  const scene = writingScene();
  const feed = scene.store.feed('f');
  scene.listen(feed);
  await scene.pass();
  const { view } = feed;
  const written = feed.write({ op: 'section.replace', section: 's0', items: ['0/2'] });
  assert.equal(feed.view, view);
  await scene.pass();
  scene.waiting.pop().publish();
  await scene.pass();
  await written;
  assert.deepEqual(idsOf(feed.view), ['0/2', '1/0', '1/1']);
  await scene.close();
});

test('in an ordered section items go where the daemon will put them', async () => {
  const sections = sectionsOf(3);
  sections[0].order = [{ by: '/n' }];
  const scene = writingScene({ sections });
  const feed = scene.store.feed('f');
  scene.listen(feed);
  await scene.pass();
  const written = feed.write([{ op: 'item.patch', item: '0/0', data: { n: 9 } }, { op: 'item.upsert', item: 'new', section: 's0', data: { n: -1 } }]);
  assert.deepEqual(idsOf(feed.view), ['new', '0/1', '0/2', '0/0']);
  await scene.pass();
  scene.waiting.pop().publish();
  await scene.pass();
  await written;
  assert.deepEqual(idsOf(feed.view), ['new', '0/1', '0/2', '0/0']);
  await scene.close();
});

/** A replica with these sections, or a window of them. */
function replicaOf(sections, window, revision = 1, replica = new Replica('f')) {
  const shown = slice(sections, window);
  const totals = shown.map(({ id, items }) => ({ section: id, from: 0, shown: items.length, of: sections.find((it) => it.id === id).items.length }));
  const outcome = replica.apply(JSON.stringify({
    feed: 'f', epoch: 't/0', revision, base: revision, mode: 'reload', time: '2026-01-01T00:00:00.000Z', through: { t: 1 },
    checksum: checksumOf(shown), sections: shown, ...(window.first !== undefined && { window: totals }),
  }));
  assert.equal(outcome.type, 'applied');
  return replica;
}

/** Whether the daemon takes an event. */
function isAccepted(sections, { op, item: id, section, at }) {
  const found = sections.find(({ items }) => items.some((item) => item.id === id));
  if (op === 'item.upsert' && found === undefined && section === undefined) return false;
  const anchor = at?.before ?? at?.after;
  if (anchor === undefined) return true;
  if (op === 'section.upsert') return anchor !== section && sections.some((it) => it.id === anchor);
  if (found === undefined && op === 'item.move') return true;
  return anchor !== id && (sections.find((it) => it.id === (section ?? found?.id))?.items.some((item) => item.id === anchor) ?? false);
}

const pick = {
  sections: ['s0', 's1', 's2', 'new'],
  event(random) {
    const item = `${random.below(3)}/${random.below(7)}`;
    const section = random.pick(this.sections);
    const data = random.pick([{ n: random.below(3) }, { n: null, more: { a: random.below(2), b: null } }, null, 7]);
    const place = (ids) => random.pick(['first', 'last', { index: random.below(9) }, { before: random.pick(ids) }, { after: random.pick(ids) }]);
    const at = place(Array.from({ length: 12 }, (_, n) => `${n % 3}/${n >> 2}`));
    const maybe = (members) => Object.fromEntries(Object.entries(members).filter(() => random.chance(50)));
    return random.pick([
      () => ({ op: 'item.upsert', item, ...maybe({ section, kind: random.pick(['k', 'l']), data, at }) }),
      () => ({ op: 'item.patch', item, data }),
      () => ({ op: 'item.move', item, ...maybe({ section, at }) }),
      () => ({ op: 'item.delete', item }),
      () => ({ op: 'section.upsert', section, ...maybe({ data, at: place(this.sections) }) }),
    ])();
  },
};

for (const window of [{}, { first: 3 }]) {
  test(`random writes show what the daemon will make of them: ${JSON.stringify(window)}`, () => {
    const random = new Random(seed + (window.first ?? 0));
    const seen = { shown: 0, nothing: 0, kept: 0 };
    for (let round = 0; round < 1500; round++) {
      let sections = sectionsOf(random.below(6), random.below(6), random.below(4));
      const replica = replicaOf(sections, window);
      let pending = [];
      let before = lazyIndex([]);
      for (let step = 0; step < 5; step++) {
        // Of a window only what is known is shown, so the events that concern it are those of one step.
        if (window.first !== undefined) pending = [];
        const event = pick.event(random);
        pending.push({ events: [event], written: null, isPublished: false });
        const confirmed = { sections: replica.sections, index: replica.index };
        const { shown, effective } = withWrites(confirmed, pending, window.first === undefined ? null : window, before);
        const now = shown?.sections ?? replica.sections;
        const expected = pending.reduce((state, { events: [each] }) => (isAccepted(state, each) ? afterRecord(state, each) : state), sections);
        const place = JSON.stringify({ event, sections, now });
        if (window.first === undefined || effective.size > 0) assertIsShown(now, expected, sections, window, event, place);
        seen[effective.size > 0 ? 'shown' : 'nothing'] += 1;
        // Again, it is the same.
        const index = shown?.index ?? confirmed.index;
        const again = withWrites(confirmed, pending, window.first === undefined ? null : window, index).shown?.sections ?? replica.sections;
        assert.deepEqual(again.map((section, at) => section === now[at]), now.map(() => true), place);
        assertIsMarked(now, replica, place);
        // What does not change is the same object when other things change.
        const items = (list) => new Map(list.flatMap((section) => section.items.map((item) => [item.id, item])));
        const old = items(now);
        if (random.chance(30)) {
          sections = afterRecord(sections, { op: 'item.patch', item: random.pick(['0/0', '1/1']), data: { x: step } });
          replicaOf(sections, window, step + 2, replica);
          const next = withWrites({ sections: replica.sections, index: replica.index }, pending, window.first === undefined ? null : window, index).shown?.sections ?? replica.sections;
          for (const [id, item] of items(next)) {
            const was = old.get(id);
            if (was === undefined || JSON.stringify(was) !== JSON.stringify(item) || was.section !== item.section || was.isPending !== item.isPending) continue;
            assert.equal(item, was, place);
            seen.kept += 1;
          }
        }
        before = index;
      }
    }
    assert.ok(Object.values(seen).every((count) => count > 100), JSON.stringify(seen));
  });
}

test('random writes through interruptions end as the daemon has decided', async () => {
  const random = new Random(seed);
  const seen = {};
  for (let round = 0; round < 10; round++) {
    const scene = writingScene({ sections: sectionsOf(5, 4, 2) });
    const feeds = [null, { first: 3 }, { sections: ['s1'], from: 1, count: 2 }].map((window) => scene.store.feed('f', window));
    for (const feed of feeds) scene.listen(feed);
    await scene.pass();
    const outcomes = [];
    const answers = [
      (write) => write.publish(),
      (write) => write.publish(),
      (write) => {
        write.answer(202, random.chance(20) ? { offset: undefined } : {});
        return write.publishOnly;
      },
      (write) => write.answer(503, { code: 'not-written', detail: 'perhaps' }),
      (write) => {
        write.publishOnly();
        write.answer(503, { code: 'not-written', detail: 'perhaps' });
      },
      (write) => write.answer(422, { code: 'limit-exceeded', detail: 'too large' }),
    ];
    const later = [];
    const answer = () => {
      const write = scene.waiting.shift();
      if (write === undefined) return;
      const events = [write.events].flat();
      let sections = scene.server.sections;
      const isTaken = events.every((event) => {
        const isFine = isAccepted(sections, event);
        if (isFine) sections = afterRecord(sections, event);
        return isFine;
      });
      const publish = isTaken ? random.pick(answers)(write) : write.answer(422, { code: 'unknown-anchor', detail: 'no' });
      if (publish) later.push(publish);
    };
    for (let step = 0; step < 25; step++) {
      random.pick([
        () => outcomes.push(random.pick(feeds).write(random.chance(30) ? [pick.event(random), pick.event(random)] : pick.event(random)).then(() => 'written', ({ name }) => name)),
        answer,
        () => later.shift()?.(),
        () => {
          const event = pick.event(random);
          if (isAccepted(scene.server.sections, event)) scene.server.publish('f', afterRecord(scene.server.sections, event), { through: scene.server.feeds.get('f').head.through });
        },
        () => random.chance(30) && scene.server.cut(),
      ])();
      await scene.pass(random.below(4));
    }
    for (let rest = 0; rest < 60; rest++) {
      answer();
      later.shift()?.();
      await scene.pass(5);
    }
    // The next change says that a record without an offset is published.
    scene.server.publish('f', afterRecord(scene.server.sections, { op: 'section.upsert', section: 's1', data: round }), { through: scene.server.feeds.get('f').head.through });
    await scene.pass(200_000);
    for (const outcome of await Promise.all(outcomes)) seen[outcome] = (seen[outcome] ?? 0) + 1;
    for (const { view, window } of feeds) {
      const place = `round ${round}, ${JSON.stringify(window)}`;
      assert.deepEqual(copy(view.sections), copy(slice(scene.server.sections, window ?? {})), place);
      assert.deepEqual([view.isPending, view.standing.name], [false, 'live'], place);
    }
    await scene.close();
  }
  assert.deepEqual(Object.keys(seen).sort(), ['WriteFailed', 'WriteRejected', 'written']);
});

/** Asserts that it is what the daemon will publish; of a window, what is known of it. */
function assertIsShown(shown, expected, before, window, event, place) {
  if (window.first === undefined) return assert.deepEqual(copy(shown), expected, place);
  const known = new Set([...slice(before, window).flatMap(({ items }) => items.map(({ id }) => id))]);
  // An item, or an anchor, that the window does not have: only the daemon knows.
  const all = new Set(before.flatMap(({ items }) => items.map(({ id }) => id)));
  const anchor = event.at?.before ?? event.at?.after;
  if (event.op.startsWith('item.') && ((all.has(event.item) && !known.has(event.item)) || (anchor !== undefined && !known.has(anchor)))) return undefined;
  known.add(event.item);
  for (const section of slice(expected, window)) {
    const unknown = section.items.findIndex(({ id }) => !known.has(id));
    const items = unknown < 0 ? section.items : section.items.slice(0, unknown);
    const own = shown.find(({ id }) => id === section.id);
    assert.deepEqual(copy(own.items), items, place);
    assert.equal(own.of, expected.find(({ id }) => id === section.id).items.length, place);
  }
  return undefined;
}

/** Asserts that what differs from what is confirmed is marked as pending, and what does not is the same object. */
function assertIsMarked(shown, replica, place) {
  const content = ({ id, kind, section, data }) => JSON.stringify([id, kind, section, data]);
  for (const section of shown) {
    for (const item of section.items) {
      const confirmed = replica.item(item.id);
      const isSame = confirmed !== undefined && content(confirmed) === content(item);
      if (!isSame) assert.equal(item.isPending, true, place);
      if (!item.isPending) assert.equal(item, confirmed, place);
    }
    if (section === replica.section(section.id)) assert.equal(section.isPending, false);
  }
}
