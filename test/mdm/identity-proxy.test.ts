import { type OutgoingHttpHeaders, request } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { TLSSocket } from 'node:tls';
import { encodePem } from '../../src/crypto/asn1/pem.js';
import { generateEcKeyPair, type KeyPair } from '../../src/crypto/keys/keys.js';
import { buildPlist } from '../../src/protocol/plist/plist.js';
import { identityOf, rsaIdentity } from '../crypto/identities.js';
import { startApp, type TestApp } from '../helpers/app.js';
import {
  commandIn,
  createTestDevice,
  deviceKeys,
  issueIdentity,
  type Reply,
} from '../helpers/device.js';
import { localhostIdentity } from '../helpers/tls.js';
import { CertifiedDevice, type CertifiedKeys, certificatePem, keyPem } from './certified-device.js';
import { sendRaw } from './raw-requests.js';
import { dumpRows } from './rows.js';

const escapedPem = (der: Buffer) => encodeURIComponent(encodePem('CERTIFICATE', der));

/** How proxies pass a certificate on. */
const FORMS = {
  'RFC 9440': (der: Buffer) => `:${der.toString('base64')}:`,
  'escaped PEM': escapedPem,
  'base64 of DER': (der: Buffer) => der.toString('base64'),
  "Envoy's x-forwarded-client-cert": (der: Buffer) => `Hash=1;Cert="${escapedPem(der)}"`,
};

