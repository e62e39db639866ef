/**
 * A feed, or a window of it, at one moment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * @typedef {import('./replica/elements.js').Section} Section
 * @typedef {import('./replica/elements.js').Item} Item
 * @typedef {{ section: (id: string) => Section | undefined, item: (id: string) => Item | undefined }} Index
 */

export class FeedView {
  #index;

  /**
   * @param {import('./replica/plain-replica.js').PlainReplica} replica What is confirmed. @param {import('./connection.js').Standing} standing
   * @param {{ sections: readonly Section[], index: Index } | null} pending What is shown instead, while writes are pending.
   */
  constructor(replica, standing, pending) {
    const { sections, index } = pending ?? replica;
    this.feed = replica.feed;
    this.standing = standing;
    this.exists = replica.revision !== null;
    this.epoch = replica.epoch;
    this.revision = replica.revision;
    this.time = replica.time;
    this.checksum = replica.checksum;
    this.through = replica.through;
    this.sections = sections;
    this.isPending = pending !== null;
    this.#index = index;
  }

  /** @param {string} id */
  item(id) { return this.#index.item(id); }

  /** @param {string} id */
  section(id) { return this.#index.section(id); }
}
