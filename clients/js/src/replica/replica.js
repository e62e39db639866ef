/** A replica that asks for reloads. SPDX-License-Identifier: Apache-2.0 */

import { parsedWithText } from './json-text.js';
import { PlainReplica } from './plain-replica.js';

/** @typedef {import('../../types/replica.js').Outcome} Outcome */
/** @typedef {import('../../types/replica.js').ReplicaOptions} ReplicaOptions */

/** A replica that knows whether it is up to date, and asks for a reload. */
export class Replica extends PlainReplica {
  /** @type {any} The newest changeset that could not be applied: its epoch and its revision. */
  #missed = null;
  #isRefetchAsked = false;
  #onRefetch;

  /**
   * @param {string} feed The feed's id.
   * @param {ReplicaOptions} [options]
   */
  constructor(feed, options) {
    super(feed);
    this.#onRefetch = options?.onRefetch;
  }

  /**
   * - `bootstrapping`: there is no state, because no reload has arrived yet or the feed was deleted.
   * - `up-to-date`: the state includes the newest changeset received.
   * - `must-refetch`: a changeset was missed; the state is outdated, and a reload is needed.
   *
   * @returns {'bootstrapping' | 'up-to-date' | 'must-refetch'}
   */
  get status() {
    if (this.epoch === null) return 'bootstrapping';
    return this.isStale || this.#missed !== null ? 'must-refetch' : 'up-to-date';
  }

  get itemCount() { return this.sections.reduce((count, { items }) => count + items.length, 0); }

  /** @param {string | object} changeset @returns {Outcome} */
  apply(changeset) {
    const record = typeof changeset === 'string' ? this.#parsed(changeset) : /** @type {any} */ (changeset);
    const outcome = super.apply(record);
    const { type } = outcome;
    const { epoch, revision } = record;
    if (type === 'applied' && (this.#missed?.epoch !== epoch || this.#missed?.revision <= revision)) this.#missed = null;
    const isNewer = this.#missed?.epoch !== epoch || this.#missed?.revision < revision;
    if (isNewer && (type === 'gap' || type === 'other-epoch' || type === 'mismatch')) this.#missed = { epoch, revision };
    const isAnswered = record.mode === 'reload' && type !== 'waiting';
    if (this.status !== 'must-refetch' || isAnswered) this.#isRefetchAsked = false;
    this.#askForRefetch();
    return outcome;
  }

  /** @param {string} text */
  #parsed(text) {
    try {
      return parsedWithText(text);
    } catch (fault) {
      this.becomeStale();
      throw fault;
    }
  }

  becomeStale() {
    super.becomeStale();
    this.#askForRefetch();
  }

  expectReload() {
    super.expectReload();
    this.#missed = null;
  }

  /** @returns {Outcome} */
  remove() {
    this.#isRefetchAsked = false;
    this.#missed = null;
    return super.remove();
  }

  #askForRefetch() {
    if (this.status === 'must-refetch' && !this.#isRefetchAsked) {
      this.#isRefetchAsked = true;
      this.#onRefetch?.(this);
    }
  }
}
