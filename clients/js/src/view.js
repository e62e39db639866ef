/**
 * A feed, or a window of it, at one moment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { indexOf } from './replica.js';

/**
 * @typedef {import('./replica.js').Section} Section
 * @typedef {import('./replica.js').Item} Item
 * @typedef {{ section: (id: string) => Section | undefined, item: (id: string) => Item | undefined }} Index
 */

/**
 * Finds elements by their ids.
 * @param {readonly Section[]} sections @returns {Index}
 */
export function lazyIndex(sections) {
  /** @type {ReturnType<typeof indexOf> | undefined} */
  let index;
  const maps = () => index ??= indexOf(sections);
  return { section: (id) => maps().sectionsById.get(id), item: (id) => maps().itemsById.get(id) };
}

export class FeedView {
  #index;

  /**
   * @param {import('./replica.js').Replica} replica What is confirmed. @param {import('./connection.js').Standing} standing
   * @param {{ sections: readonly Section[], index: Index } | null} pending What is shown instead, while writes are pending.
   */
  constructor(replica, standing, pending) {
    const { feed, epoch, revision, time, checksum, through, sections, index } = replica;
    this.feed = feed;
    this.standing = standing;
    this.exists = revision !== null;
    this.epoch = epoch;
    this.revision = revision;
    this.time = time;
    this.checksum = checksum;
    this.through = through;
    this.sections = pending?.sections ?? sections;
    this.isPending = pending !== null;
    this.#index = pending?.index ?? index;
  }

  /** @param {string} id */
  item(id) { return this.#index.item(id); }

  /** @param {string} id */
  section(id) { return this.#index.section(id); }
}
