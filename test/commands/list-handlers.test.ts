import { startApp, type TestApp } from '../helpers/app.js';
import type { Fields } from '../helpers/device.js';
import { dumpRows, facts } from '../mdm/rows.js';
import { deliver, enrolledTarget, type Target } from './deliver.js';

let app: TestApp;
let target: Target;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());
beforeEach(async () => {
  target = await enrolledTarget(app);
});

function answer(requestType: string, body: Fields): Promise<string> {
  return deliver(app, target, { requestType, body });
}

async function rowsOf(table: string) {
  const rows = await app.db.knex(table).where({ device_id: target.id }).orderBy('id');
  return rows.map(facts);
}

const CERTIFICATE = { CommonName: 'A device', IsIdentity: true };

describe('InstalledApplicationList', () => {
  it('leaves out entries of which nothing can be read', async () => {
    const uuid = await answer('InstalledApplicationList', {
      InstalledApplicationList: [{}, { Unheard: 'of' }, 'no dictionary', { Name: 'Read' }],
    });
    expect(await rowsOf('installed_applications')).toEqual([{ name: 'Read' }]);
    const command = await app.db.knex('commands').where({ uuid }).first();
    expect(command).toMatchObject({ status: 'Acknowledged', reason: null });
  });

  it('stores every field', async () => {
    await answer('InstalledApplicationList', {
      InstalledApplicationList: [
        {
          Identifier: 'com.example',
          Name: 'Example',
          ShortVersion: '1.2',
          Version: '345',
          BundleSize: 5_000_000_000,
          DynamicSize: 7,
          ExternalVersionIdentifier: 829185909,
          IsValidated: true,
          AdHocCodeSigned: false,
          AppStoreVendable: true,
          BetaApp: false,
          DeviceBasedVPP: true,
          HasUpdateAvailable: false,
          Installing: true,
          IsAppClip: false,
          DownloadFailed: false,
          DownloadCancelled: true,
          DownloadPaused: false,
          DownloadWaiting: true,
          DistributorIdentifier: 'd',
          Source: 'App Store',
        },
      ],
    });
    expect(await rowsOf('installed_applications')).toEqual([
      {
        bundle_identifier: 'com.example',
        name: 'Example',
        short_version: '1.2',
        version: '345',
        bundle_size: 5_000_000_000,
        dynamic_size: 7,
        external_version_identifier: 829185909,
        is_validated: true,
        adhoc_codesigned: false,
        appstore_vendable: true,
        beta_app: false,
        device_based_vpp: true,
        has_update_available: false,
        installing: true,
        is_app_clip: false,
        download_failed: false,
        download_cancelled: true,
        download_paused: false,
        download_waiting: true,
        distributor_identifier: 'd',
        source: 'App Store',
      },
    ]);
  });

  it('replaces the set as a whole, of any size', async () => {
    const applications = Array.from({ length: 1100 }, (_, at) => ({ Name: `App ${at}` }));
    await answer('InstalledApplicationList', { InstalledApplicationList: applications });
    const rows = await rowsOf('installed_applications');
    expect(rows).toEqual(applications.map(({ Name }) => ({ name: Name })));
    await answer('InstalledApplicationList', { InstalledApplicationList: [{ Name: 'Only one' }] });
    expect(await rowsOf('installed_applications')).toEqual([{ name: 'Only one' }]);
    await answer('InstalledApplicationList', { InstalledApplicationList: [] });
    expect(await rowsOf('installed_applications')).toEqual([]);
  });

  it('is known to be empty only after a whole list', async () => {
    const isListed = async () => {
      const { id } = target;
      const row = await app.db.knex('devices').where({ id }).first('applications_listed');
      return row.applications_listed;
    };
    await answer('InstalledApplicationList', { Something: 'else' });
    expect(await isListed()).toBeNull();
    const managed = {
      requestType: 'InstalledApplicationList',
      parameters: { ManagedAppsOnly: true },
    };
    await deliver(app, target, { ...managed, body: { InstalledApplicationList: [] } });
    expect(await isListed()).toBeNull();
    await answer('InstalledApplicationList', { InstalledApplicationList: [] });
    expect(await isListed()).toBe(true);
  });

  it('keeps the old set when the answer has no list', async () => {
    await answer('InstalledApplicationList', { InstalledApplicationList: [{ Name: 'Kept' }] });
    await answer('InstalledApplicationList', { Something: 'else' });
    expect(await rowsOf('installed_applications')).toEqual([{ name: 'Kept' }]);
  });

  it("leaves another device's set alone", async () => {
    const other = await enrolledTarget(app);
    const requestType = 'InstalledApplicationList';
    const body = { InstalledApplicationList: [{ Name: 'Theirs' }] };
    await deliver(app, other, { requestType, body });
    await answer(requestType, { InstalledApplicationList: [] });
    const rows = await app.db.knex('installed_applications').where({ device_id: other.id });
    expect(rows.map(facts)).toEqual([{ name: 'Theirs' }]);
  });
});

