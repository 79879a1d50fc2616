import { encodePem } from '../../crypto/asn1/pem.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { afterCommit, type Transaction } from '../../db/connection/unit-of-work.js';
import type { CertificatePurpose, CertificateRecord } from '../../db/pki/certificate-repository.js';
import {
  deleteCertificate,
  lockCertificate,
  type StoredCertificate,
  updateCertificate,
} from '../../db/pki/certificate-uses.js';
import { AppError, notFound } from '../../errors.js';
import { type Advice, pushCertificateAdvice } from '../credentials/credential-advice.js';
import { isNoticeDue } from '../credentials/credential-notices.js';
import { credentialStatus } from '../credentials/credential-status.js';
import { requireTopic } from '../push-certificates/push-topic.js';
import {
  PURPOSE_POINTER,
  requireFit,
  requireFitNow,
  requireKey,
  requireNotServed,
  requireUnused,
  type TlsUse,
} from './certificate-checks.js';
import { changedAccount, originOf } from './certificate-origin.js';
import { certificateRecord, storeCertificate } from './certificate-record.js';
import {
  type CertificateView,
  type ChainLink,
  certificateView,
  chainView,
} from './certificate-view.js';
import { findKeyFor, storeSealedKey } from './stored-keys.js';
import {
  type CertificateUpload,
  readKeyOf,
  readUploadedCertificate,
  type UploadedCertificate,
} from './uploaded-certificate.js';

export interface CertificateServiceDeps {
  box: SecretBox;
  /** Called after the commit of a change to the trusted CAs. */
  onAuthoritiesChange: () => void;
  /** Called in the transaction that adds or changes the push certificate of a topic. */
  onPushCertificate?: ((trx: Transaction, topic: string) => Promise<void>) | undefined;
  /** Called in the transaction that adds or changes a certificate of the server that ends soon. */
  onEndingCredential?: ((trx: Transaction) => Promise<void>) | undefined;
  /** The lab is on. It has its own push certificate and refuses a real one. */
  isLab?: boolean;
  /** How this process uses the stored ssl certificates. */
  tlsUse?: TlsUse | undefined;
  now?: () => Date;
}

export interface CertificateInput extends CertificateUpload {
  purpose: CertificatePurpose;
  /** The stored key that the client names as that of the certificate. */
  privateKeyId?: number | null | undefined;
  /** The signing request that the client names. */
  signingRequestId?: number | null;
  /** Push certificates only; by default that of the request or of the former certificate. */
  apple_account?: string | null | undefined;
  /** Accepts a certificate that is not valid now, or has another host or push topic than in use. */
  isForced?: boolean;
}

export interface CertificateChange
  extends Pick<CertificateUpload, 'pem_private_key' | 'password'>,
    Pick<CertificateInput, 'privateKeyId' | 'apple_account' | 'isForced'> {
  id: number;
  purpose?: CertificatePurpose;
}

/** Adds, changes and deletes certificates for the JSON:API resources. */
export class CertificateService {
  readonly #deps: CertificateServiceDeps;
  readonly #now: () => Date;

