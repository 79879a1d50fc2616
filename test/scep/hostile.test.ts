import { constants, hash, publicEncrypt, randomBytes } from 'node:crypto';
import request from 'supertest';
import {
  derContext,
  derInteger,
  derNull,
  derOctetString,
  derOid,
  derPrimitiveContext,
  derSequence,
  derSet,
} from '../../src/crypto/asn1/der.js';
import { Oid } from '../../src/crypto/asn1/oids.js';
import { issuerAndSerial } from '../../src/crypto/cms/build-signed-data.js';
import { sealEnvelopedData } from '../../src/crypto/cms/cms-enveloped-data.js';
import {
  buildPkiMessage,
  FailInfo,
  MessageType,
  parsePkiMessage,
} from '../../src/protocol/scep/scep.js';
import { fixture, type Identity, mutations, rsaIdentity } from '../crypto/identities.js';
import { buildPkcsReq } from '../helpers/scep-client.js';
import {
  csrOf,
  deviceCertificates,
  PKI_OPERATION,
  post,
  type ScepServer,
  startScepServer,
} from './scep-server.js';

describe('hostile SCEP messages', () => {
  let server: ScepServer;
  let signer: Identity;

  beforeAll(async () => {
    [server, signer] = await Promise.all([startScepServer(), rsaIdentity()]);
  });
  afterAll(() => server.drop());
  afterEach(async () => expect(await deviceCertificates(server)).toEqual([]));

  const requestWith = (envelope: Buffer | undefined, messageType: number = MessageType.pkcsReq) =>
    buildPkiMessage({
      messageType,
      transactionId: 'hostile',
      senderNonce: randomBytes(16),
      signer,
      digest: 'sha256',
      envelope,
    });

  /** The failInfo of the signed refusal that the message gets. */
  async function failInfoOf(message: Buffer): Promise<number | undefined> {
    const sent = parsePkiMessage(message);
    const answer = parsePkiMessage(await post(server.app, message));
    expect(answer).toMatchObject({
      messageType: MessageType.certRep,
      pkiStatus: 2,
      transactionId: sent.transactionId,
      recipientNonce: sent.senderNonce,
      digest: sent.digest,
    });
    expect(answer.signer.fingerprint).toEqual(server.authority.certificate.fingerprint);
    expect(answer.senderNonce).toHaveLength(16);
    expect(answer.envelope).toHaveLength(0);
    return answer.failInfo;
  }

  /** An envelope whose RSA block and cipher text are what the test says. */
  function envelopeOf(block: Buffer, options: { cipherOid?: string; iv?: Buffer } = {}): Buffer {
    const { certificate } = server.authority;
    const key = { key: certificate.publicKey, padding: constants.RSA_NO_PADDING };
    const { cipherOid = Oid.aes128Cbc, iv = Buffer.alloc(16) } = options;
    const recipient = derSequence(
      derInteger(0),
      issuerAndSerial(certificate),
      derSequence(derOid(Oid.rsaEncryption), derNull()),
      derOctetString(publicEncrypt(key, block)),
    );
    const content = derSequence(
      derOid(Oid.data),
      derSequence(derOid(cipherOid), derOctetString(iv)),
      derPrimitiveContext(0, randomBytes(256)),
    );
    const enveloped = derSequence(derInteger(0), derSet(recipient), content);
    return derSequence(derOid(Oid.envelopedData), derContext(0, enveloped));
  }

  /** An RSA block of PKCS #1 v1.5 (type 2) with a 16-byte key, and then changed. */
  function paddedBlock(change: (block: Buffer) => void = () => undefined): Buffer {
    const block = Buffer.alloc(256, 0xa5);
    block[0] = 0;
    block[1] = 2;
    block[256 - 17] = 0;
    change(block);
    return block;
  }

  it('are answered by the same badMessageCheck, whichever part of an envelope is wrong', async () => {
    const { certificate } = server.authority;
    const csr = csrOf(signer, { challengePassword: server.challenges.issueChallenge() });
    const envelopes = {
      wrongKey: envelopeOf(paddedBlock()),
      wrongBlockType: envelopeOf(paddedBlock((block) => block.writeUInt8(1, 1))),
      noSeparator: envelopeOf(paddedBlock((block) => block.writeUInt8(9, 256 - 17))),
      earlySeparator: envelopeOf(paddedBlock((block) => block.writeUInt8(0, 5))),
      zeros: envelopeOf(Buffer.alloc(256)),
      shortIv: envelopeOf(paddedBlock(), { iv: Buffer.alloc(8) }),
      sealedGarbage: sealEnvelopedData(randomBytes(500), certificate),
      sealedNothing: sealEnvelopedData(Buffer.alloc(0), certificate),
      truncatedCsr: sealEnvelopedData(csr.subarray(0, -1), certificate),
      trailingByte: sealEnvelopedData(Buffer.concat([csr, Buffer.alloc(1)]), certificate),
      anotherRecipient: sealEnvelopedData(csr, signer.certificate),
      notAnEnvelope: Buffer.from('hello'),
      none: undefined,
    };
    for (const [what, envelope] of Object.entries(envelopes)) {
      const failInfo = await failInfoOf(requestWith(envelope));
      expect([what, failInfo]).toEqual([what, FailInfo.badMessageCheck]);
    }
  });

  it('answers badAlg to a cipher that is not supported', async () => {
    const cipherOid = '1.2.840.113549.3.2';
    const envelope = envelopeOf(paddedBlock(), { cipherOid });
    expect(await failInfoOf(requestWith(envelope))).toBe(FailInfo.badAlg);
  });

  it('answers badRequest to a message type that it does not serve, envelope or not', async () => {
    expect(await failInfoOf(requestWith(undefined, MessageType.certPoll))).toBe(
      FailInfo.badRequest,
    );
    expect(await failInfoOf(requestWith(undefined, 4711))).toBe(FailInfo.badRequest);
  });

  it("refuses a Mac's real request to another CA, in DES and SHA-512, cleanly", async () => {
    const message = fixture('scep/mdmclient-PKIOperation.der');
    expect(parsePkiMessage(message)).toMatchObject({
      messageType: MessageType.pkcsReq,
      transactionId: '140BC832976B3D0300BE8F5C2E35CEDF66E73D7B',
      senderNonce: Buffer.from('fac5e2eda5d97d64', 'hex'),
      signer: { subject: 'C=AU,CN=MDM SCEP SIGNER' },
      digest: 'sha512',
    });
    expect(await failInfoOf(message)).toBe(FailInfo.badMessageCheck);
  });

  /** As the client signed it, and then with one octet changed at each of the places. */
  function tampered(original: Buffer, places: Record<string, number>): [string, Buffer][] {
    return Object.entries(places).map(([what, place]) => {
      const message = Buffer.from(original);
      message.writeUInt8(message.readUInt8(place) ^ 1, place);
      return [what, message];
    });
  }

  const soundRequest = (senderNonce: Buffer) =>
    buildPkcsReq({
      csr: csrOf(signer, { challengePassword: server.challenges.issueChallenge() }),
      signerCertificate: signer.certificate,
      signerKey: signer.privateKey,
      caCertificate: server.authority.certificate,
      transactionId: 'tampered',
      senderNonce,
    });

  it('answers badMessageCheck to a message whose signature or digest is wrong', async () => {
    const senderNonce = randomBytes(16);
    const sound = soundRequest(senderNonce);
    const { envelope } = parsePkiMessage(sound);
    const messageDigest = hash('sha256', envelope, 'buffer');
    const messages = tampered(sound, {
      signature: sound.length - 1,
      messageDigest: sound.indexOf(messageDigest),
      cipherText: sound.indexOf(envelope) + envelope.length - 1,
      encryptedKey: sound.indexOf(envelope) + 250,
    });
    for (const [what, message] of messages) {
      const answer = parsePkiMessage(await post(server.app, message));
      expect([what, answer]).toEqual([
        what,
        expect.objectContaining({
          messageType: MessageType.certRep,
          pkiStatus: 2,
          failInfo: FailInfo.badMessageCheck,
          transactionId: 'tampered',
          recipientNonce: senderNonce,
          digest: 'sha256',
          envelope: Buffer.alloc(0),
        }),
      ]);
      expect(answer.signer.fingerprint).toEqual(server.authority.certificate.fingerprint);
      expect(server.lastReason()).toBe('the signature of the message is not valid');
      expect(await server.db.knex('scep_challenges')).toEqual([]);
    }
  });

  it('echoes what a message with a wrong signature says, though it was changed on the way', async () => {
    const senderNonce = randomBytes(16);
    const sound = soundRequest(senderNonce);
    const [entry] = tampered(sound, { transactionId: sound.indexOf('tampered') });
    const answer = parsePkiMessage(await post(server.app, entry?.[1] ?? sound));
    expect(answer).toMatchObject({
      failInfo: FailInfo.badMessageCheck,
      transactionId: 'uampered',
      recipientNonce: senderNonce,
    });
  });

  it('does not look at the type or envelope of a message whose signature is wrong', async () => {
    const envelopes = [undefined, Buffer.from('hello'), envelopeOf(paddedBlock())];
    for (const envelope of envelopes) {
      for (const messageType of [MessageType.pkcsReq, MessageType.certPoll]) {
        const message = requestWith(envelope, messageType);
        const [entry] = tampered(message, { signature: message.length - 1 });
        const answer = parsePkiMessage(await post(server.app, entry?.[1] ?? message));
        expect(answer.failInfo).toBe(FailInfo.badMessageCheck);
        expect(server.lastReason()).toBe('the signature of the message is not valid');
      }
    }
  });

  it('answers in SHA-256 to a digest that is not supported', async () => {
    const message = requestWith(envelopeOf(paddedBlock()));
    const sha256 = derOid(Oid.sha256);
    const unknown = Buffer.from(sha256);
    unknown.writeUInt8(0x7f, unknown.length - 1);
    const at = message.lastIndexOf(sha256);
    const altered = Buffer.concat([
      message.subarray(0, at),
      unknown,
      message.subarray(at + sha256.length),
    ]);
    const answer = parsePkiMessage(await post(server.app, altered));
    expect(answer).toMatchObject({ failInfo: FailInfo.badMessageCheck, digest: 'sha256' });
  });

  it('answers 400 when the certificate of the signer is not in the message', async () => {
    const message = requestWith(undefined);
    // The issuer in the certificate and in the reference: only the latter is changed.
    const [entry] = tampered(message, { issuer: message.lastIndexOf('Signer') });
    const response = await request(server.app)
      .post(PKI_OPERATION)
      .set('Content-Type', 'application/x-pki-message')
      .send(entry?.[1]);
    expect(response.status).toBe(400);
    expect(response.text).toBe('');
  });

  it('answers 400 to a sound signature over attributes that no answer can be made from', async () => {
    const bare = buildPkiMessage({
      messageType: MessageType.pkcsReq,
      transactionId: '',
      senderNonce: Buffer.alloc(0),
      signer,
      digest: 'sha256',
    });
    const response = await request(server.app)
      .post(PKI_OPERATION)
      .set('Content-Type', 'application/x-pki-message')
      .send(bare);
    expect(response.status).toBe(400);
  });

  it('survives a hundred mutations and every truncation by 37 bytes', async () => {
    const valid = buildPkcsReq({
      csr: csrOf(signer, { challengePassword: 'wrong' }),
      signerCertificate: signer.certificate,
      signerKey: signer.privateKey,
      caCertificate: server.authority.certificate,
      transactionId: 'mutant',
    });
    const bad = [...mutations(valid, 100)];
    for (let length = 0; length < valid.length; length += 37) bad.push(valid.subarray(0, length));
    for (const message of bad) {
      const response = await request(server.app)
        .post(PKI_OPERATION)
        .set('Content-Type', 'application/x-pki-message')
        .send(message);
      expect([200, 400]).toContain(response.status);
    }
  });
});
