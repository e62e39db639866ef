/**
 * The state of the instance: counters, lag and planner settings, polled every two seconds while they are visible.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { byId, make, setAttribute, setText } from './dom.js';
import { explainThresholds } from './explain.js';
import { bytes, clock, count, counted, rate, visible } from './format.js';

const interval = 2000;
/** The number of points of the curve. */
const history = 60;

const standings = {
  bootstrapping: 'reading its partitions for the first time', 'catching-up': 'catching up', 'up-to-date': 'up to date',
};

/** The modes of changesets in the order of the bar, with their counters. */
const modes = /** @type {const} */ ([
  ['reconfigure', 'reconfigures'], ['diff', 'diffs'], ['reload', 'reloads'], ['delete', 'deletes'],
]);

export class Status {
  /** @type {any} The last response. */
  latest = null;
  #api;
  /** @type {any} */
  #timer = null;
  /** @type {{ at: number, counters: Record<string, number> } | null} */
  #previous = null;
  /** @type {number[]} Changesets a second. */
  #rates = [];
  #request = 0;
  /** The number of rejected records in the last response. */
  #rejected = 0;

  /** @param {{ api: import('./api.js').Api }} options */
  constructor({ api }) {
    this.#api = api;
    byId('rejected-button').addEventListener('click', () => {
      byId('rejected-dialog').showModal();
      this.#showRejected();
    });
    byId('partitions-button').addEventListener('click', () => byId('partitions-dialog').showModal());
    document.addEventListener('visibilitychange', () => {
      // The rate is unknown after a pause.
      this.#previous = null;
      this.refresh();
    });
  }

