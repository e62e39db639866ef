/** Follows FeedStore's feeds, and writes to them. SPDX-License-Identifier: Apache-2.0 */

import type { Change, OrderKey } from './replica.js';

export type { Change, Changes, ItemPlace, ItemPosition, Mode, OrderKey, SectionPlace } from './replica.js';

export interface FeedStoreOptions {
  /**
   * The bearer token, or null if none is needed. It is asked for each connection, and again when a token has been refused or is
   * about to end (`exp` of a JSON Web Token).
   */
  token?: () => string | null | undefined | Promise<string | null | undefined>;
  /**
   * Tabs of one origin share a connection if they have the same URLs and the same name here. Without a name, they share it if they have no
   * token, or if the `sub` in their JSON Web Tokens is the same. With false, this one has its own.
   */
  share?: string | false;
  /**
   * `stream`, by default: one response that does not end, for all feeds. `poll`: a request for each feed and change, which caches can answer, and
   * which passes proxies that break streams.
   */
  transport?: 'stream' | 'poll';
  /** How many milliseconds a view is kept after its last listener has left, and shown to those who listen to it again; 30,000 by default. */
  keep?: number;
  /** Stores the last views of some feeds in IndexedDB, and shows them at the next start until the newest arrive. */
  persist?: PersistOptions;
  /** In place of the global one, such as that of `expo/fetch` in React Native. For streams it must stream responses. */
  fetch?: typeof fetch;
  /** From 0 to 1, as `Math.random`. */
  random?: () => number;
}

export interface PersistOptions {
  /** Which feeds: their ids, or a function. */
  readonly feeds: readonly string[] | ((id: string) => boolean);
  /** The user whose views these are. By default it is the `share` of the store, and without it the `sub` of the token: then nothing is shown before there is a token. */
  readonly user?: string;
  /** At most so many views, 20 by default, and so many characters of JSON, 5,000,000 by default. The oldest go. */
  readonly views?: number;
  readonly characters?: number;
}

export interface FeedOptions<T = any> {
  /**
   * Checks the data of an item: returns what the item is to have as `data`, or throws the `error` of that item.
   * It is called once per new value. Use the same function for all feeds of a kind: then they share what it returns.
   */
  parse?: (data: unknown) => T;
  /** The view to show until the newest state arrives: JSON, `JSON.stringify(view)`, or the response to `GET /v1/feeds/{id}`. */
  initial?: string | object;
}

/** The feeds of a daemon, or of several instances. All feeds share one stream, also those of several tabs. */
export class FeedStore {
  /** @param urls The URL of a daemon, such as `https://feeds.example.org`, or those of several instances. */
  constructor(urls: string | readonly string[], options?: FeedStoreOptions);
  /** A feed, or a window of it. It is followed while somebody listens. Each call returns a new `Feed`; equal windows are followed once. */
  feed<T = any>(id: string, window?: Window | null, options?: FeedOptions<T>): Feed<T>;
  /** The worst standing of the followed feeds, for a banner of the app; `live` if nothing is followed. It is the same object until it changes. */
  readonly standing: Standing;
  /** Calls a function after `standing` has changed. @returns Ends the subscription. */
  subscribe(listener: () => void): () => void;
  /**
   * The token from now on, also on open streams, and without a callback. It is used until it is refused or ends; then the callback is asked. With null,
   * the callback is asked with the next request. If the token has another `sub`, nothing that the former user saw or wrote stays.
   */
  setToken(token: string | null): Promise<void>;
  /** Tries waiting streams at once, and opens streams again that have received nothing for 20 s. Pages call it when they are back, or online. */
  reconnect(): void;
  /** Ends everything: the connections, the iterations, and the subscriptions. */
  close(): void;
}

/** A part of a feed. Without any member it is the whole feed. */
export interface Window {
  /** The ids of the sections that are shown; without it all are. */
  readonly sections?: readonly string[];
  /** Of each section the first so many items; 0 for the data of sections alone. */
  readonly first?: number;
  /** With `count`, of exactly one section: the position of the first item. */
  readonly from?: number;
  readonly count?: number;
}

