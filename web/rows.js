/**
 * The rows of a feed: one for each section, followed by one for each of its items. All operations cost at most the
 * number of sections, however many items there are, except looking up single items.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * @typedef {import('./replica.js').Replica['sections'][number]} Section
 * @typedef {Section['items'][number]} Item
 *
 * A key is `s` or `i`, followed by the id.
 * @typedef {{ index: number, key: string, section: Section, sectionIndex: number, item: Item | null,
 *   itemIndex: number }} Row
 */

/** @param {string} id */
export const sectionKey = (id) => `s${id}`;
/** @param {string} id */
export const itemKey = (id) => `i${id}`;

export class Rows {
  /** @type {number[]} The first row of each section, and the total number of rows. */
  #starts;
  /** @type {Map<string, number>} */
  #sectionIndices = new Map();
  /** @type {{ index: number, before: number, extra: number }[]} Sorted by index. */
  #taller;

  /**
   * @param {readonly Section[]} sections
   * @param {number} height The height of a row in pixels.
   * @param {ReadonlyMap<string, number>} [extras] The additional height of rows, by key.
   */
  constructor(sections, height, extras = new Map()) {
    this.sections = sections;
    this.height = height;
    let start = 0;
    this.#starts = sections.map((section, index) => {
      this.#sectionIndices.set(section.id, index);
      const first = start;
      start += 1 + section.items.length;
      return first;
    });
    this.#starts.push(start);
    this.count = start;
    this.#taller = [];
    for (const [key, extra] of extras) {
      const index = this.indexOf(key);
      if (index >= 0) this.#taller.push({ index, before: 0, extra });
    }
    this.#taller.sort((a, b) => a.index - b.index);
    let before = 0;
    for (const row of this.#taller) {
      row.before = before;
      before += row.extra;
    }
    this.totalHeight = this.count * height + before;
  }

  /** @param {number} index @returns {Row} */
  row(index) {
    const sectionIndex = last(this.#starts.length - 1, (at) => this.#starts[at] <= index);
    const section = this.sections[sectionIndex];
    const itemIndex = index - this.#starts[sectionIndex] - 1;
    const item = itemIndex < 0 ? null : section.items[itemIndex];
    const key = item === null ? sectionKey(section.id) : itemKey(item.id);
    return { index, key, section, sectionIndex, item, itemIndex };
  }

  /** @param {string} sectionId @param {number} itemIndex -1 for the section itself. */
  indexAt(sectionId, itemIndex) {
    const sectionIndex = this.#sectionIndices.get(sectionId);
    return sectionIndex === undefined ? -1 : this.#starts[sectionIndex] + 1 + itemIndex;
  }

  /**
   * -1 if there is no such row. Searches the items.
   * @param {string} key @param {Item} [item] The item, if it is known.
   */
  indexOf(key, item) {
    const id = key.slice(1);
    if (key[0] === 's') return this.indexAt(id, -1);
    const sections = item === undefined ? this.sections : [item.section];
    for (const section of sections) {
      const itemIndex = item === undefined
        ? section.items.findIndex((other) => other.id === id) : section.items.indexOf(item);
      if (itemIndex >= 0) return this.indexAt(section.id, itemIndex);
    }
    return -1;
  }

  /** @param {number} index @returns {number} The pixels above a row. */
  top(index) {
    const at = last(this.#taller.length, (at) => this.#taller[at].index < index);
    const above = at < 0 ? 0 : this.#taller[at].before + this.#taller[at].extra;
    return index * this.height + above;
  }

  /** @param {number} y @returns {number} The row at a vertical position, or the nearest one. */
  indexAtHeight(y) {
    return Math.max(0, last(this.count, (index) => this.top(index) <= y));
  }
}

/**
 * The last number below `count` for which a monotonic condition holds; -1 if there is none.
 * @param {number} count @param {(at: number) => boolean} holds
 */
function last(count, holds) {
  let [low, high] = [-1, count - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
