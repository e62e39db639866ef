/** One feed from its changesets, or all feeds of a partition from its records. SPDX-License-Identifier: Apache-2.0 */

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
