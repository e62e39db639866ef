/** Components that count how often they are rendered. Tests drive them through `app`. */
import { FeedStore } from 'feedstore';
import { FeedStoreProvider, useFeed, useItem, useSuspenseFeed, useWindow, useWrite } from 'feedstore/react';
import { Component, createElement as h, memo, startTransition, StrictMode, Suspense, useLayoutEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

import { FakeStore, viewOf } from './fake-store.js';

/** `renders` has numbers by the id of the item or section, `commits` what was in the document after each. */
const app = { FakeStore, FeedStore, viewOf, startTransition, renders: {}, commits: [], writeFunctions: new Set() };

const counted = (id) => { app.renders[id] = (app.renders[id] ?? 0) + 1; };

const Cell = memo(({ item }) => {
  counted(item.id);
  app.whileRendering?.(item);
  const { id, kind, data } = item;
  return h('li', { 'data-item': id, 'data-pending': item.isPending, 'data-content': JSON.stringify({ id, kind, data }) }, JSON.stringify(data));
});

const Section = memo(({ section }) => {
  counted(section.id);
  const { id, data } = section;
  return h('ul', { 'data-section': id, 'data-content': JSON.stringify({ id, data }) }, section.items.map((item) => h(Cell, { key: item.id, item })));
});

app.Feed = ({ feed = 'f', window }) => {
  const view = useFeed(feed, window);
  useLayoutEffect(() => { app.commits.push(document.getElementById('root').textContent); });
  return h('div', { className: 'feed', 'data-revision': view.revision, 'data-standing': view.standing.name },
    view.sections.map((section) => h(Section, { key: section.id, section })));
};

app.Rows = ({ feed = 'f', ...shown }) => {
  const { rows, of } = useWindow(feed, shown);
  return h('ol', { 'data-of': of }, rows.map(({ index, item }) => (
    item ? h(Cell, { key: item.id, item }) : h('li', { key: index, className: 'missing' })
  )));
};

app.Item = ({ feed = 'f', item, ...options }) => {
  const { data, error } = useItem(feed, item, null, options) ?? {};
  counted(`only ${item}`);
  return h('p', null, error?.message ?? JSON.stringify(data));
};

app.Boundary = class Boundary extends Component {
  state = {};
  static getDerivedStateFromError(error) { return { error }; }
  render() { return this.state.error?.message ?? this.props.children; }
};

const Suspending = ({ feed, window }) => {
  const view = useSuspenseFeed(feed, window);
  return `${view.standing.name} ${view.sections.length}`;
};

app.Suspended = ({ feed = 'f', window }) => (
  h(app.Boundary, null, h(Suspense, { fallback: 'loading' }, h(Suspending, { feed, window })))
);

app.Star = ({ feed = 'f', item }) => {
  const { write, isPending, error, dismiss } = useWrite(feed);
  app.writeFunctions.add(write);
  app.write = write;
  return h('div', null,
    h('button', { id: 'star', onClick: () => write({ op: 'item.patch', item, data: { starred: true } }) }),
    h('button', { id: 'dismiss', onClick: dismiss }),
    h('output', null, error ? `${error.name} ${error.code}` : isPending ? 'pending' : ''));
};

/** Several of them under one root; `set` changes their properties. */
app.show = (store, components, isStrict = false) => {
  const App = ({ components }) => {
    const [shown, set] = useState(components);
    app.set = set;
    return h(FeedStoreProvider, { store }, shown.map(([type, properties], at) => h(type, { key: at, ...properties })));
  };
  app.store = store;
  app.root = createRoot(document.getElementById('root'));
  app.root.render(isStrict ? h(StrictMode, null, h(App, { components })) : h(App, { components }));
};

app.frame = () => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); });

window.app = app;
