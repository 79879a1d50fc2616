// The record of a device is deleted, by a person who may.
import { assertEqual, choose, open } from '../support/steps.mjs';

/** The same seed makes the same device. */
const FLEET = ['--devices', '1', '--platform', 'iOS', '--seed', 'retired'];
const RETIRED = 'LWLWLRCC7L';

async function deviceOf({ lab }, serial) {
  const { data } = await lab.api('GET', `/devices?filter[serial_number]=${serial}`);
  return data[0];
}

async function waitForList({ page }, name) {
  await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor();
  await page.getByRole('status').getByText(`${name} is deleted.`).waitFor();
}

export const TASKS = {
  'the record of an erased device is deleted from its finding, once its name is typed': async (
    session,
  ) => {
    const { page, lab } = session;
    lab.enroll(...FLEET);
    const reported = async () => {
      const device = await deviceOf(session, RETIRED);
      return device?.attributes.is_enrolled && device.attributes.device_name !== null;
    };
    await lab.until(reported, 60);
    const { id, attributes } = await deviceOf(session, RETIRED);
    const { device_name: name } = attributes;
    const erase = { type: 'commands', attributes: { request_type: 'EraseDevice' } };
    await lab.api('POST', `/devices/${id}/commands`, { data: erase });
    await open(session, `/devices/${id}`);
    await page.getByText('If it is retired, an admin deletes its record.').waitFor();
    await page.getByRole('button', { name: 'Delete the record …' }).click();
    const dialog = page.getByRole('dialog', { name: `Delete the record of ${name}` });
    await dialog.getByText('The device was erased. It can enroll again.').waitFor();
    const submit = dialog.getByRole('button', { name: 'Delete the record' });
    const typed = dialog.getByLabel(`Type ${name} to confirm`);
    for (const text of ['', name.slice(0, -1)]) {
      await typed.fill(text);
      assertEqual(await submit.isDisabled(), true, `the button after “${text}”`);
    }
    await session.assertAccessible();
    await typed.fill(name);
    await submit.click();
    await waitForList(session, name);
    await session.assertAccessible();
    assertEqual(await deviceOf(session, RETIRED), undefined, 'the record');
  },

  'a record is deleted by keyboard alone, by its serial number': async (session) => {
    const { page, lab } = session;
    const serial = 'C02RETIRED01';
    const attributes = { serial_number: serial, device_name: 'Old cart' };
    const { data } = await lab.api('POST', '/devices', { data: { type: 'devices', attributes } });
    await open(session, `/devices/${data.id}`);
    await choose(page, page.getByRole('button', { name: 'Actions' }), 'Delete the record …');
    const last = page.getByRole('menuitem').last();
    assertEqual(await last.textContent(), 'Delete the record …', 'the last action');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Delete the record of Old cart' });
    await dialog.getByText('The device itself is not changed.').waitFor();
    await page.keyboard.type(serial.slice(0, -1));
    await page.keyboard.press('Enter');
    const submit = dialog.getByRole('button', { name: 'Delete the record' });
    assertEqual(await submit.isDisabled(), true, 'the button before the last character');
    await page.keyboard.type(serial.slice(-1));
    await page.keyboard.press('Enter');
    await waitForList(session, 'Old cart');
    assertEqual(await deviceOf(session, serial), undefined, 'the record');
  },
};