describe('ProfileList', () => {
  it('stores profiles with their payloads and signers', async () => {
    const { der } = target.device.certificate;
    await answer('ProfileList', {
      ProfileList: [
        {
          PayloadIdentifier: 'com.example.one',
          PayloadUUID: 'u-1',
          PayloadVersion: 1,
          IsManaged: true,
          HasRemovalPasscode: true,
          Source: 'MDM',
          SignerCertificates: [der],
          PayloadContent: [{ PayloadIdentifier: 'p-1', PayloadType: 'com.apple.wifi.managed' }],
        },
        { PayloadIdentifier: 'com.example.two', PayloadContent: [{ PayloadType: 'x' }, {}] },
        { PayloadIdentifier: 'com.example.three' },
      ],
    });
    expect(await rowsOf('installed_profiles')).toEqual([
      {
        payload_identifier: 'com.example.one',
        payload_uuid: 'u-1',
        payload_version: 1,
        is_managed: true,
        has_removal_password: true,
        source: 'MDM',
        signer_certificates: [der.toString('base64')],
      },
      { payload_identifier: 'com.example.two' },
      { payload_identifier: 'com.example.three' },
    ]);
    const payloads = await app.db
      .knex('installed_payloads as p')
      .join('installed_profiles as i', 'i.id', 'p.installed_profile_id')
      .where({ device_id: target.id })
      .orderBy('p.id')
      .select('i.payload_identifier as profile', 'p.payload_identifier', 'p.payload_type');
    expect(payloads).toEqual([
      {
        profile: 'com.example.one',
        payload_identifier: 'p-1',
        payload_type: 'com.apple.wifi.managed',
      },
      { profile: 'com.example.two', payload_identifier: null, payload_type: 'x' },
      { profile: 'com.example.two', payload_identifier: null, payload_type: null },
    ]);
  });

  it('replaces payloads with their profiles', async () => {
    const list = [{ PayloadIdentifier: 'one', PayloadContent: [{ PayloadType: 'x' }] }];
    await answer('ProfileList', { ProfileList: list });
    await answer('ProfileList', { ProfileList: [] });
    expect(await rowsOf('installed_profiles')).toEqual([]);
    expect(await app.db.knex('installed_payloads').where({ payload_type: 'x' })).not.toContainEqual(
      expect.objectContaining({ payload_identifier: 'one' }),
    );
  });
});

/** Rows as `key: is_managed`, in the order of the keys. */
async function managedOf(table: string, key: string) {
  const rows = await app.db.knex(table).where({ device_id: target.id }).orderBy(key);
  return rows.map((row) => `${row[key]}: ${row.is_managed}`);
}

function ask(requestType: string, { parameters, list }: { parameters?: object; list: Fields[] }) {
  const body = { [requestType]: list };
  return deliver(app, target, { requestType, body, parameters });
}

describe('InstalledApplicationList with ManagedAppsOnly', () => {
  const type = 'InstalledApplicationList';
  const managed = (...names: string[]) =>
    ask(type, {
      parameters: { ManagedAppsOnly: true },
      list: names.map((Identifier) => ({ Identifier })),
    });
  const all = (...names: string[]) =>
    ask(type, { list: names.map((Identifier) => ({ Identifier })) });
  const known = () => managedOf('installed_applications', 'bundle_identifier');

  it('removes no application that is not known as managed', async () => {
    await all('a', 'b', 'c');
    await managed('B');
    expect(await known()).toEqual(['B: true', 'a: null', 'c: null']);
    await managed('d');
    expect(await known()).toEqual(['a: null', 'c: null', 'd: true']);
    await managed();
    expect(await known()).toEqual(['a: null', 'c: null']);
  });

  it('is remembered by the next full list', async () => {
    await managed('b');
    await all('a', 'b', 'c');
    expect(await known()).toEqual(['a: null', 'b: true', 'c: null']);
    await all('a');
    expect(await known()).toEqual(['a: null']);
  });
});

