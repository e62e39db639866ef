/**
 * The feed that the page shows. A small one is followed as a whole. Of a larger one the page follows two windows: the first items of
 * every section, and what is on the screen further down.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { Edits } from './edits.js';
import { FollowedWindow } from './followed-window.js';
import { ShownSection } from './rows.js';

/** The most items of a feed that is followed as a whole. */
const mostOfWhole = 10000;
/** How many items of each section are followed in any case: more than a screen has rows. */
const firstOfEach = 100;
/** The most of them together. */
const mostFirst = 20000;
/** Windows further down begin and end at multiples of this, so that pages share them. It is also how far beyond the screen they go. */
const step = 100;
/** Up to here, the items of several sections that are on the screen are followed from the first one. */
const mostOfSeveral = 1000;

/**
 * @typedef {import('./followed-window.js').FeedWindow} FeedWindow
 * @typedef {import('./followed-window.js').Entry} Entry
 * @typedef {import('./followed-window.js').Marks} Marks
 *
 * @typedef {object} ShownFeedOptions
 * @property {import('./client/../types/index.js').FeedStore} store
 * @property {number | null} partition By default the lowest that has the feed.
 * @property {(standing: import('./client/../types/index.js').Standing) => void} onStanding
 * @property {(entry: Entry, marks: Marks) => void} onEntry The view has it already.
 * @property {() => void} onRows Other rows are there, or other totals; nothing was published that concerns them.
 * @property {() => void} onEdit The user has changed something, or its outcome is known.
 * @property {(id: string, problem: { code: string, text: string }) => void} onRefused
 */

export class ShownFeed {
  /** The whole feed, or its first items. */
  #main;
  /** @type {FollowedWindow | null} What is on the screen further down. */
  #rest = null;
  #options;
  #isOpen = false;
  /** Whether nothing is known but how much there is; nothing is shown then. */
  #isProbing = true;
  /** Whether a state has been reported. */
  wasThere = false;
  #none;
  /** The window that says how much there is, before anything else is asked for. */
  #probe;

  /** @param {string} feed @param {ShownFeedOptions} options */
  constructor(feed, options) {
    this.feed = feed;
    this.#options = options;
    this.#main = this.#follow({ first: 0 }, (entry, marks, isStanding) => this.#takeMain(entry, marks, isStanding));
    this.#probe = this.#main.window;
    this.#none = this.#main.view;
    this.edits = new Edits((events) => options.store.feed(feed).write(events), options);
  }

  /** @param {FeedWindow} window @returns {any} */
  #at(window) { return { ...window, partition: this.#options.partition ?? undefined }; }

  /** @param {FeedWindow} window @param {ConstructorParameters<typeof FollowedWindow>[1]} onUpdate */
  #follow(window, onUpdate) { return new FollowedWindow(this.#options.store.feed(this.feed, this.#at(window)), onUpdate); }

  open() {
    this.#isOpen = true;
    this.#main.open();
    this.#rest?.open();
  }

  close() {
    this.#isOpen = false;
    this.#main.close();
    this.#rest?.close();
  }

