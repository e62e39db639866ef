'use client';
/** Feeds in React components. SPDX-License-Identifier: Apache-2.0 */

import {
  createContext, createElement, useCallback, useContext, useEffect, useMemo, useState, useSyncExternalStore,
} from 'react';

/**
 * @typedef {typeof import('../types/react.js')} Hooks
 * @typedef {import('../types/index.js').Feed} Feed
 * @typedef {import('../types/index.js').FeedStore} FeedStore
 * @typedef {import('../types/index.js').FeedView} FeedView
 * @typedef {import('../types/index.js').Window} Window
 * @typedef {import('../types/index.js').FeedOptions | undefined} Options
 * @typedef {() => void} Listener
 */

/** @type {import('react').Context<import('../types/index.js').FeedStore | null>} */
const Context = createContext(null);

/**
 * Says which store the components within use.
 * @type {Hooks['FeedStoreProvider']}
 */
export const FeedStoreProvider = ({ store, children }) => createElement(Context.Provider, { value: store }, children);

/** @type {Hooks['useFeedStore']} */
export function useFeedStore() {
  const store = useContext(Context);
  if (store === null) throw new Error('there is no FeedStore here: put <FeedStoreProvider store={store}> around this component');
  return store;
}

/**
 * Listeners to call with the next frame, so that a component is rendered once a frame, however many changes arrive.
 * @type {Set<Listener>}
 */
const waiting = new Set();
let frame = 0;
let timer = 0;

function flush() {
  cancelAnimationFrame(frame);
  clearTimeout(timer);
  const listeners = [...waiting];
  waiting.clear();
  for (const listener of listeners) listener();
}

/** @param {Listener} listener */
function callWithFrame(listener) {
  if (waiting.size === 0) {
    frame = requestAnimationFrame(flush);
    // Hidden pages have no frames.
    timer = setTimeout(flush, 100);
  }
  waiting.add(listener);
}

/**
 * A feed that is followed while the component is mounted, and what is selected of its view.
 * @template T
 * @param {string} id @param {Window | null} window @param {Options} options @param {(view: FeedView) => T} select @returns {T}
 */
function useSelected(id, window, options, select) {
  const store = useFeedStore();
  // Another window is shown by the same feed, which keeps its view until the state of the new one arrives.
  const feed = useMemo(() => store.feed(id, window, options), [store, id]);
  const text = JSON.stringify(window);
  useEffect(() => feed.show(JSON.parse(text)), [feed, text]);
  const subscribe = useCallback((/** @type {Listener} */ listener) => {
    // What the user has just written is shown at once: a text field would lose its caret.
    const unsubscribe = feed.subscribe(({ kind }) => (kind === 'pending' ? listener() : callWithFrame(listener)));
    return () => {
      waiting.delete(listener);
      unsubscribe();
    };
  }, [feed]);
  const selected = () => select(feed.view);
  return useSyncExternalStore(subscribe, selected, selected);
}

/**
 * The newest view of a feed, or of a window of it.
 * @type {Hooks['useFeed']}
 */
export const useFeed = (id, window = null, options) => useSelected(id, window, options, (view) => view);

/**
 * One item.
 * @type {Hooks['useItem']}
 */
export const useItem = (id, item, window = null, options) => useSelected(id, window, options, (view) => view.item(item));

/**
 * The standing of all feeds.
 * @type {Hooks['useStanding']}
 */
export function useStanding() {
  const store = useFeedStore();
  const subscribe = useCallback((/** @type {Listener} */ listener) => store.subscribe(listener), [store]);
  const standing = () => store.standing;
  return useSyncExternalStore(subscribe, standing, standing);
}

/**
 * The feeds for which suspended components wait, by feed and window. Such a component is not mounted, so the feed is followed here.
 * @type {WeakMap<FeedStore, Map<string, { promise: Promise<void>, end: Listener }>>}
 */
const awaited = new WeakMap();

/** So long a component has to mount after it has suspended. */
const patience = 30_000;

/** @param {FeedView} view */
const isKnown = ({ exists, standing: { name } }) => exists || name === 'live';

/** @param {FeedView} view */
const isRefused = ({ standing: { reason } }) => /forbidden|token-needed|bad-request/.test(reason ?? '');

