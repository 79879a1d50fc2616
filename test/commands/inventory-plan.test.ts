import {
  planInventory,
  planSupervisedInventory,
  type TargetFacts,
} from '../../src/commands/inventory-plan.js';

const IPAD: TargetFacts = { platform: 'iOS', osVersion: '15.8.2', isSupervised: true };
/** What only a Shared iPad answers, of that system. */
const OF_SHARED = [
  'MaximumResidentUsers',
  'EstimatedResidentUsers',
  'QuotaSize',
  'ResidentUsers',
  'UserSessionTimeout',
  'TemporarySessionTimeout',
  'TemporarySessionOnly',
];

function queriesOf(plan: readonly { requestType: string; parameters: object }[]): string[] {
  const command = plan.find(({ requestType }) => requestType === 'DeviceInformation');
  return (command?.parameters as { Queries?: string[] } | undefined)?.Queries ?? [];
}

describe('the inventory of a supervised iPad', () => {
  it.each([true, null])(
    'has the queries of a Shared iPad if it is one, or may be: %s',
    (shared) => {
      const queries = queriesOf(planInventory({ ...IPAD, isSharedIpad: shared }));
      expect(OF_SHARED.filter((query) => !queries.includes(query))).toEqual([]);
    },
  );

  it('has none of them if it has said that it is none', () => {
    const queries = queriesOf(planInventory({ ...IPAD, isSharedIpad: false }));
    expect(OF_SHARED.filter((query) => queries.includes(query))).toEqual([]);
    expect(queries).toContain('IsMultiUser');
  });
});

describe('what follows the first report of a supervised iPad', () => {
  it('asks only for what it can answer, so that nothing is queued and then cancelled', () => {
    const typesIf = (isSharedIpad: boolean) =>
      planSupervisedInventory({ ...IPAD, isSharedIpad }).map(({ requestType }) => requestType);
    expect(typesIf(true)).toEqual(['DeviceInformation', 'AvailableOSUpdates']);
    expect(typesIf(false)).toEqual(['AvailableOSUpdates']);
  });
});
