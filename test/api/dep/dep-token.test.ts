import { once } from 'node:events';
import { connect } from 'node:net';
import { createToken } from '../../../src/auth/api-tokens.js';
import { importPrivateKey, keysMatch } from '../../../src/crypto/keys/keys.js';
import { privateKeyLabel } from '../../../src/pki/master-key/master-key.js';
import { fixture } from '../../crypto/identities.js';
import {
  certificateIn,
  depClient,
  sealText,
  sealToken,
  tokenMembers,
  verdict,
} from '../../dep/tokens/sealed-token.js';
import { ADMIN_TOKEN, startApp, type TestApp } from '../../helpers/app.js';
import { until } from '../../jobs/helpers.js';

const UPLOAD = '/dep/stoken/upload';

let app: TestApp;
let client: ReturnType<typeof depClient>;
/** Of a certificate that was made for no account. */
let pem: string;
/** Of the audit trail, before the test. */
let lastLine: number;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  client = depClient(app);
  pem = await client.download();
});
afterAll(() => app.stop());
beforeEach(async () => {
  await app.db.knex('dep_accounts').delete();
  const last = await app.db.knex('audit_events').max('id as id').first();
  lastLine = last?.id ?? 0;
  await app.db.knex.raw('delete from graphile_worker._private_jobs');
});

async function tokenOf(role: 'operator' | 'viewer'): Promise<string> {
  const actor = { name: 'test', role: 'admin' as const };
  const context = { requestId: 'test', actor, sourceAddress: null };
  return (await createToken(app.db, { name: role, role }, context)).token;
}

const accounts = () => app.db.knex('dep_accounts').orderBy('id');
const history = () =>
  app.db.knex('dep_tokens').orderBy('id').select('access_token', 'replaced_at', 'uploaded_by');
const audited = () =>
  app.db
    .knex('audit_events')
    .where('id', '>', lastLine)
    .orderBy('id')
    .select('action', 'outcome', 'details');
const waiting = async (): Promise<unknown[]> => {
  const { rows } = await app.db.knex.raw(
    `select t.identifier, j.payload from graphile_worker._private_jobs j
     join graphile_worker._private_tasks t on t.id = j.task_id order by j.id`,
  );
  return rows;
};

describe('GET and POST /dep/certificate/download', () => {
  it('return a certificate for the portal, another one each time, and store the key sealed', async () => {
    const got = await client.send('GET', '/certificate/download');
    const posted = await client.send('POST', '/certificate/download');
    for (const { status, headers, text } of [got, posted]) {
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/x-x509-ca-cert');
      expect(headers.get('content-disposition')).toBe('attachment; filename=muster-dep.pem');
      expect([headers.get('cache-control'), headers.get('etag')]).toEqual(['no-store', null]);
      const certificate = certificateIn(text);
      expect(certificate.commonName).toMatch(/^Muster enrollment program [0-9a-f]{8}$/);
      expect(certificate.keyUsage).toEqual(['digitalSignature', 'keyEncipherment']);
      expect(certificate.isCa).toBe(false);
      const years = certificate.notAfter.getFullYear() - new Date().getFullYear();
      expect(years).toBe(5);
      const row = await app.db
        .knex('certificates as c')
        .join('rsa_private_keys as k', 'k.id', 'c.rsa_private_key_id')
        .join('dep_token_certificates as t', 't.certificate_id', 'c.id')
        .where({ 'c.fingerprint': certificate.fingerprint })
        .first();
      expect([row.purpose, row.dep_account_id, row.used_at]).toEqual(['dep.stoken', null, null]);
      const identity = privateKeyLabel(row.fingerprint_sha256);
      const key = importPrivateKey(app.box.open(row.sealed_pkcs8, identity));
      expect(keysMatch(key, certificate.publicKey)).toBe(true);
    }
    expect(got.text).not.toBe(posted.text);
    const line = { action: 'dep_accounts.certificate_downloaded', outcome: 'success', details: {} };
    expect(await audited()).toEqual([line, line]);
  });

  it('refuse HEAD, other roles, no token, unknown parameters and accounts, and leave nothing', async () => {
    const before = await app.db.knex('rsa_private_keys').count();
    const path = '/certificate/download';
    const operator = { token: await tokenOf('operator') };
    expect((await client.send('HEAD', path)).status).toBe(405);
    expect(verdict(await client.send('GET', path, operator))).toEqual([403, 'forbidden']);
    const anonymous = await client.send('GET', path, { token: undefined });
    expect(verdict(anonymous)).toEqual([401, 'unauthorized']);
    expect(anonymous.headers.get('www-authenticate')).toContain('Bearer');
    expect(verdict(await client.send('GET', `${path}?x=1`))).toEqual([400, 'invalid_parameter']);
    expect(verdict(await client.send('GET', `${path}?account=x`))[0]).toBe(400);
    expect(verdict(await client.send('GET', `${path}?account=77`))).toEqual([404, 'not_found']);
    expect(await app.db.knex('rsa_private_keys').count()).toEqual(before);
  });

  it('repeat the first answer to an Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'one' };
    const first = await client.send('POST', '/certificate/download', { headers });
    const again = await client.send('POST', '/certificate/download', { headers });
    expect([again.status, again.text]).toEqual([200, first.text]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.headers.get('content-type')).toBe('application/x-x509-ca-cert');
  });
});

