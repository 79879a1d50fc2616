import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import request from 'supertest';
import { ADMIN_TOKEN, startApp, type TestApp } from '../helpers/app.js';
import { profileBytes } from '../profiles/sample-profiles.js';

const MIB = 1024 * 1024;
const BOUNDARY = 'a-boundary';

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

/** After each abuse nothing is stored and the server still accepts a profile. */
afterEach(async () => {
  expect(await app.db.knex('profiles')).toEqual([]);
  expect(await app.db.knex('audit_events')).toEqual([]);
  expect(app.logLines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  const { status } = await post().attach('file', profileBytes([]), 'x.mobileconfig');
  expect(status).toBe(201);
  await app.db.knex('profiles').delete();
  await app.db.knex.raw('truncate audit_events');
});

function post(): request.Test {
  return request(app.app)
    .post('/api/v1/upload/profiles')
    .set('Authorization', `Bearer ${ADMIN_TOKEN}`);
}

function part(headers: string, content: string | Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\n${headers}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
}

const END = Buffer.from(`--${BOUNDARY}--\r\n`);
const FILE = 'Content-Disposition: form-data; name="file"; filename="x.mobileconfig"';

const content = () => profileBytes([]);

/** What is answered to exactly this body. */
async function answerTo(
  body: Buffer,
  contentType = `multipart/form-data; boundary=${BOUNDARY}`,
): Promise<[number, string]> {
  const answer = await post().set('Content-Type', contentType).serialize(String).send(body);
  return [answer.status, answer.body.errors?.[0].code];
}

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  return socket;
}

function head(headers: string): string {
  return [
    'POST /api/v1/upload/profiles HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${ADMIN_TOKEN}`,
    `Content-Type: multipart/form-data; boundary=${BOUNDARY}`,
    headers,
    '',
    '',
  ].join('\r\n');
}

function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ]);
}

/** The status line that comes back while `write` goes on; the connection is cut after it. */
async function statusWhile(socket: Socket, write: () => boolean): Promise<string> {
  const answer = once(socket, 'data').then(([data]) => String(data).split('\r\n')[0] ?? '');
  socket.on('error', () => undefined);
  const timer = setInterval(() => {
    for (let more = true; more && !socket.destroyed; ) more = write();
  }, 1);
  const line = await answer;
  clearInterval(timer);
  socket.destroy();
  return line;
}

describe('an upload that is no multipart/form-data', () => {
  it.each([
    ['application/x-www-form-urlencoded', 'file=x'],
    ['application/json', '{}'],
    ['application/vnd.api+json', '{}'],
    ['application/x-apple-aspen-config', '<plist/>'],
    ['multipart/mixed; boundary=a-boundary', 'x'],
    ['multipart/form-data-not', 'x'],
  ])('gets 415 that says what to send: %s', async (type, body) => {
    const answer = await post().set('Content-Type', type).serialize(String).send(body);
    expect([answer.status, answer.body.errors[0].code]).toEqual([415, 'unsupported_media_type']);
    expect(answer.body.errors[0].detail).toBe(
      'send multipart/form-data with the file in the field file',
    );
  });

  it('gets 415 without any type, and for a compressed body', async () => {
    expect((await post()).status).toBe(415);
    const compressed = post().set('Content-Encoding', 'gzip').attach('file', content(), 'x');
    expect((await compressed).status).toBe(415);
  });
});

