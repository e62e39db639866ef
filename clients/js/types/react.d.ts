/** Feeds in React components, for React 18 and later. SPDX-License-Identifier: Apache-2.0 */

import type { ReactElement, ReactNode } from 'react';
import type {
  FeedEvent, FeedOptions, FeedStore, FeedView, Item, Section, Standing, Window, WriteFailed, WriteOptions, WriteRejected, Written,
} from './index.js';

/** Says which store the components within use. */
export function FeedStoreProvider(props: { readonly store: FeedStore; readonly children?: ReactNode }): ReactElement;

/** The store of the nearest `FeedStoreProvider`. */
export function useFeedStore(): FeedStore;

/**
 * The newest view of a feed, or of a window of it, which is followed while the component is mounted.
 *
 * The component is rendered at most once a frame. Elements that did not change are the same objects as before, so a cell in
 * `memo` that gets an `item` is rendered when the item has changed, and only then.
 *
 * @param window It may be a new object each time. When its content changes, the view stays until the new state arrives.
 * @param options Those of the first render are used.
 */
export function useFeed<T = any>(id: string, window?: Window | null, options?: FeedOptions<T>): FeedView<T>;

/** One item of a feed, or of a window of it. The component is rendered when the item changes, and only then. */
export function useItem<T = any>(id: string, item: string, window?: Window | null, options?: FeedOptions<T>): Item<T> | undefined;

/**
 * As `useFeed`, but the component suspends until there is a state, or it is known that there is no such feed. What must not be read
 * (`forbidden`, `token-needed`, `bad-request`) is thrown as an error, for an error boundary.
 */
export function useSuspenseFeed<T = any>(id: string, window?: Window | null, options?: FeedOptions<T>): FeedView<T>;

/** The worst standing of all feeds that are followed, for one banner of the app. */
export function useStanding(): Standing;

/** What is on the screen of a list. */
export interface Shown {
  /** The id of the section. */
  readonly section: string;
  /** The position of the first row on the screen. */
  readonly from: number;
  /** How many rows are on the screen. */
  readonly count: number;
  /** How many items more are asked for before and after these rows; as many as `count` by default. */
  readonly margin?: number;
}

export interface Row<T = any> {
  /** Its position in the section. */
  readonly index: number;
  /** Undefined until it has arrived. */
  readonly item: Item<T> | undefined;
}

export interface WindowOfRows<T = any> {
  /** The rows on the screen; fewer at the end of the section. */
  readonly rows: readonly Row<T>[];
  /** How many items the section has. */
  readonly of: number;
  /** Undefined before its state has arrived, or if there is none. */
  readonly section: Section<T> | undefined;
  readonly view: FeedView<T>;
}

/**
 * The rows on the screen of a virtualised list. While the user scrolls, the window of the feed follows; rows whose items have not
 * come yet have none.
 */
export function useWindow<T = any>(id: string, shown: Shown, options?: FeedOptions<T>): WindowOfRows<T>;

export interface Writes {
  /**
   * Writes one event or several, as `Feed.write` does. It is always the same function.
   *
   * The promise may be ignored: `error` has the reason if it is rejected.
   */
  readonly write: (events: FeedEvent | readonly FeedEvent[], options?: WriteOptions) => Promise<Written>;
  /** Whether a write has no answer yet. */
  readonly isPending: boolean;
  /** Why the newest write that failed was taken back; null after the next write, or `dismiss`. */
  readonly error: WriteRejected | WriteFailed | null;
  readonly dismiss: () => void;
}

/** Writes to a feed. Each component has its own `isPending` and `error`. */
export function useWrite(id: string): Writes;
