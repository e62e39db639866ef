/**
 * The inspector: connects the parts of the page. The URL's fragment selects the feed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { Api } from './api.js';
import { FeedStore } from './client/index.js';
import { byId, setAttribute, setText } from './dom.js';
import { FeedList } from './feed-list.js';
import { FeedGrid } from './feed-grid.js';
import { age, count, counted, visible } from './format.js';
import { itemKey } from './rows.js';
import { ShownFeed } from './shown-feed.js';
import { Status } from './status.js';
import { noticeOf, Timeline, whyOf } from './timeline.js';

/** The minimum time between two announcements, in milliseconds. */
const announcementPause = 4000;
/** @typedef {import('./client/../types/index.js').Standing} Standing */

/** @type {ShownFeed | null} */
let shown = null;
/** @type {string | null} The fragment that selected it. */
let shownFragment = null;
let behindTimer = 0;
/** Whether there was a fault since it was last live. */
let isFaulty = false;
/** @type {Standing} */
let current = { name: 'connecting' };

const api = new Api({ onTokenNeeded: askForToken });
const store = new FeedStore(location.origin, {
  token: () => api.token,
  // Each visit begins with how much there is.
  keep: 0,
  // Other instances have pages of their own.
  fetch: (url, request) => (url.startsWith(`${location.origin}/`) ? fetch(url, request) : Promise.reject(new TypeError('another instance'))),
  onMessage: (follower, name, value, text) => shown?.receive(follower, name, value, text),
});
const status = new Status({ api });
const grid = new FeedGrid({ shown: () => shown, onLeave: leaveFeed });
const timeline = new Timeline({ thresholds: () => status.latest?.planner, onReveal: (marks) => {
  showPane('feed');
  grid.focus();
  grid.reveal(marks);
} });
const list = new FeedList({
  api, onEnter: enterFeed, onCount: (total) => setAttribute(document.body, 'data-has-feeds', total > 0),
});

// The selected feed.

/** @returns {{ feed: string | null, partition: number | null }} The partition only if others have the id, too. */
function feedOfFragment() {
  const found = /^#feed=(.+?)(?:&partition=([0-9]+))?$/.exec(location.hash);
  try {
    if (found !== null) return { feed: decodeURIComponent(found[1]), partition: found[2] ? Number(found[2]) : null };
  } catch {
    // Not an address of this page.
  }
  return { feed: null, partition: null };
}

// Connections. A page that is hidden gives its stream up, and resumes it when it is visible again.

function connect() {
  if (!document.hidden) shown?.open();
}

function showFeed() {
  const { feed, partition } = feedOfFragment();
  if (feed !== null && location.hash === shownFragment) return;
  shownFragment = location.hash;
  shown?.close();
  shown = null;
  announcer.reset();
  timeline.clear();
  hideNotice();
  byId('refusal').hidden = true;
  list.select(feed, partition);
  setAttribute(document.body, 'data-feed', feed);
  byId('welcome').hidden = feed !== null;
  byId('feed-content').hidden = feed === null;
  byId('timeline-pane').hidden = feed === null;
  document.title = feed === null ? 'FeedStore inspector' : `${visible(feed)} – FeedStore inspector`;
  if (feed === null) {
    showPane('feeds');
    return;
  }
  setText(byId('feed-title').firstElementChild, visible(feed));
  setAttribute(byId('feed-title'), 'title', feed);
  grid.clear(visible(feed));
  isFaulty = false;
  const made = new ShownFeed(feed, {
    store,
    partition,
    onStanding: (standing) => {
      if (shown === made) takeStanding(standing);
    },
    onEntry: (entry, marks) => {
      if (shown === made) takeEntry(entry, marks);
    },
    onRows: () => {
      if (shown !== made) return;
      grid.update();
      showFacts();
    },
    onEdit: () => {
      if (shown === made) grid.update();
    },
    onRefused: (id, problem) => {
      if (shown === made) showRefusal(id, problem);
    },
  });
  shown = made;
  showStanding({ name: 'connecting' });
  connect();
  showPane('feed');
}

/** @param {import('./followed-window.js').Entry} entry @param {Map<string, import('./followed-window.js').Mark>} marks */
function takeEntry(entry, marks) {
  timeline.add(entry, marks);
  if (entry.type === 'state') askWhetherWritable();
  if (entry.type === 'fault') return;
  const isFirst = entry.type === 'state' && !entry.isAnew;
  if (entry.mode === 'reload') {
    grid.reload({ isVisible: !isFirst });
    if (!isFirst) showNotice(entry);
  } else {
    grid.show(marks);
    // What it says is not what the rows show any more.
    hideNotice();
  }
  showFacts();
  announcer.add(entry, marks.size);
}

