import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { QueryClient } from '@tanstack/react-query';
import createClient from 'openapi-fetch';
import { KnownAnswers } from '../../web/src/api/known-answers.js';

interface TagDocument {
  data: { id: number; attributes: { name: string } }[];
}
interface Paths {
  '/tags': {
    get: { responses: { 200: { content: { 'application/json': TagDocument } } } };
    post: { responses: { 200: { content: { 'application/json': TagDocument } } } };
  };
  '/groups': Paths['/tags'];
}

describe('the cached answers of the console', () => {
  let server: Server;
  let tags: string[];
  let seen: string[];
  let hold: Promise<void> | undefined;
  let url: string;

  beforeEach(async () => {
    tags = ['Lobby'];
    seen = [];
    hold = undefined;
    server = createServer(async (req, res) => {
      await hold;
      const etag = `W/"${tags.join()}"`;
      const named = req.headers['if-none-match'];
      const status = named === etag ? 304 : 200;
      seen.push(`${req.method} ${req.url} ${named ?? '-'} ${status}`);
      const data = tags.map((name, index) => ({ id: index + 1, attributes: { name } }));
      res.writeHead(status, { ETag: etag, 'Content-Type': 'application/json' });
      res.end(status === 304 ? undefined : JSON.stringify({ data }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterEach(async () => {
    await new Promise((resolve) => server.close(resolve));
  });

  function clientWith(known: KnownAnswers) {
    const client = createClient<Paths>({ baseUrl: url });
    client.use({
      onRequest: (exchange) => known.onRequest(exchange),
      onResponse: (exchange) => known.onResponse(exchange),
    });
    return client;
  }

  it('return the same object while the list has not changed', async () => {
    const client = clientWith(new KnownAnswers());
    const queries = new QueryClient();
    const queryKey = ['tags'];
    const read = async () => {
      const queryFn = async () => (await client.GET('/tags')).data as TagDocument;
      await queries.fetchQuery({ queryKey, queryFn });
      return queries.getQueryData(queryKey) as TagDocument;
    };
    const first = await read();
    expect(first).toEqual({ data: [{ id: 1, attributes: { name: 'Lobby' } }] });
    expect(await read()).toBe(first);
    tags = ['Lobby', 'Stairs'];
    const third = await read();
    expect(third.data.map(({ attributes }) => attributes.name)).toEqual(['Lobby', 'Stairs']);
    expect(third.data[0]).toBe(first.data[0]);
    expect(await read()).toBe(third);
    queries.clear();
    expect(seen).toEqual([
      'GET /tags - 200',
      'GET /tags W/"Lobby" 304',
      'GET /tags W/"Lobby" 200',
      'GET /tags W/"Lobby,Stairs" 304',
    ]);
  });

  it('exclude answers to requests that change something', async () => {
    const client = clientWith(new KnownAnswers());
    await client.POST('/tags');
    await client.POST('/tags');
    expect(seen).toEqual(['POST /tags - 200', 'POST /tags - 200']);
  });

  it('are deleted at sign-out', async () => {
    const known = new KnownAnswers();
    const client = clientWith(known);
    await client.GET('/tags');
    known.forget();
    await client.GET('/tags');
    expect(seen).toEqual(['GET /tags - 200', 'GET /tags - 200']);
  });

  it('still answer a request under way at sign-out, and are not stored for the next person', async () => {
    const known = new KnownAnswers();
    const client = clientWith(known);
    await client.GET('/tags');
    let release = () => {};
    hold = new Promise((resolve) => {
      release = resolve;
    });
    const pending = client.GET('/tags');
    await new Promise((resolve) => setImmediate(resolve));
    known.forget();
    release();
    expect((await pending).data?.data[0]?.attributes.name).toBe('Lobby');
    await client.GET('/tags');
    expect(seen).toEqual(['GET /tags - 200', 'GET /tags W/"Lobby" 304', 'GET /tags - 200']);
  });

  it('are limited in number: the least recently read one is removed', async () => {
    const client = clientWith(new KnownAnswers(1));
    await client.GET('/tags');
    await client.GET('/groups');
    await client.GET('/groups');
    await client.GET('/tags');
    expect(seen).toEqual([
      'GET /tags - 200',
      'GET /groups - 200',
      'GET /groups W/"Lobby" 304',
      'GET /tags - 200',
    ]);
  });
});
