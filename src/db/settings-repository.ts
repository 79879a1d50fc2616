import type { Knex } from 'knex';

export interface OrganizationRow {
  name: string;
  /** Reverse-DNS start of every PayloadIdentifier that is generated. */
  payload_prefix: string;
  x509_ou: string | null;
  x509_o: string | null;
  x509_st: string | null;
  x509_c: string | null;
}

export interface ScepConfigurationRow {
  source_type: 'InternalPKCS12' | 'InternalSCEP' | 'ExternalSCEP';
  url: string | null;
  challenge_enabled: boolean;
  sealed_challenge: Buffer | null;
  ca_fingerprint: string | null;
  /** `O=Example/OU=IT/CN=%HardwareUUID%` */
  subject: string | null;
  key_size: number;
  key_usage: number;
  subject_alt_name: Record<string, unknown> | null;
  retries: number;
  retry_delay: number;
}

/** What holds until an admin writes the organization. */
const DEFAULT_ORGANIZATION: OrganizationRow = {
  name: 'Muster',
  payload_prefix: 'dev.muster',
  x509_ou: null,
  x509_o: null,
  x509_st: null,
  x509_c: null,
};

const DEFAULT_SCEP: ScepConfigurationRow = {
  source_type: 'InternalSCEP',
  url: null,
  challenge_enabled: true,
  sealed_challenge: null,
  ca_fingerprint: null,
  subject: null,
  key_size: 2048,
  key_usage: 5,
  subject_alt_name: null,
  retries: 3,
  retry_delay: 10,
};

export async function readOrganization(knex: Knex): Promise<OrganizationRow> {
  const columns = Object.keys(DEFAULT_ORGANIZATION);
  const row = await knex('organizations').first<OrganizationRow | undefined>(columns);
  return row ?? DEFAULT_ORGANIZATION;
}

export async function readScepConfiguration(knex: Knex): Promise<ScepConfigurationRow> {
  const columns = Object.keys(DEFAULT_SCEP);
  const row = await knex('scep_configurations').first<ScepConfigurationRow | undefined>(columns);
  return row ?? DEFAULT_SCEP;
}

/** Topic of the newest push certificate that is still valid. */
export async function readPushTopic(knex: Knex): Promise<string | undefined> {
  const row = await knex('certificates')
    .where({ purpose: 'mdm.pushcert' })
    .whereNull('revoked_at')
    .whereNotNull('push_topic')
    .where('not_after', '>', knex.fn.now())
    .orderBy('id', 'desc')
    .first<{ push_topic: string } | undefined>('push_topic');
  return row?.push_topic;
}
