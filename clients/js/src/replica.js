/**
 * Follows FeedStore's changesets: one file without dependencies, for browsers and Node 18 or later. Copy it.
 *
 * - `Replica` keeps one feed, from its changesets.
 * - `ReplicaPartition` keeps all feeds of a partition of the changesets topic, from its records.
 *
 * Both check the positions, revisions and order in a changeset, and apply either all of it or nothing. Terms and
 * rules are those of FeedStore's protocol, version 1. Positions count from 0, revisions from 1.
 *
 *     const replica = new Replica('news', { onRefetch: (it) => fetchReload(it.feed).then((text) => it.apply(text)) });
 *     const outcome = replica.apply(text);
 *     if (outcome.type === 'applied') draw(outcome.change, replica.sections);
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * @typedef {'reconfigure' | 'diff' | 'reload' | 'delete'} Mode
 * @typedef {'bootstrapping' | 'up-to-date' | 'must-refetch'} Status
 */

/**
 * The effect of one changeset: its entries without their content, in the changeset's order and terms. `delete` and
 * `from` are positions before the change, all others after it. Items that are deleted with their section are not
 * listed. A reload replaces everything: its lists are empty, and everything must be redrawn.
 *
 * @typedef {object} Change
 * @property {string} epoch
 * @property {number} revision
 * @property {number} base The revision that it applies to; a reload applies to any.
 * @property {Mode} mode
 * @property {string} [reason] Why it is a reload.
 * @property {string} time RFC 3339.
 * @property {Changes<SectionPlace, number>} sections
 * @property {Changes<ItemPlace, ItemPosition>} items
 *
 * @typedef {{ id: string, index: number }} SectionPlace
 * @typedef {{ id: string, section: string, index: number }} ItemPlace
 * @typedef {{ section: string, index: number }} ItemPosition
 */

/**
 * `reconfigure` means new data in the same cell; `reload` means another cell, perhaps of another kind.
 *
 * @template Place, Position
 * @typedef {{ delete: Place[], insert: Place[], move: { id: string, from: Position, to: Position }[],
 *   reconfigure: Place[], reload: Place[] }} Changes
 */

/**
 * The result of a changeset for a replica:
 * - `applied`: the replica now has its revision, and `change` describes the effect;
 * - `removed`: the feed was deleted;
 * - `skipped`: the replica has that revision, or the record does not concern it;
 * - `waiting`: further parts of the changeset are needed;
 * - `gap`: an earlier changeset was missed; `revision` is the replica's, or null;
 * - `other-epoch`: it belongs to another epoch of the feed, whose reload was missed;
 * - `mismatch`: it does not fit the replica, which keeps its state.
 *
 * @typedef {{ type: 'applied', feed: string, change: Change }
 *   | { type: 'removed', feed: string }
 *   | { type: 'skipped', feed: string }
 *   | { type: 'other-epoch', feed: string }
 *   | { type: 'waiting', feed: string, received: number, parts: number }
 *   | { type: 'gap', feed: string, revision: number | null, base: number }
 *   | { type: 'mismatch', feed: string, fault: ReplicaFault }} Outcome
 */

/**
 * `onRefetch` is called when the status becomes `must-refetch`, and again when a reload did not change that. Pass the
 * feed's newest reload to `apply`, and wait before requesting it a second time. A follower that reads the topic from
 * its beginning need not do anything: a later reload closes the gaps that compaction leaves.
 *
 * @typedef {{ onRefetch?: (replica: Replica) => void }} ReplicaOptions
 */

/**
 * Why a record cannot be applied:
 * - `invalid-key`: the key is not one of a changesets topic;
 * - `invalid-changeset`: the value is not a changeset, or is another feed's;
 * - `unknown-element`: an entry names an element that does not exist, or inserts one that does;
 * - `position`: an element is not, or cannot be placed, at the changeset's position;
 * - `checksum`: the resulting order or kinds differ from the changeset's checksum.
 */
export class ReplicaFault extends Error {
  /**
   * @param {'invalid-key' | 'invalid-changeset' | 'unknown-element' | 'position' | 'checksum'} code
   * @param {string} message What was found and what was expected.
   */
  constructor(code, message) {
    super(message);
    this.name = 'ReplicaFault';
    this.code = code;
  }
}

