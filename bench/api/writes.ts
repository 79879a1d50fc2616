import { randomUUID } from 'node:crypto';
import type { ApiClient } from '../load/api-client.js';
import type { ApiCase, Statement } from './api-case.js';
import type { Samples } from './samples.js';

const WRITE_MS = 25;
const RELATE_MS = 100;
const IDENTIFIERS = 1000;
export const BENCH_TAG = 'bench-relationship';

const FIRST = identifiers(1);
const OTHERS = identifiers(1 + IDENTIFIERS);

const LINK: Statement = {
  text: `insert into device_tags (tag_id, device_id)
    select t.id, v from tags t, generate_series(1, ${IDENTIFIERS}) v
    where t.name = '${BENCH_TAG}' on conflict do nothing`,
};
const UNLINK: Statement = {
  text: `delete from device_tags where tag_id = (select id from tags where name = '${BENCH_TAG}')`,
};

export function writeCases({ deviceIds }: Samples, tagId: number): ApiCase[] {
  const id = (turn: number) => deviceIds[turn % deviceIds.length] as number;
  const path = `/tags/${tagId}/relationships/devices`;
  return [
    {
      name: 'create a device',
      targetMs: WRITE_MS,
      status: 201,
      call: (turn) => ({ method: 'POST', path: '/devices', body: device(turn, 'bench') }),
      floor: (turn) => [
        {
          text: 'insert into devices (serial_number, device_name, description) values ($1, $2, $3) returning *',
          values: [`BENCH${randomUUID()}`, `New ${turn}`, 'bench'],
        },
      ],
    },
    {
      name: 'patch a device',
      targetMs: WRITE_MS,
      call: (turn) => ({
        method: 'PATCH',
        path: `/devices/${id(turn)}`,
        body: { data: { type: 'devices', id: id(turn), attributes: { description: `${turn}` } } },
      }),
      floor: (turn) => [
        {
          text: 'update devices set description = $2 where id = $1 returning *',
          values: [id(turn), `floor ${turn}`],
        },
      ],
    },
    {
      name: 'POST 1,000 identifiers',
      targetMs: RELATE_MS,
      before: [UNLINK],
      call: () => ({ method: 'POST', path, body: { data: FIRST } }),
      floor: () => [LINK],
    },
    {
      name: 'DELETE 1,000 identifiers',
      targetMs: RELATE_MS,
      before: [LINK],
      call: () => ({ method: 'DELETE', path, body: { data: FIRST } }),
      floor: () => [UNLINK],
    },
    {
      name: 'PATCH 1,000 identifiers to 1,000 others',
      targetMs: RELATE_MS,
      before: [UNLINK, LINK],
      call: () => ({ method: 'PATCH', path, body: { data: OTHERS } }),
      floor: () => [UNLINK, LINK],
    },
    {
      name: 'GET 1,000 identifiers',
      targetMs: RELATE_MS,
      before: [LINK],
      call: () => ({ path }),
    },
  ];
}

/** The tag whose relationship is written to, empty. */
export async function createBenchTag(api: ApiClient): Promise<number> {
  const attributes = { name: BENCH_TAG };
  const body = { data: { type: 'tags', attributes } };
  const reply = await api.call({ method: 'POST', path: '/tags', body });
  if (reply.status !== 201) throw new Error(`the tag was refused: ${reply.body.toString()}`);
  return (JSON.parse(reply.body.toString()) as { data: { id: number } }).data.id;
}

/** What the writes left behind, so that a kept database stays as it was. */
export const CLEAN_UP = [
  `delete from devices where serial_number like 'BENCH%'`,
  `delete from tags where name = '${BENCH_TAG}'`,
];

function identifiers(first: number) {
  return Array.from({ length: IDENTIFIERS }, (_, n) => ({ type: 'devices', id: first + n }));
}

function device(turn: number, description: string) {
  const attributes = { serial_number: `BENCH${randomUUID()}`, description };
  return { data: { type: 'devices', attributes: { ...attributes, device_name: `New ${turn}` } } };
}
