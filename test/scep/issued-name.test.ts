import type { KeyPair } from '../../src/crypto/keys/keys.js';
import { type ParsedCertificate, parseCertificate } from '../../src/crypto/x509/certificate.js';
import type { BuildCsrOptions } from '../../src/crypto/x509/csr.js';
import {
  type EnrollmentRequest,
  insertEnrollmentRequest,
} from '../../src/db/enroll/enrollment-request-repository.js';
import { insertCertificate } from '../../src/db/pki/certificate-repository.js';
import type { ChallengeOptions } from '../../src/pki/authority/enrollment-challenge.js';
import { certificateRecord } from '../../src/pki/certificates/certificate-record.js';
import { MessageType } from '../../src/protocol/scep/scep.js';
import { type Identity, identityOf, rsaIdentity } from '../crypto/identities.js';
import { nextKeys } from '../helpers/prepared-keys.js';
import { addLink, signedRequest } from '../mdm/request-fixture.js';
import { ask, csrOf, issuedIn, type ScepServer, startScepServer } from './scep-server.js';

const UDID = '00008110-001A2B3C4D5E6F70';
const SERIAL = 'C02ABCDEFGHJ';
const FACTS = { udid: UDID, serial_number: SERIAL };

/** Names that an attacker would ask for. */
const HOSTILE = {
  subject: [
    { type: 'O', value: 'Apple Inc.' },
    { type: 'CN', value: UDID },
  ],
  subjectAltName: [
    { type: 'upn', value: 'administrator@corp.example' },
    { type: 'dns', value: 'vpn.corp.example' },
  ],
  extendedKeyUsage: ['1.3.6.1.5.5.7.3.1', '1.3.6.1.4.1.311.20.2.2'],
  keyUsage: ['keyCertSign', 'cRLSign', 'digitalSignature'],
} satisfies Partial<BuildCsrOptions>;

let server: ScepServer;
let signer: Identity;
let otherKeys: KeyPair;

beforeAll(async () => {
  [server, signer, otherKeys] = await Promise.all([startScepServer(), rsaIdentity(), nextKeys()]);
});
afterAll(() => server.drop());
beforeEach(async () => {
  const { knex } = server.db;
  await knex('certificates').where({ purpose: 'mdm.device' }).delete();
  const tables = ['device_identities', 'devices', 'enrollment_requests', 'scep_configurations'];
  for (const table of tables) await knex(table).delete();
});

interface Named {
  leaf: ParsedCertificate;
  /** Of the challenge. */
  id: string;
}

async function issue(options: ChallengeOptions = {}, keys: KeyPair = signer): Promise<Named> {
  const challengePassword = server.challenges.issueChallenge(options);
  const csr = csrOf(keys, { ...HOSTILE, challengePassword });
  const leaf = issuedIn(await ask(server, { csr, signer }));
  const id = server.challenges.readChallenge(challengePassword).nonce.toString('hex');
  return { leaf, id };
}

async function issueForRequest(request: Partial<EnrollmentRequest>): Promise<Named> {
  const requestId = await insertEnrollmentRequest(server.db.knex, signedRequest(request));
  return issue({ requestId });
}

async function configure(columns: Record<string, unknown>): Promise<void> {
  await server.db.knex('scep_configurations').insert({ id: 1, ...columns });
}

/** The content of a certificate except its key and dates. */
const contentOf = ({
  subject,
  subjectAltNames,
  keyUsage,
  extendedKeyUsage,
  isCa,
}: ParsedCertificate) => ({ subject, subjectAltNames, keyUsage, extendedKeyUsage, isCa });

const plain = (subject: string) => ({
  subject,
  subjectAltNames: [],
  keyUsage: ['digitalSignature', 'keyEncipherment'],
  extendedKeyUsage: ['1.3.6.1.5.5.7.3.2'],
  isCa: false,
});

describe('a certificate for an enrollment without proof', () => {
  it('is named by the id of its challenge, not by the names in the request', async () => {
    const { leaf, id } = await issue();
    expect(contentOf(leaf)).toEqual(plain(`CN=${id},O=Muster`));
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(leaf.publicKey.equals(signer.publicKey)).toBe(true);
    expect([...leaf.extensions.keys()].sort()).toEqual(
      ['2.5.29.14', '2.5.29.15', '2.5.29.19', '2.5.29.35', '2.5.29.37'].sort(),
    );
  });

  it('has no other name with a link', async () => {
    const { leaf, id } = await issue({ linkId: await addLink(server) });
    expect(contentOf(leaf)).toEqual(plain(`CN=${id},O=Muster`));
  });

  it.each<[string, Partial<EnrollmentRequest>]>([
    ['in one step, which could have been meant for another server', { method: 'profile' }],
    ['over the air without the certificate of a device', { method: 'ota', signer: null }],
    ['by an account, which proves nothing of the device', { method: 'account_device' }],
  ])('has no other name when a request came %s', async (_what, request) => {
    const { leaf, id } = await issueForRequest({ ...FACTS, ...request });
    expect(contentOf(leaf)).toEqual(plain(`CN=${id},O=Muster`));
  });

  it('has the names of the settings that need no proof', async () => {
    const names = { dNSName: ['devices.example.com', '%SerialNumber%.example.com'] };
    await configure({ subject: 'O=Example/OU=%SerialNumber%/CN=x', subject_alt_name: names });
    const { leaf } = await issue();
    expect(leaf.subject).toBe('CN=x,O=Example');
    expect(leaf.subjectAltNames).toEqual([{ type: 'dns', value: 'devices.example.com' }]);
  });
});

