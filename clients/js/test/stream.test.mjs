// A store does what the vectors in conformance/stream say, with virtual time: requests, standings, updates and outcomes.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';
import { FeedStore, WriteRejected } from '../src/index.js';
import { Clock } from './support/clock.mjs';

const folder = new URL('../../../conformance/stream/', import.meta.url);
const encoder = new TextEncoder();

class Replay {
  clock = new Clock();
  handles = new Map();
  requests = new Map();
  sent = [];
  aborted = [];
  /** The expected output, by handle; that of the store has no name. */
  standings = { '': { name: 'live' } };
  shown = {};

  constructor({ urls, hasToken }) {
    this.clock.time = 0;
    const token = hasToken && (() => new Promise((resolve, reject) => {
      this.then.tokenAsks = (this.then.tokenAsks ?? 0) + 1;
      this.callback = { resolve, reject };
    }));
    this.store = new FeedStore(urls, { token, fetch: this.fetch, random: () => 0, page: {}, keep: 0, ...this.clock.environment });
  }

  fetch = (url, { method, headers, body, signal }) => new Promise((resolve, reject) => {
    const wait = /^wait=(\d+)$/.exec(headers.Prefer)?.[1];
    const expected = {
      method, url, ...(headers.Authorization && { token: headers.Authorization.slice('Bearer '.length) }),
      ...(body !== undefined && { body: JSON.parse(body) }), ...(wait && { wait: Number(wait) }),
    };
    const request = { expected, isOpen: true, resolve, fail: reject };
    this.sent.push(request);
    signal.addEventListener('abort', () => {
      if (request.isOpen && url.endsWith('/v1/streams')) this.aborted.push(request);
      request.isOpen = false;
      request.fail(signal.reason);
    });
  });

  take(one) {
    const { follow, feed, window = null, show, leave, write, answer } = one;
    if (follow) {
      const handle = { feed: this.store.feed(feed, window), updates: [] };
      handle.leave = handle.feed.subscribe(({ kind, view }) => {
        const text = JSON.stringify([view.sections.map((section) => [section, section.from, section.of]), view.isPending]);
        if (kind !== 'standing' && !(kind === 'pending' && text === handle.before)) handle.updates.push(kind);
        handle.before = text;
      });
      this.handles.set(follow, handle);
    } else if (show) this.handles.get(show).feed.show(window);
    else if (leave) {
      this.handles.get(leave).leave();
      this.handles.delete(leave);
    } else if (write) {
      const tell = (outcome) => { (this.then.writes ??= {})[write] = outcome; };
      this.store.feed(feed).write(one.events, one).then((written) => tell({ written }), (error) => tell(error instanceof WriteRejected
        ? { rejected: error.code } : { failed: error.code, isSent: !/nothing was written/.test(error.message) }));
    } else if ('setToken' in one) this.store.setToken(one.setToken);
    else if (one.reconnect) this.store.reconnect();
    else if (one.close) this.close();
    else if ('token' in one) this.callback.resolve(one.token);
    else if ('tokenError' in one) this.callback.reject(new Error(one.tokenError));
    else if (answer) this.answer(this.requests.get(answer), one);
    else if (Object.keys(one).length > 0) this.pass(this.requests.get(one.event ?? one.comment ?? one.end ?? one.fail), one);
  }

  close() {
    this.store.close();
    this.handles.clear();
    [this.standings, this.shown] = [{ '': this.standings[''] }, {}];
  }

  answer(request, { status, headers = {}, json }) {
    if (json !== undefined) {
      request.isOpen = false;
      request.resolve(new Response(JSON.stringify(json), { status, headers }));
      return;
    }
    const body = new ReadableStream({ start: (controller) => {
      request.stream = controller;
      request.fail = (error) => controller.error(error);
    } });
    request.resolve(new Response(body, { status, headers: { 'content-type': 'text/event-stream', ...headers } }));
  }

