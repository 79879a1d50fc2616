import { importPrivateKey } from '../../crypto/keys/keys.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { isIssuedBy, isValidAt } from '../../crypto/x509/certificate-path.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import {
  replaceVendorChain,
  type VendorCertificateRow,
} from '../../db/pki/push-certificate-request-repository.js';
import { AppError } from '../../errors.js';
import type { PushCertificateVendor } from '../../protocol/push-certificate-request.js';
import { splitChain } from '../certificates/certificate-chain.js';
import type { CertificateService } from '../certificates/certificate-service.js';
import {
  type CertificateUpload,
  readUploadedCertificate,
} from '../certificates/uploaded-certificate.js';
import { privateKeyLabel } from '../master-key/master-key.js';

/** A stored vendor certificate: `vendor` can sign, or `fault` says why not. */
export interface JudgedVendor {
  id: number;
  certificate: ParsedCertificate;
  vendor?: PushCertificateVendor;
  fault?: string;
}

interface PathToRoot {
  chain: ParsedCertificate[];
  fault?: string;
}

const ADVICE =
  "upload the vendor certificate together with Apple's current intermediate and root " +
  '(https://www.apple.com/certificateauthority/)';

/** Checks whether the stored certificate can sign requests that Apple accepts. */
export function judgeVendor(row: VendorCertificateRow, box: SecretBox, now: Date): JudgedVendor {
  const { id, sealed_pkcs8: sealed, key_fingerprint: keyFingerprint } = row;
  const certificate = parseCertificate(row.der);
  const found = { id, certificate };
  if (sealed === null || keyFingerprint === null) {
    return { ...found, fault: 'its private key is not stored here' };
  }
  const others = splitChain(row.chain_der).map(parseCertificate);
  const { chain, fault } = pathToRoot(certificate, others, now);
  const worst = leafFault(certificate, now) ?? fault;
  if (worst !== undefined) return { ...found, fault: worst };
  const privateKey = importPrivateKey(box.open(sealed, privateKeyLabel(keyFingerprint)));
  return { ...found, vendor: { certificate, privateKey, chain } };
}

export interface StoredVendor {
  id: number;
  /** It was not stored before. */
  isNew: boolean;
}

/**
 * Stores a vendor certificate. If it is stored already, its chain is replaced by the uploaded one:
 * Apple's intermediates may expire before the certificates they issued.
 */
export async function storeVendorCertificate(
  trx: Transaction,
  certificates: Pick<CertificateService, 'add'>,
  upload: CertificateUpload,
): Promise<StoredVendor> {
  try {
    const id = await certificates.add(trx, { ...upload, purpose: 'mdm.vendor' });
    return { id, isNew: true };
  } catch (error) {
    const isThere = error instanceof AppError && error.code === 'already_exists';
    const id = isThere ? await replaceChain(trx, upload) : undefined;
    if (id === undefined) throw error;
    return { id, isNew: false };
  }
}

/** Issuer after issuer, the root last. Apple refuses a chain that ends before it. */
function pathToRoot(
  leaf: ParsedCertificate,
  others: readonly ParsedCertificate[],
  now: Date,
): PathToRoot {
  const chain: ParsedCertificate[] = [];
  for (let last = leaf; !isRoot(last); ) {
    const issuers = others.filter((other) => !chain.includes(other) && isIssuedBy(last, other));
    const issuer = issuers.find((one) => isValidAt(one, now)) ?? issuers[0];
    if (issuer === undefined) {
      return { chain, fault: `the certificate of its issuer ${last.issuer} is missing: ${ADVICE}` };
    }
    if (!isValidAt(issuer, now)) {
      const what = `the certificate of its issuer ${issuer.subject}`;
      return { chain, fault: `${timeFault(what, issuer, now)}: ${ADVICE}` };
    }
    chain.push(issuer);
    last = issuer;
  }
  return { chain };
}

function isRoot(certificate: ParsedCertificate): boolean {
  return certificate.subjectRaw.equals(certificate.issuerRaw);
}

function timeFault(what: string, { notBefore, notAfter }: ParsedCertificate, now: Date): string {
  return now < notBefore
    ? `${what} is not valid before ${day(notBefore)}`
    : `${what} expired on ${day(notAfter)}`;
}

function day(date: Date): string {
  return date.toISOString().slice(0, 10);
}

/** Why the certificate itself can't be a vendor's, or can't be used now. */
function leafFault(leaf: ParsedCertificate, now: Date): string | undefined {
  if (!isValidAt(leaf, now)) return timeFault('it', leaf, now);
  if (isRoot(leaf)) return 'it is signed by itself, not issued by Apple';
  if (leaf.publicKey.asymmetricKeyType !== 'rsa') return 'its key is not RSA';
  return undefined;
}

async function replaceChain(
  trx: Transaction,
  upload: CertificateUpload,
): Promise<number | undefined> {
  const { certificate, chain } = await readUploadedCertificate(upload);
  if (chain.length === 0) return undefined;
  return replaceVendorChain(
    trx,
    certificate.fingerprint,
    Buffer.concat(chain.map(({ der }) => der)),
  );
}
