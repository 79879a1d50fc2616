import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../../src/logger.js';
import { ApnsClient } from '../../../src/push/apns/apns-client.js';
import type { ApnsCredentials } from '../../../src/push/apns/apns-connect.js';
import type { Identity } from '../../crypto/identities.js';
import {
  createAuthority,
  createCredentials,
  createServerIdentity,
  pemOf,
  TOPIC,
} from './apns-service.js';

const cwd = mkdtempSync(join(tmpdir(), 'muster-apns-'));

let authority: Identity;
let outsider: Identity;
let server: ChildProcess | undefined;

beforeAll(async () => {
  authority = await createAuthority();
  outsider = await createAuthority();
  const { cert, key } = pemOf(await createServerIdentity(authority));
  writeFileSync(join(cwd, 'cert.pem'), cert);
  writeFileSync(join(cwd, 'key.pem'), key);
  writeFileSync(join(cwd, 'ca.pem'), pemOf(authority).cert);
});

afterEach(async () => {
  const ended = server && once(server, 'close');
  server?.kill();
  await ended;
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

/** A server that refuses certificates by an alert, as Apple's does; one of Node.js just hangs up. */
async function listen(version: string): Promise<string> {
  const demand = ['-Verify', '1', '-verify_return_error', '-CAfile', 'ca.pem'];
  const own = ['-cert', 'cert.pem', '-key', 'key.pem', '-alpn', 'h2', version];
  server = spawn('openssl', ['s_server', '-accept', '127.0.0.1:0', ...own, ...demand], { cwd });
  let output = '';
  for await (const chunk of server.stdout ?? []) {
    output += String(chunk);
    const port = /ACCEPT 127\.0\.0\.1:(\d+)/.exec(output)?.[1];
    if (port !== undefined) return `https://localhost:${port}`;
  }
  throw new Error(`openssl does not listen: ${output}`);
}

async function failureOf(host: string, credentials: ApnsCredentials) {
  const ca = pemOf(authority).cert;
  const logger = createLogger('silent');
  const client = new ApnsClient({ host, ca, credentials, logger });
  const pushed = client.push({ token: 'ab', pushMagic: 'magic', topic: TOPIC });
  const failure = await pushed.catch((error: unknown) => error);
  await client.close();
  return failure;
}

describe.each(['-tls1_2', '-tls1_3'])('over %s', (version) => {
  it('a push certificate of an unknown CA is refused, and the error says so', async () => {
    const host = await listen(version);
    expect(await failureOf(host, await createCredentials(outsider))).toMatchObject({
      kind: 'certificate_refused',
      message: expect.stringMatching(
        /refuses the push certificate in the TLS handshake \(ERR_SSL_.*ALERT_UNKNOWN_CA\)$/,
      ),
    });
  });
});
