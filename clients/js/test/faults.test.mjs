// Faults that replica.js must detect, each planted by hand, and its reaction.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Replica, ReplicaFault, xxh32 } from '../src/replica.js';
import { contentOf, reloadOf } from './support/follower.mjs';
import { replay } from './support/replay.mjs';

const copy = (value) => JSON.parse(JSON.stringify(value));
const settings = {
  'coalesce.window': 0, 'planner.maxChangedFraction': 1e9, 'planner.maxBytesRatio': 1e9, 'keyframe.maxBytesRatio': 1e9,
};

/** A feed whose second changeset has an entry of every kind. */
const input = [
  {
    op: 'feed.replace',
    sections: [
      { id: 'gone', items: ['x', 'y', 'z'] }, { id: 'top', items: ['a', 'b', 'c', 'd', 'e'] }, { id: 'end' },
      { id: 'low', items: ['q'] },
    ],
  },
  [
    { op: 'item.move', item: 'y', section: 'end' },
    { op: 'section.delete', section: 'gone' },
    { op: 'section.upsert', section: 'new', data: 1, at: 'first' },
    { op: 'section.move', section: 'low', at: { index: 1 } },
    { op: 'section.upsert', section: 'top', data: 2 },
    { op: 'section.reload', section: 'end' },
    { op: 'item.delete', item: 'b' },
    { op: 'item.move', item: 'e', at: 'first' },
    { op: 'item.upsert', item: 'n', section: 'top', at: { index: 2 } },
    { op: 'item.upsert', item: 'c', data: 3 },
    { op: 'item.upsert', item: 'd', kind: 'ad' },
  ],
  { op: 'item.move', item: 'a', at: 'last' },
  { op: 'item.upsert', item: 'c', data: 4 },
].map((value, n) => ({ ts: n, key: 'f', value }));
const [first, second, third, fourth] = replay(input, settings).output.map(({ value }) => value);

/** A replica after these changesets, and its requests. */
function replicaAfter(...changesets) {
  const asked = [];
  const replica = new Replica('f', { onRefetch: ({ revision }) => asked.push(revision) });
  for (const changeset of changesets) assert.equal(replica.apply(changeset).type, 'applied');
  return { replica, asked };
}

test('the hash is XXH32', () => {
  const hashes = ['', 'a', 'abc', 'Nobody inspects the spammish repetition'].map((text) => xxh32(Buffer.from(text)));
  assert.deepEqual(hashes, [0x02cc5d05, 0x550d7456, 0x32d153ff, 0xe2293b2f]);
});

test('changes are reported with their positions, in the terms of the changeset', () => {
  const { replica } = replicaAfter(first);
  const { change } = replica.apply(second);
  assert.deepEqual(change.sections.insert, [{ id: 'new', index: 0 }]);
  assert.deepEqual(change.items.move, second.items.move);
  assert.deepEqual(change.items.reload, [{ id: 'd', section: 'top', index: 4 }]);
  assert.equal(replica.item('y').section, 'end');
});

test('text and parsed changesets are equivalent, and arguments are not modified', () => {
  const given = copy(second);
  const { replica } = replicaAfter(first, given);
  assert.deepEqual(given, second);
  assert.deepEqual(contentOf(replicaAfter(JSON.stringify(first), JSON.stringify(second)).replica), contentOf(replica));
});

/** Faults that do not change base and revision: the expected code, and how each is planted. */
const faults = {
  'wrong checksum': ['checksum', (it) => { it.checksum = '00000001'; }],
  'changed kind': ['checksum', (it) => { it.items.reload[0].kind = 'story'; }],
  // The elements after it are then not at the positions in other entries.
  'entry left out': ['position', (it) => { it.items.delete = []; }],
  'unknown item deleted': ['position', (it) => { it.items.delete[0].id = 'nobody'; }],
  'known item inserted': ['unknown-element', (it) => { it.items.insert[0].id = 'a'; }],
  'known section inserted': ['unknown-element', (it) => { it.sections.insert[0].id = 'top'; }],
  'unknown section': ['unknown-element', (it) => { it.items.insert[0].section = 'nowhere'; }],
  'move into a deleted section': ['unknown-element', (it) => { it.items.move[0].to.section = 'gone'; }],
  'entry twice': ['position', (it) => { it.items.delete.push(it.items.delete[0]); }],
  'insert past the end': ['position', (it) => { it.items.insert[0].index = 99; }],
  'negative index': ['position', (it) => { it.items.insert[0].index = -1; }],
  'index as text': ['position', (it) => { it.items.insert[0].index = '2'; }],
  'move without its place': ['unknown-element', (it) => { delete it.items.move[0].to; }],
  'move without its origin': ['unknown-element', (it) => { delete it.items.move[0].from; }],
  'insert without data': ['invalid-changeset', (it) => { delete it.items.insert[0].data; }],
  'insert without kind': ['invalid-changeset', (it) => { delete it.items.insert[0].kind; }],
  'empty id': ['invalid-changeset', (it) => { it.items.insert[0].id = ''; }],
  'id of 256 bytes': ['invalid-changeset', (it) => { it.items.insert[0].id = '\u00e9'.repeat(128); }],
  'list that is none': ['invalid-changeset', (it) => { it.items.insert = { id: 'n' }; }],
  'entry that is none': ['invalid-changeset', (it) => { it.items.insert = [null]; }],
};
for (const group of ['sections', 'items']) {
  for (const list of ['delete', 'reconfigure', 'reload']) {
    faults[`index of ${group}.${list} off by one`] = ['position', (it) => { it[group][list][0].index += 1; }];
  }
}
faults['from of sections.move off by one'] = ['position', (it) => { it.sections.move[0].from -= 1; }];
faults['from of items.move off by one'] = ['position', (it) => { it.items.move[0].from.index -= 1; }];