describe('POST /dep/stoken/upload', () => {
  it('creates an account of a new token, sealed, and queues a call to Apple', async () => {
    const members = tokenMembers();
    const reply = await client.upload(sealToken(pem, members));
    expect([reply.status, reply.body.errors]).toEqual([201, undefined]);
    const { id, attributes } = reply.body.data;
    expect(reply.headers.get('location')).toBe(`/api/v1/dep/accounts/${id}`);
    expect(reply.headers.get('content-type')).toBe('application/vnd.api+json');
    expect(attributes).toMatchObject({
      consumer_key: members.consumer_key,
      access_token: members.access_token,
      status: 'unconfirmed',
      sync_state: 'idle',
      is_lab: false,
      cursor: null,
    });
    expect(reply.body.meta).toEqual({ warnings: [] });
    for (const name of ['consumer_secret', 'access_secret']) {
      expect(reply.text + app.logText()).not.toContain(members[name]);
    }
    const [row] = await accounts();
    const open = (name: string) =>
      app.box.open(row[`sealed_${name}`], `dep_accounts/${id}/${name}`).toString();
    expect([open('consumer_secret'), open('access_secret')]).toEqual([
      members.consumer_secret,
      members.access_secret,
    ]);
    const made = await app.db.knex('dep_token_certificates').whereNotNull('used_at');
    expect(made.map(({ certificate_id }) => certificate_id)).toEqual([row.token_certificate_id]);
    expect(await history()).toEqual([
      { access_token: members.access_token, replaced_at: null, uploaded_by: 'ADMIN_TOKEN' },
    ]);
    expect(await waiting()).toEqual([{ identifier: 'dep.confirm', payload: { accountId: id } }]);
    expect(await audited()).toEqual([
      {
        action: 'dep_accounts.token_uploaded',
        outcome: 'success',
        details: {
          changes: {
            consumer_key: 'changed',
            consumer_secret: 'changed',
            access_token: 'changed',
            access_secret: 'changed',
            access_token_expiry: [null, expect.any(String)],
          },
        },
      },
    ]);
  });

  it('renews the account of the same consumer key, whose place in the devices stays', async () => {
    const members = tokenMembers();
    const { body } = await client.upload(sealToken(pem, members));
    const { id } = body.data;
    await accounts().update({
      cursor: 'C',
      sync_phase: 'delta',
      status: 'token_expired',
      status_text: 'x',
      sealed_auth_session_token: Buffer.of(1),
      token_updated_at: new Date(0),
    });
    const renewed = tokenMembers({ consumer_key: members.consumer_key });
    const other = await client.download(`?account=${id}`);
    const reply = await client.upload(sealToken(other, renewed));
    expect([reply.status, reply.body.data.id]).toEqual([200, id]);
    const [row] = await accounts();
    const certificate = { certificate_id: row.token_certificate_id };
    const pair = await app.db.knex('dep_token_certificates').where(certificate).first();
    expect([pair.dep_account_id, pair.used_at === null]).toEqual([id, false]);
    expect(row).toMatchObject({
      access_token: renewed.access_token,
      cursor: 'C',
      sync_phase: 'delta',
      status: 'unconfirmed',
      status_text: null,
      sealed_auth_session_token: null,
    });
    expect(row.token_updated_at.getTime()).toBeGreaterThan(Date.now() - 10_000);
    const past = await history();
    expect(past.map(({ access_token }) => access_token)).toEqual([
      members.access_token,
      renewed.access_token,
    ]);
    expect(past.map(({ replaced_at }) => replaced_at === null)).toEqual([false, true]);
    const lines = await audited();
    expect(lines.at(-1)).toEqual({
      action: 'dep_accounts.token_renewed',
      outcome: 'success',
      details: {
        changes: expect.objectContaining({
          access_token: 'changed',
          access_secret: 'changed',
        }),
      },
    });
  });

  it('accepts the same file twice, and two at once, as one account and one token', async () => {
    const file = sealToken(pem, tokenMembers());
    const replies = await Promise.all([client.upload(file), client.upload(file)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 201]);
    await accounts().update({ status: 'ok' });
    const third = await client.upload(file);
    expect([third.status, third.body.data.attributes.status]).toEqual([200, 'ok']);
    expect([(await accounts()).length, (await history()).length]).toEqual([1, 1]);
    expect((await waiting()).length).toBe(1);
    expect((await audited()).at(-1)?.details).toEqual({ unchanged: true });
  });

  it('repeats the first answer to an Idempotency-Key', async () => {
    const file = sealToken(pem, tokenMembers());
    const key = { 'Idempotency-Key': 'two' };
    const first = await client.upload(file, '', key);
    const again = await client.upload(file, '', key);
    expect([again.status, again.text]).toEqual([201, first.text]);
  });

  it('warns about tokens that end soon, have no end, or were replaced before', async () => {
    const soon = new Date(Date.now() + 20.5 * 86_400_000).toISOString();
    const ending = await client.upload(sealToken(pem, tokenMembers({ access_token_expiry: soon })));
    expect(ending.body.meta.warnings).toEqual([
      {
        code: 'token_expiring',
        detail: expect.stringContaining(`${soon.slice(0, 10)}, in 20 days`),
      },
    ]);
    const first = tokenMembers({ access_token_expiry: undefined });
    const endless = await client.upload(sealToken(pem, first));
    expect(endless.status).toBe(201);
    expect(endless.body.data.attributes.access_token_expiry).toBeNull();
    const codes = (reply: typeof endless) =>
      reply.body.meta.warnings.map(({ code }: { code: string }) => code);
    expect(codes(endless)).toEqual(['token_expiry_missing']);
    await client.upload(sealToken(pem, tokenMembers({ consumer_key: first.consumer_key })));
    const back = await client.upload(sealToken(pem, first));
    expect(codes(back)).toEqual(['token_expiry_missing', 'former_token']);
  });
});

