import { createToken } from '../../../src/auth/api-tokens.js';
import type { PlistNode } from '../../../src/protocol/plist/plist.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { dict, payload, profile } from '../../profiles/sample-profiles.js';
import { uploadNodes } from '../profile-samples.js';

const CONTEXT = {
  requestId: 'diff',
  actor: { name: 'diff', role: 'admin' as const },
  sourceAddress: null,
};
const APP = { PayloadIdentifier: 'com.example.app.one', PayloadUUID: 'A' };

let app: TestApp;
let viewer: string;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  viewer = (await createToken(app.db, { name: 'viewer', role: 'viewer' }, CONTEXT)).token;
});
afterAll(() => app.stop());

let count = 0;

/** Versions with these payloads. Returns the id of their profile. */
async function uploaded(...versions: Map<string, PlistNode>[][]): Promise<number> {
  count += 1;
  const members = { PayloadIdentifier: `com.example.diff.${count}`, PayloadUUID: 'U' };
  let id = 0;
  for (const [index, payloads] of versions.entries()) {
    const named = { ...members, PayloadDisplayName: `Version ${index + 1}` };
    const { status, body } = await uploadNodes(app, profile(payloads, named));
    expect(status).toBe(201);
    id = body.data.id;
  }
  return id;
}

function diffOf(id: number | string, from: number | string = 1, to: number | string = 2) {
  return adminApi(app, viewer).get(`/profiles/${id}/versions/${from}/diff/${to}`);
}

const NAME = {
  change: 'changed',
  payload: null,
  payload_type: null,
  path: '/PayloadDisplayName',
  before: 'Version 1',
  after: 'Version 2',
};

describe('the difference of two versions of a profile', () => {
  it('is refused without a token, for an unknown version, and with a parameter', async () => {
    const id = await uploaded([]);
    const answers = await Promise.all([
      adminApi(app, 'no-such-token-at-all').get(`/profiles/${id}/versions/1/diff/1`),
      diffOf(999_999),
      diffOf(id, 1, 2),
      diffOf(id, 'x', 1),
      diffOf(id, 0, 1),
      adminApi(app, viewer).get(`/profiles/${id}/versions/1/diff/1?a=b`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([401, 404, 404, 404, 404, 400]);
    expect(answers[2]?.body.errors[0].detail).toBe(`version 2 of profiles ${id} does not exist`);
  });

  it('lists keys that were added, removed and changed, at any depth', async () => {
    const id = await uploaded(
      [
        payload('com.example.app', {
          ...APP,
          Same: 'x',
          Number: 1n,
          Old: true,
          Deep: dict({ 'a/b': ['x', 'y'], Date: new Date('2030-01-02T03:04:05Z') }),
          Type: '1',
        }),
        payload('com.apple.dock', { PayloadIdentifier: 'com.example.gone' }),
      ],
      [
        payload('com.apple.finder', { PayloadIdentifier: 'com.example.new' }),
        payload('com.example.app', {
          ...APP,
          Same: 'x',
          Number: 2n,
          Deep: dict({ 'a/b': ['x', 'z', '$SERIAL'], Date: new Date('2031-01-02T03:04:05Z') }),
          Type: 1n,
          Data: Buffer.from('four'),
          Empty: dict({}),
        }),
      ],
    );
    const { status, body } = await diffOf(id);
    expect(status).toBe(200);
    const of = { payload: 'com.example.app.one', payload_type: 'com.example.app' };
    const none = { before: null, after: null, path: '' };
    const changed = (path: string, before: unknown, after: unknown) => {
      const change = before === null ? 'added' : after === null ? 'removed' : 'changed';
      return { change, ...of, path, before, after };
    };
    expect(body.data).toEqual({
      type: 'profile_diffs',
      id,
      attributes: {
        from: 1,
        to: 2,
        total: 11,
        changes: [
          NAME,
          changed('/Number', 1, 2),
          changed('/Old', true, null),
          changed('/Deep/a~1b/1', 'y', 'z'),
          changed('/Deep/Date', '2030-01-02T03:04:05+00:00', '2031-01-02T03:04:05+00:00'),
          changed('/Type', '1', 1),
          changed('/Deep/a~1b/2', null, '$SERIAL'),
          changed('/Data', null, '(4 bytes)'),
          changed('/Empty', null, '{}'),
          {
            change: 'removed',
            payload: 'com.example.gone',
            payload_type: 'com.apple.dock',
            ...none,
          },
          {
            change: 'added',
            payload: 'com.example.new',
            payload_type: 'com.apple.finder',
            ...none,
          },
        ],
      },
      links: { self: `/api/v1/profiles/${id}/versions/1/diff/2` },
    });
  });

  it('masks secrets, and still says that they differ', async () => {
    const version = (secret: string) => [
      payload('com.example.app', {
        ...APP,
        Password: secret,
        Token: Buffer.from(secret),
        Credentials: dict({ user: secret }),
        Address: `https://ada:${secret}@example.com/`,
        MinLength: secret.length === 3 ? 3n : 4n,
      }),
      payload('com.apple.security.pkcs12', {
        PayloadIdentifier: 'com.example.key',
        PayloadUUID: 'K',
        PayloadContent: Buffer.from(secret),
      }),
    ];
    const id = await uploaded(version('abc'), version('defg'));
    const { body, text } = await diffOf(id);
    const values = body.data.attributes.changes.map(
      ({ path, before, after }: Record<string, string>) => [path, before, after],
    );
    const mask = '********';
    expect(values).toEqual([
      ['/PayloadDisplayName', 'Version 1', 'Version 2'],
      ['/Password', mask, mask],
      ['/Token', mask, mask],
      ['/Credentials/user', mask, mask],
      ['/Address', mask, mask],
      ['/MinLength', 3, 4],
      ['/PayloadContent', mask, mask],
    ]);
    expect(text).not.toMatch(/abc|defg/);
  });

  it('is empty of a version and itself', async () => {
    const id = await uploaded([payload('com.example.app')]);
    const { body } = await diffOf(id, 1, 1);
    expect(body.data.attributes).toEqual({ from: 1, to: 1, total: 0, changes: [] });
  });

  it('lists a thousand changes and counts the others, also of large versions', async () => {
    const lines = (word: string) =>
      Array.from({ length: 1_500 }, (_, line) => `${word} ${line} ${'x'.repeat(100)}`);
    const version = (word: string) => [payload('com.example.app', { ...APP, Lines: lines(word) })];
    const id = await uploaded(version('a'), version('b'));
    const { body } = await diffOf(id);
    const { total, changes } = body.data.attributes;
    expect([total, changes.length]).toEqual([1_501, 1_000]);
    expect(changes[1]).toMatchObject({ path: '/Lines/0', before: lines('a')[0] });
  });
});
