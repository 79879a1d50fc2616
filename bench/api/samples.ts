import type pg from 'pg';
import type { ApiClient } from '../load/api-client.js';

/** What the cases ask for: ids and values that are in the database, spread over it. */
export interface Samples {
  deviceIds: number[];
  /** Those of them that are enrolled. */
  enrolledIds: number[];
  serials: string[];
  commandIds: number[];
  tagIds: number[];
  commonTag: string;
  rareTag: string;
  bundle: string;
}

const COUNT = 500;

export async function drawSamples(client: pg.Client): Promise<Samples> {
  const deviceIds = await spread(client, 'devices', 'id');
  const serials = await column<string>(
    client,
    `select serial_number as value from devices where id = any('{${deviceIds.join(',')}}')`,
  );
  const enrolledIds = await column<string>(
    client,
    `select id as value from devices where is_enrolled and id = any('{${deviceIds.join(',')}}')`,
  );
  const tags = await column<string>(
    client,
    `select name as value from tags join device_tags on tag_id = id group by id order by count(*)`,
  );
  const bundles = await column<string>(
    client,
    `select bundle_identifier as value from installed_applications tablesample system (1)
     where bundle_identifier is not null group by 1 order by count(*)`,
  );
  return {
    deviceIds,
    enrolledIds: enrolledIds.map(Number),
    serials,
    commandIds: await spread(client, 'commands', 'id'),
    tagIds: await spread(client, 'tags', 'id'),
    commonTag: tags.at(-1) ?? '',
    rareTag: tags[0] ?? '',
    bundle: bundles[0] ?? '',
  };
}

interface Page {
  links: { next?: string | null };
}

const WALK = '/devices?page[size]=1000&fields[devices]=udid&sort=device_name&page[after]=';

/** The path of a page of 100 devices far into the list by name, found by following `next`. */
export async function deepCursorPath(api: ApiClient, pages: number): Promise<string | undefined> {
  let path = WALK;
  for (let n = 0; n < pages; n += 1) {
    const { status, body } = await api.call({ path });
    if (status !== 200) return undefined;
    const { links } = JSON.parse(body.toString()) as Page;
    if (typeof links.next !== 'string') break;
    path = links.next.replace(/^\/api\/v1/, '');
  }
  const query = new URLSearchParams(path.split('?')[1]);
  query.delete('fields[devices]');
  query.set('page[size]', '100');
  return `/devices?${query.toString()}`;
}

async function spread(client: pg.Client, table: string, value: string): Promise<number[]> {
  const top = `(select max(id) from ${table})`;
  const points = `select (n * ${top} / ${COUNT})::bigint as id from generate_series(1, ${COUNT}) n`;
  return (
    await column<string>(
      client,
      `select ${value} as value from ${table} join (${points}) p using (id)`,
    )
  ).map(Number);
}

async function column<T>(client: pg.Client, sql: string): Promise<T[]> {
  const { rows } = await client.query<{ value: T }>(sql);
  return rows.map(({ value }) => value);
}