describe('a token for a certificate that was made for an account', () => {
  async function newAccount() {
    const members = tokenMembers();
    const { body } = await client.upload(sealToken(pem, members));
    return { id: body.data.id as number, members };
  }

  /** As if it had been downloaded for the account. */
  async function meanFor(dep_account_id: number): Promise<void> {
    const { fingerprint } = certificateIn(pem);
    const certificate = await app.db.knex('certificates').where({ fingerprint }).first('id');
    const pair = { certificate_id: certificate.id, dep_account_id };
    await app.db.knex('dep_token_certificates').insert(pair).onConflict('certificate_id').merge();
  }

  it('of another server is refused, unless it is forced: then the devices are read anew', async () => {
    const { id } = await newAccount();
    await accounts().update({
      cursor: 'C',
      sync_phase: 'delta',
      fetched_until: new Date(),
      confirmed_at: new Date(),
    });
    await meanFor(id);
    const members = tokenMembers();
    const refused = await client.upload(sealToken(pem, members));
    expect(verdict(refused)).toEqual([409, 'token_mismatch']);
    expect(refused.body.errors[0].detail).toContain('?force=true');
    expect((await accounts())[0].cursor).toBe('C');
    const forced = await client.upload(sealToken(pem, members), '?force=true');
    expect([forced.status, forced.body.data.id]).toEqual([200, id]);
    expect(await accounts()).toMatchObject([
      {
        consumer_key: members.consumer_key,
        cursor: null,
        sync_phase: 'fetch',
        fetched_until: null,
        confirmed_at: null,
        status: 'unconfirmed',
      },
    ]);
    expect((await audited()).slice(-2)).toEqual([
      {
        action: 'dep_accounts.token_uploaded',
        outcome: 'refused',
        details: { code: 'token_mismatch' },
      },
      {
        action: 'dep_accounts.token_replaced',
        outcome: 'success',
        details: {
          changes: expect.objectContaining({
            consumer_key: 'changed',
          }),
        },
      },
    ]);
  });

  it('of the server of another account is always refused', async () => {
    const { id } = await newAccount();
    const { id: otherId, members } = await newAccount();
    await meanFor(id);
    for (const query of ['', '?force=true']) {
      const reply = await client.upload(sealToken(pem, members), query);
      expect(verdict(reply)).toEqual([409, 'token_mismatch']);
      expect(reply.body.errors[0].detail).toContain(`account=${otherId}`);
    }
  });

  it('is the first one of an account that has none', async () => {
    const [{ id }] = await app.db.knex('dep_accounts').insert({ server_name: 'x' }, 'id');
    await meanFor(id);
    const reply = await client.upload(sealToken(pem, tokenMembers()));
    expect([reply.status, reply.body.data.id]).toEqual([200, id]);
  });
});

