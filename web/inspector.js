/**
 * The inspector: connects the parts of the page. The URL's fragment selects the feed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { Api } from './api.js';
import { byId, setAttribute, setText } from './dom.js';
import { FeedList } from './feed-list.js';
import { FeedView } from './feed-view.js';
import { age, count, counted, visible } from './format.js';
import { itemKey } from './rows.js';
import { ShownFeed } from './shown-feed.js';
import { Status } from './status.js';
import { noticeOf, Timeline, whyOf } from './timeline.js';

/** The minimum time between two announcements, in milliseconds. */
const announcementPause = 4000;
/** How long a page waits for a place before it says so, in milliseconds. */
const patience = 500;
/** The streams that the pages of one browser share: it opens six connections to a server, and requests need some. */
const placeCount = 4;
const noPlaceText = `other visible pages of this inspector have ${placeCount} streams, and browsers open only six connections to a `
  + 'server; it continues when one of them is closed or hidden';

const standingTexts = {
  waiting: 'waiting for a connection', connecting: 'connecting', reconnecting: 'reconnecting', live: 'live', behind: 'behind',
  'must-refetch': 'must refetch', moved: 'moved', unknown: 'no such feed', unavailable: 'unavailable',
  'token-needed': 'token needed',
};

/**
 * @typedef {import('./feed-follower.js').Standing} Standing
 * @typedef {{ until?: number, text?: string, url?: string }} StandingDetail
 */

/** @type {ShownFeed | null} */
let shown = null;
/** @type {string | null} The fragment that selected it. */
let shownFragment = null;
/** @type {ReturnType<typeof requestPlace> | null} */
let place = null;
let placeTimer = 0;
let behindTimer = 0;
/** Whether there was a fault since it was last live. */
let isFaulty = false;
/** @type {{ standing: Standing, detail: StandingDetail } | null} */
let current = null;

