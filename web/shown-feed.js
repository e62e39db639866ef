/**
 * The feed that the page shows. A small one is followed as a whole. Of a larger one the page follows two windows: the first items of
 * every section, and what is on the screen further down.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { Edits } from './edits.js';
import { FeedFollower } from './feed-follower.js';
import { Replica } from './client/replica.js';
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

/** @type {FeedWindow} */
const whole = {};
/** Says how much there is, before anything else is asked for. @type {FeedWindow} */
const heads = { first: 0 };

/**
 * @typedef {import('./feed-follower.js').FeedWindow} FeedWindow
 * @typedef {import('./client/replica.js').Replica['sections'][number]} Section
 * @typedef {Map<string, import('./feed-follower.js').Mark>} Marks
 * @typedef {{ granted: Promise<unknown>, giveUp: () => void }} Place
 *
 * @typedef {object} ShownFeedOptions
 * @property {number | null} partition
 * @property {import('./feed-follower.js').FollowerOptions['api'] & Pick<import('./api.js').Api, 'write'>} api
 * @property {() => Place} requestPlace For the second stream.
 * @property {import('./feed-follower.js').FollowerOptions['onStanding']} onStanding
 * @property {import('./feed-follower.js').FollowerOptions['onEntry']} onEntry
 * @property {() => void} onRows Other rows are there, or other totals; nothing was published that concerns them.
 * @property {() => void} onEdit The user has changed something, or what became of it is known.
 * @property {(id: string, problem: { code: string, text: string }) => void} onRefused
 * @property {import('./feed-follower.js').FollowerOptions['makeStream']} [makeStream]
 */

export class ShownFeed {
  /** The whole feed, or its first items. */
  #main;
  /** @type {FeedFollower | null} What is on the screen further down. */
  #rest = null;
  /** @type {Place | null} That of its stream. */
  #place = null;
  #options;
  /** What there is as long as nothing is shown. */
  #none;
  /** Whether a state has been reported. */
  #isShown = false;

