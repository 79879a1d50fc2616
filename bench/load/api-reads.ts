import { devices } from '../../src/resources/devices.js';
import type { ApiCase, Statement } from './api-case.js';
import type { Samples } from './api-samples.js';

const ITEM_MS = 5;
const PAGE_MS = 25;
const SEARCH_MS = 100;

/** Those with an index whose order the list can read. */
const INDEXED = new Set(['id', 'device_name', 'serial_number', 'model_name', 'os_version']);

const DEVICE_COUNT: Statement = { text: 'select count(*) from devices' };

function at<T>(list: T[], turn: number): T {
  return list[turn % list.length] as T;
}

function rules(...given: unknown[]): string {
  return encodeURIComponent(JSON.stringify(given));
}

function page(table: string, rest: string): string {
  return `select * from ${table} ${rest}`;
}

export function itemCases({ deviceIds, commandIds }: Samples): ApiCase[] {
  return [
    {
      name: 'device',
      targetMs: ITEM_MS,
      call: (turn) => ({ path: `/devices/${at(deviceIds, turn)}` }),
      floor: (turn) => [
        { text: 'select * from devices where id = $1', values: [at(deviceIds, turn)] },
      ],
    },
    {
      name: 'command with its result',
      targetMs: ITEM_MS,
      call: (turn) => ({ path: `/commands/${at(commandIds, turn)}` }),
      floor: (turn) => [
        { text: 'select * from commands where id = $1', values: [at(commandIds, turn)] },
      ],
    },
  ];
}

/** 100 devices by each attribute that a client may sort by, up and down. */
export function sortCases(): ApiCase[] {
  const names = Object.entries(devices.attributes).flatMap(([name, { sortable }]) => {
    return sortable ? [name] : [];
  });
  return names.flatMap((name) =>
    ['', '-'].map((sign): ApiCase => {
      const order = `"${name}" ${sign === '-' ? 'desc' : 'asc'}, id`;
      return {
        name: `sort=${sign}${name}`,
        ...(INDEXED.has(name) ? { targetMs: PAGE_MS } : {}),
        call: () => ({ path: `/devices?page[size]=100&sort=${sign}${name}` }),
        floor: () => [{ text: page('devices', `order by ${order} limit 100`) }, DEVICE_COUNT],
      };
    }),
  );
}

export function pageCases(deepCursor: string | undefined): ApiCase[] {
  const numbered = (name: string, number: number, sort: string): ApiCase => ({
    name,
    ...(number === 1 ? { targetMs: PAGE_MS } : {}),
    call: () => ({ path: `/devices?page[size]=100&page[number]=${number}&sort=${sort}` }),
    floor: () => [
      {
        text: page('devices', `order by ${sort}${sort === 'id' ? '' : ', id'} limit 100 offset $1`),
        values: [(number - 1) * 100],
      },
      DEVICE_COUNT,
    ],
  });
  return [
    numbered('100 devices, first page', 1, 'id'),
    numbered('100 devices, offset 50,000', 501, 'id'),
    numbered('100 devices by name, offset 50,000', 501, 'device_name'),
    {
      name: '100 devices by name, cursor after 50,000',
      targetMs: PAGE_MS,
      call: () => ({ path: deepCursor ?? '/devices?page[size]=100&page[after]=' }),
      floor: () => [
        {
          text: page(
            'devices',
            `where (device_name, id) > (select device_name, id from devices
             order by device_name, id limit 1 offset 0) order by device_name, id limit 100`,
          ),
        },
        DEVICE_COUNT,
      ],
    },
    {
      name: '1,000 devices',
      call: () => ({ path: '/devices?page[size]=1000' }),
      floor: () => [{ text: page('devices', 'order by id limit 1000') }, DEVICE_COUNT],
    },
    {
      name: '1,000 devices, three fields, gzip',
      call: () => ({
        path: '/devices?page[size]=1000&fields[devices]=device_name,serial_number,last_seen',
        headers: { 'Accept-Encoding': 'gzip' },
      }),
    },
    {
      name: '100 devices, include=tags,commands',
      call: (turn) => ({
        path: `/devices?page[size]=100&page[number]=${(turn % 50) + 1}&include=tags,commands`,
      }),
      floor: (turn) => {
        const ids = Array.from({ length: 100 }, (_, n) => (turn % 50) * 100 + n + 1);
        return [
          { text: page('devices', 'where id = any($1::bigint[])'), values: [ids] },
          DEVICE_COUNT,
          {
            text: page('device_tags', 'join tags on id = tag_id where device_id = any($1)'),
            values: [ids],
          },
          { text: page('commands', 'where device_id = any($1::bigint[])'), values: [ids] },
        ];
      },
    },
  ];
}