/** A reverse proxy that ends TLS and says who its client is, by a header that it alone sets. */
class TlsProxy {
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(target: string, write: (der: Buffer) => string): Promise<TlsProxy> {
    const own = await localhostIdentity();
    const options = { cert: certificatePem(own.certificate), key: keyPem(own) };
    const asking = { requestCert: true, rejectUnauthorized: false };
    const server = createServer({ ...options, ...asking }, (req, res) => {
      const peer =
        req.socket instanceof TLSSocket ? req.socket.getPeerX509Certificate() : undefined;
      const headers = { ...req.headers, 'client-cert': peer === undefined ? '' : write(peer.raw) };
      const onward = request(`${target}${req.url}`, { method: req.method ?? '', headers });
      onward.on('error', () => res.destroy());
      onward.on('response', (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(res);
      });
      req.pipe(onward);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new TlsProxy(server, `https://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const HEADER = { CLIENT_CERT_HEADER: 'Client-Cert' };

async function issued(keys?: KeyPair): Promise<CertifiedKeys> {
  const pair = keys ?? (await deviceKeys());
  return { ...pair, certificate: issueIdentity(app.authority, pair) };
}

function refusals(app: TestApp): unknown[] {
  return app.logLines
    .filter(({ msg }) => msg === 'device request refused')
    .map((line) => line.reason);
}

/** A bare refusal. */
function outcome({ status, body }: Reply): [number, number] {
  return [status, body.length];
}

/** The proxies on this machine are trusted. */
let app: TestApp;

beforeAll(async () => {
  app = await startApp({
    env: { ...HEADER, TRUST_PROXY: '10.0.0.0/8,127.0.0.1' },
    isSweeping: false,
  });
});
afterAll(() => app.stop());

describe.each(Object.entries(FORMS))('behind a proxy that writes %s', (_form, write) => {
  let proxy: TlsProxy;

  beforeAll(async () => {
    proxy = await TlsProxy.start(app.url, write);
  });
  afterAll(() => proxy.stop());

  it('a client without a certificate, or with one of an unknown CA, stores nothing: 400', async () => {
    const outsider = await rsaIdentity();
    const before = await dumpRows(app.db);
    for (const shown of [
      undefined,
      outsider,
      identityOf(await deviceKeys(), { issuedBy: outsider }),
    ]) {
      const device = new CertifiedDevice(proxy, shown, await issued());
      expect(outcome(await device.authenticate())).toEqual([400, 0]);
    }
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it.each(['RSA', 'elliptic'])(
    'a device with a key that is %s enrolls without signing',
    async (kind) => {
      const keys = kind === 'RSA' ? await deviceKeys() : await generateEcKeyPair('P-384');
      const own = await issued(keys);
      const device = await new CertifiedDevice(proxy, own, own).enroll();
      let offer = commandIn(await device.idle());
      const first = offer?.command.RequestType;
      for (let count = 0; offer !== undefined && count < 20; count += 1) {
        offer = commandIn(await device.report(offer.uuid));
      }
      expect([first, offer]).toEqual(['DeviceInformation', undefined]);
      const { fingerprint } = own.certificate;
      const pins = await app.db.knex('device_identities').where({ fingerprint });
      expect(pins).toMatchObject([{ state: 'active' }]);
    },
  );

  it('a device cannot use the certificate of another, nor one that was revoked or replaced', async () => {
    const [one, other] = [await issued(), await issued()];
    const device = await new CertifiedDevice(proxy, one, one).enroll();
    const victim = await new CertifiedDevice(proxy, other, other).enroll();
    const thief = new CertifiedDevice(proxy, one, one, victim.ids);
    expect(outcome(await thief.idle())).toEqual([403, 0]);
    const { fingerprint } = one.certificate;
    for (const state of ['revoked', 'superseded']) {
      await app.db.knex('device_identities').where({ fingerprint }).update({ state });
      expect(outcome(await device.idle())).toEqual([403, 0]);
    }
  });
});

/** What a request of an enrolled device gets that names it by headers only; nothing is stored. */
async function forge(at: TestApp, headersOf: (own: string) => OutgoingHttpHeaders) {
  const device = await (await createTestDevice(at)).enroll();
  const body = buildPlist({ Status: 'Idle', ...device.ids });
  const before = await dumpRows(at.db);
  const earlier = refusals(at).length;
  const headers = headersOf(FORMS['RFC 9440'](device.certificate.der));
  const { status, length } = await sendRaw(at, { headers, body });
  expect(await dumpRows(at.db)).toEqual(before);
  return { answer: [status, length], reasons: refusals(at).slice(earlier) };
}

describe('a header that names an enrolled device', () => {
  it.each<[string, (own: string) => OutgoingHttpHeaders]>([
    ['first of two', (own) => ({ 'Client-Cert': [own, own] })],
    ['before that of the proxy', (own) => ({ 'Client-Cert': [own, ''] })],
    ['after that of the proxy', (own) => ({ 'Client-Cert': ['', own] })],
  ])('is refused when the client has smuggled it in, %s', async (_what, headersOf) => {
    const reasons = ['the header is repeated'];
    expect(await forge(app, headersOf)).toEqual({ answer: [400, 0], reasons });
  });

  it.each(['AAAA', ''])('is not looked at beside the signature "%s"', async (signature) => {
    const { answer } = await forge(app, (own) => ({
      'Client-Cert': own,
      'Mdm-Signature': signature,
    }));
    expect(answer).toEqual([400, 0]);
  });

  it('is ignored while no header is configured', async () => {
    const other = await startApp({ env: { TRUST_PROXY: '127.0.0.1' }, isSweeping: false });
    const { answer, reasons } = await forge(other, (own) => ({ 'Client-Cert': own }));
    await other.stop();
    expect([answer, reasons]).toEqual([[400, 0], [undefined]]);
  });
});

it.each(['', ':AAAA:', 'AAAA', '::', '-----BEGIN CERTIFICATE-----', '%', 'Hash=0'])(
  'a header of a proxy that is "%s" identifies nobody',
  async (value) => {
    const { answer } = await forge(app, () => ({ 'Client-Cert': value }));
    expect(answer).toEqual([400, 0]);
  },
);

describe('from a peer that is no proxy, a header that names an enrolled device', () => {
  let other: TestApp;

  beforeAll(async () => {
    other = await startApp({ env: { ...HEADER, TRUST_PROXY: '10.0.0.1' }, isSweeping: false });
  });
  afterAll(() => other.stop());

  it.each<[string, OutgoingHttpHeaders]>([
    ['alone', {}],
    ['beside the address of a proxy', { 'X-Forwarded-For': '10.0.0.1' }],
  ])('is refused %s, and logged as forged', async (_what, headers) => {
    const result = await forge(other, (own) => ({ ...headers, 'Client-Cert': own }));
    const reasons = ['forged: 127.0.0.1 is not in TRUST_PROXY'];
    expect(result).toEqual({ answer: [400, 0], reasons });
  });

  it('is ignored beside a valid signature', async () => {
    const device = await (await createTestDevice(other)).enroll();
    const body = buildPlist({ Status: 'Idle', ...device.ids });
    const headers = { 'Mdm-Signature': device.sign(body), 'Client-Cert': ':AAAA:' };
    expect((await sendRaw(other, { headers, body })).status).toBe(200);
  });
});
