// Tabs of one origin: one connection, whatever becomes of the tab that leads.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Clock } from './support/clock.mjs';
import { Random, seed } from './support/random.mjs';
import { idsOf, sectionsOf } from './support/scene.mjs';
import { slice, StreamServer } from './support/stream-server.mjs';
import { Browser } from './support/tabs.mjs';

const plain = (value) => JSON.parse(JSON.stringify(value));
const tokenOf = (payload) => `e30.${btoa(JSON.stringify(payload)).replaceAll('=', '')}.e30`;

/** A browser, a clock, and servers, of which the first has the feed `f`. */
class Scene {
  clock = new Clock();
  tabs = [];

  constructor({ urls = ['http://a'], later } = {}) {
    this.urls = urls;
    this.servers = urls.map(() => new StreamServer());
    [this.server] = this.servers;
    const after = later ?? ((_key, run) => this.clock.setTimer(run, 1));
    for (const server of this.servers) server.later = after;
    this.browser = new Browser(after);
    this.server.publish('f', sectionsOf(6, 2));
  }

  open(options = {}) {
    const tab = this.browser.open(this.urls, {
      fetch: (url, request) => this.servers[this.urls.findIndex((it) => url.startsWith(it))].fetch(url, request),
      random: () => 0, ...this.clock.environment, ...options,
    });
    this.tabs.push(tab);
    return tab;
  }

  /** Opens a tab that shows a feed. */
  show(id = 'f', window = null, options = {}) {
    const tab = this.open(options);
    tab.updates = [];
    tab.feed = tab.store.feed(id, window);
    tab.feed.subscribe((update) => tab.updates.push(update));
    return tab;
  }

  async pass(milliseconds = 100) {
    for (let rest = milliseconds; rest > 0; rest -= 10_000) {
      for (const server of this.servers) server.beat();
      await this.clock.advance(Math.min(rest, 10_000));
    }
  }

  get streams() { return this.servers.reduce((sum, { streamCount }) => sum + streamCount, 0); }
  get asked() { return this.servers.flatMap(({ requests }) => requests.splice(0).map(({ method, body }) => [method, body])); }

  async close() {
    for (const tab of this.tabs) if (!tab.isGone) tab.store.close();
    await this.clock.advance(100);
    assert.equal(this.clock.timerCount, 0, 'timers are left');
    assert.deepEqual(this.browser.locks.names, [], 'locks are left');
    assert.equal(this.streams, 0, 'streams are left');
  }
}

const isLive = ({ feed }) => feed.view.standing.name === 'live';

test('a store that is closed at any moment of its start leaves nothing', async () => {
  for (let moments = 0; moments < 60; moments++) {
    const scene = new Scene();
    const { store } = scene.show();
    for (let moment = 0; moment < moments; moment++) await Promise.resolve();
    store.close();
    await scene.close();
  }
});

test('eight tabs have one stream, and the next tab leads when the first one is gone', async () => {
  const scene = new Scene();
  const tabs = Array.from({ length: 8 }, () => scene.show());
  await scene.pass();
  assert.equal(scene.streams, 1);
  assert.ok(tabs.every((tab) => isLive(tab) && idsOf(tab.feed.view).length === 8));
  assert.equal(tabs[7].feed.view.item('0/1').dataText, '{"n":1}');
  const items = new Map(tabs.map(({ feed }) => [feed, feed.view.item('0/0')]));
  void scene.asked;
  while (tabs.length > 1) {
    tabs.shift().kill();
    await scene.pass(3100);
    const entries = scene.asked.flatMap(([, { feeds = [], add = [] }]) => [...feeds, ...add]);
    assert.deepEqual(entries.map(({ feed, epoch, revision }) => [feed, epoch, revision]), tabs.map(() => ['f', 't/0', scene.server.revision]));
    assert.equal(scene.streams, 1);
    for (const tab of tabs) tab.updates.length = 0;
    scene.server.change(([section]) => { section.items[1].data = { n: 10 + tabs.length }; });
    await scene.pass();
    for (const { updates, feed } of tabs) {
      assert.deepEqual(updates.map(({ kind }) => kind), ['changed']);
      assert.deepEqual(feed.view.item('0/1').data, { n: 10 + tabs.length });
      assert.equal(feed.view.item('0/0'), items.get(feed), 'it is not sent again');
    }
  }
  await scene.close();
});

