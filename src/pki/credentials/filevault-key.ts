import { openEnvelopedData } from '../../crypto/cms/cms-enveloped-data.js';
import { exportPrivateKey, generateRsaKeyPair, importPrivateKey } from '../../crypto/keys/keys.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import {
  type Identity,
  issueCertificate,
  parseCertificate,
} from '../../crypto/x509/certificate.js';
import { readOrganization } from '../../db/admin/settings-repository.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import {
  type FileVaultKeyRow,
  findFileVaultKey,
  insertFileVaultKey,
  lockFileVaultKey,
} from '../../db/pki/filevault-key-repository.js';
import { AppError } from '../../errors.js';
import { buildFileVaultProfile } from '../../protocol/profiles/filevault-profile.js';
import { CLOCK_TOLERANCE_MS, yearsAfter } from '../authority/stored-authority.js';

const KEY_BITS = 2048;
/** Macs do not check when it ends; a key must be readable as long as a Mac is in use. */
const YEARS = 20;
const LABEL = 'file-vault/key';
/** Apple's have 29 characters. */
const MAX_KEY_BYTES = 256;

/** The key pair of this server to which Macs encrypt their FileVault recovery keys. */
export class FileVaultKey {
  private known: Identity | undefined;

  constructor(private readonly box: SecretBox) {}

  /** DER of its certificate; the pair is made and stored at the first call. */
  async certificate(trx: Transaction): Promise<Buffer> {
    const { certificate } = (await this.find(trx)) ?? (await this.make(trx));
    return certificate.der;
  }

  /** The profile by which Macs report their recovery keys to the server at this address. */
  async profile(trx: Transaction, publicUrl: string): Promise<Buffer> {
    return buildFileVaultProfile({
      organization: await readOrganization(trx),
      certificate: await this.certificate(trx),
      location: new URL(publicUrl).host,
      uuidSeed: publicUrl,
    });
  }

  /** The recovery key in a CMS message; undefined for one that is encrypted to another certificate. */
  async open(trx: Transaction, cms: Buffer): Promise<string | undefined> {
    const pair = await this.find(trx);
    if (pair === undefined) return undefined;
    try {
      const content = openEnvelopedData(cms, { ...pair, isNamed: true });
      const key = content.toString('utf8').trim();
      return key.length > 0 && content.length <= MAX_KEY_BYTES ? key : undefined;
    } catch (error) {
      if (error instanceof AppError) return undefined;
      throw error;
    }
  }

  private async find(trx: Transaction): Promise<Identity | undefined> {
    if (this.known !== undefined) return this.known;
    const row = await findFileVaultKey(trx);
    if (row !== undefined) this.known = this.openRow(row);
    return this.known;
  }

  /** Kept in memory only once it is read from the database: this transaction may still fail. */
  private async make(trx: Transaction): Promise<Identity> {
    await lockFileVaultKey(trx);
    const made = await this.find(trx);
    if (made !== undefined) return made;
    const { publicKey, privateKey } = await generateRsaKeyPair(KEY_BITS);
    const now = new Date();
    const certificate = issueCertificate({
      subject: [{ type: 'CN', value: 'Muster FileVault recovery keys' }],
      publicKey,
      issuerKey: privateKey,
      notBefore: new Date(now.getTime() - CLOCK_TOLERANCE_MS),
      notAfter: yearsAfter(now, YEARS),
      keyUsage: ['keyEncipherment', 'dataEncipherment'],
    });
    const sealedKey = this.box.seal(exportPrivateKey(privateKey), LABEL);
    await insertFileVaultKey(trx, { certificate, sealedKey });
    return this.openRow({ certificate, sealedKey });
  }

  private openRow({ certificate, sealedKey }: FileVaultKeyRow): Identity {
    const privateKey = importPrivateKey(this.box.open(sealedKey, LABEL));
    return { certificate: parseCertificate(certificate), privateKey };
  }
}
