import { once } from 'node:events';
import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createHttpServer } from '../../../src/http/server/server.js';
import { createLogger } from '../../../src/logger.js';

let server: Server | undefined;

afterEach(() => {
  server?.close();
});

/** What the classes of the first request and its response are before the app sees them. */
async function firstMessages(app: Parameters<typeof createHttpServer>[0]['app']) {
  server = createHttpServer({
    app,
    deviceHandler: () => undefined,
    logger: createLogger('silent'),
  });
  const seen: object[] = [];
  server.prependListener('request', (req, res) => {
    seen.push(Object.getPrototypeOf(req) as object, Object.getPrototypeOf(res) as object);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/where?a=1`);
  return { seen, status: response.status, text: await response.text() };
}

test("requests have Express's prototypes before Express sees them", async () => {
  const app = express();
  app.get('/where', (req, res) => {
    res.json({ path: req.path, query: req.query, isNodes: req instanceof IncomingMessage });
  });
  const { seen, status, text } = await firstMessages(app);
  expect(seen[0]).toBe(app.request);
  expect(seen[1]).toBe(app.response);
  expect([status, JSON.parse(text)]).toEqual([
    200,
    { path: '/where', query: { a: '1' }, isNodes: true },
  ]);
});

test("a plain listener has Node's own classes", async () => {
  const { seen, status } = await firstMessages((_req, res) => res.writeHead(204).end());
  expect(seen).toEqual([IncomingMessage.prototype, ServerResponse.prototype]);
  expect(status).toBe(204);
});