// Two entries with swapped positions: the list is complete, but in the wrong order.
faults['swapped indices'] = ['checksum', (it) => {
  const [a, b] = [it.items.insert[0], it.items.move.find(({ to }) => to.section === 'top').to];
  [a.index, b.index] = [b.index, a.index];
}];
faults['to of items.move off by one'] = ['checksum', (it) => { it.items.move[0].to.index += 1; }];
// The reconfigured section is then not at its entry's position.
faults['to of sections.move off by one'] = ['position', (it) => { it.sections.move[0].to += 1; }];

for (const [name, [code, plant]] of Object.entries(faults)) {
  test(`a faulty changeset is not applied, and a reload is requested: ${name}`, () => {
    const { replica, asked } = replicaAfter(first);
    const before = { content: contentOf(replica), checksum: replica.checksum, revision: replica.revision };
    const changeset = copy(second);
    plant(changeset);
    const outcome = replica.apply(changeset);
    assert.equal(outcome.type, 'mismatch');
    assert.ok(outcome.fault instanceof ReplicaFault);
    assert.equal(outcome.fault.code, code, outcome.fault.message);
    assert.deepEqual({ content: contentOf(replica), checksum: replica.checksum, revision: replica.revision }, before);
    assert.deepEqual([replica.status, asked], ['must-refetch', [1]]);
    assert.equal(replica.apply(second).type, 'gap', 'deltas wait for the reload');
    const right = replicaAfter(first, second).replica;
    assert.equal(replica.apply(reloadOf(right)).type, 'applied');
    assert.deepEqual([replica.status, contentOf(replica)], ['up-to-date', contentOf(right)]);
    assert.equal(replica.apply(third).type, 'applied');
  });
}

test('a missing changeset is a gap, reported once, and a reload closes it', () => {
  const { replica, asked } = replicaAfter(first);
  assert.deepEqual(replica.apply(third), { type: 'gap', feed: 'f', revision: 1, base: 2 });
  assert.equal(replica.apply(fourth).type, 'gap');
  assert.deepEqual([replica.status, asked, replica.revision], ['must-refetch', [1], 1]);
  assert.equal(replica.apply(reloadOf(replicaAfter(first, second, third, fourth).replica)).type, 'applied');
  assert.deepEqual([replica.status, replica.revision], ['up-to-date', 4]);
});

test('a reload older than what was missed is applied, and another one requested', () => {
  const { replica, asked } = replicaAfter(first);
  replica.apply(fourth);
  assert.equal(replica.apply(reloadOf(replicaAfter(first, second).replica)).type, 'applied');
  assert.deepEqual([replica.status, replica.revision, asked], ['must-refetch', 2, [1, 2]]);
  assert.equal(replica.apply(third).type, 'applied');
  assert.equal(replica.apply(fourth).type, 'applied');
  assert.equal(replica.status, 'up-to-date');
});

test('deltas before the first reload are skipped', () => {
  const { replica, asked } = replicaAfter();
  assert.equal(replica.status, 'bootstrapping');
  assert.deepEqual(replica.apply(second), { type: 'gap', feed: 'f', revision: null, base: 1 });
  assert.deepEqual([replica.status, asked], ['bootstrapping', []]);
});

test('an invalid changeset is refused, and makes the replica stale', () => {
  const before = contentOf(replicaAfter(first).replica);
  const bad = [
    '{', '[]', 'null', '7', { ...second, mode: 'patch' }, { ...second, revision: -1 }, { ...second, base: '1' },
    { ...second, checksum: 'ABCDEF00' }, { ...second, feed: 'g' }, { ...second, part: 2, parts: 2 },
    ...['feed', 'epoch', 'revision', 'base', 'mode', 'time', 'through', 'checksum'].map((name) => {
      return { ...second, [name]: undefined };
    }),
  ];
  for (const value of bad) {
    const { replica, asked } = replicaAfter(first);
    assert.throws(() => replica.apply(value), { name: 'ReplicaFault', code: 'invalid-changeset' });
    assert.deepEqual([contentOf(replica), replica.status, asked], [before, 'must-refetch', [1]]);
    assert.equal(replica.apply(second).type, 'gap');
  }
});
