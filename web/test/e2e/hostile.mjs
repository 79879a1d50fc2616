// A device may send any text: none of it becomes part of a page.
import { HostileDevice } from '../support/hostile-device.mjs';
import { assertTexts, markup, watchTexts } from '../support/hostile-texts.mjs';
import { open } from '../support/steps.mjs';

/** The keys whose texts each tab of a Mac shows. */
const MAC = {
  facts: ['NewName', 'ModelName', 'ProductName', 'BuildVersion', 'HostName', 'LocalHostName'],
  applications: ['Name', 'Identifier', 'ShortVersion'],
  profiles: ['PayloadDisplayName', 'PayloadIdentifier', 'PayloadOrganization'],
  certificates: ['CommonName'],
  users: ['UserLongName', 'UserShortName'],
  changes: ['DeviceName', 'NewName'],
  commands: [],
};
/** The same of an iPhone, for what a Mac has not. */
const PHONE = {
  facts: [
    ...['CurrentCarrierNetwork', 'SubscriberCarrierNetwork'],
    ...['CarrierSettingsVersion', 'ModemFirmwareVersion', 'PhoneNumber', 'IMEI', 'MEID', 'ICCID'],
    ...['WiFiMAC', 'BluetoothMAC', 'EASDeviceIdentifier', 'TimeZone'],
    ...['Model', 'ModelNumber', 'SupplementalBuildVersion'],
  ],
  items: ['displayed', 'assigned', 'LocalizedDescription'],
  former: [],
  changes: ['NewName'],
};
const PROFILE = `<plist version="1.0"><dict>
  <key>PayloadType</key><string>Configuration</string><key>PayloadVersion</key><integer>1</integer>
  <key>PayloadIdentifier</key><string>${escaped(markup('assigned'))}</string>
  <key>PayloadUUID</key><string>5B2E4E5C-8C3B-4E43-9B39-0E9B32B0C7AD</string>
  <key>PayloadDisplayName</key><string>${escaped(markup('displayed'))}</string>
  <key>PayloadContent</key><array/></dict></plist>`;

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

async function idOf({ lab }, { serial }) {
  const { data } = await lab.api('GET', `/devices?filter[serial_number]=${serial}`);
  return data[0].id;
}

const command = (request_type) => ({ data: { type: 'commands', attributes: { request_type } } });

export const TASKS = {
  'markup in every text that a Mac sends is shown as text': async (session) => {
    const { lab } = session;
    await watchTexts(session);
    const device = await HostileDevice.enroll(lab, { platform: 'macOS' });
    try {
      const id = await idOf(session, device);
      await device.poll();
      device.rename(markup('NewName'));
      await lab.api('POST', `/devices/inventory/${id}`);
      await lab.api('POST', `/devices/${id}/commands`, command('UserList'));
      await device.poll();
      device.refuses = ['CertificateList'];
      const attributes = { request_type: 'CertificateList', name: markup('batch') };
      const filter = [{ name: 'serial_number', op: 'eq', val: device.serial }];
      const batch = await lab.api('POST', '/command_batches', {
        data: { type: 'command_batches', attributes: { ...attributes, filter } },
      });
      const failed = `/devices/${id}/commands?filter[status]=Error`;
      await lab.until(async () => {
        await device.poll();
        return (await lab.api('GET', failed)).data.length > 0;
      });
      await visitTabs(session, id, MAC);
      await visitPages(session, id, batch.data.id);
    } finally {
      device.close();
    }
  },

  'markup in every text that an iPhone sends is shown as text': async (session) => {
    const { page, lab } = session;
    await watchTexts(session);
    const device = await HostileDevice.enroll(lab, { platform: 'iOS', refuses: [] });
    try {
      const id = await idOf(session, device);
      await device.poll();
      await device.enrollAgain();
      device.refuses = ['InstallProfile'];
      device.rename(markup('NewName'));
      await assign(session, id);
      await lab.api('POST', `/devices/inventory/${id}`);
      await lab.api('POST', `/devices/${id}/commands`, command('ActivationLockBypassCode'));
      await lab.until(async () => {
        await device.poll();
        const { data } = await lab.api('GET', `/devices/${id}/items`);
        return data[0]?.attributes.reason_code === 'command_failed';
      });
      await visitTabs(session, id, PHONE);
      await page.getByRole('row').nth(1).waitFor();
      await revealBypassCode(session, id);
      const columns = ['device_name', 'phone_number', 'imei', 'wifi_mac'];
      await open(
        session,
        `/devices?cols=${encodeURIComponent(JSON.stringify(columns))}&q=${device.serial}`,
      );
      await assertTexts(session, ['NewName', 'PhoneNumber', 'IMEI', 'WiFiMAC'], 'the list');
    } finally {
      device.close();
    }
  },
};

