import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request, type Server } from 'node:http';
import express from 'express';
import { createLabRouter } from '../../../src/http/pages/lab-page.js';
import { portOf, serve, stop } from '../raw-client.js';

const DESCRIPTION = { push_topic: 'com.apple.mgmt.External.x' };

let server: Server;
let describeLab: () => Promise<object> = () => Promise.resolve(DESCRIPTION);

beforeAll(async () => {
  server = await serve(express().use(createLabRouter(() => describeLab())));
});

afterAll(async () => {
  await stop(server);
});

async function ask(headers: Record<string, string> = {}, method = 'GET') {
  const options = { method, host: '127.0.0.1', port: portOf(server), path: '/lab', headers };
  const sent = request(options).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, headers: response.headers, text };
}

describe('GET /lab', () => {
  it.each([
    ['a proxy speaks for somebody else', { 'X-Forwarded-For': '192.0.2.1' }],
    ['a page made its own name lead here', { Host: 'lab.example.com' }],
  ])('is refused when %s', async (_when, headers) => {
    const { status, text } = await ask(headers);
    expect([status, text]).toEqual([403, 'The lab is only for programs on this machine\n']);
  });

  it('can only be read', async () => {
    const { status, headers } = await ask({}, 'POST');
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
  });

  it('the page answers 503 while the description cannot be read, and says no more', async () => {
    describeLab = () => Promise.reject(new Error('password of the database'));
    const { status, headers, text } = await ask();
    expect([status, headers['retry-after'], text]).toEqual([503, '5', 'The database is away\n']);
    describeLab = () => Promise.resolve(DESCRIPTION);
  });

  it('programs on this machine get the description of the lab', async () => {
    const { status, headers, text } = await ask();
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-store');
    expect(JSON.parse(text)).toEqual(DESCRIPTION);
  });
});