function showFacts() {
  if (shown === null) return;
  const { view: { sections, through: offsets, epoch, checksum, time }, revision, itemCount, isWhole } = shown;
  setText(byId('fact-revision'), revision === null ? '–' : count(revision));
  setText(byId('fact-sections'), revision === null ? '–' : count(sections.length));
  setText(byId('fact-items'), revision === null ? '–' : count(itemCount));
  setText(byId('fact-partition'), String(shown.partition ?? '–'));
  const through = Object.entries(offsets ?? {}).map(([topic, offset]) => `${topic} ${offset}`).join(', ');
  setText(byId('fact-through'), through || '–');
  setAttribute(byId('fact-through'), 'title', through && `Includes the input up to these offsets: ${through}`);
  setText(byId('fact-epoch'), epoch ?? '–');
  setText(byId('fact-checksum'), (isWhole && checksum) || '–');
  byId('coverage').hidden = isWhole;
  const { otherPartitions } = shown;
  const isCurrent = current.name === 'live' || (current.name === 'catching-up' && revision !== null);
  list.showOpen(revision === null ? null : {
    feed: shown.feed, revision, items: itemCount, time, standing: 'up-to-date',
    ...(otherPartitions.length > 0 && { partition: shown.partition, otherPartitions }),
  }, { isCurrent: isCurrent && isWhole });
  byId('also').hidden = otherPartitions.length === 0;
  setText(byId('also'), `⚠ the same id is in ${otherPartitions.length === 1 ? 'partition' : 'partitions'} `
    + `${otherPartitions.join(', ')}: another feed, by a mistake of its producers`);
  showAge();
  showPlaceholder();
}

function showAge() {
  const time = shown?.view.time ?? null;
  setText(byId('fact-age'), time === null ? '–' : age(Math.max(0, Date.now() - Date.parse(time))));
  setAttribute(byId('fact-age'), 'title', time);
}

function showPlaceholder() {
  if (shown === null) return;
  const { view: { exists, sections }, wasThere } = shown;
  if (exists) grid.setPlaceholder(sections.length === 0 ? 'This feed is empty: it has no sections.' : null);
  else if (current.reason === 'moved') grid.setPlaceholder('Another instance serves this feed.');
  else if (current.name !== 'live') grid.setPlaceholder('Waiting for the feed …');
  else if (wasThere) grid.setPlaceholder('This feed no longer exists. It appears here if it is created again.');
  else grid.setPlaceholder('This instance has no such feed. It appears here when it is created.');
}

// The standing.

/** @param {Standing} standing */
function takeStanding(standing) {
  clearTimeout(behindTimer);
  // Usually the server reports up to date immediately afterwards.
  if (standing.name === 'catching-up' && current.name === 'live') behindTimer = window.setTimeout(() => showStanding(standing), 400);
  else showStanding(standing);
}

/** @param {Standing} standing */
function showStanding(standing) {
  const word = standing.reason ?? standing.name;
  const isOther = word !== (current.reason ?? current.name);
  current = standing;
  setAttribute(byId('standing'), 'data-standing', word);
  setText(byId('standing-text'), word.replaceAll('-', ' '));
  setAttribute(document.body, 'data-standing', word);
  showStandingDetail();
  showFacts();
  const isFault = standing.name === 'stale';
  if (isOther && isFault) announcer.say(word.replaceAll('-', ' '));
  else if (word === 'live' && isFaulty) announcer.say('live again');
  isFaulty = isFault || (isFaulty && word !== 'live');
}

function showStandingDetail() {
  const { reason, detail, until } = current;
  const seconds = until === undefined ? 0 : Math.ceil((until - Date.now()) / 1000);
  const again = seconds > 1 ? `retrying in ${seconds} s` : '';
  const text = reason === 'moved' ? 'the partition of this feed was assigned to another instance' : detail;
  setText(byId('standing-detail'), [text, again].filter(Boolean).join(', '));
  const link = byId('standing-link');
  const url = reason === 'moved' ? otherInstance(detail?.split(' ')[0]) : null;
  link.hidden = url === null;
  setAttribute(link, 'href', url);
}

/**
 * The inspector of another instance, if the URL is valid.
 * @param {string | undefined} url
 */
function otherInstance(url) {
  if (url === undefined) return null;
  try {
    const parsed = new URL('/', url);
    if (!['http:', 'https:'].includes(parsed.protocol)) return null;
    parsed.hash = location.hash;
    return parsed.href;
  } catch {
    return null;
  }
}

// A reload is also announced in words above the rows.

/** @param {import('./followed-window.js').Entry} entry */
function showNotice(entry) {
  byId('notice').hidden = false;
  setText(byId('notice-title'), noticeOf(entry));
  setText(byId('notice-text'), whyOf(entry, status.latest?.planner));
}

function hideNotice() { byId('notice').hidden = true; }

// Changes by the user.

async function askWhetherWritable() {
  const made = shown;
  // A record goes to one partition, which may be that of the other feed.
  if (made === null) return;
  if (made.otherPartitions.length > 0) {
    made.edits.isAllowed = false;
    return;
  }
  made.edits.isAllowed = await api.isWritable(made.feed);
  if (shown === made) grid.update();
}