/** `T` is the type of the items' data. */
export interface Feed<T = any> extends AsyncIterable<Update<T>> {
  readonly id: string;
  /** What is shown; null for the whole feed. */
  readonly window: Window | null;
  /** The newest view. It is the same object until something changes. */
  readonly view: FeedView<T>;
  /** Changes the window. Until the state of the new one arrives, the view stays. */
  show(window?: Window | null): void;
  /**
   * Calls a function with each update; first with the present state if there is one, after `subscribe` has returned.
   * @returns Ends the subscription.
   */
  subscribe(listener: (update: Update<T>) => void): () => void;
  /**
   * Writes one event or several, all of them or nothing. Views show the effect at once, as pending.
   *
   * Rejects with `WriteRejected` or `WriteFailed`; then the effect is taken back.
   */
  write(events: FeedEvent | readonly FeedEvent[], options?: WriteOptions): Promise<Written>;
  /** A slow iteration gets the newest state in place of the updates that it missed. */
  [Symbol.asyncIterator](): AsyncIterableIterator<Update<T>>;
  /**
   * Writes the difference from the view, as it is shown now, to the sections that are given, as one record of events with the fewest moves.
   * The whole feed must be followed, and not be stale. Sections with an order get no moves. Members that are not there stay as they are.
   * @returns What `write` returns; null if nothing is different, so that nothing is written.
   */
  apply(sections: readonly ListedSection[], options?: WriteOptions): Promise<Written | null>;
}

/** A feed, or a window of it, at one moment. It never changes. What did not change is the same object in the next view. */
export interface FeedView<T = any> {
  readonly feed: string;
  readonly standing: Standing;
  /** Whether there is a state. If not, `sections` is empty, and the members from `epoch` to `through` are null. */
  readonly exists: boolean;
  readonly epoch: string | null;
  readonly revision: number | null;
  /** RFC 3339. */
  readonly time: string | null;
  readonly checksum: string | null;
  /** For each input topic, the offset of the newest record in the state. */
  readonly through: Readonly<Record<string, number>> | null;
  readonly sections: readonly Section<T>[];
  /** Whether a write is shown that is not confirmed yet. */
  readonly isPending: boolean;
  item(id: string): Item<T> | undefined;
  section(id: string): Section<T> | undefined;
  /** The confirmed state, for the option `initial`. */
  toJSON(): object;
}

/** `T`, of which nothing can be changed. */
export type Immutable<T> = 0 extends 1 & T ? T : T extends (...given: any[]) => unknown ? T : { readonly [K in keyof T]: Immutable<T[K]> };

/** A new object if its own content or one of its items changed. */
export interface Section<T = any> {
  readonly id: string;
  /** As `JSON.parse` makes it. */
  readonly data: any;
  /** As the producer spelled it. */
  readonly dataText: string;
  readonly order: readonly OrderKey[] | undefined;
  readonly keep: number | undefined;
  readonly items: readonly Item<T>[];
  /** The position of the first item that is shown. */
  readonly from: number;
  /** How many items the section has, shown or not. */
  readonly of: number;
  readonly isPending: boolean;
}

/** A new object if its kind, its data or its section changed; not if it moved within the section. */
export interface Item<T = any> {
  readonly id: string;
  /** The cell type. */
  readonly kind: string;
  /** The id of its section. */
  readonly section: string;
  /** As `JSON.parse` makes it, or what `parse` returned. */
  readonly data: Immutable<T>;
  /** The error that `parse` threw; `data` is then as it arrived. */
  readonly error?: unknown;
  /** As the producer spelled it. */
  readonly dataText: string;
  /** When the store deletes it, as in `2026-11-20T10:00:00.250Z`; absent if it does not end. */
  readonly expires?: string;
  /** The ids of the contents in `data`, by name; absent if it refers to none. */
  readonly refs?: Readonly<Record<string, string>>;
  readonly isPending: boolean;
}

/**
 * - `state`: show the whole view. It is the first update, comes after a reload, and in place of missed ones.
 * - `changed`: `change` leads from the previous view to this one.
 * - `absent`: the feed was deleted, or does not exist.
 * - `standing`: only the standing, or `from` and `of` of sections changed.
 * - `pending`: a write was shown, confirmed or taken back, or the feed changed while one was shown; the change is not described.
 */
export type Update<T = any> =
  | { readonly kind: 'changed'; readonly view: FeedView<T>; readonly change: Change }
  | { readonly kind: 'state' | 'absent' | 'standing' | 'pending'; readonly view: FeedView<T>; readonly change?: undefined };

