import { constants, type KeyObject, privateDecrypt, publicEncrypt, sign } from 'node:crypto';
import forge from 'node-forge';
import { fromBinary, readNode, toBinary } from './asn1.js';

/** Collects what node-forge would hash, so that node:crypto can hash and sign it. */
class CollectingDigest {
  private readonly parts: string[] = [];

  constructor(readonly algorithm: 'sha256') {}

  update(binary: string): this {
    this.parts.push(binary);
    return this;
  }

  get content(): Buffer {
    return fromBinary(this.parts.join(''));
  }
}

interface Signable {
  sign(key: forge.pki.rsa.PrivateKey, digest: forge.md.MessageDigest): void;
}

/** Signs a certificate or request of node-forge with RSA and SHA-256 by node:crypto. */
export function signStructure(structure: Signable, privateKey: KeyObject): void {
  const digest = new CollectingDigest('sha256');
  const signer = {
    sign: ({ content }: CollectingDigest) => toBinary(sign('sha256', content, privateKey)),
  };
  structure.sign(
    signer as unknown as forge.pki.rsa.PrivateKey,
    digest as unknown as forge.md.MessageDigest,
  );
}

/** A public RSA key of node:crypto in node-forge's form. */
export function toForgeKey(key: KeyObject): forge.pki.rsa.PublicKey {
  const spki = key.export({ type: 'spki', format: 'der' });
  return forge.pki.publicKeyFromAsn1(readNode(spki)) as forge.pki.rsa.PublicKey;
}

/** A recipient's key that wraps the content key by node:crypto. */
export function wrappingKey(key: KeyObject): forge.pki.rsa.PublicKey {
  const padding = constants.RSA_PKCS1_PADDING;
  const encrypt = (data: string) => toBinary(publicEncrypt({ key, padding }, fromBinary(data)));
  return { encrypt } as unknown as forge.pki.rsa.PublicKey;
}

/** A private key that unwraps the content key by node:crypto. */
export function unwrappingKey(key: KeyObject): forge.pki.rsa.PrivateKey {
  const padding = constants.RSA_NO_PADDING;
  const decrypt = (data: string) =>
    toBinary(withoutPadding(privateDecrypt({ key, padding }, fromBinary(data))));
  return { decrypt } as unknown as forge.pki.rsa.PrivateKey;
}

/** PKCS #1 1.5 (RFC 8017 7.2.2). Node's own padding check depends on the version of its OpenSSL. */
function withoutPadding(block: Buffer): Buffer {
  const end = block.indexOf(0, 2);
  if (block[0] !== 0 || block[1] !== 2 || end < 10) throw new Error('the content key is damaged');
  return block.subarray(end + 1);
}