/** A profile that the device refuses. */
async function assign({ lab, url, token }, id) {
  const body = new FormData();
  body.set('file', new Blob([PROFILE]), 'assigned.mobileconfig');
  const headers = { Authorization: `Bearer ${token}` };
  const sent = await fetch(`${url}/api/v1/upload/profiles`, { method: 'POST', headers, body });
  const { data, errors } = await sent.json();
  if (!sent.ok) throw new Error(JSON.stringify(errors));
  const relationships = {
    item: { data: { type: 'profiles', id: data.id } },
    target: { data: { type: 'devices', id } },
  };
  await lab.api('POST', '/assignments', { data: { type: 'assignments', relationships } });
}

async function visitTabs(session, id, shown) {
  const { page } = session;
  for (const [tab, keys] of Object.entries(shown)) {
    await open(session, `/devices/${id}?tab=${tab}`);
    await page.getByRole('heading', { level: 1, name: markup('NewName') }).waitFor();
    await page.waitForFunction(() => document.querySelector('.skeleton') === null);
    if (tab === 'commands') await openCommands(session);
    await assertTexts(session, keys, tab);
  }
}

async function visitPages(session, id, batch) {
  const { page } = session;
  const columns = ['device_name', 'model_name', 'product_name', 'build_version', 'hostname'];
  await open(session, `/devices?cols=${encodeURIComponent(JSON.stringify(columns))}&q=onerror`);
  await assertTexts(session, ['NewName', 'ModelName', 'ProductName', 'HostName'], 'the list');
  await open(session, '/');
  await assertTexts(session, ['ModelName'], 'the overview');
  await open(session, `/commands/batches/${batch}`);
  await assertTexts(session, ['batch', 'NewName', 'ErrorDomain'], 'the batch');
  await open(session, '/commands');
  await assertTexts(session, ['batch'], 'the batches');
  await open(session, `/commands/new?devices=[${id}]&type=RestartDevice`);
  await assertTexts(session, ['NewName'], 'the sender');
  await open(session, '/settings/audit');
  await page.getByRole('row').nth(1).waitFor();
  await assertTexts(session, [], 'the audit trail');
}

/** Every answer, and every error, as the device sent it. */
async function openCommands({ page }) {
  const failed = page.getByRole('button', { name: /^CertificateList Error/ });
  await failed.click();
  await page.getByText('LocalizedDescription').first().waitFor();
  for (const type of ['DeviceInformation', 'InstalledApplicationList', 'ProfileList', 'UserList']) {
    await page
      .getByRole('button', { name: new RegExp(`^${type} Acknowledged`) })
      .first()
      .click();
    await page.getByRole('figure', { name: 'Answer' }).first().waitFor();
  }
}

/** A code that the device has made up. */
async function revealBypassCode(session, id) {
  const { page } = session;
  await open(session, `/devices/${id}?tab=secrets`);
  await page
    .getByRole('button', { name: /^Show the activation Lock bypass/ })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill(markup('reason'));
  await dialog.getByRole('button', { name: 'Show', exact: true }).click();
  await assertTexts(session, ['ActivationLockBypassCode'], 'the dialog of a secret');
  await dialog.getByRole('button', { name: 'Hide' }).click();
}
