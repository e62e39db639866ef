// An app on another origin: follows feeds over one stream, and writes.
import { Replica } from '/replica.js';

/** The replicas by feed, what else the stream has said, and whether it has ended. */
const app = { base: '', token: '', replicas: {}, modes: {}, events: [], hasEnded: true };

/** The status, the header that says whether the feed is writable, and the content of a response; or that there is none. */
app.ask = async (path, content, headers = {}, method = content === undefined ? 'GET' : 'POST') => {
  try {
    const body = content === undefined ? undefined : JSON.stringify(content);
    const answer = await fetch(app.base + path, { method, body, headers: { Authorization: `Bearer ${app.token}`, ...headers } });
    return { status: answer.status, writable: answer.headers.get('Feedstore-Writable'), content: await answer.text() };
  } catch (error) {
    return { status: 0, content: String(error) };
  }
};

/** Follows feeds from the versions that the app has. */
app.follow = async (feeds) => {
  const asked = feeds.map((feed) => {
    const { epoch, revision } = app.replicas[feed]?.state ?? {};
    return epoch ? { feed, epoch, revision } : { feed };
  });
  const headers = { Authorization: `Bearer ${app.token}` };
  const answer = await fetch(`${app.base}/v1/streams`, { method: 'POST', headers, body: JSON.stringify({ feeds: asked }) });
  app.hasEnded = false;
  let rest = '';
  for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) app.take(Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s))));
  }
  app.hasEnded = true;
};

app.take = ({ event, data }) => {
  if (!data || event === 'plan') return;
  const message = JSON.parse(data);
  if (event) {
    app.events.push({ event, ...message });
    return;
  }
  app.replicas[message.feed] ??= new Replica(message.feed);
  const outcome = app.replicas[message.feed].apply(data);
  if (outcome.type === 'applied') (app.modes[message.feed] ??= []).push(outcome.change.mode);
  app.replicas[message.feed].state = { epoch: message.epoch, revision: message.revision };
};

app.items = (feed) => app.replicas[feed]?.sections.flatMap((section) => section.items.map((item) => item.id)) ?? [];

window.app = app;
