/**
 * The sections and items of a feed as one long list. Only visible rows are in the document. Changes are highlighted by
 * kind, moved rows slide to their new places, and a reload is visibly one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { byId, make, mayMove, onceAFrame, setAttribute, setText } from './dom.js';
import { placeBeside } from './edits.js';
import { changesBetween, sectionNote, tokenNodes, tokensOf, visible } from './format.js';
import { ItemEditor, makeDraggable } from './item-editor.js';
import { Rows, Scroller } from './rows.js';

/** How long a change is highlighted, in milliseconds. Its label stays until the next changeset. */
const litFor = 5000;
const previewLimit = 240;
const prettyLimit = 100000;
/** The number of changed members to show, and the length of a value, of which the style shows the part that has room. */
const maxChangesShown = 2;
const changeLimit = 40;
/** The minimum time between changes for animated moves, in milliseconds. */
const shortestPause = 120;
/** The number of rows to keep outside the visible area, on each side. */
const margin = 6;
const maxExpanded = 50;

/** In the order in which they are shown. Each has a colour, a sign and a word, so that colour alone carries no meaning. */
export const changeKinds = {
  inserted: { sign: '+', word: 'inserted' },
  moved: { sign: '⇄', word: 'moved' },
  reconfigured: { sign: '~', word: 'reconfigured' },
  reloaded: { sign: '⟳', word: 'reloaded' },
  deleted: { sign: '−', word: 'deleted' },
};

const kindsInOrder = /** @type {import('./followed-window.js').ChangeKind[]} */ (Object.keys(changeKinds));

/**
 * @typedef {import('./followed-window.js').Mark & { at: number }} LitMark
 *
 * A row in the document.
 * @typedef {{ element: any, cells: Record<string, any>, panel: any, top: number, item: any, data: string | undefined,
 *   kind: unknown, lit: LitMark | undefined, isFresh: boolean, slide: Animation | null, glow: Animation | null,
 *   edit: import('./edits.js').Edit | undefined, editor: ItemEditor | null }} Drawn
 */

export class FeedGrid {
  #grid = byId('rows');
  #canvas = byId('canvas');
  #probe = byId('row-probe');
  #flash = byId('flash');
  #pinned = byId('pinned');
  #placeholder = byId('placeholder');
  #scroller = new Scroller(this.#grid);
  #rows = new Rows([], 40);
  /** Whether the sections have changed since the rows were computed. */
  #isChanged = false;
  /** @type {Map<string, Drawn>} */
  #drawn = new Map();
  /** @type {Map<string, LitMark>} */
  #lit = new Map();
  /** @type {Map<string, number>} The additional height of expanded rows, in pixels. */
  #expanded = new Map();
  /** @type {string | null} The row that has the keyboard focus. */
  #active = null;
  /** Where that was. */
  #activeAt = -1;
  #nextRowNumber = 0;
  /** @type {any} */
  #settling = null;
  /** Whether the next frame shows a new state, with animated moves. */
  #isAnimated = false;
  /** The time of the last such frame. */
  #animatedAt = -Infinity;
  /** The time of the last frame; marks from after it are shown for the first time in the next one, however late that is. */
  #drawnAt = -Infinity;
  #shown;
  #draw;

