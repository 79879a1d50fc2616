import { issueCertificate, parseCertificate } from '../../../src/crypto/x509/certificate.js';
import {
  buildScepRequest,
  newNonce,
  readScepAnswer,
  type ScepParties,
} from '../../../src/lab/pki/scep-message.js';
import {
  buildCertRep,
  type CertRepOutcome,
  envelopeRecipients,
  openPkiEnvelope,
} from '../../../src/protocol/scep/scep.js';
import { parsePkiMessage } from '../../../src/protocol/scep/scep-message.js';
import { nextKeys } from '../../helpers/prepared-keys.js';

const DAY_MS = 86_400_000;

async function createIdentity(commonName: string) {
  const { publicKey, privateKey } = await nextKeys();
  const der = issueCertificate({
    subject: [{ type: 'CN', value: commonName }],
    publicKey,
    issuerKey: privateKey,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + DAY_MS),
    keyUsage: ['digitalSignature', 'keyEncipherment'],
  });
  return { certificate: parseCertificate(der), privateKey };
}

type Identity = Awaited<ReturnType<typeof createIdentity>>;

describe('the SCEP messages of a simulated device', () => {
  let authority: Identity;
  let other: Identity;
  let parties: ScepParties;

  beforeAll(async () => {
    const device = await createIdentity('Device');
    [authority, other] = [await createIdentity('CA'), await createIdentity('Another CA')];
    parties = {
      signerCertificate: device.certificate.der,
      signerKey: device.privateKey,
      caCertificate: authority.certificate.der,
      transactionId: 'transaction-1',
      senderNonce: newNonce(),
    };
  });

  const request = (
    cipher: 'aes128-CBC' | 'des-EDE3-CBC' = 'aes128-CBC',
    digest: 'sha1' | 'sha256' = 'sha256',
  ) => buildScepRequest({ ...parties, csr: Buffer.from('a request'), cipher, digest });

  const answer = (outcome: CertRepOutcome, signer = authority) =>
    buildCertRep({ request: parsePkiMessage(request()), authority: signer, outcome });

  const issued = () =>
    answer({ certificates: [authority.certificate, other.certificate], cipher: 'aes-128-cbc' });

  it.each([
    ['aes128-CBC', 'sha256'],
    ['des-EDE3-CBC', 'sha1'],
  ] as const)('are read by the server with %s and %s', (cipher, digest) => {
    const message = parsePkiMessage(request(cipher, digest));
    const { messageType, transactionId, senderNonce, signer } = message;
    expect({ messageType, transactionId, senderNonce }).toEqual({
      messageType: 19,
      transactionId: 'transaction-1',
      senderNonce: parties.senderNonce,
    });
    expect(message.digest).toBe(digest);
    expect(signer.der).toEqual(parties.signerCertificate);
    expect(envelopeRecipients(message.envelope)).toHaveLength(1);
    expect(openPkiEnvelope(message, authority).toString()).toBe('a request');
  });

  it.each(['aes-128-cbc', 'aes-256-cbc', 'des-ede3-cbc'] as const)(
    'open the certificates that the server sealed with %s',
    (cipher) => {
      const certificates = [authority.certificate, other.certificate];
      const read = readScepAnswer(answer({ certificates, cipher }), parties);
      expect(read).toEqual({ status: 'success', certificates: certificates.map(({ der }) => der) });
    },
  );

  it('carry the reason of a refusal', () => {
    const refusal = answer({ failInfo: 2, failInfoText: 'the challenge has expired' });
    expect(readScepAnswer(refusal, parties)).toEqual({
      status: 'failure',
      failInfo: 2,
      failInfoText: 'the challenge has expired',
    });
    expect(readScepAnswer(answer({ failInfo: 1 }), parties)).toMatchObject({ failInfo: 1 });
  });

  it('are refused from another CA, and for another transaction or nonce', () => {
    const outcome = { failInfo: 2 } as const;
    const refused = (message: string) => `SCEP answer refused: ${message}`;
    expect(() => readScepAnswer(answer(outcome, other), parties)).toThrow(
      refused('not signed by the CA'),
    );
    const otherTransaction = { ...parties, transactionId: 'transaction-2' };
    expect(() => readScepAnswer(answer(outcome), otherTransaction)).toThrow(
      refused('another transaction'),
    );
    expect(() => readScepAnswer(answer(outcome), { ...parties, senderNonce: newNonce() })).toThrow(
      refused('another nonce'),
    );
    expect(() => readScepAnswer(request(), parties)).toThrow(refused('not a CertRep'));
  });

  it('are refused when a byte of the content or of the signature was changed', () => {
    const whole = issued();
    for (const at of [whole.length - 5, Math.floor(whole.length / 2)]) {
      const changed = Buffer.from(whole);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(() => readScepAnswer(changed, parties)).toThrow();
    }
    expect(() => readScepAnswer(Buffer.from('30030201', 'hex'), parties)).toThrow('not DER');
  });
});
