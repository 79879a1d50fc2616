import type { Command } from 'commander';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import {
  findByName,
  insertLink,
  isSmartGroup,
  type ListedLink,
  linkStatus,
  listLinks,
} from '../../db/enroll/enrollment-link-repository.js';
import { EnrollmentLinks } from '../../enroll/link/enrollment-links.js';
import { AppError } from '../../errors.js';
import { createdWith } from '../../events/audit.js';
import { auditCli } from '../audit-cli.js';
import { parseExpiry, UsageError, wholeNumber } from '../options.js';
import { dateText, type WriteLine, writeTable } from '../table.js';
import { type LinkConsoleArgs, linkConsole } from './console-link.js';
import { changeLinks, LINK_CHANGES } from './link-changes.js';

export interface LinkDatabase {
  db: Database;
  box: SecretBox;
  /** The URL that devices use. */
  publicUrl: string;
  /** ADMIN_TOKEN of the environment. */
  adminToken?: string | undefined;
}

export interface LinkCreateArgs {
  name: string;
  maxUses?: number;
  /** `90m`, `12h`, `30d`, or a date as ISO 8601; never when left out. */
  expires?: string;
  /** Names. */
  tag?: string[];
  group?: string;
}

const INT4 = 2_147_483_647;

async function idsOf(trx: Transaction, table: 'tags' | 'device_groups', names: string[]) {
  const found = await findByName(trx, table, names);
  const missing = names.find((name) => !found.has(name));
  if (missing === undefined) return [...new Set(found.values())];
  const kind = table === 'tags' ? 'tag' : 'device group';
  const remedy = `make it by muster api POST /${table} -f name=...`;
  throw new AppError('not_found', 404, `there is no ${kind} ${JSON.stringify(missing)}: ${remedy}`);
}

/** Devices of a link become members at once, whatever a rule says. */
async function staticGroup(trx: Transaction, name: string): Promise<number | null> {
  const [id = null] = await idsOf(trx, 'device_groups', [name]);
  if (id === null || !(await isSmartGroup(trx, id))) return id;
  const message = `the rule of the smart group ${JSON.stringify(name)} decides about its members`;
  throw new AppError('conflict', 409, `${message}: name a static group, or a tag of the rule`);
}

function expiryOf({ expires }: LinkCreateArgs): Date | null {
  if (expires === undefined) return null;
  const date = parseExpiry(expires);
  if (date.getTime() > Date.now()) return date;
  throw new UsageError('--expires must be in the future');
}

/** Prints the address alone on the first line, for scripts. */
export async function linkCreate(
  { db, box, publicUrl }: LinkDatabase,
  args: LinkCreateArgs,
  write: WriteLine,
): Promise<void> {
  const { name, maxUses = null, tag = [], group } = args;
  if (!/^[^\p{Cc}]{1,255}$/u.test(name))
    throw new UsageError('--name must have 1 to 255 characters');
  if (maxUses !== null && maxUses > INT4) throw new UsageError('--max-uses is too large');
  const expires_at = expiryOf(args);
  const links = new EnrollmentLinks({ box, publicUrl });
  const { token } = links.newToken();
  const seal = (id: number) => links.sealToken(id, token);
  const id = await inTransaction(db, async (trx) => {
    const tagIds = await idsOf(trx, 'tags', [...new Set(tag)]);
    const device_group_id = group === undefined ? null : await staticGroup(trx, group);
    const link = { name, max_uses: maxUses, expires_at, device_group_id };
    const created = await insertLink(trx, link, { token, seal, tagIds });
    await auditCli(trx, {
      action: 'enrollment_links.create',
      target: ['enrollment_links', created],
      values: { changes: createdWith({ ...link, tags: tagIds }) },
    });
    return created;
  });
  write(links.urlWith(token));
  write(`id ${id}, uses 0 of ${maxUses ?? 'any number'}, expires ${dateText(expires_at)}`);
}

const HEADINGS = ['ID', 'NAME', 'STATE', 'USES', 'EXPIRES', 'LAST USED', 'URL'];

function cells(link: ListedLink, links: EnrollmentLinks): string[] {
  const { id, name, uses, max_uses, expires_at, last_used_at, sealed_token } = link;
  const used = max_uses === null ? `${uses}` : `${uses}/${max_uses}`;
  const times = [expires_at, last_used_at].map(dateText);
  return [`${id}`, name, linkStatus(link), used, ...times, links.urlOf(id, sealed_token)];
}

export async function linkList(
  { db, box, publicUrl }: LinkDatabase,
  _args: object,
  write: WriteLine,
): Promise<void> {
  const links = new EnrollmentLinks({ box, publicUrl });
  const rows = (await listLinks(db.knex)).map((link) => cells(link, links));
  writeTable([HEADINGS, ...rows], write);
}

export interface LinkIo {
  withLinks(work: (opened: LinkDatabase) => Promise<void>): Promise<void>;
  write: WriteLine;
}

export function addLinkCommands(program: Command, { withLinks, write }: LinkIo): void {
  const link = program
    .command('link')
    .description('links by which people enroll their devices, or sign in to the console');
  const collect = (value: string, earlier: string[] = []) => [...earlier, value];
  link
    .command('create')
    .description('make a link and print it')
    .requiredOption('--name <name>', 'what it is for')
    .option(
      '--max-uses <number>',
      'the most devices that may use it; any number when left out',
      wholeNumber,
    )
    .option('--expires <when>', 'like 12h or 30d, or a date; never when left out')
    .option('--tag <name>', 'a tag that its devices get; once for each', collect)
    .option('--group <name>', 'a device group that its devices join')
    .action((args: LinkCreateArgs) => withLinks((opened) => linkCreate(opened, args, write)));
  link
    .command('list')
    .description('show all links')
    .action((args: object) => withLinks((opened) => linkList(opened, args, write)));
  link
    .command('console')
    .description('make a link that signs a browser in to the console, once, and print it')
    .option(
      '--token <id or name>',
      'the API token to sign in as; ADMIN_TOKEN or the first admin token when left out',
    )
    .action((args: LinkConsoleArgs) => withLinks((opened) => linkConsole(opened, args, write)));
  for (const change of ['disable', 'enable', 'delete'] as const) {
    link
      .command(change)
      .description(LINK_CHANGES[change].description)
      .argument('<link>', 'its id, or its name')
      .action((idOrName: string) =>
        withLinks((opened) => changeLinks(opened, { link: idOrName, change }, write)),
      );
  }
}
