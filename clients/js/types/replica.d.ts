/** One feed from its changesets, or all feeds of a partition from its records. SPDX-License-Identifier: Apache-2.0 */

import type { Item, Section } from './index.js';

export type { Item, Section } from './index.js';

export type Mode = 'reconfigure' | 'diff' | 'reload' | 'delete';

/** A key of an ordered section. `by` is a JSON Pointer into the data of its items. */
export interface OrderKey { readonly by: string; readonly direction?: 'ascending' | 'descending' }

/**
 * What one changeset changed. `delete` and `from` are positions before the change, all others after it. Items that are deleted
 * with their section are not listed. A reload replaces everything: its lists are empty.
 */
export interface Change {
  readonly epoch: string;
  readonly revision: number;
  /** The revision that it applies to; a reload applies to any. */
  readonly base: number;
  readonly mode: Mode;
  /** Why it is a reload. */
  readonly reason?: string;
  /** RFC 3339. */
  readonly time: string;
  readonly sections: Changes<SectionPlace, number>;
  readonly items: Changes<ItemPlace, ItemPosition>;
}

/** `reconfigure` means new data in the same cell; `reload` means another cell, perhaps of another kind. */
export interface Changes<Place, Position> {
  readonly delete: readonly Place[];
  readonly insert: readonly Place[];
  readonly move: readonly { readonly id: string; readonly from: Position; readonly to: Position }[];
  readonly reconfigure: readonly Place[];
  readonly reload: readonly Place[];
}

export interface SectionPlace { readonly id: string; readonly index: number }
export interface ItemPlace { readonly id: string; readonly section: string; readonly index: number }
export interface ItemPosition { readonly section: string; readonly index: number }

/**
 * The result of a changeset for a replica:
 * - `applied`: the replica now has its revision, and `change` says what changed;
 * - `removed`: the feed was deleted;
 * - `skipped`: the replica has that revision, or the record does not concern it;
 * - `waiting`: further parts of the changeset are needed;
 * - `gap`: an earlier changeset was missed; `revision` is the replica's, or null;
 * - `other-epoch`: it belongs to another epoch of the feed, whose reload was missed;
 * - `mismatch`: it does not fit the replica, which keeps its state.
 */
export type Outcome = { readonly feed: string } & (
  | { readonly type: 'applied'; readonly change: Change }
  | { readonly type: 'removed' | 'skipped' | 'other-epoch' }
  | { readonly type: 'waiting'; readonly received: number; readonly parts: number }
  | { readonly type: 'gap'; readonly revision: number | null; readonly base: number }
  | { readonly type: 'mismatch'; readonly fault: ReplicaFault }
);

export interface ReplicaOptions {
  /** Called when the status becomes `must-refetch`, and again when a reload did not change that. */
  onRefetch?: (replica: Replica) => void;
}

/** Why a record cannot be applied. */
export class ReplicaFault extends Error {
  readonly code: 'invalid-key' | 'invalid-changeset' | 'unknown-element' | 'position' | 'checksum';
  constructor(code: ReplicaFault['code'], message: string);
}

/** A copy of one feed. What it returns never changes; what a change does not concern stays the same object. */
export class Replica {
  readonly feed: string;
  constructor(feed: string, options?: ReplicaOptions);
  /** `bootstrapping`: there is no state. `must-refetch`: a changeset was missed, and a reload is needed. */
  readonly status: 'bootstrapping' | 'up-to-date' | 'must-refetch';
  readonly sections: readonly Section[];
  readonly itemCount: number;
  readonly epoch: string | null;
  readonly revision: number | null;
  readonly time: string | null;
  readonly through: Readonly<Record<string, number>> | null;
  readonly checksum: string | null;
  /** Whether changes were missed, so that only a reload is applied; also without a state. */
  readonly isStale: boolean;
  /** Whether some parts of a changeset have arrived, and not all. */
  readonly isWaiting: boolean;
  section(id: string): Section | undefined;
  item(id: string): Item | undefined;
  /**
   * Applies a changeset, or a part of one, in the order of the topic: its text, or what `JSON.parse` or `parsedWithText` makes of it.
   * Throws a `ReplicaFault` if it is not a changeset, or is another feed's.
   */
  apply(changeset: string | object): Outcome;
  /** Applies an event `window` of a stream. Returns whether it fits. */
  applyTotals(event: object): boolean;
  /** Something was missed: no difference is applied until the next reload. */
  becomeStale(): void;
  /** The next reload is applied, whatever its revision. */
  expectReload(): void;
  /** Drops the state. */
  remove(): Outcome;
}

/** The feeds of one partition of the changesets topic, from its committed records in the order of their offsets. */
export class ReplicaPartition {
  constructor(options?: ReplicaOptions);
  readonly replicas: Replica[];
  replica(feed: string): Replica | undefined;
  /** Applies a record. `value` is null for a Kafka null. Throws a `ReplicaFault` if it is not valid. */
  apply(key: string, value: string | object | null): Outcome;
}

/** Parses a changeset, and keeps the text of all data in it. */
export function parsedWithText(text: string): any;

/** XXH32 with seed 0. */
export function xxh32(bytes: Uint8Array): number;
