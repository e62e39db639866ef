/**
 * How a user changes an item: the part of its expanded row with text and buttons, and dragging.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { make, setAttribute, setText } from './dom.js';
import { placeIn } from './edits.js';
import { ownDataOf } from './format.js';

/** @typedef {import('./rows.js').Row} Row */

/** The most lines of the text that are shown at a time. */
const maxLines = 20;

export class ItemEditor {
  #text = make('textarea', { spellcheck: 'false', dir: 'ltr', 'aria-label': 'Data as JSON' });
  #stale = make('p', {}, 'The data has changed since you began.');
  #problem = make('p', { class: 'refused', role: 'alert' });
  #delete = button('Delete', () => this.#edits.delete(this.#id));
  /** One of them is shown: what can be done, the end of editing, and a question. */
  #tools;
  #draftTools;
  #question;
  #edits;
  #id;
  /** @type {any} */
  #item;

  /** @param {import('./edits.js').Edits} edits @param {string} id @param {{ move: (step: 1 | -1) => void, leave: () => void }} options */
  constructor(edits, id, { move, leave }) {
    this.#edits = edits;
    this.#id = id;
    this.#tools = group(
      'Change the item',
      button('Edit data', () => this.edit()), button('Move up', () => move(-1)), button('Move down', () => move(1)),
      button('Delete …', () => this.askToDelete()),
    );
    const save = () => {
      if (edits.save(id)) leave();
    };
    const cancel = () => {
      edits.cancel(id);
      leave();
    };
    this.#draftTools = group('Edit the data', button('Save', save), button('Cancel', cancel));
    this.#delete.addEventListener('click', leave);
    this.#question = group('Delete the item?', make('span', {}, 'Delete this item?'), this.#delete, button('Keep', cancel));
    this.#text.addEventListener('input', () => edits.type(id, this.#text.value));
    this.#text.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      save();
    });
    this.element = make(
      'div', { class: 'editor' }, this.#text, this.#stale, this.#tools, this.#draftTools, this.#question, this.#problem,
    );
  }

  /** @param {import('./rows.js').Item} item As it is now. */
  fill(item) {
    this.#item = item;
    const { draft, isDeleting, pending, problem } = this.#edits.of(this.#id);
    this.#text.hidden = draft === null;
    this.#draftTools.hidden = draft === null || isDeleting;
    this.#stale.hidden = draft === null || draft.base === ownDataOf(item);
    this.#question.hidden = !isDeleting;
    this.#tools.hidden = draft !== null || isDeleting;
    this.#problem.hidden = problem === null;
    setText(this.#problem, problem === null ? '' : `${problem.code}: ${problem.text}`);
    if (draft !== null && this.#text.value !== draft.text) {
      this.#text.value = draft.text;
      setAttribute(this.#text, 'rows', Math.min(maxLines, draft.text.split('\n').length));
    }
    this.#text.readOnly = pending !== null;
    for (const element of this.element.querySelectorAll('button')) setAttribute(element, 'aria-disabled', pending !== null && 'true');
  }

  edit() {
    this.#edits.begin(this.#item);
    this.fill(this.#item);
    this.#text.focus();
  }

  askToDelete() {
    this.#edits.askToDelete(this.#id);
    this.fill(this.#item);
    this.#delete.focus();
  }
}

/** @param {string} text @param {() => void} click */
const button = (text, click) => make('button', { type: 'button', click }, text);

/** @param {string} label @param {...Node} children */
const group = (label, ...children) => make('div', { class: 'tools', role: 'group', 'aria-label': label }, ...children);

/**
 * Lets users drag rows by their grips.
 * @param {any} canvas The parent of the rows.
 * @param {{ rowOf: (element: Element) => Row | null, onDrop: (id: string, place: import('./edits.js').Place) => void }} options
 */
export function makeDraggable(canvas, { rowOf, onDrop }) {
  /** @type {Row | null} */
  let dragged = null;
  /** @type {Element | null} The row at which the dragged one would go. */
  let marked = null;
  /** @param {Element | null} element @param {string} [side] */
  const mark = (element, side) => {
    if (marked !== null && marked !== element) setAttribute(marked, 'data-drop', null);
    marked = element;
    if (element !== null) setAttribute(element, 'data-drop', side);
  };
  canvas.addEventListener('dragstart', (/** @type {any} */ event) => {
    const element = event.target.closest?.('.grip') ? event.target.closest('.row') : null;
    dragged = element && rowOf(element);
    if (!dragged?.item) return;
    event.dataTransfer.effectAllowed = 'move';
    event.dataTransfer.setData('text/plain', dragged.item.id);
    event.dataTransfer.setDragImage(element, 0, 0);
  });
  /** @param {any} event @param {(place: import('./edits.js').Place, element: Element, side: string) => void} take */
  const locate = ({ target, clientY }, take) => {
    const element = target.closest?.('.row');
    const row = element ? rowOf(element) : null;
    if (!dragged?.item || row?.item === undefined || row.item?.id === dragged.item.id) return mark(null);
    const { section } = row.section;
    const isOrdered = section.order !== undefined;
    if (isOrdered && dragged.item.section === section.id) return mark(null);
    const box = element.getBoundingClientRect();
    const isAbove = row.item !== null && clientY < box.top + box.height / 2;
    const passed = dragged.item.section === section.id ? row.itemIndex + (isAbove ? 0 : 1) - dragged.itemIndex : 2;
    // That is its own place.
    if (passed === 0 || passed === 1) return mark(null);
    const at = row.item === null ? 'first' : isAbove ? { before: row.item.id } : { after: row.item.id };
    return take(placeIn(section, at), element, isOrdered ? 'into' : isAbove ? 'before' : 'after');
  };
  canvas.addEventListener('dragover', (/** @type {any} */ event) => locate(event, (_, element, side) => {
    event.preventDefault();
    mark(element, side);
  }));
  canvas.addEventListener('dragleave', (/** @type {any} */ { relatedTarget }) => {
    if (!canvas.contains(relatedTarget)) mark(null);
  });
  canvas.addEventListener('drop', (/** @type {any} */ event) => locate(event, (place) => {
    event.preventDefault();
    onDrop(/** @type {any} */ (dragged).item.id, place);
  }));
  canvas.addEventListener('dragend', () => {
    mark(null);
    dragged = null;
  });
}
