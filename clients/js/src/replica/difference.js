/** The entries of a difference, and their effect on a state. SPDX-License-Identifier: Apache-2.0 */

import { contentOf, elementAt, joined, kindOf, newId, sectionContentOf } from './changeset.js';
import { checkChecksum, itemTerm, sectionTerm, wrapped } from './checksum.js';
import { Item, Section } from './elements.js';
import { quoted, ReplicaFault } from './fault.js';

/**
 * @typedef {import('./feed-state.js').FeedState} FeedState
 * @typedef {import('./changeset.js').Changeset} Changeset
 * @typedef {import('./changeset.js').Totals} Totals
 */

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
      // Not `===`: -0 is not a position.
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
 * The changes of a map.
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
export class Difference {
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
