import type { Transaction } from '../../../src/db/connection/unit-of-work.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import {
  claimAssignments,
  clearDueAssignments,
  listAccountsDue,
  releaseAssignments,
  storeAssignments,
} from '../../../src/db/dep/dep-assignment-repository.js';
import { storeActivationLock, storeDisowned } from '../../../src/db/dep/dep-device-actions.js';
import { depFigures, readFunnel } from '../../../src/db/dep/dep-device-funnel.js';
import { releaseDepDevices, restoreAssignments } from '../../../src/db/dep/dep-device-handover.js';
import { storeRefusedContact } from '../../../src/db/dep/dep-device-repository.js';
import { makeProfileDue } from '../../../src/db/dep/dep-profile-repository.js';
import {
  assignDefaultProfiles,
  examineAssignments,
} from '../../../src/db/dep/dep-reconcile-repository.js';
import { repairDeviceRecords } from '../../../src/db/dep/dep-record-repository.js';
import {
  acquireSyncLease,
  claimSyncsDue,
  recordSyncRequest,
  renewSyncLease,
} from '../../../src/db/dep/dep-sync-lease.js';
import { type DepListing, findSerials, storeListings } from '../../../src/db/dep/dep-sync-page.js';
import {
  advanceCursor,
  endFetch,
  lockPosition,
  recordSuspectedLoss,
  restartFetch,
} from '../../../src/db/dep/dep-sync-position.js';
import { removeSerials } from '../../../src/db/dep/dep-sync-removal.js';

import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { statementsOf } from '../../helpers/statements.js';

const POSITION = {
  accountId: 1,
  owner: 'o',
  consumerKey: 'k',
  cursor: null,
  phase: 'fetch',
  fetchNumber: 1,
  pages: 0,
  askedAt: new Date(),
} as const;

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const sentBy = (work: (trx: Transaction) => Promise<unknown>) =>
  statementsOf(database.db, () => inTransaction(database.db, work));

const listing = (serialNumber: string): DepListing => ({
  serialNumber,
  model: 'iPad',
  description: null,
  color: null,
  assetTag: null,
  os: null,
  deviceFamily: null,
  deviceAssignedBy: null,
  deviceAssignedDate: null,
  profileUuid: null,
  profileStatus: null,
  profileAssignTime: null,
  profilePushTime: null,
  opType: null,
  opDate: null,
});

async function insertAccount(): Promise<number> {
  const [row] = await database.db
    .knex('dep_accounts')
    .insert({ server_name: 'ABM' })
    .returning<{ id: number }[]>('id');
  return row?.id ?? 0;
}

// Built from parts: the snapshot shows each as PostgreSQL receives it.
describe('the expanded statements of db/dep', () => {
  it('that store and remove the listings of a page are those in the snapshot', async () => {
    const accountId = await insertAccount();
    await database.db.knex('devices').insert({ serial_number: 'KNOWN' });
    const listings = ['KNOWN', 'NEW'].map(listing);
    const statements = await sentBy(async (trx) => {
      const known = await findSerials(trx, accountId, ['KNOWN', 'NEW']);
      await storeListings(trx, { ...POSITION, accountId }, { listings, known });
      await removeSerials(trx, accountId, [{ serialNumber: 'NEW', opType: null, opDate: null }]);
    });
    expect(statements).toMatchSnapshot();
  });

  it('that lease, advance and request a sync are those in the snapshot', async () => {
    const [accountId, owner] = [1, 'o'];
    const end = { cursor: 'c', moreToFollow: false, fetchedUntil: null, devices: 1 };
    const statements = await sentBy(async (trx) => {
      await acquireSyncLease(trx, { accountId, owner });
      await renewSyncLease(trx, { accountId, owner });
      await advanceCursor(trx, POSITION, end);
      await lockPosition(trx, POSITION);
      await endFetch(trx, POSITION);
      await recordSuspectedLoss(trx, POSITION, 1);
      await restartFetch(trx, POSITION);
      await recordSyncRequest(trx, { accountId, isFull: true });
      await claimSyncsDue(trx, { interval: 1000, isLab: false });
    });
    expect(statements).toMatchSnapshot();
  });

  it('that assign profiles are those in the snapshot', async () => {
    const claim = { ids: [1], until: new Date() };
    const outcomes = [{ id: 1, result: 'SUCCESS', error: null }];
    const statements = await sentBy(async (trx) => {
      await claimAssignments(trx, { accountId: 1, limit: 1 });
      await releaseAssignments(trx, { ...claim, at: null, error: null });
      await clearDueAssignments(trx, claim);
      await storeAssignments(trx, { uuid: null, until: claim.until, outcomes });
      await listAccountsDue(trx, 'dep.assign');
      await makeProfileDue(trx, { profileId: 1, accountId: 1 });
    });
    expect(statements).toMatchSnapshot();
  });

  it('that reconcile assignments and repair records are those in the snapshot', async () => {
    const drifted = [{ id: 1, repair: 'assign_default', profileId: 1, formerId: null } as const];
    const statements = await sentBy(async (trx) => {
      await examineAssignments(trx, { accountId: 1, after: 0, limit: 1 });
      await assignDefaultProfiles(trx, drifted);
      await repairDeviceRecords(trx, drifted);
    });
    expect(statements).toMatchSnapshot();
  });

  it('that record actions and contacts of devices are those in the snapshot', async () => {
    const outcome = { id: 1, result: 'SUCCESS', failure: null };
    const statements = await sentBy(async (trx) => {
      await storeDisowned(trx, [outcome]);
      await storeActivationLock(trx, outcome);
      await storeRefusedContact(trx, { serial: 'S', failure: 'refused' });
      await restoreAssignments(trx, [{}]);
      await releaseDepDevices(trx, 1);
    });
    expect(statements).toMatchSnapshot();
  });

  it('that count devices by stage are those in the snapshot', async () => {
    const { db } = database;
    const statements = await statementsOf(db, async () => {
      await readFunnel(db, 1);
      await depFigures(db);
    });
    expect(statements).toMatchSnapshot();
  });
});
