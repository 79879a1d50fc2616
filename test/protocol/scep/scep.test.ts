import { randomBytes } from 'node:crypto';
import { derOctetString, derPrintableString } from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { buildSignedData, type SignedAttribute } from '../../../src/crypto/cms/cms-signed-data.js';
import { buildCsr } from '../../../src/crypto/x509/csr.js';
import {
  buildCertRep,
  FailInfo,
  MessageType,
  openPkiEnvelope,
  parsePkiMessage,
  readPkiClaims,
  replyCipher,
} from '../../../src/protocol/scep/scep.js';
import {
  asAuthority,
  codeOf,
  fixture,
  type Identity,
  rsaIdentity,
} from '../../crypto/identities.js';
import { buildPkcsReq, readCertRep } from '../../helpers/scep-client.js';

describe('SCEP messages', () => {
  let client: Identity;
  let authority: Identity;
  let csr: Buffer;
  const transactionId = '140BC832976B3D03';
  const senderNonce = randomBytes(16);

  beforeAll(async () => {
    [client, authority] = await Promise.all([rsaIdentity(), rsaIdentity(asAuthority)]);
    csr = buildCsr({ subject: [{ type: 'CN', value: 'Device' }], ...client });
  });

  const parties = () => ({
    signerCertificate: client.certificate,
    signerKey: client.privateKey,
    caCertificate: authority.certificate,
    transactionId,
    senderNonce,
  });
  const request = () => buildPkcsReq({ ...parties(), csr });
  const success = (overrides: Partial<Parameters<typeof buildCertRep>[0]> = {}) =>
    buildCertRep({
      request: parsePkiMessage(request()),
      authority,
      outcome: {
        certificates: [client.certificate, authority.certificate],
        cipher: 'aes-256-cbc',
      },
      ...overrides,
    });

  const type = { oid: Oid.scepMessageType, values: [derPrintableString('19')] };
  const transaction = { oid: Oid.scepTransactionId, values: [derPrintableString('1')] };
  const nonce = { oid: Oid.scepSenderNonce, values: [derOctetString(Buffer.alloc(16))] };
  const signed = (extraAttributes: SignedAttribute[], attributes = true) =>
    buildSignedData({ content: Buffer.from('x'), signer: client, extraAttributes, attributes });

  it.each<[string, SignedAttribute[]]>([
    ['no messageType', [transaction, nonce]],
    ['no transactionID', [type, nonce]],
    ['no senderNonce', [type, transaction]],
    [
      'a messageType that is no number',
      [{ ...type, values: [derPrintableString('PKCSReq')] }, transaction, nonce],
    ],
    [
      'a messageType twice',
      [{ ...type, values: [...type.values, derPrintableString('17')] }, transaction, nonce],
    ],
    ['a messageType without a value', [{ ...type, values: [] }, transaction, nonce]],
    ['an empty transactionID', [type, { ...transaction, values: [derPrintableString('')] }, nonce]],
    [
      'a transactionID of 256 characters',
      [type, { ...transaction, values: [derPrintableString('1'.repeat(256))] }, nonce],
    ],
    [
      'a transactionID with a line break',
      [type, { ...transaction, values: [derPrintableString('1\n')] }, nonce],
    ],
    [
      'an empty senderNonce',
      [type, transaction, { ...nonce, values: [derOctetString(Buffer.alloc(0))] }],
    ],
    [
      'a senderNonce of 65 bytes',
      [type, transaction, { ...nonce, values: [derOctetString(Buffer.alloc(65))] }],
    ],
    [
      'a senderNonce that is text',
      [type, transaction, { ...nonce, values: [derPrintableString('1234')] }],
    ],
  ])('are refused with %s', (_what, attributes) => {
    expect(codeOf(() => parsePkiMessage(signed(attributes)))).toBe('invalid_message');
    expect(codeOf(() => readPkiClaims(signed(attributes)))).toBe('invalid_message');
  });

  it('are refused without signed attributes', () => {
    expect(codeOf(() => parsePkiMessage(signed([], false)))).toBe('invalid_message');
    expect(codeOf(() => readPkiClaims(signed([], false)))).toBe('invalid_message');
  });

  it('are refused when the signature, the envelope or an attribute was changed', () => {
    const message = request();
    const { envelope } = parsePkiMessage(message);
    const places = [
      message.length - 1,
      message.indexOf(envelope) + envelope.length - 1,
      message.indexOf(transactionId),
      message.indexOf(senderNonce),
    ];
    for (const place of places) {
      const altered = Buffer.from(message);
      altered[place] = (altered[place] ?? 0) ^ 1;
      expect(codeOf(() => parsePkiMessage(altered))).toBe('invalid_signature');
    }
  });

  it('name their sender even when their signature is wrong', () => {
    const message = request();
    message.writeUInt8(message.readUInt8(message.length - 1) ^ 1, message.length - 1);
    const claims = readPkiClaims(message);
    expect(claims).toMatchObject({
      messageType: MessageType.pkcsReq,
      transactionId,
      senderNonce,
      digest: 'sha256',
    });
    expect(claims.signer.fingerprint).toEqual(client.certificate.fingerprint);
  });

  it('are refused when truncated at any length', () => {
    const message = request();
    for (let length = 0; length < message.length; length += 1) {
      const short = message.subarray(0, length);
      expect(codeOf(() => parsePkiMessage(short))).toMatch(/^invalid_/);
      expect(codeOf(() => readPkiClaims(short))).toMatch(/^invalid_/);
    }
  });

  it('carry a request that only its recipient opens', () => {
    const message = parsePkiMessage(request());
    expect(message).toMatchObject({
      messageType: MessageType.pkcsReq,
      transactionId,
      senderNonce,
      digest: 'sha256',
      pkiStatus: undefined,
      failInfo: undefined,
      recipientNonce: undefined,
    });
    expect(message.signer.fingerprint).toEqual(client.certificate.fingerprint);
    expect(openPkiEnvelope(message, authority)).toEqual(csr);
    expect(codeOf(() => openPkiEnvelope(message, client))).toBe('invalid_message');
  });

  it('are answered in the cipher of the request, and in 3DES for single DES', () => {
    for (const cipher of ['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc', 'des-ede3-cbc'] as const) {
      const { envelope } = parsePkiMessage(buildPkcsReq({ ...parties(), csr, cipher }));
      expect(replyCipher(envelope)).toBe(cipher);
    }
    const ofMac = parsePkiMessage(fixture('scep/mdmclient-PKIOperation.der'));
    expect(replyCipher(ofMac.envelope)).toBe('des-ede3-cbc');
  });

  it('are answered over the digest of the request', () => {
    for (const digest of ['sha1', 'sha256', 'sha512'] as const) {
      const asked = parsePkiMessage(buildPkcsReq({ ...parties(), csr, digest }));
      expect(parsePkiMessage(success({ request: asked })).digest).toBe(digest);
    }
  });

  it('carry certificates to the requester, in order', () => {
    const answer = readCertRep(success(), parties());
    expect(answer.status === 'success' && answer.certificates.map(({ der }) => der)).toEqual([
      client.certificate.der,
      authority.certificate.der,
    ]);
  });

  it('carry a failure without an envelope', () => {
    const failure = success({ outcome: { failInfo: FailInfo.badRequest } });
    expect(readCertRep(failure, parties())).toEqual({ status: 'failure', failInfo: 2 });
    expect(parsePkiMessage(failure).envelope).toHaveLength(0);
  });

  it('carry a failInfoText in UTF-8, up to its limit', () => {
    const fail = (failInfoText: string) =>
      readCertRep(success({ outcome: { failInfo: FailInfo.badRequest, failInfoText } }), parties());
    const failure = { status: 'failure', failInfo: 2 };
    const words = 'der Link wurde zu häufig benützt';
    expect(fail(words)).toEqual({ ...failure, failInfoText: words });
    expect(fail('x'.repeat(1_000))).toEqual({ ...failure, failInfoText: 'x'.repeat(255) });
  });

  it('are refused as an answer from another signer, to another transaction or nonce', () => {
    const read = (overrides: object, answer = success()) =>
      codeOf(() => readCertRep(answer, { ...parties(), ...overrides }));
    expect(read({ caCertificate: client.certificate })).toBe('invalid_message');
    expect(read({ transactionId: 'other' })).toBe('invalid_message');
    expect(read({ senderNonce: Buffer.alloc(16) })).toBe('invalid_message');
    expect(read({}, request())).toBe('invalid_message');
  });
});
