import assert from 'node:assert/strict';
import { FeedStore } from '../../src/index.js';
import { Clock } from './clock.mjs';
import { StreamServer } from './stream-server.mjs';

/** Sections with so many items each. */
export const sectionsOf = (...sizes) => sizes.map((size, s) => ({
  id: `s${s}`, data: { title: s }, items: Array.from({ length: size }, (_, i) => ({ id: `${s}/${i}`, kind: 'k', data: { n: i } })),
}));

/** A store, servers and a clock. The first server has the feed `f`. */
export class Scene {
  clock = new Clock();

  /** The store knows all URLs, or those of `known`. */
  constructor({ urls = ['http://a'], known = urls, sections = sectionsOf(3, 2), ...options } = {}) {
    this.servers = urls.map(() => new StreamServer());
    for (const server of this.servers) {
      server.later = (_key, run) => this.clock.setTimer(run, 1);
      server.patience = (run) => {
        const timer = this.clock.setTimer(run, 30_000);
        return () => this.clock.clearTimer(timer);
      };
    }
    [this.server] = this.servers;
    if (sections !== null) this.server.publish('f', sections);
    this.store = new FeedStore(known, {
      fetch: (url, request) => this.servers[urls.findIndex((it) => url.startsWith(it))].fetch(url, request),
      random: () => 0, ...this.clock.environment, ...options,
    });
  }

  /** Lets time pass, while connections are kept alive. */
  async pass(milliseconds = 20) {
    for (let rest = milliseconds; rest > 0; rest -= 10_000) {
      for (const server of this.servers) server.beat();
      await this.clock.advance(Math.min(rest, 10_000));
    }
  }

  /** Collects a feed's updates. */
  listen(feed) {
    const updates = [];
    const end = feed.subscribe((update) => updates.push(update));
    return { feed, updates, end, get kinds() { return updates.splice(0).map(({ kind }) => kind); } };
  }

  /** What was asked for since the last call: the methods and contents. */
  get asked() { return this.servers.flatMap(({ requests }) => requests.splice(0).map(({ method, body }) => [method, body])); }

  close() {
    this.store.close();
    return this.clock.advance(0).then(() => assert.equal(this.clock.timerCount, 0, 'timers are left'));
  }
}

/** The ids of all items that a view shows. */
export const idsOf = (view) => view.sections.flatMap(({ items }) => items.map(({ id }) => id));
