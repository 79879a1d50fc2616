import { FINDING_CODES } from '../../src/diagnosis/finding-texts.js';
import { devices } from '../../src/resources/devices/devices.js';
import { FRACTIONS } from '../../web/src/api/fact-values.js';
import { FACTS } from '../../web/src/api/facts.js';
import { FILTERS, kindOf, MEMBERSHIPS } from '../../web/src/features/devices/attributes.js';
import { apiRules, chipOf, hasValue, operatorsOf } from '../../web/src/features/devices/search.js';
import { FACT_LABELS, labelOfFilter } from '../../web/src/text/device-facts.js';
import { findingName } from '../../web/src/text/findings.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';

const KINDS: Record<string, string> = {
  enum: 'choice',
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  timestamp: 'time',
};
const VALUES: Record<string, string> = { number: '7', time: '7', boolean: 'true' };

const filterable = Object.entries(devices.attributes).filter(
  ([, { filterable: is, writeOnly, kind }]) => is && !writeOnly && kind !== 'json',
);
const facts = filterable.map(([name]) => name);

let app: TestApp;
let api: ReturnType<typeof adminApi>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  await app.db
    .knex('devices')
    .insert([
      { serial_number: 'A1', battery_level: 0.2, model_number: 'MK2E3LL/A', failed_push_count: 3 },
      { serial_number: 'A2', battery_level: 0.9, model_number: 'MK2E3ZD/A', failed_push_count: 0 },
      { serial_number: 'A3' },
    ]);
});
afterAll(() => app.stop());

function filtered(rules: unknown[]) {
  const query = new URLSearchParams({ 'filter[]': JSON.stringify(rules), sort: 'serial_number' });
  return api.get(`/devices?${query}`);
}

async function serialsOf(...f: string[]): Promise<string[]> {
  const { status, body } = await filtered(apiRules({ f }));
  expect(status).toBe(200);
  return body.data.map(({ attributes }: { attributes: { serial_number: string } }) => {
    return attributes.serial_number;
  });
}

describe('the filters of the device list', () => {
  it('are all facts that the API filters devices by, each with its type', () => {
    expect(new Set(Object.keys(FILTERS))).toEqual(new Set([...facts, ...MEMBERSHIPS]));
    for (const [name, { kind, isVersion, values }] of filterable) {
      expect([name, kindOf(name)]).toEqual([name, isVersion ? 'version' : (KINDS[kind] ?? 'text')]);
      expect([name, FILTERS[name]?.values]).toEqual([name, values]);
    }
  });

  it('take fractions where the server does', () => {
    const fractions = filterable.filter(([, { kind }]) => kind === 'number');
    expect(new Set(FRACTIONS)).toEqual(new Set(fractions.map(([name]) => name)));
  });

  it('offer every finding of the diagnosis, each with a name', () => {
    expect(new Set(FILTERS.findings?.values)).toEqual(new Set(FINDING_CODES));
    for (const code of FINDING_CODES) expect(findingName(code)).not.toBe(code);
  });

  it('and the facts of rules have a label each, the same for both', () => {
    const names = [...new Set([...Object.keys(FILTERS), ...Object.keys(FACTS)])];
    expect(names.filter((name) => !Object.hasOwn(FACT_LABELS, name))).toEqual([]);
    const labels = names.map(labelOfFilter);
    expect(labels.filter((label, index) => labels.indexOf(label) !== index)).toEqual([]);
  });

  it('are accepted by the API with each of their operators', async () => {
    for (const name of Object.keys(FILTERS)) {
      const value = FILTERS[name]?.values?.[0] ?? VALUES[kindOf(name)] ?? '1';
      const chips = operatorsOf(name).map((op) =>
        chipOf({ name, op, value: hasValue(op) ? value : '' }),
      );
      const rules = apiRules({ f: chips });
      expect([name, rules.length]).toEqual([name, chips.length]);
      const { status, body } = await filtered([{ or: rules }]);
      expect([name, status, body.errors]).toEqual([name, 200, undefined]);
    }
  });

  it('compare numbers, including unknown ones', async () => {
    expect(await serialsOf('battery_level~less~0.5')).toEqual(['A1']);
    expect(await serialsOf('battery_level~least~0.9')).toEqual(['A2']);
    expect(await serialsOf('failed_push_count~eq~3')).toEqual(['A1']);
    expect(await serialsOf('battery_level~empty~')).toEqual(['A3']);
    expect(await serialsOf('battery_level~known~', 'model_number~known~')).toEqual(['A1', 'A2']);
  });

  it('compare texts by their end', async () => {
    expect(await serialsOf('model_number~endswith~ZD/A')).toEqual(['A2']);
  });

  it('leave an invalid number for the API to refuse', () => {
    expect(
      apiRules({ f: ['battery_level~less~much', 'battery_level~eq~', 'failed_push_count~eq~1.5'] }),
    ).toEqual([
      { name: 'battery_level', op: 'less', val: 'much' },
      { name: 'battery_level', op: 'eq', val: '' },
      { name: 'failed_push_count', op: 'eq', val: '1.5' },
    ]);
  });
});
