import { type DepTestServer, signedBy, startDepTestServer } from '../dep/asking-device.js';
import type { TestApp } from '../helpers/app.js';
import type { Fields } from '../helpers/device.js';
import { removeTemporaryDirectories } from '../helpers/temporary-directory.js';
import { dumpRows } from '../mdm/rows.js';
import { type MadeLink, makeLink } from './links.js';
import {
  type Answer,
  askForCertificate,
  attributes,
  authenticate,
  get,
  identityFrom,
  otaChallenge,
  post,
  profileIn,
} from './ota-fixture.js';

const CLOSED = 'enrollment is closed on this server\n';
const NEEDS_LINK = 'enrollment needs a valid link from an administrator\n';

let deps: DepTestServer[] = [];

/** A server with this policy, on the database of another where one is given. */
async function start(ENROLLMENT: string, database?: TestApp['database']): Promise<DepTestServer> {
  const options = { isSweeping: false, env: { ENROLLMENT } };
  const dep = await startDepTestServer(database === undefined ? options : { ...options, database });
  deps.push(dep);
  return dep;
}

afterEach(async () => {
  for (const { app } of deps.slice(1)) await app.halt();
  await deps[0]?.app.stop();
  deps = [];
});
afterAll(removeTemporaryDirectories);

const oneStep = ({ app, device }: DepTestServer, query = '', facts: Fields = {}) =>
  post(app, `/enroll/profile${query}`, signedBy(device, attributes(facts)));
const textOf = ({ status, body }: Answer) => [status, body.toString()];

const knownSerial = ({ app }: DepTestServer) =>
  app.db.knex('devices').insert({ serial_number: 'C02PROGRAM1', is_dep: true });

describe('a server with ENROLLMENT=closed', () => {
  it('refuses every device, known or not, whatever it got before', async () => {
    const open = await start('open');
    const CHALLENGE = await otaChallenge(open.app);
    const begun = await authenticate(open.app, open.device, { CHALLENGE });
    const identity = await identityFrom(open.app, begun);
    const other = await otaChallenge(open.app);
    const closed = await start('closed', open.app.database);
    await knownSerial(closed);
    const before = await dumpRows(closed.app.db);
    const answers = [
      await get(closed.app, '/enroll/ota'),
      await authenticate(closed.app, closed.device, { CHALLENGE: other }),
      await authenticate(closed.app, identity),
      await oneStep(closed),
    ];
    expect(answers.map(textOf)).toEqual(answers.map(() => [403, CLOSED]));
    expect(await dumpRows(closed.app.db)).toEqual(before);
    expect((await get(closed.app, '/enroll/trust.mobileconfig')).status).toBe(200);
  });
});

describe('a server with ENROLLMENT=link', () => {
  let dep: DepTestServer;
  let app: TestApp;

  beforeEach(async () => {
    dep = await start('link');
    ({ app } = dep);
  });

  const usesOf = async ({ id }: MadeLink) =>
    (await app.db.knex('enrollment_links').where({ id }).first('uses')).uses;

  it('refuses unknown devices', async () => {
    for (const query of ['', '?token=guessed']) {
      const before = await dumpRows(app.db);
      expect(textOf(await get(app, `/enroll/ota${query}`))).toEqual([403, NEEDS_LINK]);
      expect(textOf(await oneStep(dep, query))).toEqual([403, NEEDS_LINK]);
      expect(await dumpRows(app.db)).toEqual(before);
    }
  });

  it('accepts a device known from DEP without a link, but not with an invalid one', async () => {
    await knownSerial(dep);
    expect((await oneStep(dep)).status).toBe(200);
    expect(textOf(await oneStep(dep, '?token=guessed'))).toEqual([403, NEEDS_LINK]);
    expect((await oneStep(dep, '', { SERIAL: 'C02ANOTHER1' })).status).toBe(403);
  });

  it('accepts a link of one use in both phases, counted once by SCEP', async () => {
    const link = await makeLink(app, { max_uses: 1 });
    const [CHALLENGE, late] = [
      await otaChallenge(app, `?token=${link.token}`),
      await otaChallenge(app, `?token=${link.token}`),
    ];
    const begun = await authenticate(app, dep.device, { CHALLENGE });
    expect(await usesOf(link)).toBe(0);
    const identity = await identityFrom(app, begun);
    expect(await usesOf(link)).toBe(1);
    const enrollment = await authenticate(app, identity);
    await identityFrom(app, enrollment);
    expect(await usesOf(link)).toBe(1);
    const [row, ...others] = await app.db.knex('enrollment_requests').select();
    expect([row.enrollment_link_id, others]).toEqual([link.id, []]);
    const refused = await authenticate(app, dep.device, { CHALLENGE: late });
    expect(textOf(refused)).toEqual([403, 'this link was used as often as it may be\n']);
    expect((await get(app, `/enroll/ota?token=${link.token}`)).status).toBe(403);
  });

  it('keeps the link of a device that signs in one step', async () => {
    const link = await makeLink(app, { max_uses: 1 });
    const answers = [
      await oneStep(dep, `?token=${link.token}`),
      await oneStep(dep, `?token=${link.token}`, { SERIAL: 'C02ANOTHER1' }),
    ];
    const rows = await app.db.knex('enrollment_requests').pluck('enrollment_link_id');
    expect(rows).toEqual([link.id, link.id]);
    const [first, second] = answers as [Answer, Answer];
    expect((await askForCertificate(app, first)).status).toBe('success');
    expect((await askForCertificate(app, second)).status).toBe('failure');
  });

  it('refuses, in each phase, a link that was disabled, has expired or was deleted', async () => {
    const link = await makeLink(app);
    const CHALLENGE = await otaChallenge(app, `?token=${link.token}`);
    const other = await otaChallenge(app, `?token=${link.token}`);
    const identity = await identityFrom(app, await authenticate(app, dep.device, { CHALLENGE }));
    const row = () => app.db.knex('enrollment_links').where({ id: link.id });
    const phases = async () => [
      textOf(await authenticate(app, dep.device, { CHALLENGE: other })),
      textOf(await authenticate(app, identity)),
    ];
    const twice = (text: string) => [
      [403, text],
      [403, text],
    ];
    await row().update({ is_disabled: true });
    expect(await phases()).toEqual(twice('an administrator has disabled this link\n'));
    await row().update({ is_disabled: false, expires_at: new Date(0) });
    await knownSerial(dep);
    expect(await phases()).toEqual(twice('this link has expired\n'));
    await app.db.knex('devices').delete();
    await row().delete();
    expect(await phases()).toEqual(twice(NEEDS_LINK));
  });

  it('requires a link of devices that began with ENROLLMENT=open, unless they are known from DEP', async () => {
    const link = await makeLink(app);
    const open = await start('open', app.database);
    const CHALLENGE = await otaChallenge(open.app);
    const identity = await identityFrom(
      open.app,
      await authenticate(open.app, open.device, { CHALLENGE }),
    );
    const other = await otaChallenge(open.app);
    expect(textOf(await authenticate(app, dep.device, { CHALLENGE: other }))).toEqual([
      403,
      NEEDS_LINK,
    ]);
    expect(textOf(await authenticate(app, identity))).toEqual([403, NEEDS_LINK]);
    await knownSerial(dep);
    expect(profileIn(await authenticate(app, identity)).PayloadType).toBe('Configuration');
    expect(await usesOf(link)).toBe(0);
  });
});
