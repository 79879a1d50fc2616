import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import {
  findPushCertificateFacts,
  type PushCertificateFacts,
} from '../../db/pki/push-certificate-request-repository.js';
import { AppError } from '../../errors.js';
import { createdWith } from '../../events/audit.js';
import { auditCli } from '../audit-cli.js';
import { type CredentialPem, readCredentialFiles } from '../keys/credential-file.js';
import { UsageError } from '../options.js';
import { PasswordPrompt } from '../password.js';
import { dayText } from '../table.js';
import { asCommands, rethrowAsCommands } from './push-cert-advice.js';
import type { OpenPushCert, PushCertIo, PushCertServices } from './push-cert-services.js';

export interface PushCertImportOptions {
  cert?: string[];
  key?: string;
  p12?: string;
  passwordFile?: string;
  appleAccount?: string;
  force?: boolean;
}

const DAY_MS = 86_400_000;
const RENEW_DAYS = 30;

/** Imports a push certificate from Apple. Its key was made here, or is imported from another server. */
export async function pushCertImport(
  options: PushCertImportOptions,
  io: PushCertIo,
  open: OpenPushCert,
): Promise<void> {
  const pem = await readFiles(options, io);
  await open(async (services) => {
    const added = await inTransaction(services.db, (trx) => add(trx, services, { pem, options }));
    printResult(added, io);
  });
}

async function readFiles(
  { cert = [], key, p12, passwordFile }: PushCertImportOptions,
  io: PushCertIo,
): Promise<CredentialPem> {
  if (cert.length > 0 === (p12 !== undefined)) throw new UsageError('use either --cert or --p12');
  const files = [...cert, p12, key].filter((file) => file !== undefined);
  const password = new PasswordPrompt({ name: '--password-file', file: passwordFile }, io);
  const pem = await readCredentialFiles(files, password);
  if (pem.pem_certificate !== undefined) return pem;
  throw new AppError('bad_request', 400, `${files.join(', ')}: it contains no certificate`);
}

interface Import {
  pem: CredentialPem;
  options: PushCertImportOptions;
}

interface Added {
  facts: PushCertificateFacts;
  warnings: string[];
}

async function add(
  trx: Transaction,
  { certificates }: PushCertServices,
  { pem, options }: Import,
): Promise<Added> {
  const { appleAccount, force: isForced = false } = options;
  const input = { ...pem, purpose: 'mdm.pushcert', isForced } as const;
  const id = await certificates
    .add(trx, { ...input, apple_account: appleAccount })
    .catch(rethrowAsCommands);
  const facts = await findPushCertificateFacts(trx, id);
  if (facts === undefined) throw new Error('the certificate is gone');
  if (!facts.has_key) throw withoutKey();
  const { topic, apple_account, not_after } = facts;
  const changes = createdWith({
    purpose: 'mdm.pushcert',
    push_topic: topic,
    apple_account,
    not_after,
    pem_certificate: pem.pem_certificate,
  });
  const values = { changes, details: isForced ? { forced: true } : {} };
  await auditCli(trx, { action: 'certificates.create', target: ['certificates', id], values });
  const warnings = await certificates.warnings(trx, id);
  return { facts, warnings: warnings.map(({ detail }) => asCommands(detail)) };
}

function withoutKey(): AppError {
  const message =
    'the private key of this certificate is not here, so nothing could be pushed with it: it was ' +
    'requested on another server. Import its key by --key (or both by --p12). Nothing was changed';
  return new AppError('key_mismatch', 409, message);
}

function printResult({ facts, warnings }: Added, { write }: PushCertIo): void {
  const { id, topic, not_after: end, apple_account: account } = facts;
  const isOver = end.getTime() <= Date.now();
  const state = isOver ? 'stored; it can no longer be used' : 'in use, without a restart';
  write(`Push certificate ${id} is ${state}.`);
  write(`Topic: ${topic}`);
  write(`Good until: ${dayText(end)}`);
  write(`Apple Account: ${account ?? 'not known'}`);
  for (const warning of warnings) write(`Warning: ${warning}`);
  write('');
  if (account === null) {
    write('Only the account it was made with can renew it. Note which one that is:');
    write(`muster api PATCH /certificates/${id} -f apple_account=you@example.com`);
  }
  const reminder = dayText(new Date(end.getTime() - RENEW_DAYS * DAY_MS));
  write(
    `Next: renew it from ${reminder} on by muster push-cert request; /api/v1/credentials warns.`,
  );
}