// The checksum: a sum of one term for each element.

const [p1, p2, p3, p4, p5] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1];

/** @param {number} value @param {number} bits */
const rotated = (value, bits) => (value << bits) | (value >>> (32 - bits));

/** @param {Uint8Array} bytes @param {number} at */
const word = (bytes, at) => bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);

/**
 * XXH32 with seed 0, as specified at https://github.com/Cyan4973/xxHash.
 *
 * @param {Uint8Array} bytes
 * @returns {number} 32 bits without sign.
 */
export function xxh32(bytes) {
  const { length } = bytes;
  let at = 0;
  let hash = p5;
  if (length >= 16) {
    const lanes = [(p1 + p2) | 0, p2 | 0, 0, -p1 | 0];
    for (; at + 16 <= length; at += 16) {
      for (let lane = 0; lane < 4; lane++) {
        const mixed = (lanes[lane] + Math.imul(word(bytes, at + 4 * lane), p2)) | 0;
        lanes[lane] = Math.imul(rotated(mixed, 13), p1);
      }
    }
    hash = rotated(lanes[0], 1) + rotated(lanes[1], 7) + rotated(lanes[2], 12) + rotated(lanes[3], 18);
  }
  hash = (hash + length) | 0;
  for (; at + 4 <= length; at += 4) hash = Math.imul(rotated((hash + Math.imul(word(bytes, at), p3)) | 0, 17), p4);
  for (; at < length; at++) hash = Math.imul(rotated((hash + Math.imul(bytes[at], p5)) | 0, 11), p1);
  hash = Math.imul(hash ^ (hash >>> 15), p2);
  hash = Math.imul(hash ^ (hash >>> 13), p3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const utf8 = new TextEncoder();
const maxIdBytes = 255;
// The text of an item's term is the longest: four ids or kinds, and five more bytes.
const scratch = new Uint8Array(4 * maxIdBytes + 5);

/** @param {string[]} fields */
const termOf = (...fields) => xxh32(scratch.subarray(0, utf8.encodeInto(fields.join('\0'), scratch).written));

// The state of a feed.

/**
 * The data of an element, and its JSON text if the changeset was applied with it.
 * @typedef {{ data: any, dataText: string }} Content
 */

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
  constructor(id, section, kind, { data, dataText }, isPending = false) {
    this.id = id;
    this.kind = kind;
    this.section = section;
    this.data = data;
    this.dataText = dataText;
    this.isPending = isPending;
  }

  /** The item as in a reload. */
  toJSON() { return { id: this.id, kind: this.kind, data: this.data }; }
}

/** @param {readonly Section[]} list @param {number} at */
const sectionTerm = (list, at) => termOf('s', list[at - 1]?.id ?? '', list[at].id);

/** @param {string} section @param {readonly Item[]} list @param {number} at */
const itemTerm = (section, list, at) => termOf('i', section, list[at - 1]?.id ?? '', list[at].id, list[at].kind);

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
  const isSame = before !== undefined && before.section === now.section && before.kind === now.kind
    && before.isPending === now.isPending && isSameData(before, now);
  return isSame ? before : now;
}

/**
 * Which items of each section a window has, by section; null without a window.
 * @typedef {Map<string, { from: number, of: number }> | null} Totals
 */

/** Elements in order and by id, and the checksum. The elements and lists never change; a change replaces them. */
class FeedState {
  /** @type {readonly Section[]} */
  sections = [];
  /** @type {Map<string, Section>} */
  sectionsById = new Map();
  /** @type {Map<string, Item>} */
  itemsById = new Map();
  checksum = 0;
  /** Grows with each change. */
  version = 0;

