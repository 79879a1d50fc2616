import type { RequestHandler } from 'express';
import { z } from 'zod';
import { lastBackupAt, readBackupState } from '../../backup/server/backup-warnings.js';
import { type Config, ENROLLMENT_POLICIES } from '../../config/config.js';
import { blockedTopics } from '../../db/admin/metrics-repository.js';
import { readPushTopic } from '../../db/admin/settings-repository.js';
import {
  haltedRollouts,
  pausedProfiles,
  readReconcilerState,
} from '../../db/assignments/item-repository.js';
import type { Database } from '../../db/connection/database.js';
import { listDuplicateAccounts, listFailingAccounts } from '../../db/dep/dep-account-health.js';
import { countHeldRequests } from '../../db/enroll/held-enrollment-repository.js';
import { countEndingIdentities } from '../../db/pki/credential-repository.js';
import { processesWithPushFailure } from '../../db/processes/process-repository.js';
import {
  COUNTED_AT_MOST,
  countDevicesOfOtherTopics,
  countRefusedDevices,
} from '../../db/push/device-reach.js';
import type { CredentialReport } from '../../doctor/check.js';
import { formatTimestamp } from '../../jsonapi/definition/values.js';
import type { Document } from '../../jsonapi/documents/document.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import {
  CREDENTIAL_KINDS,
  CREDENTIAL_STATES,
  type Credential,
  credentialsInUse,
  EXPIRING_DAYS,
  type FileCertificate,
} from '../../pki/credentials/credential-status.js';
import type { TlsCaveat } from '../../pki/tls/tls-caveats.js';
import { ownDocument, ownDocumentSchema } from '../action-document.js';
import { type ApiOperation, type ApiRoute, jsonApiContent } from '../api-route.js';
import { refuseParameters } from '../request-parts.js';
import { type CredentialFacts, credentialWarnings, usableTopics } from './credential-warnings.js';

export interface CredentialRouteDeps {
  db: Database;
  config: Pick<
    Config,
    | 'enrollment'
    | 'replaceEnrolled'
    | 'publicUrl'
    | 'lab'
    | 'apnsHost'
    | 'depSyncInterval'
    | 'backupEvery'
  >;
  /** What is wrong with how this process speaks TLS. */
  tlsCaveats?: () => readonly TlsCaveat[];
  /** The certificate of TLS_CERT_FILE. */
  tlsFile?: () => FileCertificate | undefined;
}

const PATH = '/credentials';

const links = z.strictObject({}).meta({ ref: 'resource_links' });

const CREDENTIALS = {
  type: 'credentials',
  onlyId: 1,
  attributes: z.strictObject({
    credentials: z.array(
      z.strictObject({
        kind: z.enum(CREDENTIAL_KINDS),
        source: z.enum(['database', 'file']).describe('file: TLS_CERT_FILE.'),
        id: z
          .strictObject({})
          .meta({ ref: 'id' })
          .nullable()
          .describe('Of the certificate, or of the account of device enrollment; null of a file.'),
        name: z.string(),
        days_left: z.int().describe('Negative once it has expired.'),
        status: z.enum(CREDENTIAL_STATES),
        topic: z.string().nullable().describe('Of push certificates.'),
        apple_account: z
          .string()
          .nullable()
          .describe('Of push certificates, where it is known: who can renew it at Apple.'),
        identities: z
          .int()
          .nullable()
          .describe(
            'Of CAs that do not issue here now: how many identities of enrolled devices are theirs ' +
              `(${COUNTED_AT_MOST + 1}: more than ${COUNTED_AT_MOST}).`,
          ),
        not_after: z.string().meta({ format: 'date-time' }),
        links,
      }),
    ),
    last_backup_at: z
      .string()
      .meta({ format: 'date-time' })
      .nullable()
      .describe(
        'When the newest good backup was begun: what has changed since then is in none. null: none ' +
          'is known here.',
      ),
    enrollment: z.enum(ENROLLMENT_POLICIES).describe('Who may enroll a device: `ENROLLMENT`.'),
    warnings: z.array(z.strictObject({ code: z.string(), detail: z.string() })),
  }),
};

/** A process that has not reported for so long counts as dead. */
const SILENT_MS = 30_000;

/** Maximum of paused profiles that the warnings name. */
const MAX_PAUSED = 10;

