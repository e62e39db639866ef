/** The state of a feed. SPDX-License-Identifier: Apache-2.0 */

import { contentOf, entriesOf, kindOf, newId, sectionContentOf } from './changeset.js';
import { checkChecksum, itemTerm, sectionTerm, wrapped } from './checksum.js';
import { Item, keptItem, keptSection, Section } from './elements.js';

/**
 * @typedef {import('./elements.js').Content} Content
 * @typedef {import('./elements.js').Settings} Settings
 * @typedef {import('./changeset.js').Changeset} Changeset
 * @typedef {import('./changeset.js').Totals} Totals
 */

/** Elements in order and by id, and the checksum. The elements and lists never change; a change replaces them. */
export class FeedState {
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
