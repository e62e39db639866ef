// The inspector's logic without a browser: the rows of a feed, the explanations of changesets, and the daemon's list of files.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import test from 'node:test';
import { explain } from '../../web/explain.js';
import { changesBetween, sectionNote, tokensOf, visible } from '../../web/format.js';
import { itemKey, Rows, Scroller, sectionKey, ShownSection } from '../../web/rows.js';
import { Random, seed } from '../../clients/js/test/support/random.mjs';

const configuration = readFileSync(new URL('../../config/feedstore.json5', import.meta.url), 'utf8');
// The thresholds by name, with their defaults.
const thresholds = Object.fromEntries([...configuration.match(/planner: \{.*?\}/s)[0].matchAll(/(\w+): ([\d.]+),/g)]
  .map(([, name, value]) => [name, Number(value)]));

test('rows have consistent positions', () => {
  const random = new Random(seed);
  for (let round = 0; round < 200; round++) {
    const sections = Array.from({ length: random.below(6) }, (_, s) => {
      const section = { id: `s${s}`, data: null };
      const items = Array.from({ length: random.below(7) }, (_, i) => ({ id: `${s}/${i}`, section: section.id }));
      section.items = items.slice(0, random.below(9));
      const from = random.below(7);
      return new ShownSection(section, items.length, { from, items: items.slice(from, from + random.below(4)) });
    });
    const keys = sections.flatMap((section) => [sectionKey(section.id), ...Array.from({ length: section.count }, (_, at) => {
      const { items } = section.section;
      const { from, items: more } = section.slice;
      const isThere = at < items.length || (at >= from && at < from + more.length);
      return isThere ? itemKey(`${section.id.slice(1)}/${at}`) : `p${at}/${section.id}`;
    })]);
    const extras = new Map(keys.filter(() => random.chance(20)).map((key) => [key, 1 + random.below(100)]));
    extras.set(itemKey('gone'), 50);
    const rows = new Rows(sections, 10, extras);
    assert.equal(rows.count, keys.length);
    let top = 0;
    for (const [index, key] of keys.entries()) {
      const row = rows.row(index);
      assert.equal(row.key, key);
      if (key[0] !== 'p') assert.equal(rows.indexOf(key), index);
      if (row.item) assert.equal(rows.indexOf(key, row.item), index);
      assert.equal(rows.indexAt(row.section.id, row.itemIndex), index);
      assert.equal(rows.top(index), top);
      const height = 10 + (key[0] === 'p' ? 0 : extras.get(key) ?? 0);
      for (const y of [top, top + height - 0.5]) assert.equal(rows.indexAtHeight(y), index);
      top += height;
    }
    assert.equal(rows.totalHeight, top);
    assert.equal(rows.indexAtHeight(-5), 0);
    assert.equal(rows.indexOf(itemKey('gone')), -1);
    assert.equal(rows.indexAt('gone', 0), -1);
  }
});

test('a list that is taller than an element can be is scrolled everywhere, and a little by pixels', () => {
  const random = new Random(seed);
  for (const height of [100, 5000, 7_999_999, 8_000_001, 34_000_000, 1e9]) {
    // Browsers round positions, and keep them within the content.
    const element = {
      clientHeight: 700, scrollHeight: 0, at: 0,
      get scrollTop() { return this.at; },
      set scrollTop(top) { this.at = Math.max(0, Math.min(this.scrollHeight - this.clientHeight, Math.round(top))); },
    };
    const scroller = new Scroller(element);
    element.scrollHeight = Math.max(700, scroller.contentHeight(height));
    assert.ok(element.scrollHeight <= 8e6);
    const greatest = Math.max(0, height - 700);
    const near = (top, what) => assert.ok(Math.abs(scroller.top - top) <= 1, `${what}: ${scroller.top}, expected ${top} of ${height}`);
    for (let step = 0; step < 2000; step++) {
      const before = scroller.top;
      const place = random.below(1 + greatest);
      const delta = random.below(1200) - 600;
      random.pick([
        () => {
          scroller.top = place;
          near(place, 'a position');
        },
        () => {
          element.scrollTop += delta;
          near(Math.max(0, Math.min(greatest, before + delta)), 'a little');
        },
        () => {
          for (let wheel = 0; wheel < 200; wheel++) {
            element.scrollTop += delta;
            void scroller.top;
          }
          const way = Math.abs(scroller.top - Math.max(0, Math.min(greatest, before + 200 * delta)));
          assert.ok(way <= 200, `${way} pixels off`);
        },
        () => {
          // With the scroll bar, to its ends too.
          const fraction = random.pick([0, 1, random.below(1000) / 1000]);
          element.scrollTop = fraction * (element.scrollHeight - 700);
          if (Math.abs(scroller.top - before) > 2000) assert.ok(Math.abs(scroller.top / greatest - fraction) < 0.01);
          if (fraction === 1) for (let wheel = 0; wheel < 5; wheel++) element.scrollTop += 600, void scroller.top;
          if (fraction === 1) near(greatest, 'the end');
        },
      ])();
    }
  }
});

