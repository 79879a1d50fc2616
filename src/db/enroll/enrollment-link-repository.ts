import { createHash } from 'node:crypto';
import type { Knex } from 'knex';

/** The columns that decide whether a link is usable. */
export interface EnrollmentLinkRow {
  id: number;
  name: string;
  max_uses: number | null;
  uses: number;
  expires_at: Date | null;
  is_disabled: boolean;
}

export const LINK_COLUMNS = ['id', 'name', 'max_uses', 'uses', 'expires_at', 'is_disabled'];

/** Until the token is sealed under the id of the new row. */
const NOT_SEALED_YET = Buffer.alloc(0);

/** SHA-256 of a token, by which its link is found. */
export function linkTokenHash(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}

export async function findLinkByToken(
  knex: Knex,
  token: string,
): Promise<EnrollmentLinkRow | undefined> {
  return await knex('enrollment_links')
    .where({ token_hash: linkTokenHash(token) })
    .first<EnrollmentLinkRow | undefined>(...LINK_COLUMNS);
}

export async function findLink(knex: Knex, id: number): Promise<EnrollmentLinkRow | undefined> {
  return await knex('enrollment_links')
    .where({ id })
    .first<EnrollmentLinkRow | undefined>(...LINK_COLUMNS);
}

export const LINK_STATUSES = ['usable', 'disabled', 'expired', 'spent'] as const;
export type LinkStatus = (typeof LINK_STATUSES)[number];

/** Whether the link is usable at `now`, and if not, why. */
export function linkStatus(
  link: Pick<EnrollmentLinkRow, 'is_disabled' | 'expires_at' | 'max_uses' | 'uses'>,
  now = new Date(),
): LinkStatus {
  if (link.is_disabled) return 'disabled';
  if (link.expires_at !== null && link.expires_at <= now) return 'expired';
  return link.max_uses !== null && link.uses >= link.max_uses ? 'spent' : 'usable';
}

/** Why a link of this status cannot be used, for the person or device that tries. */
export const LINK_FAULTS = {
  usable: undefined,
  disabled: 'an administrator has disabled this link',
  expired: 'this link has expired',
  spent: 'this link was used as often as it may be',
} satisfies Record<LinkStatus, string | undefined>;

export interface NewEnrollmentLink {
  name: string;
  description?: string | null;
  max_uses?: number | null;
  expires_at?: Date | null;
  device_group_id?: number | null;
}

/** Stores a link with its tags and returns its id. `seal` seals the token under the new row's id. */
export async function insertLink(
  trx: Knex.Transaction,
  link: NewEnrollmentLink,
  secret: { token: string; seal: (id: number) => Buffer; tagIds: readonly number[] },
): Promise<number> {
  const values = { ...link, token_hash: linkTokenHash(secret.token), sealed_token: NOT_SEALED_YET };
  const [row] = await trx('enrollment_links').insert(values).returning<{ id: number }[]>('id');
  if (row === undefined) throw new Error('the enrollment link was not stored');
  const { id } = row;
  await trx('enrollment_links')
    .where({ id })
    .update({ sealed_token: secret.seal(id) });
  const tags = secret.tagIds.map((tag_id) => ({ enrollment_link_id: id, tag_id }));
  if (tags.length > 0) await trx('enrollment_link_tags').insert(tags);
  return id;
}

export interface ListedLink extends EnrollmentLinkRow {
  sealed_token: Buffer;
  created_at: Date;
  last_used_at: Date | null;
}

/** All links, the oldest first. */
export async function listLinks(knex: Knex): Promise<ListedLink[]> {
  return await knex('enrollment_links')
    .select<ListedLink[]>(...LINK_COLUMNS, 'sealed_token', 'created_at', 'last_used_at')
    .orderBy('id');
}

/** The link with this id, or all with this name, locked until the transaction ends. */
export async function lockLinks(
  trx: Knex.Transaction,
  selector: { id: number } | { name: string },
): Promise<EnrollmentLinkRow[]> {
  return await trx('enrollment_links')
    .where(selector)
    .orderBy('id')
    .forUpdate()
    .select<EnrollmentLinkRow[]>(...LINK_COLUMNS);
}

export async function setLinkDisabled(
  trx: Knex.Transaction,
  ids: number[],
  is_disabled: boolean,
): Promise<void> {
  await trx('enrollment_links').whereIn('id', ids).update({ is_disabled });
}

export async function deleteLinks(trx: Knex.Transaction, ids: number[]): Promise<void> {
  await trx('enrollment_links').whereIn('id', ids).delete();
}

/** Names of tags are unique ignoring case. */
const SAME_NAME = {
  tags: 'lower(found.name) = lower(asked)',
  device_groups: 'found.name = asked',
};

/** The ids of those of `names` that exist, by name. */
export async function findByName(
  knex: Knex,
  table: 'tags' | 'device_groups',
  names: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await knex.raw<{ rows: { id: number; asked: string }[] }>(
    `select found.id, asked from unnest(?::text[]) as asked
     join ${table} as found on ${SAME_NAME[table]}`,
    [[...names]],
  );
  return new Map(rows.map(({ id, asked }) => [asked, id]));
}

/** Whether a rule decides about the members of this group. */
export async function isSmartGroup(knex: Knex, id: number): Promise<boolean> {
  return (await knex('device_groups').where({ id, kind: 'smart' }).first('id')) !== undefined;
}