  /**
   * The state that a reload describes.
   * @param {Changeset[]} parts All of them, in order. @param {Totals} totals
   * @param {FeedState | null} before Its elements are kept if they are the same.
   */
  static of(parts, totals, before) {
    const state = new FeedState();
    /** @type {({ id: string, items: Item[] } & Content & Settings)[]} */
    const listed = [];
    const taken = new Set();
    for (const entry of parts.flatMap((part) => entriesOf(part.sections))) {
      // A section that continues from the previous part is listed again, without its data.
      if (entry.data !== undefined || listed[listed.length - 1]?.id !== entry.id) {
        listed.push({ id: newId(entry, taken), ...sectionContentOf(entry), items: [] });
        taken.add(entry.id);
      }
      const { id, items } = listed[listed.length - 1];
      for (const each of entriesOf(entry.items)) {
        const item = new Item(newId(each, state.itemsById), id, kindOf(each), contentOf(each));
        items.push(keptItem(before?.itemsById.get(item.id), item));
        state.itemsById.set(item.id, items[items.length - 1]);
      }
    }
    state.sections = listed.map((section) => state.#kept(before?.sectionsById.get(section.id), section, totals));
    state.sections.forEach(({ id, items }, at) => {
      let sum = sectionTerm(state.sections, at);
      for (let index = 0; index < items.length; index++) sum += itemTerm(id, items, index);
      state.checksum = wrapped(state.checksum + sum);
    });
    checkChecksum(state.checksum, parts[0]);
    return state;
  }

  copy() {
    return Object.assign(new FeedState(), {
      ...this, sectionsById: new Map(this.sectionsById), itemsById: new Map(this.itemsById),
    });
  }

  /**
   * Takes over what a window shows of each section.
   * @param {Totals} totals
   */
  setTotals(totals) {
    this.sections = this.sections.map((section) => this.#kept(section, section, totals));
    this.version += 1;
  }

  /** @param {Section | undefined} before @param {{ id: string, items: readonly Item[] } & Content & Settings} section @param {Totals} totals */
  #kept(before, section, totals) {
    const { id, items } = section;
    const total = totals?.get(id);
    const kept = keptSection(before, new Section(id, section, items, total?.from, total?.of));
    this.sectionsById.set(id, kept);
    return kept;
  }
}

/**
 * Removes elements from a list and inserts others, in one pass.
 * @template {{ id: string }} E
 */
class ListEdit {
  /** @type {number[]} Positions before the edit. */
  #taken = [];
  /** @type {{ index: number, element: E }[]} Positions after the edit. */
  #placed = [];
  /** @type {number[]} Positions before the edit of elements that are gone, or whose predecessor has changed. */
  lost = [];
  /** @type {number[]} Positions after the edit of elements that are new, or whose predecessor has changed. */
  gained = [];

  /** @param {readonly E[]} base */
  constructor(base) {
    this.base = base;
    /** The list after the edit, once it is finished. */
    this.result = base;
  }

  /** @param {any} id @param {any} index */
  take(id, index) {
    const element = elementAt(this.base, id, index);
    this.#taken.push(index);
    return element;
  }

  /** @param {E} element @param {any} index */
  place(element, index) { this.#placed.push({ index, element }); }

  finish() {
    const { base, lost, gained } = this;
    const taken = this.#taken.sort((a, b) => a - b);
    const placed = this.#placed.sort((a, b) => a.index - b.index);
    if (taken.length === 0 && placed.length === 0) return;
    /** @type {E[]} */
    const result = [];
    let [nextTaken, nextPlaced] = [0, 0];
    for (let at = 0; at <= base.length; at++) {
      // Not `===`: -0 is no position.
      for (; Object.is(placed[nextPlaced]?.index, result.length); nextPlaced++) {
        gained.push(result.length);
        result.push(placed[nextPlaced].element);
      }
      if (at === taken[nextTaken]) {
        nextTaken++;
        lost.push(at);
      } else if (at < base.length) {
        if (base[at - 1] !== result[result.length - 1]) {
          lost.push(at);
          gained.push(result.length);
        }
        result.push(base[at]);
      }
    }
    if (nextTaken < taken.length) {
      throw new ReplicaFault('position', `${quoted(base[taken[nextTaken]].id)} is removed twice`);
    }
    if (nextPlaced < placed.length) {
      const { index, element } = placed[nextPlaced];
      throw new ReplicaFault('position', `${quoted(element.id)} cannot be placed at ${quoted(index)}`);
    }
    this.result = result;
  }

  /**
   * Puts another element in the place of one.
   * @param {number} index @param {E} element
   */
  replace(index, element) {
    const result = this.result === this.base ? [...this.base] : /** @type {E[]} */ (this.result);
    result[index] = element;
    this.result = result;
  }
}

/**
 * What changes in a map.
 * @template E
 */
class MapEdit {
  /** @type {Map<string, E | undefined>} Undefined for what is removed. */
  #changed = new Map();

