/**
 * Writes, and why they fail.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/** The write changed nothing. */
export class WriteRejected extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.name = 'WriteRejected';
    this.code = code;
  }
}

/** The outcome of the write is not known, or the daemon could not take it. */
export class WriteFailed extends Error {
  /** @param {string | null} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.name = 'WriteFailed';
    this.code = code;
  }
}

/**
 * A write, until what is shown includes it. `written` is null until the daemon has answered; `isDone` says that there
 * will be no other answer, `isPublished` that it is published.
 * @typedef {{ events: any[], written: import('../types/index.js').Written | null, isPublished: boolean, isDone: boolean, isSent: boolean, body: string, wait: number,
 *   coalesce?: string, outcome?: Promise<import('../types/index.js').Written> }} PendingWrite
 */
