import type { Knex } from 'knex';
import { type InventoryRow, ROWS_PER_STATEMENT } from './inventory-repository.js';
import { STATE_COLUMNS } from './update-states.js';

/** A row that a device lists, and where it stands: the list of the batch and the row in it. */
export interface ListedRow {
  list: number;
  deviceId: number;
  row: InventoryRow;
}

const DEVICE_AND_VALUE = `
  select n, (value->>'device_id')::bigint as device_id, value->'row' as value
  from jsonb_array_elements(?::jsonb) with ordinality as entry (value, n)`;

/** What admins and other reports say of an entry is not compared. */
const OTHERS_FACTS = {
  installed_applications: ['id', 'device_id', 'is_managed'],
  installed_certificates: ['id', 'device_id', 'is_managed'],
  available_os_updates: ['id', 'device_id', ...STATE_COLUMNS],
};

function entriesSql(table: keyof typeof OTHERS_FACTS): string {
  const ignored = JSON.stringify(
    Object.fromEntries(OTHERS_FACTS[table].map((name) => [name, null])),
  );
  return `
select listed.n - 1 as index, known.id
from (
  select n, device_id, jsonb_populate_record(null::${table}, value) as facts
  from (${DEVICE_AND_VALUE}) entry
) listed
join (
  select id, device_id, jsonb_populate_record(k, '${ignored}') as facts
  from ${table} k where device_id = any(?::bigint[])
) known on listed.device_id = known.device_id and listed.facts = known.facts`;
}

// Profiles report themselves whether they are managed.
const PROFILES = `
select listed.n - 1 as index, known.id
from (
  select n, device_id,
    jsonb_populate_record(null::installed_profiles, value->'profile') as facts,
    array(
      select jsonb_populate_record(null::installed_payloads, payload)
      from jsonb_array_elements(value->'payloads') with ordinality as p (payload, at) order by at
    ) as payloads
  from (${DEVICE_AND_VALUE}) entry
) listed
join (
  select id, device_id, jsonb_populate_record(k, '{"id":null,"device_id":null}') as facts,
    array(
      select jsonb_populate_record(p, '{"id":null,"installed_profile_id":null}')
      from installed_payloads p where p.installed_profile_id = k.id order by p.id
    ) as payloads
  from installed_profiles k where device_id = any(?::bigint[])
) known on listed.device_id = known.device_id and listed.facts = known.facts
  and listed.payloads = known.payloads`;

const UNCHANGED = {
  installed_applications: entriesSql('installed_applications'),
  installed_certificates: entriesSql('installed_certificates'),
  installed_profiles: PROFILES,
  available_os_updates: entriesSql('available_os_updates'),
};

type ComparedTable = keyof typeof UNCHANGED;

/** Tables whose entries have a key. */
export type ListedTable = Exclude<ComparedTable, 'available_os_updates'>;

export interface Unchanged {
  /** Indexes of the listed rows that a stored row equals, nulls included. */
  indexes: Set<number>;
  /** Ids of those stored rows, by the list of the batch. */
  idsOfLists: Map<number, number[]>;
}

/** Finds a distinct stored row for each unchanged row. */
export async function findUnchanged(
  trx: Knex.Transaction,
  table: ComparedTable,
  rows: readonly ListedRow[],
): Promise<Unchanged> {
  const indexes = new Set<number>();
  const ids = new Set<number>();
  const idsOfLists = new Map<number, number[]>();
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    const slice = rows.slice(start, start + ROWS_PER_STATEMENT);
    for (const { index, id } of await findEqual(trx, table, slice)) {
      // An entry that is listed twice is two rows.
      if (indexes.has(start + index) || ids.has(id)) continue;
      indexes.add(start + index);
      ids.add(id);
      const list = slice[index]?.list ?? 0;
      const ofList = idsOfLists.get(list);
      if (ofList === undefined) idsOfLists.set(list, [id]);
      else ofList.push(id);
    }
  }
  return { indexes, idsOfLists };
}

async function findEqual(
  trx: Knex.Transaction,
  table: ComparedTable,
  rows: readonly ListedRow[],
): Promise<{ index: number; id: number }[]> {
  const entries = rows.map(({ deviceId, row }) => ({ device_id: deviceId, row }));
  const devices = [...new Set(rows.map(({ deviceId }) => deviceId))];
  const found = await trx.raw<{ rows: { index: number; id: number }[] }>(UNCHANGED[table], [
    JSON.stringify(entries),
    devices,
  ]);
  return found.rows;
}
