import { devices } from '../../src/resources/devices/devices.js';
import type { ApiCase, Statement } from './api-case.js';
import type { Samples } from './samples.js';

const ITEM_MS = 5;
const PAGE_MS = 25;

/** Those with an index whose order the list can read. */
const INDEXED = new Set([
  'device_name',
  'serial_number',
  'model_name',
  'os_version',
  'enrolled_at',
]);

const DEVICE_COUNT: Statement = { text: 'select count(*) from devices' };

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
      const order = sign === '-' ? `"${name}" desc, id desc` : `"${name}", id`;
      return {
        name: `sort=${sign}${name}`,
        targetMs: INDEXED.has(name) ? PAGE_MS : undefined,
        call: () => ({ path: `/devices?page[size]=100&sort=${sign}${name}` }),
        floor: () => [{ text: page('devices', `order by ${order} limit 100`) }, DEVICE_COUNT],
      };
    }),
  );
}

export interface Deep {
  /** Rows before a page in the middle of the list. */
  offset: number;
  /** The path of such a page by cursor; undefined when the server has none. */
  path: string | undefined;
}

export function pageCases({ offset, path }: Deep): ApiCase[] {
  const deep = offset.toLocaleString('en');
  const numbered = (name: string, number: number, sort: string): ApiCase => ({
    name,
    targetMs: number === 1 ? PAGE_MS : undefined,
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
    numbered(`100 devices, offset ${deep}`, offset / 100 + 1, 'id'),
    numbered(`100 devices by name, offset ${deep}`, offset / 100 + 1, 'device_name'),
    {
      name: `100 devices by name, cursor after ${deep}`,
      targetMs: PAGE_MS,
      call: () => ({ path: path ?? '/devices?page[size]=100&page[after]=' }),
      floor: () => [
        {
          text: page(
            'devices',
            `where (device_name, id) > ($1, 0) order by device_name, id limit 100`,
          ),
          values: ['iPhone'],
        },
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

function at<T>(list: T[], turn: number): T {
  return list[turn % list.length] as T;
}

function page(table: string, rest: string): string {
  return `select * from ${table} ${rest}`;
}
