/** Feeds in React components, for React 18 and later. SPDX-License-Identifier: Apache-2.0 */

import type { ReactElement, ReactNode } from 'react';
import type { FeedEvent, FeedStore, FeedView, Item, Section, Window, WriteFailed, WriteOptions, WriteRejected, Written } from './index.js';

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
 */
export function useFeed(id: string, window?: Window | null): FeedView;

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

export interface Row {
  /** Its position in the section. */
  readonly index: number;
  /** Undefined until it has arrived. */
  readonly item: Item | undefined;
}

export interface WindowOfRows {
  /** The rows on the screen; fewer at the end of the section. */
  readonly rows: readonly Row[];
  /** How many items the section has. */
  readonly of: number;
  /** Undefined before its state has arrived, or if there is none. */
  readonly section: Section | undefined;
  readonly view: FeedView;
}

/**
 * The rows on the screen of a virtualised list. While the user scrolls, the window of the feed follows; rows whose items have not
 * come yet have none.
 */
export function useWindow(id: string, shown: Shown): WindowOfRows;

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