test('a tab that is opened later gets the state, and the others do not notice', async () => {
  const scene = new Scene();
  const tabs = [scene.show(), scene.show()];
  await scene.pass();
  for (const tab of tabs) tab.updates.length = 0;
  const late = scene.show();
  await scene.pass();
  assert.ok(isLive(late));
  assert.equal(idsOf(late.feed.view).length, 8);
  assert.deepEqual(late.updates.map(({ kind, view }) => `${kind} ${view.standing.name}`).at(-1), 'standing live');
  assert.ok(late.updates.some(({ kind }) => kind === 'state'));
  assert.deepEqual(tabs.flatMap(({ updates }) => updates), []);
  assert.equal(scene.streams, 1);
  // The first tab leads, and ends.
  tabs[0].store.close();
  await scene.pass();
  assert.deepEqual([tabs[1], late].map(isLive), [true, true]);
  await scene.close();
});

test('windows of tabs are changed in place, and not followed any longer than they are shown', async () => {
  const scene = new Scene();
  scene.server.publish('g', sectionsOf(3));
  const [first, second, third] = [scene.show('f'), scene.show('f', { first: 1 }), scene.show('g', { first: 1 })];
  await scene.pass();
  assert.equal(scene.streams, 1);
  assert.deepEqual([first, second, third].map(({ feed }) => idsOf(feed.view).length), [8, 2, 1]);
  void scene.asked;
  third.feed.show({ first: 2 });
  third.feed.show({ first: 1 });
  third.feed.show({ first: 3 });
  await scene.pass();
  assert.deepEqual(scene.asked.map(([method, { add }]) => [method, add.map(({ feed, first }) => [feed, first])]), [['PATCH', [['g', 3]]]]);
  assert.deepEqual([idsOf(third.feed.view).length, isLive(third)], [3, true]);
  // It shows what another tab shows, and then something else again.
  second.feed.show();
  await scene.pass();
  assert.deepEqual([idsOf(second.feed.view).length, isLive(second), scene.streams], [8, true, 1]);
  second.feed.show({ first: 2 });
  await scene.pass();
  assert.deepEqual([idsOf(second.feed.view).length, isLive(second), isLive(first)], [4, true, true]);
  third.kill();
  await scene.pass();
  const [method, { remove }] = scene.asked.at(-1);
  assert.deepEqual([method, remove.map(({ feed }) => feed)], ['PATCH', ['g']]);
  // There and back in one turn.
  second.feed.show({ first: 1 });
  second.feed.show({ first: 2 });
  await scene.pass();
  assert.deepEqual([idsOf(second.feed.view).length, isLive(second)], [4, true]);
  scene.server.change(([section]) => { section.items[1].data = 'new'; });
  await scene.pass();
  assert.deepEqual([first, second].map(({ feed }) => feed.view.item('0/1').data), ['new', 'new']);
  await scene.close();
});

test('tabs learn that a feed is absent, created and deleted', async () => {
  const scene = new Scene();
  const [first, second] = [scene.show('h'), scene.show('h')];
  await scene.pass();
  const late = scene.show('h');
  await scene.pass();
  const tabs = [first, second, late];
  assert.deepEqual(tabs.map(({ feed, updates }) => [isLive({ feed }), feed.view.exists, updates.some(({ kind }) => kind === 'absent')]), tabs.map(() => [true, false, true]));
  scene.server.publish('h', sectionsOf(2));
  await scene.pass();
  assert.deepEqual(tabs.map(({ feed }) => idsOf(feed.view).length), [2, 2, 2]);
  scene.server.publish('h', undefined);
  await scene.pass();
  assert.deepEqual(tabs.map(({ feed, updates }) => [feed.view.exists, updates.at(-1).kind]), tabs.map(() => [false, 'absent']));
  await scene.close();
});

