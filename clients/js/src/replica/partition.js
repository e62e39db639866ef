/** The feeds of a partition, from its records. SPDX-License-Identifier: Apache-2.0 */

import { checked, greatestKeyNumber } from './changeset.js';
import { quoted, ReplicaFault } from './fault.js';
import { Replica } from './replica.js';

/** @typedef {import('../../types/replica.js').Outcome} Outcome */

/**
 * The feeds of one partition of the changesets topic, from its committed records (`isolation.level=read_committed`), in
 * the order of their offsets.
 */
export class ReplicaPartition {
  /** @type {Map<string, Replica>} */
  #replicas = new Map();
  #options;

  /** @param {import('../../types/replica.js').ReplicaOptions} [options] Those of each replica. */
  constructor(options) { this.#options = options; }

  /**
   * Replicas with a state, and those that need one.
   * @returns {Replica[]}
   */
  get replicas() { return [...this.#replicas.values()]; }

  /** @param {string} feed */
  replica(feed) { return this.#replicas.get(feed); }

  /**
   * Applies a record.
   *
   * @param {string} key `k<part>/<feed>` or `d<n>/<feed>`.
   * @param {string | object | null} value A changeset as text or parsed, or null for a Kafka null.
   * @returns {Outcome}
   * @throws {ReplicaFault} If the record is not valid on a changesets topic; the feed in its key, if there is one, is stale
   *   then.
   */
  apply(key, value) {
    const [, kind, number, feed] = /^(k(?=0\/)|[kd](?=[1-9]))([0-9]{1,7})\/(.+)$/s.exec(key) ?? [];
    if (feed === undefined || Number(number) > greatestKeyNumber) {
      throw new ReplicaFault('invalid-key', `the key ${quoted(key)} is neither k<part>/<feed> nor d<n>/<feed>`);
    }
    const replica = this.#replicas.get(feed) ?? new Replica(feed, this.#options);
    if (value === null) {
      // A follower that missed the deletion sees only its nulls. Only a deletion makes deltas null, so a feed without a
      // state is not waited for any more.
      const isRemoved = kind === 'k' ? Number(number) === 0 : replica.status === 'bootstrapping';
      if (!isRemoved) return { type: 'skipped', feed };
      this.#replicas.delete(feed);
      return replica.remove();
    }
    this.#replicas.set(feed, replica);
    let record;
    try {
      record = checked(value);
      if (record.mode === 'reload' ? kind !== 'k' || Number(number) !== record.part : kind !== 'd') {
        throw new ReplicaFault('invalid-changeset', `the key ${quoted(key)} is not that of its value`);
      }
    } catch (fault) {
      replica.becomeStale();
      throw fault;
    }
    const outcome = replica.apply(record);
    if (replica.status === 'bootstrapping' && !replica.isStale && !replica.isWaiting) this.#replicas.delete(feed);
    return outcome;
  }
}
