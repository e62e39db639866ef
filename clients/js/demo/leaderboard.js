// A leaderboard of many players: of the list, the browser has what is on the screen and a margin.

import { FeedStore } from 'feedstore';
import { FeedStoreProvider, useWindow, useWrite } from 'feedstore/react';
import { createElement as h, memo, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';

const feed = 'players';
const rowHeight = 56;
/** Rows above and below the screen, so that players come and go outside of it. */
const overscan = 6;
const isStill = matchMedia('(prefers-reduced-motion: reduce)');

// Animations are begun by scripts, because those of style sheets begin again when React puts an element in another place.

/** The points that were just won, for a moment. */
function Won({ score }) {
  const element = useRef(null);
  const before = useRef(score);
  useLayoutEffect(() => {
    const points = score - before.current;
    before.current = score;
    if (points <= 0) return;
    element.current.textContent = `+${points}`;
    element.current.animate({ opacity: [0, 1, 1, 0] }, 1500);
  }, [score]);
  return h('span', { ref: element, className: 'won', 'aria-hidden': true });
}

/** A player's cell: rendered when the player has changed, and not when it moves or another one changes. */
const Player = memo(({ item, write }) => {
  const { name, score, starred = false } = item.data;
  return h('div', { className: 'player' },
    h('span', { className: 'portrait', style: { '--hue': (Number(item.id.slice(1)) * 47) % 360 }, 'aria-hidden': true }, name[0]),
    h('span', { className: 'name' }, name),
    h('span', { className: 'score' }, score.toLocaleString(), h(Won, { score })),
    h('button', {
      className: 'star',
      'aria-label': `Star ${name}`,
      'aria-pressed': starred,
      'data-pending': item.isPending || undefined,
      onClick: () => write({ op: 'item.patch', item: item.id, data: { starred: !starred } }),
    }, h('svg', { viewBox: '0 0 24 24', 'aria-hidden': true }, h('path', { d: 'm12 2 3.100 6.600 7 .9-5.200 5 1.300 7.100L12 18.200l-6.200 3.400 1.300-7.100-5.200-5 7-.9z' }))));
});

/** A place in the list. A player who gets another one glides there, also if that happens again on the way. */
function Place({ index, of, children }) {
  const element = useRef(null);
  const before = useRef(null);
  useLayoutEffect(() => {
    const rows = Math.max(-20, Math.min(20, (before.current ?? index) - index));
    if (before.current === null) element.current.animate({ opacity: [0, 1] }, 250);
    before.current = index;
    if (rows === 0 || isStill.matches) return;
    // Who rises passes above the others.
    const keyframes = { transform: [`translateY(${rows * rowHeight}px)`, 'translateY(0)'], zIndex: rows > 0 ? [1, 1] : [0, 0] };
    element.current.animate(keyframes, { duration: 500, easing: 'cubic-bezier(.2, .8, .2, 1)', composite: 'add' });
  }, [index]);
  const attributes = { className: 'place', style: { transform: `translateY(${index * rowHeight}px)` } };
  return h('li', { ref: element, 'aria-posinset': index + 1, 'aria-setsize': of, ...attributes },
    h('span', { className: 'rank' }, (index + 1).toLocaleString()), children);
}

/** The rows that are on the screen of a scrolled element. */
function useScrolled(element) {
  const [shown, setShown] = useState({ from: 0, count: 2 * overscan + 20 });
  useEffect(() => {
    const measure = () => {
      const { scrollTop, clientHeight } = element.current;
      const from = Math.max(0, Math.floor(scrollTop / rowHeight) - overscan);
      const count = Math.ceil(clientHeight / rowHeight) + 1 + 2 * overscan;
      setShown((before) => (before.from === from && before.count === count ? before : { from, count }));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element.current);
    element.current.addEventListener('scroll', measure, { passive: true });
    const scrolled = element.current;
    return () => {
      observer.disconnect();
      scrolled.removeEventListener('scroll', measure);
    };
  }, [element]);
  return shown;
}

/** The state of the connection in a few words for people. */
const said = ({ standing: { name, reason, until }, exists }) => {
  if (name === 'live') return exists ? 'Live' : 'Waiting for the players';
  if (name !== 'stale') return 'Connecting';
  if (reason !== 'disconnected') return 'Not up to date';
  return until === undefined ? 'Offline' : `Offline, next try at ${new Date(until).toLocaleTimeString()}`;
};

/** An error in a person's words; those of the client are for developers. */
const wordsOf = ({ name, code }) => {
  if (code === 'forbidden' || code === 'token-needed') return 'You may not star players.';
  return `The star was not saved. ${name === 'WriteRejected' ? 'The player may be gone.' : 'Try again when you are online.'}`;
};

function Leaderboard() {
  const scroller = useRef(null);
  const { rows, of, view } = useWindow(feed, { section: 'all', ...useScrolled(scroller) });
  const { write, error, dismiss } = useWrite(feed);
  const goTo = (event) => {
    event.preventDefault();
    scroller.current.scrollTop = (event.target.elements.place.valueAsNumber - 1) * rowHeight;
  };
  return h('main', null,
    h('header', null,
      h('h1', null, 'Leaderboard'),
      h('p', null, view.exists && `${of.toLocaleString()} players`),
      h('form', { onSubmit: goTo },
        h('label', null, 'Go to place ', h('input', { name: 'place', type: 'number', min: 1, max: Math.max(1, of), required: true })),
        h('button', null, 'Go')),
      h('p', { className: 'standing', role: 'status', 'data-standing': view.standing.name }, said(view))),
    h('div', { className: 'scroller', ref: scroller, tabIndex: 0, role: 'region', 'aria-label': 'Players' },
      !view.exists && h('p', { className: 'empty' }, view.standing.name === 'live' ? 'There are no players yet.' : 'Loading the players…'),
      h('ol', { style: { height: of * rowHeight } }, rows.map(({ index, item }) => (
        h(Place, { key: item?.id ?? index, index, of }, item ? h(Player, { item, write }) : h('span', { className: 'missing' }, 'Loading…')))))),
    error && h('div', { className: 'error', role: 'alert' }, wordsOf(error), h('button', { onClick: dismiss }, 'Close')));
}

const daemon = new URLSearchParams(location.search).get('daemon') ?? 'http://127.0.0.1:8321';
createRoot(document.body).render(h(FeedStoreProvider, { store: new FeedStore(daemon) }, h(Leaderboard)));
