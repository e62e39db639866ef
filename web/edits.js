/**
 * The changes of a user to a feed, item by item. A change is pending until its outcome is known; the client shows it at once, and takes it
 * back if the daemon refuses it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { ownDataOf, tokensOf } from './format.js';

/**
 * @typedef {import('./rows.js').Item} Item
 * @typedef {{ section: string, at?: 'first' | 'last' | { before: string } | { after: string } }} Place
 *
 * The text that replaces an item's own data, and that data when the user began.
 * @typedef {{ text: string, base: string }} Draft
 *
 * `isDeleting`: whether the user was asked to confirm it. `pending`: what happens to it, in a word.
 * @typedef {{ draft: Draft | null, isDeleting: boolean, pending: string | null,
 *   problem: { code: string, text: string } | null }} Edit
 */

/** JSON on several lines, as it is spelled. @param {string} json */
const indented = (json) => tokensOf(json, { limit: Infinity, isPretty: true }).map(({ text }) => text).join('');

/** @type {Edit} */
const none = { draft: null, isDeleting: false, pending: null, problem: null };

export class Edits {
  /** Whether the daemon takes changes of this feed. */
  isAllowed = false;
  /** @type {Map<string, Edit>} */
  #edits = new Map();
  #send;
  #options;

  /**
   * @param {(event: string) => Promise<unknown>} send Writes an event, which is JSON.
   * @param {{ onEdit: () => void, onRefused: (id: string, problem: NonNullable<Edit['problem']>) => void }} options
   */
  constructor(send, options) {
    this.#send = send;
    this.#options = options;
  }

  /** An object that stays the same until something changes. @param {string} id @returns {Edit} */
  of(id) { return this.#edits.get(id) ?? none; }

  /** @param {Item} item */
  begin(item) {
    if (!this.isAllowed || this.of(item.id).draft !== null) return;
    const base = ownDataOf(item);
    this.#change(item.id, { draft: { text: indented(base), base }, isDeleting: false, problem: null });
  }

  /** @param {string} id */
  askToDelete(id) {
    if (this.isAllowed && this.of(id).pending === null) this.#change(id, { isDeleting: true, problem: null });
  }

  /** Answers the question, or else forgets what was typed. @param {string} id */
  cancel(id) { this.#change(id, this.of(id).isDeleting ? { isDeleting: false } : { draft: null, problem: null }); }

  /** Keeps what the user types. @param {string} id @param {string} text */
  type(id, text) {
    const { draft } = this.of(id);
    if (draft !== null) draft.text = text;
  }

  /** Writes what the user has typed, if it is JSON. @param {string} id @returns {boolean} Whether it is. */
  save(id) {
    const { draft, pending } = this.of(id);
    if (draft === null || pending !== null) return false;
    const { text, base } = draft;
    if (text === indented(base)) {
      this.cancel(id);
      return true;
    }
    try {
      JSON.parse(text);
    } catch (error) {
      this.#change(id, { problem: { code: 'invalid-json', text: /** @type {Error} */ (error).message } });
      return false;
    }
    // As it is spelled. An upsert of an item that is gone is refused, and a patch would be ignored.
    this.#write(id, 'saving', `{"op":"item.upsert","item":${JSON.stringify(id)},"data":${text}}`);
    return true;
  }

  /** @param {string} id @param {Place} place */
  move(id, place) { this.#write(id, 'moving', JSON.stringify({ op: 'item.move', item: id, ...place })); }

  /** @param {string} id */
  delete(id) { this.#write(id, 'deleting', JSON.stringify({ op: 'item.delete', item: id })); }

  /** One change of an item at a time: where the next one goes depends on it. @param {string} id @param {string} word @param {string} event */
  async #write(id, word, event) {
    if (!this.isAllowed || this.of(id).pending !== null) return;
    this.#change(id, { pending: word, isDeleting: false, problem: null });
    try {
      await this.#send(event);
      this.#change(id, { pending: null, draft: word === 'saving' ? null : this.of(id).draft });
    } catch (error) {
      const { code, message } = /** @type {any} */ (error);
      const problem = { code: code ?? 'no-answer', text: message };
      this.#change(id, { pending: null, problem });
      this.#options.onRefused(id, problem);
    }
  }

  /** @param {string} id @param {Partial<Edit>} change */
  #change(id, change) {
    const edit = { ...this.of(id), ...change };
    if (edit.draft ?? edit.pending ?? edit.problem ?? (edit.isDeleting || null)) this.#edits.set(id, edit);
    else this.#edits.delete(id);
    this.#options.onEdit();
  }
}

/**
 * A place in a section. In an ordered one, places have no meaning.
 * @param {import('./rows.js').Section} section @param {NonNullable<Place['at']>} at @returns {Place}
 */
export const placeIn = ({ id, order }, at) => (order === undefined ? { section: id, at } : { section: id });

/**
 * Where an item goes that is moved by one place: up (-1) or down (1). At the end of its section, or from anywhere in an ordered one,
 * that is the section beside it. Null if there is none, or the page does not have the item that is there.
 * @param {readonly import('./rows.js').ShownSection[]} sections @param {Item} item @param {1 | -1} step @returns {Place | null}
 */
export function placeBeside(sections, item, step) {
  const sectionIndex = sections.findIndex(({ id }) => id === item.section);
  const own = sections[sectionIndex];
  const index = own.indexOf(item.id) + step;
  if (own.section.order === undefined && index >= 0 && index < own.count) {
    const beside = own.at(index);
    if (beside === undefined) return null;
    return { section: own.id, at: step < 0 ? { before: beside.id } : { after: beside.id } };
  }
  const next = sections[sectionIndex + step];
  return next === undefined ? null : placeIn(next.section, step < 0 ? 'last' : 'first');
}
