/** Why a record cannot be applied. SPDX-License-Identifier: Apache-2.0 */

/**
 * Why a record cannot be applied:
 * - `invalid-key`: the key is not one of a changesets topic;
 * - `invalid-changeset`: the value is not a changeset, or is another feed's;
 * - `unknown-element`: an entry names an element that does not exist, or inserts one that does;
 * - `position`: an element is not, or cannot be placed, at the changeset's position;
 * - `checksum`: the resulting order or kinds differ from the changeset's checksum.
 */
export class ReplicaFault extends Error {
  /**
   * @param {'invalid-key' | 'invalid-changeset' | 'unknown-element' | 'position' | 'checksum'} code
   * @param {string} message What was found and what was expected.
   */
  constructor(code, message) {
    super(message);
    this.name = 'ReplicaFault';
    this.code = code;
  }
}

/**
 * A value for a message, truncated if it is long.
 * @param {unknown} value
 */
export const quoted = (value) => {
  try {
    return String(JSON.stringify(value)).slice(0, 80);
  } catch {
    // JSON.stringify is recursive.
    return 'a deeply nested value';
  }
};

/** @param {string} name @param {unknown} value */
export const invalid = (name, value) => new ReplicaFault('invalid-changeset', `the ${name} is not valid: ${quoted(value)}`);