test('every reason of the planner is explained, with and without its thresholds', () => {
  const none = { delete: 0, insert: 0, move: 0, reconfigure: 0, reload: 0 };
  const published = { mode: 'diff', sections: none, items: none, itemsBefore: 400, itemsAfter: 400, bytes: 2000 };
  const changed = { ...published, items: { ...none, move: 12, reconfigure: 300 } };
  assert.equal(explain(changed, thresholds), '12 changes in 400 items are 3.0 %; above 50 % it would be a reload.');
  assert.equal(explain({ ...changed, itemsBefore: 10, itemsAfter: 40 }, thresholds),
    '12 changes in 40 items: in a feed of fewer than 50 a difference may change any part.');
  assert.match(explain({ ...changed, itemsAfter: 20000 }, thresholds), /above 5,000 changes it would be a reload/);
  assert.equal(explain(changed, undefined), '12 changes in a feed of 400 items.');
  // The changeset's own figures take precedence over the current configuration.
  const plan = { ...thresholds, weight: 12, maxChangedFraction: 0.25, differenceBytes: 1900, reloadBytes: 24600 };
  assert.equal(explain({ ...changed, plan }, thresholds), '12 changes in 400 items are 3.0 %; above 25 % it would be a '
    + 'reload. 1.9 kB as a difference, 24.6 kB as a reload.');
  assert.equal(explain({ ...changed, plan: { ...plan, maxChangedFraction: 0.01 } }, thresholds),
    '12 changes in 400 items are 3.0 %; that is above 1.0 %, but a reload would have more than 3 times the bytes. '
    + '1.9 kB as a difference, 24.6 kB as a reload.');
  for (const wrong of [{}, null, { ...plan, reloadBytes: '1' }]) {
    assert.equal(explain({ ...changed, plan: wrong }, thresholds), explain(changed, thresholds));
  }
  const schema = new URL('../../docs/schemas/changeset.schema.json', import.meta.url);
  const reasons = JSON.parse(readFileSync(schema)).properties.reason.enum;
  const comparison = { inserted: 5, deleted: 0, kinds: 7 };
  const texts = reasons.map((reason) => explain({ ...published, mode: 'reload', reason, comparison }, thresholds));
  assert.equal(new Set(texts).size, reasons.length);
  for (const [at, reason] of reasons.entries()) {
    assert.doesNotMatch(texts[at] + explain({ ...published, mode: 'reload', reason }, undefined), /undefined|NaN|null/);
  }
  assert.equal(texts[reasons.indexOf('changes')], 'There were more changes than 5,000: 5 new, 7 of another kind, and what was moved.');
  assert.equal(texts[reasons.indexOf('kinds')], 'More than 50 % of the items changed their kind: 7 of 400 items.');
  assert.equal(texts[reasons.indexOf('bytes')], 'A difference would have been longer than 1.5 times this reload of 2.0 kB.');
  assert.equal(explain({ ...published, mode: 'reload', reason: 'of later versions' }, thresholds), 'Reason: of later versions.');
});

const textOf = (json, options) => tokensOf(json, { limit: 1000, ...options }).map((token) => token.text).join('');

test('data is shown up to the limit', () => {
  assert.equal(textOf('{"a":[1,null,"x\\"y"],"b":{},"c":[]}'), '{a: [1, null, "x\\"y"], b: {}, c: []}');
  assert.equal(textOf(JSON.stringify('x'.repeat(100)), { limit: 10 }), `"${'x'.repeat(9)} …`);
  const changed = changesBetween('{"a":1,"b":{"c":1},"d":3}', '{"a":1,"b":{"c":2},"d":3}');
  const parts = tokensOf('{"a":1,"b":{"c":2},"d":3}', { limit: 100, changed });
  assert.equal(parts.filter(({ isChanged }) => isChanged).map((token) => token.text).join(''), 'b: {c: 2}');
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  assert.ok(textOf(deep, { isPretty: true }).endsWith(' …'));
  const large = JSON.stringify(Array.from({ length: 1e6 }, (_, at) => at));
  assert.ok(tokensOf(large, { limit: 100 }).length < 150, 'what is not shown is not looked at');
});