test('what does not fit is sent again, to a tab that leads and to others, and never in a hurry', async () => {
  const scene = new Scene();
  const [leader, other] = [scene.show('f', { first: 1 }), scene.show()];
  await scene.pass();
  for (let round = 1; round <= 2; round++) {
    scene.server.spoil('f');
    scene.server.change(([section]) => { section.items[0].data = { round }; });
    await scene.pass(31_000);
    assert.deepEqual([leader, other].map(({ feed }) => feed.view.item('0/0').data), [{ round }, { round }]);
    assert.ok([leader, other].every(isLive));
  }
  void scene.asked;
  scene.server.spoilsAll = true;
  scene.server.change(([section]) => { section.items[0].data = 'spoilt'; });
  await scene.pass(60_000);
  const count = scene.asked.length;
  assert.ok(count > 2 && count < 20, `${count} requests`);
  assert.deepEqual(other.feed.view.standing.reason, 'must-refetch');
  scene.server.spoilsAll = false;
  await scene.pass(70_000);
  assert.deepEqual([leader, other].map(({ feed }) => [isLive({ feed }), feed.view.item('0/0').data]), [[true, 'spoilt'], [true, 'spoilt']]);
  await scene.close();
});

test('a visible tab takes the lead from one that does not answer, which follows when it is back', async () => {
  const scene = new Scene();
  const [leader, hidden, visible] = [scene.show(), scene.show(), scene.show()];
  hidden.hide(true);
  await scene.pass();
  leader.freeze();
  await scene.pass(100_000);
  scene.server.change(([section]) => { section.items[0].data = 'later'; });
  await scene.pass();
  assert.deepEqual([visible, hidden].map(({ feed }) => [feed.view.item('0/0').data, isLive({ feed })]), [['later', true], ['later', true]]);
  leader.thaw();
  await scene.pass(3000);
  assert.deepEqual([leader.feed.view.item('0/0').data, isLive(leader), scene.streams], ['later', true, 1]);
  // Hidden tabs leave it at that.
  visible.freeze();
  visible.hide(true);
  for (const tab of [leader, hidden]) tab.hide(true);
  void scene.asked;
  await scene.pass(100_000);
  assert.deepEqual(scene.asked, []);
  hidden.hide(false);
  await scene.pass(45_000);
  assert.ok(isLive(hidden) && scene.asked.length > 0);
  visible.thaw();
  await scene.close();
});

test('a page that the browser keeps for later gives the lead up, and comes back', async () => {
  const scene = new Scene();
  const [first, second] = [scene.show(), scene.show()];
  await scene.pass();
  first.emit('pagehide', { persisted: true });
  first.freeze();
  await scene.pass();
  assert.deepEqual([isLive(second), scene.streams], [true, 1]);
  assert.equal(first.feed.view.standing.reason, 'disconnected');
  scene.server.change(([section]) => { section.items[0].data = 'later'; });
  await scene.pass(50_000);
  first.thaw();
  first.emit('pageshow', { persisted: true });
  await scene.pass();
  assert.deepEqual([first.feed.view.item('0/0').data, isLive(first), scene.streams], ['later', true, 1]);
  await scene.close();
});

test('a tab that comes back learns how much there is outside of its window', async () => {
  const scene = new Scene();
  const tabs = [scene.show('f', { first: 2 }), scene.show('f', { first: 2 })];
  await scene.pass();
  tabs[1].emit('pagehide', { persisted: true });
  tabs[1].freeze();
  scene.server.change(([section]) => { section.items.push({ id: 'last', kind: 'k', data: 1 }); });
  await scene.pass();
  tabs[1].thaw();
  tabs[1].emit('pageshow', { persisted: true });
  await scene.pass();
  assert.deepEqual(tabs.map(({ feed }) => [feed.view.section('s0').of, isLive({ feed })]), [[7, true], [7, true]]);
  await scene.close();
});

test('only tabs of the same user share, and those that want to', async () => {
  const scene = new Scene();
  const sub = (name) => ({ token: () => tokenOf({ sub: name, iat: Math.random() }) });
  const streamsOf = async (...options) => {
    const tabs = options.map((it) => scene.show('f', null, it));
    await scene.pass();
    assert.ok(tabs.every(isLive));
    const { streams } = scene;
    for (const tab of tabs) tab.store.close();
    await scene.pass();
    return streams;
  };
  assert.equal(await streamsOf({}, {}), 1);
  assert.equal(await streamsOf({}, { share: false }, { share: false }), 3);
  assert.equal(await streamsOf(sub('ann'), sub('bob'), sub('ann'), {}), 3);
  // It is not known whose tokens these are.
  assert.equal(await streamsOf({ token: () => 'opaque' }, { token: () => 'opaque' }), 2);
  assert.equal(await streamsOf({ token: () => 'opaque', share: 'ann' }, { token: () => 'other', share: 'ann' }), 1);
  assert.equal(await streamsOf({ share: 'a' }, { share: 'b' }, {}), 3);
  // A browser without locks, or a page without a secure context.
  const page = { document: { visibilityState: 'visible' }, navigator: {} };
  assert.equal(await streamsOf({ page }, { page }), 2);
  await scene.close();
});

