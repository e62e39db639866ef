// The store with two instances that fail at random, against what a replay publishes and the oracle's states.

import assert from 'node:assert/strict';
import test from 'node:test';
import { FeedStore } from '../src/index.js';
import { animated } from './support/animated.mjs';
import { Clock } from './support/clock.mjs';
import { History } from './support/follower.mjs';
import { Random, seed } from './support/random.mjs';
import { randomRecords } from './support/records.mjs';
import { replay } from './support/replay.mjs';
import { slice, StreamServer } from './support/stream-server.mjs';

const plain = (value) => JSON.parse(JSON.stringify(value));
const urls = ['http://a', 'http://b'];
const windows = [null, null, { first: 0 }, { first: 3 }, { first: 5 }, { sections: ['s0', 's1', 's2'] }, { sections: ['s1'], from: 1, count: 3 }, { sections: ['s3', 's0'], first: 2 }];

/** What is published of each feed, in order: `{ feed, sections, head, changesets }`. */
function publications(random, count) {
  const records = randomRecords(random, { count });
  const { output, rejected } = replay(records, { 'coalesce.window': 0 });
  const history = new History(records, rejected);
  const lines = output.map(({ value }) => value).filter((value) => value !== null && value.reason !== 'keyframe');
  return lines.map((value) => {
    const { feed, epoch, revision, time, through, mode } = value;
    return { feed, head: { epoch, revision, time, through }, changesets: [value], sections: mode === 'delete' ? undefined : history.stateOf({ through, feed }) };
  });
}

/** One part of a page that shows a feed, and checks each update. */
class Screen {
  constructor(feed, seen) {
    this.feed = feed;
    this.seen = seen;
    this.end = feed.subscribe((update) => {
      try {
        this.take(update);
      } catch (error) {
        seen.fault ??= error;
      }
    });
    this.keep();
  }

  keep() {
    this.view = this.feed.view;
    this.text = JSON.stringify(this.view.sections);
  }

  show(window) {
    // What is followed already has other objects.
    this.isShowing = true;
    this.feed.show(window);
    this.isShowing = false;
    this.keep();
  }

  take({ kind, view, change }) {
    this.seen[kind] = (this.seen[kind] ?? 0) + 1;
    this.seen[view.standing.reason ?? view.standing.name] = (this.seen[view.standing.reason ?? view.standing.name] ?? 0) + 1;
    const before = this.view;
    assert.equal(view, this.feed.view);
    assert.equal(JSON.stringify(before.sections), this.text, 'a view has changed');
    const order = (sections) => sections.map(({ id, items }) => ({ id, items: items.map((item) => item.id) }));
    if (kind === 'changed') assert.deepEqual(animated(order(before.sections), change), order(view.sections));
    if (kind === 'absent') assert.deepEqual([view.exists, view.sections], [false, []]);
    for (const section of view.sections) {
      assert.equal(view.section(section.id), section);
      for (const item of section.items) {
        assert.equal(item.section, section.id);
        assert.equal(view.item(item.id), item);
        const was = before.item(item.id);
        if (was === undefined || was === item || this.isShowing) continue;
        // Only forced entries make another object of the same content.
        const isForced = kind === 'changed' && [...change.items.reconfigure, ...change.items.reload].some(({ id }) => id === item.id);
        const isSame = was.kind === item.kind && was.section === item.section && was.dataText === item.dataText;
        assert.ok(!isSame || isForced || !before.exists, `${item.id} is another object without a reason, in ${kind}`);
      }
    }
    this.keep();
  }

  /** Asserts that it shows what there is. */
  check(states, steps) {
    const { feed: { view, window, id } } = this;
    const place = `${id} ${JSON.stringify(window)} after ${steps}: ${JSON.stringify(view.standing)}`;
    assert.equal(view.standing.name, 'live', place);
    const state = states.get(id);
    assert.equal(view.exists, state?.sections !== undefined, place);
    if (!view.exists) return;
    const { sections, head } = state;
    assert.deepEqual(plain(view.sections), plain(slice(sections, window ?? {})), place);
    if (window === null) assert.deepEqual([view.revision, view.epoch, view.through], [head.revision, head.epoch, head.through], place);
    for (const section of view.sections) {
      const items = sections.find((it) => it.id === section.id).items;
      assert.deepEqual([section.from, section.of], [window?.from ?? 0, items.length], place);
    }
  }
}

