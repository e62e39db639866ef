import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { answerWithFile } from '../demo/files.mjs';
import { BenchFeed } from './feed.js';
import { measureReloads } from './reload.js';

const usage = `usage: node bench.mjs [--seconds N] [--url]

Measures the client in Node and in a browser: Debian's Chromium, without a screen. The browser shows a list of 50 rows in React, of
which 5,000 items change in a second. Needs Debian's chromium, node-react and node-react-dom.

  --seconds N  How long frames are counted: 10 seconds for each measurement by default.
  --url        Starts no browser, and prints an address to open in one.`;

const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '10' }, url: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
});
if (options.help) {
  console.log(usage);
  process.exit();
}
const seconds = Number(options.seconds);
/** Code is compiled when it has run for a while. */
const secondsBefore = 3;
const secondsAfter = 2;
const tickMilliseconds = 10;

let stream;
let feed;
let finish;
const finished = new Promise((resolve) => { finish = resolve; });

const message = (text) => `id: bench/0@${feed.revision}\ndata: ${text}\n\n`;

/** Sends what was made before, at a constant rate, until the browser has gone. */
function load(changesets, changes) {
  const to = stream;
  const history = Array.from({ length: changesets * (secondsBefore + seconds + secondsAfter) }, () => message(feed.changes(changes)));
  const start = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - start) / 1000) * changesets);
    to.write(history.slice(sent, due).join(''));
    sent = due;
    if (sent >= history.length) clearInterval(timer);
  }, tickMilliseconds);
  to.on('close', () => clearInterval(timer));
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  if (request.method === 'GET') return answerWithFile(request, response);
  if (pathname === '/v1/streams') {
    stream = response;
    feed = new BenchFeed(50);
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    return response.write(`event: stream\ndata: {"stream":"bench"}\n\n${message(feed.reload(0))}`);
  }
  if (pathname === '/load') load(Number(searchParams.get('changesets')), Number(searchParams.get('changes')));
  if (pathname === '/result') {
    let text = '';
    request.on('data', (data) => { text += data; }).on('end', () => finish(JSON.parse(text)));
  }
  return response.writeHead(204).end();
});

/** @returns What ends it. */
async function startChromium(address) {
  const folder = await mkdtemp(join(tmpdir(), 'feedstore-bench-'));
  const browser = spawn('chromium', [
    '--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--window-size=1000,900', `--user-data-dir=${folder}`, address,
  ], { stdio: 'ignore' });
  browser.once('error', (error) => { throw new Error(`chromium does not start: ${error.message}; see --help`); });
  return async () => {
    browser.kill();
    await new Promise((resolve) => { browser.once('exit', resolve); });
    await rm(folder, { recursive: true, maxRetries: 3 });
  };
}

const rounded = (number) => number.toFixed(1);
const reloadText = ({ items, bytes, first, median, longest }) => (
  `${items} items, ${rounded(bytes / 1e6)} MB: ${rounded(median)} ms, at most ${rounded(longest)} ms; the first one ${rounded(first)} ms`);
const frameText = ({ frames, usual, longest, dropped }) => (
  `${frames} frames every ${rounded(usual)} ms, ${dropped} dropped, at most ${rounded(longest)} ms between two`);

console.log(`reload in Node ${process.version}: ${reloadText(await measureReloads(15_000))}`);
await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
const address = `http://127.0.0.1:${server.address().port}/bench/?seconds=${seconds}&before=${secondsBefore}`;
const close = options.url ? console.log(address) : await startChromium(address);
const { idle, loads, reload } = await finished;
console.log(`reload in the browser: ${reloadText(reload)}`);
console.log(`without changes: ${frameText(idle)}`);
for (const { changesets, changes, applied, cells, ...frames } of loads) {
  console.log(`${changesets} changesets a second of ${changes}: ${frameText(frames)}; ${applied} changes, shown by ${cells} renders of cells`);
}
await close?.();
server.closeAllConnections();
server.close();
