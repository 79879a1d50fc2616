// A device may send any text: none of it becomes part of a page.
import { HostileDevice, markup } from '../support/hostile-device.mjs';
import { assertEqual, open } from '../support/steps.mjs';

/** The keys whose texts each tab shows. */
const SHOWN = {
  facts: ['NewName', 'ModelName', 'ProductName', 'BuildVersion', 'HostName', 'LocalHostName'],
  applications: ['Name', 'Identifier', 'ShortVersion'],
  profiles: ['PayloadDisplayName', 'PayloadIdentifier', 'PayloadOrganization'],
  certificates: ['CommonName'],
  users: ['UserLongName', 'UserShortName'],
  changes: ['DeviceName', 'NewName'],
  commands: [],
};

async function assertText({ page }, keys, where) {
  for (const key of keys) {
    await page
      .getByText(markup(key), { exact: false })
      .first()
      .waitFor({ timeout: 8_000 })
      .catch(() => {
        throw new Error(`${where} does not show the text of ${key}`);
      });
  }
  const found = await page.evaluate(() => ({
    elements: document.querySelectorAll('img, iframe, script:not([src]), [onerror]').length,
    ran: globalThis.hasRun,
  }));
  assertEqual(found.elements, 0, `elements from a text in ${where}`);
  assertEqual(found.ran, undefined, `what ran in ${where}`);
}

export const TASKS = {
  'markup in every text that a device sends is shown as text': async (session) => {
    const { page, lab } = session;
    await page.addInitScript(() => {
      globalThis.ran = (name) => {
        globalThis.hasRun = name;
      };
    });
    const refuses = ['CertificateList'];
    const device = await HostileDevice.enroll(lab, { platform: 'macOS', refuses: [] });
    try {
      const list = `/devices?filter[serial_number]=${device.serial}`;
      const [{ id }] = (await lab.api('GET', list)).data;
      await device.poll();
      device.rename(markup('NewName'));
      await lab.api('POST', `/devices/inventory/${id}`);
      const users = { type: 'commands', attributes: { request_type: 'UserList' } };
      await lab.api('POST', `/devices/${id}/commands`, { data: users });
      await device.poll();
      device.refuses = refuses;
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
      await visit(session, id, batch.data.id);
    } finally {
      device.close();
    }
  },
};

async function visit(session, id, batch) {
  const { page } = session;
  for (const [tab, keys] of Object.entries(SHOWN)) {
    await open(session, `/devices/${id}?tab=${tab}`);
    await page.getByRole('heading', { level: 1, name: markup('NewName') }).waitFor();
    await page.waitForFunction(() => document.querySelector('.skeleton') === null);
    if (tab === 'commands') await openCommands(session);
    await assertText(session, keys, tab);
  }
  const columns = ['device_name', 'model_name', 'product_name', 'build_version', 'hostname'];
  await open(session, `/devices?cols=${encodeURIComponent(JSON.stringify(columns))}&q=onerror`);
  await assertText(session, ['NewName', 'ModelName', 'ProductName', 'HostName'], 'the list');
  await open(session, '/');
  await assertText(session, ['ModelName'], 'the overview');
  await open(session, `/commands/batches/${batch}`);
  await assertText(session, ['batch', 'NewName', 'ErrorDomain'], 'the batch');
  await open(session, '/commands');
  await assertText(session, ['batch'], 'the batches');
  await open(session, `/commands/new?devices=[${id}]&type=RestartDevice`);
  await assertText(session, ['NewName'], 'the sender');
  await open(session, '/settings/audit');
  await page.getByRole('row').nth(1).waitFor();
  await assertText(session, [], 'the audit trail');
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
    await page.getByRole('region', { name: 'Answer' }).first().waitFor();
  }
}
