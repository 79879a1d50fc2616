import { constants, publicEncrypt, randomBytes } from 'node:crypto';
import request from 'supertest';
import { issuerAndSerial } from '../../src/crypto/build-signed-data.js';
import { sealEnvelopedData } from '../../src/crypto/cms-enveloped-data.js';
import {
  derContext,
  derInteger,
  derNull,
  derOctetString,
  derOid,
  derPrimitiveContext,
  derSequence,
  derSet,
} from '../../src/crypto/der.js';
import { Oid } from '../../src/crypto/oids.js';
import {
  buildPkcsReq,
  buildPkiMessage,
  FailInfo,
  MessageType,
  parsePkiMessage,
} from '../../src/protocol/scep.js';
import { fixture, type Identity, mutations, rsaIdentity } from '../crypto/identities.js';
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
      ...(envelope === undefined ? {} : { envelope }),
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

  it('answers badMessageCheck alike, whichever part of an envelope is wrong', async () => {
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
