import { membershipName, membershipRule } from '../../web/src/features/devices/membership.js';

describe('a filter of the device list by tag or group', () => {
  it('names a tag by its name, which is unique', () => {
    const filter = { name: 'tags', op: 'has', value: '7 days' };
    const val = { name: 'name', op: 'eq', val: '7 days' };
    expect(membershipRule(filter)).toEqual({ name: 'tags', op: 'any', val });
    expect(membershipName(filter)).toBe('7 days');
  });

  it('names a group by its id and shows its name', () => {
    const filter = { name: 'device_groups', op: 'lacks', value: '12 Lobby 2' };
    const val = { name: 'id', op: 'eq', val: 12 };
    expect(membershipRule(filter)).toEqual({ not: { name: 'device_groups', op: 'any', val } });
    expect(membershipName(filter)).toBe('Lobby 2');
  });
});