for (const instances of [1, 2]) {
  test(`random windows, interruptions, moves and tokens lead to what is published: ${instances} instances`, async () => {
    const random = new Random(seed + instances);
    const clock = new Clock();
    const servers = urls.slice(0, instances).map(() => new StreamServer());
    let token = 2;
    for (const server of servers) {
      server.later = clock.later(random, 40);
      server.rightsOf = (given) => (Number(given) >= token ? { sub: 'a', mayRead: () => true } : null);
    }
    const fetch = (url, request) => servers[urls.findIndex((it) => url.startsWith(it))].fetch(url, request);
    const store = new FeedStore(urls.slice(0, instances), {
      fetch, random: () => random.below(100) / 100, ...clock.environment, token: async () => String(random.chance(20) ? token - 1 : token),
    });
    const published = publications(random, 700);
    const ids = [...new Set(published.map(({ feed }) => feed))];
    /** Where each feed is. */
    const homes = new Map(ids.map((id) => [id, random.pick(servers)]));
    for (const [id, home] of homes) for (const server of servers) if (server !== home) server.elsewhere.set(id, random.chance(50) ? urls[servers.indexOf(home)] : '');
    const states = new Map();
    const seen = {};
    let screens = [];
    const wait = async (milliseconds) => {
      for (let rest = milliseconds; rest > 0; rest -= 10_000) {
        for (const server of servers) server.beat();
        await clock.advance(Math.min(rest, 10_000));
      }
    };
    const actions = [
      ...Array.from({ length: 12 }, () => () => {
        const next = published.shift();
        if (next === undefined) return;
        states.set(next.feed, next);
        homes.get(next.feed).publish(next.feed, next.sections, next.head, next.changesets);
      }),
      ...Array.from({ length: 3 }, () => () => { if (screens.length < 12) screens.push(new Screen(store.feed(random.pick(ids), random.pick(windows)), seen)); }),
      () => {
        const [gone] = screens.splice(random.below(screens.length || 1), 1);
        gone?.end();
        // It may come back at once.
        if (gone && random.chance(50)) screens.push(new Screen(gone.feed, seen));
      },
      () => { if (screens.length > 0) random.pick(screens).show(random.pick(windows)); },
      () => { if (screens.length > 0) random.pick(screens).show(random.pick(windows)); },
      () => random.pick(servers).cut(random.chance(50) ? new TypeError('network') : undefined),
      () => random.pick(servers).spoil(random.pick(ids)),
      () => random.pick(servers).refetch(random.pick(ids)),
      () => {
        token += 1;
        for (const server of servers) server.expire();
      },
      () => { random.pick(servers).isDown = random.chance(50); },
      () => {
        if (instances === 1) return;
        const id = random.pick(ids);
        const from = homes.get(id);
        const to = random.pick(servers.filter((server) => server !== from));
        homes.set(id, to);
        from.leave(id, random.chance(50) ? urls[servers.indexOf(to)] : '');
        to.take(id, from);
        from.feeds.delete(id);
      },
    ];
    for (let step = 1; published.length > 0; step++) {
      random.pick(actions)();
      if (random.chance(60)) await wait(random.chance(10) ? random.below(5000) : random.below(60));
      if (seen.fault !== undefined) throw seen.fault;
      if (step % 60 !== 0) continue;
      for (const server of servers) server.isDown = false;
      await wait(200_000);
      for (const screen of screens) screen.check(states, step);
    }
    for (const kind of ['state', 'changed', 'standing', 'live', 'catching-up', 'disconnected', 'forbidden', ...(instances > 1 ? ['moved'] : [])]) {
      assert.ok(seen[kind] > 0, `no ${kind}: ${JSON.stringify(seen)}`);
    }
    for (const { end } of screens) end();
    await wait(100);
    assert.deepEqual(servers.map(({ streamCount }) => streamCount), servers.map(() => 0), 'streams stay open');
    store.close();
    await clock.advance(0);
    assert.equal(clock.timerCount, 0, 'timers are left');
  });
}
