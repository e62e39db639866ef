/**
 * Server-Sent Events over `fetch`. Browsers' `EventSource` can neither send `Authorization` nor report a status code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * @typedef {object} StreamEvent
 * @property {string} name `message` by default.
 * @property {string} data Its lines joined by newlines.
 * @property {string} id The last id in the stream so far.
 */

/** As specified in https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation. */
export class EventStreamParser {
  /** The last id. */
  lastEventId = '';
  // Removes a byte order mark at the beginning.
  #decoder = new TextDecoder();
  /** @type {string[]} An incomplete line. */
  #pieces = [];
  #isAfterReturn = false;
  #name = '';
  /** @type {string[]} */
  #data = [];
  #id = '';
  #onEvent;
  #onRetry;

  /** @param {{ onEvent: (event: StreamEvent) => void, onRetry?: (milliseconds: number) => void }} options */
  constructor({ onEvent, onRetry }) {
    this.#onEvent = onEvent;
    this.#onRetry = onRetry;
  }

  /** @param {Uint8Array} bytes Any piece of the stream. */
  push(bytes) {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (text === '') return;
    const [first, ...others] = text.slice(this.#isAfterReturn && text[0] === '\n' ? 1 : 0).split(/\r\n|\r|\n/);
    this.#isAfterReturn = text.endsWith('\r');
    this.#pieces.push(first);
    for (const next of others) {
      const line = this.#pieces.join('');
      this.#pieces = [next];
      this.#takeLine(line);
    }
  }

  /** @param {string} line */
  #takeLine(line) {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#name = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'retry' && /^[0-9]{1,9}$/.test(value)) this.#onRetry?.(Number(value));
    return undefined;
  }

  #dispatch() {
    const [name, data] = [this.#name || 'message', this.#data];
    this.#name = '';
    this.#data = [];
    this.lastEventId = this.#id;
    if (data.length > 0) this.#onEvent({ name, data: data.join('\n'), id: this.#id });
  }
}