  /** @param {string} feed @param {ShownFeedOptions} options */
  constructor(feed, options) {
    this.feed = feed;
    this.#options = options;
    this.#none = new Replica(feed);
    this.edits = new Edits(this, options.api, options);
    this.#main = this.#follower(heads, {
      onStanding: (standing, detail) => {
        if (standing !== 'behind' || !this.#isProbing) options.onStanding(standing, detail);
      },
      onEntry: (entry, marks) => this.#takeMain(entry, marks),
    });
  }

  /** @param {FeedWindow} window @param {Pick<import('./feed-follower.js').FollowerOptions, 'onStanding' | 'onEntry'>} options */
  #follower(window, options) {
    const { partition, api, makeStream, onRows } = this.#options;
    return new FeedFollower(this.feed, { ...options, partition, api, makeStream, window, onTotals: onRows });
  }

  open() {
    this.#main.open();
    this.#openRest();
  }

  close() {
    this.#main.close();
    this.#closeRest();
  }

  // What there is.

  /** Whether nothing is known but how much there is. */
  get #isProbing() { return this.#main.shown === null || this.#main.shown === heads; }
  get replica() { return this.#isProbing ? this.#none : this.#main.replica; }
  get partition() { return this.#main.partition; }
  get otherPartitions() { return this.#main.otherPartitions; }
  get isWhole() { return this.#isProbing || this.#main.totals === null; }
  /** The newest revision that is known of; null if there is no feed. */
  get revision() { return this.replica.revision && Math.max(this.#main.revision, this.#valid?.revision ?? 0); }
  get itemCount() { return this.replica.sections.reduce((sum, section) => sum + this.#countOf(section), 0); }

  /** Whether what is shown includes a change. @param {import('./edits.js').Written} written */
  has({ topic, offset, epoch, revision }) {
    if (revision !== undefined) return epoch !== this.replica.epoch || (this.revision ?? 0) >= revision;
    // Brokers do not always say where a record is.
    if (offset === undefined) return true;
    return [this.#main, this.#valid].some((follower) => (follower?.replica.through?.[topic] ?? -1) >= offset);
  }

  /** The second follower, unless it has something of another feed of that id. */
  get #valid() { return this.#rest?.replica.epoch === this.#main.replica.epoch ? this.#rest : null; }

  /** How many items a section has. @param {Section} section */
  #countOf({ id, items }) {
    const [main, rest] = [this.#main, this.#valid];
    const newest = rest?.totals?.has(id) && rest.revision > main.revision ? rest : main;
    return newest.totals?.get(id)?.of ?? items.length;
  }

  /** The sections with places for all items. */
  get sections() {
    return this.replica.sections.map((section) => {
      const from = this.#valid?.totals?.get(section.id)?.from;
      const slice = from === undefined ? undefined : { from, items: this.#valid?.replica.section(section.id)?.items ?? [] };
      return new ShownSection(section, this.#countOf(section), slice);
    });
  }

  /** @param {string} id */
  item(id) { return this.replica.item(id) ?? this.#valid?.replica.item(id); }

  // Windows.

  /** @param {import('./feed-follower.js').Entry} entry @param {Marks} marks */
  #takeMain(entry, marks) {
    if (entry.mode === 'reload' && entry.type !== 'fault') this.#choose();
    if (this.#isProbing) return;
    const isFirst = !this.#isShown;
    this.#isShown = true;
    if (entry.isOther && !isFirst) {
      this.#options.onRows();
      return;
    }
    const { first } = this.#main.shown ?? {};
    this.#options.onEntry({
      ...entry,
      isAnew: entry.isAnew && !isFirst,
      itemsAfter: entry.type === 'state' ? this.itemCount : entry.itemsAfter,
      scope: first === undefined ? undefined : `the first ${first} items of each section`,
    }, marks);
  }

  /** @param {import('./feed-follower.js').Entry} entry @param {Marks} marks */
  #takeRest(entry, marks) {
    const isChange = entry.type === 'changeset' && ['diff', 'reconfigure'].includes(entry.mode);
    if (isChange) this.#options.onEntry({ ...entry, scope: 'the rows around the screen' }, marks);
    else this.#options.onRows();
  }

  /** Decides how much of a state is followed from now on. */
  #choose() {
    const { sections } = this.#main.replica;
    let items = 0;
    for (const section of sections) items += this.#countOf(section);
    const first = Math.min(firstOfEach, Math.floor(mostFirst / sections.length));
    if (items <= mostOfWhole) this.#main.show(whole);
    else if (this.#main.window.first !== first || this.#isProbing) this.#main.show({ first });
  }

  /**
   * Follows what is on the screen.
   * @param {readonly import('./rows.js').Row[]} rows
   */
  see(rows) {
    const deep = rows.filter(({ section, itemIndex }) => itemIndex >= section.section.items.length);
    if (deep.length === 0) {
      this.#closeRest();
      this.#rest = null;
    } else if (this.#rest === null) {
      this.#rest = this.#follower(windowOf(deep, {}), {
        onStanding: () => {}, onEntry: (entry, marks) => this.#takeRest(entry, marks),
      });
      this.#openRest();
    } else {
      this.#rest.show(windowOf(deep, this.#rest.window));
    }
  }

  async #openRest() {
    const rest = this.#rest;
    if (rest === null) return;
    const place = this.#place ??= this.#options.requestPlace();
    await place.granted;
    if (rest === this.#rest && place === this.#place) rest.open();
  }

  #closeRest() {
    this.#rest?.close();
    this.#place?.giveUp();
    this.#place = null;
  }
}

/**
 * A window with the items on the screen, and some before and after them; the current one as long as it has them.
 * @param {readonly import('./rows.js').Row[]} rows Not empty. @param {FeedWindow} current
 */
function windowOf(rows, current) {
  const sections = [...new Set(rows.map(({ section }) => section.id))];
  const end = 1 + Math.max(...rows.map(({ itemIndex }) => itemIndex));
  if (sections.length > 1 && end <= mostOfSeveral) {
    const window = { sections, first: step * Math.ceil(end / step) };
    return JSON.stringify(window) === JSON.stringify(current) ? current : window;
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
