// Views that are kept, given and checked.

import assert from 'node:assert/strict';
import test from 'node:test';
import { idsOf, Scene, sectionsOf } from './support/scene.mjs';

test('a view is kept for a while after its last listener has left, and the stream does not follow it meanwhile', async () => {
  const scene = new Scene();
  const feed = scene.store.feed('f');
  const first = scene.listen(feed);
  await scene.pass();
  const { sections } = feed.view;
  first.end();
  await scene.pass(29_000);
  assert.equal(scene.server.streamCount, 0);
  const { view } = scene.store.feed('f');
  assert.deepEqual([view.sections === sections, view.standing.name], [true, 'stale']);
  void scene.asked;
  const second = scene.listen(scene.store.feed('f'));
  await scene.pass();
  assert.deepEqual(scene.asked.map(([, { feeds }]) => [feeds[0].epoch, feeds[0].revision]), [['t/0', 1]]);
  assert.deepEqual([second.feed.view.sections === sections, second.feed.view.standing.name], [true, 'live']);
  second.end();
  await scene.pass(30_100);
  assert.equal(scene.store.feed('f').view.exists, false);
  assert.equal(scene.clock.timerCount, 0);
  await scene.close();
});

test('a thousand listeners that come and go leave no stream and no timer', async () => {
  const scene = new Scene({ keep: 5 });
  for (let n = 0; n < 1000; n++) {
    const { end } = scene.listen(scene.store.feed('f', { first: 1 + n % 7 }));
    if (n % 3 === 0) await scene.clock.advance(n % 9);
    end();
  }
  await scene.pass();
  assert.deepEqual([scene.server.streamCount, scene.clock.timerCount], [0, 0]);
  scene.listen(scene.store.feed('f', { first: 1 })).end();
  // The store ends before that of the view.
  await scene.close();
});

for (const window of [null, { first: 2 }, { sections: ['s1'], from: 1, count: 1 }]) {
  test(`a view as JSON is shown at once elsewhere, and continues from its version: ${JSON.stringify(window)}`, async () => {
    const scene = new Scene();
    scene.server.onWrite = () => new Promise(() => {});
    const feed = scene.store.feed('f', window);
    scene.listen(feed);
    await scene.pass();
    feed.write({ op: 'item.delete', item: '1/1' }).catch(() => {});
    assert.equal(feed.view.isPending, true);
    const initial = JSON.stringify(feed.view);
    const other = new Scene();
    for (const given of [initial, JSON.parse(initial)]) {
      const { view } = other.store.feed('f', window, { initial: given });
      assert.deepEqual([view.standing.name, view.exists, view.isPending, view.revision], ['stale', true, false, 1]);
      assert.deepEqual(view.sections.map(({ from, of }) => [from, of]), feed.view.sections.map(({ from, of }) => [from, of + Number(of === 1)]));
    }
    const { feed: { view } } = other.listen(other.store.feed('f', window, { initial }));
    other.server.publish('f', sectionsOf(3, 4));
    await other.pass();
    assert.deepEqual(other.asked.map(([, { feeds }]) => feeds[0].revision), [1]);
    const now = other.store.feed('f', window).view;
    assert.equal(now.standing.name, 'live');
    assert.deepEqual(now.item('1/1'), view.item('1/1'));
    await scene.pass();
    await scene.close();
    await other.close();
  });
}

test('data is checked once for each new data, and an error is that of its item', async () => {
  const scene = new Scene();
  const seen = [];
  const parse = (data) => {
    seen.push(data.n);
    if (data.n === 1) throw new RangeError('not 1');
    return { number: data.n };
  };
  const feed = scene.store.feed('f', null, { parse });
  const { updates } = scene.listen(feed);
  await scene.pass();
  const { view } = feed;
  assert.deepEqual(view.sections.map(({ items }) => items.map(({ data, error }) => [data, error?.message])), [
    [[{ number: 0 }, undefined], [{ n: 1 }, 'not 1'], [{ number: 2 }, undefined]], [[{ number: 0 }, undefined], [{ n: 1 }, 'not 1']],
  ]);
  assert.deepEqual(seen, [0, 1, 2, 0, 1]);
  assert.deepEqual([view.item('0/2'), updates.at(-1).view], [view.section('s0').items[2], view]);
  // Another feed with the same function shares the elements, one without has the data as it is.
  assert.equal(scene.store.feed('f', null, { parse }).view.item('0/2'), view.item('0/2'));
  assert.deepEqual(scene.store.feed('f').view.item('0/2').data, { n: 2 });
  scene.server.change(([section, { items }]) => {
    items.push(section.items.pop());
    section.items[0].data = { n: 7 };
  });
  await scene.pass();
  assert.deepEqual([idsOf(feed.view), feed.view.item('0/2').data === view.item('0/2').data], [['0/0', '0/1', '1/0', '1/1', '0/2'], true]);
  assert.equal(feed.view.item('1/0'), view.item('1/0'));
  assert.deepEqual(seen.splice(5), [7]);
  await scene.close();
});

test('in development a program that changes what a view holds gets an error', async () => {
  const scene = new Scene();
  const { feed } = scene.listen(scene.store.feed('f'));
  await scene.pass();
  const { view, view: { sections: [section] } } = feed;
  for (const change of [
    () => { view.revision = 9; },
    () => view.sections.push(section),
    () => section.items.pop(),
    () => { section.data.title = 'x'; },
    () => { section.items[0].kind = 'x'; },
    () => { view.item('0/1').data.n = 9; },
  ]) assert.throws(change, TypeError);
  await scene.close();
});
