import { type KeyObject, randomBytes, X509Certificate } from 'node:crypto';
import forge from 'node-forge';
import { AppError } from '../../errors.js';
import { bytesOf, fromBinary, octets, printable, readNode, toBinary, writeNode } from './asn1.js';
import { openSignedData, readCertificates, signData } from './cms-signed-data.js';
import { unwrappingKey, wrappingKey } from './forge-key.js';

/** Attributes of a pkiMessage (RFC 8894 3.2.1). */
const SCEP = '2.16.840.1.113733.1.9';
const Attribute = {
  messageType: `${SCEP}.2`,
  pkiStatus: `${SCEP}.3`,
  failInfo: `${SCEP}.4`,
  senderNonce: `${SCEP}.5`,
  recipientNonce: `${SCEP}.6`,
  transactionId: `${SCEP}.7`,
  failInfoText: '1.3.6.1.5.5.7.24.1',
} as const;

const PKCS_REQ = '19';
const CERT_REP = '3';
const Status = { success: '0', failure: '2', pending: '3' } as const;
const BAD_REQUEST = 2;
const NONCE_BYTES = 16;

/** Certificates are DER. */
export interface ScepParties {
  /** Signs the request; its key opens the answer. */
  signerCertificate: Buffer;
  signerKey: KeyObject;
  caCertificate: Buffer;
  transactionId: string;
  senderNonce: Buffer;
}

export interface ScepRequestOptions extends ScepParties {
  /** DER. */
  csr: Buffer;
  cipher: 'aes128-CBC' | 'des-EDE3-CBC';
  digest: 'sha1' | 'sha256';
}

export type ScepAnswer =
  | { status: 'success'; certificates: Buffer[] }
  | { status: 'failure'; failInfo: number; failInfoText: string | undefined }
  | { status: 'pending' };

export function newNonce(): Buffer {
  return randomBytes(NONCE_BYTES);
}

/** A PKCSReq message (RFC 8894 3.3.1). Returns DER. */
export function buildScepRequest(options: ScepRequestOptions): Buffer {
  return signData({
    content: sealEnvelope(options.csr, options.caCertificate, options.cipher),
    signer: { certificate: options.signerCertificate, privateKey: options.signerKey },
    digest: options.digest,
    attributes: new Map([
      [Attribute.transactionId, printable(options.transactionId)],
      [Attribute.messageType, printable(PKCS_REQ)],
      [Attribute.senderNonce, octets(options.senderNonce)],
    ]),
  });
}

/** Reads a CertRep: signed by the CA, for the same transaction and nonce. AppError for any other. */
export function readScepAnswer(der: Buffer, parties: ScepParties): ScepAnswer {
  const { content, signer, attributes } = openSignedData(der);
  const text = (type: string) => bytesOf(attributes.get(type)).toString();
  if (text(Attribute.messageType) !== CERT_REP) throw refused('not a CertRep');
  if (!signer.equals(parties.caCertificate)) throw refused('not signed by the CA');
  if (text(Attribute.transactionId) !== parties.transactionId) throw refused('another transaction');
  if (!bytesOf(attributes.get(Attribute.recipientNonce)).equals(parties.senderNonce)) {
    throw refused('another nonce');
  }
  const status = text(Attribute.pkiStatus);
  if (status === Status.pending) return { status: 'pending' };
  if (status === Status.failure) {
    const failInfo = text(Attribute.failInfo);
    return {
      status: 'failure',
      failInfo: failInfo === '' ? BAD_REQUEST : Number(failInfo),
      failInfoText: text(Attribute.failInfoText) || undefined,
    };
  }
  if (status !== Status.success) throw refused('unknown status');
  return { status: 'success', certificates: readCertificates(openEnvelope(content, parties)) };
}

/** Encrypts content for the certificate (DER) of a recipient (RFC 5652). Returns DER. */
export function sealEnvelope(
  content: Buffer,
  recipient: Buffer,
  cipher: ScepRequestOptions['cipher'],
): Buffer {
  const envelope = forge.pkcs7.createEnvelopedData();
  const certificate = forge.pki.certificateFromAsn1(readNode(recipient));
  certificate.publicKey = wrappingKey(new X509Certificate(recipient).publicKey);
  envelope.addRecipient(certificate);
  envelope.content = forge.util.createBuffer(toBinary(content));
  envelope.encrypt(undefined, forge.pki.oids[cipher]);
  return writeNode(envelope.toAsn1());
}

function openEnvelope(der: Buffer, { signerCertificate, signerKey }: ScepParties): Buffer {
  const envelope = forge.pkcs7.messageFromAsn1(
    readNode(der),
  ) as forge.pkcs7.Captured<forge.pkcs7.PkcsEnvelopedData>;
  const certificate = forge.pki.certificateFromAsn1(readNode(signerCertificate));
  const recipient = envelope.findRecipient(certificate);
  if (recipient === null) throw refused('sealed for another recipient');
  envelope.decrypt(recipient, unwrappingKey(signerKey));
  return fromBinary((envelope.content as forge.util.ByteBuffer).getBytes());
}

function refused(reason: string): AppError {
  return new AppError('invalid_message', 400, `SCEP answer refused: ${reason}`);
}
