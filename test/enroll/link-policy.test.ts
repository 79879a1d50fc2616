import { Random } from '../../src/lab/devices/random.js';
import { createSimulatedDevice } from '../../src/lab/devices/simulated-device.js';
import { fetchProfile } from '../../src/lab/enrollment/enrollment-profile.js';
import { requestIdentity } from '../../src/lab/pki/scep-client.js';
import { HttpClient } from '../../src/lab/wire/http-client.js';
import { EnrollmentChallenges } from '../../src/pki/authority/enrollment-challenge.js';
import { type PlistDict, parsePlistDict } from '../../src/protocol/plist/plist.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { nextKeys } from '../helpers/prepared-keys.js';
import { makeLink } from './links.js';

const POLICIES = ['open', 'link', 'closed'] as const;

const NEEDED = 'enrollment needs a valid link from an administrator\n';

let apps: Record<(typeof POLICIES)[number], TestApp>;

beforeAll(async () => {
  const start = (ENROLLMENT: string) => startApp({ env: { ENROLLMENT }, isSweeping: false });
  const [open, link, closed] = [await start('open'), await start('link'), await start('closed')];
  apps = { open, link, closed };
});
afterAll(() => Promise.all(Object.values(apps ?? {}).map((app) => app.stop())));

function profileOf(app: TestApp, token?: string): Promise<Response> {
  const query = token === undefined ? '' : `?token=${encodeURIComponent(token)}`;
  return fetch(`${app.url}/enroll/profile${query}`);
}

async function answerOf(app: TestApp, token?: string): Promise<[number, string]> {
  const response = await profileOf(app, token);
  return [response.status, await response.text()];
}

/** What the challenge in the profile was made for. */
async function challengeIn(app: TestApp, response: Response) {
  expect(response.status).toBe(200);
  const { PayloadContent } = parsePlistDict(Buffer.from(await response.arrayBuffer()));
  const scep = (PayloadContent as PlistDict[]).find(
    ({ PayloadType }) => PayloadType === 'com.apple.security.scep',
  );
  const { Challenge } = (scep?.PayloadContent ?? {}) as { Challenge?: string };
  return new EnrollmentChallenges({ box: app.box }).readChallenge(Challenge ?? '');
}

describe('ENROLLMENT=link', () => {
  it.each([
    ['no token', undefined],
    ['an empty token', ''],
    ['an unknown token', 'A'.repeat(32)],
    ['a token that is longer than any', 'A'.repeat(5_000)],
    ['a token with a zero octet', 'A\0'],
  ])('refuses %s', async (_case, token) => {
    expect(await answerOf(apps.link, token)).toEqual([403, NEEDED]);
  });

  it.each([
    ['expired', { expires_at: '2020-01-01T00:00:00Z' }, 'this link has expired\n'],
    ['disabled', { is_disabled: true }, 'an administrator has disabled this link\n'],
  ])('refuses a link that is %s, with the reason', async (_case, attributes, reason) => {
    const { token } = await makeLink(apps.link, attributes);
    expect(await answerOf(apps.link, token)).toEqual([403, reason]);
    expect(apps.link.logText()).not.toContain(token);
  });

  it('refuses a link whose uses are used up, until it has more', async () => {
    const { id, token } = await makeLink(apps.link, { max_uses: 2 });
    await apps.link.db.knex('enrollment_links').where({ id }).update({ uses: 2 });
    expect(await answerOf(apps.link, token)).toEqual([
      403,
      'this link was used as often as it may be\n',
    ]);
    const data = { type: 'enrollment_links', attributes: { max_uses: 3 } };
    await adminApi(apps.link).patch(`/enrollment_links/${id}`, { data }).expect(200);
    expect((await profileOf(apps.link, token)).status).toBe(200);
  });

  it('refuses a link that was deleted, and a token that is sent twice', async () => {
    const { id, token } = await makeLink(apps.link);
    const twice = await fetch(`${apps.link.url}/enroll/profile?token=${token}&token=${token}`);
    expect(twice.status).toBe(403);
    await adminApi(apps.link).delete(`/enrollment_links/${id}`).expect(204);
    expect(await answerOf(apps.link, token)).toEqual([403, NEEDED]);
  });

  it('sends the profile to anyone with a link, with a challenge that names the link', async () => {
    const { id, token } = await makeLink(apps.link, { max_uses: 1 });
    const challenge = await challengeIn(apps.link, await profileOf(apps.link, token));
    expect([challenge.linkId, challenge.requestId]).toEqual([id, undefined]);
  });

  it('counts no use before a device has its certificate', async () => {
    const { id, token } = await makeLink(apps.link, { max_uses: 1 });
    for (let times = 0; times < 3; times += 1) {
      expect((await profileOf(apps.link, token)).status).toBe(200);
    }
    expect(await apps.link.db.knex('enrollment_links').where({ id }).first('uses')).toEqual({
      uses: 0,
    });
  });
});