/** Sync intervals without a successful sync that cause a warning. */
const MISSED_SYNCS = 3;

/** Where an admin looks when devices do not connect. */
export function credentialRoutes(deps: CredentialRouteDeps, basePath: string): ApiRoute[] {
  const read: RequestHandler = async (req, res) => {
    const document = documentOf(await readFacts(deps), basePath);
    sendAnswer(req, res, { status: 200, document });
  };
  const GET: ApiOperation = {
    operationId: 'getCredentials',
    summary: 'See what the server works by, and what is wrong with it',
    description:
      'Every certificate and token that the server works by and that ends by itself, CAs and the ' +
      'certificate of TLS_CERT_FILE among them, the first to end first, and warnings: what ' +
      'keeps devices from being reached, now or within 30 days, backups that are missing, and what to ' +
      'do about it. `code` is stable, `detail` is for people.',
    tag: 'configuration',
    role: 'viewer',
    answers: [
      {
        status: 200,
        description: 'The document.',
        content: [jsonApiContent(ownDocumentSchema(CREDENTIALS))],
      },
    ],
    errors: [400],
    handlers: [refuseParameters, read],
  };
  return [{ path: PATH, methods: { GET } }];
}

/** What the document shows, for the doctor. */
export async function readCredentialReport(deps: CredentialRouteDeps): Promise<CredentialReport> {
  const facts = await readFacts(deps);
  return { credentials: facts.credentials, warnings: credentialWarnings(facts) };
}

async function readFacts(deps: CredentialRouteDeps): Promise<CredentialFacts> {
  const { db, config } = deps;
  const tlsCaveats = deps.tlsCaveats?.() ?? [];
  const credentials = await credentialsInUse(db.knex, { tlsFile: deps.tlsFile?.() });
  const ending = { days: EXPIRING_DAYS, most: COUNTED_AT_MOST + 1 };
  const { lab: isLabOn, depSyncInterval: interval } = config;
  const staleAfter = interval && MISSED_SYNCS * interval;
  const [
    pushFailures,
    enrollmentTopic,
    unreachable,
    refused,
    held,
    blocked,
    identities,
    reconciler,
    paused,
    halted,
    backups,
    ...accounts
  ] = await Promise.all([
    processesWithPushFailure(db, SILENT_MS),
    readPushTopic(db.knex),
    countDevicesOfOtherTopics(db.knex, usableTopics(credentials)),
    countRefusedDevices(db.knex),
    countHeldRequests(db.knex, COUNTED_AT_MOST + 1),
    blockedTopics(db),
    countEndingIdentities(db.knex, ending),
    readReconcilerState(db.knex),
    pausedProfiles(db.knex, MAX_PAUSED),
    haltedRollouts(db.knex, MAX_PAUSED),
    readBackupState(db, config),
    listFailingAccounts(db.knex, { isLabOn, staleAfter }),
    listDuplicateAccounts(db.knex, { isLabOn }),
  ]);
  const [failingAccounts, duplicateAccounts] = accounts;
  return {
    credentials,
    pushFailures,
    enrollmentTopic,
    unreachable,
    refused,
    held,
    blocked,
    config,
    tlsCaveats,
    identities,
    reconciler,
    pausedProfiles: paused,
    haltedRollouts: halted,
    failingAccounts,
    duplicateAccounts,
    backups,
  };
}

function documentOf(facts: CredentialFacts, basePath: string): Document {
  const lastBackup = lastBackupAt(facts.backups);
  const attributes = {
    credentials: facts.credentials.map((credential) => shown(credential, basePath)),
    last_backup_at: lastBackup && formatTimestamp(lastBackup),
    enrollment: facts.config.enrollment,
    warnings: credentialWarnings(facts),
  };
  return ownDocument(CREDENTIALS, { id: 1, attributes, self: basePath + PATH });
}

function shown(credential: Credential, basePath: string) {
  const { kind, id, source, name, days_left, status, not_after } = credential;
  const { topic = null, apple_account = null, identities = null } = credential;
  const collection = kind === 'dep_token' ? 'dep/accounts' : 'certificates';
  const links = { self: id === null ? basePath + PATH : `${basePath}/${collection}/${id}` };
  const optional = { topic, apple_account, identities };
  const said = { kind, id, source, name, days_left, status };
  return { ...said, ...optional, not_after: formatTimestamp(not_after), links };
}