describe('InstalledApplicationList with Identifiers', () => {
  const requestType = 'InstalledApplicationList';
  const versions = async () => {
    const rows = await app.db
      .knex('installed_applications')
      .where({ device_id: target.id })
      .orderBy(['bundle_identifier', 'id']);
    return rows.map((row) => `${row.bundle_identifier} ${row.short_version}`);
  };

  beforeEach(async () => {
    const list = ['a', 'b', 'c'].map((Identifier) => ({ Identifier, ShortVersion: '1' }));
    await ask(requestType, { list });
  });

  it('replaces what it names, removes what it names and misses, and leaves the others', async () => {
    const parameters = { Identifiers: ['A', 'b'] };
    await ask(requestType, { parameters, list: [{ Identifier: 'a', ShortVersion: '2' }] });
    expect(await versions()).toEqual(['a 2', 'c 1']);
  });

  it('keeps two copies of an application, as Macs have them', async () => {
    const copies = ['2', '3'].map((ShortVersion) => ({ Identifier: 'b', ShortVersion }));
    await ask(requestType, { parameters: { Identifiers: ['b'] }, list: copies });
    expect(await versions()).toEqual(['a 1', 'b 2', 'b 3', 'c 1']);
  });

  it('and ManagedAppsOnly removes only what is named and known as managed', async () => {
    const ManagedAppsOnly = true;
    await ask(requestType, {
      parameters: { ManagedAppsOnly },
      list: [{ Identifier: 'a' }, { Identifier: 'b' }],
    });
    await ask(requestType, { parameters: { ManagedAppsOnly, Identifiers: ['b', 'c'] }, list: [] });
    expect(await versions()).toEqual(['a null', 'c 1']);
  });

  it('is not stored in part when the answer has no list', async () => {
    const parameters = { Identifiers: ['a'] };
    await deliver(app, target, { requestType, parameters, body: { Other: 'thing' } });
    expect(await versions()).toEqual(['a 1', 'b 1', 'c 1']);
  });
});

describe('InstalledApplicationList with Items', () => {
  const requestType = 'InstalledApplicationList';
  const first = { Identifier: 'a', Name: 'A', ShortVersion: '1', BundleSize: 5_000_000_000 };

  it('keeps the facts that it did not ask for', async () => {
    await ask(requestType, { list: [first, { Identifier: 'b', Name: 'B' }] });
    const parameters = { Items: ['Identifier', 'ShortVersion'] };
    await ask(requestType, { parameters, list: [{ Identifier: 'a', ShortVersion: '2' }] });
    expect(await rowsOf('installed_applications')).toEqual([
      { bundle_identifier: 'a', name: 'A', short_version: '2', bundle_size: 5_000_000_000 },
    ]);
  });

  it('changes nothing where the identifiers were not asked for', async () => {
    await ask(requestType, { list: [first] });
    await ask(requestType, { parameters: { Items: ['Name'] }, list: [{ Name: 'A' }] });
    expect((await rowsOf('installed_applications'))[0]).toMatchObject({ bundle_identifier: 'a' });
  });
});

describe('ProfileList with ManagedOnly', () => {
  it('removes no profile that is not known as managed', async () => {
    const by = (PayloadIdentifier: string, IsManaged?: boolean) =>
      IsManaged === undefined ? { PayloadIdentifier } : { PayloadIdentifier, IsManaged };
    await ask('ProfileList', { list: [by('a', false), by('b', true), by('c'), by('d', true)] });
    await ask('ProfileList', { parameters: { ManagedOnly: true }, list: [by('D'), by('e', true)] });
    expect(await managedOf('installed_profiles', 'payload_identifier')).toEqual([
      'D: true',
      'a: false',
      'c: null',
      'e: true',
    ]);
  });
});

