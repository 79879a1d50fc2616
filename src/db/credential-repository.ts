import type { Knex } from 'knex';
import type { CertificatePurpose } from './certificate-repository.js';

/** What the server presents of itself, or vouches with; never a certificate of a device. */
export interface ServerCertificateRow {
  id: number;
  purpose: CertificatePurpose;
  subject: string;
  x509_cn: string | null;
  push_topic: string | null;
  not_before: Date;
  not_after: Date;
  has_key: boolean;
}

export interface ProgramTokenRow {
  id: number;
  name: string | null;
  access_token_expiry: Date;
}

const SERVER_PURPOSES: CertificatePurpose[] = ['mdm.pushcert', 'mdm.cacert', 'mdm.webcrt'];

/** Push, CA and TLS certificates that are not revoked, the last added first. */
export async function listServerCertificates(knex: Knex): Promise<ServerCertificateRow[]> {
  return await knex('certificates')
    .whereIn('purpose', SERVER_PURPOSES)
    .whereNull('revoked_at')
    .orderBy('id', 'desc')
    .select<ServerCertificateRow[]>(
      ...['id', 'purpose', 'subject', 'x509_cn', 'push_topic', 'not_before', 'not_after'],
      knex.raw('rsa_private_key_id is not null as has_key'),
    );
}

/** The tokens of Apple's enrollment program whose end is known. */
export async function listProgramTokens(knex: Knex): Promise<ProgramTokenRow[]> {
  return await knex('dep_accounts')
    .whereNotNull('access_token_expiry')
    .orderBy('id')
    .select<ProgramTokenRow[]>(
      'id',
      'access_token_expiry',
      knex.raw('coalesce(server_name, org_name) as name'),
    );
}