describe('an upload that is no token', () => {
  const refused = async (file: Buffer, query = '') => {
    const reply = await client.upload(file, query);
    expect(await accounts()).toEqual([]);
    return [...verdict(reply), reply.body.errors[0].detail as string] as const;
  };

  it('is refused with the error of the step that failed', async () => {
    const file = sealToken(pem, tokenMembers());
    const json = Buffer.from(JSON.stringify(tokenMembers()));
    const notSmime: [Buffer, RegExp][] = [
      [Buffer.alloc(0), /it is empty/],
      [json, /it looks like JSON/],
      [Buffer.from('hello'), /neither DER nor base64/],
      [file.subarray(0, file.length / 2), /S\/MIME/],
      [Buffer.from(pem), /S\/MIME/],
    ];
    for (const [bytes, why] of notSmime) {
      expect(await refused(bytes)).toEqual([422, 'invalid_smime', expect.stringMatching(why)]);
    }
    const missing = await refused(sealToken(pem, { consumer_key: 'CK', access_token: 'a b' }));
    expect(missing.slice(0, 2)).toEqual([422, 'invalid_token']);
    expect(missing[2]).toContain('consumer_secret is missing; access_token is not as in a token');
    const late = tokenMembers({ access_token_expiry: '2020-01-01T00:00:00Z' });
    const expired = await refused(sealToken(pem, late));
    expect(expired).toEqual([422, 'token_expired', expect.stringContaining('2020-01-01')]);
    const vague = tokenMembers({ access_token_expiry: 'soon' });
    expect((await refused(sealToken(pem, vague)))[1]).toBe('invalid_token');
    const codes = (await audited()).map(({ outcome, details }) => [outcome, details.code]);
    expect(new Set(codes.map(([outcome]) => outcome))).toEqual(new Set(['refused']));
    expect(codes.length).toBe(8);
  });

  it('has the same error for every failure of an envelope for a stored key', async () => {
    const der = Buffer.from(
      sealToken(pem, tokenMembers()).toString().split('\r\n\r\n')[1] ?? '',
      'base64',
    );
    const broken = [1, 2, 17, 33].map((back) => {
      const copy = Buffer.from(der);
      copy[copy.length - back] = (copy[copy.length - back] ?? 0) ^ 0x5a;
      return copy;
    });
    const inKey = Buffer.from(der);
    inKey[200] = (inKey[200] ?? 0) ^ 1;
    const texts = [sealText(pem, 'no token'), sealText(pem, '["x"]'), ...broken.slice(2), inKey];
    const answers = await Promise.all(texts.map((file) => refused(file)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]?.slice(0, 2)).toEqual([422, 'invalid_token']);
    expect(answers[0]?.[2]).toMatch(/^the file was made for the certificate "Muster enrollment/);
  });

  it('for another server is refused with a list of the certificates of this server', async () => {
    const outsider = fixture('dep/server-token.1.cert.pem').toString();
    const { serialHex, commonName } = certificateIn(outsider);
    const [status, code, detail] = await refused(sealToken(outsider, tokenMembers()));
    expect([status, code]).toEqual([422, 'no_matching_key']);
    expect(detail).toContain(serialHex);
    expect(detail).toContain(`CN=${commonName}`);
    expect(detail).toMatch(/this server has the keys of "Muster enrollment [^"]+" \(id \d+\)/);
    expect(detail).toContain('GET /dep/certificate/download');
  });

  it('of the lab is refused where the lab is off', async () => {
    const file = sealToken(pem, tokenMembers({ consumer_key: 'CK_lab_1' }));
    expect((await refused(file)).slice(0, 2)).toEqual([409, 'lab_only']);
  });
});

describe('the body of an upload', () => {
  const form = (fields: [string, Buffer][]): FormData => {
    const data = new FormData();
    for (const [name, bytes] of fields)
      data.append(name, new Blob([new Uint8Array(bytes)]), 'f.p7m');
    return data;
  };

  /** Sends half a form and goes away. */
  async function cutForm(): Promise<void> {
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const head = [`POST ${UPLOAD} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${ADMIN_TOKEN}`];
    const type = 'Content-Type: multipart/form-data; boundary=b';
    const lines = [...head, type, 'Content-Length: 1000', '', '--b'];
    await new Promise((resolve) => socket.write(lines.join('\r\n'), resolve));
    socket.destroy();
  }

  it('is a form with the field file, or the file under a type that says what it is', async () => {
    const file = sealToken(pem, tokenMembers());
    const sent = await client.send('POST', '/stoken/upload', { body: form([['file', file]]) });
    expect(sent.status).toBe(201);
    const types = [
      'application/x-pkcs7-mime',
      'application/octet-stream',
      'text/plain; charset=utf-8',
    ];
    for (const type of [...types, 'application/x-www-form-urlencoded', '']) {
      const reply = await client.upload(file, '', { 'Content-Type': type });
      expect([type, reply.status]).toEqual([type, 200]);
    }
  });

  it('is refused as something else, too large, or with more than one file', async () => {
    const file = sealToken(pem, tokenMembers());
    const upload = (type: string, body: Buffer) =>
      client.upload(body, '', { 'Content-Type': type });
    const other = await upload('application/json', Buffer.from('{}'));
    expect(verdict(other)).toEqual([415, 'unsupported_media_type']);
    expect(other.body.errors[0].detail).toContain('curl -F file=@FILE');
    const urlencoded = await upload('application/x-www-form-urlencoded', Buffer.from('file=x&y=1'));
    expect(urlencoded.status).toBe(415);
    const huge = Buffer.alloc(1024 * 1024 + 1, 'A');
    expect(verdict(await upload('application/pkcs7-mime', huge))).toEqual([
      413,
      'payload_too_large',
    ]);
    const send = (fields: [string, Buffer][]) =>
      client.send('POST', '/stoken/upload', { body: form(fields) });
    expect((await send([['file', huge]])).status).toBe(413);
    for (const fields of [
      [],
      [['other', file]],
      [
        ['file', file],
        ['file', file],
      ],
    ] as const) {
      const reply = await send(fields.map(([name, bytes]): [string, Buffer] => [name, bytes]));
      expect([fields.length, ...verdict(reply)]).toEqual([fields.length, 400, 'invalid_multipart']);
    }
    const packed = await client.upload(file, '', { 'Content-Encoding': 'gzip' });
    expect(packed.status).toBe(415);
    expect(verdict(await client.upload(file, '?forced=true'))).toEqual([400, 'invalid_parameter']);
    expect(await accounts()).toEqual([]);
  });

  it('is refused as a form that is far too large, packed or cut off, and the server goes on', async () => {
    const sendForm = (body: Buffer, headers: Record<string, string> = {}) => {
      const type = { 'Content-Type': 'multipart/form-data; boundary=b' };
      return client.send('POST', '/stoken/upload', { body, headers: { ...type, ...headers } });
    };
    const large = await sendForm(Buffer.alloc(3 * 1024 * 1024, 'A'));
    expect(verdict(large)).toEqual([413, 'payload_too_large']);
    const packed = await sendForm(Buffer.from('x'), { 'Content-Encoding': 'gzip' });
    expect(verdict(packed)).toEqual([415, 'unsupported_media_type']);
    await cutForm();
    await until(() =>
      app.logLines.some(({ path, aborted }) => path === UPLOAD && aborted === true),
    );
    expect((await client.send('GET', '/certificate/download')).status).toBe(200);
  });

  it('is not read from clients that may not upload, and their attempt is audited', async () => {
    const body = sealToken(pem, tokenMembers());
    const headers = { 'Content-Type': 'application/pkcs7-mime' };
    const send = (token: string | undefined) =>
      client.send('POST', '/stoken/upload', { token, body, headers });
    expect(verdict(await send(undefined))).toEqual([401, 'unauthorized']);
    expect(verdict(await send(await tokenOf('viewer')))).toEqual([403, 'forbidden']);
    expect((await audited()).slice(-1)).toEqual([
      {
        action: 'dep_accounts.token_uploaded',
        outcome: 'refused',
        details: { code: 'forbidden' },
      },
    ]);
    expect((await client.send('GET', '/stoken/upload')).headers.get('allow')).toBe('POST, OPTIONS');
  });

  it('leaves the device paths beside it open without a token', async () => {
    const anchors = await client.send('GET', '/anchor_certs', { token: undefined });
    const enroll = await client.send('POST', '/enroll', { token: undefined, body: 'x' });
    const nothing = await client.send('GET', '/stoken', { token: undefined });
    expect([anchors.status, enroll.status, nothing.status]).toEqual([200, 400, 404]);
  });
});
