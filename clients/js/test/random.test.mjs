// replica.js with the command's output for random records, compared with an oracle that reads only the records.

import assert from 'node:assert/strict';
import test from 'node:test';
import { animated } from './support/animated.mjs';
import { Follower, History, contentOf, reloadOf } from './support/follower.mjs';
import { Random, seed } from './support/random.mjs';
import { certainRecords, randomRecords } from './support/records.mjs';
import { replay } from './support/replay.mjs';

/** Differences wherever possible. */
const onlyDifferences = {
  'planner.maxChangedFraction': 1e9, 'planner.maxKindFraction': 1e9, 'planner.maxBytesRatio': 1e9,
  'keyframe.maxBytesRatio': 1e9,
};

const cases = [
  { name: 'each record for itself', count: 1500, settings: { 'coalesce.window': 0, ...onlyDifferences } },
  { name: 'several in a window', count: 1500, settings: { 'coalesce.window': 200, ...onlyDifferences } },
  { name: 'as configured, with many keyframes', count: 1500, settings: { 'keyframe.maxDeltas': 3 } },
  {
    name: 'split into parts',
    count: 800,
    dataBytes: 20000,
    items: 120,
    settings: {
      'coalesce.window': 500, 'limits.maxDataBytes': 20000, 'output.maxMessageBytes': 85536, ...onlyDifferences,
    },
  },
];

for (const [number, { name, settings, ...options }] of cases.entries()) {
  const random = new Random(seed + number);
  const records = [...randomRecords(random, options), ...certainRecords(options)];
  const { output, rejected } = replay(records, settings);
  const history = new History(records, rejected);

  test(`every changeset leads to the oracle's state: ${name}`, () => {
    const follower = new Follower();
    const seen = {};
    let [ordered, full] = [0, 0];
    for (const line of output) {
      const outcome = follower.apply(line);
      seen[outcome.type] = (seen[outcome.type] ?? 0) + 1;
      if (outcome.type !== 'applied') continue;
      const replica = follower.replica(line.partition, outcome.feed);
      const content = contentOf(replica);
      assert.deepEqual(content, history.stateOf(replica), `offset ${line.offset}`);
      for (const { order, keep, items } of content) {
        if (order !== undefined && items.length > 1) ordered += 1;
        if (keep === items.length) full += 1;
      }
    }
    assert.ok(ordered > 0 && full > 0, `${ordered} ordered and ${full} full sections`);
    const allowed = ['applied', 'removed', 'skipped', 'waiting'];
    assert.deepEqual(Object.keys(seen).filter((type) => !allowed.includes(type)), []);
    assert.ok(seen.applied > 50 && seen.removed > 0, JSON.stringify(seen));
    if (options.dataBytes) assert.ok(seen.waiting > 0, 'no changeset was split');
    history.assertIsHeld(follower.replicas);
  });

  test(`a page that applies the reported changes has the same order: ${name}`, () => {
    const follower = new Follower();
    const pages = new Map();
    for (const line of output) {
      const outcome = follower.apply(line);
      if (outcome.type !== 'applied') continue;
      const { sections } = follower.replica(line.partition, outcome.feed);
      const whole = sections.map(({ id, items }) => ({ id, items: items.map((item) => item.id) }));
      const { feed, change } = outcome;
      const page = change.mode === 'reload' ? whole : animated(pages.get(feed), change);
      assert.deepEqual(page, whole, `offset ${line.offset}`);
      pages.set(feed, page);
    }
  });

  test(`an element is the same object exactly as long as nothing changes it: ${name}`, () => {
    const follower = new Follower();
    const shown = new Map();
    const seen = { kept: 0, replaced: 0, moved: 0 };
    for (const line of output) {
      const outcome = follower.apply({ ...line, value: line.value && JSON.stringify(line.value) });
      const before = shown.get(outcome.feed);
      const { sections = [], index } = follower.replica(line.partition, outcome.feed) ?? {};
      if (before !== undefined) assert.deepEqual(before.text, JSON.stringify(before.sections), 'what was handed out has changed');
      if (before !== undefined) assertIsFoundIn(before);
      if (before !== undefined && outcome.type === 'applied') assertIsKept(before.sections, sections, outcome.change, seen);
      shown.set(outcome.feed, { sections, index, text: JSON.stringify(sections) });
    }
    assert.ok(Object.values(seen).every((count) => count > 0), JSON.stringify(seen));
  });

  test(`a follower of a compacted topic ends with the same feeds: ${name}`, () => {
    for (let round = 0; round < 10; round++) {
      const follower = new Follower();
      for (const line of compacted(output, random)) follower.apply(line);
      history.assertIsHeld(follower.replicas);
    }
  });

  test(`lost, repeated or swapped records never lead to a wrong state: ${name}`, () => {
    let asked = 0;
    for (let round = 0; round < 5; round++) {
      const truth = new Follower();
      const wanted = new Set();
      const follower = new Follower({ onRefetch: (replica) => wanted.add(replica) });
      for (const { line, received } of disturbed(output, random)) {
        truth.apply(line);
        for (const record of received) {
          const outcome = follower.apply(record);
          const replica = follower.replica(record.partition, outcome.feed);
          if (replica?.status === 'must-refetch' && ['gap', 'mismatch', 'other-epoch'].includes(outcome.type)) {
            assert.ok(wanted.has(replica), 'it asks for a refetch');
          }
          if (replica === undefined || replica.status === 'bootstrapping') continue;
          assert.deepEqual(contentOf(replica), history.stateOf(replica));
        }
      }
      // A server with the correct state answers at the end.
      for (const replica of follower.replicas) {
        const right = truth.replicas.find(({ feed }) => feed === replica.feed);
        if (right === undefined) {
          replica.remove();
        } else {
          replica.apply(reloadOf(right));
          assert.equal(replica.status, 'up-to-date');
          assert.deepEqual(contentOf(replica), contentOf(right));
        }
      }
      asked += wanted.size;
    }
    assert.ok(asked > 0, 'nothing had to be fetched again');
  });
}