  /** @param {Map<string, E>} base */
  constructor(base) { this.base = base; }

  /** @param {any} id */
  get(id) { return this.#changed.has(id) ? this.#changed.get(id) : this.base.get(id); }
  /** @param {any} id */
  has(id) { return this.get(id) !== undefined; }
  /** @param {string} id @param {E | undefined} element */
  set(id, element) { this.#changed.set(id, element); }

  finish() {
    for (const [id, element] of this.#changed) {
      if (element === undefined) this.base.delete(id);
      else this.base.set(id, element);
    }
  }
}

/**
 * Applies the entries of a difference to a state, or leaves the state unchanged. The cost is that of the entries, plus
 * one pass over the sections, and over each list of items with changes.
 */
class Difference {
  /** @type {Map<string, ListEdit<Item>>} By section. */
  #edits = new Map();
  #sections;
  #items;
  #checksum;

  /** @param {FeedState} state @param {Changeset[]} parts All of them, in order. @param {Totals} totals */
  constructor(state, parts, totals) {
    this.state = state;
    this.sections = joined(parts.map((part) => part.sections));
    this.items = joined(parts.map((part) => part.items));
    this.#sections = new MapEdit(state.sectionsById);
    this.#items = new MapEdit(state.itemsById);
    this.#checksum = state.checksum;
    const movedItems = this.#takeItems();
    const list = this.#editedSections();
    this.#placeItems(movedItems);
    this.#changeContent(list);
    const sections = this.#finished(list, totals);
    checkChecksum(this.#checksum, parts[0]);
    this.#sections.finish();
    this.#items.finish();
    Object.assign(state, { sections, checksum: this.#checksum, version: state.version + 1 });
  }

  /** Called before sections change, because `delete` and `from` refer to the old ones. */
  #takeItems() {
    for (const { id, section, index } of this.items.delete) {
      this.#edit(section).take(id, index);
      this.#items.set(id, undefined);
    }
    return this.items.move.map(({ id, from, to }) => ({ item: this.#edit(from?.section).take(id, from.index), to }));
  }

  #editedSections() {
    const edit = new ListEdit(this.state.sections);
    for (const { id, index } of this.sections.delete) {
      const { items } = edit.take(id, index);
      // Items that are still in it are deleted with it, unlisted.
      const itemEdit = this.#edit(id);
      itemEdit.finish();
      for (const item of itemEdit.result) this.#items.set(item.id, undefined);
      items.forEach((_, at) => this.#count(-itemTerm(id, items, at)));
      this.#edits.delete(id);
      this.#sections.set(id, undefined);
    }
    for (const { id, from, to } of this.sections.move) edit.place(edit.take(id, from), to);
    for (const entry of this.sections.insert) {
      const section = new Section(newId(entry, this.#sections), sectionContentOf(entry), []);
      this.#sections.set(section.id, section);
      edit.place(section, entry.index);
    }
    edit.finish();
    for (const at of edit.lost) this.#count(-sectionTerm(edit.base, at));
    for (const at of edit.gained) this.#count(sectionTerm(edit.result, at));
    return edit.result;
  }

  /** @param {{ item: Item, to: any }[]} moved */
  #placeItems(moved) {
    for (const { item, to } of moved) {
      const { id } = this.#section(to?.section);
      this.#edit(id).place(this.#put(item.section === id ? item : new Item(item.id, id, item.kind, item)), to.index);
    }
    for (const entry of this.items.insert) {
      const { id } = this.#section(entry.section);
      this.#edit(id).place(this.#put(new Item(newId(entry, this.#items), id, kindOf(entry), contentOf(entry))), entry.index);
    }
    for (const [section, edit] of this.#edits) {
      edit.finish();
      for (const at of edit.lost) this.#count(-itemTerm(section, edit.base, at));
      for (const at of edit.gained) this.#count(itemTerm(section, edit.result, at));
    }
  }

  /** @param {readonly Section[]} list */
  #changeContent(list) {
    for (const entry of [...this.sections.reconfigure, ...this.sections.reload]) {
      const { id, items } = elementAt(list, entry.id, entry.index);
      this.#sections.set(id, new Section(id, sectionContentOf(entry), items));
    }
    for (const [entries, hasKind] of /** @type {const} */ ([[this.items.reconfigure, false], [this.items.reload, true]])) {
      for (const entry of entries) {
        const { id: section } = this.#section(entry.section);
        const edit = this.#edit(section);
        const { id, kind } = elementAt(edit.result, entry.id, entry.index);
        const item = this.#put(new Item(id, section, hasKind ? kindOf(entry) : kind, contentOf(entry)));
        if (item.kind !== kind) this.#count(-itemTerm(section, edit.result, entry.index));
        edit.replace(entry.index, item);
        if (item.kind !== kind) this.#count(itemTerm(section, edit.result, entry.index));
      }
    }
  }

  /**
   * The sections with what has changed in them.
   * @param {readonly Section[]} list @param {Totals} totals
   */
  #finished(list, totals) {
    return list.map((before) => {
      const { id } = before;
      const section = this.#section(id);
      const items = this.#edits.get(id)?.result ?? before.items;
      const { from = 0, of = items.length } = totals?.get(id) ?? {};
      if (section === before && items === before.items && from === before.from && of === before.of) return before;
      const changed = new Section(id, section, items, from, of);
      this.#sections.set(id, changed);
      return changed;
    });
  }

  /** @param {any} id */
  #section(id) {
    const section = this.#sections.get(id);
    if (section === undefined) throw new ReplicaFault('unknown-element', `there is no section ${quoted(id)}`);
    return section;
  }

  /** @param {any} sectionId */
  #edit(sectionId) {
    const section = this.#section(sectionId);
    const edit = this.#edits.get(section.id) ?? new ListEdit(section.items);
    this.#edits.set(section.id, edit);
    return edit;
  }

  /** @param {Item} item */
  #put(item) {
    this.#items.set(item.id, item);
    return item;
  }

  /** @param {number} term */
  #count(term) { this.#checksum = wrapped(this.#checksum + term); }
}

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
   * What a difference can continue; null if nothing can.
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
   * @returns {Status}
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

/**
 * The feeds of one partition of the changesets topic, from its committed records (`isolation.level=read_committed`), in
 * the order of their offsets.
 */
export class ReplicaPartition {
  /** @type {Map<string, Replica>} */
  #replicas = new Map();
  #options;

  /** @param {ReplicaOptions} [options] Those of each replica. */
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

/** The maximum number in a key. */
const greatestKeyNumber = 1_000_000;

// Changesets as received.

/**
 * A changeset with a validated head. Its entries are validated when they are applied.
 *
 * @typedef {{ feed: string, epoch: string, revision: number, base: number, part: number, parts: number, mode: Mode,
 *   reason?: string, time: string, through: Record<string, number>, checksum: string, sections?: any,
 *   items?: any, window?: any }} Changeset
 *
 * @typedef {{ delete: any[], insert: any[], move: any[], reconfigure: any[], reload: any[] }} EntryLists
 */

/** @param {unknown} value @returns {value is number} */
const isCount = (value) => Number.isSafeInteger(value) && Number(value) >= 0 && !Object.is(value, -0);
/** @param {unknown} value */
const isString = (value) => typeof value === 'string';
/** @param {unknown} value */
const isText = (value) => typeof value === 'string' && value !== '';
/** @param {unknown} value */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

const mostTopics = 200;
const topicName = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/;

/** @type {Record<string, (value: any) => boolean>} */
const headFields = {
  feed: isText,
  epoch: isString,
  revision: isCount,
  base: isCount,
  part: isCount,
  parts: (value) => isCount(value) && value <= greatestKeyNumber + 1,
  mode: (value) => ['reconfigure', 'diff', 'reload', 'delete'].includes(value),
  reason: (value) => value === undefined || isString(value),
  time: isString,
  through: (value) => isObject(value) && Object.keys(value).length <= mostTopics
    && Object.entries(value).every(([topic, offset]) => topicName.test(topic) && isCount(offset)),
  checksum: (value) => typeof value === 'string' && /^[0-9a-f]{8}$/.test(value),
};

/** @param {string} text @returns {any} */
function parsed(text) {
  // JSON.parse takes unpaired surrogates, which no changeset has.
  if (/\\ud[89a-f]/i.test(text.replace(/\\(\\|ud[89ab]..\\ud[c-f])/gi, ''))) throw invalid('surrogate', text);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid('JSON', `${error}`);
  }
}

/**
 * What a changeset or an event says about its window.
 * @param {any} record @returns {Totals}
 */
function totalsOf({ window }) {
  if (window === undefined) return null;
  /** @type {(total: any) => boolean} */
  const isTotal = ({ section, from, of }) => isText(section) && isCount(from) && isCount(of);
  const totals = entriesOf(window);
  if (!totals.every(isTotal)) throw invalid('window', window);
  return new Map(totals.map(({ section, from, of }) => [section, { from, of }]));
}

/** @param {unknown} changeset @returns {Changeset} */
function checked(changeset) {
  const value = typeof changeset === 'string' ? parsedWithText(changeset) : /** @type {any} */ (changeset);
  if (!isObject(value)) throw invalid('changeset', value);
  const record = { part: 0, parts: 1, ...value };
  for (const [name, isValid] of Object.entries(headFields)) {
    if (!isValid(record[name])) throw invalid(name, record[name]);
  }
  if (record.part >= record.parts) throw invalid('part', record.part);
  return record;
}

/** Where an entry has the text of its data. A symbol, because later versions may add a member of any name. */
const textOfData = Symbol('the text of the data');

/**
 * Parses a changeset, and keeps the text of all data in it, which `JSON.parse` loses: `1.0` and `1` become the same, numbers
 * beyond its range others, and only the last of duplicate members remains. The elements that it leads to have it as `dataText`.
 *
 * The texts are parts of the whole, which stays in memory as long as one of them.
 *
 * @param {string} text
 * @returns {any} For `apply`.
 * @throws {ReplicaFault} If it is not JSON.
 */
export function parsedWithText(text) {
  const changeset = parsed(text);
  let at = 0;
  /** Goes to the next token, and returns its first character. */
  const next = () => {
    // White space, commas and colons.
    for (let code = text.charCodeAt(at); code <= 32 || code === 44 || code === 58;) code = text.charCodeAt(++at);
    return text[at];
  };
  /** Passes over a value, whatever its depth, and returns its text. The text is JSON, because it has been parsed. */
  const skip = () => {
    const first = next();
    const start = at;
    if (first === '"') at = endOfString(text, at);
    else if (first !== '[' && first !== '{') while (isPartOfWord(text.charCodeAt(at))) at += 1;
    else {
      let depth = 0;
      do {
        const code = text.charCodeAt(at);
        at = code === 34 ? endOfString(text, at) : at + 1;
        // Brackets and braces differ by 32 from each other.
        if ((code | 32) === 123) depth += 1;
        else if ((code | 32) === 125) depth -= 1;
      } while (depth > 0);
    }
    return text.slice(start, at);
  };
  /**
   * Reads a value, down to the entries of a section that is in a list. Of members with the same name the last one is in the value, and is
   * read last.
   */
  const read = (/** @type {any} */ value, /** @type {number} */ depth) => {
    const first = next();
    if (depth > 4 || (first !== '[' && first !== '{')) {
      skip();
      return;
    }
    at += 1;
    for (let index = 0; next() !== ']' && text[at] !== '}'; index++) {
      const spelled = first === '[' ? String(index) : skip().slice(1, -1);
      const name = spelled.includes('\\') ? JSON.parse(`"${spelled}"`) : spelled;
      const member = Object.hasOwn(value, name) ? value[name] : undefined;
      if (name === 'data') value[textOfData] = skip();
      else read(Object(member), depth + 1);
    }
    at += 1;
  };
  read(Object(changeset), 0);
  return changeset;
}

/**
 * Whether a character can be in a number, or in `true`, `false` and `null`.
 * @param {number} code
 */
const isPartOfWord = (code) => code > 44 && code !== 58 && code !== 93 && code !== 125 || code === 43;

/**
 * The end of a JSON string that begins with a quote.
 * @param {string} text @param {number} start
 */
export function endOfString(text, start) {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return text.length;
}

/** @type {EntryLists} */
const noEntries = { delete: [], insert: [], move: [], reconfigure: [], reload: [] };

/**
 * @param {EntryLists} lists @param {(entries: any[], name: string) => any[]} change @returns {any}
 */
const mapped = (lists, change) => Object.fromEntries(Object.entries(lists).map(([name, entries]) => [name, change(entries, name)]));

/**
 * The lists of several parts, joined.
 * @param {any[]} parts @returns {EntryLists}
 */
function joined(parts) {
  for (const part of parts) if (part !== undefined && !isObject(part)) throw invalid('lists', part);
  return mapped(noEntries, (_, name) => parts.flatMap((part) => entriesOf(part?.[name])));
}

/** @param {any} list @returns {any[]} */
function entriesOf(list) {
  if (list === undefined) return [];
  if (!Array.isArray(list) || !list.every(isObject)) throw invalid('list', list);
  return list;
}

/**
 * The entries without their content.
 * @param {EntryLists} lists @returns {any}
 */
function placesOf(lists) {
  /** @param {any[]} entries */
  const places = (entries) => entries.map(({ kind: _kind, data: _data, order: _order, keep: _keep, [textOfData]: _text, ...place }) => place);
  return mapped(lists, places);
}

/** @param {any} entry @param {{ has: (id: string) => boolean }} taken @returns {string} */
function newId({ id }, taken) {
  if (!isText(id) || !isShort(id)) throw invalid('id', id);
  if (taken.has(id)) throw new ReplicaFault('unknown-element', `${quoted(id)} exists already`);
  return id;
}

/** @param {any} entry @returns {string} */
function kindOf({ id, kind }) {
  if (typeof kind !== 'string' || !isShort(kind)) throw invalid(`kind of ${quoted(id)}`, kind);
  return kind;
}

/** @param {any} entry @returns {Content} */
function contentOf({ id, data, [textOfData]: dataText }) {
  if (data === undefined) throw invalid(`data of ${quoted(id)}`, data);
  return { data, dataText };
}

/** @param {any} entry @returns {Content & Settings} */
function sectionContentOf(entry) { return { ...contentOf(entry), order: entry.order, keep: entry.keep }; }

/**
 * Whether a text is within the limit of ids and kinds in bytes.
 * @param {string} text
 */
const isShort = (text) => 3 * text.length <= maxIdBytes || utf8.encode(text).length <= maxIdBytes;

/** @template {{ id: string }} E @param {readonly E[]} list @param {any} id @param {any} index @returns {E} */
function elementAt(list, id, index) {
  const found = isCount(index) ? list[index] : undefined;
  if (found === undefined || found.id !== id) {
    throw new ReplicaFault('position', `${quoted(id)} is not at ${quoted(index)}; there is ${found ? quoted(found.id) : 'nothing'}`);
  }
  return found;
}

/** @param {number} sum @param {Changeset} record */
function checkChecksum(sum, { revision, checksum }) {
  const found = hexadecimal(sum);
  if (found === checksum) return;
  throw new ReplicaFault('checksum', `the result of revision ${revision} has ${found}, expected ${checksum}`);
}

/** @param {number} sum Modulo 2³², without sign. */
const wrapped = (sum) => sum >>> 0;

/** @param {number} checksum */
const hexadecimal = (checksum) => checksum.toString(16).padStart(8, '0');

/**
 * A value for a message, truncated if it is long.
 * @param {unknown} value
 */
const quoted = (value) => {
  try {
    return String(JSON.stringify(value)).slice(0, 80);
  } catch {
    // JSON.stringify is recursive.
    return 'a deeply nested value';
  }
};

/** @param {string} name @param {unknown} value */
const invalid = (name, value) => new ReplicaFault('invalid-changeset', `the ${name} is not valid: ${quoted(value)}`);