describe('CertificateList with ManagedOnly', () => {
  it('removes no certificate that is not known as managed', async () => {
    const by = (CommonName: string) => ({ CommonName, Data: Buffer.from(CommonName) });
    const ManagedOnly = { ManagedOnly: true };
    const known = () => managedOf('installed_certificates', 'x509_cn');
    await ask('CertificateList', { list: [by('a'), by('b')] });
    await ask('CertificateList', { parameters: ManagedOnly, list: [by('b'), by('c')] });
    expect(await known()).toEqual(['a: null', 'b: true', 'c: true']);
    await ask('CertificateList', { parameters: ManagedOnly, list: [by('c')] });
    expect(await known()).toEqual(['a: null', 'c: true']);
  });
});

describe('AvailableOSUpdates', () => {
  it('stores every field', async () => {
    await answer('AvailableOSUpdates', {
      AvailableOSUpdates: [
        {
          AllowsInstallLater: true,
          AppIdentifiersToClose: ['a', 'b'],
          Build: '23F79',
          DeferredUntil: new Date('2026-05-06T07:08:09Z'),
          DownloadSize: 6_000_000_000,
          HumanReadableName: 'macOS',
          HumanReadableNameLocale: 'en',
          InstallSize: 1.5,
          IsConfigDataUpdate: false,
          IsCritical: true,
          IsFirmwareUpdate: false,
          IsMajorOSUpdate: true,
          IsSecurityResponse: false,
          MetadataURL: 'https://x',
          ProductKey: 'k',
          ProductName: 'n',
          RequiresBootstrapToken: true,
          RestartRequired: true,
          SupplementalBuildVersion: 's',
          SupplementalOSVersionExtra: '(a)',
          Version: '14.5',
        },
      ],
    });
    expect(await rowsOf('available_os_updates')).toEqual([
      {
        allows_install_later: true,
        app_identifiers_to_close: ['a', 'b'],
        build: '23F79',
        deferred_until: new Date('2026-05-06T07:08:09Z'),
        download_size: 6_000_000_000,
        human_readable_name: 'macOS',
        human_readable_name_locale: 'en',
        install_size: 1,
        is_config_data_update: false,
        is_critical: true,
        is_firmware_update: false,
        is_major_os_update: true,
        is_security_response: false,
        metadata_url: 'https://x',
        product_key: 'k',
        product_name: 'n',
        requires_bootstrap_token: true,
        restart_required: true,
        supplemental_build_version: 's',
        supplemental_os_version_extra: '(a)',
        version: '14.5',
      },
    ]);
  });
});

describe('a handler that runs twice with the same report', () => {
  it.each<[string, Fields]>([
    ['DeviceInformation', { QueryResponses: { DeviceName: 'Again', IsSupervised: true } }],
    [
      'SecurityInfo',
      { SecurityInfo: { FDE_Enabled: true, FDE_PersonalRecoveryKeyCMS: Buffer.from('key') } },
    ],
    ['InstalledApplicationList', { InstalledApplicationList: [{ Name: 'A' }, { Name: 'B' }] }],
    ['CertificateList', { CertificateList: [{ ...CERTIFICATE, Data: Buffer.from('x') }] }],
    ['ProfileList', { ProfileList: [{ PayloadIdentifier: 'p', PayloadContent: [{}] }] }],
    ['AvailableOSUpdates', { AvailableOSUpdates: [{ ProductKey: 'k' }] }],
  ])('leaves the same rows: %s', async (requestType, body) => {
    const uuid = await answer(requestType, body);
    const before = await withoutIds();
    await app.db.knex('commands').where({ uuid }).update({ needs_handling: true });
    await app.halt();
    const again = await startApp({ database: app.database });
    await again.waitForReports();
    expect(await withoutIds()).toEqual(before);
    app = again;
  });

  async function withoutIds() {
    const { tokens: _tokens, ...dump } = await dumpRows(app.db);
    return Object.fromEntries(
      Object.entries(dump).map(([table, lines]) => [
        table,
        lines.map((line) => line.replace(/"(id|installed_profile_id)": \d+/g, '')).sort(),
      ]),
    );
  }
});
