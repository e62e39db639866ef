// What replica.js reports: changes, and faults with their codes and requests.

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

/** The vectors in conformance/replica have many more faults; these are the codes, and how one of each is planted. */
const faults = {
  'wrong checksum': ['checksum', (it) => { it.checksum = '00000001'; }],
  'entry left out': ['position', (it) => { it.items.delete = []; }],
  'known item inserted': ['unknown-element', (it) => { it.items.insert[0].id = 'a'; }],
  'insert without data': ['invalid-changeset', (it) => { delete it.items.insert[0].data; }],
};

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

test('an invalid changeset is refused, and makes the replica stale', () => {
  const before = contentOf(replicaAfter(first).replica);
  for (const value of ['{', '7', { ...second, mode: 'patch' }, { ...second, feed: 'g' }]) {
    const { replica, asked } = replicaAfter(first);
    assert.throws(() => replica.apply(value), { name: 'ReplicaFault', code: 'invalid-changeset' });
    assert.deepEqual([contentOf(replica), replica.status, asked], [before, 'must-refetch', [1]]);
    assert.equal(replica.apply(second).type, 'gap');
  }
});