  pass(request, { event, name, data, retry, end, fail }) {
    if (fail || (end && !request.stream)) request.fail(new TypeError('fetch failed'));
    else if (end) request.stream.close();
    else request.stream.enqueue(encoder.encode(event === undefined ? ':\n' : `${retry ? `retry: ${retry}\n` : ''}event: ${name}\ndata: ${data}\n\n`));
    if (fail || end) request.isOpen = false;
  }

  async step({ at, do: inputs, then }) {
    this.then = {};
    this.numbered = [];
    await this.clock.advance(at - this.clock.time);
    this.number(then.requests ?? []);
    for (const one of inputs) this.take(one);
    await this.clock.advance(0);
    for (const one of inputs) if (one.leave) for (const list of [this.standings, this.shown]) delete list[one.leave];
    Object.assign(this.standings, then.standings, then.store && { '': then.store });
    Object.assign(this.shown, then.shown);
    return [this.found(then.requests ?? []), {
      ...Object.fromEntries(['requests', 'aborted', 'tokenAsks', 'updates', 'writes'].filter((name) => then[name]).map((name) => [name, then[name]])),
      standings: this.standings, shown: this.shown,
    }].map((value) => JSON.parse(JSON.stringify(value)));
  }

  /** Finds the numbers of requests, which may be sent in any order. */
  number(expected) {
    for (const { request, ...content } of expected) {
      const at = this.requests.has(request) ? -1 : this.sent.findIndex((one) => isSame(one.expected, content));
      if (at < 0) continue;
      const [one] = this.sent.splice(at, 1);
      this.requests.set(request, Object.assign(one, { number: request }));
      this.numbered.push({ request, ...content });
      this.numbered.sort((one, other) => one.request - other.request);
    }
  }

  found(expected) {
    const found = { ...this.then, standings: { '': this.trimmed(this.store.standing, '') }, shown: {} };
    this.number(expected);
    if (this.numbered.length > 0) found.requests = this.numbered;
    if (this.sent.length > 0) (found.requests ??= []).push(...this.sent.splice(0).map((one) => one.expected));
    if (this.aborted.length > 0) found.aborted = this.aborted.splice(0).map(({ number }) => number);
    for (const [name, { feed: { view }, updates }] of this.handles) {
      found.standings[name] = this.trimmed(view.standing, name);
      const items = view.sections.flatMap((section) => section.items.map(({ id }) => id));
      const shown = view.exists ? { revision: view.revision, items, ...(view.isPending && { isPending: true }) } : null;
      if (shown || name in this.shown) found.shown[name] = shown;
      if (updates.length > 0) (found.updates ??= {})[name] = updates.splice(0);
    }
    return found;
  }

  /** A standing whose detail is as expected if it has that text, or if none is. */
  trimmed({ detail, ...standing }, name) {
    const text = this.standings[name]?.detail;
    return { ...standing, ...(text !== undefined && { detail: detail?.includes(text) ? text : detail }) };
  }
}

const sorted = (value) => (Array.isArray(value) ? value.map(sorted) : value && typeof value === 'object'
  ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)).map(([key, one]) => [key, sorted(one)])) : value);
const isSame = (one, other) => JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));

for (const file of readdirSync(folder).filter((name) => name.endsWith('.ndjson'))) {
  test(`a store passes the vectors of ${file}`, async () => {
    for (const line of readFileSync(new URL(file, folder), 'utf8').split('\n').filter(Boolean)) {
      const { steps, ...vector } = JSON.parse(line);
      if (process.env.ONLY && !vector.title.includes(process.env.ONLY)) continue;
      const replay = new Replay(vector);
      for (const step of steps) {
        const [found, expected] = await replay.step(step);
        assert.deepEqual(found, expected, `${vector.title}, at ${step.at}: ${JSON.stringify(step.do)}`);
      }
      replay.store.close();
    }
  });
}
