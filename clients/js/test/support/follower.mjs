import assert from 'node:assert/strict';
import { ReplicaPartition } from '../../src/replica.js';
import { afterRecord } from './oracle.mjs';

/** The content of a replica, as plain values. */
export const contentOf = (replica) => JSON.parse(JSON.stringify(replica.sections));

/** A reload with a replica's content: a server's response to a request for the feed. */
export function reloadOf(replica) {
  const { feed, epoch, revision, time, through, checksum } = replica;
  return {
    feed, epoch, revision, base: revision, mode: 'reload', reason: 'keyframe', time, through, checksum,
    sections: contentOf(replica),
  };
}

/** The replicas of all partitions. */
export class Follower {
  #partitions = new Map();
  #options;

  constructor(options) { this.#options = options; }

  /** Applies a line of a replay's output. */
  apply({ partition, key, value }) {
    if (!this.#partitions.has(partition)) this.#partitions.set(partition, new ReplicaPartition(this.#options));
    return this.#partitions.get(partition).apply(key, value);
  }

  replica(partition, feed) { return this.#partitions.get(partition)?.replica(feed); }

  get replicas() { return [...this.#partitions.values()].flatMap((partition) => partition.replicas); }
}

/** The oracle's states of every feed, after each of its records. */
export class History {
  #states = new Map();
  #last = new Map();

  /** @param {object[]} records The input records. @param {object[]} rejected The rejected records. */
  constructor(records, rejected) {
    const offsets = rejected.map(({ headers }) => headers[headers.indexOf('feedstore.source.offset') + 1]);
    const isRejected = new Set(offsets.map(Number));
    for (const { offset, key, value } of records) {
      if (isRejected.has(offset)) continue;
      this.#last.set(key, afterRecord(this.#last.get(key), value));
      this.#states.set(`${offset}/${key}`, this.#last.get(key));
    }
  }

  /** The expected feed for a replica's `through`. */
  stateOf(replica) {
    return this.#states.get(`${Math.max(...Object.values(replica.through))}/${replica.feed}`);
  }

  /** The feeds that exist at the end, by id. */
  get last() { return new Map([...this.#last].filter(([, feed]) => feed !== undefined)); }

  /** Asserts that replicas are up to date and equal the final feeds, without others. */
  assertIsHeld(replicas) {
    for (const replica of replicas) assert.equal(replica.status, 'up-to-date', replica.feed);
    const held = replicas.map((replica) => [replica.feed, contentOf(replica)]).sort();
    assert.deepEqual(held, [...this.last].sort());
  }
}
