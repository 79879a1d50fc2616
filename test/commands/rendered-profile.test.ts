import { profilePayload } from '../../src/commands/payload.js';
import { ProfileRenderer, staleSecrets } from '../../src/commands/rendered-profile.js';
import { verifySignedData } from '../../src/crypto/cms/cms-signed-data.js';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import type { ProfileValues } from '../../src/db/device-path/report-exchange.js';
import { ProfileSigner } from '../../src/enroll/send-profile.js';
import { buildPlistNodes, type PlistNode, parsePlistDict } from '../../src/protocol/plist/plist.js';
import { renderProfile } from '../../src/protocol/profiles/profile-variables.js';
import { ThreadPool } from '../../src/threads/thread-pool.js';
import { renderThreads } from '../../src/threads/thread-uses.js';
import { rsaIdentity } from '../crypto/identities.js';
import { longestTurnBelow } from '../helpers/loop-busy.js';
import { payload, profile } from '../profiles/sample-profiles.js';

const UUID = '00000000-0000-4000-8000-000000000009';
const COMMAND = '6D4B1C2A-7F0E-4D57-9C55-0A8E1D2F3B4C';
const box = new SecretBox(Buffer.alloc(32, 3));
const threads = new ThreadPool();
afterAll(() => threads.close());

/** What is stored of a profile with this value, and the profile as it has to arrive. */
function templateOf(value: PlistNode, texts: [string, string][]) {
  const nodes = profile([payload('com.example.app', { Value: value })]);
  const stored = profilePayload(box, buildPlistNodes(nodes)).body;
  const values = new Map(texts);
  return { stored, expected: buildPlistNodes(renderProfile(nodes, { uuid: UUID, values })) };
}

function valuesOf(sealed: string): ProfileValues {
  const secret = box.seal(Buffer.from(sealed), 'profile_secrets/7').toString('base64');
  return { uuid: UUID, values: { SERIAL: 'C02', SECRET_a: [7, 2] }, secrets: { 7: [2, secret] } };
}

function profileIn(command: Buffer): Buffer {
  const { Command, CommandUUID } = parsePlistDict(command);
  expect(CommandUUID).toBe(COMMAND);
  const { RequestType, Payload } = Command as { RequestType: string; Payload: Buffer };
  expect(RequestType).toBe('InstallProfile');
  return Payload;
}

describe('the values of a profile', () => {
  it.each<[string, ProfileValues['secrets'], string[]]>([
    ['a secret that is gone', null, ['$SECRET_a']],
    ['another value of it', { 7: [3, ''] }, ['$SECRET_a']],
    ['another secret', { 8: [2, ''] }, ['$SECRET_a']],
    ['the same secret', { 7: [2, ''] }, []],
  ])('with %s are stale as %j in %j', (_what, secrets, expected) => {
    expect(staleSecrets({ ...valuesOf('x'), secrets })).toEqual(expected);
  });
});

describe('a profile that is rendered for a device', () => {
  it('is signed by the server, and another one each time its values differ', async () => {
    const identity = await rsaIdentity();
    const signer = new ProfileSigner(identity);
    const renderer = new ProfileRenderer({
      box,
      sign: (file) => signer.signLater(file),
      ...renderThreads(threads),
    });
    for (const secret of ['one', 'two & <three>']) {
      const texts: [string, string][] = [
        ['SERIAL', 'C02'],
        ['SECRET_a', secret],
      ];
      const { stored, expected } = templateOf('$SERIAL $SECRET_a', texts);
      const values = valuesOf(secret);
      const sent = profileIn(await renderer.render({ uuid: COMMAND, payload: stored, values }));
      const { content, signers } = verifySignedData({ der: sent });
      expect(content.equals(expected)).toBe(true);
      expect(signers[0].certificate.fingerprint).toEqual(identity.certificate.fingerprint);
    }
  });

  it('of 4 MB is rendered in another thread, while the event loop goes on', async () => {
    const sign = (file: Buffer) => Promise.resolve(file);
    const renderer = new ProfileRenderer({ box, sign, ...renderThreads(threads) });
    const texts: [string, string][] = [
      ['SERIAL', 'C02'],
      ['SECRET_a', 'x'],
    ];
    const lines = Array.from({ length: 40_000 }, (_, line) => `${line} $SERIAL ${'x'.repeat(80)}`);
    const { stored, expected } = templateOf(lines, texts);
    expect(expected.length).toBeGreaterThan(4_000_000);
    const command = { uuid: COMMAND, payload: stored, values: valuesOf('x') };
    const sent: Buffer[] = [];
    const turn = await longestTurnBelow(40, async () => () => {
      return renderer.render(command).then((plist) => sent.push(plist));
    });
    expect(turn).toBeLessThan(40);
    for (const plist of sent) expect(profileIn(plist).equals(expected)).toBe(true);
  });
});
