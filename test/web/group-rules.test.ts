import { ruleAttributes } from '../../src/groups/rule-fields.js';
import { devices } from '../../src/resources/devices/devices.js';
import { FACTS, type FactKind } from '../../web/src/api/facts.js';
import {
  faultOf,
  hasDetail,
  hasValue,
  operatorsOf,
} from '../../web/src/features/groups/rules/operators.js';
import {
  type Block,
  newBlock,
  newCondition,
  readRule,
  writeRule,
} from '../../web/src/features/groups/rules/rule.js';

/** What a rule may ask beside the attributes of a device. */
const RELATED = [
  ...['tags', 'device_groups', 'installed_applications', 'custom_attributes'],
  ...['id', 'last_seen', 'dep_profile', 'enrollment_link'],
];

const KINDS: Record<string, FactKind> = {
  enum: 'choice',
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  timestamp: 'time',
};

function conditionOf({ fact, op }: { fact: string; op: string }) {
  const condition = { ...newCondition(fact), op };
  const value = hasValue(condition) ? '7' : '';
  const values = FACTS[fact]?.values;
  return {
    ...condition,
    value: value === '' ? '' : (values?.[1] ?? value),
    detail: hasDetail(fact) ? 'org.example' : '',
  };
}

/** Without the keys, which only React uses. */
function shape(block: Block | undefined): unknown {
  return JSON.parse(
    JSON.stringify(block, (name, value: unknown) => (name === 'key' ? undefined : value)),
  );
}

describe('the facts of the rule builder', () => {
  it('match the facts that rules of the server know, each with its kind', () => {
    const names = ruleAttributes(devices);
    expect(new Set(Object.keys(FACTS))).toEqual(new Set([...names, ...RELATED]));
    for (const name of names) {
      const attribute = devices.attributes[name];
      const { kind = '', isVersion, values } = attribute ?? {};
      expect([name, FACTS[name]?.kind]).toEqual([
        name,
        isVersion ? 'version' : (KINDS[kind] ?? 'text'),
      ]);
      expect(FACTS[name]?.values).toEqual(values);
    }
  });
});

describe('a rule', () => {
  it('is read back as it was written, whatever is compared', () => {
    for (const fact of Object.keys(FACTS)) {
      for (const op of operatorsOf(fact)) {
        const block = newBlock('all', [conditionOf({ fact, op })]);
        const written = writeRule(block);
        const [read] = readRule(written ?? [])?.parts ?? [];
        const again = read === undefined ? undefined : writeRule(newBlock('all', [read]));
        expect(again).toEqual(written);
        expect(read).toMatchObject({ fact, op });
      }
    }
  });

  it('holds blocks of which all, one or none must hold', () => {
    const block = newBlock('none', [
      newCondition('platform'),
      newBlock('any', [
        conditionOf({ fact: 'tags', op: 'has' }),
        newBlock('all', [conditionOf({ fact: 'last_seen', op: 'older' })]),
      ]),
    ]);
    const written = writeRule(block);
    expect(written).toEqual([
      {
        not: {
          or: [
            { name: 'platform', op: 'eq', val: 'iOS' },
            {
              or: [
                { name: 'tags', op: 'any', val: { name: 'id', op: 'eq', val: 7 } },
                { and: [{ name: 'last_seen', op: 'lt', val: 'P7D' }] },
              ],
            },
          ],
        },
      },
    ]);
    expect(writeRule(readRule(written ?? []) ?? newBlock('all', []))).toEqual(written);
    expect(shape(readRule(written ?? []))).toMatchObject({ match: 'none' });
  });

  it('is read from JSON whose members have another order', () => {
    const rule = [{ val: { val: 3, name: 'id', op: 'eq' }, op: 'any', name: 'tags' }];
    expect(readRule(rule)?.parts).toMatchObject([{ fact: 'tags', op: 'has', value: '3' }]);
  });

  it('is not written while a field is empty', () => {
    expect(writeRule(newBlock('all', []))).toBeUndefined();
    expect(writeRule(newBlock('all', [newCondition('os_version')]))).toBeUndefined();
    expect(writeRule(newBlock('all', [newBlock('any', [])]))).toBeUndefined();
  });

  it('is not written while a value is one that the server refuses', () => {
    const faultAndRule = (fact: string, op: string, value: string) => {
      const condition = { ...newCondition(fact), op, value };
      return [faultOf(condition), writeRule(newBlock('all', [condition]))];
    };
    const days = 'Type a whole number of days from 1 to 3,660.';
    for (const value of ['0', '-3', '1.5', '3661', 'x']) {
      expect(faultAndRule('last_seen', 'older', value)).toEqual([days, undefined]);
    }
    expect(faultAndRule('dep_profile', 'eq', '1.5')).toEqual(['Type a whole number.', undefined]);
    expect(faultAndRule('cell', 'eq', 'x')).toEqual(['Type a whole number.', undefined]);
    expect(faultAndRule('device_capacity', 'gt', '63.5')).toEqual([
      undefined,
      [{ name: 'device_capacity', op: 'gt', val: 63.5 }],
    ]);
    expect(faultAndRule('last_seen', 'unknown', '0')[0]).toBeUndefined();
  });

  it('is shown as JSON when the form cannot show all of it', () => {
    expect(readRule([{ name: 'platform', op: 'in', val: ['iOS', 'tvOS'] }])).toBeUndefined();
    expect(readRule([{ name: 'platform', op: 'eq', val: 'iOS' }, 7])).toBeUndefined();
  });
});
