import { type Command, Option } from 'commander';
import { rotateAudited } from '../../api/credentials/authority-rotation.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { type AuthorityUseRow, listAuthorityUses } from '../../db/pki/authority-repository.js';
import {
  AuthorityRotations,
  CA_KEY_SIZES,
  type CaKeySize,
  makeAuthorityKeys,
} from '../../pki/authority/stored-authority.js';
import { checkMasterKey } from '../../pki/master-key/master-key.js';
import { cliContext } from '../audit-cli.js';
import { dayText, type WriteLine, writeTable } from '../table.js';

export interface CaDatabase {
  db: Database;
  box: SecretBox;
}

export async function caRotate(
  { db, box }: CaDatabase,
  { bits }: { bits: CaKeySize },
  write: WriteLine,
): Promise<void> {
  await checkMasterKey(db, box);
  const keys = await makeAuthorityKeys(bits);
  const { made, former } = await inTransaction(db, (trx) =>
    rotateAudited(trx, new AuthorityRotations(box), { keys, context: cliContext() }),
  );
  const { subject, fingerprint, notAfter } = made.certificate;
  write(`${subject} issues the identities of devices from now on.`);
  write(`id ${made.id}, RSA ${bits}, valid until ${dayText(notAfter)}`);
  write(`SHA-256 ${fingerprint.toString('hex')}`);
  for (const line of former === undefined ? [] : formerCaLines(former)) write(line);
}

function countOf(devices: number): string {
  return devices === 1 ? '1 device' : `${devices} devices`;
}

function formerCaLines({ subject, devices, last_not_after: last }: AuthorityUseRow): string[] {
  if (last === null) return [`${subject} issued before; no device has an identity of it.`];
  return [
    `${subject} issued before and stays trusted: nothing changes now for ${countOf(devices)} ` +
      'with an identity of it.',
    'Each gets one of the new CA when its identity is renewed, in the last third of its life.',
    `The former CA is needed until then, ${dayText(last)} at the latest, and to answer enrollments ` +
      'that are under way.',
  ];
}

function stateOf({ revoked_at, not_after, issues_identities }: AuthorityUseRow): string {
  if (revoked_at !== null) return 'revoked';
  if (not_after.getTime() <= Date.now()) return 'expired';
  return issues_identities ? 'issues' : 'trusted';
}

const HEADINGS = ['ID', 'NAME', 'STATE', 'EXPIRES', 'DEVICES', 'NEEDED UNTIL', 'SHA-256'];

function cells(row: AuthorityUseRow): string[] {
  const neededUntil = row.last_not_after === null ? '-' : dayText(row.last_not_after);
  const { id, subject, devices, fingerprint_sha256 } = row;
  const dates = [dayText(row.not_after), String(devices), neededUntil];
  return [String(id), subject, stateOf(row), ...dates, fingerprint_sha256];
}

export async function caList(db: Database, write: WriteLine): Promise<void> {
  writeTable([HEADINGS, ...(await listAuthorityUses(db.knex)).map(cells)], write);
}

interface CaIo {
  /** Migrates the schema first. */
  withDatabase(work: (db: Database) => Promise<void>): Promise<void>;
  openSecrets(db: Database): Promise<SecretBox>;
  write: WriteLine;
}

export function addCaCommands(program: Command, { withDatabase, openSecrets, write }: CaIo): void {
  const ca = program.command('ca').description('the CAs made here, which issue device identities');
  const sizes = CA_KEY_SIZES.map(String);
  ca.command('rotate')
    .description('issue with a new CA; the former one stays trusted')
    .addOption(new Option('--bits <bits>', 'of its RSA key').choices(sizes).default('2048'))
    .action(({ bits }: { bits: string }) =>
      withDatabase(async (db) => {
        const box = await openSecrets(db);
        await caRotate({ db, box }, { bits: Number(bits) as CaKeySize }, write);
      }),
    );
  ca.command('list')
    .description('show them, and how many devices depend on each')
    .action(() => withDatabase((db) => caList(db, write)));
}
