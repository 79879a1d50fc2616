import { exportPrivateKey } from '../crypto/keys.js';
import { encodePem } from '../crypto/pem.js';
import type { SecretBox } from '../crypto/secret-box.js';
import { findCertificateFile } from '../db/certificate-uses.js';
import type { Database } from '../db/database.js';
import type { Transaction } from '../db/unit-of-work.js';
import { AppError, notFound } from '../errors.js';
import { openPrivateKey } from './stored-keys.js';

export type FileFormat = 'pem' | 'der';

export interface CredentialFile {
  name: string;
  mediaType: string;
  bytes: Buffer;
}

const PEM_TYPE = 'application/x-pem-file';

/** Stored certificates and keys as files to take away. */
export class CredentialFiles {
  constructor(
    private readonly box: SecretBox,
    /** KEY_EXPORT. */
    private readonly isKeyExportOn: boolean,
  ) {}

  /** AppError 404. */
  async certificate({ knex }: Database, id: number, format: FileFormat): Promise<CredentialFile> {
    const der = await findCertificateFile(knex, id);
    if (der === undefined) throw notFound(`certificates ${id}`);
    if (format === 'der') {
      return { name: 'certificate.cer', mediaType: 'application/pkix-cert', bytes: der };
    }
    const bytes = Buffer.from(encodePem('CERTIFICATE', der));
    return { name: 'certificate.pem', mediaType: PEM_TYPE, bytes };
  }

  /** PKCS #8. AppError 404; 403 for the key of a CA, and where no key may leave. */
  async privateKey(trx: Transaction, id: number, format: FileFormat): Promise<CredentialFile> {
    if (!this.isKeyExportOn) {
      throw new AppError('key_export_off', 403, 'private keys do not leave this server');
    }
    const { key, isOfCa } = await openPrivateKey(trx, this.box, id);
    if (isOfCa) throw new AppError('forbidden', 403, 'the private key of a CA never leaves');
    const der = exportPrivateKey(key);
    if (format === 'der') {
      return { name: 'rsa_private_key.p8', mediaType: 'application/pkcs8', bytes: der };
    }
    const bytes = Buffer.from(encodePem('PRIVATE KEY', der));
    return { name: 'rsa_private_key.pem', mediaType: PEM_TYPE, bytes };
  }
}
