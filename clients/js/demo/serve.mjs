import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

import { answerWithFile } from './files.mjs';

const usage = `usage: node serve.mjs [--daemon URL] [--port N] [--players N]

Serves the page of a leaderboard, and writes its players to a daemon, who then win and lose. The daemon needs http.writes.enabled,
and the origin of the page in http.allowedOrigins. With --players 0 it only serves files.`;

const { values: options } = parseArgs({
  options: {
    daemon: { type: 'string', default: 'http://127.0.0.1:8321' },
    port: { type: 'string', default: '8322' },
    players: { type: 'string', default: '100000' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) {
  console.log(usage);
  process.exit();
}

/** The page, with the daemon that it shows. */
const path = `/demo/?daemon=${encodeURIComponent(options.daemon)}`;
const server = createServer((request, response) => {
  if (request.url === '/') response.writeHead(302, { Location: path }).end();
  else answerWithFile(request, response);
});
server.on('error', (error) => {
  console.error(`the leaderboard cannot be served: ${error.message}; choose another port with --port`);
  process.exit(1);
});
server.listen(Number(options.port), '127.0.0.1', async () => {
  const page = `http://127.0.0.1:${server.address().port}${path}`;
  const count = Number(options.players);
  if (count === 0) {
    console.log(page);
    return;
  }
  const { play } = await import('./players.mjs');
  await play(options.daemon, count, () => console.log(`Open ${page} in a browser to watch ${count.toLocaleString('en')} players.`));
});