  constructor(deps: CertificateServiceDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => new Date());
  }

  /**
   * Returns the id of the new row, or of the stored row of the same certificate and purpose if that
   * had no key. AppError 422 naming each fault, 409 already_exists.
   */
  async add(trx: Transaction, input: CertificateInput): Promise<number> {
    this.#refuseBesideLab(input.purpose);
    const upload = await readUploadedCertificate(input);
    const { certificate, chain, source } = upload;
    requireFitNow(upload, { ...input, now: this.#now(), host: this.#deps.tlsUse?.host });
    const origin = await originOf(trx, certificate, input);
    const keyId = await this.#keyFor(trx, upload, input.privateKeyId);
    const record = certificateRecord(certificate, input.purpose);
    const pointer = `/data/attributes/${source.certificate}`;
    await requireTopic(trx, { topic: record.push_topic, pointer, isForced: input.isForced });
    const chain_der = chain.length > 0 ? Buffer.concat(chain.map(({ der }) => der)) : null;
    const row = { ...record, ...origin, chain_der, rsa_private_key_id: keyId };
    const id = await storeCertificate(trx, row, pointer);
    this.#notifyAuthoritiesChange(trx, input.purpose);
    await this.#notifyIfEndingSoon(trx, record);
    // Without its key no device that waits for a push can be pushed.
    if (keyId !== null) await this.#notifyPushTopic(trx, certificate, input.purpose);
    return id;
  }

  /** AppError 404; 422 when it does not fit; 409 in_use. */
  async change(trx: Transaction, change: CertificateChange): Promise<void> {
    const { id, purpose } = change;
    const stored = await this.#lock(trx, id);
    const certificate = parseCertificate(stored.der);
    const isOther = purpose !== undefined && purpose !== stored.purpose;
    const next = certificateRecord(certificate, purpose ?? stored.purpose);
    const privateKeyId = await this.#changedKey(trx, certificate, change);
    const isUnlinked = privateKeyId === null && stored.rsa_private_key_id !== null;
    if (isOther || isUnlinked) await this.#requireDispensable(trx, change);
    if (isOther) await this.#requireMayBecome(trx, certificate, { ...change, purpose });
    const account = await changedAccount(trx, change, { stored, next });
    await updateCertificate(trx, id, {
      purpose: isOther ? purpose : undefined,
      push_topic: isOther ? next.push_topic : undefined,
      apple_account: account,
      rsa_private_key_id: privateKeyId,
    });
    this.#notifyAuthoritiesChange(trx, stored.purpose, purpose);
    await this.#notifyIfEndingSoon(trx, next);
    await this.#notifyPushTopic(trx, certificate, purpose ?? stored.purpose);
  }

  /** AppError 404; 409 in_use. */
  async remove(trx: Transaction, id: number): Promise<void> {
    const { purpose } = await this.#lock(trx, id);
    await requireUnused(trx, id);
    if (this.#deps.tlsUse?.servesStored) {
      await requireNotServed(trx, id, 'for plain HTTP start with TLS=off, then delete it');
    }
    await deleteCertificate(trx, id);
    this.#notifyAuthoritiesChange(trx, purpose);
  }

  /** Warnings for the response to an upload or change; empty when all is well. */
  async warnings(trx: Transaction, id: number): Promise<Advice[]> {
    const stored = await lockCertificate(trx, id);
    if (stored?.purpose !== 'mdm.pushcert' || this.#deps.isLab) return [];
    const credentials = await credentialStatus(trx, { now: this.#now() });
    const added = credentials.find((one) => one.kind === 'push_certificate' && one.id === id);
    return added === undefined ? [] : pushCertificateAdvice(added);
  }

  /** PEM of a stored certificate (DER). */
  present(der: Buffer): string {
    return encodePem('CERTIFICATE', der);
  }

  /** The view of a stored certificate (DER); undefined when it is unreadable. */
  view(der: Buffer): CertificateView | undefined {
    return certificateView(der);
  }

  /** The view of a stored chain (DER one after the other). */
  viewChain(chain: Buffer | null): ChainLink[] {
    return chainView(chain);
  }

  /** AppError 409 in_use while the certificate is needed for its present purpose. */
  async #requireDispensable(
    trx: Transaction,
    { id, isForced = false }: CertificateChange,
  ): Promise<void> {
    await requireUnused(trx, id);
    if (isForced || !this.#deps.tlsUse?.servesStored) return;
    await requireNotServed(trx, id, 'or repeat this with ?force=true');
  }

  /** Ignores the validity dates, which were checked when it was added. */
  async #requireMayBecome(
    trx: Transaction,
    certificate: ParsedCertificate,
    { purpose, isForced }: Pick<CertificateInput, 'purpose' | 'isForced'>,
  ): Promise<void> {
    this.#refuseBesideLab(purpose);
    requireFit(certificate, purpose, isForced ? undefined : this.#deps.tlsUse?.host);
    const { push_topic: topic } = certificateRecord(certificate, purpose);
    await requireTopic(trx, { topic, pointer: PURPOSE_POINTER, isForced });
  }

  async #lock(trx: Transaction, id: number): Promise<StoredCertificate> {
    const stored = await lockCertificate(trx, id);
    if (stored === undefined) throw notFound(`certificates ${id}`);
    return stored;
  }

  /** An uploaded key is linked even if the client also sends the former link, null. */
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
    return storeSealedKey(trx, this.#deps.box, { key: privateKey, name });
  }

  #refuseBesideLab(purpose: CertificatePurpose | undefined): void {
    if (purpose !== 'mdm.pushcert' || !this.#deps.isLab) return;
    const message = 'with LAB=on no push certificate can be added: the lab has its own';
    throw new AppError('lab_only', 409, message);
  }

  async #notifyPushTopic(
    trx: Transaction,
    certificate: ParsedCertificate,
    purpose: CertificatePurpose,
  ): Promise<void> {
    const { push_topic: topic } = certificateRecord(certificate, purpose);
    if (topic !== null) await this.#deps.onPushCertificate?.(trx, topic);
  }

  async #notifyIfEndingSoon(
    trx: Transaction,
    { purpose, not_after }: CertificateRecord,
  ): Promise<void> {
    if (purpose === 'mdm.device' || !isNoticeDue(not_after, this.#now())) return;
    await this.#deps.onEndingCredential?.(trx);
  }

  #notifyAuthoritiesChange(
    trx: Transaction,
    ...purposes: (CertificatePurpose | undefined)[]
  ): void {
    if (purposes.includes('mdm.cacert')) afterCommit(trx, this.#deps.onAuthoritiesChange);
  }
}