const api = new Api({ onTokenNeeded: askForToken });
const status = new Status({ api });
const view = new FeedView({ shown: () => shown, onLeave: leaveFeed });
const timeline = new Timeline({ thresholds: () => status.latest?.planner, onReveal: (marks) => {
  showPane('feed');
  view.focus();
  view.reveal(marks);
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

/** Asks for one of the places that all pages of the browser share. */
function requestPlace() {
  const abort = new AbortController();
  let isGranted = false;
  let release = () => {};
  const held = new Promise((resolve) => { release = () => resolve(undefined); });
  const granted = new Promise((resolve) => {
    const take = async () => {
      if (isGranted) return;
      isGranted = true;
      resolve(undefined);
      await held;
    };
    // Browsers have locks only for HTTPS and for addresses of the same machine.
    if (navigator.locks === undefined) take();
    else for (let number = 0; number < placeCount; number++) {
      navigator.locks.request(`feedstore.stream.${number}`, { signal: abort.signal }, take).catch(() => {});
    }
  });
  return {
    granted,
    get isGranted() { return isGranted; },
    giveUp: () => {
      release();
      abort.abort();
    },
  };
}

async function connect() {
  if (shown === null || document.hidden) return;
  if (place === null) {
    const requested = place = requestPlace();
    placeTimer = window.setTimeout(() => takeStanding('waiting', { text: noPlaceText }), patience);
    await requested.granted;
    if (place !== requested) return;
    clearTimeout(placeTimer);
  }
  if (place.isGranted) shown?.open();
}

function disconnect() {
  shown?.close();
  clearTimeout(placeTimer);
  place?.giveUp();
  place = null;
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
    disconnect();
    showPane('feeds');
    return;
  }
  setText(byId('feed-title').firstElementChild, visible(feed));
  setAttribute(byId('feed-title'), 'title', feed);
  view.clear(visible(feed));
  current = null;
  isFaulty = false;
  const made = new ShownFeed(feed, {
    partition,
    api,
    requestPlace,
    onStanding: (standing, detail) => {
      if (shown === made) takeStanding(standing, detail);
    },
    onEntry: (entry, marks) => {
      if (shown === made) takeEntry(entry, marks);
    },
    onRows: () => {
      if (shown !== made) return;
      made.edits.settle();
      view.update();
      showFacts();
    },
    onEdit: () => {
      if (shown === made) view.update();
    },
    onRefused: (id, problem) => {
      if (shown === made) showRefusal(id, problem);
    },
  });
  shown = made;
  takeStanding(place !== null && !place.isGranted ? 'waiting' : 'connecting', { text: place?.isGranted === false ? noPlaceText : '' });
  connect();
  showPane('feed');
}

/** @param {import('./feed-follower.js').Entry} entry @param {Map<string, import('./feed-follower.js').Mark>} marks */
function takeEntry(entry, marks) {
  timeline.add(entry, marks);
  shown?.edits.settle();
  if (entry.type === 'state') askWhetherWritable();
  if (entry.type === 'fault' || entry.type === 'keyframe') return;
  const isFirst = entry.type === 'state' && !entry.isAnew;
  if (entry.mode === 'reload') {
    view.reload({ isVisible: !isFirst });
    if (!isFirst) showNotice(entry);
  } else {
    view.show(marks);
    // What it says is not what the rows show any more.
    hideNotice();
  }
  showFacts();
  announcer.add(entry, marks.size);
}

function showFacts() {
  if (shown === null) return;
  const { replica, revision, itemCount, isWhole } = shown;
  const { sections } = replica;
  setText(byId('fact-revision'), revision === null ? '–' : count(revision));
  setText(byId('fact-sections'), revision === null ? '–' : count(sections.length));
  setText(byId('fact-items'), revision === null ? '–' : count(itemCount));
  setText(byId('fact-partition'), String(shown.partition ?? '–'));
  const through = Object.entries(replica.through ?? {}).map(([topic, offset]) => `${topic} ${offset}`).join(', ');
  setText(byId('fact-through'), through || '–');
  setAttribute(byId('fact-through'), 'title', through && `Includes the input up to these offsets: ${through}`);
  setText(byId('fact-epoch'), replica.epoch ?? '–');
  setText(byId('fact-checksum'), (isWhole && replica.checksum) || '–');
  byId('coverage').hidden = isWhole;
  const { otherPartitions } = shown;
  const isCurrent = current !== null && ['live', 'behind'].includes(current.standing);
  list.showOpen(revision === null ? null : {
    feed: shown.feed, revision, items: itemCount, time: replica.time, standing: 'up-to-date',
    ...(otherPartitions.length > 0 && { partition: shown.partition, otherPartitions }),
  }, { isCurrent: isCurrent && isWhole });
  byId('also').hidden = otherPartitions.length === 0;
  setText(byId('also'), `⚠ the same id is in ${otherPartitions.length === 1 ? 'partition' : 'partitions'} `
    + `${otherPartitions.join(', ')}: another feed, by a mistake of its producers`);
  showAge();
  showPlaceholder();
}

function showAge() {
  const time = shown?.replica.time ?? null;
  setText(byId('fact-age'), time === null ? '–' : age(Math.max(0, Date.now() - Date.parse(time))));
  setAttribute(byId('fact-age'), 'title', time);
}

/** @type {Record<string, string>} */
const placeholders = {
  deleted: 'This feed no longer exists. It appears here if it is created again.',
  unknown: 'This instance has no such feed. It appears here when it is created.',
  moved: 'Another instance serves this feed.',
};

function showPlaceholder() {
  if (shown === null || current === null) return;
  const { replica } = shown;
  if (replica.revision === null) {
    const { standing } = current;
    const isDeleted = standing === 'live' || standing === 'behind';
    view.setPlaceholder(isDeleted ? placeholders.deleted : placeholders[standing] ?? 'Waiting for the feed …');
  } else {
    view.setPlaceholder(replica.sections.length === 0 ? 'This feed is empty: it has no sections.' : null);
  }
}

// The state of following.

/** @param {Standing} standing @param {StandingDetail} detail */
function takeStanding(standing, detail) {
  clearTimeout(behindTimer);
  if (standing === 'behind' && current?.standing === 'live') {
    // Usually the server reports up to date immediately afterwards.
    behindTimer = window.setTimeout(() => showStanding('behind', detail), 400);
    return;
  }
  showStanding(standing, detail);
}

/** @param {Standing} standing @param {StandingDetail} detail */
function showStanding(standing, detail) {
  const isOther = current?.standing !== standing;
  current = { standing, detail };
  setAttribute(byId('standing'), 'data-standing', standing);
  setText(byId('standing-text'), standingTexts[standing]);
  setAttribute(document.body, 'data-standing', standing);
  showStandingDetail();
  showFacts();
  const isFault = ['reconnecting', 'must-refetch', 'moved', 'unknown', 'unavailable'].includes(standing);
  if (isOther && isFault) announcer.say(standingTexts[standing]);
  else if (standing === 'live' && isFaulty) announcer.say('live again');
  isFaulty = isFault || (isFaulty && standing !== 'live');
}

function showStandingDetail() {
  if (current === null) return;
  const { standing, detail } = current;
  const seconds = detail.until === undefined ? 0 : Math.ceil((detail.until - Date.now()) / 1000);
  const again = seconds > 1 ? `retrying in ${seconds} s` : '';
  const text = standing === 'moved' ? 'the partition of this feed was assigned to another instance' : detail.text ?? '';
  setText(byId('standing-detail'), [text, again].filter(Boolean).join(', '));
  const link = byId('standing-link');
  const url = standing === 'moved' ? otherInstance(detail.url) : null;
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

/** @param {import('./feed-follower.js').Entry} entry */
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
  if (shown === made) view.update();
}

/** Where it happened, or above the rows if the item is gone. @param {string} id @param {{ code: string, text: string }} problem */
function showRefusal(id, { code, text }) {
  if (shown?.item(id) !== undefined) {
    view.open(itemKey(id));
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

  /** @param {import('./feed-follower.js').Entry} entry @param {number} changes */
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
  view.focus();
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
  list.refresh();
  status.refresh();
  connect();
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
addEventListener('online', connect);
document.addEventListener('visibilitychange', () => (document.hidden ? disconnect() : connect()));
// So does a page in the back/forward cache.
addEventListener('pagehide', disconnect);
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
