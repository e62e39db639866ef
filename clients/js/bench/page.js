/** Measures frames while a list of 50 rows changes, and reloads. The result goes to the server. */
import { FeedStore } from 'feedstore';
import { FeedStoreProvider, useWindow } from 'feedstore/react';
import { createElement as h, memo } from 'react';
import { createRoot } from 'react-dom/client';

import { measureReloads } from './reload.js';

const parameters = new URLSearchParams(location.search);
const [milliseconds, secondsBefore] = [1000 * parameters.get('seconds'), Number(parameters.get('before'))];
let cellsRendered = 0;
let view;

const Row = memo(({ item }) => {
  cellsRendered += 1;
  return h('div', { className: 'player' }, h('span', { className: 'name' }, item.data.name), h('span', { className: 'score' }, item.data.score));
});

function List() {
  const shown = useWindow('bench', { section: 'all', from: 0, count: 50, margin: 0 });
  ({ view } = shown);
  return h('ol', null, shown.rows.map(({ index, item }) => (
    item && h('li', { key: item.id, className: 'place', style: { height: 14, transform: `translateY(${index * 14}px)` } }, h(Row, { item })))));
}

/** The times between frames. A frame is dropped if the next one comes half a frame late. */
function frames() {
  return new Promise((resolve) => {
    const gaps = [];
    let last;
    const start = performance.now();
    const take = (now) => {
      if (last !== undefined) gaps.push(now - last);
      last = now;
      if (now - start < milliseconds) requestAnimationFrame(take);
      else {
        const usual = [...gaps].sort((a, b) => a - b)[gaps.length >> 1];
        resolve({ frames: gaps.length, usual, longest: Math.max(...gaps), dropped: gaps.filter((gap) => gap > 1.5 * usual).length });
      }
    };
    requestAnimationFrame(take);
  });
}

const settled = async (condition) => { while (!condition()) await new Promise((resolve) => { setTimeout(resolve, 10); }); };

async function underLoad(changesets, changes) {
  const root = createRoot(document.body.appendChild(document.createElement('main')));
  const store = new FeedStore(location.origin, { share: false });
  root.render(h(FeedStoreProvider, { store }, h(List)));
  await settled(() => view?.sections.length);
  await fetch(`/load?changesets=${changesets}&changes=${changes}`, { method: 'POST' });
  await settled(() => view.revision > secondsBefore * changesets);
  const before = { revision: view.revision, cellsRendered };
  const found = await frames();
  const result = { changesets, changes, ...found, applied: (view.revision - before.revision) * changes, cells: cellsRendered - before.cellsRendered };
  store.close();
  root.unmount();
  view = undefined;
  return result;
}

const loads = [];
const idle = await frames();
for (const [changesets, changes] of [[100, 50], [5000, 1]]) loads.push(await underLoad(changesets, changes));
const result = { idle, loads, reload: await measureReloads(15_000) };
document.body.append(JSON.stringify(result));
await fetch('/result', { method: 'POST', body: JSON.stringify(result) });
