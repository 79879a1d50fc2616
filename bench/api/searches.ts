import type { ApiCase, Statement } from './api-case.js';
import type { Samples } from './samples.js';

const EQUAL_MS = 5;
const PAGE_MS = 25;
const SEARCH_MS = 100;

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
      targetMs: EQUAL_MS,
      call: (turn) => ({ path: `/devices?filter[serial_number]=${at(serials, turn)}` }),
      floor: (turn) => [
        {
          text: page('where serial_number = $1 order by id'),
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
            { text: page(`${where} order by id limit 100`) },
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
          { text: page(`${where} order by device_name, id limit 100`) },
          { text: `select count(*) from devices ${where}` },
        ];
      },
    },
  ];
}

function at<T>(list: T[], turn: number): T {
  return list[turn % list.length] as T;
}

function page(rest: string): string {
  return `select * from devices ${rest}`;
}

function rules(...given: unknown[]): string {
  return encodeURIComponent(JSON.stringify(given));
}
