import { encodePem } from '../../crypto/asn1/pem.js';
import { buildCertsOnly } from '../../crypto/cms/cms-signed-data.js';
import { exportPrivateKey } from '../../crypto/keys/keys.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import type { Database } from '../../db/connection/database.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { findCertificateFile } from '../../db/pki/certificate-uses.js';
import { AppError, notFound } from '../../errors.js';
import { chainOf } from '../certificates/certificate-chain.js';
import { openPrivateKey } from '../certificates/stored-keys.js';

export type FileFormat = 'pem' | 'der';

export interface CredentialFile {
  name: string;
  mediaType: string;
  bytes: Buffer;
}

const PEM_TYPE = 'application/x-pem-file';

export interface CertificateFileChoice {
  id: number;
  format: FileFormat;
  withChain: boolean;
}

/** Stored certificates and keys as downloads. */
export class CredentialFiles {
  constructor(
    private readonly box: SecretBox,
    /** KEY_EXPORT. */
    private readonly isKeyExportOn: boolean,
  ) {}

  /** The format `der` with a chain makes a certs-only PKCS #7. AppError 404. */
  async certificate(
    db: Database,
    { id, format, withChain }: CertificateFileChoice,
  ): Promise<CredentialFile> {
    const file = await findCertificateFile(db.knex, id);
    if (file === undefined) throw notFound(`certificates ${id}`);
    if (withChain)
      return chainFile(format, [parseCertificate(file.der), ...(await chainOf(db, file))]);
    if (format === 'pem') return pemFile([file]);
    return { name: 'certificate.cer', mediaType: 'application/pkix-cert', bytes: file.der };
  }

  /** PKCS #8. AppError 404; 403 for the key of a CA, and while KEY_EXPORT is off. */
  async privateKey(trx: Transaction, id: number, format: FileFormat): Promise<CredentialFile> {
    if (!this.isKeyExportOn) {
      throw new AppError('key_export_off', 403, 'private keys do not leave this server');
    }
    const { key, isCaKey } = await openPrivateKey(trx, this.box, id);
    if (isCaKey) throw new AppError('forbidden', 403, 'the private key of a CA never leaves');
    const der = exportPrivateKey(key);
    if (format === 'der') {
      return { name: 'rsa_private_key.p8', mediaType: 'application/pkcs8', bytes: der };
    }
    const bytes = Buffer.from(encodePem('PRIVATE KEY', der));
    return { name: 'rsa_private_key.pem', mediaType: PEM_TYPE, bytes };
  }
}

function chainFile(format: FileFormat, certificates: ParsedCertificate[]): CredentialFile {
  if (format === 'pem') return pemFile(certificates);
  const bytes = buildCertsOnly(certificates);
  return { name: 'certificate.p7b', mediaType: 'application/pkcs7-mime', bytes };
}

function pemFile(certificates: { der: Buffer }[]): CredentialFile {
  const text = certificates.map(({ der }) => encodePem('CERTIFICATE', der)).join('');
  return { name: 'certificate.pem', mediaType: PEM_TYPE, bytes: Buffer.from(text) };
}
