import { encodePem } from '../../crypto/asn1/pem.js';
import { describeKey } from '../../crypto/keys/keys.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import { parseCsr } from '../../crypto/x509/csr.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import {
  findSigningRequest,
  listVendorCertificates,
  type SigningRequestRow,
} from '../../db/pki/push-certificate-request-repository.js';
import { AppError, notFound } from '../../errors.js';
import {
  buildPushCertificateRequest,
  PUSH_CERTIFICATE_REQUEST_FILE,
  type PushCertificateVendor,
} from '../../protocol/push-certificate-request.js';
import type { CredentialFile } from '../credentials/credential-files.js';
import { type JudgedVendor, judgeVendor } from './push-request-vendor.js';

const LEAST_RSA_BITS = 2048;

/** No stored vendor certificate can sign a request for a push certificate. */
export class NoVendorCertificate extends AppError {
  /** @param reason what is missing, without the remedies. */
  constructor(
    readonly reason: string,
    requestId: number,
  ) {
    const ways =
      '(1) POST your MDM vendor certificate with its private key, its issuer and the root to ' +
      '/api/v1/certificates with the purpose mdm.vendor; (2) have the request signed by someone who ' +
      `has one: it is pem_request of /api/v1/certificate_signing_requests/${requestId}; or (3) POST ` +
      'a push certificate that another server has, with its private key, to /api/v1/push_certificates';
    super('no_vendor_certificate', 409, `${reason}. There are three ways out: ${ways}.`);
  }
}

/** Requests for push certificates, signed by a vendor certificate that is stored here. */
export class PushCertificateRequests {
  readonly #box: SecretBox;
  readonly #now: () => Date;

  constructor({ box, now = () => new Date() }: { box: SecretBox; now?: () => Date }) {
    this.#box = box;
    this.#now = now;
  }

  /**
   * A stored signing request as the file for Apple's portal. AppError 404; 409 conflict when it has
   * another purpose or a key that Apple refuses; NoVendorCertificate.
   */
  async file(trx: Transaction, id: number): Promise<CredentialFile> {
    const request = await requireRequest(trx, id);
    requireFit(request);
    const vendor = await this.#vendor(trx, id);
    return {
      name: PUSH_CERTIFICATE_REQUEST_FILE,
      mediaType: 'text/plain',
      bytes: buildPushCertificateRequest({ csrDer: request.der, vendor }),
    };
  }

  /** The stored signing request alone, in PEM, for a vendor elsewhere to sign. AppError 404. */
  async bare(trx: Transaction, id: number): Promise<string> {
    const { der } = await requireRequest(trx, id);
    return encodePem('CERTIFICATE REQUEST', der);
  }

  /** Why a stored vendor certificate can't sign; undefined when it can. */
  async vendorFault(trx: Transaction, id: number): Promise<string | undefined> {
    const rows = await listVendorCertificates(trx);
    const row = rows.find((one) => one.id === id);
    if (row === undefined) throw notFound(`certificates ${id}`);
    return judgeVendor(row, this.#box, this.#now()).fault;
  }

  /** The vendor certificate that signs, or the last added with what is wrong with it. */
  async vendor(trx: Transaction): Promise<JudgedVendor | undefined> {
    let newest: JudgedVendor | undefined;
    for (const row of await listVendorCertificates(trx)) {
      const judged = judgeVendor(row, this.#box, this.#now());
      if (judged.vendor !== undefined) return judged;
      newest ??= judged;
    }
    return newest;
  }

  async #vendor(trx: Transaction, requestId: number): Promise<PushCertificateVendor> {
    const found = await this.vendor(trx);
    if (found?.vendor !== undefined) return found.vendor;
    throw new NoVendorCertificate(faultOf(found), requestId);
  }
}

async function requireRequest(trx: Transaction, id: number): Promise<SigningRequestRow> {
  const request = await findSigningRequest(trx, id);
  if (request === undefined) throw notFound(`certificate_signing_requests ${id}`);
  return request;
}

/** Apple refuses keys of other kinds, and shorter ones. */
function requireFit({ id, purpose, der }: SigningRequestRow): void {
  const what = `certificate_signing_requests ${id}`;
  if (purpose !== 'mdm.pushcert') {
    throw new AppError('conflict', 409, `${what} has the purpose ${purpose}, not mdm.pushcert`);
  }
  const { type, bits } = describeKey(parseCsr(der).publicKey);
  if (type === 'RSA' && bits >= LEAST_RSA_BITS) return;
  const key = type === 'RSA' ? `RSA of ${bits} bits` : type;
  const message = `${what}: its key is ${key}, and Apple requires RSA of 2048 bits for push certificates`;
  throw new AppError('conflict', 409, message);
}

function faultOf(found: JudgedVendor | undefined): string {
  if (found === undefined) return 'No vendor certificate is stored here';
  const { id, certificate, fault } = found;
  const name = certificate.commonName ?? certificate.subject;
  return `The vendor certificate ${JSON.stringify(name)} (id ${id}) can't sign: ${fault}`;
}
