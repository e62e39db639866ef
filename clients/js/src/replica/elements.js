/** The sections and items of a feed. SPDX-License-Identifier: Apache-2.0 */

/**
 * The data of an element, its JSON text if the changeset was applied with it, and the time at which an item ends.
 * @typedef {{ data: any, dataText: string, expires?: string, refs?: Readonly<Record<string, string>> }} Content
 */

let isDevelopment = false;
try {
  // @ts-expect-error Bundlers replace it, and without one a page has no such thing.
  isDevelopment = process.env.NODE_ENV !== 'production';
} catch {
  // It is a page.
}

/**
 * In development, a program that changes what a view holds gets an error. (In production it would cost a sixth of a reload's time.)
 * @param {object} element
 */
function freeze(element) {
  /** @type {any[]} Not by recursion: data may be nested deeply. */
  const rest = isDevelopment ? [element] : [];
  while (rest.length > 0) {
    const value = rest.pop();
    if (Object.isFrozen(value)) continue;
    Object.freeze(value);
    for (const member of Object.values(value)) rest.push(member);
  }
}

/**
 * By what a section is ordered, and how many items it keeps; undefined if it does not say so.
 * @typedef {{ order: { by: string, direction?: 'ascending' | 'descending' }[] | undefined, keep: number | undefined }} Settings
 */

/** A section, with its items in order. It never changes. */
export class Section {
  /**
   * @param {string} id @param {Content & Settings} content @param {readonly Item[]} items
   * @param {number} [from] The position of the first of these items. @param {number} [of] How many items there are in the feed.
   * @param {boolean} [isPending]
   */
  constructor(id, { data, dataText, order, keep }, items, from = 0, of = items.length, isPending = false) {
    this.id = id;
    this.data = data;
    this.dataText = dataText;
    this.order = order;
    this.keep = keep;
    this.items = items;
    this.from = from;
    this.of = of;
    this.isPending = isPending;
    freeze(this);
  }

  /** The section as in a reload. */
  toJSON() { return { id: this.id, data: this.data, order: this.order, keep: this.keep, items: this.items }; }
}

/** An item. It never changes. */
export class Item {
  /**
   * @param {string} id @param {string} section The id of its section. @param {string} kind The cell type. @param {Content} content
   * @param {boolean} [isPending]
   */
  constructor(id, section, kind, { data, dataText, expires, refs }, isPending = false) {
    this.id = id;
    this.kind = kind;
    this.section = section;
    this.data = data;
    this.dataText = dataText;
    this.expires = expires;
    this.refs = refs;
    this.isPending = isPending;
    freeze(this);
  }

  /** The item as in a reload. */
  toJSON() { return { id: this.id, kind: this.kind, data: this.data, expires: this.expires, refs: this.refs }; }
}

/** @param {Content} one @param {Content} other */
function isSameData(one, other) {
  if (one.dataText !== undefined && other.dataText !== undefined) return one.dataText === other.dataText;
  try {
    return JSON.stringify(one.data) === JSON.stringify(other.data);
  } catch {
    // JSON.stringify is recursive.
    return false;
  }
}

/** @template T @param {readonly T[]} one @param {readonly T[]} other */
const isSameList = (one, other) => one.length === other.length && one.every((element, at) => element === other[at]);

/**
 * The former section, if the new one is the same.
 * @param {Section | undefined} before @param {Section} now
 */
export function keptSection(before, now) {
  const isSame = before !== undefined && before.from === now.from && before.of === now.of && before.keep === now.keep
    && before.isPending === now.isPending && isSameData(before, now)
    && JSON.stringify(before.order) === JSON.stringify(now.order) && isSameList(before.items, now.items);
  return isSame ? before : now;
}

/**
 * The former item, if the new one is the same.
 * @param {Item | undefined} before @param {Item} now
 */
export function keptItem(before, now) {
  const isSame = before !== undefined && before.section === now.section && before.kind === now.kind && before.expires === now.expires
    && JSON.stringify(before.refs) === JSON.stringify(now.refs) && before.isPending === now.isPending && isSameData(before, now);
  return isSame ? before : now;
}

/** @typedef {{ sectionsById: Map<string, Section>, itemsById: Map<string, Item> }} Index */

/**
 * Finds elements by their ids.
 * @param {readonly Section[]} sections @param {() => Index | null} [present] An index of these sections, as long as there is one.
 * @returns {{ section: (id: string) => Section | undefined, item: (id: string) => Item | undefined }}
 */
export function lazyIndex(sections, present = () => null) {
  /** @type {Index | undefined} */
  let own;
  const maps = () => present() ?? (own ??= {
    sectionsById: new Map(sections.map((section) => [section.id, section])),
    itemsById: new Map(sections.flatMap(({ items }) => items.map((item) => [item.id, item]))),
  });
  return { section: (id) => maps().sectionsById.get(id), item: (id) => maps().itemsById.get(id) };
}