  async refresh() {
    clearTimeout(this.#timer);
    if (document.hidden) return;
    const request = ++this.#request;
    try {
      const status = await this.#api.get('/v1/status');
      if (request !== this.#request) return;
      this.#show(status);
    } catch (/** @type {any} */ error) {
      if (request !== this.#request) return;
      setAttribute(byId('instance'), 'data-standing', 'unreachable');
      setText(byId('instance-standing'), error.status === undefined ? 'cannot be reached' : error.message);
      this.#previous = null;
      if (error.status === 401) return;
    }
    this.#timer = setTimeout(() => this.refresh(), interval);
  }

  /** @param {any} status */
  #show(status) {
    this.latest = status;
    const { counters, partitions = [], feeds, http, planner } = status;
    setText(byId('instance-name'), status.instance ?? '');
    setAttribute(byId('instance-name'), 'title', `version ${status.version}, started ${status.startedAt}`);
    setAttribute(byId('instance'), 'data-standing', status.standing);
    setText(byId('instance-standing'), /** @type {any} */ (standings)[status.standing] ?? status.standing);
    this.#showRate(counters);
    setTile('changesets', count(counters.changesets), counted(counters.keyframes, 'keyframe'));
    this.#showModes(counters);
    const rejected = counters.rejected > 0 ? `${count(counters.rejected)} rejected` : 'none rejected';
    setTile('records', count(counters.records));
    const isRejected = counters.rejected > 0;
    byId('rejected-button').hidden = !isRejected;
    setText(byId('rejected-button'), isRejected ? rejected : '');
    setText(byId('records-note'), `${isRejected ? '' : rejected}, ${counted(counters.noOps, 'no-op')}`);
    if (byId('rejected-dialog').open && counters.rejected !== this.#rejected) this.#showRejected();
    this.#rejected = counters.rejected;
    setAttribute(byId('tile-records'), 'data-alert', counters.rejected > 0);
    setTile('feeds', count(feeds.count), `${counted(feeds.sections, 'section')}, ${counted(feeds.items, 'item')}`);
    setTile('bytes', bytes(counters.outputBytes), `from ${bytes(counters.inputBytes)} of input`);
    const dropped = http.droppedEvents > 0 ? `${counted(http.droppedEvents, 'event')} dropped` : 'no events dropped';
    setTile('streams', count(http.streams), dropped);
    setAttribute(byId('tile-streams'), 'data-alert', http.droppedEvents > 0);
    const known = partitions.filter((/** @type {any} */ it) => it.inputLag !== undefined);
    const lag = known.reduce((/** @type {number} */ sum, /** @type {any} */ it) => sum + it.inputLag, 0);
    const isKnown = known.length > 0;
    setTile('lag', isKnown ? count(lag) : '–', isKnown ? `in ${counted(partitions.length, 'partition')}` : 'not known yet');
    setAttribute(byId('tile-lag'), 'data-alert', lag > 1000);
    showPartitions(partitions);
    showPlanner(planner);
  }

  async #showRejected() {
    const problem = byId('rejected-problem');
    try {
      const { rejected } = await this.#api.get('/v1/rejected');
      byId('rejected').replaceChildren(...rejected.map(rejectedNode));
      problem.hidden = true;
    } catch (/** @type {any} */ error) {
      problem.hidden = false;
      setText(problem, error.message);
    }
  }

  /** @param {Record<string, number>} counters */
  #showRate(counters) {
    const at = performance.now();
    const previous = this.#previous;
    this.#previous = { at, counters };
    const isGoingOn = previous !== null && counters.changesets >= previous.counters.changesets;
    if (!isGoingOn) return;
    const seconds = (at - previous.at) / 1000;
    if (seconds < 0.5) return;
    this.#rates.push((counters.changesets - previous.counters.changesets) / seconds);
    if (this.#rates.length > history) this.#rates.shift();
    setText(byId('rate'), `${rate(this.#rates[this.#rates.length - 1])} /s`);
    const most = Math.max(...this.#rates, 1);
    const first = history - this.#rates.length;
    const points = this.#rates.map((value, at) => `${2 * (first + at)},${(23 - 21 * value / most).toFixed(1)}`);
    byId('curve-line').setAttribute('points', points.join(' '));
  }

  /** @param {Record<string, number>} counters */
  #showModes(counters) {
    const bar = byId('modes');
    const all = modes.reduce((sum, [, name]) => sum + counters[name], 0);
    bar.replaceChildren(...modes.filter(([, name]) => counters[name] > 0).map(([mode, name]) => {
      const part = make('span', { 'data-mode': mode });
      part.style.width = `${100 * counters[name] / all}%`;
      return part;
    }));
    const text = modes.map(([mode, name]) => `${mode} ${count(counters[name])}`).join(', ');
    setAttribute(bar, 'aria-label', text);
    setAttribute(bar, 'title', text);
  }
}

const utf8 = new TextEncoder();

/** @param {string} name @param {string} value @param {string} [note] */
function setTile(name, value, note) {
  const tile = byId(`tile-${name}`);
  setText(tile.querySelector('.value'), value);
  if (note !== undefined) setText(tile.querySelector('.note'), note);
}

/** @param {any} record @returns {Node} */
const rejectedNode = ({ time, code, message, key, value, valueBytes, source }) => make(
  'li', { class: 'entry' },
  make(
    'div', { class: 'entry-head' }, make('span', { class: 'mode' }, code),
    key === undefined ? null : make('bdi', { class: 'code' }, visible(key)), make('time', { datetime: time, title: time }, clock(time)),
  ),
  make('p', { class: 'why' }, message),
  make('p', { class: 'why' }, `${source.topic}, partition ${source.partition}, offset ${source.offset}`),
  value === undefined ? make('p', { class: 'why' }, 'The value is null.') : make('pre', { dir: 'ltr' }, value),
  // The answer has only the beginning of a long value.
  utf8.encode(value ?? '').length < (valueBytes ?? 0) ? make('p', { class: 'why' }, `The beginning of ${bytes(valueBytes)}.`) : null,
);

/** @param {any[]} partitions */
function showPartitions(partitions) {
  byId('partitions').replaceChildren(...partitions.map(({ partition, standing, position, inputLag }) => make(
    'tr', {},
    make('th', { scope: 'row' }, String(partition)), make('td', {}, standing), make('td', {}, count(position)),
    make('td', {}, inputLag === undefined ? 'not known' : count(inputLag)),
  )));
}

/** @param {import('./explain.js').Thresholds | undefined} planner */
function showPlanner(planner) {
  if (planner === undefined) return;
  setText(byId('planner'), explainThresholds(planner));
}