/** What is asked for, and how much of the fleet it finds. */
const PATTERNS: [label: string, attribute: string, pattern: string][] = [
  ['1 character, common', 'device_name', '%a%'],
  ['1 character, rare', 'device_name', '%q%'],
  ['1 character, none', 'device_name', '%ß%'],
  ['3 characters, common', 'device_name', '%iph%'],
  ['3 characters, rare', 'device_name', '%ø%r%en%'],
  ['3 characters, none', 'device_name', '%qqq%'],
  ['6 characters, common', 'device_name', '%iphone%'],
  ['6 characters, rare', 'device_name', '%-99999%'],
  ['1 character', 'serial_number', '%7%'],
  ['3 characters', 'serial_number', '%7f3%'],
  ['6 characters, none', 'serial_number', '%zzzzzz%'],
  ['6 characters', 'hostname', '%-99999%'],
  ['6 characters', 'udid', '%abcdef%'],
  ['3 characters', 'asset_tag', '%777%'],
];

export function searchCases({ serials, commonTag, rareTag }: Samples): ApiCase[] {
  const tagged = (name: string): Statement[] => {
    const where = `from devices d where exists (select from device_tags j join tags t on t.id = j.tag_id
      where j.device_id = d.id and t.name = $1)`;
    return [
      { text: `select d.* ${where} order by d.id limit 100`, values: [name] },
      { text: `select count(*) ${where}`, values: [name] },
    ];
  };
  const byTag = (label: string, name: string): ApiCase => ({
    name: `devices with a ${label} tag`,
    targetMs: SEARCH_MS,
    call: () => ({ path: `/devices?page[size]=100&filter[tags__name]=${name}` }),
    floor: () => tagged(name),
  });
  return [
    {
      name: 'serial_number eq',
      targetMs: ITEM_MS,
      call: (turn) => ({ path: `/devices?filter[serial_number]=${at(serials, turn)}` }),
      floor: (turn) => [
        {
          text: page('devices', 'where serial_number = $1 order by id'),
          values: [at(serials, turn)],
        },
      ],
    },
    ...PATTERNS.map(
      ([label, name, val]): ApiCase => ({
        name: `${name} ilike ${val} (${label})`,
        targetMs: SEARCH_MS,
        call: () => ({
          path: `/devices?page[size]=100&filter=${rules({ name, op: 'ilike', val })}`,
        }),
        floor: () => {
          const where = `where ${name} ilike '${val}'`;
          return [
            { text: page('devices', `${where} order by id limit 100`) },
            { text: `select count(*) from devices ${where}` },
          ];
        },
      }),
    ),
    {
      name: 'name, serial or host ilike (search box)',
      targetMs: SEARCH_MS,
      call: (turn) => {
        const val = `%${at(serials, turn).slice(2, 7)}%`;
        const any = ['device_name', 'serial_number', 'hostname'].map((name) => {
          return { name, op: 'ilike', val };
        });
        return { path: `/devices?page[size]=100&filter=${rules({ or: any })}` };
      },
    },
    byTag('common', commonTag),
    byTag('rare', rareTag),
    {
      name: 'enrolled Macs by name',
      targetMs: PAGE_MS,
      call: () => ({
        path: '/devices?page[size]=100&sort=device_name&filter[platform]=macOS&filter[is_enrolled]=true',
      }),
      floor: () => {
        const where = `where platform = 'macOS' and is_enrolled`;
        return [
          { text: page('devices', `${where} order by device_name, id limit 100`) },
          { text: `select count(*) from devices ${where}` },
        ];
      },
    },
  ];
}
