import {
  readAccount,
  readDefinition,
  readLock,
  readPage,
  readResults,
} from '../../../src/dep/client/answers.js';

const NOW = Date.parse('2026-11-22T10:00:00Z');

/** As Apple's service lists a Mac. */
const MAC = {
  serial_number: 'C02T0HL0GGC0',
  description: 'MBP 13.3 SPACE GRAY/2.0GHZ/8GB/256GB-USA',
  model: 'MacBook Pro',
  os: 'OSX',
  device_family: 'Mac',
  color: 'SPACE GRAY',
  profile_uuid: 'C1F123098EB5074580041E69883004C3',
  profile_assign_time: '2018-09-08T16:49:09Z',
  profile_status: 'assigned',
  device_assigned_by: 'apple-dep@acme.co',
  device_assigned_date: '2017-10-16T01:55:30Z',
};

/** A page as Apple ends the list of devices. */
const pageOf = (devices: unknown[]) => ({ devices, cursor: 'MDow', more_to_follow: false });

const NOTHING = {
  model: null,
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
};

describe('a page of devices', () => {
  it.each([
    ['no object', 'devices'],
    ['null', null],
    ['a list', []],
    ['an empty object', {}],
    ['an answer to something else', { message: 'ok' }],
    ['without devices', { ...pageOf([]), devices: undefined }],
    ['devices that are null', { ...pageOf([]), devices: null }],
    ['devices that are no list', { ...pageOf([]), devices: { C1: {} } }],
    ['without a word whether more follows', { ...pageOf([]), more_to_follow: undefined }],
    ['more to follow, as a text', { ...pageOf([]), more_to_follow: 'true' }],
    ['without a cursor', { ...pageOf([]), cursor: undefined }],
    ['a cursor that is none', { ...pageOf([]), cursor: 7 }],
    ['a cursor that is empty', { ...pageOf([]), cursor: '' }],
  ])('is rejected when it is %s', (_, value) => {
    expect(readPage(value)).toBeUndefined();
  });

  it('has every member of a device', () => {
    const page = { devices: [MAC], cursor: 'MDow', more_to_follow: true };
    expect(
      readPage({ ...page, fetched_until: '2018-09-08T17:28:18Z', extra: { more: 1 } }),
    ).toEqual({
      devices: [
        {
          ...NOTHING,
          serialNumber: 'C02T0HL0GGC0',
          description: 'MBP 13.3 SPACE GRAY/2.0GHZ/8GB/256GB-USA',
          model: 'MacBook Pro',
          os: 'OSX',
          deviceFamily: 'Mac',
          color: 'SPACE GRAY',
          profileUuid: 'c1f12309-8eb5-0745-8004-1e69883004c3',
          profileAssignTime: new Date('2018-09-08T16:49:09Z'),
          profileStatus: 'assigned',
          deviceAssignedBy: 'apple-dep@acme.co',
          deviceAssignedDate: new Date('2017-10-16T01:55:30Z'),
        },
      ],
      cursor: 'MDow',
      moreToFollow: true,
      fetchedUntil: new Date('2018-09-08T17:28:18Z'),
      skipped: 0,
    });
  });

  it('is kept despite unreadable devices, and counts them', () => {
    const devices = [
      ...[null, 'C1', 7, [], {}, { serial_number: 12 }, { serial_number: '' }],
      { serial_number: 'C1\u0000' },
      { serial_number: 'C'.repeat(65) },
      { ...MAC, serial_number: ' C2 ' },
    ];
    const page = readPage(pageOf(devices));
    expect(page?.devices.map(({ serialNumber }) => serialNumber)).toEqual(['C2']);
    expect(page?.skipped).toBe(9);
  });

  it('has null for members that are missing, empty, odd or of another type', () => {
    const odd = {
      serial_number: 'C1',
      model: 7,
      color: '',
      asset_tag: ' \u0000\u001f ',
      os: ['iOS'],
      profile_uuid: 'C1F1',
      profile_status: null,
      op_type: 'moved',
      op_date: 'yesterday',
      device_assigned_date: '-200000-01-01T00:00:00Z',
      profile_push_time: 1_536_427_698,
      profile_assign_time: '2018-13-41T00:00:00Z',
    };
    expect(readPage(pageOf([odd]))?.devices).toEqual([{ ...NOTHING, serialNumber: 'C1' }]);
    expect(readPage(pageOf([{ serial_number: 'C2' }]))?.devices).toEqual([
      { ...NOTHING, serialNumber: 'C2' },
    ]);
  });

  it('drops characters that the database rejects', () => {
    const device = { serial_number: 'C1', description: `a\u0000b\ud800c${'d'.repeat(2000)}` };
    const [read] = readPage(pageOf([device]))?.devices ?? [];
    expect(read?.description).toBe(`a b c${'d'.repeat(595)}`);
  });

  it('has no profile when its status is without one', () => {
    const devices = ['empty', 'removed', 'pushed'].map((profile_status) => ({
      ...MAC,
      profile_status,
    }));
    expect(readPage(pageOf(devices))?.devices.map(({ profileUuid }) => profileUuid)).toEqual([
      null,
      null,
      'c1f12309-8eb5-0745-8004-1e69883004c3',
    ]);
  });

  it('has the operations on devices since the cursor', () => {
    const devices = ['added', 'modified', 'deleted'].map((op_type, index) => ({
      serial_number: `C${index}`,
      op_type,
      op_date: '2026-11-21T08:00:00Z',
    }));
    const page = readPage(pageOf(devices));
    expect(page?.devices.map(({ opType }) => opType)).toEqual(['added', 'modified', 'deleted']);
    expect(page?.devices[0]?.opDate).toEqual(new Date('2026-11-21T08:00:00Z'));
  });

  it('may be empty', () => {
    const end = { cursor: 'MDow', moreToFollow: false, fetchedUntil: null };
    expect(readPage(pageOf([]))).toEqual({ devices: [], skipped: 0, ...end });
  });
});