  /**
   * Takes an event of a stream, before the client does.
   * @param {{ feed: string, window: FeedWindow }} follower Whose it is. @param {string} name @param {any} value @param {string} text
   */
  receive({ feed, window }, name, value, text) {
    if (feed !== this.feed) return;
    for (const it of [this.#main, this.#rest]) if (it?.window === window) it.receive(name, value, text);
  }

  // What there is.

  get view() { return this.#isProbing ? this.#none : this.#main.view; }
  get partition() { return this.#main.partition; }
  get otherPartitions() { return this.#main.otherPartitions; }
  get isWhole() { return this.#main.window?.first === undefined || this.#isProbing; }
  /** The newest revision that is known of; null if there is no feed. */
  get revision() { return this.view.revision && Math.max(this.#main.revision, this.#valid?.revision ?? 0); }
  get itemCount() { return this.view.sections.reduce((sum, section) => sum + this.#countOf(section), 0); }

  /** The second window, unless it is of another feed of that id. */
  get #valid() { return this.#rest?.view.exists && this.#rest.view.epoch === this.#main.view.epoch ? this.#rest : null; }

  /** How many items a section has. @param {import('./rows.js').Section} section */
  #countOf({ id, of }) {
    const rest = this.#valid;
    return (rest !== null && rest.revision > this.#main.revision && rest.view.section(id)?.of) || of;
  }

  /** The sections with places for all items. */
  get sections() {
    return this.view.sections.map((section) => new ShownSection(section, this.#countOf(section), this.#valid?.view.section(section.id)));
  }

  /** @param {string} id */
  item(id) { return this.view.item(id) ?? this.#valid?.view.item(id); }

  // Windows.

  /** @param {Entry | null} entry @param {Marks} marks @param {boolean} isStanding */
  #takeMain(entry, marks, isStanding) {
    if (entry?.mode === 'reload') {
      if (this.#main.window !== this.#probe) this.#isProbing = false;
      this.#choose();
    }
    if (isStanding) this.#options.onStanding(this.#main.view.standing);
    if (this.#isProbing && this.#main.view.exists) return;
    const isFirst = !this.wasThere;
    if (entry === null || (entry.isOther && !isFirst)) {
      this.#options.onRows();
      return;
    }
    this.wasThere ||= this.#main.view.exists;
    const { first } = this.#main.window ?? {};
    this.#options.onEntry({
      ...entry,
      isAnew: entry.isAnew && !isFirst,
      itemsAfter: entry.type === 'state' ? this.itemCount : entry.itemsAfter,
      scope: first ? `the first ${first} items of each section` : undefined,
    }, marks);
  }

  /** @param {Entry | null} entry @param {Marks} marks */
  #takeRest(entry, marks) {
    const isChange = entry?.type === 'changeset' && ['diff', 'reconfigure'].includes(entry.mode);
    if (isChange) this.#options.onEntry({ ...entry, scope: 'the rows around the screen' }, marks);
    else this.#options.onRows();
  }

  /** Decides how much of a state is followed from now on. */
  #choose() {
    const { view: { sections }, window } = this.#main;
    let items = 0;
    for (const section of sections) items += this.#countOf(section);
    const first = items <= mostOfWhole ? undefined : Math.max(1, Math.min(firstOfEach, Math.floor(mostFirst / sections.length)));
    if (first !== window?.first) this.#main.show(this.#at({ first }));
  }

  /**
   * Follows what is on the screen.
   * @param {readonly import('./rows.js').Row[]} rows
   */
  see(rows) {
    const deep = rows.filter(({ section, itemIndex }) => itemIndex >= section.section.items.length);
    if (deep.length === 0) {
      this.#rest?.close();
      this.#rest = null;
    } else if (this.#rest === null) {
      this.#rest = this.#follow(windowOf(deep, {}), (entry, marks) => this.#takeRest(entry, marks));
      if (this.#isOpen) this.#rest.open();
    } else {
      const current = this.#rest.window ?? {};
      const window = windowOf(deep, current);
      if (window !== current) this.#rest.show(this.#at(window));
    }
  }
}

/**
 * A window with the items on the screen, and some before and after them; the current one as long as it has them.
 * @param {readonly import('./rows.js').Row[]} rows Not empty. @param {FeedWindow} current @returns {FeedWindow}
 */
function windowOf(rows, current) {
  const sections = [...new Set(rows.map(({ section }) => section.id))];
  const end = 1 + Math.max(...rows.map(({ itemIndex }) => itemIndex));
  if (sections.length > 1 && end <= mostOfSeveral) {
    const first = step * Math.ceil(end / step);
    const isSame = first === current.first && JSON.stringify(sections) === JSON.stringify(current.sections);
    return isSame ? current : { sections, first };
  }
  const [{ section, itemIndex: low }] = rows;
  const high = low + rows.filter((row) => row.section === section).length;
  const { from = Infinity, count = 0 } = current.sections?.[0] === section.id ? current : {};
  const isEnough = from <= Math.max(low - step / 2, section.section.items.length)
    && from + count >= Math.min(high + step / 2, section.count);
  if (isEnough) return current;
  const start = step * Math.max(0, Math.floor(low / step) - 1);
  return { sections: [section.id], from: start, count: step * (Math.ceil((high - start) / step) + 1) };
}
