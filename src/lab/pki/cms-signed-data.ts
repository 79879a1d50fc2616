import { createHash, type KeyObject, sign, verify, X509Certificate } from 'node:crypto';
import forge from 'node-forge';
import { AppError } from '../../errors.js';
import {
  bytesOf,
  childrenOf,
  context,
  integer,
  isContext,
  type Node,
  nullNode,
  octets,
  oid,
  oidOf,
  readNode,
  sequence,
  setOf,
  utcTime,
  writeNode,
} from './asn1.js';

const { oids } = forge.pki;

/** A certificate (DER) with an RSA key. */
export interface CmsSigner {
  certificate: Buffer;
  privateKey: KeyObject;
}

export interface SignOptions {
  content: Buffer;
  signer: CmsSigner;
  /** SHA-256 when absent. */
  digest?: 'sha1' | 'sha256' | undefined;
  /** Signed attributes by OID, besides contentType, messageDigest and signingTime. */
  attributes?: ReadonlyMap<string, Node> | undefined;
}

export interface OpenedSignedData {
  /** Empty when there is none. */
  content: Buffer;
  /** DER, of the one signer. */
  signer: Buffer;
  /** DER, the signer's included. */
  certificates: Buffer[];
  /** The values of the signed attributes by OID. */
  attributes: Map<string, Node>;
}

/** CMS SignedData (RFC 5652 5) with the content inside and one RSA signer. Returns DER. */
export function signData({ content, signer, digest = 'sha256', attributes }: SignOptions): Buffer {
  const digestAlgorithm = () => sequence(oid(oids[digest] as string), nullNode());
  const signedAttributes = [
    attribute(oids.contentType as string, oid(oids.data as string)),
    attribute(oids.messageDigest as string, octets(hashOf(digest, content))),
    attribute(oids.signingTime as string, utcTime(new Date())),
    ...Array.from(attributes ?? [], ([type, value]) => attribute(type, value)),
  ];
  const set = setOf(...signedAttributes);
  const certificate = readNode(signer.certificate);
  const signerInfo = sequence(
    integer(1),
    issuerAndSerial(certificate),
    digestAlgorithm(),
    context(0, childrenOf(set)),
    sequence(oid(oids.rsaEncryption as string), nullNode()),
    octets(sign(digest, writeNode(set), signer.privateKey)),
  );
  const signedData = sequence(
    integer(1),
    setOf(digestAlgorithm()),
    sequence(oid(oids.data as string), context(0, [octets(content)])),
    context(0, [certificate]),
    setOf(signerInfo),
  );
  return writeNode(sequence(oid(oids.signedData as string), context(0, [signedData])));
}

/**
 * Reads SignedData of one signer and verifies its signature with the certificate inside, which need
 * not be trusted. AppError invalid_signature.
 */
export function openSignedData(der: Buffer): OpenedSignedData {
  const { content, certificates, signerInfo } = readSignedData(der);
  if (signerInfo === undefined) throw invalid('there is no signature');
  const [, reference, digestAlgorithm, signed, , signature] = childrenOf(signerInfo);
  const digest = Object.entries(oids).find(
    ([, value]) => value === oidOf(childrenOf(digestAlgorithm)[0]),
  )?.[0];
  const signer = certificates.find((certificate) => isReference(reference, certificate));
  if (signer === undefined || digest === undefined) throw invalid('its signer is not known');
  if (!isContext(signed, 0)) throw invalid('there are no signed attributes');
  const attributes = new Map(
    childrenOf(signed).map((one) => {
      const [type, values] = childrenOf(one);
      return [oidOf(type), childrenOf(values)[0] as Node];
    }),
  );
  const stated = bytesOf(attributes.get(oids.messageDigest as string));
  if (!stated.equals(hashOf(digest, content))) throw invalid('the content was changed');
  const { publicKey } = new X509Certificate(signer);
  const set = writeNode(setOf(...childrenOf(signed)));
  if (!verify(digest, set, publicKey, bytesOf(signature))) throw invalid('it does not verify');
  return { content, signer, certificates, attributes };
}

/** The certificates (DER) of a SignedData without signers, such as a GetCACert answer. */
export function readCertificates(der: Buffer): Buffer[] {
  return readSignedData(der).certificates;
}

function readSignedData(der: Buffer) {
  const [, wrapped] = childrenOf(readNode(der));
  const [, , encapsulated, ...rest] = childrenOf(childrenOf(wrapped)[0]);
  const [, content] = childrenOf(encapsulated);
  return {
    content: bytesOf(childrenOf(content)[0]),
    certificates: childrenOf(rest.find((node) => isContext(node, 0))).map(writeNode),
    signerInfo: childrenOf(rest.at(-1))[0],
  };
}

function attribute(type: string, value: Node): Node {
  return sequence(oid(type), setOf(value));
}

function issuerAndSerial(certificate: Node): Node {
  const [tbs] = childrenOf(certificate);
  const [serial, , issuer] = childrenOf(tbs).filter((node) => !isContext(node, 0));
  return sequence(issuer as Node, serial as Node);
}

function isReference(reference: Node | undefined, certificate: Buffer): boolean {
  if (reference === undefined) return false;
  if (!isContext(reference, 0)) {
    return writeNode(reference).equals(writeNode(issuerAndSerial(readNode(certificate))));
  }
  const [tbs] = childrenOf(readNode(certificate));
  const extensions = childrenOf(childrenOf(tbs).find((node) => isContext(node, 3)));
  const keyIdentifier = childrenOf(extensions[0]).find(
    (extension) => oidOf(childrenOf(extension)[0]) === oids.subjectKeyIdentifier,
  );
  const value = bytesOf(childrenOf(keyIdentifier).at(-1));
  return value.length > 0 && bytesOf(readNode(value)).equals(bytesOf(reference));
}

function hashOf(digest: string, content: Buffer): Buffer {
  return createHash(digest).update(content).digest();
}

function invalid(reason: string): AppError {
  return new AppError('invalid_signature', 400, `The signature is not valid: ${reason}`);
}
