// replica.js has the expected states after each record of the vectors in conformance/replica, and each message of those in window;
// writes.js shows what those in pending say.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';
import { Item, lazyIndex, Section } from '../src/replica/elements.js';
import { ReplicaFault, ReplicaPartition } from '../src/replica.js';
import { withWrites } from '../src/draft.js';
import * as elements from '../src/replica/elements.js';
import { Follower, WindowFollower } from './support/follow-vectors.mjs';

const folder = new URL('../../../conformance/', import.meta.url);
const linesOf = (name) => readFileSync(new URL(name, folder), 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));

/** Plain values: a replica's are objects of classes. */
/** @param {any} value As JSON, and without ends, which the vectors do not have. */
const plain = (value) => JSON.parse(JSON.stringify(value, (name, member) => (name === 'expires' ? undefined : member)));

for (const file of readdirSync(new URL('replica/', folder)).sort()) {
  test(`replica.js passes the vector ${file}`, () => {
    const follower = new Follower();
    for (const [number, line] of linesOf(`replica/${file}`).entries()) {
      const place = `line ${number + 1}, key ${line.key}`;
      const { type, state } = follower.apply(line);
      const { then } = line;
      if (then === null) {
        assert.equal(type, 'refused', place);
        continue;
      }
      for (const name of ['stale', 'waiting', 'epoch', 'revision', 'checksum']) {
        assert.equal(state[name], then[name], `${place}: ${name} after ${type}`);
      }
      if (then.sections) assert.deepEqual(plain(state.sections), plain(then.sections), place);
    }
  });
}

for (const file of readdirSync(new URL('window/', folder)).sort()) {
  test(`replica.js passes the vector ${file} of a window`, () => {
    const follower = new WindowFollower();
    for (const [number, line] of linesOf(`window/${file}`).entries()) {
      const { type, state } = follower.apply(line);
      for (const [name, value] of Object.entries(line.then)) {
        if (name !== 'feed') assert.deepEqual(plain(state[name]), plain(value), `line ${number + 1}: ${name} after ${type}`);
      }
    }
  });
}

for (const file of readdirSync(new URL('pending/', folder)).sort()) {
  test(`writes.js passes the vector ${file} of pending writes`, () => {
    for (const { title, window, state, writes, shown } of linesOf(`pending/${file}`)) {
      const sections = state.map((section) => new Section(
        section.id, { ...section, dataText: JSON.stringify(section.data) },
        section.items.map((item) => new Item(item.id, section.id, item.kind, { data: item.data, dataText: JSON.stringify(item.data) })),
        section.from, section.of,
      ));
      const confirmed = { sections, index: lazyIndex(sections) };
      const pending = writes.map((events) => ({ events, written: null, isPublished: false }));
      const found = withWrites(elements, confirmed, pending, window, confirmed.index)?.sections ?? sections;
      const values = found.map((section) => plain({ ...section.toJSON(), from: section.from, of: section.of }));
      assert.deepEqual(values, shown, title);
    }
  });
}

test('keys are parsed as in the vectors', () => {
  for (const { key, kind, feed } of linesOf('keys.ndjson')) {
    const apply = () => new ReplicaPartition().apply(key, null);
    if (kind === null) assert.throws(apply, ReplicaFault, key);
    else assert.equal(apply().feed, feed, key);
  }
});
