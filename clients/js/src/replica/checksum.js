/** The checksum of the order and the kinds: a sum of one term for each element. SPDX-License-Identifier: Apache-2.0 */

import { maxIdBytes } from './changeset.js';
import { ReplicaFault } from './fault.js';
import { xxh32 } from './xxh32.js';

/** @typedef {import('./elements.js').Section} Section */
/** @typedef {import('./elements.js').Item} Item */

const utf8 = new TextEncoder();
// The text of an item's term is the longest: four ids or kinds, and five more bytes.
const scratch = new Uint8Array(4 * maxIdBytes + 5);

/** @param {string[]} fields */
const termOf = (...fields) => xxh32(scratch.subarray(0, utf8.encodeInto(fields.join('\0'), scratch).written));

/** @param {readonly Section[]} list @param {number} at */
export const sectionTerm = (list, at) => termOf('s', list[at - 1]?.id ?? '', list[at].id);

/** @param {string} section @param {readonly Item[]} list @param {number} at */
export const itemTerm = (section, list, at) => termOf('i', section, list[at - 1]?.id ?? '', list[at].id, list[at].kind);

/** @param {number} sum @param {import('./changeset.js').Changeset} record */
export function checkChecksum(sum, { revision, checksum }) {
  const found = hexadecimal(sum);
  if (found === checksum) return;
  throw new ReplicaFault('checksum', `the result of revision ${revision} has ${found}, expected ${checksum}`);
}

/** @param {number} sum Modulo 2³², without sign. */
export const wrapped = (sum) => sum >>> 0;

/** @param {number} checksum */
export const hexadecimal = (checksum) => checksum.toString(16).padStart(8, '0');
