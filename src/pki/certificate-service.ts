import { type ParsedCertificate, parseCertificate } from '../crypto/certificate.js';
import { publicKeyFingerprint } from '../crypto/keys.js';
import { encodePem } from '../crypto/pem.js';
import type { SecretBox } from '../crypto/secret-box.js';
import {
  type CertificatePurpose,
  type CertificateRecord,
  completeCertificate,
  insertNewCertificate,
} from '../db/certificate-repository.js';
import {
  certificateUses,
  deleteCertificate,
  lockCertificate,
  type StoredCertificate,
  updateCertificate,
} from '../db/certificate-uses.js';
import { findPrivateKey } from '../db/private-key-repository.js';
import { afterCommit, type Transaction } from '../db/unit-of-work.js';
import { AppError, notFound } from '../errors.js';
import { purposeFault, unfitness } from './certificate-fitness.js';
import { certificateRecord } from './certificate-record.js';
import { attributeFault, refusal } from './faults.js';
import { findKeyFor, keepPrivateKey } from './stored-keys.js';
import {
  type CertificateUpload,
  readKeyOf,
  readUploadedCertificate,
  type UploadedCertificate,
} from './uploaded-certificate.js';

export interface CertificateServiceDeps {
  box: SecretBox;
  /** After the commit of a change to the CAs that are believed in. */
  onAuthoritiesChange: () => void;
  /** In the transaction that brings or changes the push certificate of a topic. */
  onPushCertificate?: (trx: Transaction, topic: string) => Promise<void>;
  /** The lab is on, which has its own push certificate and wants no real one beside it. */
  isLab?: boolean;
  now?: () => Date;
}

export interface CertificateInput extends CertificateUpload {
  purpose: CertificatePurpose;
  /** The key that the client says is its own. */
  privateKeyId?: number | null;
}

export interface CertificateChange extends Pick<CertificateUpload, 'pem_private_key' | 'password'> {
  id: number;
  purpose?: CertificatePurpose;
  privateKeyId?: number | null;
}

const KEY_POINTER = '/data/relationships/rsa_private_key/data';

const USES = {
  is_identity: 'a device identifies itself by it',
  pushes: 'enrolled devices get their pushes by it',
  issued: 'identities of devices were issued by it',
  signs: 'new identities of devices are issued by it',
} as const;

/** Certificates as the JSON:API resources know them. */
export class CertificateService {
  readonly #deps: CertificateServiceDeps;
  readonly #now: () => Date;