describe('the account details of Apple', () => {
  it('are read as they are written, with null for missing members', () => {
    const account = { server_name: 'dev', server_uuid: '6666ED66666666666666666666666666' };
    expect(readAccount({ ...account, org_type: 'org', org_version: 'v9', urls: [] })).toEqual({
      serverName: 'dev',
      serverUuid: '6666ED66666666666666666666666666',
      adminId: null,
      facilitatorId: null,
      orgName: null,
      orgEmail: null,
      orgPhone: null,
      orgAddress: null,
      orgId: null,
      orgIdHash: null,
      orgType: 'org',
      orgVersion: null,
    });
  });

  it.each([['dev'], [{}], [[]], [null], [{ server_name: '' }], [{ message: 'ok' }]])(
    'is none in %j',
    (value) => {
      expect(readAccount(value)).toBeUndefined();
    },
  );
});

describe('the answer to a definition', () => {
  it('is the UUID in lower case with dashes', () => {
    const uuid = '01234567-89ab-cdef-0123-456789abcdef';
    expect(readDefinition({ profile_uuid: '0123456789ABCDEF0123456789ABCDEF' })).toBe(uuid);
    expect(readDefinition({ profile_uuid: uuid })).toBe(uuid);
  });

  it.each([{}, { profile_uuid: 'none' }, { profile_uuid: null }, null])(
    'is none in %j',
    (value) => {
      expect(readDefinition(value)).toBeUndefined();
    },
  );
});

describe('the results by serial number', () => {
  it("are Apple's words, also unknown ones", () => {
    const devices = { C1: 'SUCCESS', C2: 'NOT_ACCESSIBLE', C3: 'MOVED\n', __proto__: 'x', C4: 5 };
    const results = readResults({ devices }, NOW);
    expect([...(results ?? [])]).toEqual([
      ['C1', 'SUCCESS'],
      ['C2', 'NOT_ACCESSIBLE'],
      ['C3', 'MOVED'],
    ]);
    expect(results?.retryAt).toBeUndefined();
  });

  it('contain when throttled ones may be retried', () => {
    const results = readResults({ devices: { C1: 'THROTTLED' }, retry_after_seconds: 90 }, NOW);
    expect(results?.get('C1')).toBe('THROTTLED');
    expect(results?.retryAt).toEqual(new Date(NOW + 90_000));
    expect(readResults({ devices: {}, retry_after_seconds: -1 }, NOW)?.retryAt).toBeUndefined();
  });

  it('are rejected in any other form', () => {
    expect(readResults({}, NOW)).toBeUndefined();
    for (const devices of ['SUCCESS', ['SUCCESS'], null]) {
      expect(readResults({ devices }, NOW)).toBeUndefined();
    }
    expect(readLock({ serial_number: 'C1' }, 'C1')).toBeUndefined();
  });

  it('have one entry for an activation lock, that of its device', () => {
    const answer = { serial_number: 'C1', response_status: 'NOT_ACCESSIBLE' };
    expect([...(readLock(answer, 'C1') ?? [])]).toEqual([['C1', 'NOT_ACCESSIBLE']]);
  });
});