describe('a certificate for an enrollment with proof', () => {
  it.each(['ota', 'automated'] as const)(
    'contains the identifiers of its device: %s',
    async (method) => {
      await configure({
        subject: 'O=Example/OU=%SerialNumber%/CN=%HardwareUUID%',
        subject_alt_name: { uniformResourceIdentifier: 'urn:device:%SerialNumber%' },
      });
      const { leaf } = await issueForRequest({ ...FACTS, method });
      expect(leaf.subject).toBe(`CN=${UDID},OU=${SERIAL},O=Example`);
      expect(leaf.subjectAltNames).toEqual([{ type: 'uri', value: `urn:device:${SERIAL}` }]);
      expect(leaf.isCa).toBe(false);
    },
  );

  it('names the account if the settings contain it', async () => {
    await configure({
      subject: 'CN=%Account%',
      subject_alt_name: { ntPrincipalName: '%Account%' },
    });
    const account = 'alice@example.com';
    const { leaf } = await issueForRequest({ ...FACTS, method: 'account_user', account });
    expect(leaf.subject).toBe(`CN=${account}`);
    expect(leaf.subjectAltNames).toEqual([{ type: 'upn', value: account }]);
  });
});

describe('a renewed certificate', () => {
  const NAMES = [{ type: 'dns', value: 'old.example.com' }] as const;
  const OLD = [
    { type: 'O', value: 'Old' },
    { type: 'CN', value: 'Old name' },
  ];

  /** A device that is enrolled with this identity. */
  async function enrolled(certificate: ParsedCertificate, device: object = {}): Promise<number> {
    const { knex } = server.db;
    const row = { udid: UDID, enrollment_state: 'enrolled', enrollment_number: 1, ...device };
    const [{ id }] = await knex('devices').insert(row, 'id');
    const { fingerprint } = certificate;
    await knex('device_identities').insert({ fingerprint, device_id: id, state: 'active' });
    return id;
  }

  async function identity(): Promise<Identity> {
    const issuedBy = { ...server.authority, publicKey: server.authority.certificate.publicKey };
    const made = identityOf(signer, {
      issuedBy,
      subject: OLD,
      subjectAltName: NAMES,
      extendedKeyUsage: ['1.3.6.1.5.5.7.3.2'],
    });
    await insertCertificate(server.db.knex, certificateRecord(made.certificate, 'mdm.device'));
    return made;
  }

  const renewal = (deviceId: number) => ({ renewal: { deviceId, enrollmentNumber: 1 } });

  it('keeps subject and alternative names when the old identity signs, whatever the request contains', async () => {
    const old = await identity();
    await enrolled(old.certificate);
    const csr = csrOf(otherKeys, HOSTILE);
    const asked = { csr, signer: old, messageType: MessageType.renewalReq };
    const leaf = issuedIn(await ask(server, asked));
    expect(contentOf(leaf)).toEqual({ ...plain('CN=Old name,O=Old'), subjectAltNames: NAMES });
    expect(leaf.publicKey.equals(otherKeys.publicKey)).toBe(true);
  });

  it('keeps them when a challenge renews it', async () => {
    const old = await identity();
    const deviceId = await enrolled(old.certificate);
    const { leaf } = await issue(renewal(deviceId), otherKeys);
    expect(contentOf(leaf)).toEqual({ ...plain('CN=Old name,O=Old'), subjectAltNames: NAMES });
    expect(parseCertificate(leaf.der).subjectRaw).toEqual(old.certificate.subjectRaw);
  });

  it('is named by the proven facts when another CA issued the old one', async () => {
    const other = identityOf(signer, { subject: OLD, subjectAltName: NAMES });
    const deviceId = await enrolled(other.certificate, { proven_serial: SERIAL });
    const { leaf } = await issue(renewal(deviceId));
    expect(contentOf(leaf)).toEqual(plain(`CN=${UDID},O=Muster`));
  });

  it('has the id of the challenge when another CA issued the old one and nothing is proven', async () => {
    const other = identityOf(signer, { subject: OLD, subjectAltName: NAMES });
    const { leaf, id } = await issue(renewal(await enrolled(other.certificate)));
    expect(contentOf(leaf)).toEqual(plain(`CN=${id},O=Muster`));
  });
});
