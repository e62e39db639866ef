/**
 * The feeds of the instance: a searchable list, loaded page by page.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { byId, make, setAttribute, setText } from './dom.js';
import { age, count, counted, visible } from './format.js';

const pageSize = 100;
/** The maximum page size of a request. */
const maxPageSize = 1000;
const interval = 2000;

/** As the server compares. @param {string} text */
const lowercased = (text) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/**
 * The fragment of the page's address that selects a feed.
 * @param {string} feed @param {number | null} partition Null if no other partition has the id.
 */
const fragmentOf = (feed, partition) =>
  `#feed=${encodeURIComponent(feed)}${partition === null ? '' : `&partition=${partition}`}`;

/** The same id in several partitions is several feeds. @param {any} feed */
const keyOf = ({ feed, partition, otherPartitions }) =>
  fragmentOf(feed, otherPartitions === undefined ? null : partition);

export class FeedList {
  #api;
  #onCount;
  #list = byId('feeds');
  #search = byId('search');
  #summary = byId('feeds-summary');
  #more = byId('more');
  /** The number of feeds to load. */
  #wanted = pageSize;
  /** @type {Map<string, { element: any, link: any, feed: any, facts: any }>} */
  #shown = new Map();
  /** @type {{ feeds: any[], count: number, search: string, isAll: boolean } | null} The last answer. */
  #answer = null;
  /** @type {{ feed: any, isCurrent: boolean } | null} The open feed according to its stream; without `feed` it does not exist. */
  #open = null;
  /** @type {string | null} Its fragment. */
  #selected = null;
  /** @type {any} */
  #timer = null;
  /** The number of the latest request; responses to earlier ones are dropped. */
  #request = 0;
  /** What the shown feeds were searched for. */
  #shownSearch = '';
  /** Whether the list gets the focus once it shows what is searched for now. */
  #isEntering = false;
  /**
   * Reports when the end of the list is at most one screen away. Waiting until it is visible would not work: rows that
   * have not been rendered have an estimated height, so the end moves away while scrolling.
   */
  #end = new IntersectionObserver((entries) => {
    // A busy page receives several entries at once; the last one is current.
    if (entries[entries.length - 1].isIntersecting && !this.#more.hidden) this.#showMore();
  }, { root: byId('feeds-scroller'), rootMargin: '0px 0px 100% 0px' });

  /**
   * @param {{ api: import('./api.js').Api, onEnter: () => void, onCount?: (count: number) => void }} options `onEnter`
   * is called when Enter is pressed on the selected feed.
   */
  constructor({ api, onEnter, onCount }) {
    this.#api = api;
    this.#onCount = onCount;
    this.#search.addEventListener('input', () => {
      this.#wanted = pageSize;
      this.#isEntering = false;
      this.refresh();
    });
    this.#search.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'ArrowDown' || event.key === 'Enter') {
        this.#enter();
        event.preventDefault();
      } else if (event.key === 'Escape') {
        if (this.#search.value !== '') {
          this.#search.value = '';
          this.#isEntering = false;
          this.refresh();
        } else {
          this.focus();
        }
        event.preventDefault();
      }
    });
    this.#list.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
      if (this.#takeKey(event, onEnter)) event.preventDefault();
    });
    this.#list.addEventListener('click', (/** @type {MouseEvent} */ event) => {
      const link = /** @type {Element} */ (event.target).closest('a');
      if (link?.getAttribute('aria-current') !== null && link !== null) onEnter();
    });
    this.#more.addEventListener('click', () => this.#showMore());
    document.addEventListener('visibilitychange', () => this.refresh());
  }

  /** Loads the feeds now, and then periodically while the page is visible. */
  async refresh() {
    clearTimeout(this.#timer);
    if (document.hidden) return;
    const request = ++this.#request;
    let wait = interval;
    try {
      const answer = await this.#fetch(this.#search.value, this.#wanted);
      if (request !== this.#request) return;
      this.#answer = answer;
      this.#show(answer);
    } catch (/** @type {any} */ error) {
      if (request !== this.#request) return;
      wait = 2 * interval;
      setText(this.#summary, error.status === undefined ? 'The daemon cannot be reached' : error.message);
      if (error.status === 401) return;
    }
    this.#timer = setTimeout(() => this.refresh(), wait);
  }

  /** @param {string | null} feed @param {number | null} [partition] */
  select(feed, partition = null) {
    this.#selected = feed === null ? null : fragmentOf(feed, partition);
    this.#open = null;
    if (this.#answer !== null) this.#show(this.#answer);
    for (const [key, { link }] of this.#shown) setAttribute(link, 'aria-current', key === this.#selected ? 'page' : null);
    this.#rove(this.#linkOf(this.#selected) ?? this.#links()[0]);
    this.#linkOf(this.#selected)?.scrollIntoView({ block: 'nearest' });
  }

  /**
   * Shows the open feed as its stream has it: list and stream are requested separately, and the stream is newer. It is also
   * listed if it is on a page that has not been loaded.
   * @param {any} feed Null if it does not exist. @param {{ isCurrent: boolean }} options Whether the stream is up to date.
   */
  showOpen(feed, { isCurrent }) {
    if (this.#selected === null) return;
    this.#open = { feed, isCurrent };
    const shown = this.#shown.get(feed === null ? this.#selected : keyOf(feed));
    if (this.#answer === null) return;
    if (shown === undefined || feed === null) this.#show(this.#answer);
    else if (isCurrent) this.#fill(shown, feed);
  }

  /** Shows how much time has passed. */
  showAges() { for (const shown of this.#shown.values()) this.#fill(shown, shown.feed); }

  focus() { (this.#linkOf(this.#selected) ?? this.#links()[0])?.focus(); }

  /** Goes from the search to the list: at once, or when the feeds come that were searched for. Others may soon be gone. */
  #enter() {
    this.#isEntering = this.#shownSearch !== this.#search.value;
    if (!this.#isEntering) this.focus();
  }

  focusSearch() {
    this.#isEntering = false;
    this.#search.focus();
    this.#search.select();
  }

  /** @param {string} search @param {number} wanted */
  async #fetch(search, wanted) {
    /** @type {any[]} */
    const feeds = [];
    for (;;) {
      const parameters = new URLSearchParams({ limit: String(Math.min(maxPageSize, wanted - feeds.length)) });
      if (search !== '') parameters.set('search', search);
      if (feeds.length > 0) {
        const { feed, partition, otherPartitions } = feeds[feeds.length - 1];
        parameters.set('after', feed);
        if (otherPartitions !== undefined) parameters.set('partition', partition);
      }
      const answer = await this.#api.get(`/v1/feeds?${parameters}`);
      feeds.push(...answer.feeds);
      const isAll = answer.next === undefined || answer.feeds.length === 0;
      if (isAll || feeds.length >= wanted) return { ...answer, feeds, search, isAll };
    }
  }

  /**
   * The listed feeds, with the open one as its stream has it; first if its place is on a page that has not been loaded.
   * @param {any[]} listed @param {string} search @param {boolean} isAll
   */
  #withOpen(listed, search, isAll) {
    if (this.#open === null) return listed;
    const { feed, isCurrent } = this.#open;
    const key = feed === null ? this.#selected : keyOf(feed);
    const at = listed.findIndex((it) => keyOf(it) === key);
    if (at >= 0 && !isCurrent) return listed;
    const others = listed.filter((_, index) => index !== at);
    if (feed === null || !lowercased(feed.feed).includes(lowercased(search))) return others;
    const next = at >= 0 ? at : others.findIndex((it) => it.feed > feed.feed);
    const place = next >= 0 ? next : isAll ? others.length : 0;
    return [...others.slice(0, place), feed, ...others.slice(place)];
  }

  /** @param {{ feeds: any[], count: number, search: string, isAll: boolean }} answer */
  #show({ feeds: listed, count: total, search, isAll }) {
    const feeds = this.#withOpen(listed, search, isAll);
    const isApart = feeds.length > listed.length && !isAll && feeds[0] === this.#open?.feed;
    const keys = new Set(feeds.map(keyOf));
    for (const [key, { element }] of this.#shown) {
      if (keys.has(key)) continue;
      element.remove();
      this.#shown.delete(key);
    }
    let next = this.#list.firstElementChild;
    for (const feed of feeds) {
      const shown = this.#shown.get(keyOf(feed)) ?? this.#makeFeed(feed.feed, keyOf(feed));
      this.#fill(shown, feed);
      setAttribute(shown.element, 'class', isApart && feed === feeds[0] ? 'apart' : null);
      if (shown.element === next) next = next.nextElementSibling;
      else this.#list.insertBefore(shown.element, next);
    }
    const what = search === '' ? counted(total, 'feed') : `${counted(total, 'feed')} with “${visible(search)}”`;
    const shownOf = isAll ? what : `${count(listed.length)} of ${what}`;
    setText(this.#summary, total === 0 && search === '' ? 'No feeds yet' : shownOf);
    this.#more.hidden = isAll;
    // The observer reports only changes. Observing again makes it report if the end is still near.
    this.#end.disconnect();
    if (!isAll) this.#end.observe(this.#more);
    if (search === '') this.#onCount?.(total);
    const links = this.#links();
    if (!links.some((link) => link.tabIndex === 0)) this.#rove(this.#linkOf(this.#selected) ?? links[0]);
    this.#shownSearch = search;
    if (!this.#isEntering || search !== this.#search.value) return;
    this.#isEntering = false;
    if (document.activeElement === this.#search) this.focus();
  }

  /** @param {string} id @param {string} fragment */
  #makeFeed(id, fragment) {
    const facts = make('span', { class: 'facts' });
    const link = make(
      'a', { href: fragment, 'data-feed': id, tabindex: '-1', title: id },
      make('bdi', { class: 'id' }, visible(id)), facts,
    );
    setAttribute(link, 'aria-current', fragment === this.#selected ? 'page' : null);
    const shown = { element: make('li', {}, link), link, feed: null, facts };
    this.#shown.set(fragment, shown);
    return shown;
  }

  /** @param {{ link: any, feed: any, facts: any }} shown @param {any} feed */
  #fill(shown, feed) {
    const { revision, items, time, standing, partition, otherPartitions } = feed;
    const when = age(Math.max(0, Date.now() - Date.parse(time)));
    const facts = `${counted(items, 'item')} · rev ${count(revision)} · ${when}`;
    const also = otherPartitions === undefined ? '' : `⚠ partition ${partition}, also in ${otherPartitions.join(', ')} · `;
    setText(shown.facts, also + (standing === 'must-refetch' ? 'must refetch' : facts));
    setAttribute(shown.link, 'data-standing', standing);
    if (shown.feed !== null && shown.feed.revision !== revision) {
      const shadow = 'inset 3px 0 0';
      shown.link.animate([{ boxShadow: `${shadow} var(--accent)` }, { boxShadow: `${shadow} transparent` }], 1500);
    }
    shown.feed = feed;
  }

  #showMore() {
    const loaded = this.#answer?.feeds.length ?? 0;
    if (this.#wanted > loaded) return;
    this.#wanted = loaded + pageSize;
    this.refresh();
  }

  /** @returns {any[]} */
  #links() { return [...this.#list.querySelectorAll('a')]; }

  /** @param {string | null} fragment */
  #linkOf(fragment) { return fragment === null ? undefined : this.#shown.get(fragment)?.link; }

  /**
   * Makes a link the one that Tab reaches.
   * @param {any} link
   */
  #rove(link) {
    for (const other of this.#links()) other.tabIndex = other === link ? 0 : -1;
  }

  /** @param {KeyboardEvent} event @param {() => void} onEnter */
  #takeKey({ key, target, altKey, ctrlKey, metaKey }, onEnter) {
    if (altKey || ctrlKey || metaKey) return false;
    const links = this.#links();
    const at = links.indexOf(target);
    const next = {
      ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, Home: 0, End: links.length - 1,
      PageDown: at + 10, PageUp: at - 10,
    }[key];
    if (next !== undefined) {
      if (next < 0 && (key === 'ArrowUp' || key === 'k')) this.focusSearch();
      const link = links[Math.max(0, Math.min(links.length - 1, next))];
      if (next >= 0 || key === 'PageUp') {
        this.#rove(link);
        link?.focus();
      }
      return true;
    }
    if (key === 'ArrowRight' || (key === 'Enter' && links[at]?.getAttribute('aria-current') === 'page')) {
      if (links[at]?.getAttribute('aria-current') !== 'page') links[at]?.click();
      onEnter();
      return true;
    }
    return false;
  }
}