test('a tab whose user is another one does not share any longer', async () => {
  const scene = new Scene();
  scene.server.rightsOf = (token) => {
    const { sub } = JSON.parse(atob(token.split('.')[1]));
    return { sub, mayRead: (feed) => feed === (sub === 'bob' ? 'f' : 'g') };
  };
  scene.server.publish('g', sectionsOf(1));
  let user = 'ann';
  const [first, second] = [scene.show('f', null, { token: () => tokenOf({ sub: user }) }), scene.show('f', null, { token: () => tokenOf({ sub: 'ann' }) })];
  const third = scene.show('g', null, { token: () => tokenOf({ sub: 'ann' }) });
  const seen = () => [first, second, third].map(({ feed: { view } }) => [view.exists, view.standing.name]);
  await scene.pass();
  assert.deepEqual(seen(), [[false, 'stale'], [false, 'stale'], [true, 'live']]);
  user = 'bob';
  scene.server.cut();
  await scene.pass(40_000);
  assert.deepEqual(seen(), [[true, 'live'], [false, 'stale'], [true, 'live']]);
  assert.equal(scene.streams, 2);
  await scene.close();
});

test('a tab without a token says so, and goes on when there is one', async () => {
  const scene = new Scene();
  let token = null;
  const tab = scene.show('f', null, { token: async () => token ?? Promise.reject(new Error('not signed in')) });
  await scene.pass(5000);
  assert.equal(tab.feed.view.standing.name, 'stale');
  token = tokenOf({ sub: 'ann' });
  await scene.pass(40_000);
  assert.ok(isLive(tab));
  await scene.close();
});

test('a tab whose page gets no locks has its own connection', async () => {
  for (const granted of [0, 1]) {
    const scene = new Scene();
    const tab = scene.show();
    const { locks } = tab.page.navigator;
    const { request } = locks;
    let count = 0;
    locks.request = (...given) => {
      assert.ok(count < 10, 'it asks again and again');
      return ++count > granted ? Promise.reject(new DOMException('denied', 'SecurityError')) : request(...given);
    };
    await scene.pass();
    assert.ok(isLive(tab));
    await scene.close();
  }
});

test('writes of every tab go to the instance that has the feed', async () => {
  const scene = new Scene({ urls: ['http://a', 'http://b'] });
  const [first, second] = scene.servers;
  second.publish('g', sectionsOf(2));
  first.elsewhere.set('g', 'http://b');
  second.elsewhere.set('f', 'http://a');
  const tabs = [scene.show('g'), scene.show('g')];
  await scene.pass();
  assert.ok(tabs.every(isLive));
  for (const server of scene.servers) server.onWrite = () => ({ status: 422, body: { code: 'unknown-anchor', detail: server === second ? 'here' : 'not here' } });
  for (const { feed } of tabs) {
    const written = assert.rejects(feed.write({ op: 'item.delete', item: '0/0' }), /^WriteRejected: here/);
    await scene.pass();
    await written;
  }
  await scene.close();
});

test('a tab that is closed at once leaves nothing', async () => {
  const scene = new Scene();
  const tabs = [scene.show(), scene.show(), scene.show()];
  tabs[0].store.close();
  await scene.pass(1);
  tabs[1].store.close();
  await scene.pass();
  assert.ok(isLive(tabs[2]));
  assert.throws(() => tabs[0].store.feed('f').subscribe(() => {}), /closed/);
  await scene.close();
});

test('another window of a feed that does not exist is live as well', async () => {
  const scene = new Scene();
  const tab = scene.show('none');
  await scene.pass();
  assert.deepEqual([tab.feed.view.standing.name, tab.feed.view.exists], ['live', false]);
  tab.feed.show({ first: 1 });
  await scene.pass();
  scene.server.cut();
  await scene.pass(10_000);
  assert.deepEqual([tab.feed.view.standing.name, tab.feed.view.exists], ['live', false]);
  scene.server.publish('none', sectionsOf(2));
  await scene.pass();
  assert.deepEqual([tab.feed.view.standing.name, tab.feed.view.sections[0].items.length], ['live', 1]);
  await scene.close();
});