/** Asserts that an index finds the elements of its time, and no others. */
function assertIsFoundIn({ sections, index }) {
  for (const section of sections) {
    assert.equal(index?.section(section.id), section);
    for (const item of section.items) assert.equal(index?.item(item.id), item);
  }
  assert.equal(index?.item('nowhere'), undefined);
}

/** Asserts that only what a change names is another object. */
function assertIsKept(before, after, { mode, sections: { reconfigure, reload }, items }, seen) {
  const place = (sections) => new Map(sections.flatMap((section) => section.items.map((item) => [item.id, { item, section: section.id }])));
  const named = (lists) => new Set(lists.flat().map(({ id }) => id));
  const changed = named([items.reconfigure, items.reload, items.insert]);
  const old = place(before);
  for (const [id, { item, section }] of place(after)) {
    const was = old.get(id);
    if (was === undefined) continue;
    const isSame = was.section === section && was.item.kind === item.kind && was.item.dataText === item.dataText;
    if (mode === 'reload' || !changed.has(id)) assert.equal(item === was.item, isSame, id);
    else assert.notEqual(item, was.item, id);
    seen[item === was.item ? 'kept' : 'replaced'] += 1;
  }
  seen.moved += items.move.length;
  const changedSections = named([reconfigure, reload]);
  for (const section of after) {
    const was = before.find(({ id }) => id === section.id);
    if (was === undefined || changedSections.has(section.id)) continue;
    const text = ({ dataText, order, keep }) => JSON.stringify([dataText, order, keep]);
    const isSame = was.items.length === section.items.length && was.items.every((item, at) => item === section.items[at])
      && text(was) === text(section);
    assert.equal(section === was, isSame, section.id);
  }
}

/** A log after compaction: before some offset, the newest record of each key, perhaps without nulls. */
function compacted(lines, random) {
  const end = random.below(lines.length + 1);
  const keepsNulls = random.chance(50);
  const newest = new Map(lines.slice(0, end).map((line) => [`${line.partition}/${line.key}`, line]));
  return lines.filter((line, at) => {
    return at >= end || (newest.get(`${line.partition}/${line.key}`) === line && (keepsNulls || line.value !== null));
  });
}

/** Lines with random faults in their delivery. */
function disturbed(lines, random) {
  let held = [];
  return lines.map((line) => {
    const late = held;
    held = [];
    switch (random.below(40)) {
      case 0: return { line, received: late };
      case 1: return { line, received: [line, ...late, line] };
      case 2:
        held = [line];
        return { line, received: late };
      default: return { line, received: [line, ...late] };
    }
  });
}
