/** A copy of a feed, from its changesets. SPDX-License-Identifier: Apache-2.0 */

import { checked, noEntries, placesOf, totalsOf } from './changeset.js';
import { hexadecimal } from './checksum.js';
import { Difference } from './difference.js';
import { lazyIndex } from './elements.js';
import { quoted, ReplicaFault } from './fault.js';
import { FeedState } from './feed-state.js';

/**
 * @typedef {import('./changeset.js').Changeset} Changeset
 * @typedef {import('./changeset.js').EntryLists} EntryLists
 * @typedef {import('../../types/replica.js').Outcome} Outcome
 * @typedef {import('./elements.js').Section} Section
 * @typedef {import('./elements.js').Item} Item
 */

/**
 * A copy of one feed. What it returns never changes: an element that changed is another object afterwards, and so is its section; all
 * others are the same objects, also after a reload. It is what `FeedStore` needs of a `Replica`.
 */
export class PlainReplica {
  /** @type {FeedState | null} */
  #state = null;
  /** @type {Changeset | null} The changeset that the state is from, without its entries. */
  #head = null;
  /** @type {Changeset[]} The parts of a changeset that have arrived so far. */
  #parts = [];
  /** Whether deltas cannot be applied until the next reload. */
  #isStale = false;
  /** Whether the next reload is applied whatever its revision. */
  #isReloadExpected = false;

  /** @param {string} feed The feed's id. */
  constructor(feed) { this.feed = feed; }