const windows = [null, null, { first: 1 }, { first: 3 }, { sections: ['s1'], from: 1, count: 2 }];

for (const instances of [1, 2]) {
  test(`random tabs show what is published, over as few streams as possible: ${instances} instances`, async () => {
    const random = new Random(seed + instances);
    const clock = new Clock();
    const scene = new Scene({ urls: ['http://a', 'http://b'].slice(0, instances), later: clock.later(random, 30) });
    scene.clock = clock;
    const ids = ['f', 'g', 'h'];
    for (const id of ids) {
      const home = random.pick(scene.servers);
      home.publish(id, sectionsOf(4, 3));
      for (const server of scene.servers) if (server !== home) server.elsewhere.set(id, '');
    }
    const homeOf = (id) => scene.servers.find(({ elsewhere }) => !elsewhere.has(id));
    /** What each tab shows. */
    const shown = new Map();
    const living = () => scene.tabs.filter((tab) => !tab.isGone && !tab.isClosed);
    const some = (run) => () => { if (living().length > 0) run(random.pick(living())); };
    let number = 0;
    const change = () => {
      const id = random.pick(ids);
      const server = homeOf(id);
      const sections = plain(server.feeds.get(id).sections ?? sectionsOf(4, 3));
      const { items } = random.pick(sections);
      if (random.chance(5)) return server.publish(id, undefined);
      if (random.chance(30) && items.length > 0) items.splice(random.below(items.length), 1);
      else if (random.chance(50)) items.splice(random.below(items.length + 1), 0, { id: `new${++number}`, kind: 'k', data: number });
      else if (items.length > 0) random.pick(items).data = ++number;
      return server.publish(id, sections);
    };
    const actions = [
      ...Array.from({ length: 8 }, () => change),
      () => { if (living().length < 8) shown.set(scene.open({ random: () => random.below(100) / 100 }), []); },
      some((tab) => {
        const feed = tab.store.feed(random.pick(ids), random.pick(windows));
        if (shown.get(tab).length < 4) shown.get(tab).push({ feed, end: feed.subscribe(() => {}) });
      }),
      some((tab) => { if (shown.get(tab).length > 0) random.pick(shown.get(tab)).feed.show(random.pick(windows)); }),
      some((tab) => shown.get(tab).pop()?.end()),
      some((tab) => { if (random.chance(30)) tab.kill(); }),
      some((tab) => {
        if (random.chance(70)) return;
        tab.thaw();
        tab.isClosed = true;
        tab.store.close();
      }),
      some((tab) => { if (random.chance(30)) tab.freeze(); }),
      some((tab) => tab.thaw()),
      some((tab) => tab.hide(random.chance(50))),
      () => random.pick(scene.servers).cut(),
      () => random.pick(scene.servers).spoil(random.pick(ids)),
      () => random.pick(scene.servers).refetch(random.pick(ids)),
    ];
    for (let step = 1; step <= 1500; step++) {
      random.pick(actions)();
      if (random.chance(50)) await scene.pass(random.chance(5) ? random.below(20_000) : random.below(50));
      if (step % 50 !== 0) continue;
      for (const tab of living()) {
        tab.thaw();
        tab.hide(false);
      }
      await scene.pass(150_000);
      for (const tab of living()) {
        for (const { feed: { id, window, view } } of shown.get(tab)) {
          const place = `step ${step}, tab ${tab.name}, ${id} ${JSON.stringify(window)}: ${JSON.stringify(view.standing)}`;
          const { sections } = homeOf(id).feeds.get(id);
          assert.deepEqual([view.standing.name, view.exists], ['live', sections !== undefined], place);
          assert.deepEqual(plain(view.sections), plain(slice(sections ?? [], window ?? {})), place);
        }
      }
      // Seldom a tab whose lead was taken still has its own stream.
      for (const { streamCount } of scene.servers) assert.ok(streamCount <= 2, `step ${step}: ${streamCount} streams`);
    }
    for (const tab of living()) {
      tab.isClosed = true;
      tab.store.close();
    }
    await scene.close();
  });
}