test('on several lines, data of any shape is as JSON.stringify indents it', () => {
  const random = new Random(seed);
  const data = (depth) => random.pick([
    () => random.pick([null, true, 'a [b] {c}, "d": \\', '', -1.5]),
    () => (depth > 5 ? [] : Array.from({ length: random.below(4) }, () => data(depth + 1))),
    () => (depth > 5 ? {} : Object.fromEntries(Array.from({ length: random.below(4) }, (_, at) => [`[{":,${at}`, data(depth + 1)]))),
  ])();
  for (let round = 0; round < 500; round++) {
    const value = data(0);
    assert.equal(textOf(JSON.stringify(value), { isPretty: true, limit: 1e6 }), JSON.stringify(value, null, 2));
  }
});

test('data is shown as it is spelled', () => {
  for (const scalar of ['9007199254740993', '1e400', '1.0', '-0', '1E+2', '"caf\\u00e9\\/"', '"\\ud83d\\ude00"']) {
    assert.equal(textOf(scalar), scalar);
    assert.equal(textOf(`{"x":${scalar}}`), `{x: ${scalar}}`);
  }
  assert.equal(textOf('{"10":1,"9":2,"10":3,"__proto__":4}'), '{10: 1, 9: 2, 10: 3, __proto__: 4}');
  assert.equal(textOf('{"\\u0061":1}', { isPretty: true }), '{\n  "\\u0061": 1\n}');
});

test('changes of data are those of its spelling', () => {
  const changes = (before, after) => changesBetween(before, after).map(({ name, old, now }) => [name, old, now]);
  assert.deepEqual(changes('{"a":1}', '{"a":1}'), []);
  assert.deepEqual(changes(undefined, '{"a":1}'), []);
  assert.deepEqual(changes('{"a":1.0,"b":[1,{"c":-0}],"d":1}', '{"a":1,"b":[1,{"c":0}],"e":{}}'), [
    ['a', '1.0', '1'], ['b', '[1,{"c":-0}]', '[1,{"c":0}]'], ['d', '1', undefined], ['e', undefined, '{}'],
  ]);
  assert.deepEqual(changes('{"a":1,"a":2}', '{"a":3,"a":2}'), [['a', '1', '3']]);
  assert.deepEqual(changes('{"a":1,"a":2}', '{"a":1,"a":2,"a":3}'), [['a#3', undefined, '3']]);
  assert.deepEqual(changes('{"a":1,"b":2}', '{"b":2,"a":1}'), [['order', '["a", "b"]', '["b", "a"]']]);
  assert.deepEqual(changes('{"\\u0061":1}', '{"a":1}'), [['\\u0061', '1', undefined], ['a', undefined, '1']]);
  assert.deepEqual(changes('1e400', '1e500'), [['data', '1e400', '1e500']]);
  assert.deepEqual(changes('{}', '[]'), [['data', '{}', '[]']]);
});

test('a section says how many items it has and keeps, and by what it sorts them', () => {
  assert.equal(sectionNote({}, 2), '2 items');
  assert.equal(sectionNote({ keep: 1000 }, 1), '1 of 1,000 items');
  assert.equal(sectionNote({ order: [{ by: '/score', direction: 'descending' }, { by: '/name' }] }, 2), '2 items, by /score ↓, /name ↑');
  assert.equal(sectionNote({ order: [{ by: '' }], keep: 2 }, 2), '2 of 2 items, by data ↑');
});

test('control characters in ids are visible', () => {
  assert.equal(visible('a\n\u202e\u0000b'), 'a\\u000a\\u202e\\u0000b');
  assert.equal(visible('\u05e9 \u{1f469}\u200d\u{1f680} é'), '\u05e9 \u{1f469}\u200d\u{1f680} é');
});

test('the daemon has the files that the page loads, and no others', () => {
  const web = (name) => readFileSync(new URL(`../../web/${name}`, import.meta.url), 'utf8');
  const needed = new Set();
  const load = (name) => {
    if (needed.has(name)) return;
    needed.add(name);
    for (const [, path] of web(name).replace(/\/\*\*.*?\*\//gs, '').matchAll(/(?:from |import\()'(\..+?)'/g)) load(join(dirname(name), path));
  };
  load('inspector.js');
  const list = readFileSync(new URL('../../Sources/CInspector/files.c', import.meta.url), 'utf8');
  const embedded = [...list.matchAll(/#embed "..\/..\/web\/(.+?)"/g)].map(([, name]) => name);
  const names = [...list.slice(list.indexOf('names[]')).matchAll(/"(.+?)"/g)].map(([, name]) => name);
  assert.deepEqual(names, embedded);
  assert.deepEqual([...embedded].sort(), ['index.html', 'inspector.css', ...needed].sort());
  for (const name of names) assert.ok(!web(name).includes('\0'), name);
});