  /**
   * The sections with their items, in order; none without a state.
   * @returns {readonly Section[]}
   */
  get sections() { return this.#state?.sections ?? []; }
  /**
   * The version that a difference can continue; null if none can.
   * @returns {{ epoch: string, revision: number } | null}
   */
  get version() { return this.#head === null || this.#isStale ? null : { epoch: this.#head.epoch, revision: this.#head.revision }; }
  /** The feed's epoch; null without a state. */
  get epoch() { return this.#head?.epoch ?? null; }
  /** The state's revision; null without a state. */
  get revision() { return this.#head?.revision ?? null; }
  /** The time of the state's newest record; null without a state. */
  get time() { return this.#head?.time ?? null; }
  /** For each input topic, the offset of the newest record in the state; null without a state. */
  get through() { return this.#head?.through ?? null; }
  /** The checksum of the order and the kinds; null without a state. */
  get checksum() { return this.#state === null ? null : hexadecimal(this.#state.checksum); }

  /** Whether changes were missed, so that only a reload is applied; also without a state. */
  get isStale() { return this.#isStale; }
  /** Whether some parts of a changeset have arrived, and not all. */
  get isWaiting() { return this.#parts.length > 0; }

  /** @param {string} id */
  section(id) { return this.#state?.sectionsById.get(id); }

  /** @param {string} id */
  item(id) { return this.#state?.itemsById.get(id); }

  /**
   * Finds sections and items of the present state by their ids, also when the replica has gone on.
   * @returns {{ section: (id: string) => Section | undefined, item: (id: string) => Item | undefined }}
   */
  get index() {
    const state = this.#state;
    const version = state?.version;
    return lazyIndex(this.sections, () => (state?.version === version ? state : null));
  }

  /** A replica with the same state, which takes over the state of another window when it comes. */
  copy() {
    const copy = new PlainReplica(this.feed);
    copy.#state = this.#state?.copy() ?? null;
    copy.#head = this.#head;
    copy.expectReload();
    return copy;
  }

  /**
   * Applies a changeset, or a part of one. Call it in the order of the topic.
   *
   * @param {string | object} changeset JSON text, or the object that `JSON.parse` or `parsedWithText` makes of it. That of
   *   `JSON.parse` has no text of the data, so elements then have no `dataText`.
   * @returns {Outcome}
   * @throws {ReplicaFault} If it is not a changeset, or is another feed's; the replica is stale then.
   */
  apply(changeset) {
    let record;
    try {
      record = checked(changeset);
      if (record.feed !== this.feed) throw new ReplicaFault('invalid-changeset', `expected feed ${quoted(this.feed)}, found ${quoted(record.feed)}`);
    } catch (fault) {
      this.becomeStale();
      throw fault;
    }
    return this.#take(record);
  }

  /** Notes that something was missed: no difference is applied until the next reload. */
  becomeStale() {
    this.#isStale = true;
    this.#parts = [];
  }

  /** Notes that the state is outdated: the next reload is applied, whatever its revision. */
  expectReload() {
    this.#isStale = this.#isReloadExpected = true;
    this.#parts = [];
  }

  /**
   * Applies an event `window` of a stream: nothing has changed but how much there is outside of the window.
   * @param {any} event @returns {boolean} Whether it was applied.
   */
  applyTotals(event) {
    const totals = totalsOf(event);
    if (this.#state === null || this.#isStale || totals === null || event.epoch !== this.epoch) return false;
    this.#state.setTotals(totals);
    return true;
  }

  /**
   * Drops the state: the feed no longer exists.
   * @returns {Outcome}
   */
  remove() {
    const type = this.#state === null ? 'skipped' : 'removed';
    this.#state = this.#head = null;
    this.#parts = [];
    this.#isStale = this.#isReloadExpected = false;
    return { type, feed: this.feed };
  }

  /** @param {Changeset} record @returns {Outcome} */
  #take(record) {
    if (record.mode === 'reload') return this.#takeReload(record);
    if (record.mode !== 'delete') return this.#takeDelta(record);
    if (this.#state === null || record.epoch === this.epoch) return this.remove();
    // The deletion of an unknown epoch, which implies that the current one ended before it.
    this.#gap(record);
    return { type: 'other-epoch', feed: this.feed };
  }

  /** @param {Changeset} record @returns {Outcome} */
  #takeReload(record) {
    if (!this.#isReloadExpected && record.epoch === this.epoch && record.revision <= (this.revision ?? 0)) {
      const isInStep = !this.#isStale && record.checksum === this.checksum;
      if (record.revision !== this.revision || isInStep) return { type: 'skipped', feed: this.feed };
      // The same revision with another checksum: the current state is wrong.
      this.#isStale = true;
    }
    return this.#join(record, (parts) => {
      this.#state = FeedState.of(parts, totalsOf(record), this.#state);
      this.#isStale = this.#isReloadExpected = false;
      return { sections: noEntries, items: noEntries };
    });
  }

  /** @param {Changeset} record @returns {Outcome} */
  #takeDelta(record) {
    const state = this.#state;
    if (state === null) return this.#gap(record);
    if (record.epoch !== this.epoch) {
      this.#gap(record);
      return { type: 'other-epoch', feed: this.feed };
    }
    if (record.revision <= (this.revision ?? 0)) return { type: 'skipped', feed: this.feed };
    if (this.#isStale || record.base !== this.revision) return this.#gap(record);
    return this.#join(record, (parts) => new Difference(state, parts, totalsOf(record)));
  }

  /**
   * Collects parts until the changeset is complete, and then applies it.
   *
   * @param {Changeset} record
   * @param {(parts: Changeset[]) => { sections: EntryLists, items: EntryLists }} apply
   * @returns {Outcome}
   */
  #join(record, apply) {
    if (record.part === 0) this.#parts = [];
    const [first = record] = this.#parts;
    const isNext = this.#parts.length === record.part && first.epoch === record.epoch
      && first.revision === record.revision && first.mode === record.mode && first.reason === record.reason
      && first.parts === record.parts && first.checksum === record.checksum;
    if (!isNext) return this.#gap(record);
    this.#parts.push(record);
    if (this.#parts.length < record.parts) {
      return { type: 'waiting', feed: this.feed, received: this.#parts.length, parts: record.parts };
    }
    try {
      return this.#applied(record, apply(this.#parts));
    } catch (error) {
      if (!(error instanceof ReplicaFault)) throw error;
      this.#isStale = true;
      return { type: 'mismatch', feed: this.feed, fault: error };
    } finally {
      this.#parts = [];
    }
  }

  /** @param {Changeset} record @returns {Outcome} */
  #gap(record) {
    this.#isStale = true;
    this.#parts = [];
    return { type: 'gap', feed: this.feed, revision: this.revision, base: record.base };
  }

  /** @param {Changeset} record @param {{ sections: EntryLists, items: EntryLists }} entries @returns {Outcome} */
  #applied({ sections: _sections, items: _items, ...head }, entries) {
    this.#head = head;
    const { epoch, revision, base, mode, reason, time } = head;
    const change = {
      epoch, revision, base, mode, reason, time, sections: placesOf(entries.sections), items: placesOf(entries.items),
    };
    return { type: 'applied', feed: this.feed, change };
  }
}
