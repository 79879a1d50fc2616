import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;

/** In the order of bytes capital letters precede others; of some devices nothing is known. */
const MODELS = ['Mac16,1', 'mac16,1', 'iPhone16,2', 'iPhone17,1', 'éclair 5%_x', 'Mac', '', null];
const DEVICES = 80;

interface Stored {
  id: number;
  product_name: string | null;
}
let devices: Stored[];

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  const rows = Array.from({ length: DEVICES }, (_, index) => {
    const name = MODELS[((index * index + index) % 11) % MODELS.length];
    return { serial_number: `S${index}`, product_name: name, model_name: name };
  });
  devices = await app.db.knex('devices').insert(rows).returning(['id', 'product_name']);
});
afterAll(() => app.stop());

type Op = 'contains' | 'startswith' | 'endswith' | 'like' | 'ilike';

const RULES: [op: Op, val: string, matches: (name: string) => boolean][] = [
  ['contains', '16,', (name) => name.includes('16,')],
  ['contains', '5%_', (name) => name.includes('5%_')],
  ['contains', 'Pad', () => false],
  ['startswith', 'Mac', (name) => name.startsWith('Mac')],
  ['endswith', ',1', (name) => name.endsWith(',1')],
  ['like', '%a_16%', (name) => /a.16/.test(name)],
  ['ilike', 'MAC%', (name) => /^mac/i.test(name)],
];

interface Page {
  data: { id: string }[];
  meta: { total: number };
  links: { next: string | null; prev: string | null };
}

async function read(path: string): Promise<Page> {
  const { status, body } = await api.get(path);
  expect(status).toBe(200);
  return body;
}

const ids = ({ data }: Page) => data.map(({ id }) => Number(id));

describe.each(['product_name', 'model_name'])('devices by a part of %s', (name) => {
  it.each(RULES)('%s %s: every page, in both orders, and the total', async (op, val, matches) => {
    const found = devices
      .filter(({ product_name: text }) => text !== null && matches(text))
      .map(({ id }) => id);
    const filter = encodeURIComponent(JSON.stringify([{ name, op, val }]));
    for (const sort of ['id', '-id']) {
      const expected = sort === 'id' ? found : [...found].reverse();
      const list = `/devices?filter=${filter}&sort=${sort}&page[size]=7`;
      const second = await read(`${list}&page[number]=2`);
      expect(ids(second)).toEqual(expected.slice(7, 14));
      const walked: number[] = [];
      let page = await read(`${list}&page[after]=`);
      for (;;) {
        expect(page.meta.total).toBe(found.length);
        walked.push(...ids(page));
        if (page.links.next === null) break;
        page = await read(page.links.next.replace('/api/v1', ''));
      }
      expect(walked).toEqual(expected);
      const last = await read(`${list}&page[before]=`);
      expect(ids(last)).toEqual(expected.slice(-7));
    }
  });

  it('beside another rule, negated and sorted by something else', async () => {
    const rules = [
      { name, op: 'startswith', val: 'iPhone' },
      { name: 'serial_number', op: 'ne', val: 'S3' },
    ];
    const path = (filter: unknown) =>
      `/devices?filter=${encodeURIComponent(JSON.stringify(filter))}&sort=-serial_number&page[size]=500`;
    const isPhone = ({ product_name: text }: Stored) => text?.startsWith('iPhone') === true;
    const phones = devices.filter(isPhone).map(({ id }) => id);
    const third = devices[3]?.id;
    expect(new Set(ids(await read(path(rules))))).toEqual(
      new Set(phones.filter((id) => id !== third)),
    );
    const others = ids(await read(path([{ not: rules[0] }])));
    expect(others.length).toBe(DEVICES - phones.length);
  });
});