  /**
   * @param {{ shown: () => import('./shown-feed.js').ShownFeed | null, onLeave: () => void }} options `onLeave` is called when Escape
   * is pressed.
   */
  constructor({ shown, onLeave }) {
    this.#shown = shown;
    this.#draw = onceAFrame(() => this.#drawNow());
    this.#grid.addEventListener('scroll', () => this.#draw(), { passive: true });
    this.#grid.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
      if (this.#takeKey(event, onLeave)) event.preventDefault();
    });
    this.#canvas.addEventListener('click', (/** @type {MouseEvent} */ event) => this.#takeClick(event));
    this.#canvas.addEventListener('focusin', (/** @type {any} */ { target }) => {
      this.#active = this.#rowOf(target)?.key ?? this.#active;
      this.#draw();
    });
    makeDraggable(this.#canvas, {
      rowOf: (element) => this.#rowOf(element),
      onDrop: (id, place) => this.#shown()?.edits.move(id, place),
    });
    // Without scrolling: a click that gives it the focus must hit the row that is there.
    this.#grid.addEventListener('focus', () => this.#draw());
    new ResizeObserver(() => {
      this.#isChanged = true;
      this.#isAnimated = false;
      this.#draw();
    }).observe(this.#probe);
    new ResizeObserver(() => this.#draw()).observe(this.#grid);
    this.#flash.addEventListener('animationend', (/** @type {AnimationEvent} */ event) => {
      if (event.pseudoElement === '') this.#flash.classList.remove('on');
    });
  }

  /**
   * Starts with another feed.
   * @param {string} label
   */
  clear(label) {
    this.#lit.clear();
    this.#expanded.clear();
    this.#active = null;
    for (const { element } of this.#drawn.values()) element.remove();
    this.#drawn.clear();
    this.#canvas.replaceChildren();
    this.#scroller.top = 0;
    this.#flash.classList.remove('on');
    this.#grid.setAttribute('aria-label', `Sections and items of ${label}`);
    this.show();
    // The first state is not animated, so the next move is not too close to it.
    this.#isAnimated = false;
  }

  /**
   * Shows a new state in the next frame.
   * @param {Map<string, import('./followed-window.js').Mark>} [marks] What changed since the last one.
   */
  show(marks = new Map()) {
    const now = performance.now();
    for (const [key, { at }] of this.#lit) if (now - at > litFor) this.#lit.delete(key);
    for (const [key, mark] of marks) {
      // Changes while an element is highlighted are added to its mark.
      const earlier = this.#lit.get(key);
      const kinds = kindsInOrder.filter((kind) => mark.kinds.includes(kind) || earlier?.kinds.includes(kind));
      this.#lit.set(key, { kinds, before: earlier?.before ?? mark.before, from: mark.from, at: now });
    }
    this.#isChanged = true;
    this.#isAnimated = true;
    this.#draw();
  }

  /** Shows in the next frame what has come of the same state. */
  update() {
    this.#isChanged = true;
    this.#draw();
  }

  /**
   * Shows a state that does not continue from the previous one.
   * @param {{ isVisible: boolean }} options
   */
  reload({ isVisible }) {
    this.#lit.clear();
    this.show();
    this.#isAnimated = false;
    if (!isVisible) return;
    this.#flash.classList.remove('on');
    // Forces a layout, so that the animation restarts.
    void this.#flash.offsetWidth;
    this.#flash.classList.add('on');
  }

  /**
   * Shows why there are no rows.
   * @param {string | null} text
   */
  setPlaceholder(text) {
    setText(this.#placeholder, text ?? '');
    this.#placeholder.hidden = text === null;
  }

  focus() { this.#grid.focus({ preventScroll: true }); }

  /** Shows all of a row. @param {string} key */
  open(key) { this.#expand(key, true); }

  /**
   * Highlights marks again, and scrolls to the first.
   * @param {Map<string, import('./followed-window.js').Mark>} marks
   */
  reveal(marks) {
    this.show(marks);
    const key = [...marks.keys()].find((it) => this.#indexOf(it) >= 0);
    if (key !== undefined) this.#activate(this.#indexOf(key));
  }

  // Positions.

  #currentRows() {
    if (!this.#isChanged) return this.#rows;
    const height = this.#probe.getBoundingClientRect().height || 40;
    this.#rows = new Rows(this.#shown()?.sections ?? [], height, this.#expanded);
    this.#isChanged = false;
    return this.#rows;
  }

  /** @param {string} key */
  #indexOf(key) {
    const item = key[0] === 'i' ? this.#shown()?.item(key.slice(1)) : undefined;
    return key[0] === 's' || item !== undefined ? this.#currentRows().indexOf(key, item) : -1;
  }

  /** The row that an element is in. @param {Element} element @returns {import('./rows.js').Row | null} */
  #rowOf(element) {
    const parent = element.closest('.row');
    const index = this.#indexOf([...this.#drawn].find(([, drawn]) => drawn.element === parent)?.[0] ?? '');
    return index < 0 ? null : this.#currentRows().row(index);
  }

  /** The row with the focus; -1 if there is none. If its item is gone, or comes, the row in its place gets the focus. */
  #activeIndex() {
    if (this.#active === null) return -1;
    const rows = this.#currentRows();
    const index = this.#indexOf(this.#active);
    this.#activeAt = index >= 0 ? index : Math.min(this.#activeAt, rows.count - 1);
    this.#active = this.#activeAt < 0 ? null : rows.row(this.#activeAt).key;
    return this.#activeAt;
  }

  // Drawing.

  #drawNow() {
    const grid = this.#grid;
    const before = this.#rows;
    const [oldScroll, oldTops] = [this.#scroller.top, new Map([...this.#drawn].map(([key, row]) => [key, row.top]))];
    const isAnimated = this.#isAnimated && this.#isChanged;
    const now = performance.now();
    const pause = now - this.#animatedAt;
    if (isAnimated) this.#animatedAt = now;
    const since = this.#drawnAt;
    this.#drawnAt = now;
    const wasChanged = this.#isChanged;
    this.#isAnimated = false;
    const rows = this.#currentRows();
    this.#canvas.style.height = `${this.#scroller.contentHeight(rows.totalHeight)}px`;
    if (wasChanged) this.#stay(oldTops, oldScroll);
    const { shift } = this.#scroller;
    // A row gets the focus with the grid, or when there is one.
    if (this.#active === null && rows.count > 0 && document.activeElement === grid) {
      this.#active = rows.row(rows.indexAtHeight(this.#scroller.top)).key;
    }
    const keys = this.#keysInSight(rows);
    /** @type {Set<string>} */
    const wanted = new Set(keys.map(({ key }) => key));
    for (const [key, row] of this.#drawn) {
      if (wanted.has(key)) continue;
      this.#drawn.delete(key);
      if (isAnimated) this.#fade(key, row);
      else row.element.remove();
    }
    const focused = document.activeElement;
    let next = this.#canvas.firstElementChild;
    for (const row of keys) {
      let drawn = this.#drawn.get(row.key);
      const isNew = drawn === undefined;
      drawn ??= this.#makeRow(row);
      this.#fill(drawn, row);
      const visualTop = isNew ? undefined : currentTop(drawn, shift);
      drawn.top = rows.top(row.index);
      drawn.element.style.transform = `translateY(${drawn.top - shift}px)`;
      while (next !== null && next.classList.contains('gone')) next = next.nextElementSibling;
      if (drawn.element === next) next = next.nextElementSibling;
      else this.#canvas.insertBefore(drawn.element, next);
      if (!isAnimated || !mayMove()) continue;
      this.#animate(drawn, row, { visualTop, before, shift: this.#scroller.top - oldScroll, pause, since });
    }
    if (focused instanceof HTMLElement && focused !== document.activeElement && focused.isConnected) {
      focused.focus({ preventScroll: true });
    }
    if (this.#measure()) this.#draw();
    this.#describe(rows);
    this.#settleLater();
  }

  /**
   * Keeps visible rows in place when rows above them are added or removed.
   * @param {Map<string, number>} oldTops @param {number} scroll
   */
  #stay(oldTops, scroll) {
    // At the top, new rows should become visible.
    if (scroll < 2) return;
    const rows = this.#currentRows();
    for (const [key, top] of [...oldTops].sort((a, b) => a[1] - b[1])) {
      if (top < scroll || this.#lit.get(key)?.kinds.includes('moved')) continue;
      const index = this.#indexOf(key);
      if (index < 0) continue;
      const shift = rows.top(index) - top;
      if (Math.abs(shift) > 0.5) this.#scroller.top = scroll + shift;
      return;
    }
  }

  /** @param {Rows} rows */
  #keysInSight(rows) {
    const { top } = this.#scroller;
    if (rows.count === 0) return [];
    const first = Math.max(0, rows.indexAtHeight(top) - margin);
    const end = Math.min(rows.count, rows.indexAtHeight(top + this.#grid.clientHeight) + 1 + margin);
    const result = [];
    for (let index = first; index < end; index++) result.push(rows.row(index));
    this.#shown()?.see(result);
    // Assistive technology needs the active row in the document, wherever it is.
    const index = result.find(({ key }) => key === this.#active)?.index ?? this.#activeIndex();
    this.#activeAt = index;
    if (index >= 0 && index < first) result.unshift(rows.row(index));
    else if (index >= end) result.push(rows.row(index));
    return result;
  }

  /** @param {import('./rows.js').Row} row @returns {Drawn} */
  #makeRow({ key, item }) {
    const cells = {
      id: make('span', { class: 'id', role: 'gridcell' }, make('bdi')),
      kind: make('span', { class: 'kind', role: 'gridcell' }),
      data: make('span', { class: 'data', role: 'gridcell', dir: 'ltr' }),
      marks: make('span', { class: 'marks', role: 'gridcell' }),
    };
    const element = make(
      'div',
      { class: item === null ? 'row section' : 'row item', role: 'row', id: `row-${this.#nextRowNumber++}` },
      make('span', { class: 'glow', 'aria-hidden': 'true' }),
      item === null ? null : make('span', { class: 'grip', draggable: 'true', 'aria-hidden': 'true' }, '⠿'),
      make('span', { class: 'line', role: 'presentation' }, cells.id, cells.kind, cells.data, cells.marks),
    );
    const drawn = {
      element, cells, panel: null, top: 0, item: undefined, data: undefined, kind: undefined, lit: undefined,
      isFresh: false, slide: null, glow: null, edit: undefined, editor: null,
    };
    this.#drawn.set(key, drawn);
    return drawn;
  }

  /** @param {Drawn} drawn @param {import('./rows.js').Row} row */
  #fill(drawn, { index, key, section, sectionIndex, item, itemIndex }) {
    const { element, cells } = drawn;
    const node = item === null ? section.section : item;
    const isExpanded = this.#expanded.has(key);
    const lit = this.#lit.get(key);
    const isFresh = lit !== undefined && performance.now() - lit.at < litFor;
    setAttribute(element, item === null ? 'data-section' : 'data-item', node?.id);
    setAttribute(element, 'data-missing', node === undefined);
    setAttribute(element, 'aria-level', item === null ? 1 : 2);
    setAttribute(element, 'aria-rowindex', index + 2);
    setAttribute(element, 'aria-posinset', (item === null ? sectionIndex : itemIndex) + 1);
    setAttribute(element, 'aria-setsize', item === null ? this.#rows.sections.length : section.count);
    setAttribute(element, 'aria-expanded', String(isExpanded));
    setAttribute(element, 'aria-selected', String(key === this.#active));
    if (node === undefined) return;
    setText(cells.id.firstChild, visible(node.id));
    setAttribute(cells.id, 'title', node.id);
    const kind = item === null ? sectionNote(node, section.count) : /** @type {any} */ (item).kind;
    if (drawn.kind !== kind) setText(cells.kind, kind);
    if (item === null) setAttribute(element, 'data-settings', node.order !== undefined || node.keep !== undefined);
    else setAttribute(element, 'data-kind', kind);
    const data = node.dataText;
    const edits = item ? this.#shown()?.edits : undefined;
    const edit = edits?.of(node.id);
    const isOther = drawn.item !== node || drawn.data !== data || drawn.kind !== kind || drawn.edit !== edit;
    const isEditorOther = (drawn.editor !== null) !== (edits?.isAllowed === true);
    const isPanelDue = isExpanded && (drawn.panel === null || isOther || isEditorOther || drawn.lit !== lit);
    const isLineDue = isOther || drawn.lit !== lit || drawn.isFresh !== isFresh;
    const changed = isPanelDue || isLineDue ? changesBetween(lit?.before, data) : [];
    if (isLineDue) {
      cells.data.replaceChildren(
        ...changeNodes(changed), ...tokenNodes(tokensOf(data, { limit: previewLimit, changed })),
      );
      this.#fillMarks(drawn, lit, isFresh, edit, edit?.pending ?? (item?.isPending ? 'pending' : null), item?.refs);
      if (drawn.lit !== lit) this.#light(drawn, lit);
    }
    if (isPanelDue) this.#fillPanel(drawn, data, changed, edits?.isAllowed ? edits : undefined, item);
    else if (!isExpanded && drawn.panel !== null) {
      drawn.panel.remove();
      drawn.panel = drawn.editor = null;
    }
    Object.assign(drawn, { item: node, data, kind, lit, isFresh, edit });
  }

  /**
   * @param {Drawn} drawn @param {LitMark | undefined} lit @param {boolean} isFresh @param {import('./edits.js').Edit | undefined} edit
   * @param {string | null} pending What happens to it, in a word. @param {Readonly<Record<string, string>>} [refs]
   */
  #fillMarks({ element, cells }, lit, isFresh, edit, pending, refs) {
    setAttribute(element, 'data-change', lit?.kinds.join(' '));
    setAttribute(element, 'data-fresh', isFresh);
    const marks = (lit?.kinds ?? []).map((kind) => ({ kind, ...changeKinds[kind] }));
    const own = pending ? { kind: 'pending', sign: '…', word: pending }
      : edit?.problem ? { kind: 'refused', sign: '!', word: 'refused' }
        : edit?.draft ? { kind: 'draft', sign: '✎', word: 'editing' } : null;
    setAttribute(element, 'data-edit', own?.kind);
    /** @type {{ kind: string, sign: string, word: string, title?: string }[]} */
    const all = own === null ? marks : [own, ...marks];
    if (refs !== undefined) all.unshift({ kind: 'refs', sign: '↗', word: 'refers', title: contentsIn(refs) });
    cells.marks.replaceChildren(...all.map(({ kind, sign, word, title = word }) => make(
      'span', { class: 'mark', 'data-mark': kind, title },
      make('span', { 'aria-hidden': 'true' }, sign), make('span', { class: 'word' }, word),
    )));
  }

  /** @param {Drawn} drawn @param {LitMark | undefined} lit */
  #light(drawn, lit) {
    drawn.glow?.cancel();
    drawn.glow = null;
    if (lit === undefined) return;
    const frames = mayMove()
      ? [{ opacity: 1 }, { opacity: 0.55, offset: 0.3 }, { opacity: 0 }] : [{ opacity: 0.6 }, { opacity: 0.6 }];
    drawn.glow = drawn.element.firstElementChild.animate(frames, { duration: litFor, easing: 'ease-out' });
    if (drawn.glow !== null) drawn.glow.currentTime = performance.now() - lit.at;
  }

  /**
   * @param {Drawn} drawn @param {string} data @param {readonly import('./format.js').DataChange[]} changed
   * @param {import('./edits.js').Edits | undefined} edits With which the item may be changed. @param {any} item
   */
  #fillPanel(drawn, data, changed, edits, item) {
    const tokens = tokensOf(data, { limit: prettyLimit, isPretty: true, changed });
    const code = drawn.panel?.querySelector('pre') ?? make('pre', { tabindex: '0', 'aria-label': 'Data', dir: 'ltr' });
    code.replaceChildren(...tokenNodes(tokens));
    code.hidden = edits !== undefined && edits.of(item.id).draft !== null;
    if (drawn.panel === null) {
      drawn.panel = make('div', { class: 'panel', role: 'gridcell' }, make('p', { class: 'ends' }), make('p', { class: 'refs' }), code);
      drawn.element.append(drawn.panel);
    }
    const ends = drawn.panel.querySelector('.ends');
    ends.hidden = item?.expires === undefined;
    setText(ends, ends.hidden ? '' : `Ends at ${item.expires}`);
    const refs = drawn.panel.querySelector('.refs');
    refs.hidden = item?.refs === undefined;
    setText(refs, refs.hidden ? '' : contentsIn(item.refs));
    if (edits === undefined) {
      drawn.editor?.element.remove();
      drawn.editor = null;
      return;
    }
    if (drawn.editor === null) {
      drawn.editor = new ItemEditor(edits, item.id, {
        move: (step) => this.#move(this.#shown()?.item(item.id), step),
        leave: () => this.focus(),
      });
      drawn.panel.append(drawn.editor.element);
    }
    drawn.editor.fill(item);
  }

  /**
   * Measures the height of expanded rows.
   * @returns {boolean} Whether any has changed.
   */
  #measure() {
    let isOther = false;
    for (const [key, extra] of this.#expanded) {
      const panel = this.#drawn.get(key)?.panel;
      if (!panel) continue;
      const height = panel.getBoundingClientRect().height;
      if (Math.abs(height - extra) < 0.5) continue;
      this.#expanded.set(key, height);
      isOther = true;
    }
    if (isOther) this.#isChanged = true;
    return isOther;
  }

  /**
   * @param {Drawn} drawn @param {import('./rows.js').Row} row
   * @param {{ visualTop: number | undefined, before: Rows, shift: number, pause: number, since: number }} options The row's
   * visible position, if it had one; the previous rows; how far the page scrolled meanwhile; the time since the previous move;
   * the time of the last frame.
   */
  #animate(drawn, { key }, { visualTop, before, shift, pause, since }) {
    const mark = this.#lit.get(key);
    const isNew = mark !== undefined && mark.at >= since;
    if (visualTop === undefined && isNew && mark.kinds.includes('inserted')) {
      drawn.element.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 350, easing: 'ease-out' });
      return;
    }
    let from = visualTop;
    if (from === undefined && isNew && mark.from !== null) {
      const index = before.indexAt(mark.from.section, mark.from.index);
      if (index >= 0) from = before.top(index);
    }
    if (from === undefined) return;
    const height = this.#grid.clientHeight;
    const way = Math.max(-height, Math.min(height, from + shift - drawn.top));
    if (Math.abs(way) < 1) return;
    const isMoved = isNew && mark.kinds.includes('moved');
    drawn.slide?.cancel();
    drawn.slide = null;
    drawn.element.classList.remove('moving');
    // A row that never arrives cannot be followed by eye: if changes are frequent, rows move faster, or jump.
    if (pause < shortestPause) return;
    const place = drawn.top - this.#scroller.shift;
    const slide = drawn.element.animate(
      [{ transform: `translateY(${place + way}px)` }, { transform: `translateY(${place}px)` }],
      { duration: Math.min(isMoved ? 550 : 350, pause), easing: 'cubic-bezier(.2, .8, .2, 1)' },
    );
    drawn.slide = slide;
    drawn.element.classList.toggle('moving', isMoved);
    slide.addEventListener('finish', () => {
      if (drawn.slide !== slide) return;
      drawn.slide = null;
      drawn.element.classList.remove('moving');
    });
  }

  /**
   * Removes a row, fading it out if its element was deleted.
   * @param {string} key @param {Drawn} drawn
   */
  #fade(key, { element }) {
    const isThere = key[0] === 'p' || this.#indexOf(key) >= 0;
    if (isThere || !mayMove()) {
      element.remove();
      return;
    }
    for (const name of ['role', 'id', 'data-item', 'data-section', 'aria-selected', 'aria-expanded']) {
      element.removeAttribute(name);
    }
    element.setAttribute('aria-hidden', 'true');
    element.setAttribute('data-change', 'deleted');
    element.classList.add('gone');
    const { sign, word } = changeKinds.deleted;
    element.querySelector('.marks').replaceChildren(make('span', { class: 'mark', 'data-mark': 'deleted' }, sign,
      make('span', { class: 'word' }, word)));
    const fading = element.animate([{ opacity: 1 }, { opacity: 1, offset: 0.4 }, { opacity: 0 }], { duration: 700 });
    fading.addEventListener('finish', () => element.remove());
    fading.addEventListener('cancel', () => element.remove());
  }

  /** @param {Rows} rows */
  #describe(rows) {
    setAttribute(this.#grid, 'aria-rowcount', rows.count + 1);
    const active = this.#active === null ? undefined : this.#drawn.get(this.#active);
    setAttribute(this.#grid, 'aria-activedescendant', active?.element.id);
    const isWritable = this.#shown()?.edits.isAllowed === true;
    setAttribute(this.#grid, 'data-writable', isWritable);
    setAttribute(this.#grid, 'aria-keyshortcuts', isWritable && 'Alt+ArrowUp Alt+ArrowDown E Delete');
    const first = rows.count === 0 ? null : rows.row(rows.indexAtHeight(this.#scroller.top));
    const isPinned = first !== null && first.item !== null;
    setText(this.#pinned, isPinned ? visible(first.section.id) : '');
    this.#pinned.hidden = !isPinned;
  }

  /** Draws again when highlights expire. */
  #settleLater() {
    clearTimeout(this.#settling);
    const fresh = [...this.#drawn.values()].filter(({ isFresh }) => isFresh).map(({ lit }) => lit?.at ?? 0);
    if (fresh.length === 0) return;
    this.#settling = setTimeout(() => this.#draw(), Math.min(...fresh) + litFor - performance.now() + 20);
  }

  // Keys and clicks.

  /** @param {number} index */
  #activate(index) {
    const rows = this.#currentRows();
    if (rows.count === 0) return;
    const at = Math.max(0, Math.min(rows.count - 1, index));
    this.#active = rows.row(at).key;
    this.#activeAt = at;
    const top = rows.top(at);
    const bottom = at + 1 < rows.count ? rows.top(at + 1) : rows.totalHeight;
    const visible = this.#scroller.top;
    const lowest = bottom + this.#canvas.offsetTop - this.#grid.clientHeight;
    this.#scroller.top = top < visible ? top : Math.max(visible, Math.min(top, lowest));
    this.#draw();
  }

  /** @param {string} key @param {boolean} isExpanded */
  #expand(key, isExpanded) {
    if (key[0] === 'p' || isExpanded === this.#expanded.has(key)) return;
    if (isExpanded) this.#expanded.set(key, 0);
    else this.#expanded.delete(key);
    if (this.#expanded.size > maxExpanded) this.#expanded.delete([...this.#expanded.keys()][0]);
    this.#isChanged = true;
    this.#draw();
  }

  /** Moves an item by one place. @param {import('./rows.js').Item | undefined} item @param {1 | -1} step */
  #move(item, step) {
    const shown = this.#shown();
    const place = shown && item && placeBeside(shown.sections, item, step);
    if (place) shown.edits.move(item.id, place);
  }

  /** The editor of an item that may be changed, in its expanded row. @param {import('./rows.js').Row | null} row */
  #editorOf(row) {
    if (!row?.item || !this.#shown()?.edits.isAllowed) return undefined;
    this.#expand(row.key, true);
    this.#drawNow();
    return this.#drawn.get(row.key)?.editor;
  }

  /**
   * @param {KeyboardEvent} event @param {() => void} onLeave
   * @returns {boolean} Whether the key means something here.
   */
  #takeKey({ key, target, altKey, ctrlKey, metaKey }, onLeave) {
    if (ctrlKey || metaKey) return false;
    const isInPanel = target !== this.#grid;
    if (altKey) {
      const step = key === 'ArrowUp' ? -1 : key === 'ArrowDown' ? 1 : 0;
      const index = this.#activeIndex();
      if (step === 0 || isInPanel || index < 0) return false;
      // It may have left the screen with its last move.
      this.#activate(index);
      this.#move(this.#currentRows().row(index).item ?? undefined, step);
      return true;
    }
    if (isInPanel) {
      // In a panel, the arrow keys scroll.
      if (key !== 'Escape') return false;
      this.focus();
    }
    const rows = this.#currentRows();
    const index = this.#activeIndex();
    const page = Math.max(1, Math.floor(this.#grid.clientHeight / rows.height) - 2);
    const row = index < 0 ? null : rows.row(index);
    switch (key) {
      case 'ArrowDown': case 'j': this.#activate(index + 1); return true;
      case 'ArrowUp': case 'k': this.#activate(index - 1); return true;
      case 'PageDown': this.#activate(index + page); return true;
      case 'PageUp': this.#activate(index - page); return true;
      case 'Home': this.#activate(0); return true;
      case 'End': this.#activate(rows.count - 1); return true;
      case 'Enter': case ' ':
        if (row !== null) this.#expand(row.key, !this.#expanded.has(row.key));
        return true;
      case 'ArrowRight':
        if (row !== null) this.#expand(row.key, true);
        return true;
      case 'ArrowLeft':
        if (row === null) return true;
        if (this.#expanded.has(row.key)) this.#expand(row.key, false);
        else this.#activate(rows.indexAt(row.section.id, -1));
        return true;
      case 'e':
        this.#editorOf(row)?.edit();
        return true;
      case 'Delete':
        this.#editorOf(row)?.askToDelete();
        return true;
      case 'Escape':
        if (row !== null && this.#expanded.has(row.key)) this.#expand(row.key, false);
        else if (!isInPanel) onLeave();
        return true;
      default: return false;
    }
  }

  /** @param {MouseEvent} event */
  #takeClick({ target }) {
    const element = /** @type {Element} */ (target);
    const key = this.#rowOf(element)?.key;
    if (key === undefined || element.closest('.panel, .grip') !== null) return;
    // A text selection is not a click.
    if (getSelection()?.isCollapsed === false) return;
    this.#active = key;
    this.#expand(key, !this.#expanded.has(key));
    this.#draw();
  }
}

/** The contents that an item refers to. @param {Readonly<Record<string, string>>} refs */
const contentsIn = (refs) => `Refers to ${Object.entries(refs).map(([name, id]) => `${visible(name)} ${visible(id)}`).join(', ')}`;

/**
 * The old and new values of what changed, shortened to where they differ.
 * @param {readonly import('./format.js').DataChange[]} changed @returns {Node[]}
 */
function changeNodes(changed) {
  return changed.slice(0, maxChangesShown).map(({ name, old = '', now = '' }) => {
    let same = 0;
    while (same < old.length && old[same] === now[same]) same += 1;
    const isLong = Math.max(old.length, now.length) > changeLimit / 2;
    /** @param {string} value */
    const short = (value) => {
      if (value === '') return ['none'];
      // The style shortens what is the same, so that the difference has room.
      if (same > 8 && !isLong) return [make('span', { class: 'same' }, value.slice(0, same)), value.slice(same)];
      if (same > 8) return [`…${value.slice(same - 6, same + changeLimit)}`];
      return tokenNodes(tokensOf(value, { limit: changeLimit }).filter(({ type }) => type !== 'more'));
    };
    return make(
      'span', { class: 'change' },
      make('span', { class: 'json-name' }, name), ' ', make('span', { class: 'old' }, ...short(old)), ' ',
      '→ ', ...short(now),
    );
  });
}

/**
 * The visible position of a row, possibly during an animation.
 * @param {Drawn} drawn @param {number} shift
 */
function currentTop({ element, top, slide }, shift) {
  return slide?.playState === 'running' ? new DOMMatrix(getComputedStyle(element).transform).m42 + shift : top;
}
