/**
 * Shows writes before they are published. This module is loaded beside the first state, which need not wait for it.
 * It imports nothing, so that bundlers make one chunk of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * @typedef {import('./replica/elements.js').Item} Item
 * @typedef {import('./replica/elements.js').Section} Section
 * @typedef {import('./view.js').Index} Index
 * @typedef {import('../types/index.js').OrderKey} OrderKey
 * @typedef {import('./writes.js').PendingWrite} PendingWrite
 */

/** @typedef {Pick<typeof import('./replica/elements.js'), 'Item' | 'keptItem' | 'keptSection' | 'lazyIndex' | 'Section'>} Elements */

/** @type {Elements} */
let elements;

/**
 * The content of a view while writes are pending.
 *
 * @param {Elements} given What sections and items are made with.
 * @param {{ sections: readonly Section[], index: Index }} confirmed
 * @param {readonly PendingWrite[]} writes In their order.
 * @param {import('../types/index.js').Window | null} window
 * @param {Index} before What was shown before; its elements are kept if they are the same.
 * @returns {{ sections: readonly Section[], index: Index } | null} Null if it is what is confirmed.
 */
export function withWrites(given, confirmed, writes, window, before) {
  elements = given;
  const draft = new Draft(confirmed, window);
  for (const { events } of writes) {
    for (const event of events) draft.apply(event);
    draft.endRecord();
  }
  return draft.finished(before);
}

/**
 * A section that is being changed.
 * @typedef {{ id: string, content: Section, items: Item[], of: number, isPending: boolean }} Part
 */

class Draft {
  /** @type {Map<string, Part>} The changed sections. */
  #parts = new Map();
  /** @type {Map<string, Item | undefined>} The changed items; undefined for what is gone. */
  #items = new Map();
  /** @type {Set<string>} Items that have another place in the same section. */
  #moved = new Set();
  /** The ids of the sections, in order. */
  #order;
  #confirmed;
  #window;

  /** @param {{ sections: readonly Section[], index: Index }} confirmed @param {import('../types/index.js').Window | null} window */
  constructor(confirmed, window) {
    this.#confirmed = confirmed;
    this.#window = window;
    this.#order = confirmed.sections.map(({ id }) => id);
  }

  /**
   * Applies an event, as far as the window shows what it does.
   * @param {any} event @returns {boolean} Whether it shows something.
   */
  apply(event) {
    try {
      switch (event?.op) {
        case 'item.upsert': return this.#upsert(event);
        case 'item.patch': return this.#change(this.#item(event.item), { data: merged(this.#item(event.item)?.data, event.data) });
        case 'item.move': return this.#move(this.#item(event.item), event);
        case 'item.delete': return this.#delete(this.#item(event.item));
        case 'section.upsert': return this.#upsertSection(event);
        default: return false;
      }
    } catch {
      // Data that is nested too deep, or an event that the daemon will reject.
      return false;
    }
  }

  /** @param {string} id */
  #item(id) { return this.#items.has(id) ? this.#items.get(id) : this.#confirmed.index.item(id); }

  /** @param {string} id */
  #hasSection(id) { return this.#parts.has(id) || this.#confirmed.index.section(id) !== undefined; }

  /**
   * A section to change; undefined if the window does not show it.
   * @param {string} id @returns {Part | undefined}
   */
  #part(id) {
    let part = this.#parts.get(id);
    if (part !== undefined) return part;
    const section = this.#confirmed.index.section(id);
    if (section === undefined && this.#window?.sections !== undefined) return undefined;
    if (section === undefined) this.#order.push(id);
    const content = section ?? new elements.Section(id, contentOf(null), []);
    part = { id, content, items: [...content.items], of: content.of, isPending: section === undefined };
    this.#parts.set(id, part);
    return part;
  }

  /** @param {any} event */
  #upsert(event) {
    const { item: id, kind = '', data = null, at } = event;
    const item = this.#item(id);
    const section = event.section ?? item?.section;
    if (typeof id !== 'string' || typeof section !== 'string' || !this.#isPlace(section, id, at)) return false;
    if (item !== undefined) {
      const isChanged = this.#change(item, event);
      return this.#move(this.#item(id), event) || isChanged;
    }
    const part = this.#part(section);
    if (part === undefined) return false;
    this.#put(part, new elements.Item(id, section, kind, contentOf(data), true), at);
    return true;
  }

