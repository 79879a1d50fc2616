import {
  isAll,
  readTarget,
  targetAttributes,
  targetRules,
} from '../../web/src/features/commands/sender/targets.js';

describe('the devices that receive a command', () => {
  it('are none when the address has no target', () => {
    expect(readTarget({})).toBeUndefined();
    expect(readTarget({ devices: [], tags: [] })).toBeUndefined();
  });

  it('are listed by id, each once', () => {
    const target = readTarget({ devices: [3, 5, 3] });
    expect(target).toEqual({ kind: 'devices', ids: [3, 5] });
    expect(target && targetAttributes(target)).toEqual({
      devices: [
        { type: 'devices', id: 3 },
        { type: 'devices', id: 5 },
      ],
    });
  });

  it('match the filter; without a rule, all enrolled devices match', () => {
    const rules = [{ name: 'platform', op: 'eq', val: 'iOS' }];
    const some = readTarget({ rules: JSON.stringify(rules) });
    expect(some && targetAttributes(some)).toEqual({ filter: rules });
    expect(some && isAll(some)).toBe(false);
    const all = readTarget({ rules: '[]' });
    expect(all && isAll(all)).toBe(true);
    expect(all && targetAttributes(all)).toEqual({
      filter: [{ name: 'is_enrolled', op: 'eq', val: true }],
    });
  });

  it('are invalid when the filter in the address is malformed', () => {
    expect(readTarget({ rules: '[{' })).toEqual({ kind: 'invalid' });
    expect(readTarget({ rules: '{}' })).toEqual({ kind: 'invalid' });
    expect(readTarget({ rules: '[1]' })).toEqual({ kind: 'invalid' });
    expect(readTarget({ rules: '[null]' })).toEqual({ kind: 'invalid' });
  });

  it('belong to the tags and groups, and are counted by a filter of the device list', () => {
    const target = readTarget({ tags: [1], groups: [2] });
    expect(target && targetAttributes(target)).toEqual({
      tags: [{ type: 'tags', id: 1 }],
      device_groups: [{ type: 'device_groups', id: 2 }],
    });
    const one = (name: string, id: number) => {
      return { name, op: 'any', val: { name: 'id', op: 'eq', val: id } };
    };
    expect(target && targetRules(target)).toEqual([
      { or: [one('tags', 1), one('device_groups', 2)] },
    ]);
  });
});
