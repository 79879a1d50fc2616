import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fixture } from '../../crypto/identities.js';
import { type OpenSsl, openSsl } from '../../crypto/openssl.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { depClient, type TokenMembers, tokenContent, tokenMembers } from './sealed-token.js';

let app: TestApp;
let client: ReturnType<typeof depClient>;
let tool: OpenSsl;
const server = tokenMembers();

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  client = depClient(app);
  tool = openSsl();
  tool.write('own.pem', await client.download());
  tool.write('other.pem', fixture('dep/server-token.1.cert.pem'));
});
afterAll(async () => {
  tool.remove();
  await app.stop();
});

/** Another token of the same server. */
function nextToken(): TokenMembers {
  const token = tokenMembers({ consumer_key: server.consumer_key });
  tool.write('token', tokenContent(JSON.stringify(token)));
  return token;
}

const encrypt = (...how: string[]): Buffer =>
  tool.run('cms', '-encrypt', '-binary', '-in', 'token', ...how, 'own.pem');

const asText = (file: Buffer, change: (text: string) => string): Buffer =>
  Buffer.from(change(file.toString('latin1')), 'latin1');

const FORMS: [what: string, make: () => Buffer][] = [
  ['AES-128', () => encrypt('-aes128')],
  ['AES-256', () => encrypt('-aes256')],
  ['3DES, as Apple does', () => encrypt('-des3')],
  ['indefinite lengths', () => encrypt('-aes256', '-stream')],
  ['LF', () => asText(encrypt('-aes256'), (text) => text.replaceAll('\r\n', '\n'))],
  ['CRLF', () => asText(encrypt('-aes256'), (text) => text.replace(/\r?\n/g, '\r\n'))],
  [
    'folded headers',
    () => asText(encrypt('-aes256'), (text) => text.replace(/; (?=smime-type|name)/g, ';\n\t')),
  ],
  ['bare DER', () => encrypt('-aes256', '-outform', 'DER')],
  ['bare DER with indefinite lengths', () => encrypt('-aes256', '-stream', '-outform', 'DER')],
  ['PEM', () => encrypt('-aes256', '-outform', 'PEM')],
  ['base64 alone', () => asText(encrypt('-outform', 'PEM'), (text) => text.replace(/^-.*$/gm, ''))],
  ['two recipients, this server the second', () => encrypt('-aes256', 'other.pem')],
  ['a recipient by its key identifier', () => encrypt('-aes256', '-keyid')],
  ['OAEP', () => encrypt('-aes256', '-recip', 'own.pem', '-keyopt', 'rsa_padding_mode:oaep')],
];

describe('a server token made by OpenSSL opens', () => {
  it.each(FORMS)('with %s', async (_what, make) => {
    const token = nextToken();
    const reply = await client.upload(make());
    expect(reply.body.errors).toBeUndefined();
    expect(reply.body.data.attributes).toMatchObject({
      consumer_key: token.consumer_key,
      access_token: token.access_token,
    });
  });

  it('in the form that Apple sends, with the key and certificate that it was made for', async () => {
    const attributes = {
      purpose: 'dep.stoken',
      pem_certificate: fixture('dep/server-token.1.cert.pem').toString(),
      pem_private_key: fixture('dep/server-token.1.key.pem').toString(),
    };
    const document = { data: { type: 'certificates', attributes } };
    expect((await adminApi(app).post('/certificates', document)).status).toBe(201);
    const reply = await client.upload(fixture('dep/server-token.1.p7m'));
    const expected = JSON.parse(fixture('dep/server-token.1.expected.json').toString());
    expect(reply.status).toBe(201);
    expect(reply.body.data.attributes).toMatchObject({
      consumer_key: expected.consumer_key,
      access_token: expected.access_token,
      access_token_expiry: '2031-01-15T09:30:00+00:00',
    });
  });
});

describe('curl uploads a server token', () => {
  const curl = async (...how: string[]): Promise<string> => {
    const auth = ['-u', `admin:${ADMIN_TOKEN}`];
    const url = `${app.url}/dep/stoken/upload`;
    const args = ['-sS', '-w', '%{http_code}', '-o', 'answer', ...auth, ...how, url];
    const { stdout } = await promisify(execFile)('curl', args, { cwd: tool.directory });
    return stdout;
  };

  it.each([
    ['as a form', ['-F', 'file=@smime.p7m']],
    ['as the body', ['--data-binary', '@smime.p7m']],
    ['as DER', ['--data-binary', '@smime.der']],
    [
      'as the body with its type',
      ['-HContent-Type: application/pkcs7-mime', '-T', 'smime.p7m', '-XPOST'],
    ],
  ])('%s', async (_what, how) => {
    const token = nextToken();
    tool.write('smime.p7m', encrypt('-aes256'));
    tool.write('smime.der', encrypt('-aes256', '-outform', 'DER'));
    expect(['200', '201']).toContain(await curl(...how));
    const answer = JSON.parse(tool.read('answer').toString());
    expect(answer.data.attributes.access_token).toBe(token.access_token);
  });

  it('a form without a file is refused with what to send instead', async () => {
    expect(await curl('-d', 'file=smime.p7m')).toBe('415');
    expect(tool.read('answer').toString()).toContain('curl --data-binary @FILE');
  });
});