describe('an upload that is malformed', () => {
  const form = (...parts: Buffer[]) => Buffer.concat([...parts, END]);

  it.each<[string, () => Buffer]>([
    ['no part', () => END],
    ['no file', () => form(part('Content-Disposition: form-data; name="file"', 'x'))],
    ['two files', () => form(part(FILE, content()), part(FILE, content()))],
    ['a file in another field', () => form(part(FILE.replace('"file"', '"data"'), content()))],
    [
      'a field beside the file',
      () => form(part(FILE, content()), part('Content-Disposition: form-data; name="x"', 'y')),
    ],
    [
      'a field before the file',
      () => form(part('Content-Disposition: form-data; name="x"', 'y'), part(FILE, content())),
    ],
    [
      'a file without a field',
      () => form(part('Content-Disposition: form-data; filename="x"', content())),
    ],
    ['a part without headers', () => form(part('', content()))],
    ['no end', () => part(FILE, content())],
    ['no boundary inside', () => content()],
    ['an empty body', () => Buffer.alloc(0)],
    ['a cut-off head', () => Buffer.from(`--${BOUNDARY}\r\n${FILE}`)],
    ['a huge header', () => form(part(`${FILE}\r\nX-Huge: ${'x'.repeat(40_000)}`, content()))],
    ['an array as the field', () => form(part(FILE.replace('"file"', '"file[]"'), content()))],
    [
      'a field called __proto__',
      () => form(part('Content-Disposition: form-data; name="__proto__[x]"', 'y')),
    ],
    [
      'a nested multipart',
      () =>
        form(
          part(
            'Content-Disposition: form-data; name="file"\r\nContent-Type: multipart/mixed; boundary=b',
            '--b\r\nContent-Disposition: attachment; filename="x"\r\n\r\nx\r\n--b--',
          ),
        ),
    ],
    ['controls in a name', () => form(part(FILE.replace('x.', 'a\u0001\u001b[2J.'), content()))],
    [
      'a thousand parts',
      () =>
        form(
          ...Array.from({ length: 1000 }, () =>
            part('Content-Disposition: form-data; name="x"', 'y'),
          ),
        ),
    ],
  ])('gets 400: %s', async (_what, body) => {
    expect(await answerTo(body())).toEqual([400, 'invalid_multipart']);
  });

  it.each([
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary',
  ])('gets 400 without a boundary: %s', async (type) => {
    expect(await answerTo(form(part(FILE, content())), type)).toEqual([400, 'invalid_multipart']);
  });

  it.each([
    ['the longest', 'x'.repeat(5000)],
    ['a path', '../../../../etc/passwd'],
    ['quotes', 'a\\"b\\"c'],
    ['percent signs', '%00%0d%0aX-Injected: 1'],
    ['another alphabet', 'профиль‮.mobileconfig'],
  ])('does not mind an odd name of the file: %s', async (_what, name) => {
    const [status] = await answerTo(form(part(FILE.replace('x.mobileconfig', name), content())));
    expect(status).toBe(201);
    await app.db.knex('profiles').delete();
    await app.db.knex.raw('truncate audit_events');
  });

  it('gets 413 when the file is too large', async () => {
    expect(await answerTo(form(part(FILE, Buffer.alloc(5 * MIB + 1, 0x20))))).toEqual([
      413,
      'payload_too_large',
    ]);
    expect(await answerTo(form(part(FILE, Buffer.alloc(6 * MIB, 0x20))))).toEqual([
      413,
      'payload_too_large',
    ]);
  });
});

describe('a client that', () => {
  it('announces too much gets 413 at once', async () => {
    const socket = await open();
    socket.write(head(`Content-Length: ${100 * MIB}`));
    expect(await statusWhile(socket, () => false)).toBe('HTTP/1.1 413 Payload Too Large');
  });

  it.each([
    ['a file', part(FILE, '').subarray(0, -2)],
    ['a preamble', Buffer.from('x')],
    ['headers', Buffer.from(`--${BOUNDARY}\r\nX-A: `)],
    ['an epilogue', Buffer.concat([part(FILE, 'x'), END])],
  ])('never ends %s gets 413', async (_what, start) => {
    const socket = await open();
    socket.write(head('Transfer-Encoding: chunked'));
    socket.write(chunk(start));
    const more = chunk(Buffer.alloc(64 * 1024, 0x61));
    expect(await statusWhile(socket, () => socket.write(more))).toBe(
      'HTTP/1.1 413 Payload Too Large',
    );
  });

  it('disconnects in the middle leaves nothing behind', async () => {
    for (const start of [Buffer.alloc(0), part(FILE, content()).subarray(0, 300)]) {
      const socket = await open();
      socket.write(head('Content-Length: 5000'));
      socket.write(start);
      await new Promise((resolve) => setTimeout(resolve, 20));
      socket.destroy();
      await once(socket, 'close');
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  });

  it('ends too early gets 400 or nothing', async () => {
    const socket = await open();
    socket.write(head('Transfer-Encoding: chunked'));
    socket.write(chunk(part(FILE, content())));
    socket.write('0\r\n\r\n');
    const [data] = await once(socket, 'data');
    expect(String(data)).toMatch(/^HTTP\/1.1 400 /);
    socket.destroy();
  });
});
