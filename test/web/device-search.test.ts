import { sentenceOf } from '../../web/src/features/devices/filter-sentence.js';
import {
  apiRules,
  chipOf,
  devicesSearch,
  type FilterRule,
  operatorsOf,
  parseRule,
  withWidth,
} from '../../web/src/features/devices/search.js';

const rulesOf = (...f: string[]) => apiRules({ f });

describe('the address of the device list', () => {
  it('keeps valid parameters and drops invalid ones', () => {
    const search = { q: 4711, f: 'platform', sort: 'name;drop', cols: ['udid'], other: 1 };
    expect(devicesSearch.parse(search)).toEqual({ q: '4711', f: ['platform'], cols: ['udid'] });
  });

  it('keeps a sort in both directions', () => {
    expect(devicesSearch.parse({ sort: '-last_seen' })).toEqual({ sort: '-last_seen' });
  });
});

describe('the widths of columns', () => {
  it('are kept within limits', () => {
    expect(devicesSearch.parse({ w: { udid: 60, model: 1_200 } })).toEqual({
      w: { udid: 60, model: 1_200 },
    });
    expect(devicesSearch.parse({ w: { udid: 59 } })).toEqual({});
    expect(devicesSearch.parse({ w: { udid: 1_201 } })).toEqual({});
    expect(devicesSearch.parse({ w: { udid: 'wide' } })).toEqual({});
  });

  it('change one at a time, and are removed from the address with the last', () => {
    expect(withWidth(undefined, 'udid', 90)).toEqual({ udid: 90 });
    expect(withWidth({ udid: 90 }, 'model', 200)).toEqual({ udid: 90, model: 200 });
    expect(withWidth({ udid: 90, model: 200 }, 'udid', undefined)).toEqual({ model: 200 });
    expect(withWidth({ udid: 90 }, 'udid', undefined)).toBeUndefined();
  });
});

describe('a chip of the filter', () => {
  const RULES: FilterRule[] = [
    { name: 'device_name', op: 'contains', value: 'Ada~s iPad' },
    { name: 'os_version', op: 'lt', value: '17.2' },
    { name: 'last_seen', op: 'older', value: '7' },
    { name: 'is_supervised', op: 'eq', value: 'true' },
    { name: 'asset_tag', op: 'empty', value: '' },
    { name: 'tags', op: 'lacks', value: 'Kiosk' },
  ];

  it('is read as it was written', () => {
    expect(RULES.map((rule) => parseRule(chipOf(rule)))).toEqual(RULES);
  });

  it('goes to the API as it is, for a refusal, with an unknown attribute or operator', () => {
    expect(parseRule('password~eq~x')).toBeUndefined();
    expect(parseRule('platform~contains~x')).toBeUndefined();
    expect(parseRule('platform')).toBeUndefined();
    expect(rulesOf('password~eq~x', 'nonsense', 'last_seen~older~soon')).toEqual([
      { name: 'password', op: 'eq', val: 'x' },
      { name: 'nonsense', op: '', val: '' },
      { name: 'last_seen', op: 'older', val: 'soon' },
    ]);
  });

  it('offers only operators that it can read back', () => {
    for (const name of ['udid', 'os_version', 'last_seen', 'tags', 'health']) {
      for (const op of operatorsOf(name)) {
        expect(parseRule(chipOf({ name, op, value: '1' }))).toEqual({ name, op, value: '1' });
      }
    }
  });
});

describe('the sentence of a chip', () => {
  it('has a value only where one is compared', () => {
    const name = 'is_activation_lock_enabled';
    expect(sentenceOf({ name, op: 'known', value: '' })).toBe('Activation Lock is known');
    expect(sentenceOf({ name, op: 'empty', value: '' })).toBe('Activation Lock is not known');
    expect(sentenceOf({ name, op: 'eq', value: 'false' })).toBe('Activation Lock is No');
  });

  it('names health as the list does', () => {
    const chip = (value: string) => sentenceOf({ name: 'health', op: 'eq', value });
    expect([chip('ok'), chip('attention')]).toEqual(['Health is OK', 'Health is Needs attention']);
  });
});

describe('the filter that is sent to the API', () => {
  it('contains the search from three characters on', () => {
    expect(apiRules({ q: ' ab ' })).toEqual([]);
    expect(apiRules({ q: ' abc ' })).toEqual([{ name: 'search', op: 'contains', val: 'abc' }]);
  });

  it('compares booleans as booleans, and times by a duration of whole days', () => {
    expect(rulesOf('is_supervised~eq~false', 'last_seen~older~3', 'last_seen~newer~1')).toEqual([
      { name: 'is_supervised', op: 'eq', val: false },
      { name: 'last_seen', op: 'lt', val: 'P3D' },
      { name: 'last_seen', op: 'gt', val: 'P1D' },
    ]);
  });

  it('leaves wrong days for the API to refuse', () => {
    const days = ['2.6', 'no', '', '0', '-3', '3661', '99999999'];
    const rules = days.map((val) => ({ name: 'last_seen', op: 'older', val }));
    expect(rulesOf(...days.map((value) => `last_seen~older~${value}`))).toEqual(rules);
    const valid = { name: 'last_seen', op: 'lt', val: 'P3660D' };
    expect(rulesOf('last_seen~older~3660')).toEqual([valid]);
  });

  it('compares with null for unknown values', () => {
    expect(rulesOf('asset_tag~empty~')).toEqual([{ name: 'asset_tag', op: 'is', val: null }]);
  });

  it('finds an application by its name or its bundle identifier', () => {
    const named = (name: string) => ({ name, op: 'eq', val: 'com.example.a' });
    const val = { or: [named('name'), named('bundle_identifier')] };
    const rule = { name: 'installed_applications', op: 'any', val };
    expect(rulesOf('installed_applications~has~com.example.a')).toEqual([rule]);
    expect(rulesOf('installed_applications~lacks~com.example.a')).toEqual([{ not: rule }]);
  });
});
