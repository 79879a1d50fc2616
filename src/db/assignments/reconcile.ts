import type { Knex } from 'knex';
import { runPrepared } from '../connection/prepared-statements.js';
import type { Transaction } from '../connection/unit-of-work.js';
import { CREDENTIAL_TYPES } from './credential-pace-sql.js';
import { QUEUE_ITEM_COMMANDS } from './item-changes-sql.js';
import { RECONCILE } from './reconcile-sql.js';

export interface ReconcileScope {
  deviceIds: readonly number[];
  /** Only this item of the devices; all of them without. */
  itemKey?: string | undefined;
  /** Setup Assistant goes on while everything else is paused. */
  ignoresPause?: boolean | undefined;
  /** Those of the devices that have left a smart group, or joined one that is excluded. */
  left?: readonly number[] | undefined;
  /** Such removals pause once this many devices, and over a tenth of those with an item, lose it within an hour. */
  maxRemovals: number;
}

export interface Reconciled {
  /** Items that were added, changed or removed. */
  changed: number;
  /** Versions to install somewhere, by their ids. */
  versions: number[];
  has_removals: boolean;
  /** Items whose command is to be queued, by their ids. */
  items: number[];
  /** Devices that carried out a change: their ProfileList shows whether it is there. */
  to_list: number[];
  /** The same for users, by their ids. */
  users_to_list: number[];
  /** Profiles that too many devices lose; their removals are held back from now on. */
  braked: { profileId: number; devices: number }[];
}

/** The payload of InstallProfile for a version. */
export interface VersionPayload {
  versionId: number;
  sha256: Buffer;
}

export interface ItemCommands {
  itemIds: readonly number[];
  payloads: readonly VersionPayload[];
  /** The plist of RemoveProfile, with IDENTIFIER and zeros as placeholders for identifier and UUID. */
  removal: string;
  /** Milliseconds between two installs that fetch a credential. */
  credentialPauseMs: number;
}

/**
 * Until the tables are analyzed, PostgreSQL takes freshly filled ones for empty, and compares every item
 * with every other. Its estimate is far too high then, so that compiling would take longer than the rest.
 */
const BY_INDEX =
  'set local enable_seqscan = off; set local jit = off; set local plan_cache_mode = force_generic_plan';

/** The statement with its parameters in the order of the names, to be prepared: planning takes 20 ms. */
function prepared(text: string, names: readonly string[]): string {
  return text.replace(/(?<!:):([a-z_]+)/g, (_parameter, name: string) => {
    const index = names.indexOf(name);
    if (index < 0) throw new Error(`a statement has an unknown parameter :${name}`);
    return `$${index + 1}`;
  });
}

const RECONCILE_TEXT = prepared(RECONCILE, [
  'devices',
  'item_key',
  'ignores_pause',
  'left',
  'most_removals',
]);

const QUEUE_TEXT = prepared(QUEUE_ITEM_COMMANDS, [
  'items',
  'versions',
  'hashes',
  'removal',
  'credential_types',
  'pause_ms',
]);

/** Writes what changes for the devices, whose locks the caller has. */
export async function reconcileItems(
  trx: Transaction,
  { deviceIds, itemKey, ignoresPause = false, left = [], maxRemovals }: ReconcileScope,
): Promise<Reconciled> {
  await trx.raw(BY_INDEX);
  const bindings = [[...deviceIds], itemKey ?? null, ignoresPause, [...left], maxRemovals];
  const [row] = await runPrepared<Reconciled>(trx, { text: RECONCILE_TEXT, bindings });
  if (row === undefined) throw new Error('the reconciliation returned no row');
  return row;
}

/** Whom commands were queued for, each once. */
export interface Recipients {
  devices: number[];
  users: number[];
}

/** Queues the commands that the items name. Returns who got one. */
export async function queueItemCommands(
  trx: Transaction,
  { itemIds, payloads, removal, credentialPauseMs }: ItemCommands,
): Promise<Recipients> {
  type Row = { device_id: number; device_user_id: number | null };
  const bindings = [
    [...itemIds],
    payloads.map(({ versionId }) => versionId),
    payloads.map(({ sha256 }) => sha256),
    removal,
    CREDENTIAL_TYPES,
    credentialPauseMs,
  ];
  const rows = await runPrepared<Row>(trx, { text: QUEUE_TEXT, bindings });
  const ofDevices = rows.filter(({ device_user_id }) => device_user_id === null);
  return {
    devices: [...new Set(ofDevices.map(({ device_id }) => device_id))],
    users: [...new Set(rows.flatMap(({ device_user_id }) => device_user_id ?? []))],
  };
}

/** Items of the version that could not be built: nothing is queued for them until a new version comes. */
export async function failUnbuiltItems(
  trx: Transaction,
  { deviceIds, versionId }: { deviceIds: readonly number[]; versionId: number },
): Promise<void> {
  await trx('device_items')
    .whereRaw('device_id = any(?::bigint[])', [[...deviceIds]])
    .where({ profile_version_id: versionId, action: 'install' })
    .whereRaw('not exists (select from commands c where c.id = device_items.command_id)')
    .update({
      state: 'failed',
      action: null,
      command_id: null,
      reason_code: 'unbuilt',
      reason: 'the profile could not be built; the log of the server says why. Upload it again',
      changed_at: trx.fn.now(),
    });
}

/** A version to build. */
export interface VersionToBuild {
  id: number;
  profile_id: number;
  number: number;
  is_signed: boolean;
  /** A template: it is rendered with the values of each device. */
  is_rendered: boolean;
  holds_secrets: boolean;
  content_digest: Buffer;
}

export async function findVersions(knex: Knex, ids: readonly number[]): Promise<VersionToBuild[]> {
  return await knex('profile_versions')
    .whereRaw('id = any(?::bigint[])', [[...ids]])
    .orderBy('id')
    .select(
      'id',
      'profile_id',
      'number',
      'is_signed',
      'is_rendered',
      'holds_secrets',
      'content_digest',
    );
}

const TO_LIST = `
select d.id from unnest(?::bigint[]) as d (id)
where not exists (
  select from device_items i
  where i.device_id = d.id and i.device_user_id is null and i.action is not null)`;

/** Those of the devices that have nothing under way any more. */
export async function devicesToList(trx: Transaction, ids: readonly number[]): Promise<number[]> {
  if (ids.length === 0) return [];
  const { rows } = await trx.raw<{ rows: { id: number }[] }>(TO_LIST, [[...ids]]);
  return rows.map(({ id }) => id);
}
