import type { ApiCase, Statement } from './api-case.js';
import type { Samples } from './samples.js';

const PAGE_MS = 25;

interface ListCase {
  name: string;
  table: string;
  query: string;
  where?: string;
  order?: string;
  values?: unknown[];
  targetMs?: number | undefined;
}

export function inventoryCases(samples: Samples): ApiCase[] {
  const commands = (name: string, query: string, sql: Partial<ListCase>) =>
    listCase({ name: `commands ${name}`, table: 'commands', query, ...sql });
  const applications = (name: string, query: string, sql: Partial<ListCase>) =>
    listCase({ name: `applications ${name}`, table: 'installed_applications', query, ...sql });
  const named = (val: string) => `&filter=${rules({ name: 'name', op: 'ilike', val })}`;
  return [
    ownedCase('installed_applications', samples),
    ownedCase('installed_applications', samples, 'name'),
    ownedCase('commands', samples),
    ownedCase('commands', samples, '-queued_at'),
    commands('unfiltered', '', {}),
    commands('sort=-queued_at', '&sort=-queued_at', { order: 'queued_at desc, id desc' }),
    commands('sort=-sent_at', '&sort=-sent_at', { order: 'sent_at desc, id desc' }),
    commands('status=NotNow', '&filter[status]=NotNow', { where: `status = 'NotNow'` }),
    commands('status=Error', '&filter[status]=Error', { where: `status = 'Error'` }),
    commands('status=Acknowledged', '&filter[status]=Acknowledged', {
      where: `status = 'Acknowledged'`,
    }),
    commands('status=Error, sort=-queued_at', '&filter[status]=Error&sort=-queued_at', {
      where: `status = 'Error'`,
      order: 'queued_at desc, id desc',
    }),
    commands('request_type=Restart', '&filter[request_type]=Restart', {
      where: `request_type = 'Restart'`,
    }),
    applications('unfiltered', '', {}),
    applications('by bundle', `&filter[bundle_identifier]=${samples.bundle}`, {
      where: 'bundle_identifier = $1',
      values: [samples.bundle],
    }),
    applications('by common bundle', '&filter[bundle_identifier]=com.apple.Keynote', {
      where: `bundle_identifier = 'com.apple.Keynote'`,
    }),
    applications('name ilike %quick%', named('%quick%'), { where: `name ilike '%quick%'` }),
    applications('name ilike %zzzz%', named('%zzzz%'), { where: `name ilike '%zzzz%'` }),
  ];
}

/** A page of 100 with its total, as everybody's list has. */
function listCase({
  name,
  table,
  query,
  where = 'true',
  order = 'id',
  ...rest
}: ListCase): ApiCase {
  const { values = [], targetMs } = rest;
  const from = `from ${table} where ${where}`;
  const statements: Statement[] = [
    { text: `select * ${from} order by ${order} limit 100`, values },
    { text: where === 'true' ? `select count(*) ${from}` : counted(from), values },
  ];
  return {
    name,
    targetMs,
    call: () => ({ path: `/${table}?page[size]=100${query}` }),
    floor: () => statements,
  };
}

/** As far as a filtered list is counted. */
function counted(from: string): string {
  return `select count(*) from (select ${from} limit 100001) m`;
}

function rules(...given: unknown[]): string {
  return encodeURIComponent(JSON.stringify(given));
}

/** The collections below one device. */
function ownedCase(table: string, { deviceIds }: Samples, sort = ''): ApiCase {
  const id = (turn: number) => deviceIds[turn % deviceIds.length] as number;
  const order =
    sort === '' ? 'id' : sort.startsWith('-') ? `${sort.slice(1)} desc, id desc` : `${sort}, id`;
  return {
    name: `a device's ${table}${sort === '' ? '' : `, sort=${sort}`}`,
    targetMs: PAGE_MS,
    call: (turn) => ({
      path: `/devices/${id(turn)}/${table}?page[size]=100${sort === '' ? '' : `&sort=${sort}`}`,
    }),
    floor: (turn) => [
      {
        text: `select * from ${table} where device_id = $1 order by ${order} limit 100`,
        values: [id(turn)],
      },
    ],
  };
}
