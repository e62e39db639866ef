// replica.js has the expected states after each record of the vectors in conformance/replica.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';
import { ReplicaFault, ReplicaPartition } from '../../web/replica.js';

const folder = new URL('../../conformance/', import.meta.url);
const linesOf = (name) => readFileSync(new URL(name, folder), 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));

/** A stream's reader receives bytes that are not UTF-8 as text. */
const textOf = (line) => 'payloadBase64' in line ? Buffer.from(line.payloadBase64, 'base64').toString('utf8') : line.payload;

/** Plain values: a replica's are objects of classes. */
const plain = (value) => JSON.parse(JSON.stringify(value));

/** Replicas of all partitions, and the feeds that are stale according to the outcomes. */
class Follower {
  #partitions = new Map();
  #stale = new Set();

  apply(line) {
    const partition = this.#partitions.get(line.partition) ?? new ReplicaPartition();
    this.#partitions.set(line.partition, partition);
    const name = line.key.slice(line.key.indexOf('/') + 1);
    const feed = `${line.partition}/${name}`;
    let outcome = { type: 'refused' };
    try {
      outcome = partition.apply(line.key, textOf(line));
    } catch (error) {
      if (!(error instanceof ReplicaFault)) throw error;
    }
    if (['refused', 'gap', 'other-epoch', 'mismatch'].includes(outcome.type)) this.#stale.add(feed);
    if (['applied', 'removed'].includes(outcome.type)) this.#stale.delete(feed);
    const replica = partition.replica(name);
    // A skipped record of a feed without a replica means that the feed is gone.
    if (outcome.type === 'skipped' && replica === undefined) this.#stale.delete(feed);
    return { outcome, replica, isStale: this.#stale.has(feed) || replica?.status === 'must-refetch' };
  }
}

for (const file of readdirSync(new URL('replica/', folder)).sort()) {
  test(`replica.js passes the vector ${file}`, () => {
    const follower = new Follower();
    for (const [number, line] of linesOf(`replica/${file}`).entries()) {
      const place = `line ${number + 1}, key ${line.key}`;
      const { outcome, replica, isStale } = follower.apply(line);
      const { then } = line;
      if (then === null) {
        assert.equal(outcome.type, 'refused', place);
        continue;
      }
      assert.equal(isStale, then.stale, `${place}: stale after ${outcome.type}`);
      assert.equal(replica?.epoch ?? null, then.epoch, place);
      if (then.epoch === null) continue;
      assert.equal(replica.revision, then.revision, place);
      assert.equal(replica.checksum, then.checksum, place);
      if (then.sections) assert.deepEqual(plain(replica.sections), plain(then.sections), place);
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