/** Where it happened, or above the rows if the item is gone. @param {string} id @param {{ code: string, text: string }} problem */
function showRefusal(id, { code, text }) {
  if (shown?.item(id) !== undefined) {
    grid.open(itemKey(id));
    return;
  }
  byId('refusal').hidden = false;
  setText(byId('refusal-title'), `The change of ${visible(id)} was refused`);
  setText(byId('refusal-text'), `${code}: ${text}`);
}

// Announcements for assistive technology, at limited intervals.

const announcer = {
  changes: 0,
  /** @type {string | null} */
  special: null,
  last: -Infinity,
  timer: 0,

  reset() {
    clearTimeout(this.timer);
    this.timer = this.changes = 0;
    this.special = null;
  },

  /** @param {import('./followed-window.js').Entry} entry @param {number} changes */
  add(entry, changes) {
    this.changes += changes + entry.items.delete + entry.sections.delete;
    if (entry.mode === 'delete') this.special = 'deleted';
    else if (entry.mode === 'reload') this.special = entry.type === 'state' ? 'shown' : 'reloaded';
    this.plan();
  },

  /** @param {string} text */
  say(text) {
    this.special = text;
    this.plan();
  },

  plan() {
    if (this.timer !== 0) return;
    const wait = Math.max(300, this.last + announcementPause - performance.now());
    this.timer = window.setTimeout(() => this.announce(), wait);
  },

  announce() {
    this.timer = 0;
    this.last = performance.now();
    if (shown === null) return;
    const { feed, revision } = shown;
    const what = revision === null ? 'does not exist' : `revision ${count(revision)}`;
    const changes = counted(this.changes, 'change');
    const parts = this.changes > 0 ? [this.special, changes, what] : [this.special, what];
    const text = this.special === null ? `${changes} in ${visible(feed)}, ${what}`
      : `${visible(feed)}: ${parts.join(', ')}`;
    this.changes = 0;
    this.special = null;
    setText(byId('announcements'), text);
  },
};

// Panes: all at once if there is room, one at a time on a phone.

/** @param {'feeds' | 'feed' | 'timeline' | 'instance'} pane */
function showPane(pane) {
  setAttribute(document.body, 'data-pane', pane);
  for (const button of document.querySelectorAll('[data-show]')) {
    setAttribute(button, 'aria-pressed', String(button.getAttribute('data-show') === pane));
  }
}

function enterFeed() {
  showPane('feed');
  grid.focus();
}

function leaveFeed() {
  showPane('feeds');
  list.focus();
}

// The token.

/** @param {boolean} wasRefused */
function askForToken(wasRefused) {
  const dialog = byId('token-dialog');
  if (wasRefused) byId('token-refused').hidden = false;
  byId('forget-token').hidden = true;
  if (!dialog.open) dialog.showModal();
}

function beginAgain() {
  byId('forget-token').hidden = api.token === null;
  store.setToken(api.token);
  list.refresh();
  status.refresh();
}

byId('token-form').addEventListener('submit', (/** @type {Event} */ event) => {
  event.preventDefault();
  const input = byId('token');
  const token = input.value.trim();
  if (token === '') return;
  input.value = '';
  api.token = token;
  byId('token-refused').hidden = true;
  byId('token-dialog').close();
  beginAgain();
});
// Without a token there is nothing to show.
byId('token-dialog').addEventListener('cancel', (/** @type {Event} */ event) => event.preventDefault());
byId('forget-token').addEventListener('click', () => {
  api.token = null;
  location.reload();
});

// The page.

document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
  const isModal = document.querySelector('dialog[open]') !== null;
  if (isTyping || isModal || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === '/') {
    showPane('feeds');
    list.focusSearch();
    event.preventDefault();
  } else if (event.key === '?') {
    byId('help-dialog').showModal();
    event.preventDefault();
  }
});
for (const button of document.querySelectorAll('[data-show]')) {
  button.addEventListener('click', () => showPane(/** @type {any} */ (button.getAttribute('data-show'))));
}
for (const button of document.querySelectorAll('[data-close]')) {
  button.addEventListener('click', () => button.closest('dialog')?.close());
}
byId('skip').addEventListener('click', () => (shown === null ? list.focus() : enterFeed()));
byId('help-button').addEventListener('click', () => byId('help-dialog').showModal());
byId('dismiss-notice').addEventListener('click', hideNotice);
byId('dismiss-refusal').addEventListener('click', () => { byId('refusal').hidden = true; });
addEventListener('hashchange', showFeed);
// A hidden page follows nothing, and neither does one in the back/forward cache.
document.addEventListener('visibilitychange', () => (document.hidden ? shown?.close() : connect()));
addEventListener('pagehide', () => shown?.close());
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) connect();
});
setInterval(() => {
  if (document.hidden) return;
  showStandingDetail();
  showAge();
  list.showAges();
}, 1000);

byId('forget-token').hidden = api.token === null;
showFeed();
list.refresh();
status.refresh();
