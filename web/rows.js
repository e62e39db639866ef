/**
 * The rows of a feed: one for each section, followed by one for each of its items. All operations cost at most the
 * number of sections, however many items there are, except looking up single items.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * @typedef {import('./client/../types/index.js').Section} Section
 * @typedef {Section['items'][number]} Item
 *
 * A key is `s` or `i`, followed by the id. That of a place whose item is not there is `p`, its position, `/`, and the section's id.
 * `item` is null for a section, and undefined for such a place.
 * @typedef {{ index: number, key: string, section: ShownSection, sectionIndex: number, item: Item | null | undefined,
 *   itemIndex: number }} Row
 */

/** A section with places for all its items. The page may have only some of them: the first ones, and a slice further down. */
export class ShownSection {
  /**
   * @param {Section} section With its first items. @param {number} [count] How many items it has in the feed.
   * @param {{ from: number, items: readonly Item[] }} [slice]
   */
  constructor(section, count = section.items.length, slice = { from: 0, items: [] }) {
    this.id = section.id;
    this.section = section;
    this.count = count;
    this.slice = slice;
  }

  /** @param {number} index @returns {Item | undefined} */
  at(index) { return this.section.items[index] ?? this.slice.items[index - this.slice.from]; }

  /** -1 if it is not there. @param {string} id */
  indexOf(id) {
    const { from, items } = this.slice;
    const index = this.section.items.findIndex((item) => item.id === id);
    const place = index >= 0 ? -1 : items.findIndex((item) => item.id === id);
    return place >= 0 ? from + place : index;
  }
}

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
   * @param {readonly ShownSection[]} sections
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
      start += 1 + section.count;
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
    const item = itemIndex < 0 ? null : section.at(itemIndex);
    const key = item === undefined ? `p${itemIndex}/${section.id}`
      : item === null ? sectionKey(section.id) : itemKey(item.id);
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
    const sectionIndex = item && this.#sectionIndices.get(item.section);
    const sections = sectionIndex === undefined ? this.sections : [this.sections[sectionIndex]];
    for (const section of sections) {
      const itemIndex = section.indexOf(id);
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

/** The most pixels of an element. Browsers allow 17 to 33 million, and place elements exactly among the first 16 million. */
const greatestHeight = 8e6;
/** So many pixels from both ends, a list moves as the element does, so that the ends can be reached. */
const endHeight = 20000;

/**
 * The position in a list, which may be taller than an element can be. Such a list moves pixel by pixel while it is scrolled a
 * little, and in proportion when the scroll bar is dragged.
 */
export class Scroller {
  /** How many pixels the list is further down than the element. */
  shift = 0;
  /** How many pixels the list is taller than the element's content. */
  #excess = 0;
  #last = 0;
  #element;

  /** @param {{ scrollTop: number, scrollHeight: number, clientHeight: number }} element */
  constructor(element) { this.#element = element; }

  /** The height of the element's content for a list. @param {number} height */
  contentHeight(height) {
    this.#excess = Math.max(0, height - greatestHeight);
    return height - this.#excess;
  }

  /** The pixels of the list above what is visible. */
  get top() {
    const { scrollTop, clientHeight } = this.#element;
    if (this.#excess === 0) this.shift = 0;
    else if (scrollTop !== this.#last) {
      const isNear = Math.abs(scrollTop - this.#last) <= 2 * clientHeight;
      const top = isNear ? scrollTop + this.shift : scaled(scrollTop, this.#greatest, this.#greatest + this.#excess);
      this.#last = scrollTop;
      this.shift = top - scrollTop;
      const isAtEnd = top < endHeight || top > this.#greatest + this.#excess - endHeight;
      if (isAtEnd || Math.abs(this.#placeOf(top) - scrollTop) > endHeight / 2) this.top = top;
    }
    return this.#element.scrollTop + this.shift;
  }

  set top(top) {
    const place = this.#placeOf(top);
    this.#element.scrollTop = place;
    // Browsers round it.
    this.#last = this.#element.scrollTop;
    this.shift = this.#excess === 0 ? 0 : Math.max(0, Math.min(this.#excess, top - this.#last));
  }

  /** Where the element is scrolled to. @param {number} top */
  #placeOf(top) { return this.#excess === 0 ? top : scaled(top, this.#greatest + this.#excess, this.#greatest); }

  get #greatest() { return this.#element.scrollHeight - this.#element.clientHeight; }
}

/** A position in one range, in proportion in another one. @param {number} top @param {number} from @param {number} to */
function scaled(top, from, to) {
  if (top <= endHeight) return top;
  if (top >= from - endHeight) return top - from + to;
  return endHeight + (top - endHeight) * (to - 2 * endHeight) / (from - 2 * endHeight);
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