  /** @param {Item | undefined} item @param {{ kind?: string, data?: any }} change */
  #change(item, { kind = item?.kind, data = item?.data }) {
    if (item === undefined || kind === undefined) return false;
    const content = { ...contentOf(data), expires: item.expires, refs: item.refs };
    if (kind === item.kind && content.dataText === JSON.stringify(item.data)) return false;
    const part = /** @type {Part} */ (this.#part(item.section));
    const changed = new elements.Item(item.id, item.section, kind, content, true);
    const index = part.items.indexOf(item);
    part.items[index] = changed;
    if (part.content.order !== undefined && isWhole(part)) {
      part.items.splice(index, 1);
      part.items.splice(placeOf(changed, part.items, part.content.order), 0, changed);
    }
    this.#items.set(item.id, changed);
    return true;
  }

  /** @param {Item | undefined} item @param {{ section?: string, at?: any }} place */
  #move(item, { section = item?.section, at }) {
    if (item === undefined || section === undefined || (section === item.section && at === undefined)) return false;
    if (!this.#isPlace(section, item.id, at)) return false;
    const source = /** @type {Part} */ (this.#part(item.section));
    const target = this.#part(section);
    const index = source.items.indexOf(item);
    source.items.splice(index, 1);
    source.of -= 1;
    const moved = new elements.Item(item.id, section, item.kind, item, true);
    if (target === undefined) this.#items.set(item.id, undefined);
    else if (this.#put(target, moved, at) === index && target === source) {
      target.items[index] = item;
      this.#items.set(item.id, item);
      return false;
    }
    this.#moved.add(item.id);
    return true;
  }

  /** @param {Item | undefined} item */
  #delete(item) {
    if (item === undefined) return false;
    const part = /** @type {Part} */ (this.#part(item.section));
    part.items.splice(part.items.indexOf(item), 1);
    part.of -= 1;
    this.#items.set(item.id, undefined);
    return true;
  }

  /**
   * Whether an item can go there. An anchor that is not there, or a place in an ordered section, makes the daemon reject the event.
   * @param {string} section @param {string} id @param {any} at
   */
  #isPlace(section, id, at) {
    if (at === undefined) return true;
    const shown = this.#parts.get(section) ?? this.#confirmed.index.section(section);
    if ((this.#parts.get(section)?.content ?? this.#confirmed.index.section(section))?.order !== undefined) return false;
    const anchor = anchorOf(at);
    return anchor === undefined || (anchor !== id && shown !== undefined && shown.items.some((item) => item.id === anchor));
  }

  /**
   * Puts an item into a section; returns its position among the items that are shown, undefined if it is not among them.
   * @param {Part} part @param {Item} item @param {any} at
   */
  #put(part, item, at = 'last') {
    const { content: { from, order }, items, of } = part;
    const anchor = anchorOf(at);
    let position = (order !== undefined || at === 'last' ? of : at === 'first' ? 0 : Math.min(at.index, of)) - from;
    if (anchor !== undefined) position = items.findIndex(({ id }) => id === anchor) + (at.after === undefined ? 0 : 1);
    else if (order !== undefined && isWhole(part)) position = placeOf(item, items, order);
    const isShown = position >= 0 && position <= items.length;
    part.of += 1;
    this.#items.set(item.id, isShown ? item : undefined);
    if (isShown) items.splice(position, 0, item);
    return isShown ? position : undefined;
  }

  /** Takes away what has fallen out of the window, or of a bounded section. */
  endRecord() {
    for (const part of this.#parts.values()) {
      const { content: { from, keep = Infinity }, items } = part;
      part.of = Math.min(part.of, keep);
      const most = Math.min(this.#window?.first ?? this.#window?.count ?? Infinity, keep - from);
      for (const { id } of items.splice(Math.max(0, most))) this.#items.set(id, undefined);
    }
  }

  /** @param {any} event */
  #upsertSection({ section: id, data, at, order: keys, keep }) {
    if (typeof id !== 'string' || !isOrder(keys) || !(keep === undefined || keep === null || (Number.isInteger(keep) && keep > 0))) return false;
    const isNew = !this.#hasSection(id);
    const order = this.#order.filter((other) => other !== id);
    const hasAll = this.#window?.sections === undefined;
    let index = at === undefined && !isNew ? this.#order.indexOf(id) : order.length;
    if (hasAll && at !== undefined) {
      const anchor = anchorOf(at);
      const beside = order.indexOf(anchor);
      if (anchor !== undefined && beside < 0) return false;
      index = anchor !== undefined ? beside + (at.after === undefined ? 0 : 1) : at === 'first' ? 0 : at === 'last' ? order.length : Math.min(at.index, order.length);
    }
    const part = this.#part(id);
    if (part === undefined) return false;
    const isMoved = hasAll && index !== this.#order.indexOf(id);
    if (isMoved) this.#order = [...order.slice(0, index), id, ...order.slice(index)];
    const { content } = part;
    const made = {
      data: data === undefined ? content.data : data,
      dataText: data === undefined ? content.dataText : JSON.stringify(data),
      order: keys === undefined ? content.order : keys?.map((/** @type {any} */ { by, direction }) => (direction === 'descending' ? { by, direction } : { by })),
      keep: keep === undefined ? content.keep : keep ?? undefined,
    };
    const isChanged = textOf(made) !== textOf(content);
    if (isChanged) part.content = new elements.Section(id, made, [], content.from);
    if (keys && isWhole(part)) part.items.sort(comparisonBy(keys));
    part.isPending ||= isChanged || isMoved;
    return isNew || isChanged || isMoved;
  }

  /** @param {Index} before */
  finished(before) {
    const { sections: confirmed, index } = this.#confirmed;
    const sections = this.#order.map((id) => {
      const section = /** @type {Section} */ (index.section(id));
      const part = this.#parts.get(id);
      if (part === undefined) return section;
      const items = part.items.map((item) => {
        const was = index.item(item.id);
        // A value that is written back is not pending.
        if (was !== undefined && !this.#moved.has(item.id) && was.section === id && was.kind === item.kind
          && JSON.stringify(was.data) === JSON.stringify(item.data)) return was;
        return elements.keptItem(before.item(item.id), item);
      });
      const made = elements.keptSection(section, new elements.Section(id, part.content, items, part.content.from, part.of, part.isPending));
      return made === section ? section : elements.keptSection(before.section(id), made);
    });
    if (sections.length === confirmed.length && sections.every((section, at) => section === confirmed[at])) return null;
    return { sections, index: elements.lazyIndex(sections) };
  }
}

