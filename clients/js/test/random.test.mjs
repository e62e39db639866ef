// replica.js with the command's output for random records: the daemon's own states, pages that apply the reported changes, and what stays the same object.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import test from 'node:test';
import { animated } from './support/animated.mjs';
import { python } from './support/daemon.mjs';
import { contentOf, Follower } from './support/follower.mjs';
import { seed } from './support/random.mjs';
import { replay, root } from './support/replay.mjs';

const script = `import json, random
from random_records import RandomRecords
for line in RandomRecords(random.Random(${seed})).lines(1500): print(json.dumps(line))`;
const records = execFileSync(python, ['-c', script], { cwd: join(root, 'Tests/SchemaTests'), encoding: 'utf8', maxBuffer: 2 ** 29 });
const cases = {
  'each record for itself, as a difference': {
    'coalesce.window': 0, 'planner.maxChangedFraction': 1e9, 'planner.maxKindFraction': 1e9, 'planner.maxBytesRatio': 1e9, 'keyframe.maxBytesRatio': 1e9,
  },
  'as configured, with many keyframes': { 'keyframe.maxDeltas': 3 },
};
const nameOf = ({ feed, epoch, revision }) => JSON.stringify([feed, epoch, revision]);

for (const [name, settings] of Object.entries(cases)) {
  test(`random changesets lead to the daemon's states, and report what they change: ${name}`, () => {
    // With a keyframe after each changeset.
    const states = new Map();
    for (const { value } of replay(records, { ...settings, 'keyframe.maxBytesRatio': 0 }).output) {
      if (value?.mode === 'reload') states.set(nameOf(value), (value.sections ?? []).map(({ items = [], ttl: _ttl, ...section }) => ({ ...section, items })));
    }
    const follower = new Follower();
    const shown = new Map();
    const seen = { applied: 0, removed: 0, skipped: 0, kept: 0, replaced: 0, moved: 0 };
    for (const line of replay(records, settings).output) {
      const { feed, type, change } = follower.apply({ ...line, value: line.value && JSON.stringify(line.value) });
      assert.ok(type in seen, `${type} at ${line.offset}`);
      seen[type] += 1;
      const replica = follower.replica(feed);
      const { sections = [], index } = replica ?? {};
      const ids = sections.map(({ id, items }) => ({ id, items: items.map((item) => item.id) }));
      const before = shown.get(feed);
      if (before !== undefined) {
        assert.deepEqual(before.text, JSON.stringify(before.sections), 'what was handed out has changed');
        assertIsFoundIn(before);
      }
      if (type === 'applied') {
        assert.deepEqual(contentOf(replica), states.get(nameOf(replica)), `offset ${line.offset}`);
        if (change.mode !== 'reload') assert.deepEqual(animated(before.ids, change), ids, `offset ${line.offset}`);
        if (before !== undefined) assertIsKept(before.sections, sections, change, seen);
      }
      shown.set(feed, { sections, index, ids, text: JSON.stringify(sections) });
    }
    assert.ok(Object.values(seen).every((count) => count > 0), JSON.stringify(seen));
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
    const isSame = was.section === section && was.item.kind === item.kind && was.item.dataText === item.dataText && was.item.expires === item.expires
      && JSON.stringify(was.item.refs) === JSON.stringify(item.refs);
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
