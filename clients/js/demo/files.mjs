import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const clients = fileURLToPath(new URL('..', import.meta.url));
// Where Debian's node-react and node-react-dom are.
const modules = '/usr/share/nodejs';
const types = { '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.mjs': 'text/javascript' };

/** Answers a request with a file of `clients/js`, or below `/modules/` with one of Debian's modules. */
export async function answerWithFile({ url }, response) {
  try {
    // An absolute path that is normalised leads nowhere else.
    const path = normalize(decodeURIComponent(new URL(url, 'http://localhost').pathname)).replace(/\/$/, '/index.html');
    const content = await readFile(path.startsWith('/modules/') ? join(modules, path.slice('/modules'.length)) : join(clients, path));
    response.writeHead(200, { 'Content-Type': types[extname(path)] ?? 'application/octet-stream' }).end(content);
  } catch {
    response.writeHead(404).end();
  }
}