/**
 * The element that a place is beside.
 * @param {any} at
 */
const anchorOf = (at) => at?.before ?? at?.after;

/**
 * The parts of a section that a write may change, to compare them.
 * @param {{ data: any, order?: any, keep?: any }} content
 */
const textOf = ({ data, order, keep }) => JSON.stringify([data, order, keep]);

/**
 * Whether all items of a section are there.
 * @param {Part} part
 */
const isWhole = ({ content: { from }, items, of }) => from === 0 && items.length === of;

/** @param {any} keys */
const isOrder = (keys) => keys === undefined || keys === null
  || (Array.isArray(keys) && keys.length > 0 && keys.every((key) => /^(\/|$)/.test(key?.by)));

/**
 * Where an item belongs among those of an ordered section.
 * @param {Item} item @param {Item[]} items @param {readonly OrderKey[]} order
 */
function placeOf(item, items, order) {
  const compared = comparisonBy(order);
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compared(items[middle], item) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The order of section 2.13 of the protocol, except that numbers are compared as JavaScript has them.
 * @param {readonly OrderKey[]} order
 */
const comparisonBy = (order) => (/** @type {Item} */ one, /** @type {Item} */ other) => {
  for (const { by, direction } of order) {
    const [a, b] = [one, other].map(({ data }) => valueAt(data, by));
    const [rank, otherRank] = [rankOf(a), rankOf(b)];
    const result = rank - otherRank || (rank === unsortable ? 0 : compared(a, b));
    if (result !== 0) return direction === 'descending' && Math.max(rank, otherRank) < unsortable ? -result : result;
  }
  return compared(one.id, other.id);
};

const unsortable = 3;

/** @param {any} value */
const rankOf = (value) => ({ boolean: 0, number: 1, string: 2 }[/** @type {string} */ (typeof value)] ?? unsortable);

/**
 * Compares strings by the bytes of their UTF-8: by code points.
 * @param {any} one @param {any} other
 */
function compared(one, other) {
  if (typeof one !== 'string') return one - other;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  // Surrogates are those of the greatest code points.
  const [a, b] = [one, other].map((text) => {
    const code = at < text.length ? text.charCodeAt(at) : -1;
    return code < 0xd800 ? code : 0xd800 + (code - 0xb800) % 0x2800;
  });
  return a - b;
}

/** @param {any} data @param {string} pointer */
const valueAt = (data, pointer) => pointer.split('/').slice(1).reduce((value, name) => {
  const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
  return (Array.isArray(value) ? /^(0|[1-9]\d*)$/.test(key) : isObject(value) && Object.hasOwn(value, key)) ? value[key] : undefined;
}, data);

/** @param {any} data */
const contentOf = (data) => ({ data, dataText: JSON.stringify(data), order: undefined, keep: undefined });

/** @param {any} value */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A merge patch, as in RFC 7396.
 * @param {any} target @param {any} patch @returns {any}
 */
function merged(target, patch) {
  if (!isObject(patch)) return patch;
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, merged(members.get(name), value));
  }
  return Object.fromEntries(members);
}
