// The players: what a game would send.

import { FeedStore } from '../src/index.js';

const [given, family] = [
  'Ada Alan Barbara Carl Claude Dennis Donald Edsger Emmy Frances Grace Hedy Ida John Joan Karen Kathleen Ken Leslie Lynn Margaret Mary Niklaus Radia Sofia Tony',
  'Allen Backus Bartik Bouman Dijkstra Floyd Hamilton Hoare Hopper Jackson Johnson Knuth Lamarr Lamport Liskov Lovelace Noether Perlman Ritchie Shannon Turing Wirth',
].map((text) => text.split(' '));

const nameOf = (number) => `${given[number % given.length]} ${family[(number * 7 + Math.floor(number / 26)) % family.length]}`;
const idOf = (number) => `p${number}`;
const below = (end) => Math.floor(Math.random() * end);
const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

/** Writes the players of a daemon, which may still be starting, and then lets them win and lose for ever. */
export async function play(daemon, count, onPlayers) {
  const feed = new FeedStore(daemon).feed('players');
  // Before that, it does not say when a write is published.
  while (!(await fetch(`${daemon}/readyz`).catch(() => null))?.ok) await pause(300);
  /** Writes after what was written before is published, so that a broker that keeps little loses nothing. */
  const write = async (...events) => {
    for (;;) {
      try {
        return await feed.write(events);
      } catch (error) {
        if (error.name === 'WriteRejected') throw error;
        await pause(1000);
      }
    }
  };
  // Those with low numbers have more points, and will play more often.
  const scores = Array.from({ length: count }, (_, number) => 10 * (count - number) + below(200));
  await write({ op: 'section.upsert', section: 'all', order: [{ by: '/score', direction: 'descending' }] });
  const size = 4000;
  for (let start = 0; start < count; start += size) {
    await write(...scores.slice(start, start + size).map((score, at) => (
      { op: 'item.upsert', item: idOf(start + at), section: 'all', kind: 'player', data: { name: nameOf(start + at), score } }
    )));
  }
  onPlayers();
  for (;;) {
    await write(...Array.from({ length: 20 }, () => {
      const number = Math.floor(count * Math.random() ** 4);
      scores[number] += 1 + below(60);
      return { op: 'item.patch', item: idOf(number), data: { score: scores[number] } };
    }));
    await pause(400);
  }
}
