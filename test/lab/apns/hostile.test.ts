import { once } from 'node:events';
import { request } from 'node:http';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import {
  PAYLOAD,
  type StandInUnderTest,
  startUnderTest,
  TOKEN,
  until,
} from './stand-in-under-test.js';

const MAX_TOKENS = 50;

let lab: StandInUnderTest;

beforeAll(async () => {
  lab = await startUnderTest({ maxTokens: MAX_TOKENS, maxConcurrentStreams: 3 });
});

afterAll(async () => {
  await lab.stop();
});

afterEach(async () => {
  const answer = await lab.push();
  expect(answer.status).toBe(200);
});

function pushHeaders() {
  return {
    ':method': 'POST',
    ':path': `/3/device/${TOKEN}`,
    'apns-topic': lab.topic,
    'apns-push-type': 'mdm',
  };
}

/** What a courier answers to these bytes, until it ends the connection. */
async function courierSays(bytes: string): Promise<string> {
  const sent = request(new URL('/courier', lab.standIn.courierUrl), { method: 'POST' });
  sent.on('error', () => undefined);
  sent.flushHeaders();
  const [response] = await once(sent, 'response');
  let text = '';
  response.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  response.on('error', () => undefined);
  sent.write(bytes);
  await once(response, 'close');
  return text;
}

describe('the stand-in for APNs bounds', () => {
  it('a body without end: it answers 413 at 4 KB and closes the stream', async () => {
    const stream = lab.open().request(pushHeaders());
    stream.on('error', () => undefined);
    let written = 0;
    const more = () => {
      while (!stream.destroyed && stream.writable && written < 4_000_000) {
        written += 1_000;
        if (!stream.write('x'.repeat(1_000))) return;
      }
    };
    stream.on('drain', more);
    more();
    const [headers] = await once(stream, 'response');
    stream.resume();
    expect(headers[':status']).toBe(413);
    await once(stream, 'close');
    expect(written).toBeLessThan(4_000_000);
  });

  it('headers of 200 KB: they are refused', async () => {
    const session = lab.open();
    const big = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`x-${index}`, 'x'.repeat(4_000)]),
    );
    const stream = session.request({ ...pushHeaders(), ...big });
    stream.end(PAYLOAD);
    await expect(once(stream, 'response')).rejects.toThrow('NGHTTP2_REFUSED_STREAM');
  });

  it('concurrent requests: it announces its limit', async () => {
    const session = lab.open();
    const [settings] = await once(session, 'remoteSettings');
    expect(settings.maxConcurrentStreams).toBe(3);
  });

  it('tokens in memory: what does not fit is accepted and forgotten', async () => {
    for (let index = 0; index < MAX_TOKENS + 10; index += 1) {
      const token = index.toString(16).padStart(64, '0');
      expect((await lab.push({ ':path': `/3/device/${token}` })).status).toBe(200);
    }
    expect(lab.standIn.report().tokens).toBe(MAX_TOKENS);
    expect(lab.standIn.report().forgotten).toBeGreaterThanOrEqual(10);
  });

  it('clients without TLS or HTTP/2', async () => {
    const { hostname, port } = new URL(lab.standIn.url);
    const plain = connectTcp(Number(port), hostname);
    plain.end('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    plain.resume().on('error', () => undefined);
    await once(plain, 'close');
    const old = connectTls({ host: hostname, port: Number(port), ca: lab.standIn.caPem });
    old.on('error', () => undefined).resume();
    old.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(old, 'close');
  });
});

describe('the courier ends the connection at', () => {
  it.each([
    ['what is no JSON', 'hello\n'],
    ['JSON that is no line', '[]\n'],
    ['an unknown member', '{"conect":[]}\n'],
    ['a connection without a topic', `{"connect":["${TOKEN}"]}\n`],
    ['a token that is none', '{"connect":["xyz"],"topic":"t"}\n'],
  ])('%s', async (_what, bytes) => {
    expect(await courierSays(bytes)).toBe('{"error":"not a line that the courier understands"}\n');
  });

  it('a line without end', async () => {
    expect(await courierSays('x'.repeat(2_000_000))).toBe(
      '{"error":"a line of the courier is too long"}\n',
    );
  });

  it('nothing else: empty lines, lines in pieces, many lines at once', async () => {
    const sent = request(new URL('/courier', lab.standIn.courierUrl), { method: 'POST' });
    sent.flushHeaders();
    const [response] = await once(sent, 'response');
    let text = '';
    response.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    sent.write('\n{"id":1}\n{"id":2,"for');
    await until(() => text.includes('1'));
    sent.write('get":[]}\n{"id":3}\n');
    await until(() => text.includes('3'));
    expect(text).toBe('{"done":1}\n{"done":2}\n{"done":3}\n');
    sent.end();
    await once(response, 'close');
  });
});