/**
 * - `connecting`: there is no state, and nothing was missed yet.
 * - `catching-up`: connected; the state is not the newest yet.
 * - `live`: the view is the newest state, or there is no such feed.
 * - `stale`: the view may be outdated, for the reason:
 *   - `disconnected`: there is no connection; it is tried again at `until`;
 *   - `must-refetch`: a change was missed; the state comes again;
 *   - `moved`: another instance has the feed;
 *   - `unavailable`: the daemon cannot serve it now (503);
 *   - `token-needed`: a token is missing or was refused (401);
 *   - `forbidden`: the token does not allow it, or has ended;
 *   - `bad-request`: the daemon does not accept the request; `detail` names what.
 */
export interface Standing {
  readonly name: 'connecting' | 'catching-up' | 'live' | 'stale';
  readonly reason?: 'disconnected' | 'must-refetch' | 'moved' | 'unavailable' | 'token-needed' | 'forbidden' | 'bad-request';
  /** For people. */
  readonly detail?: string;
  /** Milliseconds since 1970. */
  readonly until?: number;
}

export interface WriteOptions {
  /** Seconds to wait for the outcome, at most 30; 10 by default. With 0, only the brokers' confirmation is awaited. */
  wait?: number;
  /** Replaces a write of the feed with the same key that was not sent yet. Both get the outcome of this one. */
  coalesce?: string;
  /** What must hold before the write. If it does not, `WriteRejected` has the code `condition-failed`, and its message says what is there. */
  if?: Condition;
}

/** Conditions that must all hold: `data` has the values that the item's data must have, by JSON Pointers. */
export interface Condition {
  /** The `revision` of a view of the whole feed: nothing has changed since. */
  revision?: number;
  epoch?: string;
  /** The id of an item that the feed must not have. */
  absent?: string;
  /** The id of an item that it must have. */
  item?: string;
  data?: Record<string, string | number | boolean | null>;
}

/** Where a write is. `epoch` and `revision` are there if what is published covers it. */
export interface Written {
  readonly feed: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset?: number;
  readonly epoch?: string;
  readonly revision?: number;
  /** Whether the write changed something; absent if that is not known. */
  readonly changed?: boolean;
}

/** The write changed nothing. */
export class WriteRejected extends Error {
  /** The code of the rejection, such as `unknown-anchor` or `forbidden`. */
  readonly code: string;
  constructor(code: string, message: string);
}

/** The outcome of the write is not known, or the daemon could not take it. */
export class WriteFailed extends Error {
  /** The code of the response, such as `not-written`; null without a response. */
  readonly code: string | null;
  constructor(code: string | null, message: string);
}

/** Where an element goes. */
export type Place = 'first' | 'last' | { before: string } | { after: string } | { index: number };

/** An event, as section 2 of the protocol says. */
export type FeedEvent =
  | { op: 'item.upsert'; item: string; section?: string; kind?: string; data?: unknown; expires?: string | number | null; at?: Place }
  | { op: 'item.patch'; item: string; data: unknown; expires?: string | number | null }
  | { op: 'item.patch'; item: string; expires: string | number | null }
  | { op: 'item.move'; item: string; section?: string; at?: Place }
  | { op: 'item.delete' | 'item.reconfigure' | 'item.reload'; item: string }
  | { op: 'section.upsert'; section: string; data?: unknown; order?: readonly OrderKey[] | null; keep?: number | null; ttl?: number | null; at?: Place }
  | { op: 'section.replace'; section: string; items: readonly ListedItem[]; data?: unknown; order?: readonly OrderKey[] | null; keep?: number | null; ttl?: number | null; at?: Place }
  | { op: 'section.move'; section: string; at: Place }
  | { op: 'section.delete' | 'section.reload'; section: string }
  | { op: 'feed.replace'; sections: readonly ListedSection[] }
  | { op: 'feed.clear' | 'feed.delete' | 'feed.reload' };

export type ListedItem = string | { id: string; kind?: string; data?: unknown; expires?: string | number | null };
export interface ListedSection {
  id: string;
  data?: unknown;
  order?: readonly OrderKey[] | null;
  keep?: number | null;
  ttl?: number | null;
  items?: readonly ListedItem[];
}