  constructor(deps: CertificateServiceDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => new Date());
  }

  /**
   * Returns the row's id: a new one, or that of the same certificate for the same purpose, which had no
   * key before. AppError 422 naming each fault, 409 already_exists.
   */
  async add(trx: Transaction, input: CertificateInput): Promise<number> {
    this.#refuseBesideLab(input.purpose);
    const upload = await readUploadedCertificate(input);
    const { certificate, chain, source } = upload;
    const faults = unfitness(certificate, input.purpose, this.#now());
    if (faults.length > 0) {
      throw refusal(
        faults.map(({ detail, code }) => attributeFault(source.certificate, detail, code)),
      );
    }
    const keyId = await this.#keyFor(trx, upload, input.privateKeyId);
    const id = await insertOrComplete(trx, {
      ...certificateRecord(certificate, input.purpose),
      chain_der: chain.length > 0 ? Buffer.concat(chain.map(({ der }) => der)) : null,
      rsa_private_key_id: keyId,
    });
    if (id === undefined) {
      const pointer = `/data/attributes/${source.certificate}`;
      const options = { source: { pointer } };
      throw new AppError('already_exists', 409, 'this certificate is there already', options);
    }
    this.#noteAuthorities(trx, input.purpose);
    // Without its key it is of no use to any device that waits.
    if (keyId !== null) await this.#notePushTopic(trx, certificate, input.purpose);
    return id;
  }

  /** AppError 404; 422 when it does not fit; 409 in_use. */
  async change(trx: Transaction, change: CertificateChange): Promise<void> {
    const { id, purpose } = change;
    const stored = await this.#lock(trx, id);
    const certificate = parseCertificate(stored.der);
    const isOther = purpose !== undefined && purpose !== stored.purpose;
    const privateKeyId = await this.#changedKey(trx, certificate, change);
    const isUnlinked = privateKeyId === null && stored.rsa_private_key_id !== null;
    if (isOther || isUnlinked) await requireUnused(trx, id);
    if (isOther) this.#refuseBesideLab(purpose);
    if (isOther) requireFit(certificate, purpose);
    await updateCertificate(trx, id, {
      ...(isOther && { purpose, push_topic: certificateRecord(certificate, purpose).push_topic }),
      ...(privateKeyId !== undefined && { rsa_private_key_id: privateKeyId }),
    });
    this.#noteAuthorities(trx, stored.purpose, purpose);
    await this.#notePushTopic(trx, certificate, purpose ?? stored.purpose);
  }

  /** AppError 404; 409 in_use. */
  async remove(trx: Transaction, id: number): Promise<void> {
    const { purpose } = await this.#lock(trx, id);
    await requireUnused(trx, id);
    await deleteCertificate(trx, id);
    this.#noteAuthorities(trx, purpose);
  }

  /** PEM of a stored certificate (DER). */
  present(der: Buffer): string {
    return encodePem('CERTIFICATE', der);
  }

  async #lock(trx: Transaction, id: number): Promise<StoredCertificate> {
    const stored = await lockCertificate(trx, id);
    if (stored === undefined) throw notFound(`certificates ${id}`);
    return stored;
  }

  /** A key that comes along is linked even where the link read before, none, is sent back. */
  async #changedKey(
    trx: Transaction,
    certificate: ParsedCertificate,
    { privateKeyId, ...upload }: CertificateChange,
  ): Promise<number | null | undefined> {
    const privateKey = await readKeyOf(certificate, upload);
    if (privateKey) return this.#keyFor(trx, { certificate, privateKey }, privateKeyId);
    if (typeof privateKeyId === 'number') await requireKey(trx, certificate, privateKeyId);
    return privateKeyId;
  }

  async #keyFor(
    trx: Transaction,
    { certificate, privateKey }: Pick<UploadedCertificate, 'certificate' | 'privateKey'>,
    wanted: number | null | undefined,
  ): Promise<number | null> {
    if (typeof wanted === 'number') await requireKey(trx, certificate, wanted);
    if (privateKey === undefined) return wanted ?? (await findKeyFor(trx, certificate.publicKey));
    const name = certificate.commonName ?? null;
    return keepPrivateKey(trx, this.#deps.box, { key: privateKey, name });
  }

  #refuseBesideLab(purpose: CertificatePurpose | undefined): void {
    if (purpose !== 'mdm.pushcert' || !this.#deps.isLab) return;
    const message = 'with LAB=on no push certificate can be added: the lab has its own';
    throw new AppError('lab_only', 409, message);
  }

  async #notePushTopic(
    trx: Transaction,
    certificate: ParsedCertificate,
    purpose: CertificatePurpose,
  ): Promise<void> {
    const { push_topic: topic } = certificateRecord(certificate, purpose);
    if (topic !== null) await this.#deps.onPushCertificate?.(trx, topic);
  }

  #noteAuthorities(trx: Transaction, ...purposes: (CertificatePurpose | undefined)[]): void {
    if (purposes.includes('mdm.cacert')) afterCommit(trx, this.#deps.onAuthoritiesChange);
  }
}

/** Whoever forgets the key sends the same again, with it. */
async function insertOrComplete(
  trx: Transaction,
  record: CertificateRecord,
): Promise<number | undefined> {
  const id = await insertNewCertificate(trx, record);
  const hasKey = typeof record.rsa_private_key_id === 'number';
  return id ?? (hasKey ? await completeCertificate(trx, record) : undefined);
}

async function requireUnused(trx: Transaction, id: number): Promise<void> {
  const uses = await certificateUses(trx, id);
  const reasons = Object.entries(USES).filter(([use]) => uses?.[use as keyof typeof USES]);
  if (reasons.length === 0) return;
  const why = reasons.map(([, reason]) => reason).join('; ');
  throw new AppError('in_use', 409, `the certificate is in use: ${why}`);
}

function requireFit(certificate: ParsedCertificate, purpose: CertificatePurpose): void {
  const fault = purposeFault(certificate, purpose);
  if (fault) throw refusal([attributeFault('purpose', `${purpose}: ${fault.detail}`)]);
}

async function requireKey(
  trx: Transaction,
  { publicKey }: ParsedCertificate,
  id: number,
): Promise<void> {
  const stored = await findPrivateKey(trx, id);
  const fingerprint = publicKeyFingerprint(publicKey).toString('hex');
  if (stored?.fingerprint_sha256 === fingerprint) return;
  const message = 'the private key does not belong to the certificate';
  throw new AppError('key_mismatch', 422, message, { source: { pointer: KEY_POINTER } });
}