describe('a use of a link', () => {
  async function identityBy(token: string): Promise<unknown> {
    const http = new HttpClient({ retryMs: 0, signal: new AbortController().signal });
    try {
      const { scep } = await fetchProfile(http, apps.link.url, token);
      const device = createSimulatedDevice({ platform: 'iOS', random: new Random(token) });
      const keys = await nextKeys();
      const url = `${apps.link.url}/scep`;
      return await requestIdentity({ http, scep: { ...scep, url }, device, keys });
    } finally {
      http.close();
    }
  }

  it('is a certificate issued by it, until there are no more', async () => {
    const { id, token } = await makeLink(apps.link, { max_uses: 1 });
    await identityBy(token);
    const { body } = await adminApi(apps.link).get(`/enrollment_links/${id}`).expect(200);
    const { uses, status, last_used_at } = body.data.attributes;
    expect([uses, status]).toEqual([1, 'spent']);
    expect(Math.abs(Date.parse(last_used_at) - Date.now())).toBeLessThan(60_000);
    expect((await profileOf(apps.link, token)).status).toBe(403);
  });
});

describe('ENROLLMENT=open', () => {
  it('requires no link, but records the link of a request that has one', async () => {
    const { id, token } = await makeLink(apps.open);
    const without = await challengeIn(apps.open, await profileOf(apps.open));
    const through = await challengeIn(apps.open, await profileOf(apps.open, token));
    expect([without.linkId, through.linkId]).toEqual([undefined, id]);
  });

  it('refuses an invalid link', async () => {
    const { token } = await makeLink(apps.open, { is_disabled: true });
    expect(await answerOf(apps.open, token)).toEqual([
      403,
      'an administrator has disabled this link\n',
    ]);
    expect(await answerOf(apps.open, 'unknown')).toEqual([403, NEEDED]);
  });

  it('is warned about at /api/v1/credentials, which mentions links', async () => {
    const { body } = await adminApi(apps.open).get('/credentials').expect(200);
    const warnings = body.data.attributes.warnings as { code: string; detail: string }[];
    expect(warnings.filter(({ code }) => code === 'enrollment_open')).toEqual([
      {
        code: 'enrollment_open',
        detail:
          'ENROLLMENT=open: anyone who reaches this server can enroll a device. Set link, and ' +
          'hand out the links of /api/v1/enrollment_links, or closed. Such a device can also name the ' +
          'UDID of an enrolled one and replace it; set REPLACE_ENROLLED=hold to approve that first.',
      },
    ]);
    for (const app of [apps.link, apps.closed]) {
      const { body } = await adminApi(app).get('/credentials').expect(200);
      const codes = (body.data.attributes.warnings as { code: string }[]).map(({ code }) => code);
      expect(codes).not.toContain('enrollment_open');
    }
  });
});

describe('ENROLLMENT=closed', () => {
  it('refuses everyone, even with a link', async () => {
    const { token } = await makeLink(apps.closed);
    const refusal = [403, 'enrollment is closed on this server\n'];
    expect(await answerOf(apps.closed)).toEqual(refusal);
    expect(await answerOf(apps.closed, token)).toEqual(refusal);
  });
});