/** @param {FeedStore} store */
function awaitedOf(store) {
  const all = awaited.get(store) ?? new Map();
  awaited.set(store, all);
  return all;
}

/** @param {FeedStore} store @param {string} key @param {string} id @param {Window | null} window */
function knownLater(store, key, id, window) {
  const all = awaitedOf(store);
  if (!all.has(key)) {
    let end = () => {};
    const promise = new Promise((/** @type {(_: void) => void} */ resolve) => {
      const unsubscribe = store.feed(id, window).subscribe(({ view }) => { if (isKnown(view) || isRefused(view)) resolve(); });
      // Node waits for no timer of a page that it renders.
      const timer = /** @type {any} */ (setTimeout(() => end(), patience));
      timer.unref?.();
      end = () => {
        clearTimeout(timer);
        all.delete(key);
        unsubscribe();
        // If it still waits, it asks again.
        resolve();
      };
    });
    all.set(key, { promise, end: () => end() });
  }
  return all.get(key)?.promise;
}

/**
 * A view for `Suspense` and error boundaries.
 * @type {Hooks['useSuspenseFeed']}
 */
export function useSuspenseFeed(id, window = null, options) {
  const store = useFeedStore();
  const key = JSON.stringify([id, window]);
  const view = useFeed(id, window, options);
  useEffect(() => awaitedOf(store).get(key)?.end(), [store, key]);
  if (isKnown(view)) return view;
  if (isRefused(view)) throw new Error(view.standing.detail ?? view.standing.reason);
  throw knownLater(store, key, id, window);
}

/** @param {number} from @param {number} count @param {number} margin */
const around = (from, count, margin) => ({ start: Math.max(0, from - margin), end: from + count + margin });

/**
 * The rows of a section that are on the screen, from a position, with the items that are there.
 * @type {Hooks['useWindow']}
 */
export function useWindow(id, { section: sectionId, from, count, margin = count }, options) {
  const [asked, setAsked] = useState(() => around(from, count, margin));
  // Asks again when half of the margin is left, so that scrolling does not ask with each row.
  const needed = around(from, count, Math.floor(margin / 2));
  const isCovered = asked.start <= needed.start && needed.end <= asked.end;
  const range = isCovered ? asked : around(from, count, margin);
  if (!isCovered) setAsked(range);
  const view = useFeed(id, { sections: [sectionId], from: range.start, count: range.end - range.start }, options);
  const section = view.section(sectionId);
  const rows = useMemo(() => {
    if (!section) return [];
    const length = Math.max(0, Math.min(count, section.of - from));
    return Array.from({ length }, (_, at) => ({ index: from + at, item: section.items[from + at - section.from] }));
  }, [section, from, count]);
  return { rows, of: section?.of ?? 0, section, view };
}

/** The writes of one component to a feed. */
class Writer {
  /** @type {Set<Listener>} */
  #listeners = new Set();
  #unanswered = 0;

  /** @param {Feed} feed */
  constructor(feed) {
    this.feed = feed;
    /** @type {import('../types/react.js').Writes} */
    this.state = { write: this.write, dismiss: this.dismiss, isPending: false, error: null };
  }

  subscribe = (/** @type {Listener} */ listener) => {
    this.#listeners.add(listener);
    return () => { this.#listeners.delete(listener); };
  };

  getState = () => this.state;

  /** @type {Feed['write']} */
  write = (events, options) => {
    const written = this.feed.write(events, options);
    this.#change(1, null);
    // Who ignores the promise sees the error in the state.
    written.then(() => this.#change(-1), (error) => this.#change(-1, error));
    return written;
  };

  dismiss = () => this.#change(0, null);

  /** @param {number} difference @param {import('../types/react.js').Writes['error']} error */
  #change(difference, error = this.state.error) {
    this.#unanswered += difference;
    const isPending = this.#unanswered > 0;
    if (isPending === this.state.isPending && error === this.state.error) return;
    this.state = { ...this.state, isPending, error };
    for (const listener of this.#listeners) listener();
  }
}

/**
 * Writes to a feed, and says what has become of it.
 * @type {Hooks['useWrite']}
 */
export function useWrite(id) {
  const store = useFeedStore();
  const writer = useMemo(() => new Writer(store.feed(id)), [store, id]);
  return useSyncExternalStore(writer.subscribe, writer.getState, writer.getState);
}
