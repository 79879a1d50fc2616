import { readProfileFile } from '../../../src/lab/enrollment/enrollment-profile.js';
import { EnrollmentChallenges } from '../../../src/pki/authority/enrollment-challenge.js';
import { buildPlist } from '../../../src/protocol/plist/plist.js';
import { asAuthority, ecIdentity, fixture, identityOf } from '../../crypto/identities.js';
import {
  askAs,
  askToEnroll,
  type DepTestServer,
  deviceAuthority,
  MACHINE,
  signedBy,
  startDepTestServer,
  UDID,
} from '../../dep/asking-device.js';
import { deviceKeys, issueIdentity } from '../../helpers/device.js';
import { removeTemporaryDirectories } from '../../helpers/temporary-directory.js';
import { BinaryPlist } from '../../protocol/plist/binary-plist.js';

let dep: DepTestServer;

beforeAll(async () => {
  dep = await startDepTestServer({ isSweeping: false });
});
afterAll(async () => {
  await dep.app.stop();
  removeTemporaryDirectories();
});
afterEach(async () => {
  for (const table of ['enrollment_requests', 'devices', 'dep_accounts', 'dep_profiles']) {
    await dep.app.db.knex(table).delete();
  }
});

const requests = () => dep.app.db.knex('enrollment_requests').orderBy('id').select();
const machine = () => buildPlist(MACHINE);
const ask = (der: Buffer, type?: string | null) => askToEnroll(dep.app, der, type);

/** What the profile is for, as its challenge says. */
function challengeIn(body: Buffer) {
  const challenges = new EnrollmentChallenges({ box: dep.app.box });
  return challenges.readChallenge(readProfileFile(body).scep.challenge ?? '');
}

describe('POST /dep/enroll refuses', () => {
  afterEach(async () => expect(await requests()).toEqual([]));

  it('a certificate of an unknown CA, and logs the issuer', async () => {
    const subject = [{ type: 'CN' as const, value: 'Impostor' }];
    const issuedBy = await ecIdentity('P-256', { ...asAuthority, subject });
    const outsider = identityOf(await deviceKeys(), { issuedBy });
    expect((await ask(signedBy(outsider, machine()))).status).toBe(403);
    const reasons = dep.app.logLines.flatMap(({ reason }) => (reason ? [reason] : []));
    expect(reasons).toContain(
      'the signer was not issued by a device CA; issuer of the signer: CN=Impostor',
    );
  });

  it('an identity that our own CA issued to an enrolled device', async () => {
    const { authority } = dep.app;
    const { privateKey, ...rest } = await deviceKeys();
    const certificate = issueIdentity(authority, { privateKey, ...rest });
    const der = signedBy({ ...rest, privateKey, certificate }, machine());
    expect((await ask(der)).status).toBe(403);
  });

  it('the device CA itself as a device', async () => {
    expect((await ask(signedBy(await deviceAuthority(), machine()))).status).toBe(403);
  });

  it('a body that was changed after it was signed', async () => {
    const der = signedBy(dep.device, machine());
    der[der.indexOf('C02PROGRAM1')] = 0x44;
    expect((await ask(der)).status).toBe(400);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a property list that nobody signed', buildPlist(MACHINE)],
    ['noise', Buffer.from('3080020100', 'hex')],
  ])('%s', async (_name, body) => {
    expect((await ask(body)).status).toBe(400);
  });

  it.each([
    ['no UDID', { UDID: '' }],
    ['no SERIAL', { SERIAL: '' }],
  ])('a body that signs %s', async (_name, facts) => {
    expect((await askAs(dep, facts)).status).toBe(400);
  });

  it('the signed answer to a challenge, of whatever server', async () => {
    expect((await askAs(dep, { CHALLENGE: 'of another server' })).status).toBe(403);
  });

  it('a body larger than any device sends', async () => {
    expect((await askAs(dep, { LANGUAGE: 'x'.repeat(20_000) })).status).toBe(413);
    expect((await ask(Buffer.alloc(70_000))).status).toBe(413);
  });

  it('a serial number that no database could hold', async () => {
    const plist = new BinaryPlist();
    const der = signedBy(dep.device, plist.bytes(plist.value({ UDID, SERIAL: 'C02\0' })));
    expect((await ask(der)).status).toBe(400);
  });

  it('any method but POST, with Allow', async () => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const response = await fetch(`${dep.app.url}/dep/enroll`, { method });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    }
  });
});

describe('POST /dep/enroll', () => {
  it.each([['application/pkcs7-signature'], ['application/x-apple-aspen-deviceinfo'], [null]])(
    'answers with a profile bound to what the device signed (Content-Type %s)',
    async (type) => {
      const { status, type: answered, body } = await ask(signedBy(dep.device, machine()), type);
      expect([status, answered]).toEqual([200, 'application/x-apple-aspen-config']);
      const [request, ...others] = await requests();
      expect(others).toEqual([]);
      expect(request).toMatchObject({
        method: 'automated',
        udid: UDID,
        serial_number: 'C02PROGRAM1',
        language: 'de-CH',
        product_name: 'iPhone14,5',
        build_version: '21A342',
        os_version: '17.0',
        imei: '35 123456 789012 3',
        meid: '35123456789012',
        account: null,
        unmet_minimum_os_version: null,
        device_id: null,
        enrolled_at: null,
        signer: dep.device.certificate.fingerprint,
      });
      const { requestId, expiresAt } = challengeIn(body);
      expect(requestId).toBe(request.id);
      expect(Math.abs(expiresAt.getTime() - request.expires_at.getTime())).toBeLessThan(60_000);
    },
  );

  it("accepts the message of an iPad that knows the contract's keys alone", async () => {
    const der = signedBy(dep.device, fixture('enroll/MachineInfo.ios.plist'));
    expect((await ask(der)).status).toBe(200);
    expect(await requests()).toMatchObject([
      {
        udid: '00000000000000000000000000000000',
        serial_number: 'BLXLN1111111',
        product_name: 'iPad4,1',
        build_version: '15A5278f',
        language: 'en-AU',
        os_version: null,
        imei: null,
        meid: null,
      },
    ]);
  });

  it('does not require PRODUCT and VERSION', async () => {
    expect((await askAs(dep, { PRODUCT: '', VERSION: '' })).status).toBe(200);
  });

  it('creates a new request and challenge for a device that asks again', async () => {
    const bodies = [await askAs(dep), await askAs(dep)].map(({ body }) => body);
    const ids = bodies.map((body) => challengeIn(body).requestId);
    expect(ids).toEqual((await requests()).map(({ id }) => id));
    expect(new Set(ids).size).toBe(2);
  });

  it('changes no record of a device', async () => {
    const known = { is_dep: true, serial_number: 'C02PROGRAM1', enrollment_state: 'dep' };
    await dep.app.db.knex('devices').insert(known);
    const before = await dep.app.db.knex('devices').select();
    expect((await askAs(dep)).status).toBe(200);
    expect(await dep.app.db.knex('devices').select()).toEqual(before);
  });
});
